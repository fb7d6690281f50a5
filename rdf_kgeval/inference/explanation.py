"""Why a belief has its soft truth: the constraints that push it, back to the verdicts that push them."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from rdf_kgeval.inference.infer import TAU, Inference, label
from rdf_kgeval.inference.model import UNKNOWN
from rdf_kgeval.rules.rule import Rule

LEAST_SHARE = 0.1
MOST_REASONS = 5
_MOST_ATOMS = 100


@dataclass(frozen=True)
class Reason:
    """One constraint that pushes an atom towards its soft truth."""

    rules: tuple[Rule, ...]
    because: tuple["Explanation", ...]
    """The other atoms of the constraint; one that stands in the chain already has no reasons of its own."""
    share: float
    """How much of the push towards the atom's soft truth is this constraint's."""


@dataclass(frozen=True)
class Explanation:
    """An atom, its soft truth, and what it rests on."""

    atom: int
    x: float
    verdict: float | None
    """What people said of it, if they did."""
    reasons: tuple[Reason, ...]

    def walk(self) -> Iterator["Explanation"]:
        """This atom and all that it rests on."""
        yield self
        for reason in self.reasons:
            for other in reason.because:
                yield from other.walk()


def explain(inference: Inference, atom: int, most: int = _MOST_ATOMS) -> Explanation:
    """The chain behind an atom's soft truth, the strongest reasons first.

    Each atom is explained once, where it is nearest to the start, so that rings and crossing chains end, and
    at most so many are.
    """
    found: dict[int, list[_Push]] = {}
    queue = deque([atom])
    while queue and len(found) < most:
        current = queue.popleft()
        if current not in found and inference.verdicts.get(current) not in (0.0, 1.0):
            found[current] = _pushes(inference, current)
            queue.extend(other for push in found[current] for other in push.others)
    return _tell(inference, atom, found)


@dataclass(frozen=True)
class _Push:
    constraint: int
    others: tuple[int, ...]
    share: float


def _tell(inference: Inference, atom: int, found: dict[int, list[_Push]]) -> Explanation:
    """Level by level, taking out of `found` what has been told."""
    pushes = found.pop(atom, [])
    own = {other: found.pop(other) for push in pushes for other in push.others if other in found}
    reasons = []
    for push in pushes:
        because = []
        for other in push.others:
            if other in own:
                found[other] = own.pop(other)
            because.append(_tell(inference, other, found))
        reasons.append(Reason(tuple(inference.graph.rules_of(push.constraint)), tuple(because), push.share))
    return Explanation(atom, float(inference.x[atom]), inference.verdicts.get(atom), tuple(reasons))


def _pushes(inference: Inference, atom: int) -> list[_Push]:
    """The violated constraints whose pull on the atom is towards where it went from the prior."""
    graph, x = inference.graph, inference.x
    near = slice(graph.atom_start[atom], graph.atom_start[atom + 1])
    pushes = []
    for j, sign in zip(graph.constraint[near], graph.constraint_sign[near], strict=True):
        entries, rules = slice(*graph.start[j : j + 2]), slice(*graph.rule_start[j : j + 2])
        refuted = inference.verdicts.get(int(graph.atom[graph.start[j + 1] - 1])) == 0.0
        theta = inference.thetas.backward if refuted else inference.thetas.forward
        weight = theta[graph.rule[rules]] @ graph.count[rules]
        hinge = graph.offset[j] + graph.sign[entries] @ x[graph.atom[entries]]
        push = -float(sign) * float(weight) * max(0.0, float(hinge))
        if push * (x[atom] - UNKNOWN) > 0:
            pushes.append((abs(push), int(j)))
    total = sum(push for push, _ in pushes)
    pushes.sort(key=lambda pair: (-pair[0], pair[1]))
    strongest = [
        (push, j)
        for rank, (push, j) in enumerate(pushes[:MOST_REASONS])
        if rank == 0 or push >= LEAST_SHARE * total
    ]
    return [
        _Push(
            j,
            tuple(int(a) for a in graph.atom[graph.start[j] : graph.start[j + 1]] if a != atom),
            push / total,
        )
        for push, j in strongest
    ]


def describe(explanation: Explanation, sentence: Callable[[int], str]) -> list[str]:
    """The explanation in words, a line each, indented by depth.

    Args:
        explanation: from `explain`.
        sentence: an atom in words.
    """
    subject = sentence(explanation.atom)
    if explanation.verdict is not None:
        return [f"{subject}: {_said(explanation.verdict)}"]
    if not explanation.reasons:
        return [f"{subject}: {_word(explanation.x)}, for no verdict bears on it"]
    return [f"{subject}: {_word(explanation.x)}, because", *_lines(explanation, sentence, 1)]


def reason(explanation: Explanation, sentence: Callable[[int], str]) -> str:
    """What an atom's soft truth rests on, in one line."""
    return "; ".join(line.strip().removeprefix("- ") for line in _lines(explanation, sentence, 0))


def _lines(explanation: Explanation, sentence: Callable[[int], str], depth: int) -> Iterator[str]:
    for reason in explanation.reasons:
        rules = " and ".join(f'"{rule.summary or rule.name}"' for rule in reason.rules)
        parts = [
            f'"{sentence(other.atom)}" is {_word(other.x)}'
            if other.verdict is None
            else f'{_said(other.verdict)}: "{sentence(other.atom)}"'
            for other in reason.because
        ]
        yield "  " * depth + f"- {' and '.join([*parts, f'the rule {rules} holds'])}"
        for other in reason.because:
            yield from _lines(other, sentence, depth + 1)


def _said(verdict: float) -> str:
    if verdict in (0.0, 1.0):
        return f"you said {'true' if verdict else 'false'}"
    answer = "true" if verdict > 0.5 else "false"
    return f"annotators are {max(verdict, 1 - verdict):.0%} sure that it is {answer}"


def _word(x: float) -> str:
    word = {1: "true", 0: "false", -1: "unknown"}[int(label(np.array([x]), TAU)[0])]
    return f"{word} ({x:.2f})"

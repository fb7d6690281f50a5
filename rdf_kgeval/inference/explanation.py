"""Why a belief has its soft truth: the constraints that push it, back to the verdicts that push them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from rdf_kgeval.inference.inference import TAU, Inference, label
from rdf_kgeval.inference.model import UNKNOWN
from rdf_kgeval.rule import Rule

_LEAST_SHARE = 0.1
_MOST_REASONS = 5


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


def explain(inference: Inference, atom: int) -> Explanation:
    """The chain behind an atom's soft truth, the strongest reasons first."""
    return _explain(inference, atom, frozenset())


def _explain(inference: Inference, atom: int, above: frozenset[int]) -> Explanation:
    x = float(inference.x[atom])
    verdict = inference.verdicts.get(atom)
    sure = verdict in (0.0, 1.0)
    reasons = () if sure or atom in above else tuple(_reasons(inference, atom, x, above | {atom}))
    return Explanation(atom, x, verdict, reasons)


def _reasons(inference: Inference, atom: int, x: float, above: frozenset[int]) -> Iterator[Reason]:
    """The violated constraints whose pull on the atom is towards where it went from the prior."""
    graph = inference.graph
    near = slice(graph.atom_start[atom], graph.atom_start[atom + 1])
    weight = graph.weights(inference.theta)
    pushes = []
    for j, sign in zip(graph.constraint[near], graph.constraint_sign[near], strict=True):
        entries = slice(graph.start[j], graph.start[j + 1])
        hinge = graph.offset[j] + graph.sign[entries] @ inference.x[graph.atom[entries]]
        push = -float(sign) * weight[j] * max(0.0, float(hinge))
        if push * (x - UNKNOWN) > 0:
            pushes.append((abs(push), int(j)))
    total = sum(push for push, _ in pushes)
    pushes.sort(key=lambda pair: (-pair[0], pair[1]))
    for push, j in pushes[:_MOST_REASONS]:
        if push < _LEAST_SHARE * total:
            break
        others = graph.atom[graph.start[j] : graph.start[j + 1]]
        because = tuple(_explain(inference, int(other), above) for other in others[others != atom])
        yield Reason(tuple(graph.rules_of(j)), because, push / total)


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

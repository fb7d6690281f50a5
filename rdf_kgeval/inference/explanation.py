"""Explanations: the constraints that push a belief to its soft truth, back to the verdicts behind them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rdf_kgeval.common.types import Float64s, Int32s
from rdf_kgeval.coupling.graph import ranges
from rdf_kgeval.inference.infer import TAU, Inference, label
from rdf_kgeval.inference.model import UNKNOWN, constraint_weights
from rdf_kgeval.rules.rule import Rule

LEAST_SHARE = 0.1
"""Share of the push from which on a constraint is a reason; the strongest always is."""
MOST_REASONS = 5
_MOST_ATOMS = 100


class Evidence(NamedTuple):
    """Pairs of an atom and a constraint that pushed it, by atom, the strongest push first."""

    atom: Int32s
    constraint: Int32s
    share: Float64s
    """How much of the push towards the atom's soft truth is the constraint's."""


def find_evidence(inference: Inference, atoms: Int32s) -> Evidence:
    """Find the strongest violated constraints that push each atom to where it went from the prior.

    Args:
        inference: what followed from the verdicts.
        atoms: the atoms to explain, ascending.
    """
    graph, x = inference.graph, inference.x
    atoms = atoms[x[atoms] != UNKNOWN]
    rows = graph.touching(atoms)
    if not len(rows):
        return Evidence(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))
    start, entries = ranges(graph.atom_start, atoms)
    constraint, atom = graph.constraint[entries], np.repeat(atoms, np.diff(start))
    false = [row for row, value in inference.verdicts.items() if value == 0.0]
    weight = constraint_weights(graph, inference.thetas, false, rows)
    force = weight * np.maximum(0.0, _hinge(inference, rows))
    push = -graph.constraint_sign[entries] * force[np.searchsorted(rows, constraint)]
    towards = push * (x[atom] - UNKNOWN) > 0
    atom, constraint, push = atom[towards], constraint[towards], np.abs(push[towards])
    order = np.lexsort((constraint, -push, atom))
    atom, constraint, push = atom[order], constraint[order], push[order]
    rank = np.arange(len(atom)) - np.searchsorted(atom, atom)
    total = np.bincount(atom, push, minlength=graph.n_atoms)[atom]
    chosen = (rank == 0) | ((rank < MOST_REASONS) & (push >= LEAST_SHARE * total))
    return Evidence(atom[chosen], constraint[chosen], (push / total)[chosen])


def find_broken(inference: Inference) -> Int32s:
    """Find the constraints that what people said breaks: the body is true, and the head is not."""
    verdicts = sorted(inference.verdicts)
    rows = inference.graph.touching(np.array(verdicts, dtype=np.int64))
    if not len(rows):
        return rows
    part = inference.graph.part(rows)
    sure = np.logical_and.reduceat(np.isin(part.atom, verdicts), part.start[:-1])
    return rows[sure & (_hinge(inference, rows) > UNKNOWN)]


def _hinge(inference: Inference, rows: Int32s) -> Float64s:
    """Measure how far constraints are violated; below 0 one holds with room to spare."""
    part = inference.graph.part(rows)
    values = part.sign * inference.x[part.atom]
    return np.asarray(part.offset + np.add.reduceat(values, part.start[:-1]))


@dataclass(frozen=True)
class Reason:
    """One constraint that pushes an atom towards its soft truth."""

    rules: tuple[Rule, ...]
    because: tuple["Explanation", ...]
    """The other atoms of the constraint; one that is explained elsewhere in the chain has no reasons here."""
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
        """Yield this atom and all that it rests on."""
        yield self
        for reason in self.reasons:
            for other in reason.because:
                yield from other.walk()


def explain(inference: Inference, atom: int, most: int = _MOST_ATOMS) -> Explanation:
    """Follow the chain behind an atom's soft truth, the strongest reasons first.

    Each atom is explained once, where it is nearest to the start, so that rings and crossing chains end, and
    at most `most` are.
    """
    found: dict[int, list[_Push]] = {}
    level = [atom]
    while level and len(found) < most:
        level = [a for a in dict.fromkeys(level) if a not in found and not _is_sure(inference, a)]
        level = level[: most - len(found)]
        found |= _pushes(inference, level)
        level = [other for a in level for push in found[a] for other in push.others]
    return _build(inference, atom, found)


def _is_sure(inference: Inference, atom: int) -> bool:
    return inference.verdicts.get(atom) in (0.0, 1.0)


@dataclass(frozen=True)
class _Push:
    constraint: int
    others: tuple[int, ...]
    share: float


def _build(inference: Inference, atom: int, found: dict[int, list[_Push]]) -> Explanation:
    """Build the explanation level by level, taking what it uses out of `found`."""
    pushes = found.pop(atom, [])
    own = {other: found.pop(other) for push in pushes for other in push.others if other in found}
    reasons = []
    for push in pushes:
        because = []
        for other in push.others:
            if other in own:
                found[other] = own.pop(other)
            because.append(_build(inference, other, found))
        reasons.append(Reason(tuple(inference.graph.rules_of(push.constraint)), tuple(because), push.share))
    return Explanation(atom, float(inference.x[atom]), inference.verdicts.get(atom), tuple(reasons))


def _pushes(inference: Inference, atoms: list[int]) -> dict[int, list[_Push]]:
    """Find what pushes each of these atoms, the strongest push first."""
    graph = inference.graph
    found: dict[int, list[_Push]] = {atom: [] for atom in atoms}
    evidence = find_evidence(inference, np.array(sorted(atoms), dtype=np.int32))
    for atom, j, share in zip(*(column.tolist() for column in evidence), strict=True):
        members = graph.atom[graph.start[j] : graph.start[j + 1]].tolist()
        found[atom].append(_Push(j, tuple(a for a in members if a != atom), share))
    return found


def describe(explanation: Explanation, sentence: Callable[[int], str]) -> list[str]:
    """Write the explanation in words, a line for each reason, indented by depth.

    Args:
        explanation: from `explain`.
        sentence: an atom in words.
    """
    subject = sentence(explanation.atom)
    if explanation.verdict is not None:
        return [f"{subject}: {_said(explanation.verdict)}"]
    if not explanation.reasons:
        return [f"{subject}: unknown: no answer so far says anything about it"]
    return [f"{subject}: {_word(explanation.x)}, because", *_lines(explanation, sentence, 1)]


def reason(explanation: Explanation, sentence: Callable[[int], str]) -> str:
    """Write in one line what an atom's soft truth rests on."""
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

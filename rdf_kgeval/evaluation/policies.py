"""Choose which belief to ask about next: the policies of the paper.

Every policy is a frozen description; what it picks follows from the view alone, so that replaying a verdict
log asks the same questions again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from rdf_kgeval.common.progress import StepProgress
from rdf_kgeval.common.types import Bools, Int8s, Int32s
from rdf_kgeval.coupling.graph import CouplingGraph
from rdf_kgeval.errors import InputError
from rdf_kgeval.inference.lookahead import Lookahead

ALL_CANDIDATES = 100_000
"""Most beliefs for which greedy control looks at all of them; above, it looks at a shortlist."""
SHORTLIST = 7
"""Beliefs of a shortlist if the user does not say; the paper tries 3, 5 and 7."""


@dataclass(frozen=True, eq=False, kw_only=True)
class View:
    """Input of a policy; beliefs are named by their position in `graph.beliefs.rows`."""

    graph: CouplingGraph
    open: Bools
    """Which beliefs may be asked."""
    label: Int8s
    """Known and inferred labels, by the policy's own way of labelling: 1 true, 0 false, -1 unknown."""
    order: Int32s
    """All beliefs in a random order that the run's seed fixes."""
    accuracy: float
    """Share of true beliefs in the seed set."""
    live: Lookahead | None
    """Inference, for the policies that look ahead."""
    progress: StepProgress | None = None


class Policy(Protocol):
    """A way to choose beliefs."""

    @property
    def labelling(self) -> Literal["asked", "contagion", "inference"]:
        """Return where the labels come from that its estimate averages: verdicts, contagion or inference."""
        ...

    def pick(self, view: View, k: int) -> list[int]:
        """Pick up to k open beliefs, the best first; none when nothing is left worth asking."""
        ...


@dataclass(frozen=True)
class Random:
    """The paper's baseline: in random order; with inference, whatever is not inferred yet."""

    labelling: Literal["asked", "inference"] = "asked"

    def pick(self, view: View, k: int) -> list[int]:
        """Pick the next ones in the run's random order."""
        return _first(view, view.order, k)


@dataclass(frozen=True)
class MaxDegree:
    """The paper's baseline: those in most constraints first; with inference, whatever is not inferred yet."""

    labelling: Literal["asked", "inference"] = "asked"

    def pick(self, view: View, k: int) -> list[int]:
        """Pick the next ones by degree, ties by belief id."""
        beliefs = view.graph.beliefs
        degree = view.graph.degree[beliefs.rows]
        order = np.lexsort((beliefs.id_rank[beliefs.rows], -degree)).astype(np.int32)
        return _first(view, order, k)


@dataclass(frozen=True)
class Cascade:
    """The paper's baseline after Kempe et al. (2003): verdicts infect neighbours in the coupling graph.

    A random belief without a label is asked, and `Contagion` spreads the answer.
    """

    labelling: Literal["contagion"] = field(default="contagion", init=False)

    def pick(self, view: View, k: int) -> list[int]:
        """Pick the next ones in the run's random order that nothing has infected."""
        return _first(view, view.order, k)


@dataclass(frozen=True, kw_only=True)
class Greedy:
    """The paper's Algorithm 1: the belief that makes the expected inferable set largest.

    The expectation is over the belief's own truth, whose probability is its soft truth where it is inferred
    and the accuracy of the seed set elsewhere. Ties go to the smaller belief id.
    """

    candidates: int | None = None
    """Size of the shortlist, the beliefs in most unfulfilled constraints (the paper's approximation)."""
    labelling: Literal["inference"] = field(default="inference", init=False)

    def __post_init__(self) -> None:
        if self.candidates is not None and self.candidates < 1:
            raise InputError(f"greedy control needs at least one candidate, not {self.candidates}")

    def pick(self, view: View, k: int) -> list[int]:
        """Pick the best first, then the best of those that do not depend on the picks before them."""
        beliefs = view.graph.beliefs
        candidates = self._candidates(view, k)
        if view.live is None or not len(candidates):
            return []
        gains = view.live.gains(candidates, view.progress)
        x = view.live.x[candidates]
        pi = np.where(view.label[candidates] >= 0, x, view.accuracy)
        expected = pi * gains[:, 1] + (1 - pi) * gains[:, 0]
        # Soft truths that differ by the solver's tolerance must not decide between equal gains.
        ranked = candidates[np.lexsort((beliefs.id_rank[beliefs.rows[candidates]], -np.round(expected, 4)))]
        return list(_apart(view.live, ranked, k))

    def _candidates(self, view: View, k: int) -> Int32s:
        open_ = np.flatnonzero(view.open)
        if self.candidates is None and len(view.label) <= ALL_CANDIDATES:
            return open_.astype(np.int32)
        return shortlist(view, max(k, self.candidates or SHORTLIST))


def shortlist(view: View, size: int) -> Int32s:
    """List the open beliefs, not inferred, that are in most unfulfilled constraints; ties by belief id.

    A constraint is unfulfilled while one of its atoms is neither asked nor inferred.
    """
    graph, beliefs = view.graph, view.graph.beliefs
    unknown = np.ones(graph.n_atoms, np.bool_)
    unknown[beliefs.rows] = view.label < 0
    unfulfilled = (
        np.logical_or.reduceat(unknown[graph.atom], graph.start[:-1])
        if graph.n_constraints
        else np.zeros(0, np.bool_)
    )
    before = np.concatenate([[0], np.cumsum(unfulfilled[graph.constraint])])
    count = np.diff(before[graph.atom_start])[beliefs.rows]
    open_ = np.flatnonzero(view.open & (view.label < 0))
    rank = beliefs.id_rank[beliefs.rows[open_]]
    return open_[np.lexsort((rank, -count[open_]))][:size].astype(np.int32)


def _first(view: View, order: Int32s, k: int) -> list[int]:
    chosen = view.open[order] & (view.label[order] < 0)
    return [int(position) for position in order[chosen][:k]]


def _apart(live: Lookahead, ranked: Int32s, k: int) -> Iterator[int]:
    """Reorder candidates: first those whose gains do not depend on one another, then the others."""
    if k == 1:
        yield int(ranked[0])
        return
    taken: set[int] = set()
    waiting: list[int] = []
    for position in map(int, ranked):
        own = set(live.depends(position).tolist())
        if taken & own:
            waiting.append(position)
        else:
            taken |= own
            yield position
            k -= 1
        if not k:
            return
    yield from waiting[:k]


class Contagion:
    """Labels that verdicts pass to unlabelled neighbours in the coupling graph, one step far, by chance.

    A verdict passes along each constraint with the probability of its most trusted rule. The chances are
    drawn from the run's seed and the belief alone, so that replaying a log gives the same labels.
    """

    def __init__(self, graph: CouplingGraph, seed: int) -> None:
        self._graph = graph
        self._seed = seed
        self._position = np.full(graph.n_atoms, -1, np.int32)
        self._position[graph.beliefs.rows] = np.arange(graph.n_beliefs, dtype=np.int32)
        trust = np.array([rule.trust for rule in graph.rules], dtype=np.float64)
        self._trust = (
            np.maximum.reduceat(trust[graph.rule], graph.rule_start[:-1])
            if graph.n_constraints
            else np.zeros(0)
        )
        self._label = np.full(graph.n_beliefs, -1, np.int8)

    def label(self) -> Int8s:
        """Return the verdicts and the labels that they passed on."""
        return self._label.copy()

    def take(self, position: int, value: float) -> None:
        """Take a verdict and pass it on."""
        graph = self._graph
        self._label[position] = int(value)
        row = int(graph.beliefs.rows[position])
        rng = np.random.default_rng([self._seed, row])
        for j in graph.constraint[graph.atom_start[row] : graph.atom_start[row + 1]]:
            infected = rng.random() < self._trust[j]
            near = self._position[graph.atom[graph.start[j] : graph.start[j + 1]]]
            near = near[near >= 0]
            if infected:
                self._label[near[self._label[near] < 0]] = int(value)


GREEDY = Greedy()
RANDOM = Random()
MAX_DEGREE = MaxDegree()
CASCADE = Cascade()
RANDOM_INFERENCE = Random("inference")
MAX_DEGREE_INFERENCE = MaxDegree("inference")

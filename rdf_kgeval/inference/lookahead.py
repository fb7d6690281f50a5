"""Lookahead: inference that follows verdicts one by one, and what each further verdict would bring."""

from collections.abc import Mapping

import numpy as np

from rdf_kgeval.common.memory import format_size
from rdf_kgeval.common.progress import StepProgress
from rdf_kgeval.common.types import Float64s, Int8s, Int32s, Int64s
from rdf_kgeval.coupling.graph import CouplingGraph, Thetas
from rdf_kgeval.errors import InputError
from rdf_kgeval.inference.incremental.solution import Incremental
from rdf_kgeval.inference.infer import SLACK, TAU, label
from rdf_kgeval.inference.model import pose
from rdf_kgeval.inference.solver.solve import SolverOptions, solve

TOLERANCE = 0.1 * SLACK
"""Soft truths are exact to this, so that no label hangs on it."""
HELD = 660
"""Bytes that looking ahead takes for each constraint, as benchmarks/control.py measured."""
MOST_KEPT = 50_000_000
"""Entries of the lists that say on which atoms a kept what-if depends; longer lists name a component."""
CHUNK = 4_096
"""Beliefs whose what-ifs are asked for at a time."""


class Lookahead:
    """Soft truths of the beliefs to be evaluated, by position in `graph.beliefs.rows`.

    A what-if is kept until a verdict changes an atom on which it depends; the gain is not submodular, so a
    stale one would bound nothing.
    """

    def __init__(
        self, graph: CouplingGraph, verdicts: Mapping[int, float], thetas: Thetas, threads: int = 1
    ) -> None:
        """Solve with the verdicts so far.

        Args:
            graph: what couples the beliefs.
            verdicts: by row, as `pose` takes them.
            thetas: each rule's weights.
            threads: how many threads ask what-ifs.
        """
        _refuse_large(graph)
        rows = graph.beliefs.rows
        posed = pose(graph, verdicts, thetas)
        options = SolverOptions(tolerance=TOLERANCE, threads=threads)
        number = np.full(graph.n_atoms, -1, np.int32)
        number[posed.atom] = np.arange(len(posed.atom), dtype=np.int32)
        counted = np.zeros(graph.n_atoms, np.bool_)
        counted[rows] = True
        self._variable = number[rows]
        self._x = posed.x[rows]
        self._search = Incremental(
            posed.model,
            solve(posed.model, options),
            options,
            tau=TAU - SLACK,
            counted=counted[posed.atom],
            backward=graph.weights(thetas.backward)[posed.constraint],
        )
        self._gains = _Gains(self._search, graph.component[posed.atom])

    @property
    def x(self) -> Float64s:
        """Return the soft truth of every belief."""
        coupled = self._variable >= 0
        x = self._x.copy()
        x[coupled] = self._search.x[self._variable[coupled]]
        return x

    def label(self) -> Int8s:
        """Label every belief: 1 true, 0 false, -1 unknown."""
        return label(self.x)

    def take(self, position: int, value: float) -> None:
        """Take a verdict: clamp the belief and let everything follow."""
        self._x[position] = value
        variable = int(self._variable[position])
        if variable >= 0:
            self._search.clamp(variable, value)
            self._gains.forget(self._search.commit())

    def gains(self, positions: Int32s, progress: StepProgress | None = None) -> Int64s:
        """Count how many more beliefs would be inferred: one row per belief, if it were false and if true."""
        variables = self._variable[positions]
        coupled = variables >= 0
        alone = (label(self._x[positions]) < 0).astype(np.int64)
        gains = np.repeat(alone[:, None], 2, axis=1)
        gains[coupled] = self._gains.of(variables[coupled], progress)
        return gains

    def depends(self, position: int) -> Int32s:
        """Return the variables on which the gains of a belief depend, after `gains` has asked for it."""
        variable = int(self._variable[position])
        return self._gains.depends(variable) if variable >= 0 else np.empty(0, np.int32)


class _Gains:
    """Kept what-ifs of the variables of a search."""

    def __init__(self, search: Incremental, component: Int32s) -> None:
        n = len(component)
        self._search = search
        self._component = component
        self._most = max(1, MOST_KEPT // max(1, n))
        self._gain = np.zeros((n, 2), np.int64)
        self._fresh = np.zeros(n, np.bool_)
        self._whole = np.zeros(n, np.bool_)
        self._owner = np.empty(0, np.int32)
        self._indptr = np.zeros(1, np.int64)
        self._members = np.empty(0, np.int32)

    def of(self, variables: Int32s, progress: StepProgress | None) -> Int64s:
        stale = np.unique(variables[~self._fresh[variables]])
        for begin in range(0, len(stale), CHUNK):
            self._ask(stale[begin : begin + CHUNK])
            if progress:
                progress(min(begin + CHUNK, len(stale)), len(stale))
        return np.asarray(self._gain[variables])

    def _ask(self, variables: Int32s) -> None:
        found = self._search.what_ifs(variables.astype(np.int64))
        sizes = np.diff(found.indptr)
        self._gain[variables] = found.counts - self._search.count
        self._fresh[variables] = True
        self._whole[variables] = sizes > self._most
        kept = self._fresh[self._owner] & ~np.isin(self._owner, variables)
        short = ~self._whole[variables]
        old_sizes = np.diff(self._indptr)
        self._members = np.concatenate(
            [
                self._members[np.repeat(kept, old_sizes)],
                found.members[np.repeat(short, sizes)].astype(np.int32),
            ]
        )
        self._owner = np.concatenate([self._owner[kept], variables[short]])
        self._indptr = np.concatenate([[0], np.cumsum(np.concatenate([old_sizes[kept], sizes[short]]))])

    def depends(self, variable: int) -> Int32s:
        if self._whole[variable]:
            return np.flatnonzero(self._component == self._component[variable]).astype(np.int32)
        at = int(np.flatnonzero(self._owner == variable)[0])
        return self._members[self._indptr[at] : self._indptr[at + 1]]

    def forget(self, changed: Int64s) -> None:
        """Drop the what-ifs that depend on a changed variable."""
        hit = np.zeros(len(self._fresh), np.bool_)
        hit[changed] = True
        hit_at = np.searchsorted(self._indptr, np.flatnonzero(hit[self._members]), side="right") - 1
        self._fresh[self._owner[hit_at]] = False
        hit_components = np.unique(self._component[changed])
        self._fresh[self._whole & np.isin(self._component, hit_components)] = False


def _refuse_large(graph: CouplingGraph) -> None:
    limit, needed = graph.space.limit, HELD * graph.n_constraints
    if limit is not None and needed > limit:
        raise InputError(
            f"a policy that looks ahead holds the whole graph in memory, about {format_size(needed)}, which "
            f"is more than the memory limit of {format_size(limit)}; leave --policy out, or make the run "
            "with more"
        )

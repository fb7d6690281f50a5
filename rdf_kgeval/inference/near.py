"""Inference in a large graph: only what the verdicts reach moves, so only that is posed and solved.

An atom that no violated constraint touches is at its minimum where it is, at its prior. So the atoms of
violated constraints are solved with all others held, and those that this pulls at join in, until none is
pulled at: then the gradient is zero everywhere, and the minimum is that of the whole graph.
"""

from bisect import bisect_left
from collections.abc import Mapping

import numpy as np

from rdf_kgeval.beliefs import Ints
from rdf_kgeval.coupling import CouplingGraph, Thetas
from rdf_kgeval.inference.model import Floats, Posed, pose
from rdf_kgeval.inference.solver import Solution, SolverOptions, solve
from rdf_kgeval.rule import EPSILON

MANY = 0.2
"""When so large a share of the atoms moves, the whole graph is solved at once."""
HELD = 0.1
"""Share of the solver's tolerance up to which an atom that is held may be pulled at."""


def solve_near(
    graph: CouplingGraph, verdicts: Mapping[int, float], thetas: Thetas, options: SolverOptions
) -> tuple[Posed, Solution]:
    """The same as to pose and solve the whole graph, in time and space that grow with what moves."""
    among = _first(graph, verdicts)
    while True:
        if len(among) > MANY * graph.n_atoms:
            posed = pose(graph, verdicts, thetas)
            return posed, solve(posed.model, options)
        posed = pose(graph, verdicts, thetas, among=among)
        solution = solve(posed.model, options)
        more = _pulled(graph, posed, posed.spread(solution.x), verdicts, among, options)
        if not len(more):
            return posed, solution
        among = np.union1d(among, more)


def _first(graph: CouplingGraph, verdicts: Mapping[int, float]) -> Ints:
    """What shares a constraint with a verdict, and what constraints of one atom, the first ones, pull at."""
    alone = bisect_left(range(graph.n_constraints), True, key=lambda j: bool(graph.start[j + 1] > j + 1))
    rows = graph.touching(np.array(sorted(verdicts), dtype=np.int64))
    rows = np.union1d(rows, np.arange(alone))
    return np.unique(graph.part(rows).atom)


def _pulled(
    graph: CouplingGraph,
    posed: Posed,
    x: Floats,
    verdicts: Mapping[int, float],
    among: Ints,
    options: SolverOptions,
) -> Ints:
    """The atoms that are held though constraints pull at them."""
    part = graph.part(posed.constraint)
    value = (
        part.offset + np.add.reduceat(part.sign * x[part.atom], part.start[:-1])
        if len(part.offset)
        else x[:0]
    )
    multiplier = np.repeat(2.0 * posed.model.weight * np.maximum(value, 0.0), np.diff(part.start))
    atoms, at = np.unique(part.atom, return_inverse=True)
    pull = np.abs(np.bincount(at, part.sign * multiplier, len(atoms)))
    pulled = atoms[pull > 2.0 * EPSILON * HELD * options.tolerance]
    sure = [row for row, q in verdicts.items() if q in (0.0, 1.0)]
    return pulled[~np.isin(pulled, among) & ~np.isin(pulled, sure)]

"""Inference in a large graph: only what the verdicts reach moves, so only that is posed and solved.

An atom that no violated constraint touches is at its minimum where it is, at its prior. So the atoms of
violated constraints are solved with all others held, and those that this pulls at join in, until none is
pulled at: then the gradient is zero everywhere, and the minimum is that of the whole graph.
"""

from collections.abc import Mapping

import numpy as np

from rdf_kgeval.common.types import Float64s, Int32s
from rdf_kgeval.coupling.graph import CouplingGraph, Thetas
from rdf_kgeval.inference.model import Posed, constraint_weights, open_to_violation, pose
from rdf_kgeval.inference.solver.solve import Solution, SolverOptions, solve
from rdf_kgeval.rules.rule import EPSILON

MANY = 0.2
"""When so large a share of the atoms moves, the whole graph is solved at once."""
HELD = 0.1
"""Share of the solver's tolerance up to which an atom that is held may be pulled at."""


def solve_near(
    graph: CouplingGraph, verdicts: Mapping[int, float], thetas: Thetas, options: SolverOptions
) -> tuple[Posed, Solution]:
    """The same as to pose and solve the whole graph, in time and space that grow with what moves."""
    among: Int32s = np.zeros(0, dtype=np.int32)
    while len(among) <= MANY * graph.n_atoms:
        posed = pose(graph, verdicts, thetas, among=among)
        solution = solve(posed.model, options)
        more = _pulled(graph, verdicts, thetas, among, posed.spread(solution.x), options)
        if not len(more):
            return posed, solution
        among = np.union1d(among, more)
    posed = pose(graph, verdicts, thetas)
    return posed, solve(posed.model, options)


def _pulled(
    graph: CouplingGraph,
    verdicts: Mapping[int, float],
    thetas: Thetas,
    among: Int32s,
    x: Float64s,
    options: SolverOptions,
) -> Int32s:
    """The atoms that are held though constraints pull at them."""
    rows = open_to_violation(graph, among, verdicts)
    part = graph.part(rows)
    size = np.diff(part.start)
    row_of = np.repeat(np.arange(len(size)), size)
    value = part.offset + np.bincount(row_of, part.sign * x[part.atom], len(size))
    weight = constraint_weights(graph, thetas, [row for row, q in verdicts.items() if q == 0.0], rows)
    multiplier = (2.0 * weight * np.maximum(value, 0.0))[row_of]
    atoms, at = np.unique(part.atom, return_inverse=True)
    pull = np.abs(np.bincount(at, part.sign * multiplier, len(atoms)))
    pulled = atoms[pull > 2.0 * EPSILON * HELD * options.tolerance]
    sure = [row for row, q in verdicts.items() if q in (0.0, 1.0)]
    return pulled[~np.isin(pulled, among) & ~np.isin(pulled, sure)]

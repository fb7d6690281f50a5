"""Inference: verdicts in, soft truths and labels out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import numpy as np

from rdf_kgeval.common.arguments import expect, wrong
from rdf_kgeval.common.text import printable
from rdf_kgeval.common.types import Float64s, Int8s, Int32s
from rdf_kgeval.coupling.graph import CouplingGraph, Thetas
from rdf_kgeval.errors import InputError
from rdf_kgeval.inference.model import UNKNOWN, PosedModel, constraint_weights, open_to_violation, pose
from rdf_kgeval.inference.rule_weights import updated_thetas
from rdf_kgeval.inference.solver.solve import DEFAULT_OPTIONS, Solution, Solve, SolverOptions
from rdf_kgeval.inference.solver.solve import solve as solve_here
from rdf_kgeval.rules.rule import EPSILON

TAU = 0.8
"""Soft truth from which on a belief is labelled true; up to 1 - TAU it is labelled false."""
SLACK = 1e-5
"""How far below the threshold a soft truth may be: the solver is exact to about a tenth of it."""

LARGE = 200_000
"""With more constraints, only what the verdicts reach is solved."""
MANY = 0.2
"""Share of the atoms above which, if they move, the whole graph is solved at once."""
HELD = 0.1
"""Share of the solver's tolerance up to which an atom that is held may be pulled at."""

Verdicts = Mapping[str, bool | float]
"""By belief id: True or False, or the probability that the belief is true."""


@dataclass(frozen=True, kw_only=True)
class InferenceOptions:
    """How to infer."""

    update_confidences: bool = False
    """Learn from the verdicts how far each rule is to be trusted."""
    solver: SolverOptions = field(default_factory=SolverOptions)
    """How exactly to solve."""


@dataclass(frozen=True, eq=False)
class Inference:
    """What follows from the verdicts; soft truths are by atom, the rows of the beliefs first."""

    graph: CouplingGraph
    verdicts: Mapping[int, float]
    """By row."""
    thetas: Thetas
    """Each rule's weights as they were used."""
    posed: PosedModel
    solution: Solution

    @cached_property
    def x(self) -> Float64s:
        """Return the soft truth of every atom."""
        return self.posed.spread(self.solution.x)

    @property
    def objective(self) -> float:
        """Return the value of the objective at the minimum."""
        return self.solution.objective

    def label(self, tau: float = TAU) -> Int8s:
        """Label each belief to be evaluated, in the order of `beliefs.rows`: 1 true, 0 false, -1 unknown."""
        return label(self.x[self.graph.beliefs.rows], tau)

    def labels(self, tau: float = TAU) -> dict[str, bool]:
        """Return the inferable set: every belief to be evaluated that is not unknown, by id."""
        beliefs = self.graph.beliefs
        found = self.label(tau)
        return {
            beliefs.id(int(row)): bool(value)
            for row, value in zip(beliefs.rows, found, strict=True)
            if value >= 0
        }


def label(x: Float64s, tau: float = TAU) -> Int8s:
    """Turn soft truths into labels: 1 true, 0 false, -1 unknown."""
    if not isinstance(tau, int | float) or not 0.5 < tau <= 1.0:
        raise InputError(f"tau is {printable(repr(tau), 40)}; it must be above 0.5 and at most 1")
    labels = np.full(len(x), -1, dtype=np.int8)
    labels[x >= tau - SLACK] = 1
    labels[x <= 1 - tau + SLACK] = 0
    return labels


def infer(
    graph: CouplingGraph,
    verdicts: Verdicts | None = None,
    options: InferenceOptions | None = None,
    solve: Solve = solve_here,
) -> Inference:
    """Find the most probable soft truth of every belief, given what people said of some.

    Args:
        graph: from `couple`.
        verdicts: by belief id, True or False, or the probability that the belief is true.
        options: how to infer.
        solve: an engine's way to solve whole models; by default they are solved in this process.
    """
    if isinstance(getattr(graph, "graph", None), CouplingGraph):
        remedy = (
            "it has inferred already: .labels(), .infer() and .explain(s, p, o) say what; its graph is .graph"
        )
        raise wrong(graph, "infer takes a coupling graph first", remedy)
    need = "infer takes a coupling graph first"
    expect(graph, CouplingGraph, need, "couple(beliefs, rules) makes one: infer(graph, verdicts)")
    if options is not None:
        need, remedy = "infer takes InferenceOptions last", "write InferenceOptions(update_confidences=True)"
        expect(options, InferenceOptions, need, remedy)
    options = options or InferenceOptions()
    need = "infer takes verdicts as a dict from belief ids to True or False"
    remedy = "write {beliefs.id(beliefs.find(s, p, o)): True}"
    given = expect({} if verdicts is None else verdicts, Mapping, need, remedy)
    rows = {_row(graph, belief): _truth(belief, value) for belief, value in given.items()}
    thetas = updated_thetas(graph, rows) if options.update_confidences else graph.thetas
    return infer_rows(graph, rows, thetas, options.solver, solve)


def _row(graph: CouplingGraph, belief: object) -> int:
    remedy = "beliefs.id(row) is the id of a row, and beliefs.find(s, p, o) is the row of a triple"
    return graph.beliefs.row(expect(belief, str, "a verdict is about a belief's id", remedy))


def _truth(belief: str, value: object) -> float:
    need = f"the verdict on {printable(belief, 12)} is True, False or a probability"
    remedy = "leave out the beliefs of which nobody said anything"
    truth = float(cast(float, expect(value, (int, float, np.bool_), need, remedy)))
    if not 0 <= truth <= 1:
        raise wrong(value, need, "give a number from 0 to 1")
    return truth


def infer_rows(
    graph: CouplingGraph,
    verdicts: Mapping[int, float],
    thetas: Thetas,
    solver: SolverOptions = DEFAULT_OPTIONS,
    solve: Solve = solve_here,
) -> Inference:
    """Infer as `infer` does, with verdicts by row and the weights of each rule."""
    if solve is solve_here and graph.n_constraints > LARGE and solver.p == 2:
        return Inference(graph, verdicts, thetas, *solve_reached(graph, verdicts, thetas, solver))
    posed = pose(graph, verdicts, thetas)
    return Inference(graph, verdicts, thetas, posed, solve(posed.model, solver))


def solve_reached(
    graph: CouplingGraph, verdicts: Mapping[int, float], thetas: Thetas, options: SolverOptions
) -> tuple[PosedModel, Solution]:
    """Solve a large graph in time and space that grow with what the verdicts move.

    An atom that no violated constraint touches is at its minimum where it is, at its prior. So the atoms of
    violated constraints are solved with all others held, and those that this pulls at join in, until none is
    pulled at: then the gradient is zero everywhere, and the minimum is that of the whole graph.
    """
    among: Int32s = np.zeros(0, dtype=np.int32)
    while len(among) <= MANY * graph.n_atoms:
        posed = pose(graph, verdicts, thetas, among=among)
        solution = solve_here(posed.model, options)
        more = _pulled(graph, verdicts, thetas, among, posed.spread(solution.x), options)
        if not len(more):
            return posed, solution
        among = np.union1d(among, more)
    posed = pose(graph, verdicts, thetas)
    return posed, solve_here(posed.model, options)


def _pulled(
    graph: CouplingGraph,
    verdicts: Mapping[int, float],
    thetas: Thetas,
    among: Int32s,
    x: Float64s,
    options: SolverOptions,
) -> Int32s:
    """Return the atoms that are held though constraints pull at them."""
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


def normalise_class_mass(x: Float64s, accuracy: float, inferred: float, asked: Int32s) -> Float64s:
    """Shift soft truths so that the share of true ones agrees with a random sample (the paper's cold start).

    The odds of each soft truth are multiplied by (accuracy / inferred) / ((1 - accuracy) / (1 - inferred)).
    Verdicts do not move, nor do soft truths within 0.05 of the prior, which the odds would call true.

    Args:
        x: soft truths.
        accuracy: share of true beliefs in the random sample (the paper's q).
        inferred: mean soft truth of the inferred beliefs (the paper's p).
        asked: where in `x` the verdicts are.
    """
    if not (0 < accuracy < 1 and 0 < inferred < 1):
        return x
    true = accuracy / inferred * x
    false = (1 - accuracy) / (1 - inferred) * (1 - x)
    moved = true / (true + false)
    stays = np.abs(x - UNKNOWN) <= 0.05
    stays[asked] = True
    return np.where(stays, x, moved)

"""Inference: verdicts in, soft truths and labels out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from rdf_kgeval.common.types import Float64s, Int8s, Int32s
from rdf_kgeval.coupling.graph import CouplingGraph, Thetas
from rdf_kgeval.errors import InputError
from rdf_kgeval.inference.model import UNKNOWN, Posed, pose
from rdf_kgeval.inference.reach import solve_near
from rdf_kgeval.inference.rule_weights import updated_thetas
from rdf_kgeval.inference.solver.solve import DEFAULT_OPTIONS, Solution, Solve, SolverOptions
from rdf_kgeval.inference.solver.solve import solve as solve_here

TAU = 0.8
"""Soft truth from which on a belief is labelled true; up to 1 - TAU it is labelled false."""
SLACK = 1e-5
"""What a soft truth may lack of the threshold: the solver is exact to about a tenth of it."""

LARGE = 200_000
"""With more constraints, only what the verdicts reach is solved."""

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
    posed: Posed
    solution: Solution

    @cached_property
    def x(self) -> Float64s:
        """The soft truth of every atom."""
        return self.posed.spread(self.solution.x)

    @property
    def objective(self) -> float:
        """The value of the objective at the minimum."""
        return self.solution.objective

    def label(self, tau: float = TAU) -> Int8s:
        """Of each belief to be evaluated, in the order of `beliefs.rows`: 1 true, 0 false, -1 unknown."""
        return label(self.x[self.graph.beliefs.rows], tau)

    def labels(self, tau: float = TAU) -> dict[str, bool]:
        """The inferable set: every belief to be evaluated that is not unknown, by id."""
        beliefs = self.graph.beliefs
        found = self.label(tau)
        return {
            beliefs.id(int(row)): bool(value)
            for row, value in zip(beliefs.rows, found, strict=True)
            if value >= 0
        }


def label(x: Float64s, tau: float = TAU) -> Int8s:
    """Soft truths as labels: 1 true, 0 false, -1 unknown."""
    if not 0.5 < tau <= 1.0:
        raise InputError(f"tau is {tau}; it must be above 0.5 and at most 1")
    labels = np.full(len(x), -1, dtype=np.int8)
    labels[x >= tau - SLACK] = 1
    labels[x <= 1 - tau + SLACK] = 0
    return labels


def infer(
    graph: CouplingGraph,
    verdicts: Verdicts | None = None,
    options: InferenceOptions | None = None,
    solve: Solve | None = None,
) -> Inference:
    """Find the most probable soft truth of every belief, given what people said of some.

    Args:
        graph: from `couple`.
        verdicts: by belief id, True or False, or the probability that the belief is true.
        options: how to infer.
        solve: an engine's way to solve whole models; without it they are solved here.
    """
    options = options or InferenceOptions()
    rows = {graph.beliefs.row(belief): float(value) for belief, value in (verdicts or {}).items()}
    thetas = updated_thetas(graph, rows) if options.update_confidences else graph.thetas
    return infer_rows(graph, rows, thetas, options.solver, solve)


def infer_rows(
    graph: CouplingGraph,
    verdicts: Mapping[int, float],
    thetas: Thetas,
    solver: SolverOptions = DEFAULT_OPTIONS,
    solve: Solve | None = None,
) -> Inference:
    """As `infer`, with verdicts by row and the weights of each rule."""
    if solve is None and graph.n_constraints > LARGE and solver.p == 2:
        return Inference(graph, verdicts, thetas, *solve_near(graph, verdicts, thetas, solver))
    posed = pose(graph, verdicts, thetas)
    return Inference(graph, verdicts, thetas, posed, (solve or solve_here)(posed.model, solver))


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

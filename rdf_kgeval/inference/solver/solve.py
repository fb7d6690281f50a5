"""MAP inference in a hinge-loss Markov random field that is given as arrays."""

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from rdf_kgeval.common.jit import kernel, sized, threads
from rdf_kgeval.common.types import Bools, Float64s, Int32s, Int64s
from rdf_kgeval.errors import InputError
from rdf_kgeval.inference.solver.ascent import ascend
from rdf_kgeval.inference.solver.layout import LENGTHS, Layout, lay_out
from rdf_kgeval.inference.solver.newton import newton
from rdf_kgeval.inference.solver.problem import Problem, Scratch, Span, scratch, set_values, span_of

NOISE = 16 * np.finfo(np.float64).eps
"""Share of a row's terms that rounding may leave in its value."""
WIDTH, NARROWEST = 0.3, 1e-7
"""Linear hinges are smoothed over a width of values that halves when the multipliers settle too slowly."""
SLOW = 0.7
MAX_ROUNDS = 400
SHARPER = 0.01
"""Linear hinges are solved to this share of the tolerance: their objective is off by as much as x is."""
STIFFNESS = 10.0
"""A multiplier rarely exceeds the largest strength by more, whatever its row's weight."""
WORTH_NOISE = 1e5
"""Rounding matters only where a slope exceeds the weakest prior by more."""
FEW_ROWS = 50_000
"""With fewer rows a second thread costs more than it brings."""


@dataclass(frozen=True)
class Model:
    """Weighted hinges over variables in [0, 1], and a prior that makes their minimum unique.

    The objective is `sum_j weight_j * max(0, a_j x + offset_j)^p + sum_i strength_i * (x_i - prior_i)^2`,
    where row j of a is `coef[indptr[j]:indptr[j + 1]]` at the variables `indices[indptr[j]:indptr[j + 1]]`.
    A row may be empty (a constant) and may name a variable twice (its coefficients add up).

    Raises:
        InputError: The arrays do not fit together, a number is not finite, a weight is negative or a
            strength is not positive.
    """

    indptr: Int64s
    indices: Int32s
    coef: Float64s
    offset: Float64s
    weight: Float64s
    prior: Float64s
    strength: Float64s

    def __post_init__(self) -> None:
        for field in fields(self):
            array = np.ascontiguousarray(getattr(self, field.name), _DTYPES.get(field.name, np.float64))
            object.__setattr__(self, field.name, array)
            if array.ndim != 1:
                raise InputError(f"The model's {field.name} has {array.ndim} dimensions; give a flat array.")
            if not np.isfinite(array).all():
                at = int(np.flatnonzero(~np.isfinite(array))[0])
                raise InputError(f"The model's {field.name}[{at}] is {array[at]}; give finite numbers only.")
        for wrong, reason in (
            (len(self.offset) != len(self.weight), "offset and weight differ in length"),
            (len(self.prior) != len(self.strength), "prior and strength differ in length"),
            (len(self.indices) != len(self.coef), "indices and coef differ in length"),
            (len(self.indptr) != len(self.offset) + 1, "indptr is not one longer than offset"),
            (_not_pointers(self.indptr, len(self.indices)), "indptr does not rise from 0 to the entries"),
            (_outside(self.indices, len(self.prior)), "indices name a variable that has no prior"),
            (bool((self.weight < 0).any()), "a weight is negative"),
            (bool((self.strength <= 0).any()), "a strength is not positive, so the minimum is not unique"),
        ):
            if wrong:
                raise InputError(f"The model cannot be solved: {reason}.")

    @property
    def n_variables(self) -> int:
        """Return the number of variables."""
        return len(self.prior)

    @property
    def n_rows(self) -> int:
        """Return the number of hinges."""
        return len(self.offset)


_DTYPES = {"indptr": np.int64, "indices": np.int32}


@dataclass(frozen=True, kw_only=True)
class SolverOptions:
    """How to solve, and how exactly.

    Squared hinges are minimised by a semismooth Newton method (Qi and Sun, Mathematical Programming 58,
    1993), linear ones by an augmented Lagrangian whose inner problems the same method solves.
    """

    p: int = 2
    """Power of the hinges, 1 or 2."""
    tolerance: float = 1e-7
    """Largest |projected gradient_i| / (2 strength_i), an error in x, at which a solution is accepted."""
    max_iterations: int = 200
    """Newton steps per component (with p = 1: per round), after which it stays as it is, residual and all."""
    threads: int = 1
    """Threads to which components are shared out; one giant component uses one."""

    def __post_init__(self) -> None:
        if self.p not in (1, 2):
            raise InputError(f"The hinges' power p is {self.p}; it can be 1 or 2.")
        if not 0 < self.tolerance < np.inf:
            raise InputError(f"The solver's tolerance is {self.tolerance}; it must be positive.")
        if self.max_iterations < 1 or self.threads < 1:
            raise InputError("The solver needs at least one iteration and one thread.")


@dataclass(frozen=True)
class Solution:
    """A point in the box, and how far from optimal it is."""

    x: Float64s
    objective: float
    residual: float
    """Largest projected gradient. With p = 1 the gradient is the Lagrangian's, and the largest violation of
    `multiplier = clip(multiplier + value, 0, weight)` counts too, so that 0 is optimal in both cases."""
    iterations: int
    """Newton steps of the component that needed most."""


DEFAULT_OPTIONS = SolverOptions()
Solve = Callable[[Model, SolverOptions], Solution]
"""What finds the minimum of a whole model."""


def solve(model: Model, options: SolverOptions = DEFAULT_OPTIONS, start: Float64s | None = None) -> Solution:
    """Find the unique minimum, from the prior or from a point known to be near.

    Raises:
        InputError: The start has the wrong length or a number that is not finite.
    """
    n = model.n_variables
    if start is not None and (start.shape != (n,) or not np.isfinite(start).all()):
        raise InputError(f"The start must be {n} finite numbers, one for each variable.")
    with sized(model.n_rows):
        return _solve(model, options, start)


def _solve(model: Model, options: SolverOptions, start: Float64s | None) -> Solution:
    layout = lay_out(model.n_variables, model.indptr, model.indices, model.coef, model.offset, model.weight)
    problem = to_problem(model, layout, options)
    x = problem.prior.copy() if start is None else np.clip(start, 0.0, 1.0)[layout.order]
    dual = np.zeros(len(layout.offset))
    work = scratch(model.n_variables, len(layout.offset), len(layout.indices))
    accuracy = 2.0 * SHARPER * options.tolerance * float(problem.strength.min(initial=1.0))

    def run(first: int, last: int) -> int:
        return _solve_components(
            first,
            last,
            layout,
            problem,
            work,
            start is None,
            options.max_iterations,
            options.tolerance,
            accuracy,
            x,
            dual,
        )

    iterations = _share_out(run, layout, options.threads)
    objective, residual = _assess(layout, problem, x, dual)
    empty = model.indptr[1:] == model.indptr[:-1]
    objective += float(model.weight[empty] @ np.maximum(0.0, model.offset[empty]) ** options.p)
    return Solution(x[layout.rank], objective, residual, iterations)


def to_problem(model: Model, layout: Layout, options: SolverOptions) -> Problem:
    """Write the model in the layout's order, with the slopes of its hinges and the accuracy asked for."""
    strength = model.strength[layout.order]
    if options.p == 2:
        slope = 2.0 * layout.weight
        cap = np.full(len(slope), np.inf)
    else:
        slope = np.minimum(layout.weight, STIFFNESS * strength.max(initial=0.0))
        cap = layout.weight
    accuracy = 2.0 * options.tolerance * strength * (1.0 if options.p == 2 else SHARPER)
    if slope.max(initial=0.0) > WORTH_NOISE * strength.min(initial=1.0):
        accuracy += _noise(layout, slope)
    return Problem(
        layout.indptr,
        layout.indices,
        layout.coef,
        layout.offset,
        np.zeros(len(slope)),
        slope,
        cap,
        model.prior[layout.order],
        strength,
        1.0 / accuracy,
    )


def _share_out(run: Callable[[int, int], int], layout: Layout, parts: int) -> int:
    """Run over all components, in some parts of about equal rows, each in a thread."""
    n_components, n_rows = len(layout.bounds) - 1, len(layout.offset)
    if parts == 1 or n_rows < FEW_ROWS:
        return run(0, n_components)
    cuts = np.searchsorted(layout.groups[::LENGTHS], np.linspace(0, n_rows, parts + 1)[1:-1])
    ends = [0, *(int(cut) for cut in cuts), n_components]
    with threads(parts) as pool:
        return max(pool.map(run, ends[:-1], ends[1:]))


@kernel
def _solve_components(
    first: int,
    last: int,
    layout: Layout,
    problem: Problem,
    work: Scratch,
    cold: bool,
    max_iterations: int,
    tolerance: float,
    accuracy: float,
    x: Float64s,
    dual: Float64s,
) -> int:
    most = 0
    fixed = np.zeros(len(x), np.bool_)
    for c in range(first, last):
        span = span_of(c, layout.bounds, layout.groups)
        if cold:
            ascend(span, problem, tolerance, x, dual)
        set_values(span, problem, work, x)
        if span.row_hi > span.row_lo and problem.cap[span.row_lo] < np.inf:
            iterations = _solve_linear(span, problem, work, max_iterations, accuracy, x, fixed, dual)
        else:
            iterations = newton(span, problem, work, max_iterations, x, fixed)
        most = max(most, iterations)
    return most


@kernel
def _solve_linear(
    span: Span,
    problem: Problem,
    work: Scratch,
    max_iterations: int,
    accuracy: float,
    x: Float64s,
    fixed: Bools,
    dual: Float64s,
) -> int:
    """Minimise the augmented Lagrangian: Newton on the smoothed hinges, then a step of their multipliers."""
    iterations = 0
    width, target, before = 1.0, WIDTH, np.inf
    for _ in range(MAX_ROUNDS):
        for j in range(span.row_lo, span.row_hi):
            problem.shift[j] = dual[j]
            problem.slope[j] *= width / target
        width = target
        iterations += newton(span, problem, work, max_iterations, x, fixed)
        set_values(span, problem, work, x)
        worst = 0.0
        for j in range(span.row_lo, span.row_hi):
            value = work.value[j]
            dual[j] = min(problem.cap[j], max(0.0, dual[j] + problem.slope[j] * value))
            worst = max(worst, abs(min(problem.cap[j], max(0.0, dual[j] + value)) - dual[j]))
        if worst <= accuracy:
            break
        if worst > SLOW * before:
            target = max(NARROWEST, 0.5 * width)
        before = worst
    return iterations


@kernel
def _assess(layout: Layout, problem: Problem, x: Float64s, dual: Float64s) -> tuple[float, float]:
    """Compute the objective of all rows, and the largest violation of the optimality conditions."""
    gradient = 2.0 * problem.strength * (x - problem.prior)
    objective = 0.0
    residual = 0.0
    for j in range(len(problem.offset)):
        value = problem.offset[j]
        for k in range(problem.indptr[j], problem.indptr[j + 1]):
            value += problem.coef[k] * x[problem.indices[k]]
        hinge = max(0.0, value)
        if problem.cap[j] == np.inf:
            objective += layout.weight[j] * hinge * hinge
            multiplier = 2.0 * layout.weight[j] * hinge
        else:
            objective += layout.weight[j] * hinge
            multiplier = dual[j]
            residual = max(residual, abs(min(problem.cap[j], max(0.0, multiplier + value)) - multiplier))
        if multiplier > 0.0:
            for k in range(problem.indptr[j], problem.indptr[j + 1]):
                gradient[problem.indices[k]] += problem.coef[k] * multiplier
    for i in range(len(x)):
        objective += problem.strength[i] * (x[i] - problem.prior[i]) ** 2
        g = gradient[i]
        if not ((x[i] <= 0.0 and g > 0.0) or (x[i] >= 1.0 and g < 0.0)):
            residual = max(residual, abs(g))
    return objective, residual


@kernel
def _noise(layout: Layout, slope: Float64s) -> Float64s:
    """Bound what rounding alone may leave in each gradient."""
    noise = np.zeros(len(layout.order))
    for j in range(len(slope)):
        size = abs(layout.offset[j])
        for k in range(layout.indptr[j], layout.indptr[j + 1]):
            size += abs(layout.coef[k])
        for k in range(layout.indptr[j], layout.indptr[j + 1]):
            noise[layout.indices[k]] += NOISE * slope[j] * size * abs(layout.coef[k])
    return noise


def _not_pointers(indptr: Int64s, entries: int) -> bool:
    return bool(len(indptr) == 0 or indptr[0] != 0 or indptr[-1] != entries or (np.diff(indptr) < 0).any())


def _outside(indices: Int32s, n: int) -> bool:
    return bool(len(indices) > 0 and not 0 <= indices.min() <= indices.max() < n)

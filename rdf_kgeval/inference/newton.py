"""Minimise sum_j phi_j(a_j x + b_j) + sum_i s_i (x_i - m_i)^2 over a box, one connected component at a time.

The slope of phi_j is `clip(shift_j + slope_j * value, 0, cap_j)`. Squared hinges are the case shift 0, slope
2 weight, no cap; the augmented Lagrangian of linear hinges is the case shift = multiplier, cap = weight.
"""

from typing import NamedTuple

import numpy as np

from rdf_kgeval.inference.kernel import Floats, Indices, Ints, kernel

FORCING = 0.01
"""A linear system is solved to this share of the gradient."""
LINE_STEPS = 40
PINNINGS = 20
"""Variables that a step would take out of the box are pinned to it, and the others solved again."""


class Problem(NamedTuple):
    """Rows and variables in the order of a layout."""

    indptr: Ints
    indices: Indices
    coef: Floats
    offset: Floats
    shift: Floats
    slope: Floats
    cap: Floats
    prior: Floats
    strength: Floats
    gauge: Floats
    """A gradient g is small enough at a variable when |g| * gauge is at most 1."""


class Scratch(NamedTuple):
    """Working space; components use disjoint parts of it, so threads can share it."""

    gradient: Floats
    inverse: Floats
    direction: Floats
    search: Floats
    product: Floats
    held: Floats
    """The inverse diagonal of variables that are pinned to the box, 0 elsewhere."""
    value: Floats
    change: Floats
    ends: Ints
    listed: Indices
    indices: Indices
    values: Floats


def scratch(n: int, rows: int, entries: int) -> Scratch:
    """Working space for a problem of this size."""
    return Scratch(
        gradient=np.empty(n),
        inverse=np.empty(n),
        direction=np.empty(n),
        search=np.empty(n),
        product=np.empty(n),
        held=np.empty(n),
        value=np.empty(rows),
        change=np.empty(rows),
        ends=np.empty(rows, np.int64),
        listed=np.empty(rows, np.int32),
        indices=np.empty(entries, np.int32),
        values=np.empty(entries),
    )


class Span(NamedTuple):
    """The variables and rows of one component."""

    lo: int
    hi: int
    row_lo: int
    row_hi: int


@kernel
def newton(span: Span, problem: Problem, work: Scratch, max_iterations: int, x: Floats) -> int:
    """Minimise over the component in place; stop when every projected gradient is small enough.

    Semismooth Newton with projection; a step that the box cut is followed by a safe one, so that the
    objective falls at least linearly whatever the box does.
    """
    lo, hi = span.lo, span.hi
    iteration = 0
    clipped = False
    while iteration < max_iterations:
        n_active = _linearise(span, problem, work, x)
        worst = _free(span, problem, work, x)
        if worst <= 1.0:
            break
        iteration += 1
        safe, clipped = clipped, False
        if safe:
            _majorise(span, problem, work)
            _project(span, x, work.direction)
        else:
            work.direction[lo:hi] = 0.0
            work.held[lo:hi] = 0.0
            _conjugate_gradients(span, problem, work, n_active, max(0.3, FORCING * worst))
            for _ in range(PINNINGS):
                if not _pin(span, work, x):
                    break
                _multiply(span, problem, work, n_active)
                for i in range(lo, hi):
                    work.gradient[i] += work.product[i]
                _conjugate_gradients(span, problem, work, n_active, max(0.3, FORCING * worst))
            clipped = _project(span, x, work.direction)
        step = _line_search(span, problem, work, x)
        moved = 0.0
        for i in range(lo, hi):
            old = x[i]
            x[i] = min(1.0, max(0.0, old + step * work.direction[i]))
            moved = max(moved, abs(x[i] - old))
        if moved == 0.0:
            if safe:
                break
            clipped = True  # projection or rounding spoilt the Newton direction; a safe step decides
    return iteration


@kernel
def _linearise(span: Span, problem: Problem, work: Scratch, x: Floats) -> int:
    """Gradient, diagonal, values before clipping, and the rows that bend, times the root of their slope."""
    indptr, indices, coef = problem.indptr, problem.indices, problem.coef
    gradient, diagonal = work.gradient, work.inverse
    for i in range(span.lo, span.hi):
        gradient[i] = 2.0 * problem.strength[i] * (x[i] - problem.prior[i])
        diagonal[i] = 2.0 * problem.strength[i]
    n_active = 0
    to = indptr[span.row_lo]
    for j in range(span.row_lo, span.row_hi):
        total = problem.offset[j]
        for k in range(indptr[j], indptr[j + 1]):
            total += coef[k] * x[indices[k]]
        total = problem.shift[j] + problem.slope[j] * total
        work.value[j] = total
        if total <= 0.0:
            continue
        if total >= problem.cap[j]:
            for k in range(indptr[j], indptr[j + 1]):
                gradient[indices[k]] += coef[k] * problem.cap[j]
            continue
        root = np.sqrt(problem.slope[j])
        for k in range(indptr[j], indptr[j + 1]):
            i = indices[k]
            gradient[i] += coef[k] * total
            scaled = coef[k] * root
            diagonal[i] += scaled * scaled
            work.indices[to] = i
            work.values[to] = scaled
            to += 1
        work.ends[span.row_lo + n_active] = to
        n_active += 1
    return n_active


@kernel
def _free(span: Span, problem: Problem, work: Scratch, x: Floats) -> float:
    """Invert the diagonal where a variable may move, 0 elsewhere; the largest gauged projected gradient."""
    worst = 0.0
    for i in range(span.lo, span.hi):
        g = work.gradient[i]
        if (x[i] <= 0.0 and g > 0.0) or (x[i] >= 1.0 and g < 0.0):
            work.inverse[i] = 0.0
        else:
            worst = max(worst, abs(g) * problem.gauge[i])
            work.inverse[i] = 1.0 / work.inverse[i]
    return worst


@kernel
def _conjugate_gradients(span: Span, problem: Problem, work: Scratch, n_active: int, enough: float) -> None:
    """Solve (normal matrix of the active rows + 2 strength) direction = -gradient where inverse > 0.

    Continues from the direction given; `gradient` is the residual of that system throughout.
    """
    lo, hi = span.lo, span.hi
    gradient, inverse, direction, search, product = work[:5]
    gauge = problem.gauge
    rho = 0.0
    for i in range(lo, hi):
        search[i] = -gradient[i] * inverse[i]
        rho -= gradient[i] * search[i]
    for _ in range(2 * (hi - lo) + 20):
        curvature = _multiply(span, problem, work, n_active)
        if not curvature > 0.0:
            break
        alpha = rho / curvature
        new_rho = 0.0
        left = 0.0
        for i in range(lo, hi):
            direction[i] += alpha * search[i]
            g = gradient[i] + alpha * product[i]
            gradient[i] = g
            new_rho += g * g * inverse[i]
            left = max(left, abs(g) * gauge[i] if inverse[i] > 0.0 else 0.0)
        if left <= enough:
            break
        beta = new_rho / rho
        rho = new_rho
        for i in range(lo, hi):
            search[i] = beta * search[i] - gradient[i] * inverse[i]


@kernel
def _multiply(span: Span, problem: Problem, work: Scratch, n_active: int) -> float:
    """Product of the system's matrix with `search`; returns the curvature along it."""
    search, product, strength = work.search, work.product, problem.strength
    ends, indices, values = work.ends, work.indices, work.values
    curvature = 0.0
    for i in range(span.lo, span.hi):
        product[i] = 2.0 * strength[i] * search[i]
        curvature += product[i] * search[i]
    begin = problem.indptr[span.row_lo]
    for row in range(span.row_lo, span.row_lo + n_active):
        end = ends[row]
        total = 0.0
        for k in range(begin, end):
            total += values[k] * search[indices[k]]
        for k in range(begin, end):
            product[indices[k]] += values[k] * total
        curvature += total * total
        begin = end
    return curvature


@kernel
def _pin(span: Span, work: Scratch, x: Floats) -> bool:
    """Stop at the box whoever would leave it, and let go who was stopped but is pushed back inside.

    `search` becomes how much that shortens their steps; false when nobody was stopped or let go.
    """
    changed = False
    for i in range(span.lo, span.hi):
        target = x[i] + work.direction[i]
        work.search[i] = 0.0
        if work.inverse[i] > 0.0 and (target < 0.0 or target > 1.0):
            bound = 0.0 if target < 0.0 else 1.0
            work.search[i] = bound - target
            work.direction[i] = bound - x[i]
            work.held[i] = work.inverse[i]
            work.inverse[i] = 0.0
            changed = True
        elif work.held[i] > 0.0 and (work.gradient[i] < 0.0) == (target < 0.5) and work.gradient[i] != 0.0:
            work.inverse[i] = work.held[i]
            work.held[i] = 0.0
            changed = True
    return changed


@kernel
def _project(span: Span, x: Floats, direction: Floats) -> bool:
    """Cut the direction so that a full step stays in the box; say whether that changed anything."""
    clipped = False
    for i in range(span.lo, span.hi):
        target = x[i] + direction[i]
        if target < 0.0:
            direction[i] = -x[i]
            clipped = True
        elif target > 1.0:
            direction[i] = 1.0 - x[i]
            clipped = True
    return clipped


@kernel
def _majorise(span: Span, problem: Problem, work: Scratch) -> None:
    """Gradient step under a separable upper bound of the objective: it descends even after projection."""
    indptr, indices, coef = problem.indptr, problem.indices, problem.coef
    direction = work.direction
    for i in range(span.lo, span.hi):
        direction[i] = 2.0 * problem.strength[i]
    for j in range(span.row_lo, span.row_hi):
        length = 0.0
        for k in range(indptr[j], indptr[j + 1]):
            length += abs(coef[k])
        for k in range(indptr[j], indptr[j + 1]):
            direction[indices[k]] += problem.slope[j] * length * abs(coef[k])
    for i in range(span.lo, span.hi):
        direction[i] = -work.gradient[i] / direction[i]


@kernel
def _line_search(span: Span, problem: Problem, work: Scratch, x: Floats) -> float:
    """The exact minimiser in [0, 1] along the direction, by Newton on the piecewise linear derivative."""
    indptr, indices, coef = problem.indptr, problem.indices, problem.coef
    cap, value, change, direction = problem.cap, work.value, work.change, work.direction
    linear = 0.0
    square = 0.0
    for i in range(span.lo, span.hi):
        linear += 2.0 * problem.strength[i] * (x[i] - problem.prior[i]) * direction[i]
        square += 2.0 * problem.strength[i] * direction[i] * direction[i]
    steepness = linear
    for j in range(span.row_lo, span.row_hi):
        total = 0.0
        for k in range(indptr[j], indptr[j + 1]):
            total += coef[k] * direction[indices[k]]
        change[j] = total
        if value[j] > 0.0:
            steepness += min(value[j], cap[j]) * total
    if not steepness < 0.0:
        return 0.0
    below, above, t = 0.0, 1.0, 1.0
    for _ in range(LINE_STEPS):
        first, second = _bend(span, problem, work, t)
        first += linear + t * square
        if first > 0.0:
            above = t
        elif t == 1.0:
            break
        else:
            below = t
        if abs(first) <= -1e-9 * steepness:
            break
        t -= first / (second + square)
        if not below < t < above:
            t = 0.5 * (below + above)
    return t


@kernel
def _bend(span: Span, problem: Problem, work: Scratch, t: float) -> tuple[float, float]:
    """First and second derivative of all rows after a step t."""
    slope, cap, value, change = problem.slope, problem.cap, work.value, work.change
    first, second = 0.0, 0.0
    for j in range(span.row_lo, span.row_hi):
        bend = slope[j] * change[j]
        now = value[j] + t * bend
        if now > 0.0:
            first += min(now, cap[j]) * change[j]
            if now < cap[j]:
                second += bend * change[j]
    return first, second

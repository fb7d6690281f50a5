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
ROUNDS, SWEEPS = 10, 5
"""A cold start takes so many rounds of dual ascent, each over all rows and then over its active rows."""
SETTLED = 1e-4
"""Dual ascent ends early when no multiplier moves more."""


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
def ascend(span: Span, problem: Problem, work: Scratch, x: Floats, dual: Floats) -> None:
    """Coordinate ascent in the dual without the box: a cheap way to find out which rows will be active.

    `dual` starts at 0 and `x` at the prior; both move together so that x = prior - A' dual / (2 strength).
    A row's quadratic in its own multiplier has the curvature 1 / slope (none when it is capped) plus
    a' a / (2 strength).
    """
    indptr, indices, coef = problem.indptr, problem.indices, problem.coef
    half, gain, damping = work.product, work.value, work.change
    for i in range(span.lo, span.hi):
        half[i] = 0.5 / problem.strength[i]
    for j in range(span.row_lo, span.row_hi):
        soft = 1.0 / problem.slope[j] if problem.cap[j] == np.inf else 0.0
        total = soft
        for k in range(indptr[j], indptr[j + 1]):
            total += coef[k] * coef[k] * half[indices[k]]
        gain[j] = 1.0 / total if total > 0.0 else 0.0
        damping[j] = soft * gain[j]
    for _ in range(ROUNDS):
        n_active, most = _ascend_all(span, problem, work, x, dual)
        if most <= SETTLED:
            break
        for _ in range(SWEEPS):
            _ascend_active(span, problem, work, n_active, x, dual)


@kernel
def _ascend_all(span: Span, problem: Problem, work: Scratch, x: Floats, dual: Floats) -> tuple[int, float]:
    """One sweep over all rows; lists those that push, and says how far the farthest multiplier moved."""
    indptr, indices, coef = problem.indptr, problem.indices, problem.coef
    offset, cap = problem.offset, problem.cap
    half, gain, damping = work.product, work.value, work.change
    n_active = 0
    most = 0.0
    to = indptr[span.row_lo]
    for j in range(span.row_lo, span.row_hi):
        total = offset[j]
        for k in range(indptr[j], indptr[j + 1]):
            total += coef[k] * x[indices[k]]
        old = dual[j]
        if old == 0.0 and total <= 0.0:
            continue
        new = min(cap[j], max(0.0, old + total * gain[j] - damping[j] * old))
        dual[j] = new
        for k in range(indptr[j], indptr[j + 1]):
            x[indices[k]] -= coef[k] * (new - old) * half[indices[k]]
            work.indices[to] = indices[k]
            work.values[to] = coef[k]
            to += 1
        most = max(most, abs(new - old))
        work.listed[span.row_lo + n_active] = j
        work.ends[span.row_lo + n_active] = to
        n_active += 1
    return n_active, most


@kernel
def _ascend_active(
    span: Span, problem: Problem, work: Scratch, n_active: int, x: Floats, dual: Floats
) -> None:
    """One sweep over the rows that the last full sweep listed."""
    half, gain, damping = work.product, work.value, work.change
    indices, values, listed, ends = work.indices, work.values, work.listed, work.ends
    offset, cap = problem.offset, problem.cap
    begin = problem.indptr[span.row_lo]
    for row in range(span.row_lo, span.row_lo + n_active):
        j = listed[row]
        end = ends[row]
        total = offset[j]
        for k in range(begin, end):
            total += values[k] * x[indices[k]]
        old = dual[j]
        new = min(cap[j], max(0.0, old + total * gain[j] - damping[j] * old))
        dual[j] = new
        for k in range(begin, end):
            x[indices[k]] -= values[k] * (new - old) * half[indices[k]]
        begin = end


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

    `gradient` becomes the residual of that system.
    """
    lo, hi = span.lo, span.hi
    gradient, inverse, direction, search, product = work[:5]
    rho = 0.0
    curvature = 0.0
    for i in range(lo, hi):
        direction[i] = 0.0
        p = -gradient[i] * inverse[i]
        search[i] = p
        product[i] = 2.0 * problem.strength[i] * p
        curvature += p * product[i]
        rho -= gradient[i] * p
    for _ in range(2 * (hi - lo) + 20):
        at = problem.indptr[span.row_lo]
        for j in range(span.row_lo, span.row_lo + n_active):
            end = work.ends[j]
            total = 0.0
            for k in range(at, end):
                total += work.values[k] * search[work.indices[k]]
            for k in range(at, end):
                product[work.indices[k]] += work.values[k] * total
            curvature += total * total
            at = end
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
            left = max(left, abs(g) * problem.gauge[i] if inverse[i] > 0.0 else 0.0)
        if left <= enough:
            break
        beta = new_rho / rho
        rho = new_rho
        curvature = 0.0
        for i in range(lo, hi):
            p = beta * search[i] - gradient[i] * inverse[i]
            search[i] = p
            product[i] = 2.0 * problem.strength[i] * p
            curvature += p * product[i]


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

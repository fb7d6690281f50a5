"""Minimise sum_j phi_j(a_j x + b_j) + sum_i s_i (x_i - m_i)^2 over a box, one component at a time."""

from typing import NamedTuple

import numpy as np

from rdf_kgeval.common.jit import lean_kernel
from rdf_kgeval.common.types import Bools, Float64s
from rdf_kgeval.inference.solver.problem import Problem, Scratch, Span, apply

EXACT, ROUGH, ENOUGH = 0.01, 0.05, 0.3
"""A linear system is solved to a share of the gradient between these, roughly while steps bring little, but
no farther than to this share of what is small enough in the end."""
LINE_STEPS = 40
"""Newton steps along a direction, at most."""
PINNINGS = 20
"""Variables that a step would take out of the box are pinned to it, and the others solved again."""


class Active(NamedTuple):
    """Numbers of rows that bend: of one variable, up to two, up to three, and all."""

    ones: int
    twos: int
    threes: int
    rows: int


@lean_kernel
def newton(
    span: Span, problem: Problem, work: Scratch, max_iterations: int, x: Float64s, fixed: Bools
) -> int:
    """Minimise over the component in place; stop when every projected gradient is small enough.

    Semismooth Newton with projection; a step that the box cut is followed by a safe one, so that the
    objective falls at least linearly whatever the box does. The working space must hold the row values of x
    and holds the new ones and their gradient in the end.
    """
    lo, hi = span.lo, span.hi
    value, change, direction = work.value, work.change, work.direction
    gradient, product = work.gradient, work.product
    iteration = 0
    clipped = False
    before = 0.0
    while True:
        active = _linearise(span, problem, work, x)
        worst = _free(span, problem, work, x, fixed)
        if worst <= 1.0 or iteration == max_iterations:
            break
        iteration += 1
        safe, clipped = clipped, False
        if safe:
            _majorise(span, problem, work, fixed)
            _project(span, x, work.direction)
        else:
            direction[lo:hi] = 0.0
            work.held[lo:hi] = 0.0
            share = (worst / before) ** 2 if before > 0.0 else ROUGH
            enough = max(ENOUGH, worst * min(ROUGH, max(EXACT, share)))
            before = worst
            _conjugate_gradients(span, problem, work, active, enough)
            for _ in range(PINNINGS):
                if not _pin(span, work, x):
                    break
                _multiply(span, problem, work, active)
                for i in range(lo, hi):
                    gradient[i] += product[i]
                _conjugate_gradients(span, problem, work, active, enough)
            clipped = _project(span, x, work.direction)
        step = _line_search(span, problem, work, x)
        for j in range(span.row_lo, span.row_hi):
            value[j] += step * change[j]
        moved = 0.0
        for i in range(lo, hi):
            old = x[i]
            x[i] = min(1.0, max(0.0, old + step * direction[i]))
            moved = max(moved, abs(x[i] - old))
        if moved == 0.0:
            if safe:
                break
            clipped = True  # projection or rounding spoilt the Newton direction; a safe step decides
    return iteration


@lean_kernel
def _linearise(span: Span, problem: Problem, work: Scratch, x: Float64s) -> Active:
    """Compute gradient, diagonal, and the rows that bend, times the root of their slope."""
    strength, prior, gradient, diagonal = problem.strength, problem.prior, work.gradient, work.inverse
    for i in range(span.lo, span.hi):
        gradient[i] = 2.0 * strength[i] * (x[i] - prior[i])
        diagonal[i] = 2.0 * strength[i]
    to = problem.indptr[span.row_lo]
    ones, to = _bending(problem, work, span.row_lo, span.twos, span.row_lo, to)
    twos, to = _bending(problem, work, span.twos, span.threes, ones, to)
    threes, to = _bending(problem, work, span.threes, span.more, twos, to)
    rows, to = _bending(problem, work, span.more, span.row_hi, threes, to)
    return Active(ones - span.row_lo, twos - span.row_lo, threes - span.row_lo, rows - span.row_lo)


@lean_kernel
def _bending(problem: Problem, work: Scratch, first: int, last: int, row: int, to: int) -> tuple[int, int]:
    """Add some rows to gradient and diagonal, list those that bend, and return where the next ones go."""
    indptr, indices, coef = problem.indptr, problem.indices, problem.coef
    shift, slope, cap = problem.shift, problem.slope, problem.cap
    gradient, diagonal, value, listed = work.gradient, work.inverse, work.value, work.listed
    ends, active, values = work.ends, work.indices, work.values
    pushing = first
    for j in range(first, last):  # without a branch, which the processor could not predict
        listed[pushing] = j
        pushing += shift[j] + slope[j] * value[j] > 0.0
    for at in range(first, pushing):
        j = listed[at]
        push = shift[j] + slope[j] * value[j]
        if push >= cap[j]:
            for k in range(indptr[j], indptr[j + 1]):
                gradient[indices[k]] += coef[k] * cap[j]
            continue
        root = np.sqrt(slope[j])
        for k in range(indptr[j], indptr[j + 1]):
            i = indices[k]
            gradient[i] += coef[k] * push
            scaled = coef[k] * root
            diagonal[i] += scaled * scaled
            active[to] = i
            values[to] = scaled
            to += 1
        ends[row] = to
        row += 1
    return row, to


@lean_kernel
def _free(span: Span, problem: Problem, work: Scratch, x: Float64s, fixed: Bools) -> float:
    """Invert the diagonal where a variable may move, 0 elsewhere; return the largest gauged gradient."""
    gradient, inverse, gauge = work.gradient, work.inverse, problem.gauge
    worst = 0.0
    for i in range(span.lo, span.hi):
        g = gradient[i]
        if fixed[i] or (x[i] <= 0.0 and g > 0.0) or (x[i] >= 1.0 and g < 0.0):
            inverse[i] = 0.0
        else:
            worst = max(worst, abs(g) * gauge[i])
            inverse[i] = 1.0 / inverse[i]
    return worst


@lean_kernel
def _conjugate_gradients(span: Span, problem: Problem, work: Scratch, active: Active, enough: float) -> None:
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
        curvature = _multiply(span, problem, work, active)
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


@lean_kernel
def _multiply(span: Span, problem: Problem, work: Scratch, active: Active) -> float:
    """Multiply the system's matrix with `search`; return the curvature along it."""
    search, product, strength = work.search, work.product, problem.strength
    ends, indices, values = work.ends, work.indices, work.values
    curvature = 0.0
    for i in range(span.lo, span.hi):
        product[i] = 2.0 * strength[i] * search[i]
        curvature += product[i] * search[i]
    k = problem.indptr[span.row_lo]
    for _ in range(active.ones):
        total = values[k] * search[indices[k]]
        product[indices[k]] += values[k] * total
        curvature += total * total
        k += 1
    for _ in range(active.ones, active.twos):
        a, b = indices[k], indices[k + 1]
        total = values[k] * search[a] + values[k + 1] * search[b]
        product[a] += values[k] * total
        product[b] += values[k + 1] * total
        curvature += total * total
        k += 2
    for _ in range(active.twos, active.threes):
        a, b, c = indices[k], indices[k + 1], indices[k + 2]
        total = values[k] * search[a] + values[k + 1] * search[b] + values[k + 2] * search[c]
        product[a] += values[k] * total
        product[b] += values[k + 1] * total
        product[c] += values[k + 2] * total
        curvature += total * total
        k += 3
    for row in range(span.row_lo + active.threes, span.row_lo + active.rows):
        end = ends[row]
        total = 0.0
        for at in range(k, end):
            total += values[at] * search[indices[at]]
        for at in range(k, end):
            product[indices[at]] += values[at] * total
        curvature += total * total
        k = end
    return curvature


@lean_kernel
def _pin(span: Span, work: Scratch, x: Float64s) -> bool:
    """Pin variables that would leave the box to it, and free pinned ones that are pushed back inside.

    `search` becomes how much that shortens their steps; returns false when none was pinned or freed.
    """
    gradient, inverse, direction = work.gradient, work.inverse, work.direction
    search, held = work.search, work.held
    changed = False
    for i in range(span.lo, span.hi):
        target = x[i] + direction[i]
        search[i] = 0.0
        if inverse[i] > 0.0 and (target < 0.0 or target > 1.0):
            bound = 0.0 if target < 0.0 else 1.0
            search[i] = bound - target
            direction[i] = bound - x[i]
            held[i] = inverse[i]
            inverse[i] = 0.0
            changed = True
        elif held[i] > 0.0 and (gradient[i] < 0.0) == (target < 0.5) and gradient[i] != 0.0:
            inverse[i] = held[i]
            held[i] = 0.0
            changed = True
    return changed


@lean_kernel
def _project(span: Span, x: Float64s, direction: Float64s) -> bool:
    """Cut the direction so that a full step stays in the box; return whether that changed anything."""
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


@lean_kernel
def _majorise(span: Span, problem: Problem, work: Scratch, fixed: Bools) -> None:
    """Step along the gradient under a separable upper bound of the objective: it descends even when cut."""
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
        direction[i] = 0.0 if fixed[i] else -work.gradient[i] / direction[i]


@lean_kernel
def _line_search(span: Span, problem: Problem, work: Scratch, x: Float64s) -> float:
    """Find the exact minimiser in [0, 1] along the direction, by Newton on the piecewise linear derivative.

    Most rows are off, bend or are capped all the way; only those that turn are looked at again.
    """
    shift, slope, cap = problem.shift, problem.slope, problem.cap
    strength, prior = problem.strength, problem.prior
    value, change, listed, direction = work.value, work.change, work.listed, work.direction
    linear = 0.0
    square = 0.0
    for i in range(span.lo, span.hi):
        linear += 2.0 * strength[i] * (x[i] - prior[i]) * direction[i]
        square += 2.0 * strength[i] * direction[i] * direction[i]
    apply(span, problem, direction, change)
    steepness = 0.0
    turning = span.row_lo
    for j in range(span.row_lo, span.row_hi):
        begin = shift[j] + slope[j] * value[j]
        end = begin + slope[j] * change[j]
        low, high = min(begin, end), max(begin, end)
        push = min(max(0.0, begin), cap[j]) * change[j]
        if (low < 0.0 < high) or (low < cap[j] < high):
            steepness += push
            listed[turning] = j
            turning += 1
        else:
            linear += push
            square += (end - begin) * change[j] if low >= 0.0 and high <= cap[j] else 0.0
    steepness += linear
    if not steepness < 0.0:
        return 0.0
    return _minimiser(span.row_lo, turning, problem, work, linear, square, -1e-9 * steepness)


@lean_kernel
def _minimiser(
    first: int, last: int, problem: Problem, work: Scratch, linear: float, square: float, enough: float
) -> float:
    """Find where the derivative `linear + square t`, plus that of the listed rows, vanishes in [0, 1]."""
    shift, slope, cap = problem.shift, problem.slope, problem.cap
    value, change, listed = work.value, work.change, work.listed
    below, above, t = 0.0, 1.0, 1.0
    for _ in range(LINE_STEPS):
        rise, bend = linear + t * square, square
        for at in range(first, last):
            j = listed[at]
            now = shift[j] + slope[j] * (value[j] + t * change[j])
            if now > 0.0:
                rise += min(now, cap[j]) * change[j]
                if now < cap[j]:
                    bend += slope[j] * change[j] * change[j]
        if rise > 0.0:
            above = t
        elif t == 1.0:
            break
        else:
            below = t
        if abs(rise) <= enough:
            break
        t -= rise / bend
        if not below < t < above:
            t = 0.5 * (below + above)
    return t

"""The best step along a direction, exactly."""

from rdf_kgeval.common.jit import lean_kernel
from rdf_kgeval.common.types import Float64s
from rdf_kgeval.inference.solver.problem import Problem, Scratch, Span, apply

LINE_STEPS = 40


@lean_kernel
def line_search(span: Span, problem: Problem, work: Scratch, x: Float64s) -> float:
    """The exact minimiser in [0, 1] along the direction, by Newton on the piecewise linear derivative.

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
    """Where the derivative `linear + square t`, plus that of the listed rows, vanishes in [0, 1]."""
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

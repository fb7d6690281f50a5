"""A cold start: coordinate ascent in the dual finds cheaply which rows will be active."""

import numpy as np

from rdf_kgeval.inference.kernel import Floats, kernel
from rdf_kgeval.inference.newton import Problem, Scratch, Span

ROUNDS, SWEEPS = 10, 5
"""A cold start takes so many rounds of dual ascent, each over all rows and then over its active rows."""
SETTLED = 1e-4
"""Dual ascent ends early when no multiplier moves more."""


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

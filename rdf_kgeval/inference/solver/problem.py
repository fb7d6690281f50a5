"""Hinges as a solver sees them: slopes that are cut at 0 and at a cap, working space, components.

The slope of row j is `clip(shift_j + slope_j * value, 0, cap_j)`. Squared hinges are the case shift 0, slope
2 weight, no cap; the augmented Lagrangian of linear hinges is the case shift = multiplier, cap = weight.
"""

from typing import NamedTuple

import numpy as np

from rdf_kgeval.common.jit import lean_kernel
from rdf_kgeval.common.types import Float64s, Int32s, Int64s, UInt32s
from rdf_kgeval.inference.solver.layout import LENGTHS


class Problem(NamedTuple):
    """Rows and variables in the order of a layout."""

    indptr: Int64s
    indices: UInt32s
    coef: Float64s
    offset: Float64s
    shift: Float64s
    slope: Float64s
    cap: Float64s
    prior: Float64s
    strength: Float64s
    gauge: Float64s
    """A gradient g is small enough at a variable when |g| * gauge is at most 1."""


class Scratch(NamedTuple):
    """Working space; components use disjoint parts of it, so threads can share it."""

    gradient: Float64s
    inverse: Float64s
    direction: Float64s
    search: Float64s
    product: Float64s
    held: Float64s
    """The inverse diagonal of variables that are pinned to the box, 0 elsewhere."""
    value: Float64s
    change: Float64s
    ends: Int64s
    listed: Int32s
    indices: UInt32s
    values: Float64s


def scratch(n: int, rows: int, entries: int) -> Scratch:
    """Allocate working space for a problem of this size."""
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
        indices=np.empty(entries, np.uint32),
        values=np.empty(entries),
    )


class Span(NamedTuple):
    """The variables and rows of one component; its rows of 2, of 3 and of more variables, if kept apart."""

    lo: int
    hi: int
    row_lo: int
    twos: int
    threes: int
    more: int
    row_hi: int


@lean_kernel
def span_of(c: int, bounds: Int64s, groups: Int64s) -> Span:
    """Return component c of a layout."""
    at = LENGTHS * c
    return Span(
        bounds[c], bounds[c + 1], groups[at], groups[at + 1], groups[at + 2], groups[at + 3], groups[at + 4]
    )


@lean_kernel
def set_values(span: Span, problem: Problem, work: Scratch, x: Float64s) -> None:
    """Set the row values that `newton` starts from."""
    value, offset = work.value, problem.offset
    apply(span, problem, x, value)
    for j in range(span.row_lo, span.row_hi):
        value[j] += offset[j]


@lean_kernel
def apply(span: Span, problem: Problem, vector: Float64s, result: Float64s) -> None:
    """Multiply all rows with a vector; nearly all are short, and a loop would cost more than its work."""
    indptr, indices, coef = problem.indptr, problem.indices, problem.coef
    k = indptr[span.row_lo]
    for j in range(span.row_lo, span.twos):
        result[j] = coef[k] * vector[indices[k]]
        k += 1
    for j in range(span.twos, span.threes):
        result[j] = coef[k] * vector[indices[k]] + coef[k + 1] * vector[indices[k + 1]]
        k += 2
    for j in range(span.threes, span.more):
        total = coef[k] * vector[indices[k]] + coef[k + 1] * vector[indices[k + 1]]
        result[j] = total + coef[k + 2] * vector[indices[k + 2]]
        k += 3
    for j in range(span.more, span.row_hi):
        total = 0.0
        for at in range(indptr[j], indptr[j + 1]):
            total += coef[at] * vector[indices[at]]
        result[j] = total

"""A cold start: coordinate ascent in the dual finds cheaply which rows will be active."""

from typing import Annotated, NamedTuple

import numpy as np

from rdf_kgeval.common.jit import kernel
from rdf_kgeval.common.types import Bools, Float32s, Float64s, Int32s, UInt32s
from rdf_kgeval.inference.solver.problem import Problem, Span

ROUNDS, SWEEPS = 8, 10
"""Rounds of dual ascent in a cold start, and sweeps over all rows found so far after each."""
SETTLED = 3e-4
"""Dual ascent ends early when a sweep moves no variable by more than this or its share of the tolerance."""
SHARE = 0.03


class FoundRows(NamedTuple):
    """Rows that pushed when they were found, packed: single precision is enough for a start."""

    size: Int32s
    """How many rows and how many entries there are."""
    known: Bools
    """Whether each row of the component is among them."""
    rows: Int32s
    ends: Int32s
    terms: Annotated[Float32s, 2]
    """Of each row its multiplier, offset, gain, damping and cap."""
    indices: UInt32s
    entries: Annotated[Float32s, 2]
    """The coefficient of each entry, and its variable's answer to the multiplier."""


@kernel
def ascend(span: Span, problem: Problem, tolerance: float, x: Float64s, dual: Float64s) -> None:
    """Ascend in the dual, by coordinates and without the box: a cheap way to find rows that will be active.

    `dual` starts at 0 and `x` at the prior; both move together so that x = prior - A' dual / (2 strength).
    A row's quadratic in its own multiplier has the curvature 1 / slope (none when it is capped) plus
    a' a / (2 strength).
    """
    n_rows = span.row_hi - span.row_lo
    n_entries = problem.indptr[span.row_hi] - problem.indptr[span.row_lo]
    found = FoundRows(
        np.zeros(2, np.int32),
        np.zeros(n_rows, np.bool_),
        np.empty(n_rows, np.int32),
        np.empty(n_rows, np.int32),
        np.empty((n_rows, 5), np.float32),
        np.empty(n_entries, np.uint32),
        np.empty((n_entries, 2), np.float32),
    )
    point = x[span.lo : span.hi].astype(np.float32)
    for _ in range(ROUNDS):
        most = _find(span, problem, point, found)
        for _ in range(SWEEPS):
            swept = _sweep(point, found)
        if max(most, swept) <= max(SETTLED, SHARE * tolerance):
            break
    for at in range(found.size[0]):
        dual[span.row_lo + found.rows[at]] = found.terms[at, 0]
    for i in range(span.lo, span.hi):
        moved = np.isfinite(point[i - span.lo]) and point[i - span.lo] != np.float32(x[i])
        x[i] = min(1.0, max(0.0, point[i - span.lo] if moved else x[i]))


@kernel
def _find(span: Span, problem: Problem, point: Float32s, found: FoundRows) -> float:
    """Find rows that push and let them; return how far the farthest variable moved."""
    known, indices, entries, terms = found.known, found.indices, found.entries, found.terms
    n_found, to = found.size
    most = 0.0
    for j in range(span.row_lo, span.row_hi):
        begin, end = problem.indptr[j], problem.indptr[j + 1]
        total = problem.offset[j]
        for k in range(begin, end):
            total += problem.coef[k] * point[problem.indices[k] - span.lo]
        if total <= 0.0 or known[j - span.row_lo]:
            continue
        soft = 1.0 / problem.slope[j] if problem.cap[j] == np.inf else 0.0
        curvature = soft
        for k in range(begin, end):
            i = problem.indices[k]
            answer = problem.coef[k] * 0.5 / problem.strength[i]
            curvature += problem.coef[k] * answer
            indices[to + k - begin] = i - span.lo
            entries[to + k - begin, 0] = problem.coef[k]
            entries[to + k - begin, 1] = answer
        gain = 1.0 / curvature if curvature > 0.0 else 0.0
        multiplier = min(problem.cap[j], total * gain)
        for k in range(to, to + end - begin):
            move = entries[k, 1] * multiplier
            point[indices[k]] -= move
            most = max(most, abs(move))
        to += end - begin
        known[j - span.row_lo] = True
        found.rows[n_found] = j - span.row_lo
        found.ends[n_found] = to
        terms[n_found, 0] = multiplier
        terms[n_found, 1] = problem.offset[j]
        terms[n_found, 2] = gain
        terms[n_found, 3] = soft * gain
        terms[n_found, 4] = problem.cap[j]
        n_found += 1
    found.size[0], found.size[1] = n_found, to
    return most


@kernel
def _sweep(point: Float32s, found: FoundRows) -> float:
    """Take one step of each multiplier found; return how far the farthest variable moved."""
    ends, terms, indices, entries = found.ends, found.terms, found.indices, found.entries
    most = np.float32(0.0)
    begin = 0
    for at in range(found.size[0]):
        end = ends[at]
        old = terms[at, 0]
        total = terms[at, 1]
        for k in range(begin, end):
            total += entries[k, 0] * point[indices[k]]
        new = min(terms[at, 4], max(np.float32(0.0), old + total * terms[at, 2] - terms[at, 3] * old))
        terms[at, 0] = new
        for k in range(begin, end):
            move = entries[k, 1] * (new - old)
            point[indices[k]] -= move
            most = max(most, abs(move))
        begin = end
    return float(most)

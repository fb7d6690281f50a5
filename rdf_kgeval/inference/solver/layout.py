"""A model laid out for solving: connected components side by side, in rows and in columns."""

from typing import NamedTuple

import numpy as np

from rdf_kgeval.common.jit import kernel
from rdf_kgeval.common.types import Float64s, Int32s, Int64s, UInt32s

LENGTHS = 4
"""Rows of one component are grouped by length, from this one on together: it spares branches and pointers."""


class Layout(NamedTuple):
    """All variables, and the rows that some point of the box violates, both ordered by connected component.

    Component c owns the variables `bounds[c]:bounds[c + 1]` and the rows from `groups[LENGTHS * c]` to
    `groups[LENGTHS * (c + 1)]`; the pointers between are where its rows of 2, of 3 and of more begin.
    A variable that was repeated in a row occurs once, with the sum of its coefficients.
    """

    order: Int64s
    """Original number of each variable, in the order used here."""
    rank: Int32s
    """The inverse of `order`."""
    bounds: Int64s
    groups: Int64s
    indptr: Int64s
    indices: UInt32s
    coef: Float64s
    offset: Float64s
    weight: Float64s
    row: Int64s
    """Original number of each row."""


def lay_out(
    n: int, indptr: Int64s, indices: Int32s, coef: Float64s, offset: Float64s, weight: Float64s
) -> Layout:
    """Drop rows that cannot be violated, find components and sort everything by them."""
    length = _lengths(n, indptr, indices, coef, offset, weight)
    component, n_components = _components(n, indptr, indices, length)
    bounds, order = _sort_by(component, n_components, np.arange(n))
    rank = np.empty(n, np.int32)
    rank[order] = np.arange(n, dtype=np.int32)
    rows = np.flatnonzero(length)
    group = np.minimum(length[rows], LENGTHS) - np.int32(1)
    group += component[indices[indptr[rows]]] * np.int32(LENGTHS)
    groups, rows = _sort_by(group, n_components * LENGTHS, rows)
    entries = _gather(indptr, indices, coef, rows, rank, int(length.sum()))
    return Layout(order, rank, bounds, groups, *entries, offset[rows], weight[rows], rows)


@kernel
def _lengths(
    n: int, indptr: Int64s, indices: Int32s, coef: Float64s, offset: Float64s, weight: Float64s
) -> Int32s:
    """Count the variables of each row; 0 where no point of the box violates it."""
    length = np.zeros(len(offset), np.int32)
    latest = np.full(n, -1, np.int32)
    for j in range(len(offset)):
        highest = offset[j]
        for k in range(indptr[j], indptr[j + 1]):
            highest += max(0.0, coef[k])
        if highest > 0.0 and weight[j] > 0.0:
            for k in range(indptr[j], indptr[j + 1]):
                length[j] += latest[indices[k]] != j
                latest[indices[k]] = j
    return length


@kernel
def _components(n: int, indptr: Int64s, indices: Int32s, length: Int32s) -> tuple[Int32s, int]:
    """Find connected components by union-find, numbered by their smallest variable."""
    parent = np.arange(n).astype(np.int32)
    for j in range(len(length)):
        if length[j] == 0:
            continue
        a = indices[indptr[j]]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        for k in range(indptr[j] + 1, indptr[j + 1]):
            b = indices[k]
            while parent[b] != b:
                parent[b] = parent[parent[b]]
                b = parent[b]
            if a < b:
                parent[b] = a
            elif b < a:
                parent[a] = b
                a = b
    count = 0
    for i in range(n):  # parents come before their children, so they are numbered already
        if parent[i] == i:
            parent[i] = count
            count += 1
        else:
            parent[i] = parent[parent[i]]
    return parent, count


@kernel
def _sort_by(keys: Int32s, n_keys: int, items: Int64s) -> tuple[Int64s, Int64s]:
    """Sort stably by counting; return where each key starts, and the items in order of their keys."""
    bounds = np.zeros(n_keys + 1, np.int64)
    for key in keys:
        bounds[key + 1] += 1
    for key in range(n_keys):
        bounds[key + 1] += bounds[key]
    cursor = bounds[:n_keys].copy()
    ordered = np.empty(len(items), np.int64)
    for at in range(len(items)):
        ordered[cursor[keys[at]]] = items[at]
        cursor[keys[at]] += 1
    return bounds, ordered


@kernel
def _gather(
    indptr: Int64s, indices: Int32s, coef: Float64s, rows: Int64s, rank: Int32s, size: int
) -> tuple[Int64s, UInt32s, Float64s]:
    """Copy the rows in their new order, over renumbered variables, repeated ones added up."""
    new_indptr = np.empty(len(rows) + 1, np.int64)
    new_indices = np.empty(size, np.uint32)
    new_coef = np.empty(size, np.float64)
    latest = np.full(len(rank), -1, np.int64)
    to = 0
    for at in range(len(rows)):
        new_indptr[at] = to
        for k in range(indptr[rows[at]], indptr[rows[at] + 1]):
            i = rank[indices[k]]
            if latest[i] >= new_indptr[at]:
                new_coef[latest[i]] += coef[k]
                continue
            latest[i] = to
            new_indices[to] = i
            new_coef[to] = coef[k]
            to += 1
    new_indptr[len(rows)] = to
    return new_indptr, new_indices, new_coef

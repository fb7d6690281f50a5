"""The state of a re-solve and a journal that can take it back, to the bit."""

from typing import NamedTuple

import numpy as np

from rdf_kgeval.inference.kernel import Flags, Floats, Indices, Ints, kernel


class Graph(NamedTuple):
    """The model in layout order, by rows and by columns; never changed."""

    indptr: Ints
    indices: Indices
    coef: Floats
    offset: Floats
    slope: Floats
    pointers: Ints
    rows: Indices
    values: Floats
    prior: Floats
    strength: Floats
    gauge: Floats
    first: Indices
    """First variable of each variable's component."""
    last: Indices


class State(NamedTuple):
    """Where the search stands: the point, its row values and gradient, and what is fixed."""

    x: Floats
    value: Floats
    gradient: Floats
    fixed: Flags


class Journal(NamedTuple):
    """What a transaction has read or written, with the old contents. `size` holds variables, rows, fixed."""

    size: Ints
    seen: Flags
    touched: Indices
    x: Floats
    gradient: Floats
    marked: Flags
    rows: Indices
    value: Floats
    fixed: Indices


def journal(graph: Graph) -> Journal:
    """An empty journal."""
    n, m = len(graph.prior), len(graph.slope)
    return Journal(
        np.zeros(3, np.int64),
        np.zeros(n, np.bool_),
        np.empty(n, np.int32),
        np.empty(n),
        np.empty(n),
        np.zeros(m, np.bool_),
        np.empty(m, np.int32),
        np.empty(m),
        np.empty(n, np.int32),
    )


@kernel
def undo(state: State, log: Journal) -> None:
    """Restore, to the bit, what was there when the journal was empty."""
    for at in range(log.size[0]):
        i = log.touched[at]
        state.x[i] = log.x[at]
        state.gradient[i] = log.gradient[at]
    for at in range(log.size[1]):
        state.value[log.rows[at]] = log.value[at]
    for at in range(log.size[2]):
        state.fixed[log.fixed[at]] = False
    forget(log)


@kernel
def refresh(graph: Graph, state: State, log: Journal) -> None:
    """Compute touched rows and gradients from x alone, so that rounding does not add up over re-solves."""
    for at in range(log.size[1]):
        j = log.rows[at]
        total = graph.offset[j]
        for k in range(graph.indptr[j], graph.indptr[j + 1]):
            total += graph.coef[k] * state.x[graph.indices[k]]
        state.value[j] = total
    for at in range(log.size[0]):
        i = log.touched[at]
        total = 2.0 * graph.strength[i] * (state.x[i] - graph.prior[i])
        for k in range(graph.pointers[i], graph.pointers[i + 1]):
            j = graph.rows[k]
            if state.value[j] > 0.0:
                total += graph.slope[j] * state.value[j] * graph.values[k]
        state.gradient[i] = total


@kernel
def forget(log: Journal) -> None:
    """Empty the journal; what it holds can no longer be undone."""
    for at in range(log.size[0]):
        log.seen[log.touched[at]] = False
    for at in range(log.size[1]):
        log.marked[log.rows[at]] = False
    log.size[:] = 0

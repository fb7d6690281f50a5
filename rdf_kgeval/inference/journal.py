"""The state of a re-solve and a journal that can take it back, to the bit."""

from typing import NamedTuple

import numpy as np

from rdf_kgeval.inference.kernel import Flags, Floats, Indices, Ints, kernel
from rdf_kgeval.inference.problem import Problem, Span


class Graph(NamedTuple):
    """The model in layout order, by rows and by columns; only the problem's slopes ever change."""

    problem: Problem
    forward: Floats
    """Slope of each row as it is posed."""
    backward: Floats
    """Slope of each row once the variable that it asks for, of negative coefficient, is fixed at 0."""
    pointers: Ints
    rows: Indices
    values: Floats
    component: Indices
    """Component of each variable."""
    bounds: Ints
    groups: Ints


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
    n, m = len(graph.problem.prior), len(graph.problem.slope)
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
def note(state: State, log: Journal, n_touched: int, n_rows: int) -> None:
    """Keep the old contents of variables and rows that were listed since the last note."""
    for at in range(log.size[0], n_touched):
        log.x[at] = state.x[log.touched[at]]
        log.gradient[at] = state.gradient[log.touched[at]]
    for at in range(log.size[1], n_rows):
        log.value[at] = state.value[log.rows[at]]
    log.size[0], log.size[1] = n_touched, n_rows


@kernel
def note_all(span: Span, state: State, log: Journal) -> None:
    """Note a whole component."""
    n_touched, n_rows = log.size[0], log.size[1]
    for i in range(span.lo, span.hi):
        if not log.seen[i]:
            log.seen[i] = True
            log.touched[n_touched] = i
            n_touched += 1
    for j in range(span.row_lo, span.row_hi):
        if not log.marked[j]:
            log.marked[j] = True
            log.rows[n_rows] = j
            n_rows += 1
    note(state, log, n_touched, n_rows)


@kernel
def turn(graph: Graph, state: State, variable: int) -> None:
    """Give the rows that ask for a variable their backward slopes; gradients follow."""
    problem = graph.problem
    for entry in range(graph.pointers[variable], graph.pointers[variable + 1]):
        j = graph.rows[entry]
        if graph.values[entry] < 0.0 and graph.backward[j] != problem.slope[j]:
            push = (graph.backward[j] - problem.slope[j]) * max(0.0, state.value[j])
            problem.slope[j] = graph.backward[j]
            for k in range(problem.indptr[j], problem.indptr[j + 1]):
                state.gradient[problem.indices[k]] += problem.coef[k] * push


@kernel
def undo(graph: Graph, state: State, log: Journal) -> None:
    """Restore, to the bit, what was there when the journal was empty."""
    for at in range(log.size[0]):
        i = log.touched[at]
        state.x[i] = log.x[at]
        state.gradient[i] = log.gradient[at]
    for at in range(log.size[1]):
        state.value[log.rows[at]] = log.value[at]
    for at in range(log.size[2]):
        variable = log.fixed[at]
        state.fixed[variable] = False
        for entry in range(graph.pointers[variable], graph.pointers[variable + 1]):
            if graph.values[entry] < 0.0:
                graph.problem.slope[graph.rows[entry]] = graph.forward[graph.rows[entry]]
    forget(log)


@kernel
def refresh(graph: Graph, state: State, log: Journal) -> None:
    """Compute touched rows and gradients from x alone, so that rounding does not add up over re-solves."""
    problem = graph.problem
    for at in range(log.size[1]):
        j = log.rows[at]
        total = problem.offset[j]
        for k in range(problem.indptr[j], problem.indptr[j + 1]):
            total += problem.coef[k] * state.x[problem.indices[k]]
        state.value[j] = total
    for at in range(log.size[0]):
        i = log.touched[at]
        total = 2.0 * problem.strength[i] * (state.x[i] - problem.prior[i])
        for k in range(graph.pointers[i], graph.pointers[i + 1]):
            j = graph.rows[k]
            if state.value[j] > 0.0:
                total += problem.slope[j] * state.value[j] * graph.values[k]
        state.gradient[i] = total


@kernel
def forget(log: Journal) -> None:
    """Empty the journal; what it holds can no longer be undone."""
    for at in range(log.size[0]):
        log.seen[log.touched[at]] = False
    for at in range(log.size[1]):
        log.marked[log.rows[at]] = False
    log.size[:] = 0

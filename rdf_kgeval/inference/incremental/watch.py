"""The rows that a re-solve watches: most are far from violated, and one verdict does not change that."""

import numpy as np

from rdf_kgeval.common.jit import kernel, lean_kernel
from rdf_kgeval.common.types import Bools, Float32s, Float64s, Int32s, Int64s, Records
from rdf_kgeval.inference.incremental.journal import (
    COLUMN,
    ENTRY,
    FIRST,
    LAST,
    N_WATCHED,
    NOTED,
    ROW,
    TOUCHED,
    VARIABLE,
    Columns,
    Entries,
    Rows,
    Search,
    Variables,
    note_row,
    row_value,
)
from rdf_kgeval.inference.solver.problem import Problem

NEAR = 0.0001
"""Rows that a move of this size could make push are watched from the start."""


def arrange(problem: Problem, backward: Float64s, slope: Float64s, x: Float64s, fixed: Bools) -> Search:
    """Start a search at a point, its columns laid out by reach from there.

    Args:
        problem: rows and variables in the order of a layout.
        backward: slope of each row once the variable that it asks for is fixed at 0.
        slope: slope of each row now.
        x: the point.
        fixed: which variables stay there.
    """
    n, m, size = len(x), len(slope), len(problem.indices)
    variables = np.zeros(n + 1, VARIABLE)
    for name, values in (("x", x), ("origin", x), ("strength", problem.strength), ("gauge", problem.gauge)):
        variables[name][:n] = values
    variables["fixed"][:n] = fixed
    variables["head"] = variables["place"] = -1
    rows = np.zeros(m + 1, ROW)
    rows["begin"] = problem.indptr
    rows["slope"][:m] = slope
    entries = np.zeros(size, ENTRY)
    entries["variable"] = problem.indices
    entries["coef"] = problem.coef
    entries["row"] = np.repeat(np.arange(m, dtype=np.int32), np.diff(problem.indptr))
    entries["chain"] = -1
    gap = _start(variables, rows, entries, problem.offset, problem.prior)
    columns = np.empty(size, COLUMN)
    _fill(variables, rows, entries, columns, gap, np.argsort(gap, kind="stable"))
    return Search(variables, rows, entries, columns, problem, backward, *_empty(n, m))


def apart(search: Search) -> Search:
    """Copy a search, with a state and a journal of its own; the journal must be empty."""
    n, m = len(search.variables) - 1, len(search.rows) - 1
    variables, rows, entries = search.variables.copy(), search.rows.copy(), search.entries.copy()
    return Search(variables, rows, entries, search.columns, search.problem, search.backward, *_empty(n, m))


def _empty(n: int, m: int) -> tuple[Int64s, Records, Records, Int32s, Int32s, Int32s]:
    """Make an empty journal and queue."""
    return (
        np.zeros(6, np.int64),
        np.empty(n, TOUCHED),
        np.empty(m, NOTED),
        np.empty(n, np.int32),
        np.empty(m, np.int32),
        np.empty(n + 1, np.int32),
    )


@kernel
def _start(variables: Variables, rows: Rows, entries: Entries, offset: Float64s, prior: Float64s) -> Float32s:
    """Set values and gradients; return how far some variable of each row must move before the row pushes."""
    gap = np.empty(len(rows) - 1, np.float32)
    for i in range(len(variables) - 1):
        variables[i].gradient = 2.0 * variables[i].strength * (variables[i].x - prior[i])
    for j in range(len(rows) - 1):
        row = rows[j]
        row.value = row_value(variables, rows, entries, offset, j)
        length = 0.0
        for k in range(row.begin, rows[j + 1].begin):
            length += abs(entries[k].coef)
            variables[entries[k].variable].gradient += entries[k].coef * row.slope * max(0.0, row.value)
        # Slightly less than exact: rounding must not hide a row that pushes.
        gap[j] = max(0.0, -row.value / length * (1.0 - 1e-6) - 1e-12)
        row.watched = gap[j] <= NEAR
    return gap


@lean_kernel
def _fill(
    variables: Variables, rows: Rows, entries: Entries, columns: Columns, gap: Float32s, order: Int64s
) -> None:
    """Fill the columns, their rows in the order given."""
    n = len(variables) - 1
    for k in range(len(entries)):
        variables[entries[k].variable + 1].begin += 1
    for i in range(n):
        variables[i + 1].begin += variables[i].begin
    for i in range(n):
        variables[i].front = variables[i].cursor = variables[i].begin
    for j in order:
        for k in range(rows[j].begin, rows[j + 1].begin):
            variable = variables[entries[k].variable]
            column = columns[variable.cursor]
            column.row = j
            column.reach = gap[j]
            column.coef = entries[k].coef
            variable.cursor += 1
            if rows[j].watched:
                variable.front = variable.cursor
    for i in range(n):
        variables[i].cursor = variables[i].front


@lean_kernel
def enqueue(variables: Variables, queue: Int32s, counters: Int64s, i: int) -> None:
    """Queue a variable if its gradient is too large."""
    variable = variables[i]
    if abs(variable.gradient) * variable.gauge > 1.0 and not variable.queued and not variable.fixed:
        variable.queued = True
        last = counters[LAST]
        queue[last] = i
        counters[LAST] = last + 1 if last + 1 < len(queue) else 0


@lean_kernel
def dequeue(variables: Variables, queue: Int32s, counters: Int64s) -> int:
    """Return the variable that waited longest, or -1."""
    first = counters[FIRST]
    if first == counters[LAST]:
        return -1
    i = queue[first]
    variables[i].queued = False
    counters[FIRST] = first + 1 if first + 1 < len(queue) else 0
    return int(i)


@lean_kernel
def push(
    variables: Variables, rows: Rows, entries: Entries, queue: Int32s, counters: Int64s, j: int, more: float
) -> None:
    """Let a row push more: its variables' gradients follow."""
    for k in range(rows[j].begin, rows[j + 1].begin):
        i = entries[k].variable
        variables[i].gradient += entries[k].coef * more
        enqueue(variables, queue, counters, i)


@lean_kernel
def shift(
    variables: Variables,
    rows: Rows,
    entries: Entries,
    queue: Int32s,
    counters: Int64s,
    j: int,
    change: float,
) -> None:
    """Change the value of a row; gradients follow."""
    before = rows[j].value
    after = before + change
    rows[j].value = after
    if before > 0.0 or after > 0.0:
        more = rows[j].slope * (max(0.0, after) - max(0.0, before))
        push(variables, rows, entries, queue, counters, j, more)


@lean_kernel
def join(search: Search, i: int) -> None:
    """Note the watched rows of a variable that may move, and everyone in them."""
    variables, rows, entries, columns = search.variables, search.rows, search.entries, search.columns
    touched, noted, counters = search.touched, search.noted, search.counters
    for c in range(variables[i].begin, variables[i].front):
        note_row(variables, rows, entries, touched, noted, counters, columns[c].row)
    k = variables[i].head
    while k >= 0:
        note_row(variables, rows, entries, touched, noted, counters, entries[k].row)
        k = entries[k].chain


@lean_kernel
def in_reach(variables: Variables, columns: Columns, i: int) -> bool:
    """Tell whether a variable has gone far enough to make another row push."""
    variable = variables[i]
    distance = abs(variable.x - variable.origin)
    more = variable.cursor < variables[i + 1].begin
    return bool(more and columns[variable.cursor].reach <= distance)


@lean_kernel
def watch(search: Search, i: int) -> None:
    """Watch from now on the rows within reach of where a variable went."""
    variables, rows, entries, columns = search.variables, search.rows, search.entries, search.columns
    touched, noted, counters, offset = search.touched, search.noted, search.counters, search.problem.offset
    while in_reach(variables, columns, i):
        j = columns[variables[i].cursor].row
        variables[i].cursor += 1
        if rows[j].watched:
            continue
        note_row(variables, rows, entries, touched, noted, counters, j)
        rows[j].watched = True
        search.watched[counters[N_WATCHED]] = j
        counters[N_WATCHED] += 1
        for k in range(rows[j].begin, rows[j + 1].begin):
            entries[k].chain = variables[entries[k].variable].head
            variables[entries[k].variable].head = k
        rows[j].value = row_value(variables, rows, entries, offset, j)
        if rows[j].value > 0.0:
            push(variables, rows, entries, search.queue, counters, j, rows[j].slope * rows[j].value)


@lean_kernel
def turn(search: Search, i: int) -> None:
    """Give the rows that ask for a variable their backward slopes; gradients follow."""
    variables, rows, entries, columns = search.variables, search.rows, search.entries, search.columns
    queue, counters, backward = search.queue, search.counters, search.backward
    for c in range(variables[i].begin, variables[i + 1].begin):
        j = columns[c].row
        if columns[c].coef < 0.0 and backward[j] != rows[j].slope:
            more = (backward[j] - rows[j].slope) * max(0.0, rows[j].value)
            rows[j].slope = backward[j]
            if more != 0.0:
                push(variables, rows, entries, queue, counters, j, more)


@kernel
def neighbours(search: Search, some: Int32s) -> Bools:
    """Mark the variables that share a row with one of these, and these themselves."""
    variables, rows, entries, columns = search.variables, search.rows, search.entries, search.columns
    near = np.zeros(len(variables) - 1, np.bool_)
    for at in range(len(some)):
        i = some[at]
        near[i] = True
        for c in range(variables[i].begin, variables[i + 1].begin):
            j = columns[c].row
            for k in range(rows[j].begin, rows[j + 1].begin):
                near[entries[k].variable] = True
    return near

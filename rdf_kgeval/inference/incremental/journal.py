"""The state of a re-solve, and a journal that restores it to the bit.

Small functions take the arrays that they need rather than all of a search: compiled code counts references to
every array that it takes out of a tuple, which would cost more than the work.
"""

from typing import Annotated, NamedTuple

import numpy as np

from rdf_kgeval.common.jit import lean_kernel
from rdf_kgeval.common.types import Float64s, Int32s, Int64s, Records
from rdf_kgeval.inference.solver.problem import Problem


def _record(fields: list[tuple[str, type]]) -> np.dtype[np.void]:
    """Return a type of rows whose fields are read with a dot, in Python as in compiled code."""
    return np.dtype((np.record, np.dtype(fields, align=True)))


VARIABLE = _record(
    [
        ("x", np.float64),
        ("gradient", np.float64),
        ("origin", np.float64),  # where x was when the columns were arranged
        ("strength", np.float64),
        ("gauge", np.float64),
        ("begin", np.int32),  # its part of the columns; it ends where the next one's begins
        ("front", np.int32),  # up to here the rows of its column were watched from the start
        ("cursor", np.int32),  # up to here the reach was compared with the distance from the origin
        ("head", np.int32),  # its entry in the row that came to be watched last, or -1
        ("place", np.int32),  # position among the members, or -1
        ("fixed", np.bool_),
        ("seen", np.bool_),  # in the journal
        ("queued", np.bool_),
    ]
)
ROW = _record(
    [
        ("value", np.float64),
        ("slope", np.float64),
        ("begin", np.int32),  # its entries; they end where the next one's begin
        ("watched", np.bool_),
        ("marked", np.bool_),  # in the journal
    ]
)
ENTRY = _record(
    [
        ("variable", np.int32),
        ("row", np.int32),
        ("chain", np.int32),  # the same variable's entry in the row that came to be watched before, or -1
        ("coef", np.float64),
    ]
)
COLUMN = _record([("row", np.int32), ("reach", np.float32), ("coef", np.float64)])
"""A row of a variable, and how far that may move before it alone could make the row push, ascending."""
TOUCHED = _record([("variable", np.int32), ("cursor", np.int32), ("x", np.float64), ("gradient", np.float64)])
NOTED = _record([("row", np.int32), ("value", np.float64)])

Variables = Annotated[Records, VARIABLE]
Rows = Annotated[Records, ROW]
Entries = Annotated[Records, ENTRY]
Columns = Annotated[Records, COLUMN]
Touched = Annotated[Records, TOUCHED]
Noted = Annotated[Records, NOTED]

N_TOUCHED, N_NOTED, N_FIXED, N_WATCHED, FIRST, LAST = range(6)
"""Counters of the journal, and where the next one leaves and enters the queue."""


class Search(NamedTuple):
    """The state of a search, and what a transaction has read or written, with the old contents.

    A row that is not watched does not push: none of its variables has moved as far as its reach. Its value
    is an old one, not positive. The watched rows of a variable are those before its front and those in its
    chain.
    """

    variables: Variables
    """One more than there are, for the ends of columns."""
    rows: Rows
    entries: Entries
    columns: Columns
    problem: Problem
    """In layout order; its slopes are the original ones."""
    backward: Float64s
    """Slope of each row once the variable that it asks for, of negative coefficient, is fixed at 0."""
    counters: Int64s
    touched: Touched
    noted: Noted
    fixed: Int32s
    watched: Int32s
    """Rows that came to be watched."""
    queue: Int32s
    """Variables whose gradient became too large, in the order in which it did, each once, in a ring."""


@lean_kernel
def note(variables: Variables, touched: Touched, counters: Int64s, i: int) -> None:
    """Keep the old contents of a variable."""
    variable = variables[i]
    if not variable.seen:
        variable.seen = True
        old = touched[counters[N_TOUCHED]]
        old.variable = i
        old.cursor = variable.cursor
        old.x = variable.x
        old.gradient = variable.gradient
        counters[N_TOUCHED] += 1


@lean_kernel
def note_row(
    variables: Variables,
    rows: Rows,
    entries: Entries,
    touched: Touched,
    noted: Noted,
    counters: Int64s,
    j: int,
) -> None:
    """Keep the old contents of a row and of everyone in it."""
    if not rows[j].marked:
        rows[j].marked = True
        noted[counters[N_NOTED]].row = j
        noted[counters[N_NOTED]].value = rows[j].value
        counters[N_NOTED] += 1
        for k in range(rows[j].begin, rows[j + 1].begin):
            note(variables, touched, counters, entries[k].variable)


@lean_kernel
def row_value(variables: Variables, rows: Rows, entries: Entries, offset: Float64s, j: int) -> float:
    """Compute the value of a row where the variables are."""
    total = offset[j]
    for k in range(rows[j].begin, rows[j + 1].begin):
        total += entries[k].coef * variables[entries[k].variable].x
    return float(total)


@lean_kernel
def undo(search: Search) -> None:
    """Restore, to the bit, what was there when the journal was empty."""
    variables, rows, entries, columns = search.variables, search.rows, search.entries, search.columns
    slope, counters, touched, noted = search.problem.slope, search.counters, search.touched, search.noted
    fixed, watched = search.fixed, search.watched
    for at in range(counters[N_TOUCHED]):
        old = touched[at]
        variable = variables[old.variable]
        variable.x = old.x
        variable.gradient = old.gradient
        variable.cursor = old.cursor
    for at in range(counters[N_NOTED]):
        rows[noted[at].row].value = noted[at].value
    for at in range(counters[N_WATCHED] - 1, -1, -1):
        j = watched[at]
        rows[j].watched = False
        for k in range(rows[j].begin, rows[j + 1].begin):
            variables[entries[k].variable].head = entries[k].chain
            entries[k].chain = -1
    for at in range(counters[N_FIXED]):
        i = fixed[at]
        variables[i].fixed = False
        for c in range(variables[i].begin, variables[i + 1].begin):
            if columns[c].coef < 0.0:
                rows[columns[c].row].slope = slope[columns[c].row]
    forget(variables, rows, touched, noted, counters)


@lean_kernel
def forget(variables: Variables, rows: Rows, touched: Touched, noted: Noted, counters: Int64s) -> None:
    """Empty the journal; what it holds can no longer be undone."""
    for at in range(counters[N_TOUCHED]):
        variables[touched[at].variable].seen = False
    for at in range(counters[N_NOTED]):
        rows[noted[at].row].marked = False
    counters[:4] = 0


@lean_kernel
def refresh(search: Search) -> None:
    """Compute noted rows and gradients from x alone, so that rounding does not add up over re-solves."""
    variables, rows, entries, columns = search.variables, search.rows, search.entries, search.columns
    offset, prior = search.problem.offset, search.problem.prior
    counters, touched, noted = search.counters, search.touched, search.noted
    for at in range(counters[N_NOTED]):
        j = noted[at].row
        rows[j].value = row_value(variables, rows, entries, offset, j)
    for at in range(counters[N_TOUCHED]):
        i = touched[at].variable
        variable = variables[i]
        total = 2.0 * variable.strength * (variable.x - prior[i])
        for c in range(variable.begin, variable.front):
            row = rows[columns[c].row]
            total += row.slope * max(0.0, row.value) * columns[c].coef
        k = variable.head
        while k >= 0:
            row = rows[entries[k].row]
            total += row.slope * max(0.0, row.value) * entries[k].coef
            k = entries[k].chain
        variable.gradient = total

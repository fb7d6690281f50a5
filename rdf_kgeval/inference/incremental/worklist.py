"""Re-solve squared hinges after one variable is fixed: Newton over a set that grows where gradients ask."""

from typing import NamedTuple

import numpy as np

from rdf_kgeval.common.jit import lean_kernel
from rdf_kgeval.common.types import Bools, Float64s, Int32s, Int64s
from rdf_kgeval.inference.incremental.journal import (
    N_FIXED,
    N_NOTED,
    Columns,
    Entries,
    Rows,
    Search,
    Variables,
    note,
)
from rdf_kgeval.inference.incremental.watch import dequeue, enqueue, in_reach, join, shift, turn, watch
from rdf_kgeval.inference.solver.newton import newton
from rdf_kgeval.inference.solver.problem import Problem, Scratch, Span, scratch

EFFORT = 1_500
"""Rows to visit between two Newton steps while variables are moved one by one."""
INNER = 0.5
"""Members are solved to this share of the tolerance, so that they are not woken again at once."""
STEPS = 3
"""Newton steps in a set that has stopped growing, so that a safe one can be among them; else one."""


class Local(NamedTuple):
    """Working space of one re-solve."""

    members: Int32s
    x: Float64s
    """Where each member is, then its target."""
    free: Bools
    """No member is fixed."""
    problem: Problem
    """Room for the problem restricted to the members."""
    work: Scratch


def local(problem: Problem) -> Local:
    """Allocate working space with nobody in the set."""
    n, m, entries = len(problem.prior), len(problem.slope), len(problem.indices)
    return Local(
        members=np.empty(n, np.int32),
        x=np.empty(n),
        free=np.zeros(n, np.bool_),
        problem=Problem(
            indptr=np.zeros(m + 1, np.int64),
            indices=np.empty(entries, np.uint32),
            coef=np.empty(entries),
            offset=problem.offset,
            shift=problem.shift,
            slope=np.empty(m),
            cap=problem.cap,
            prior=np.empty(n),
            strength=np.empty(n),
            gauge=np.empty(n),
        ),
        work=scratch(n, m, entries),
    )


@lean_kernel
def fix(search: Search, local: Local, max_iterations: int, i: int, value: float) -> int:
    """Fix one variable and bring every free gradient below its tolerance again.

    Returns:
        The number of members that this took; they are the first of `local.members`.
    """
    variables, counters = search.variables, search.counters
    search.fixed[counters[N_FIXED]] = i
    counters[N_FIXED] += 1
    note(variables, search.touched, counters, i)
    join(search, i)
    variables[i].fixed = True
    variables[i].place = 0
    local.members[0] = i
    local.x[0] = value
    if value == 0.0:
        turn(search, i)
    _move(search, local, 1)
    variables[i].place = -1
    members, iterations = 0, 0
    while iterations < max_iterations:
        before, noted = members, counters[N_NOTED]
        members, waiting = _relax(search, local, members)
        if waiting == 0:
            break
        part = _restrict(search, local, members)
        steps = 1 if members > before or counters[N_NOTED] > noted else STEPS
        iterations += max(1, newton(part, local.problem, local.work, steps, local.x, local.free))
        _move(search, local, members)
    while dequeue(variables, search.queue, counters) >= 0:  # the steps ran out
        pass
    for at in range(members):
        variables[local.members[at]].place = -1
    return members


@lean_kernel
def _relax(search: Search, local: Local, members: int) -> tuple[int, int]:
    """Admit variables with too large a gradient, moving one at a time, which spreads a change quickly.

    After some `EFFORT`, variables that still wait become members without a move.

    Returns:
        The number of members, and how many of them wait.
    """
    variables, rows, entries, columns = search.variables, search.rows, search.entries, search.columns
    queue, counters = search.queue, search.counters
    effort, waiting = 0, 0
    while True:
        i = dequeue(variables, queue, counters)
        if i < 0:
            return members, waiting
        x, g = variables[i].x, variables[i].gradient
        blocked = (x <= 0.0 and g > 0.0) or (x >= 1.0 and g < 0.0)
        if blocked or abs(g) * variables[i].gauge <= 1.0:
            continue
        if variables[i].place < 0:
            variables[i].place = members
            local.members[members] = i
            members += 1
            join(search, i)
        if effort < EFFORT:
            effort += 1 + _visit(variables, rows, entries, columns, queue, counters, i)
            if in_reach(variables, columns, i):
                watch(search, i)
            enqueue(variables, queue, counters, i)
        else:
            waiting += 1


@lean_kernel
def _visit(
    variables: Variables,
    rows: Rows,
    entries: Entries,
    columns: Columns,
    queue: Int32s,
    counters: Int64s,
    i: int,
) -> int:
    """Move a variable and queue those whose gradient becomes too large; return the number of rows visited."""
    variable = variables[i]
    old = variable.x
    bend = _bend(variables, rows, entries, columns, i)
    variable.x = min(1.0, max(0.0, old - variable.gradient / bend))
    step = variable.x - old
    variable.gradient += 2.0 * variable.strength * step
    for c in range(variable.begin, variable.front):
        shift(variables, rows, entries, queue, counters, columns[c].row, columns[c].coef * step)
    count = variable.front - variable.begin
    k = variable.head
    while k >= 0:
        shift(variables, rows, entries, queue, counters, entries[k].row, entries[k].coef * step)
        count += 1
        k = entries[k].chain
    return int(count)


@lean_kernel
def _bend(variables: Variables, rows: Rows, entries: Entries, columns: Columns, i: int) -> float:
    """Compute the second derivative along one variable, from the rows that push."""
    variable = variables[i]
    bend = 2.0 * variable.strength
    for c in range(variable.begin, variable.front):
        row, coef = rows[columns[c].row], columns[c].coef
        bend += row.slope * coef * coef if row.value > 0.0 else 0.0
    k = variable.head
    while k >= 0:
        row, coef = rows[entries[k].row], entries[k].coef
        bend += row.slope * coef * coef if row.value > 0.0 else 0.0
        k = entries[k].chain
    return float(bend)


@lean_kernel
def _restrict(search: Search, local: Local, members: int) -> Span:
    """Write down the problem of the members alone, with everyone else where they are."""
    variables, rows, entries, noted = search.variables, search.rows, search.entries, search.noted
    part, whole, values = local.problem, search.problem, local.work.value
    indptr, indices, coef, slope = part.indptr, part.indices, part.coef, part.slope
    for at in range(members):
        i = local.members[at]
        local.x[at] = variables[i].x
        part.prior[at] = whole.prior[i]
        part.strength[at] = variables[i].strength
        part.gauge[at] = variables[i].gauge / INNER
    n_rows, to = 0, 0
    for at in range(search.counters[N_NOTED]):
        j = noted[at].row
        begin = to
        for k in range(rows[j].begin, rows[j + 1].begin):
            place = variables[entries[k].variable].place
            if place >= 0:
                indices[to] = place
                coef[to] = entries[k].coef
                to += 1
        if to > begin:
            values[n_rows] = rows[j].value
            slope[n_rows] = rows[j].slope
            n_rows += 1
            indptr[n_rows] = to
    return Span(0, members, 0, 0, 0, 0, n_rows)


@lean_kernel
def _move(search: Search, local: Local, members: int) -> None:
    """Move the members to their targets; row values and gradients follow."""
    variables, rows, entries, columns = search.variables, search.rows, search.entries, search.columns
    noted, queue, counters, target = search.noted, search.queue, search.counters, local.x
    for at in range(members):
        variable = variables[local.members[at]]
        step = target[at] - variable.x
        variable.gradient += 2.0 * variable.strength * step
        variable.x = target[at]
        target[at] = step
    for at in range(counters[N_NOTED]):
        j = noted[at].row
        total = 0.0
        for k in range(rows[j].begin, rows[j + 1].begin):
            place = variables[entries[k].variable].place
            if place >= 0:
                total += entries[k].coef * target[place]
        if total != 0.0:
            shift(variables, rows, entries, queue, counters, j, total)
    for at in range(members):
        i = local.members[at]
        if in_reach(variables, columns, i):
            watch(search, i)
        enqueue(variables, queue, counters, i)

"""Who takes part in a re-solve: variables whose gradients ask for it, and how a change spreads to them."""

from typing import NamedTuple

import numpy as np

from rdf_kgeval.common.jit import lean_kernel
from rdf_kgeval.common.types import Bools, Float64s, Int32s, Int64s, Records
from rdf_kgeval.inference.incremental.journal import Search
from rdf_kgeval.inference.incremental.watch import dequeue, enqueue, in_reach, join, shift, watch
from rdf_kgeval.inference.solver.problem import Problem, Scratch, scratch

EFFORT = 1_500
"""Variables are moved one by one, between two Newton steps, until so many rows were looked at."""


class Local(NamedTuple):
    """Working space of one re-solve."""

    members: Int32s
    x: Float64s
    """Where each member is, then where it shall be."""
    free: Bools
    """Nobody among the members is fixed."""
    problem: Problem
    """Room for the problem restricted to the members."""
    work: Scratch


def local(problem: Problem) -> Local:
    """Working space with nobody in the set."""
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
def relax(search: Search, local: Local, members: int) -> tuple[int, int]:
    """Let in who has too large a gradient, moving one variable at a time: it spreads a change quickly.

    After some `EFFORT` those who still wait become members without a move. How many members there are then,
    and how many of them wait.
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
    variables: Records,
    rows: Records,
    entries: Records,
    columns: Records,
    queue: Int32s,
    counters: Int64s,
    i: int,
) -> int:
    """Move a variable and queue whose gradient that makes too large; how many rows it looked at."""
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
def _bend(variables: Records, rows: Records, entries: Records, columns: Records, i: int) -> float:
    """Second derivative along one variable, by the rows that push."""
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

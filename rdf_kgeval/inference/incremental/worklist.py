"""Re-solve squared hinges after one variable is fixed: Newton over a set that grows where gradients ask."""

from rdf_kgeval.common.jit import lean_kernel
from rdf_kgeval.inference.incremental.journal import N_FIXED, N_NOTED, Search, note
from rdf_kgeval.inference.incremental.members import Local, relax
from rdf_kgeval.inference.incremental.watch import dequeue, enqueue, in_reach, join, shift, turn, watch
from rdf_kgeval.inference.solver.newton import newton
from rdf_kgeval.inference.solver.problem import Span

INNER = 0.5
"""Members are solved to this share of the tolerance, so that they are not woken again at once."""
STEPS = 3
"""Newton steps in a set that has stopped growing, so that a safe one can be among them; else one."""


@lean_kernel
def fix(search: Search, local: Local, max_iterations: int, i: int, value: float) -> int:
    """Fix one variable and bring every free gradient below its tolerance again.

    Returns:
        How many members that took; the first so many of `local.members` are they.
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
        members, waiting = relax(search, local, members)
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
    """Move the members to where they shall be; row values and gradients follow."""
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

"""Re-solve squared hinges after one variable is fixed: Newton over a set that grows where gradients ask."""

from rdf_kgeval.inference.journal import Graph, Journal, State, note_all, turn
from rdf_kgeval.inference.kernel import kernel
from rdf_kgeval.inference.members import Local, open_rows, relax
from rdf_kgeval.inference.newton import newton
from rdf_kgeval.inference.problem import Span, span_of

INNER = 0.5
"""Members are solved to this share of the tolerance, so that they are not woken again at once."""
STEPS = 3
"""Newton steps in a set that has stopped growing, so that a safe one can be among them; else one."""
WHOLE = 0.2
"""When the set passes this share of its component, the whole component is solved."""
SMALL = 10_000
"""So is a component of so few rows, when moving variables one by one was not enough."""


@kernel
def fix(
    graph: Graph, state: State, log: Journal, work: Local, max_iterations: int, variable: int, value: float
) -> None:
    """Fix one variable and bring every free gradient below its tolerance again."""
    log.fixed[log.size[2]] = variable
    log.size[2] += 1
    work.place[variable] = 0
    work.members[0] = variable
    work.x[0] = value
    open_rows(graph, state, log, work, 0, 1)
    if value == 0.0:
        turn(graph, state, variable)
    _move(graph, state, log, work, 1)
    state.fixed[variable] = True
    work.place[variable] = -1
    span = span_of(graph.component[variable], graph.bounds, graph.groups)
    members = 0
    iterations = 0
    while iterations < max_iterations:
        before = members
        members, waiting = relax(graph, state, log, work, members)
        if waiting == 0:
            break
        if members > WHOLE * (span.hi - span.lo) or span.row_hi - span.row_lo <= SMALL:
            note_all(span, state, log)
            work.work.value[span.row_lo : span.row_hi] = state.value[span.row_lo : span.row_hi]
            newton(span, graph.problem, work.work, max_iterations - iterations, state.x, state.fixed)
            state.gradient[span.lo : span.hi] = work.work.gradient[span.lo : span.hi]
            state.value[span.row_lo : span.row_hi] = work.work.value[span.row_lo : span.row_hi]
            break
        part = _restrict(graph, state, log, work, members)
        steps = 1 if members > before else STEPS
        iterations += newton(part, work.problem, work.work, steps, work.x, work.free)
        _move(graph, state, log, work, members)
    for at in range(members):
        work.place[work.members[at]] = -1


@kernel
def _restrict(graph: Graph, state: State, log: Journal, work: Local, members: int) -> Span:
    """Write down the problem of the members alone, with everyone else where they are."""
    whole, part, place = graph.problem, work.problem, work.place
    for at in range(members):
        i = work.members[at]
        work.x[at] = state.x[i]
        part.prior[at] = whole.prior[i]
        part.strength[at] = whole.strength[i]
        part.gauge[at] = whole.gauge[i] / INNER
    n_rows, to = 0, 0
    for at in range(log.size[1]):
        j = log.rows[at]
        begin = to
        for k in range(whole.indptr[j], whole.indptr[j + 1]):
            p = place[whole.indices[k]]
            if p >= 0:
                part.indices[to] = p
                part.coef[to] = whole.coef[k]
                to += 1
        if to > begin:
            work.work.value[n_rows] = state.value[j]
            part.slope[n_rows] = whole.slope[j]
            n_rows += 1
            part.indptr[n_rows] = to
    return Span(0, members, 0, 0, 0, 0, n_rows)


@kernel
def _move(graph: Graph, state: State, log: Journal, work: Local, members: int) -> None:
    """Move the members to where they shall be; row values and gradients follow."""
    problem, place, target = graph.problem, work.place, work.x
    indptr, indices, coef = problem.indptr, problem.indices, problem.coef
    x, gradient, value = state.x, state.gradient, state.value
    for at in range(members):
        i = work.members[at]
        step = target[at] - x[i]
        gradient[i] += 2.0 * problem.strength[i] * step
        x[i] = target[at]
        target[at] = step
    for at in range(log.size[1]):
        j = log.rows[at]
        total = 0.0
        for k in range(indptr[j], indptr[j + 1]):
            p = place[indices[k]]
            if p >= 0:
                total += coef[k] * target[p]
        if total == 0.0:
            continue
        old = value[j]
        value[j] = old + total
        push = problem.slope[j] * (max(0.0, value[j]) - max(0.0, old))
        if push != 0.0:
            for k in range(indptr[j], indptr[j + 1]):
                gradient[indices[k]] += coef[k] * push

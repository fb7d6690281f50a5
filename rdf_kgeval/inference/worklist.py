"""Re-solve squared hinges after one variable is fixed: Newton over a set that grows where gradients ask."""

from typing import NamedTuple

import numpy as np

from rdf_kgeval.inference.journal import Graph, Journal, State
from rdf_kgeval.inference.kernel import Flags, Floats, Indices, Ints, kernel

FORCING = 0.1
"""A linear system is solved to this share of the gradient."""
INNER = 0.5
"""Members are solved to this share of the tolerance, so that the next re-solve does not wake them."""
LINE_STEPS = 40
VISITS = 500
"""Variables are moved one by one so many times between two Newton steps."""
WHOLE = 0.15
"""When the set passes this share of its component, the whole component joins."""


class Local(NamedTuple):
    """Working space of one re-solve."""

    queue: Indices
    """Two queues, one for each generation of visits."""
    queued: Flags
    place: Indices
    """Position of each variable in `members`, or -1."""
    members: Indices
    residual: Floats
    inverse: Floats
    direction: Floats
    search: Floats
    product: Floats
    change: Floats
    ends: Ints
    indices: Indices
    values: Floats


def local(graph: Graph) -> Local:
    """Working space with nobody in the set."""
    n, m, entries = len(graph.prior), len(graph.slope), len(graph.indices)
    return Local(
        queue=np.empty((2, n), np.int32),
        queued=np.zeros(n, np.bool_),
        place=np.full(n, -1, np.int32),
        members=np.empty(n, np.int32),
        residual=np.empty(n),
        inverse=np.empty(n),
        direction=np.empty(n),
        search=np.empty(n),
        product=np.empty(n),
        change=np.empty(m),
        ends=np.empty(m, np.int64),
        indices=np.empty(entries, np.int32),
        values=np.empty(entries),
    )


@kernel
def fix(
    graph: Graph, state: State, log: Journal, work: Local, max_iterations: int, variable: int, value: float
) -> None:
    """Fix one variable and bring every free gradient below its tolerance again."""
    log.fixed[log.size[2]] = variable
    log.size[2] += 1
    work.place[variable] = 0
    work.members[0] = variable
    work.direction[0] = value - state.x[variable]
    _open(graph, state, log, work, 0, 1)
    _change(graph, log, work)
    _move(graph, state, log, work, 1, 1.0)
    state.x[variable] = value
    state.fixed[variable] = True
    work.place[variable] = -1
    first, last = graph.first[variable], graph.last[variable]
    members = 0
    clipped = False
    for _ in range(max_iterations):
        members = _relax(graph, state, log, work, members)
        if WHOLE * (last - first) < members < last - first:
            members = _join_all(graph, state, log, work, members, first, last)
        worst = _residual(graph, state, work, members)
        if worst <= 1.0:
            break
        safe = clipped
        if safe:
            _majorise(graph, state, work, members)
        else:
            n_active = _activate(graph, state, log, work, members)
            _conjugate_gradients(graph, work, members, n_active, max(INNER, FORCING * worst))
        clipped = _project(graph, state, work, members)
        step = _line_search(graph, state, log, work, members)
        if step == 0.0 and safe:
            break
        clipped = (clipped or step == 0.0) and not safe
        _move(graph, state, log, work, members, step)
    for at in range(members):
        work.place[work.members[at]] = -1


@kernel
def _open(graph: Graph, state: State, log: Journal, work: Local, begin: int, end: int) -> None:
    """Note the rows of new members and everyone in them: the result depends on all of these."""
    pointers, rows, indptr, indices = graph.pointers, graph.rows, graph.indptr, graph.indices
    seen, touched, marked, members = log.seen, log.touched, log.marked, work.members
    n_touched, n_rows = log.size[0], log.size[1]
    for at in range(begin, end):
        i = members[at]
        if not seen[i]:  # it may have no rows
            seen[i] = True
            touched[n_touched] = i
            n_touched += 1
        for entry in range(pointers[i], pointers[i + 1]):
            j = rows[entry]
            if marked[j]:
                continue
            marked[j] = True
            log.rows[n_rows] = j
            n_rows += 1
            for k in range(indptr[j], indptr[j + 1]):
                other = indices[k]
                if not seen[other]:
                    seen[other] = True
                    touched[n_touched] = other
                    n_touched += 1
    for at in range(log.size[0], n_touched):
        log.x[at] = state.x[touched[at]]
        log.gradient[at] = state.gradient[touched[at]]
    for at in range(log.size[1], n_rows):
        log.value[at] = state.value[log.rows[at]]
    log.size[0], log.size[1] = n_touched, n_rows


@kernel
def _relax(graph: Graph, state: State, log: Journal, work: Local, members: int) -> int:
    """Let in who has too large a gradient, moving one variable at a time: it spreads a change quickly.

    After about `VISITS` moves those who still wait become members without a move.
    """
    waiting = 0
    for at in range(log.size[0]):
        i = log.touched[at]
        if abs(state.gradient[i]) * graph.gauge[i] > 1.0 and not state.fixed[i]:
            work.queue[0, waiting] = i
            work.queued[i] = True
            waiting += 1
    visits = 0
    generation = 0
    while waiting > 0:
        before = members
        waiting, members = _admit(graph, state, work, generation, waiting, members)
        _open(graph, state, log, work, before, members)
        if visits > VISITS:
            break
        visits += waiting
        waiting = _visit(graph, state, work, generation, waiting)
        generation = 1 - generation
    return members


@kernel
def _admit(
    graph: Graph, state: State, work: Local, generation: int, waiting: int, members: int
) -> tuple[int, int]:
    """Keep in the queue who still has too large a gradient, as members; how many wait and belong now."""
    kept = 0
    queue, queued, place = work.queue[generation], work.queued, work.place
    x, gradient, gauge = state.x, state.gradient, graph.gauge
    for at in range(waiting):
        i = queue[at]
        queued[i] = False
        g = gradient[i]
        if abs(g) * gauge[i] <= 1.0 or (x[i] <= 0.0 and g > 0.0) or (x[i] >= 1.0 and g < 0.0):
            continue
        queue[kept] = i
        kept += 1
        if place[i] < 0:
            place[i] = members
            work.members[members] = i
            members += 1
    return kept, members


@kernel
def _visit(graph: Graph, state: State, work: Local, generation: int, waiting: int) -> int:
    """Move everyone in the queue once, in turn, and queue whose gradient that makes too large."""
    pointers, rows, values = graph.pointers, graph.rows, graph.values
    indptr, indices, coef, slope = graph.indptr, graph.indices, graph.coef, graph.slope
    gauge, strength = graph.gauge, graph.strength
    x, gradient, value, fixed = state.x, state.gradient, state.value, state.fixed
    queue, following, queued = work.queue[generation], work.queue[1 - generation], work.queued
    queueing = 0
    for at in range(waiting):
        i = queue[at]
        bend = 2.0 * strength[i]
        for entry in range(pointers[i], pointers[i + 1]):
            if value[rows[entry]] > 0.0:
                bend += slope[rows[entry]] * values[entry] * values[entry]
        old = x[i]
        x[i] = min(1.0, max(0.0, old - gradient[i] / bend))
        step = x[i] - old
        gradient[i] += 2.0 * strength[i] * step
        for entry in range(pointers[i], pointers[i + 1]):
            j = rows[entry]
            before = value[j]
            after = before + values[entry] * step
            value[j] = after
            push = slope[j] * (max(0.0, after) - max(0.0, before))
            if push == 0.0:
                continue
            for k in range(indptr[j], indptr[j + 1]):
                other = indices[k]
                gradient[other] += coef[k] * push
                if abs(gradient[other]) * gauge[other] > 1.0 and not queued[other] and not fixed[other]:
                    following[queueing] = other
                    queued[other] = True
                    queueing += 1
    return queueing


@kernel
def _join_all(
    graph: Graph, state: State, log: Journal, work: Local, members: int, first: int, last: int
) -> int:
    before = members
    for i in range(first, last):
        if work.place[i] < 0 and not state.fixed[i]:
            work.place[i] = members
            work.members[members] = i
            members += 1
    _open(graph, state, log, work, before, members)
    return members


@kernel
def _residual(graph: Graph, state: State, work: Local, members: int) -> float:
    """Residual and diagonal of the members, 0 where the box holds one; the largest gauged gradient."""
    worst = 0.0
    for at in range(members):
        i = work.members[at]
        g = state.gradient[i]
        work.residual[at] = g
        work.direction[at] = 0.0
        if (state.x[i] <= 0.0 and g > 0.0) or (state.x[i] >= 1.0 and g < 0.0):
            work.inverse[at] = 0.0
        else:
            work.inverse[at] = 2.0 * graph.strength[i]
            worst = max(worst, abs(g) * graph.gauge[i])
    return worst


@kernel
def _majorise(graph: Graph, state: State, work: Local, members: int) -> None:
    """Gradient step under a separable upper bound of the objective: it descends even after projection."""
    for at in range(members):
        i = work.members[at]
        bound = 2.0 * graph.strength[i]
        for entry in range(graph.pointers[i], graph.pointers[i + 1]):
            j = graph.rows[entry]
            length = 0.0
            for k in range(graph.indptr[j], graph.indptr[j + 1]):
                length += abs(graph.coef[k])
            bound += graph.slope[j] * length * abs(graph.values[entry])
        work.direction[at] = -state.gradient[i] / bound


@kernel
def _activate(graph: Graph, state: State, log: Journal, work: Local, members: int) -> int:
    """The active rows restricted to the members, times the root of their slope; invert the diagonal."""
    n_active = 0
    to = 0
    indptr, indices, coef, value, slope = graph.indptr, graph.indices, graph.coef, state.value, graph.slope
    places, inverse, rows = work.place, work.inverse, log.rows
    for at in range(log.size[1]):
        j = rows[at]
        if value[j] <= 0.0:
            continue
        root = np.sqrt(slope[j])
        begin = to
        for k in range(indptr[j], indptr[j + 1]):
            place = places[indices[k]]
            if place >= 0:
                scaled = coef[k] * root
                work.indices[to] = place
                work.values[to] = scaled
                if inverse[place] > 0.0:
                    inverse[place] += scaled * scaled
                to += 1
        if to > begin:
            work.ends[n_active] = to
            n_active += 1
    for at in range(members):
        if work.inverse[at] > 0.0:
            work.inverse[at] = 1.0 / work.inverse[at]
    return n_active


@kernel
def _conjugate_gradients(graph: Graph, work: Local, members: int, n_active: int, enough: float) -> None:
    residual, inverse, direction, search, product = work[4:9]
    rho = 0.0
    for at in range(members):
        search[at] = -residual[at] * inverse[at]
        rho -= residual[at] * search[at]
    for _ in range(2 * members + 20):
        curvature = 0.0
        for at in range(members):
            product[at] = 2.0 * graph.strength[work.members[at]] * search[at]
            curvature += product[at] * search[at]
        begin = 0
        for row in range(n_active):
            end = work.ends[row]
            total = 0.0
            for k in range(begin, end):
                total += work.values[k] * search[work.indices[k]]
            for k in range(begin, end):
                product[work.indices[k]] += work.values[k] * total
            curvature += total * total
            begin = end
        if not curvature > 0.0:
            break
        alpha = rho / curvature
        new_rho = 0.0
        left = 0.0
        for at in range(members):
            direction[at] += alpha * search[at]
            residual[at] += alpha * product[at]
            new_rho += residual[at] * residual[at] * inverse[at]
            if inverse[at] > 0.0:
                left = max(left, abs(residual[at]) * graph.gauge[work.members[at]])
        if left <= enough:
            break
        beta = new_rho / rho
        rho = new_rho
        for at in range(members):
            search[at] = beta * search[at] - residual[at] * inverse[at]


@kernel
def _project(graph: Graph, state: State, work: Local, members: int) -> bool:
    """Cut the direction so that a full step stays in the box; say whether that changed anything."""
    clipped = False
    for at in range(members):
        x = state.x[work.members[at]]
        target = x + work.direction[at]
        if target < 0.0 or target > 1.0:
            work.direction[at] = min(1.0, max(0.0, target)) - x
            clipped = True
    return clipped


@kernel
def _change(graph: Graph, log: Journal, work: Local) -> None:
    """How a full step along the direction changes each noted row."""
    indptr, indices, coef = graph.indptr, graph.indices, graph.coef
    place, direction, rows = work.place, work.direction, log.rows
    for at in range(log.size[1]):
        j = rows[at]
        total = 0.0
        for k in range(indptr[j], indptr[j + 1]):
            p = place[indices[k]]
            if p >= 0:
                total += coef[k] * direction[p]
        work.change[at] = total


@kernel
def _move(graph: Graph, state: State, log: Journal, work: Local, members: int, step: float) -> None:
    """Step along the direction; row values and gradients follow."""
    indptr, indices, coef, slope = graph.indptr, graph.indices, graph.coef, graph.slope
    x, gradient, value, rows = state.x, state.gradient, state.value, log.rows
    for at in range(members):
        i = work.members[at]
        old = x[i]
        x[i] = min(1.0, max(0.0, old + step * work.direction[at]))
        gradient[i] += 2.0 * graph.strength[i] * (x[i] - old)
    for at in range(log.size[1]):
        if work.change[at] == 0.0:
            continue
        j = rows[at]
        old = value[j]
        new = old + step * work.change[at]
        value[j] = new
        push = slope[j] * (max(0.0, new) - max(0.0, old))
        if push != 0.0:
            for k in range(indptr[j], indptr[j + 1]):
                gradient[indices[k]] += coef[k] * push


@kernel
def _line_search(graph: Graph, state: State, log: Journal, work: Local, members: int) -> float:
    """The exact minimiser in [0, 1] along the direction, 0 if it does not descend."""
    change, value, slope, rows = work.change, state.value, graph.slope, log.rows
    linear, square, steepness = 0.0, 0.0, 0.0
    for at in range(members):
        i = work.members[at]
        d = work.direction[at]
        linear += 2.0 * graph.strength[i] * (state.x[i] - graph.prior[i]) * d
        square += 2.0 * graph.strength[i] * d * d
        steepness += state.gradient[i] * d
    _change(graph, log, work)
    if not steepness < 0.0:
        return 0.0
    below, above, t = 0.0, 1.0, 1.0
    for _ in range(LINE_STEPS):
        first = linear + t * square
        second = square
        for at in range(log.size[1]):
            now = value[rows[at]] + t * change[at]
            if now > 0.0:
                bend = slope[rows[at]] * change[at]
                first += bend * now
                second += bend * change[at]
        if first > 0.0:
            above = t
        elif t == 1.0:
            break
        else:
            below = t
        if first <= -1e-6 * steepness:
            break
        t -= first / second
        if not below < t < above:
            t = 0.5 * (below + above)
    return t

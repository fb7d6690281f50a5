"""Who takes part in a re-solve: variables whose gradients ask for it, and how a change spreads to them."""

from typing import NamedTuple

import numpy as np

from rdf_kgeval.inference.journal import Graph, Journal, State
from rdf_kgeval.inference.kernel import Flags, Floats, Indices, Ints, kernel

VISITS = 100
"""Variables are moved one by one about so many times between two Newton steps."""


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
    held: Floats
    """The inverse diagonal of members that are pinned to the box, 0 elsewhere."""
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
        held=np.empty(n),
        change=np.empty(m),
        ends=np.empty(m, np.int64),
        indices=np.empty(entries, np.int32),
        values=np.empty(entries),
    )


@kernel
def open_rows(graph: Graph, state: State, log: Journal, work: Local, begin: int, end: int) -> None:
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
def relax(graph: Graph, state: State, log: Journal, work: Local, members: int) -> int:
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
        open_rows(graph, state, log, work, before, members)
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
        old = x[i]
        x[i] = min(1.0, max(0.0, old + _step(graph, state, i)))
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
def _step(graph: Graph, state: State, i: int) -> float:
    """A step of one variable that never raises the objective: to the minimum if no row turns active.

    If the slope changes sign, rows did turn active; then all rows count, which cannot overshoot.
    """
    g = state.gradient[i]
    bend, bound = 2.0 * graph.strength[i], 2.0 * graph.strength[i]
    for entry in range(graph.pointers[i], graph.pointers[i + 1]):
        j = graph.rows[entry]
        square = graph.slope[j] * graph.values[entry] * graph.values[entry]
        bound += square
        if state.value[j] > 0.0:
            bend += square
    step = -g / bend
    after = g + 2.0 * graph.strength[i] * step
    for entry in range(graph.pointers[i], graph.pointers[i + 1]):
        j = graph.rows[entry]
        old = state.value[j]
        new = old + graph.values[entry] * step
        after += graph.slope[j] * graph.values[entry] * (max(0.0, new) - max(0.0, old))
    overshot = after * g < -1e-9 * g * g
    return float(-g / bound if overshot else step)


@kernel
def join_all(
    graph: Graph, state: State, log: Journal, work: Local, members: int, first: int, last: int
) -> int:
    """Make members of all free variables from first to last; how many members there are then."""
    before = members
    for i in range(first, last):
        if work.place[i] < 0 and not state.fixed[i]:
            work.place[i] = members
            work.members[members] = i
            members += 1
    open_rows(graph, state, log, work, before, members)
    return members

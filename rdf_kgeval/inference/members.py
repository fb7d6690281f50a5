"""Who takes part in a re-solve: variables whose gradients ask for it, and how a change spreads to them."""

from typing import NamedTuple

import numpy as np

from rdf_kgeval.inference.journal import Graph, Journal, State, note
from rdf_kgeval.inference.kernel import Flags, Floats, Indices, kernel
from rdf_kgeval.inference.problem import Problem, Scratch, scratch

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
    x: Floats
    """Where each member is, then where it shall be."""
    free: Flags
    """Nobody among the members is fixed."""
    problem: Problem
    """Room for the problem restricted to the members."""
    work: Scratch


def local(graph: Graph) -> Local:
    """Working space with nobody in the set."""
    n, m, entries = len(graph.problem.prior), len(graph.problem.slope), len(graph.problem.indices)
    return Local(
        queue=np.empty((2, n), np.int32),
        queued=np.zeros(n, np.bool_),
        place=np.full(n, -1, np.int32),
        members=np.empty(n, np.int32),
        x=np.empty(n),
        free=np.zeros(n, np.bool_),
        problem=Problem(
            indptr=np.zeros(m + 1, np.int64),
            indices=np.empty(entries, np.uint32),
            coef=np.empty(entries),
            offset=graph.problem.offset,
            shift=graph.problem.shift,
            slope=np.empty(m),
            cap=graph.problem.cap,
            prior=np.empty(n),
            strength=np.empty(n),
            gauge=np.empty(n),
        ),
        work=scratch(n, m, entries),
    )


@kernel
def open_rows(graph: Graph, state: State, log: Journal, work: Local, begin: int, end: int) -> None:
    """Note the rows of new members and everyone in them: the result depends on all of these."""
    pointers, rows = graph.pointers, graph.rows
    indptr, indices = graph.problem.indptr, graph.problem.indices
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
    note(state, log, n_touched, n_rows)


@kernel
def relax(graph: Graph, state: State, log: Journal, work: Local, members: int) -> tuple[int, int]:
    """Let in who has too large a gradient, moving one variable at a time: it spreads a change quickly.

    After about `VISITS` moves those who still wait become members without a move. How many members there
    are then, and how many of them wait.
    """
    gradient, fixed, gauge = state.gradient, state.fixed, graph.problem.gauge
    touched, queue, queued = log.touched, work.queue, work.queued
    waiting = 0
    for at in range(log.size[0]):
        i = touched[at]
        if abs(gradient[i]) * gauge[i] > 1.0 and not fixed[i]:
            queue[0, waiting] = i
            queued[i] = True
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
    return members, waiting


@kernel
def _admit(
    graph: Graph, state: State, work: Local, generation: int, waiting: int, members: int
) -> tuple[int, int]:
    """Keep in the queue who still has too large a gradient, as members; how many wait and belong now."""
    kept = 0
    queue, queued, place = work.queue[generation], work.queued, work.place
    x, gradient, gauge = state.x, state.gradient, graph.problem.gauge
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
    problem = graph.problem
    indptr, indices, coef, slope = problem.indptr, problem.indices, problem.coef, problem.slope
    gauge, strength = problem.gauge, problem.strength
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
        if abs(gradient[i]) * gauge[i] > 1.0 and not queued[i]:
            following[queueing] = i
            queued[i] = True
            queueing += 1
    return queueing


@kernel
def _step(graph: Graph, state: State, i: int) -> float:
    """A step of one variable that never raises the objective: to the minimum if no row turns active.

    If the slope changes sign, rows did turn active; then all rows count, which cannot overshoot.
    """
    pointers, rows, values, value = graph.pointers, graph.rows, graph.values, state.value
    slope, strength = graph.problem.slope, graph.problem.strength
    g = state.gradient[i]
    bend, bound = 2.0 * strength[i], 2.0 * strength[i]
    for entry in range(pointers[i], pointers[i + 1]):
        j = rows[entry]
        square = slope[j] * values[entry] * values[entry]
        bound += square
        if value[j] > 0.0:
            bend += square
    step = -g / bend
    after = g + 2.0 * strength[i] * step
    for entry in range(pointers[i], pointers[i + 1]):
        j = rows[entry]
        old = value[j]
        new = old + values[entry] * step
        after += slope[j] * values[entry] * (max(0.0, new) - max(0.0, old))
    overshot = after * g < -1e-9 * g * g
    return float(-g / bound if overshot else step)

"""Re-solve squared hinges after one variable is fixed: Newton over a set that grows where gradients ask for it."""

from typing import NamedTuple

import numpy as np

from rdf_kgeval.inference.kernel import Flags, Floats, Indices, Ints, kernel

FORCING = 0.1
"""A linear system is solved to this share of the gradient."""
INNER = 0.5
"""Members are solved to this share of the tolerance, so that the next re-solve does not wake them."""
LINE_STEPS = 40
WHOLE = 0.15
"""When the set passes this share of its component, the whole component joins."""


class Graph(NamedTuple):
    """The model in layout order, by rows and by columns; never changed."""

    indptr: Ints
    indices: Indices
    coef: Floats
    offset: Floats
    slope: Floats
    pointers: Ints
    rows: Indices
    values: Floats
    prior: Floats
    strength: Floats
    gauge: Floats
    first: Indices
    """First variable of each variable's component."""
    last: Indices


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


class Local(NamedTuple):
    """Working space of one re-solve."""

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


def journal(graph: Graph) -> Journal:
    """An empty journal."""
    n, m = len(graph.prior), len(graph.slope)
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


def local(graph: Graph) -> Local:
    """Working space with nobody in the set."""
    n, m, entries = len(graph.prior), len(graph.slope), len(graph.indices)
    vectors = [np.empty(n) for _ in range(5)]
    return Local(
        np.full(n, -1, np.int32),
        np.empty(n, np.int32),
        *vectors,
        np.empty(m),
        np.empty(m, np.int64),
        np.empty(entries, np.int32),
        np.empty(entries),
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
        members = _grow(graph, state, log, work, members)
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
        _change(graph, log, work)
        step = _line_search(graph, state, log, work, members)
        if step == 0.0 and safe:
            break
        clipped = (clipped or step == 0.0) and not safe
        _move(graph, state, log, work, members, step)
    for at in range(members):
        work.place[work.members[at]] = -1


@kernel
def undo(state: State, log: Journal) -> None:
    """Restore, to the bit, what was there when the journal was empty."""
    for at in range(log.size[0]):
        i = log.touched[at]
        state.x[i] = log.x[at]
        state.gradient[i] = log.gradient[at]
    for at in range(log.size[1]):
        state.value[log.rows[at]] = log.value[at]
    for at in range(log.size[2]):
        state.fixed[log.fixed[at]] = False
    forget(log)


@kernel
def refresh(graph: Graph, state: State, log: Journal) -> None:
    """Compute the touched rows and gradients from x alone, so that rounding does not add up over re-solves."""
    for at in range(log.size[1]):
        j = log.rows[at]
        total = graph.offset[j]
        for k in range(graph.indptr[j], graph.indptr[j + 1]):
            total += graph.coef[k] * state.x[graph.indices[k]]
        state.value[j] = total
    for at in range(log.size[0]):
        i = log.touched[at]
        total = 2.0 * graph.strength[i] * (state.x[i] - graph.prior[i])
        for k in range(graph.pointers[i], graph.pointers[i + 1]):
            j = graph.rows[k]
            if state.value[j] > 0.0:
                total += graph.slope[j] * state.value[j] * graph.values[k]
        state.gradient[i] = total


@kernel
def forget(log: Journal) -> None:
    """Empty the journal; what it holds can no longer be undone."""
    for at in range(log.size[0]):
        log.seen[log.touched[at]] = False
    for at in range(log.size[1]):
        log.marked[log.rows[at]] = False
    log.size[:] = 0


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
def _grow(graph: Graph, state: State, log: Journal, work: Local, members: int) -> int:
    """Let in who was touched and has too large a gradient."""
    x, gradient, fixed, place, gauge = state.x, state.gradient, state.fixed, work.place, graph.gauge
    touched, before = log.touched, members
    for at in range(log.size[0]):
        i = touched[at]
        g = gradient[i]
        if abs(g) * gauge[i] <= 1.0 or place[i] >= 0 or fixed[i]:
            continue
        if (x[i] <= 0.0 and g > 0.0) or (x[i] >= 1.0 and g < 0.0):
            continue
        place[i] = members
        work.members[members] = i
        members += 1
    _open(graph, state, log, work, before, members)
    return members


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
    residual, inverse, direction, search, product = work[2:7]
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
    linear, square = 0.0, 0.0
    for at in range(members):
        i = work.members[at]
        d = work.direction[at]
        linear += 2.0 * graph.strength[i] * (state.x[i] - graph.prior[i]) * d
        square += 2.0 * graph.strength[i] * d * d
    below, above, t, steepness = 0.0, 1.0, 0.0, 0.0
    for turn in range(LINE_STEPS):
        first = linear + t * square
        second = square
        for at in range(log.size[1]):
            j = rows[at]
            now = value[j] + t * change[at]
            if now > 0.0:
                bend = slope[j] * change[at]
                first += bend * now
                second += bend * change[at]
        if turn == 0:
            if not first < 0.0:
                return 0.0
            steepness = first
            t = 1.0
            continue
        if first > 0.0:
            above = t
        elif t == 1.0:
            break
        else:
            below = t
        if abs(first) <= -1e-6 * steepness:
            break
        t -= first / second
        if not below < t < above:
            t = 0.5 * (below + above)
    return t

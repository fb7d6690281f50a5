"""Re-solve squared hinges after one variable is fixed: Newton over a set that grows where gradients ask."""

import numpy as np

from rdf_kgeval.inference.journal import Graph, Journal, State
from rdf_kgeval.inference.kernel import kernel
from rdf_kgeval.inference.members import Local, join_all, open_rows, relax

FORCING = 0.03
"""A linear system is solved to this share of the gradient."""
INNER = 0.5
"""Members are solved to this share of the tolerance, so that the next re-solve does not wake them."""
LINE_STEPS = 40
PINNINGS = 20
"""Variables that a step would take out of the box are pinned to it, and the others solved again."""
WHOLE = 0.2
"""When the set passes this share of its component, the whole component joins."""


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
    open_rows(graph, state, log, work, 0, 1)
    _change(graph, log, work)
    _move(graph, state, log, work, 1, 1.0)
    state.x[variable] = value
    state.fixed[variable] = True
    work.place[variable] = -1
    first, last = graph.first[variable], graph.last[variable]
    members = 0
    clipped = False
    for _ in range(max_iterations):
        members = relax(graph, state, log, work, members)
        if WHOLE * (last - first) < members < last - first:
            members = join_all(graph, state, log, work, members, first, last)
        worst = _residual(graph, state, work, members)
        if worst <= 1.0:
            break
        safe = clipped
        if safe:
            _majorise(graph, state, work, members)
        else:
            n_active = _activate(graph, state, log, work, members)
            _conjugate_gradients(graph, work, members, n_active, max(INNER, FORCING * worst))
            for _ in range(PINNINGS):
                if not _pin(state, work, members):
                    break
                _multiply(graph, work, members, n_active)
                for at in range(members):
                    work.residual[at] += work.product[at]
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
def _residual(graph: Graph, state: State, work: Local, members: int) -> float:
    """Residual and diagonal of the members, 0 where the box holds one; the largest gauged gradient."""
    worst = 0.0
    for at in range(members):
        i = work.members[at]
        g = state.gradient[i]
        work.residual[at] = g
        work.direction[at] = 0.0
        work.held[at] = 0.0
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
    """Solve for the direction where inverse > 0, from the one given; `residual` follows it."""
    residual, inverse, direction, search, product = work[4:9]
    rho = 0.0
    for at in range(members):
        search[at] = -residual[at] * inverse[at]
        rho -= residual[at] * search[at]
    for _ in range(2 * members + 20):
        curvature = _multiply(graph, work, members, n_active)
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
def _multiply(graph: Graph, work: Local, members: int, n_active: int) -> float:
    """Product of the members' matrix with `search`; returns the curvature along it."""
    search, product, ends, indices, values = work.search, work.product, work.ends, work.indices, work.values
    curvature = 0.0
    for at in range(members):
        product[at] = 2.0 * graph.strength[work.members[at]] * search[at]
        curvature += product[at] * search[at]
    begin = 0
    for row in range(n_active):
        end = ends[row]
        total = 0.0
        for k in range(begin, end):
            total += values[k] * search[indices[k]]
        for k in range(begin, end):
            product[indices[k]] += values[k] * total
        curvature += total * total
        begin = end
    return curvature


@kernel
def _pin(state: State, work: Local, members: int) -> bool:
    """Stop at the box whoever would leave it, and let go who was stopped but is pushed back inside.

    `search` becomes how much that shortens their steps; false when nobody was stopped or let go.
    """
    changed = False
    for at in range(members):
        x = state.x[work.members[at]]
        target = x + work.direction[at]
        push = work.residual[at]
        work.search[at] = 0.0
        if work.inverse[at] > 0.0 and (target < 0.0 or target > 1.0):
            bound = 0.0 if target < 0.0 else 1.0
            work.search[at] = bound - target
            work.direction[at] = bound - x
            work.held[at] = work.inverse[at]
            work.inverse[at] = 0.0
            changed = True
        elif work.held[at] > 0.0 and (push < 0.0) == (target < 0.5) and push != 0.0:
            work.inverse[at] = work.held[at]
            work.held[at] = 0.0
            changed = True
    return changed


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

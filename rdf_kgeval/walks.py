"""Walks over the triples of a graph, compiled: which paths lead from a triple's subject to its object.

A step is a predicate walked forwards (an even number) or backwards (the odd one after it). A path of up to
three steps is one number in base `n_steps + 1`: its first step is the last digit, and no step is 0.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rdf_kgeval.compiled import compiled

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]

_F = TypeVar("_F", bound=Callable[..., Any])


def kernel(function: _F) -> _F:
    """Compile a function over arrays, with exact arithmetic."""
    return compiled(function, (Path(__file__),))


class Graph(NamedTuple):
    """Each triple as two half-edges, by node, step and neighbour; those of a node and step are a block."""

    n_steps: int
    first: Longs
    """The first block of each node, and one past the last of all."""
    step: Ints
    """The step of each block."""
    start: Longs
    """The first half-edge of each block, and one past the last of all."""
    node: Ints
    """The neighbour of each half-edge."""
    triple: Ints
    """The triple of each half-edge."""
    step_of: Ints
    """The step of each half-edge."""


def make_graph(s: Ints, p: Ints, o: Ints, n_nodes: int) -> Graph:
    """Index triples; `p` numbers the predicates from 0 without gaps."""
    near, far = np.concatenate([s, o]), np.concatenate([o, s])
    step = np.concatenate([2 * p, 2 * p + 1])
    order = np.lexsort((far, step, near))
    near, far, step = near[order], far[order], step[order]
    triple = np.tile(np.arange(len(s), dtype=np.int32), 2)[order]
    new = np.ones(len(near), dtype=bool)
    new[1:] = (near[1:] != near[:-1]) | (step[1:] != step[:-1])
    start = np.append(np.flatnonzero(new), len(near))
    first = np.searchsorted(near[start[:-1]], np.arange(n_nodes + 1))
    n_steps = 2 * (int(p.max(initial=-1)) + 1)
    return Graph(n_steps, first.astype(np.int64), step[start[:-1]], start.astype(np.int64), far, triple, step)


def degrees(graph: Graph) -> Longs:
    """How many half-edges each node has."""
    ends: Longs = graph.start[graph.first]
    return np.diff(ends)


def two_walks(graph: Graph) -> Longs:
    """How many walks of two steps start at each node."""
    total = np.concatenate([[0], np.cumsum(degrees(graph)[graph.node])])
    ends = graph.start[graph.first]
    return np.asarray(total[ends[1:]] - total[ends[:-1]], dtype=np.int64)


class Heads(NamedTuple):
    """Triples of one predicate, seen from one end: walks start at `near` and are to end at `far`."""

    near: Ints
    far: Ints
    triple: Ints


@kernel
def find_block(graph: Graph, node: int, step: int) -> int:
    """The block of a node's step, or -1."""
    low, high = graph.first[node], graph.first[node + 1]
    while low < high:
        middle = (low + high) // 2
        if graph.step[middle] < step:
            low = middle + 1
        else:
            high = middle
    return low if low < graph.first[node + 1] and graph.step[low] == step else -1


@kernel
def occurring(graph: Graph, node: Ints) -> Longs:
    """For each step, how many of the nodes can take it; nodes count as often as they are listed."""
    counts = np.zeros(graph.n_steps, np.int64)
    for i in range(len(node)):
        for b in range(graph.first[node[i]], graph.first[node[i] + 1]):
            counts[graph.step[b]] += 1
    return counts


@kernel
def can_take(graph: Graph, node: Ints, step: int) -> Flags:
    """Which of the nodes can take a step."""
    can = np.zeros(len(node), np.bool_)
    for i in range(len(node)):
        can[i] = find_block(graph, node[i], step) >= 0
    return can


@kernel
def walk_costs(graph: Graph, heads: Heads, head: int, start: Flags) -> NDArray[np.float64]:
    """How many walks of two steps start at the near ends, by their steps, the head not being the first.

    Where there are some, the walks of one step that may be in vain are added.

    Args:
        graph: the triples.
        heads: sorted by `near`.
        head: the step that the heads are, from their near ends.
        start: which first steps to take.
    """
    cost, single = np.zeros((graph.n_steps, graph.n_steps)), np.zeros(graph.n_steps)
    i = 0
    while i < len(heads.near):
        x, repeats = heads.near[i], 0
        while i < len(heads.near) and heads.near[i] == x:
            y = heads.far[i]
            if start[head]:
                for c in range(graph.first[y], graph.first[y + 1]):
                    cost[head, graph.step[c]] -= graph.start[c + 1] - graph.start[c]
            repeats += 1
            i += 1
        for b in range(graph.first[x], graph.first[x + 1]):
            if start[graph.step[b]]:
                single[graph.step[b]] += repeats * (graph.start[b + 1] - graph.start[b])
                for e in range(graph.start[b], graph.start[b + 1]):
                    z = graph.node[e]
                    for c in range(graph.first[z], graph.first[z + 1]):
                        cost[graph.step[b], graph.step[c]] += repeats * (graph.start[c + 1] - graph.start[c])
    for one in range(graph.n_steps):
        for two in range(graph.n_steps):
            if cost[one, two] > 0:
                cost[one, two] += single[one]
    return cost


@kernel
def _place(keys: Longs, key: int) -> int:
    """Where a key is, or belongs, in an open-addressing table whose size is a power of two."""
    at = (key * 0x5851F42D4C957F2D >> 20) & (len(keys) - 1)
    while keys[at] >= 0 and keys[at] != key:
        at = (at + 1) & (len(keys) - 1)
    return at


@kernel
def _grown(keys: Longs, counts: Longs, last: Longs) -> tuple[Longs, Longs, Longs]:
    size = 2 * len(keys)
    new_keys, new_counts, new_last = np.full(size, -1), np.zeros(size, np.int64), np.zeros(size, np.int64)
    for i in range(len(keys)):
        if keys[i] >= 0:
            at = _place(new_keys, keys[i])
            new_keys[at], new_counts[at], new_last[at] = keys[i], counts[i], last[i]
    return new_keys, new_counts, new_last


class _Marks(NamedTuple):
    """The half-edges into one node, by the node that they come from."""

    target: Ints
    """Whose half-edges a node's entry is about."""
    entry: Longs
    below: Longs
    """The next half-edge from the same node, or -1."""


@kernel
def _mark(graph: Graph, y: int, end: Flags, marks: _Marks) -> None:
    for b in range(graph.first[y], graph.first[y + 1]):
        if end[graph.step[b] ^ 1]:
            for e in range(graph.start[b], graph.start[b + 1]):
                w = graph.node[e]
                marks.below[e] = marks.entry[w] if marks.target[w] == y else -1
                marks.target[w], marks.entry[w] = y, e


@kernel
def _complete(
    graph: Graph, marks: _Marks, w: int, path: int, place: int, head: int, found: Longs, m: int
) -> int:
    """Add the paths that a last step from `w` completes, without the head."""
    e = marks.entry[w]
    while e >= 0:
        if graph.triple[e] != head:
            code = path + ((graph.step_of[e] ^ 1) + 1) * place
            # At a hub the same few paths close again and again.
            is_new = True
            for j in range(max(m - 4, 0), m):
                is_new &= found[j] != code
            if is_new:
                found[m] = code
                m += 1
        e = marks.below[e]
    return m


@kernel
def _distinct(found: Longs, m: int) -> int:
    distinct = np.unique(found[:m])
    found[: len(distinct)] = distinct
    return len(distinct)


@kernel
def _two_steps(graph: Graph, heads: Heads, i: int, start: Flags, marks: _Marks, found: Longs) -> int:
    """The paths of two steps from a head's near end to its far end; -1 if there is too little room."""
    x, y, head = heads.near[i], heads.far[i], heads.triple[i]
    m, base, room = 0, graph.n_steps + 1, (len(found) - graph.n_steps) // 2
    for b in range(graph.first[x], graph.first[x + 1]):
        one = graph.step[b]
        if start[one]:
            for e in range(graph.start[b], graph.start[b + 1]):
                z = graph.node[e]
                if marks.target[z] == y and graph.triple[e] != head:
                    m = _complete(graph, marks, z, one + 1, base, head, found, m)
                    if m > 2 * room:
                        m = _distinct(found, m)
                        if m > room:
                            return -1
    return m


@kernel
def _three_steps(
    graph: Graph, heads: Heads, i: int, start: Flags, pair: Flags, marks: _Marks, found: Longs
) -> int:
    """The paths of three steps from a head's near end to its far end; -1 if there is too little room."""
    x, y, head = heads.near[i], heads.far[i], heads.triple[i]
    m, base, room = 0, graph.n_steps + 1, (len(found) - graph.n_steps) // 2
    _, first, step, begin, node, triple, _ = graph
    for b in range(first[x], first[x + 1]):
        one = step[b]
        for e in range(begin[b], begin[b + 1] if start[one] else begin[b]):
            z = node[e]
            for c in range(first[z], first[z + 1] if triple[e] != head else first[z]):
                for f in range(begin[c], begin[c + 1] if pair[one, step[c]] else begin[c]):
                    w = node[f]
                    if marks.target[w] == y and triple[f] != head:
                        path = one + 1 + (step[c] + 1) * base
                        m = _complete(graph, marks, w, path, base * base, head, found, m)
                        if m > 2 * room:
                            m = _distinct(found, m)
                            if m > room:
                                return -1
    return m


@kernel
def close(
    graph: Graph, heads: Heads, length: int, start: Flags, end: Flags, pair: Flags, room: int
) -> tuple[bool, Longs, Longs]:
    """Which paths of `length` steps lead from near to far ends without the head, and for how many heads.

    Args:
        graph: the triples.
        heads: sorted by `far`.
        length: 1 to 3.
        start: which first steps to take.
        end: which last steps to take.
        pair: for length 3, which two first steps to take, by row and column.
        room: for how many paths of one head there is room; False first in the result says it was too little.
    """
    keys, counts, last = np.full(1024, -1), np.zeros(1024, np.int64), np.zeros(1024, np.int64)
    used = 0
    n = len(graph.first) - 1
    marks = _Marks(np.full(n, -1, np.int32), np.zeros(n, np.int64), np.zeros(len(graph.node), np.int64))
    found = np.zeros(2 * room + graph.n_steps, np.int64)
    for i in range(len(heads.near)):
        x, y = heads.near[i], heads.far[i]
        if i == 0 or heads.far[i - 1] != y:
            _mark(graph, y, end, marks)
        m = 0
        if length == 3:
            m = _three_steps(graph, heads, i, start, pair, marks, found)
        elif length == 2:
            m = _two_steps(graph, heads, i, start, marks, found)
        elif marks.target[x] == y:
            m = _complete(graph, marks, x, 0, 1, heads.triple[i], found, m)
        if m < 0:
            return False, keys, counts
        for j in range(m):
            at = _place(keys, found[j])
            if keys[at] < 0:
                keys[at] = found[j]
                used += 1
            elif last[at] == i:
                continue
            counts[at] += 1
            last[at] = i
            if 2 * used > len(keys):
                keys, counts, last = _grown(keys, counts, last)
    kept = keys >= 0
    return True, keys[kept], counts[kept]


@kernel
def count_closings(graph: Graph, heads: Heads, path: int, limit: int, max_walks: float) -> int:
    """How many walks along a path of two or three steps lead from near to far ends without the head.

    It stops past `limit` of them, or past `max_walks` walks, closing or not, and is then more than `limit`.
    """
    base = graph.n_steps + 1
    n = len(graph.first) - 1
    target, last = np.full(n, -1, np.int32), np.zeros(n, np.int32)
    one, two, three = path % base - 1, path // base % base - 1, path // base // base - 1
    end = (three if three >= 0 else two) ^ 1
    closings, walked = 0, 0
    for i in range(len(heads.near)):
        x, y, head = heads.near[i], heads.far[i], heads.triple[i]
        a, c = find_block(graph, x, one), find_block(graph, y, end)
        if a < 0 or c < 0:
            continue
        if i == 0 or heads.far[i - 1] != y:
            for e in range(graph.start[c], graph.start[c + 1]):
                target[graph.node[e]], last[graph.node[e]] = y, graph.triple[e]
        walked += graph.start[a + 1] - graph.start[a]
        for e in range(graph.start[a], graph.start[a + 1]):
            if graph.triple[e] == head:
                continue
            z = graph.node[e]
            if three < 0:
                closings += target[z] == y and last[z] != head
                continue
            b = find_block(graph, z, two)
            if b >= 0:
                walked += graph.start[b + 1] - graph.start[b]
                for f in range(graph.start[b], graph.start[b + 1]):
                    w = graph.node[f]
                    closings += target[w] == y and last[w] != head and graph.triple[f] != head
            if walked > max_walks:
                break
        if closings > limit or walked > max_walks:
            return limit + 1
    return closings


STOPPED = -1
"""A count that was given up because the pairs already rule the path out."""
TOO_LONG = -2
"""A count that was given up after too many walks."""


@kernel
def _advance(
    graph: Graph, here: Ints, n: int, step: int, turn: int, seen: Longs, there: Ints
) -> tuple[int, int]:
    """Where a step leads from the first `n` of `here`, each node once; and how many walks that takes."""
    m, taken = 0, n
    for i in range(n):
        b = find_block(graph, here[i], step)
        if b >= 0:
            taken += graph.start[b + 1] - graph.start[b]
            for e in range(graph.start[b], graph.start[b + 1]):
                node = graph.node[e]
                if seen[node] != turn:
                    seen[node] = turn
                    there[m] = node
                    m += 1
    return m, taken


@kernel
def _asserted(graph: Graph, x: int, head: int, reached: Ints, n: int, turn: int, seen: Longs) -> int:
    """How many of the first `n` reached nodes the step `head` leads to from `x`."""
    b = find_block(graph, x, head) if head >= 0 else -1
    if b < 0:
        return 0
    hits = 0
    for j in range(n):
        seen[reached[j]] = turn
    for e in range(graph.start[b], graph.start[b + 1]):
        hits += seen[graph.node[e]] == turn
    return hits


@kernel
def connect(
    graph: Graph,
    near: Ints,
    head: int,
    paths: Longs,
    support: Longs,
    min_confidence: float,
    max_walks: float,
) -> tuple[Longs, Longs]:
    """How many pairs (x, y), x one of `near`, each path connects; and how many of them the step `head` does.

    A path is STOPPED as soon as its support is less than `min_confidence` of it and of the pairs that `head`
    does not connect.
    """
    n = len(graph.first) - 1
    seen = np.full(n, -1)
    here, there = np.zeros(n, np.int32), np.zeros(n, np.int32)
    pairs, hits = np.zeros(len(paths), np.int64), np.zeros(len(paths), np.int64)
    for k in range(len(paths)):
        walked = 0
        for i in range(len(near)):
            turn = 4 * (k * len(near) + i)
            here[0], m, rest = near[i], 1, paths[k]
            while rest:
                turn += 1
                m, taken = _advance(graph, here, m, rest % (graph.n_steps + 1) - 1, turn, seen, there)
                walked += taken
                here, there = there, here
                rest //= graph.n_steps + 1
            pairs[k] += m
            hits[k] += _asserted(graph, near[i], head, here, m, turn, seen)
            if support[k] / (support[k] + pairs[k] - hits[k]) < min_confidence:
                pairs[k] = STOPPED
                break
            if walked > max_walks:
                pairs[k] = TOO_LONG
                break
    return pairs, hits

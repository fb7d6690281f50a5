"""Find paths from a triple's subject to its object without that triple, in compiled code."""

from typing import Annotated, NamedTuple

import numpy as np

from rdf_kgeval.common.jit import exact_kernel
from rdf_kgeval.common.types import Bools, Int32s, Int64s
from rdf_kgeval.rules.mining.walks import Graph, Heads, find_block


@exact_kernel
def _place(keys: Int64s, key: int) -> int:
    """Find the place of a key in an open-addressing table whose size is a power of two."""
    at = (int(key) * 0x5851F42D4C957F2D >> 20) & (len(keys) - 1)
    while keys[at] >= 0 and keys[at] != key:
        at = (at + 1) & (len(keys) - 1)
    return at


@exact_kernel
def _grown(keys: Int64s, counts: Int64s, last: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    size = 2 * len(keys)
    new_keys, new_counts, new_last = np.full(size, -1), np.zeros(size, np.int64), np.zeros(size, np.int64)
    for i in range(len(keys)):
        if keys[i] >= 0:
            at = _place(new_keys, keys[i])
            new_keys[at], new_counts[at], new_last[at] = keys[i], counts[i], last[i]
    return new_keys, new_counts, new_last


class _Marks(NamedTuple):
    """The half-edges into one node, by the node that they come from."""

    target: Int32s
    """The node that a node's half-edges lead to."""
    entry: Int64s
    below: Int64s
    """The next half-edge from the same node, or -1."""


@exact_kernel
def _mark(graph: Graph, y: int, end: Bools, marks: _Marks) -> None:
    for b in range(graph.first[y], graph.first[y + 1]):
        if end[graph.step[b] ^ 1]:
            for e in range(graph.start[b], graph.start[b + 1]):
                w = graph.node[e]
                marks.below[e] = marks.entry[w] if marks.target[w] == y else -1
                marks.target[w], marks.entry[w] = y, e


@exact_kernel
def _complete(
    graph: Graph, marks: _Marks, w: int, path: int, place: int, head: int, found: Int64s, m: int
) -> int:
    """Add the paths that a last step from `w` completes, without the head; return -1 if room is lacking."""
    e, room = marks.entry[w], (len(found) - graph.n_steps) // 2
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
    if m > 2 * room:
        distinct = np.unique(found[:m])
        found[: len(distinct)] = distinct
        m = len(distinct) if len(distinct) <= room else -1
    return m


@exact_kernel
def _two_steps(graph: Graph, heads: Heads, i: int, start: Bools, marks: _Marks, found: Int64s) -> int:
    """Find the paths of two steps from a head's near end to its far end; return -1 if room is lacking."""
    x, y, head = heads.near[i], heads.far[i], heads.triple[i]
    m, base = 0, graph.n_steps + 1
    for b in range(graph.first[x], graph.first[x + 1]):
        one = graph.step[b]
        if start[one]:
            for e in range(graph.start[b], graph.start[b + 1]):
                z = graph.node[e]
                if marks.target[z] == y and graph.triple[e] != head:
                    m = _complete(graph, marks, z, one + 1, base, head, found, m)
                    if m < 0:
                        return m
    return m


@exact_kernel
def _three_steps(
    graph: Graph, heads: Heads, i: int, start: Bools, pair: Annotated[Bools, 2], marks: _Marks, found: Int64s
) -> int:
    """Find the paths of three steps from a head's near end to its far end; return -1 if room is lacking."""
    x, y, head = heads.near[i], heads.far[i], heads.triple[i]
    m, base = 0, graph.n_steps + 1
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
                        if m < 0:
                            return m
    return m


@exact_kernel
def close(
    graph: Graph, heads: Heads, length: int, start: Bools, end: Bools, pair: Annotated[Bools, 2], room: int
) -> tuple[bool, Int64s, Int64s]:
    """Find the paths of `length` steps from near to far ends without the head, and count the heads of each.

    Args:
        graph: the triples.
        heads: sorted by `far`.
        length: 1 to 3.
        start: which first steps to take.
        end: which last steps to take.
        pair: for length 3, which two first steps to take, by row and column.
        room: the most paths of one head; the result starts with False where there were more.
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


@exact_kernel
def count_closings(graph: Graph, heads: Heads, path: int, limit: int, max_walks: float) -> int:
    """Count the walks along a path of two or three steps from near to far ends without the head.

    Counting stops after `limit` of them, or after `max_walks` walks of any kind, with a result above `limit`.
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

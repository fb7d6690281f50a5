"""Walk on the triples of a graph, in compiled code: an index of the triples, and the nodes that paths reach.

A step is a predicate walked forwards (an even number) or backwards (the odd one after it). A path of up to
three steps is one number in base `n_steps + 1`: its first step is the last digit, and no step is 0.
"""

from typing import NamedTuple

import numpy as np

from rdf_kgeval.common.jit import exact_kernel
from rdf_kgeval.common.types import Bools, Float64s, Int32s, Int64s


class Graph(NamedTuple):
    """Each triple as two half-edges, by node, step and neighbour; those of a node and step are a block."""

    n_steps: int
    first: Int64s
    """The first block of each node, and one past the last of all."""
    step: Int32s
    """The step of each block."""
    start: Int64s
    """The first half-edge of each block, and one past the last of all."""
    node: Int32s
    """The neighbour of each half-edge."""
    triple: Int32s
    """The triple of each half-edge."""
    step_of: Int32s
    """The step of each half-edge."""


def make_graph(s: Int32s, p: Int32s, o: Int32s, n_nodes: int) -> Graph:
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


def degrees(graph: Graph) -> Int64s:
    """Count the half-edges of each node."""
    ends: Int64s = graph.start[graph.first]
    return np.diff(ends)


def two_walks(graph: Graph) -> Int64s:
    """Count the walks of two steps from each node."""
    total = np.concatenate([[0], np.cumsum(degrees(graph)[graph.node])])
    ends = graph.start[graph.first]
    return np.asarray(total[ends[1:]] - total[ends[:-1]], dtype=np.int64)


class Heads(NamedTuple):
    """Triples of one predicate, seen from one end: walks go from `near` to `far`."""

    near: Int32s
    far: Int32s
    triple: Int32s


@exact_kernel
def find_block(graph: Graph, node: int, step: int) -> int:
    """Find the block of a node's step; -1 where there is none."""
    low, high = graph.first[node], graph.first[node + 1]
    while low < high:
        middle = (low + high) // 2
        if graph.step[middle] < step:
            low = middle + 1
        else:
            high = middle
    return low if low < graph.first[node + 1] and graph.step[low] == step else -1


@exact_kernel
def occurring(graph: Graph, node: Int32s) -> Int64s:
    """Count, for each step, the nodes that can take it, each as often as it is listed."""
    counts = np.zeros(graph.n_steps, np.int64)
    for i in range(len(node)):
        for b in range(graph.first[node[i]], graph.first[node[i] + 1]):
            counts[graph.step[b]] += 1
    return counts


@exact_kernel
def can_take(graph: Graph, node: Int32s, step: int) -> Bools:
    """Mark the nodes that can take a step."""
    can = np.zeros(len(node), np.bool_)
    for i in range(len(node)):
        can[i] = find_block(graph, node[i], step) >= 0
    return can


@exact_kernel
def walk_costs(graph: Graph, heads: Heads, head: int, start: Bools) -> Float64s:
    """Count walks of two steps from the near ends, by their steps; the head itself is not a first step.

    Where there are any, the walks of their first step, which may lead nowhere, are added.

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


STOPPED = -1
"""A count that stopped because the pairs already rule the path out."""
TOO_LONG = -2
"""A count that stopped after too many walks."""


@exact_kernel
def _advance(
    graph: Graph, here: Int32s, n: int, step: int, turn: int, seen: Int64s, there: Int32s
) -> tuple[int, int]:
    """Take a step from the first `n` of `here`; return the numbers of nodes reached and of walks."""
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


@exact_kernel
def _asserted(graph: Graph, x: int, head: int, reached: Int32s, n: int, turn: int, seen: Int64s) -> int:
    """Count those of the first `n` reached nodes that the step `head` leads to from `x`."""
    b = find_block(graph, x, head) if head >= 0 else -1
    if b < 0:
        return 0
    hits = 0
    for j in range(n):
        seen[reached[j]] = turn
    for e in range(graph.start[b], graph.start[b + 1]):
        hits += seen[graph.node[e]] == turn
    return hits


@exact_kernel
def connect(
    graph: Graph,
    near: Int32s,
    head: int,
    paths: Int64s,
    support: Int64s,
    min_confidence: float,
    max_walks: float,
) -> tuple[Int64s, Int64s]:
    """Count the pairs (x, y), x in `near`, that each path connects, and those that `head` connects, too.

    A path is STOPPED as soon as its confidence, support / (support + pairs that `head` does not connect), is
    below `min_confidence`.
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
            least = support[k] + pairs[k] - hits[k]
            if least > 0 and support[k] / least < min_confidence:
                pairs[k] = STOPPED
                break
            if walked > max_walks:
                pairs[k] = TOO_LONG
                break
    return pairs, hits

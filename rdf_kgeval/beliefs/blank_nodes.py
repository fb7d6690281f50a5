"""Stable names for the blank nodes of one file.

A blank node's label means nothing: the same graph, written twice, may have other labels. Each node is named
after its neighbourhood, by colour refinement: all nodes start with the same colour, and in every round a
node's colour becomes a hash of its old colour and of its triples' predicates, graphs and other ends.
Exact canonicalisation (RDFC-1.0) takes exponential time on some inputs, such as a plain list of 2,000
unlabelled nodes, so it cannot be used on files from strangers. Refinement is linear in each round; nodes
that it cannot distinguish are numbered in the order of the file.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from rdf_kgeval.common.types import Int64s, UInt64s

Quad = tuple[str, str, str, str]
"""Subject, predicate, object and graph as N-Triples terms; the graph is "" for the default graph."""

_MAX_ROUNDS = 100
_Colours = UInt64s


def name_blank_nodes(quads: Sequence[Quad], taken: Counter[str]) -> Iterator[Quad]:
    """Yield the quads with blank nodes renamed; `taken` counts names used for earlier files."""
    labels = list(dict.fromkeys(term for quad in quads for term in quad if term.startswith("_:")))
    number = {label: i for i, label in enumerate(labels)}
    edges = _Edges(quads, number)
    colours = edges.refine()
    component = edges.components()
    # A component's own hash is part of the name, so that copies of a component are numbered as wholes.
    total = np.zeros(len(labels), dtype=np.uint64)
    np.add.at(total, component, _mix(colours))
    colours = _mix(colours ^ _mix(total[component]))
    names = {}
    for i in np.lexsort((np.arange(len(labels)), component)):
        name = f"_:b{int(colours[i]):016x}"
        copy = taken[name]
        taken[name] += 1
        names[labels[i]] = f"{name}x{copy}" if copy else name
    for s, p, o, g in quads:
        yield names.get(s, s), p, names.get(o, o), names.get(g, g)


class _Edges:
    """Every mention of a blank node: the node, a hash of the mention, and the blank nodes beside it."""

    def __init__(self, quads: Sequence[Quad], number: dict[str, int]) -> None:
        self.n = len(number)
        at: list[int] = []
        said: list[int] = []
        other: list[int] = []
        for quad in quads:
            blank = [(place, number[term]) for place, term in enumerate(quad) if term in number]
            ground = " ".join("_" if term in number else term for term in quad)
            for place, node in blank:
                said_here = _hash(f"{place} {ground}")
                neighbours = [(there, n) for there, n in blank if there != place] or [(-1, -1)]
                for there, neighbour in neighbours:
                    at.append(node)
                    said.append(_hash(f"{said_here} {there}"))
                    other.append(neighbour)
        self.at = np.array(at, dtype=np.int64)
        self.said = np.array(said, dtype=np.uint64)
        self.other = np.array(other, dtype=np.int64)

    def refine(self) -> _Colours:
        colours = np.zeros(self.n, dtype=np.uint64)
        distinct = 0
        for _ in range(_MAX_ROUNDS):
            beside = np.where(self.other < 0, np.uint64(0), colours[self.other])
            heard = np.zeros(self.n, dtype=np.uint64)
            np.add.at(heard, self.at, _mix(self.said ^ _mix(beside)))
            colours = _mix(_mix(colours) + heard)
            previous, distinct = distinct, len(np.unique(colours))
            if distinct == previous:
                break
        return colours

    def components(self) -> Int64s:
        """Number each node by the first node that it is connected with."""
        parent = list(range(self.n))

        def root(i: int) -> int:
            while parent[i] != i:
                parent[i] = parent[parent[i]]
                i = parent[i]
            return i

        for a, b in zip(self.at.tolist(), self.other.tolist(), strict=True):
            if b >= 0:
                low, high = sorted((root(a), root(b)))
                parent[high] = low
        return np.array([root(i) for i in range(self.n)], dtype=np.int64)


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _mix(x: _Colours) -> _Colours:
    """Scramble 64-bit words (the finaliser of splitmix64)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: _Colours = x ^ (x >> np.uint64(31))
    return mixed

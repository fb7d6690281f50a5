"""Find rules with constants: `p(x, c) -> q(x, d)`, and the classes of a predicate's subjects and objects."""

import logging
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from rdf_kgeval.common.jit import exact_kernel
from rdf_kgeval.common.progress import Progress
from rdf_kgeval.common.types import Bools, Int32s, Int64s
from rdf_kgeval.namespaces import RDF_TYPE
from rdf_kgeval.rules.mining.index import MinedRule, MiningIndex
from rdf_kgeval.rules.mining.walks import Graph, find_block
from rdf_kgeval.rules.rule import Rule

_log = logging.getLogger(__name__)


def mine_signatures(index: MiningIndex, known: Iterable[Rule]) -> Iterator[MinedRule]:
    """Find classes of the subjects and objects of predicates for which no rule states one."""
    if index.type is None or index.type not in index.heads or not index.options.types:
        return
    rows = index.rows[index.type]
    s, o = index.beliefs.s[rows], index.beliefs.o[rows]
    sizes = np.bincount(o, minlength=len(index.nameable))
    typed = np.zeros(len(index.nameable), dtype=bool)
    typed[s] = True
    stated = {end for rule in known if (end := _signature(rule))}
    for step in range(index.graph.n_steps):
        name = index.predicate(step)
        if step >> 1 == index.type or (name, bool(step & 1)) in stated:
            continue
        nodes = index.nodes(step)
        inside = np.zeros(len(typed), dtype=bool)
        inside[nodes] = True
        counts = np.bincount(o[inside[s]], minlength=len(typed))
        eligible = int(typed[nodes].sum())
        for c in np.flatnonzero((counts >= index.options.min_support) & index.nameable):
            n = int(counts[c])
            if n >= index.needed(int(sizes[c])) and n / eligible >= index.options.min_confidence:
                yield MinedRule(
                    2 * index.type, int(c), (step,), -1, n, int(sizes[c]), eligible, n, len(nodes)
                )


def _signature(rule: Rule) -> tuple[str, bool] | None:
    """Find the predicate for which a rule states a class, and whether that is of its objects."""
    if not rule.is_plain or len(rule.body) != 1 or rule.head is None or rule.head[1] != f"<{RDF_TYPE}>":
        return None
    s, p, o = rule.body[0]
    if rule.head[2].startswith("?") or not (s.startswith("?") and o.startswith("?")) or s == o:
        return None
    return (p, rule.head[0] == o) if rule.head[0] in (s, o) else None


def mine_constants(index: MiningIndex, progress: Progress) -> Iterator[MinedRule]:
    """Find rules with a constant in body and head."""
    if not index.options.constants:
        return
    graph = index.graph
    features = _make_features(graph, index.options.min_support, index.nameable)
    owner = np.repeat(np.arange(len(graph.first) - 1), np.diff(graph.first))
    size = np.diff(graph.start)
    reach = np.concatenate([[0], np.cumsum(np.diff(features.first)[graph.node])])
    heads = np.unique(features.feature)
    for step in sorted({2 * q + back for q in index.heads for back in (0, 1)}):
        own = heads[graph.step[heads] == step ^ 1]
        progress("mining constants", step + 1, graph.n_steps)
        cost = float((reach[graph.start[own + 1]] - reach[graph.start[own]]).sum())
        if cost > index.options.max_walks:
            _log.warning(
                "rules with the head %s and a constant are left out: %s pairs of triples; allow more with "
                "--max-walks", index.name(step), f"{cost:,.0f}",
            )  # fmt: skip
            continue
        options = index.options
        for f, g, support, pca_body, own_body in zip(
            *_imply(graph, features, own, options.min_support, options.min_confidence), strict=True
        ):
            n = int(support)
            if n >= index.needed(int(size[g])):
                pairs = int(size[f])
                hits = pairs - int(own_body) + n
                yield MinedRule(
                    step, int(owner[g]), (int(graph.step[f]) ^ 1,), int(owner[f]), n, int(size[g]),
                    int(pca_body), hits, pairs,
                )  # fmt: skip


class _Features(NamedTuple):
    """The features of each node: a step to a constant, which enough nodes have."""

    first: Int64s
    """The first feature of each node, and one past the last of all."""
    feature: Int64s
    """The block of the constant's half-edges; its neighbours are the nodes with the feature."""
    triple: Int32s


def _make_features(graph: Graph, min_nodes: int, nameable: Bools) -> _Features:
    """Collect the features of at least `min_nodes` nodes, with constants that are `nameable`."""
    block = np.repeat(np.arange(len(graph.step)), np.diff(graph.start))
    owner = np.repeat(np.arange(len(graph.first) - 1), np.diff(graph.first))[block]
    # The two half-edges of a triple are neighbours once sorted by triple.
    twin = np.empty(len(block), dtype=np.int64)
    pairs = np.argsort(graph.triple, kind="stable").reshape(-1, 2)
    twin[pairs[:, 0]], twin[pairs[:, 1]] = block[pairs[:, 1]], block[pairs[:, 0]]
    kept = (np.diff(graph.start)[twin] >= min_nodes) & nameable[graph.node]
    first = np.searchsorted(owner[kept], np.arange(len(graph.first)))
    return _Features(first, twin[kept], graph.triple[kept])


@exact_kernel
def _imply(
    graph: Graph, features: _Features, heads: Int64s, min_support: int, min_confidence: float
) -> tuple[Int64s, Int64s, Int64s, Int64s, Int64s]:
    """Find pairs of features that enough nodes have.

    Returns body, head, support, and the number of nodes with the body: those that have any triple of the
    head's step, and all.

    Args:
        graph: the triples.
        features: the possible bodies.
        heads: features, all of one step.
        min_support: how many nodes must have both.
        min_confidence: least share of both among nodes with the body and any triple of the head's step.
    """
    count, eligible = np.zeros(len(graph.step), np.int64), np.full(len(graph.step), -1)
    touched = np.zeros(len(graph.step), np.int64)
    rules = np.zeros((1024, 5), np.int64)
    n = 0
    for g in heads:
        head = graph.step[g] ^ 1
        m = 0
        for e in range(graph.start[g], graph.start[g + 1]):
            x = graph.node[e]
            for i in range(features.first[x], features.first[x + 1]):
                f = features.feature[i]
                if f != g and features.triple[i] != graph.triple[e]:
                    if count[f] == 0:
                        touched[m] = f
                        m += 1
                    count[f] += 1
        for j in range(m):
            f = touched[j]
            support, count[f] = count[f], 0
            if support < min_support:
                continue
            if eligible[f] < 0:
                eligible[f] = 0
                for e in range(graph.start[f], graph.start[f + 1]):
                    eligible[f] += find_block(graph, graph.node[e], head) >= 0
            own = 1 if _same_triple(graph, f, g) else 0
            if support / (eligible[f] - own) >= min_confidence:
                if n == len(rules):
                    rules = np.concatenate((rules, np.zeros_like(rules)))
                rules[n] = f, g, support, eligible[f] - own, graph.start[f + 1] - graph.start[f] - own
                n += 1
    return rules[:n, 0], rules[:n, 1], rules[:n, 2], rules[:n, 3], rules[:n, 4]


@exact_kernel
def _same_triple(graph: Graph, f: int, g: int) -> bool:
    """Return whether two features of a node can be one triple, which then joins the node to itself."""
    if abs(f - g) != 1 or graph.step[f] != graph.step[g] ^ 1:
        return False
    e, d = graph.start[f], graph.start[g]
    while e < graph.start[f + 1] and d < graph.start[g + 1]:
        if graph.node[e] == graph.node[d] and graph.triple[e] == graph.triple[d]:
            return True
        if graph.node[e] < graph.node[d]:
            e += 1
        else:
            d += 1
    return False

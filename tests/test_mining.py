"""Mined rules against a naive count written from AMIE's definitions."""

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdf_kgeval.beliefs import Beliefs, BeliefsBuilder, Role
from rdf_kgeval.mining import MiningOptions, mine
from rdf_kgeval.rule import Pattern, Rule

Triples = set[tuple[str, str, str]]
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


def bindings(patterns: list[Pattern], graph: Triples, bound: dict[str, str]) -> Iterator[dict[str, str]]:
    """All ways to satisfy the patterns."""
    if not patterns:
        yield bound
        return
    first, *rest = patterns
    for triple in graph:
        new = dict(bound)
        if all(
            new.setdefault(term, value) == value if term.startswith("?") else term == value
            for term, value in zip(first, triple, strict=True)
        ):
            yield from bindings(rest, graph, new)


def fill(pattern: Pattern, bound: dict[str, str]) -> tuple[str, str, str]:
    s, p, o = (bound.get(term, term) for term in pattern)
    return s, p, o


def naive_measures(
    body: list[Pattern], head: Pattern, graph: Triples
) -> tuple[int, int, int, int]:
    """Support, head size, body size and PCA body size."""
    s, p, o = head
    concluded = {
        fill(head, bound)
        for bound in bindings(body, graph, {})
        if fill(head, bound) not in {fill(pattern, bound) for pattern in body}
    }
    facts = {t for t in graph if t[1] == p}
    subjects, objects = {t[0] for t in facts}, {t[2] for t in facts}
    if s.startswith("?") and o.startswith("?"):
        by_subject = len(subjects) / max(len(facts), 1) >= len(objects) / max(len(facts), 1)
    else:
        by_subject = s.startswith("?")
    eligible = {t for t in concluded if (t[0] in subjects if by_subject else t[2] in objects)}
    matching = {t for t in facts if all(a.startswith("?") or a == b for a, b in zip(head, t, strict=True))}
    return len(concluded & graph), len(matching), len(concluded), len(eligible)


def naive_rules(graph: Triples, max_length: int) -> Iterator[tuple[list[Pattern], Pattern]]:
    predicates = sorted({p for _, p, _ in graph})
    steps: list[Callable[[str, str], Pattern]] = []
    for p in predicates:
        steps += [lambda a, b, p=p: (a, p, b), lambda a, b, p=p: (b, p, a)]
    for length in range(1, max_length + 1):
        stops = ["?x", *["?z", "?w"][: length - 1], "?y"]
        for q, path in product(predicates, product(steps, repeat=length)):
            body = [step(stops[i], stops[i + 1]) for i, step in enumerate(path)]
            if body != [("?x", q, "?y")]:
                yield body, ("?x", q, "?y")
    terms = sorted({t for s, _, o in graph for t in (s, o)})
    features = [step("?x", c) for step in steps for c in terms]
    yield from (([f], g) for f, g in product(features, features) if f != g)
    classes = sorted({o for _, p, o in graph if p == TYPE})
    for p, c, end in product(predicates, classes, ("?x", "?y")):
        if p != TYPE:
            body = [("?x", p, "?y")] if end == "?x" else [("?y", p, "?x")]
            yield body, ("?x", TYPE, c)


def to_beliefs(graph: Triples) -> Beliefs:
    builder = BeliefsBuilder()
    builder.add([(*t, "") for t in sorted(graph)], Role.BELIEF)
    return builder.build()


def key(rule: Rule) -> tuple[tuple[Pattern, ...], Pattern | None]:
    return rule.body, rule.head


graphs = st.sets(
    st.tuples(
        st.sampled_from([f"<http://e/{c}>" for c in "abcde"]),
        st.sampled_from(["<http://e/p>", "<http://e/q>", TYPE]),
        st.sampled_from([f"<http://e/{c}>" for c in "abcde"]),
    ),
    min_size=1,
    max_size=14,
)


@given(graphs, st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.sampled_from([0.0, 0.4]), st.sampled_from([1, 2]))
def test_the_rules_are_those_of_a_naive_miner(
    graph: Triples, confidence: float, coverage: float, support: int
) -> None:
    options = MiningOptions(
        min_support=support,
        min_head_coverage=coverage,
        min_confidence=confidence,
        keep_redundant=True,
        max_per_head=None,
    )
    mined = {key(rule): rule for rule in mine(to_beliefs(graph), options)}
    expected = {}
    for body, head in naive_rules(graph, 3):
        n, head_size, body_size, pca_size = naive_measures(body, head, graph)
        if n >= support and n / head_size >= coverage and n / pca_size >= confidence:
            expected[tuple(body), head] = (n, n / head_size, n / body_size, round(n / pca_size, 6))
    found = {
        k: (r.measures.support, r.measures.head_coverage, r.measures.standard_confidence, r.confidence)
        for k, r in mined.items()
        if r.measures
    }
    assert found == expected

"""Helpers for tests of rules: beliefs from Turtle, and a coupling graph's constraints as plain sets."""

from collections.abc import Iterable
from pathlib import Path

import pyoxigraph as ox

from rdf_kgeval.beliefs.builder import BeliefsBuilder
from rdf_kgeval.beliefs.table import Beliefs, Role, Triple
from rdf_kgeval.coupling.graph import CouplingGraph

PREFIXES = """@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix kge: <https://w3id.org/rdf-kgeval#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
Constraint = tuple[frozenset[Triple], Triple | None, frozenset[tuple[str, int]]]
"""Body, head, and each rule with its count."""


def beliefs_of(text: str, **more: str) -> Beliefs:
    """Turtle with the usual prefixes as beliefs; `given` and `unknown` are context."""
    builder = BeliefsBuilder()
    for role, turtle in (
        (Role.BELIEF, text),
        (Role.GIVEN, more.get("given")),
        (Role.UNKNOWN, more.get("unknown")),
    ):
        if turtle:
            parsed = ox.parse(input=(PREFIXES + turtle).encode(), format=ox.RdfFormat.TURTLE)
            builder.add_parsed(parsed, role)
    return builder.build()


def constraints_of(graph: CouplingGraph) -> list[Constraint]:
    """The constraints, and a check that offset and signs say the same."""
    found = []
    for j in range(graph.n_constraints):
        atoms = graph.atom[graph.start[j] : graph.start[j + 1]]
        signs = graph.sign[graph.start[j] : graph.start[j + 1]]
        body = frozenset(graph.triple(int(a)) for a, sign in zip(atoms, signs, strict=True) if sign == 1)
        heads = [graph.triple(int(a)) for a, sign in zip(atoms, signs, strict=True) if sign == -1]
        assert graph.offset[j] == 1 - len(body)
        assert len(heads) <= 1
        part = slice(graph.rule_start[j], graph.rule_start[j + 1])
        rules = frozenset(
            (graph.rules[r].id, int(n)) for r, n in zip(graph.rule[part], graph.count[part], strict=True)
        )
        found.append((body, heads[0] if heads else None, rules))
    return found


def expected_of(file: Path) -> list[Constraint]:
    """The constraints that a then.ttl writes out."""
    quads = list(ox.parse(path=file))
    test = "http://example.org/test#"
    nodes: dict[str, dict[str, list[object]]] = {}
    for quad in quads:
        node = nodes.setdefault(str(quad.subject), {})
        node.setdefault(quad.predicate.value.removeprefix(test), []).append(quad.object)
    return [
        (
            frozenset(map(_triple, node.get("body", ()))),
            _triple(node["head"][0]) if "head" in node else None,
            frozenset((rule.value, _count(node)) for rule in node["rule"]),
        )
        for node in nodes.values()
    ]


def _triple(term: ox.Triple) -> Triple:
    return str(term.subject), str(term.predicate), str(term.object)


def _count(node: dict[str, list[object]]) -> int:
    return int(node["count"][0].value) if "count" in node else 1


def in_order(constraints: Iterable[Constraint]) -> list[str]:
    """Constraints as sorted text, for a readable difference."""
    return sorted(f"{sorted(body)} -> {head} by {sorted(rules)}" for body, head, rules in constraints)

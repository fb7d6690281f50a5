"""On random graphs and rules, DuckDB's joins, pyoxigraph and nested loops find the same constraints."""

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rdf_kgeval.beliefs.builder import BeliefsBuilder
from rdf_kgeval.beliefs.table import Beliefs, Role
from rdf_kgeval.coupling.graph import couple
from rdf_kgeval.rules.construct import parse_construct
from rdf_kgeval.rules.rule import (
    And,
    Compare,
    Filter,
    IsKind,
    Not,
    Or,
    Pattern,
    Rule,
    SameTerm,
    StartsWith,
    Values,
    _sparql,
)
from tests.support import naive
from tests.support.rulecases import constraints_of, in_order

XSD = "http://www.w3.org/2001/XMLSchema#"
IRIS = [f"<http://e/{name}>" for name in "abc"]
PREDICATES = [f"<http://e/{name}>" for name in "pqr"]
# Spelled as pyoxigraph's store spells them, so that sameTerm means the same to it.
LITERALS = [
    '"x"', '"xy"', '"x"@en', '"y"@en', '"x"@fr', '"u"^^<http://e/unit>', '"v"^^<http://e/unit>',
    *(f'"{text}"^^<{XSD}{name}>' for text, name in [
        ("1", "integer"), ("2", "integer"), ("-3", "integer"), ("1", "decimal"), ("1.5", "decimal"),
        ("1", "float"), ("1.5", "double"), ("NaN", "double"), ("true", "boolean"), ("false", "boolean"),
        ("abc", "integer"), ("2001-02-03", "date"), ("2001-02-04", "date"), ("2001", "gYear"), ("0.1", "decimal"),
        ("0.1", "float"), ("0.1", "double"),
    ]),
]  # fmt: skip
RESPELLED = [f'"01"^^<{XSD}integer>', f'"1.50"^^<{XSD}decimal>', f'"1e0"^^<{XSD}double>']
BLANKS = ["_:n1", "_:n2"]


class Cases:
    """Random graphs, and rules made from their own triples, so that they mostly have groundings."""

    def __init__(self, seed: int, literals: list[str]) -> None:
        self.random = random.Random(seed)
        self._literals = self.random.sample(literals, 5)
        nodes = IRIS + BLANKS[: self.random.choice([0, 0, 2])]
        self._triples = sorted(
            {
                (
                    self._one(nodes),
                    self._one(PREDICATES),
                    self._one(nodes) if self.random.random() < 0.6 else self._one(self._literals),
                )
                for _ in range(self.random.randint(6, 26))
            }
        )

    def _one(self, items: list[Any]) -> Any:
        return self.random.choice(items)

    def graph(self) -> Beliefs:
        builder = BeliefsBuilder()
        for triple in self._triples:
            role = self.random.choices([Role.BELIEF, Role.GIVEN, Role.UNKNOWN], [6, 1, 1])[0]
            builder.add([(*triple, "")], role)
        return builder.build()

    def rule(self, number: int = 0, *, latent: bool = False) -> Rule:
        names: dict[str, str] = {}
        body = [self._pattern(names) for _ in range(self.random.randint(1, 3))]
        bound = sorted({term for pattern in body for term in pattern if term.startswith("?")})
        head: Pattern | None = self._pattern({t: v for t, v in names.items() if v in bound}, fresh=False)
        head = None if head in body or self.random.random() < 0.4 else head
        values = tuple(self._values(bound) for _ in range(self.random.choice([0, 0, 0, 1]) if bound else 0))
        parts = [self._filter(bound) for _ in range(self.random.choice([0, 1, 1]) if bound else 0)]
        return Rule(
            id=f"r{number}",
            body=tuple(dict.fromkeys(body)),
            head=head,
            values=values,
            filters=tuple(parts),
            latent=latent and head is not None and self.random.random() < 0.5,
        )

    def _pattern(self, names: dict[str, str], *, fresh: bool = True) -> Pattern:
        """A triple of the graph with variables for its terms."""
        s, p, o = self._one(self._triples)
        if names and self.random.random() < 0.7:
            joined = [t for t in self._triples if t[0] in names or t[2] in names]
            s, p, o = self._one(joined) if joined else (s, p, o)
        s, o = (self._variable(t, names, 0.85, fresh) for t in (s, o))
        return s, self._variable(p, names, 0.1, fresh), o

    def _variable(self, term: str, names: dict[str, str], share: float, fresh: bool) -> str:
        if (term in names or fresh) and (self.random.random() < share or term.startswith("_")):
            return names.setdefault(term, f"?v{len(names)}")
        return self._one(IRIS) if term.startswith("_") else term

    def _values(self, bound: list[str]) -> Values:
        names = tuple(self.random.sample(bound, min(2, len(bound))))
        terms = [None, None, None, *IRIS, *self._literals]
        rows = tuple(tuple(self._one(terms) for _ in names) for _ in range(self.random.randint(0, 6)))
        return Values(names, rows)

    def _filter(self, bound: list[str], depth: int = 0) -> Filter:
        kind = self.random.random()
        if kind < 0.35 and depth < 2:
            parts = (self._filter(bound, depth + 1), self._filter(bound, depth + 1))
            return self._one([And(parts), Or(parts), Not(parts[0])])
        one, other = self._one(bound), self._one(bound * 2 + IRIS[:1] + self._literals[:3])
        if kind < 0.75:
            left, right = self._one([(one, other), (other, one)])
            return Compare(self._one(["=", "!=", "<", "<=", ">", ">="]), left, right)
        if kind < 0.85:
            return SameTerm(one, other)
        if kind < 0.92:
            return IsKind(self._one(["isIRI", "isBlank", "isLiteral"]), one)
        return StartsWith(one, self._one(["", "x", "http://e/a", "1"]), self._one([True, False]))


def written_and_read(rule: Rule) -> Rule:
    """The rule after a trip through SPARQL text."""
    where = rule.to_select().partition(" WHERE ")[2]
    head = rule.head or rule.body[0]
    construct = parse_construct(f"CONSTRUCT {{ {' '.join(head)} }} WHERE {where}")
    (branch,) = construct.branches
    assert not branch.more
    return replace(rule, body=tuple(branch.body), filters=tuple(branch.filters), values=tuple(branch.values))


def by_engine(rule: Rule) -> Rule:
    """The same rule, its bindings left to the SPARQL engine."""
    return replace(rule, query=rule.to_select(), filters=(), values=())


SEEDS = st.integers(0, 2**32)
SOME = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def check_three_ways(seed: int) -> int:
    cases = Cases(seed, LITERALS)
    beliefs, rule = cases.graph(), cases.rule()
    expected = in_order(naive.ground(beliefs, [rule]))
    assert in_order(constraints_of(couple(beliefs, [written_and_read(rule)]))) == expected, rule
    assert in_order(constraints_of(couple(beliefs, [by_engine(rule)]))) == expected, rule
    return len(expected)


def check_together(seed: int) -> int:
    cases = Cases(seed, LITERALS + RESPELLED)
    beliefs, several = cases.graph(), [cases.rule(i, latent=True) for i in range(3)]
    expected = in_order(naive.ground(beliefs, several))
    assert (
        in_order(constraints_of(couple(beliefs, [written_and_read(rule) for rule in several]))) == expected
    ), several
    return len(expected)


@SOME
@given(SEEDS)
def test_three_ways_to_ground_agree(seed: int) -> None:
    check_three_ways(seed)


@SOME
@given(SEEDS)
def test_rules_together_and_latent_atoms_agree_with_nested_loops(seed: int) -> None:
    check_together(seed)


@SOME
@given(SEEDS)
def test_bounds_are_never_below_the_number_of_groundings(seed: int) -> None:
    """A rule is refused unseen only where its bound is over a hundred times the limit."""
    cases = Cases(seed, LITERALS)
    beliefs, rule = cases.graph(), cases.rule()
    size = int(couple(beliefs, [rule]).groundings.sum())
    assert int(couple(beliefs, [rule], max_groundings=200).groundings.sum()) == size


@pytest.mark.stress
def test_many_graphs_and_rules_agree() -> None:
    assert sum(check_three_ways(seed) > 0 for seed in range(1500)) > 550
    assert sum(check_together(seed) > 0 for seed in range(1500)) > 900


def test_most_random_rules_have_groundings() -> None:
    """The comparisons above must not be of empty sets."""
    sizes = []
    for seed in range(300):
        cases = Cases(seed, LITERALS)
        beliefs, rule = cases.graph(), cases.rule()
        sizes.append(len(naive.ground(beliefs, [rule])) > 0)
    assert sum(sizes) > 110


def test_filters_are_written_as_sparql() -> None:
    assert (
        _sparql(Not(Or((Compare("<", "?x", '"1"'), IsKind("isIRI", "?y"))))) == '(!((?x < "1") || isIRI(?y)))'
    )

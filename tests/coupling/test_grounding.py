"""Grounding: limits, hostile input, and values compared as SPARQL compares them."""

import itertools
import time

import numpy as np
import pyoxigraph as ox
import pytest

from rdf_kgeval.beliefs.builder import BeliefsBuilder
from rdf_kgeval.beliefs.table import Role
from rdf_kgeval.coupling.graph import couple
from rdf_kgeval.coupling.grounding import ground
from rdf_kgeval.coupling.vocabulary import Vocabulary
from rdf_kgeval.errors import InputError
from rdf_kgeval.rules.rule import Compare, Rule, RuleOrigin, StartsWith, Values
from tests.support.rulecases import beliefs_of, constraints_of

XSD = "http://www.w3.org/2001/XMLSchema#"


def iri(name: str) -> str:
    return f"<http://example.org/{name}>"


def many(n: int) -> BeliefsBuilder:
    builder = BeliefsBuilder()
    builder.add(((iri(f"a{i}"), iri("p"), iri(f"b{i}"), "") for i in range(n)), Role.BELIEF)
    builder.add(((iri(f"c{i}"), iri("q"), iri(f"d{i}"), "") for i in range(n)), Role.BELIEF)
    return builder


CROSS = Rule(
    id="cross",
    body=(("?x", iri("p"), "?y"), ("?z", iri("q"), "?w")),
    head=None,
    source=RuleOrigin("rules/cross.rq", 3),
)


def test_a_cross_product_is_refused_by_name_and_size_before_it_is_made() -> None:
    beliefs = many(200_000).build()
    start = time.perf_counter()
    with pytest.raises(InputError) as caught:
        couple(beliefs, [CROSS])
    assert time.perf_counter() - start < 20
    message = str(caught.value)
    assert "rule cross (rules/cross.rq, line 3)" in message
    assert "50,000,000 groundings" in message
    assert "up to 40,000,000,000" in message
    assert "--max-groundings" in message


def test_a_rule_just_over_the_limit_is_refused_and_at_the_limit_passes() -> None:
    beliefs = many(30).build()
    assert couple(beliefs, [CROSS], max_groundings=900).n_constraints == 900
    with pytest.raises(InputError, match=r"past 899 groundings, by estimate up to 900 of its own"):
        couple(beliefs, [CROSS], max_groundings=899)


def test_the_limit_is_for_all_rules_together() -> None:
    beliefs = many(30).build()
    single = Rule(id="single", body=(("?x", iri("p"), "?y"),), head=None)
    with pytest.raises(InputError, match="rule cross"):
        couple(beliefs, [single, CROSS], max_groundings=910)


def test_a_large_body_with_few_heads_is_not_refused() -> None:
    """The bound counts the head as well: 4,000 x 4,000 bodies, but one head."""
    builder = BeliefsBuilder()
    builder.add(((iri(f"a{i}"), iri("p"), iri("hub"), "") for i in range(4000)), Role.BELIEF)
    builder.add(((iri("hub"), iri("q"), iri(f"b{i}"), "") for i in range(4000)), Role.BELIEF)
    builder.add([(iri("a1"), iri("r"), iri("b1"), "")], Role.BELIEF)
    rule = Rule(id="r", body=(("?x", iri("p"), "?y"), ("?y", iri("q"), "?z")), head=("?x", iri("r"), "?z"))
    assert couple(builder.build(), [rule], max_groundings=100).n_constraints == 1


def test_a_latent_rule_that_explodes_is_refused() -> None:
    latent = Rule(
        id="all",
        body=(("?x", iri("p"), "?y"), ("?z", iri("q"), "?w")),
        head=("?x", iri("r"), "?z"),
        latent=True,
    )
    with pytest.raises(InputError, match="rule all"):
        couple(many(3000).build(), [latent], max_groundings=10_000)


def test_an_engine_rule_that_explodes_is_refused() -> None:
    rule = Rule(
        id="engine",
        body=CROSS.body,
        head=None,
        query=f"SELECT * WHERE {{ ?x {iri('p')} ?y . ?z {iri('q')} ?w OPTIONAL {{ ?x ?a ?b }} }}",
    )
    with pytest.raises(InputError, match="rule engine"):
        couple(many(300).build(), [rule], max_groundings=1000)


def test_a_query_that_the_engine_refuses_is_an_error_of_the_rule() -> None:
    rule = Rule(id="broken", body=CROSS.body, head=None, query="SELECT ?x WHERE { ?x ")
    with pytest.raises(InputError, match="rule broken cannot be evaluated"):
        couple(many(3).build(), [rule])


def test_a_functional_property_with_a_hub_is_not_squared_twice() -> None:
    from rdf_kgeval.rules.rule import Differ

    builder = BeliefsBuilder()
    builder.add(((iri("a"), iri("p"), iri(f"b{i}"), "") for i in range(1000)), Role.BELIEF)
    rule = Rule(
        id="f",
        body=(("?x", iri("p"), "?y"), ("?x", iri("p"), "?z")),
        head=None,
        filters=(Differ("?y", "?z"),),
    )
    found = ground(builder.build(), [rule])
    assert len(found.body[0][0]) == 1000 * 999 // 2


HOSTILE = [
    "<http://example.org/x');DROP%20TABLE%20atom;-->",
    '"\'); DROP TABLE atom; --"',
    '"\\" } SERVICE <http://evil.example/> { ?a ?b ?c } #"',
    '"?x"',
    '"\\\\"',
    '"line\\nbreak\\ttab"',
    '"\\u0000"',
    '"\U0001f600"@en-gb',
]


@pytest.mark.parametrize("term", HOSTILE)
@pytest.mark.parametrize("by_engine", [False, True])
def test_terms_reach_neither_sql_nor_sparql(term: str, by_engine: bool) -> None:
    builder = BeliefsBuilder()
    builder.add([(iri("a"), iri("p"), term, ""), (iri("a"), iri("q"), term, "")], Role.BELIEF)
    builder.add([(iri("b"), iri("p"), iri("other"), ""), (iri("b"), iri("q"), iri("other"), "")], Role.BELIEF)
    beliefs = builder.build()
    term = beliefs.triple(0)[2]
    body = (("?x", iri("p"), "?y"),)
    rule = Rule(id="r", body=body, head=("?x", iri("q"), "?y"), values=(Values(("?y",), ((term,),)),))
    if by_engine:
        rule = Rule(
            id="r",
            body=body,
            head=rule.head,
            query=f"SELECT ?x ?y WHERE {{ ?x {iri('p')} ?y OPTIONAL {{ ?y ?a ?b }} }}",
        )
    graph = couple(beliefs, [rule])
    assert ({(iri("a"), iri("p"), term)}, (iri("a"), iri("q"), term)) in [
        (set(b), h) for b, h, _ in constraints_of(graph)
    ]
    assert graph.n_constraints == (2 if by_engine else 1)


def test_prefixes_of_escaped_literals() -> None:
    beliefs = beliefs_of(r':a :p "tab\tx" . :b :p "tab x" . :a a :C . :b a :C .')
    rule = Rule(
        id="r",
        body=(("?x", iri("p"), "?y"),),
        head=("?x", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", iri("C")),
        filters=(StartsWith("?y", "tab\t", False),),
    )
    assert couple(beliefs, [rule]).n_constraints == 1


LITERALS = [
    '"a"', '"b"', '""', '"a"@en', '"b"@en', '"a"@fr', '"x"^^<http://e/u>', '"y"^^<http://e/u>',
    *(f'"{text}"^^<{XSD}{name}>' for text, name in [
        ("1", "integer"), ("01", "integer"), ("+1", "int"), ("2", "long"), ("-1", "integer"), ("abc", "integer"),
        ("1.0", "decimal"), ("1.5", "decimal"), (".5", "decimal"), ("0.1", "decimal"), ("0.1", "float"),
        ("0.1", "double"), ("1e0", "double"), ("INF", "double"), ("-INF", "float"), ("NaN", "double"), ("NaN", "float"),
        ("16777217", "integer"), ("16777216", "float"), ("9007199254740993", "integer"), ("9007199254740992", "double"),
        ("true", "boolean"), ("1", "boolean"), ("false", "boolean"), ("maybe", "boolean"),
        ("2001-02-03", "date"), ("2001-02-04", "date"), ("2001-02-30", "date"), ("2001", "gYear"),
        ("2001-02-03T04:05:06", "dateTime"), ("2001-02-03T04:05:06.0", "dateTime"), ("2001-02-03T04:05:07", "dateTime"),
    ]),
    "<http://e/x>", "<http://e/y>",
]  # fmt: skip


@pytest.mark.parametrize("op", ["=", "!=", "<", "<=", ">", ">="])
def test_values_compare_as_in_pyoxigraph(op: str) -> None:
    """Every pair of literals, by joins and by the SPARQL engine."""
    builder = BeliefsBuilder()
    for i, term in enumerate(LITERALS):
        builder.add([(iri(f"s{i}"), iri("p"), term, ""), (iri(f"s{i}"), iri("q"), term, "")], Role.BELIEF)
    rule = Rule(
        id="r",
        body=(("?x", iri("p"), "?a"), ("?y", iri("q"), "?b")),
        head=None,
        filters=(Compare(op, "?a", "?b"),),
    )
    beliefs = builder.build()
    found = ground(beliefs, [rule])
    pairs = {
        (beliefs.triple(int(i))[2], beliefs.triple(int(j))[2]) for i, j in zip(*found.body[0], strict=True)
    }
    store = ox.Store()
    for a, b in itertools.product(LITERALS, repeat=2):
        (answer,) = store.query(f"SELECT ({a} {op} {b} AS ?r) {{}}")
        assert ((a, b) in pairs) == (answer[0] is not None and answer[0].value == "true"), (a, op, b)


def test_vocabulary_merges_terms_in_order() -> None:
    beliefs = beliefs_of(":b :p :d . :b :p 'x' .")
    vocabulary = Vocabulary(beliefs.terms, [iri("a"), iri("b"), iri("c"), '"w"', '"y"', "<http://z/>"])
    texts = [vocabulary.text(i) for i in range(len(vocabulary))]
    assert texts == sorted(texts)
    assert [vocabulary.find(t) for t in texts] == list(range(len(texts)))
    assert [texts[i] for i in vocabulary.number(beliefs.s)] == [iri("b")] * 2
    low, high = vocabulary.literals
    assert texts[low:high] == ['"w"', '"x"', '"y"']
    low, high = vocabulary.starting("<http://example.org/")
    assert texts[low:high] == [iri(n) for n in "abcdp"]
    split = vocabulary.split(np.arange(len(texts), dtype=np.int32))
    own = len(beliefs.terms)
    assert [beliefs.terms[i] if i < own else vocabulary.extra[i - own] for i in split.tolist()] == texts


def test_a_rule_whose_head_joins_on_both_ends_is_limited_too() -> None:
    builder = BeliefsBuilder()
    for p in ("p", "q"):
        builder.add(((iri(f"a{i}"), iri(p), iri(f"b{i}"), "") for i in range(30)), Role.BELIEF)
    rule = Rule(id="both", body=(("?x", iri("p"), "?y"),), head=("?x", iri("q"), "?y"))
    with pytest.raises(InputError, match="rule both"):
        couple(builder.build(), [rule], max_groundings=20)

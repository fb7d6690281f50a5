"""Mined rules against a naive count written from AMIE's definitions."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import rdf_kgeval as kgeval
from rdf_kgeval.beliefs.builder import BeliefsBuilder
from rdf_kgeval.beliefs.table import Beliefs, Role
from rdf_kgeval.coupling.grounding import ground
from rdf_kgeval.errors import InputError
from rdf_kgeval.rules.dialects import read_rules
from rdf_kgeval.rules.mining.mine import mine
from rdf_kgeval.rules.mining.options import MiningOptions
from rdf_kgeval.rules.rule import Measures, Pattern, Rule
from rdf_kgeval.rules.write import write_shacl, write_templates
from tests.support.rulecases import beliefs_of
from tests.support.strategies import ground_quads

DATA = Path(__file__).parents[4] / "shared" / "data"
EVERYTHING = MiningOptions(
    min_support=1, min_head_coverage=0, min_confidence=0, keep_redundant=True, max_per_head=None
)
PATHS = MiningOptions(
    constants=False,
    types=False,
    min_support=2,
    min_head_coverage=0,
    min_confidence=0.1,
    keep_redundant=True,
    max_per_head=None,
)
"""The rules of the benchmarks on the real sets."""

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


def naive_measures(body: list[Pattern], head: Pattern, graph: Triples) -> tuple[int, int, int, int]:
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


@settings(max_examples=60)
@given(graphs, st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.sampled_from([0.0, 0.4]), st.sampled_from([1, 2]))
def test_the_rules_are_those_of_a_naive_miner(
    graph: Triples, confidence: float, coverage: float, support: int
) -> None:
    options = replace(EVERYTHING, min_support=support, min_head_coverage=coverage, min_confidence=confidence)
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


def real_set(name: str) -> Beliefs:
    file = DATA / name / "beliefs.nt"
    if not file.exists():
        pytest.skip(f"{file} is absent")
    return kgeval.read_beliefs(file)


def rules_by_sql(beliefs: Beliefs) -> dict[tuple[int, ...], tuple[int, int]]:
    """Predicate and steps of each rule of PATHS with its support and PCA body size, by one join for a length."""
    _, p = np.unique(beliefs.p, return_inverse=True)
    ids = np.arange(len(beliefs))
    both = {
        "f": np.concatenate([beliefs.s, beliefs.o]),
        "t": np.concatenate([beliefs.o, beliefs.s]),
        "step": np.concatenate([2 * p, 2 * p + 1]),
        "id": np.concatenate([ids, ids]),
    }
    found = {}
    with duckdb.connect() as sql:
        sql.register("given_walk", both)
        sql.register("given_head", {"s": beliefs.s, "q": p, "o": beliefs.o, "id": ids})
        sql.execute("CREATE TABLE walk AS SELECT * FROM given_walk")
        sql.execute("CREATE TABLE head AS SELECT * FROM given_head")
        sql.execute(
            "CREATE TABLE known AS SELECT DISTINCT q, by_subject, CASE WHEN by_subject THEN s ELSE o END AS e "
            "FROM head JOIN (SELECT q, COUNT(DISTINCT s) >= COUNT(DISTINCT o) AS by_subject FROM head GROUP BY q) "
            "USING (q)"
        )
        for n in (1, 2, 3):
            joins = "".join(f" JOIN walk w{i} ON w{i}.f = w{i - 1}.t" for i in range(1, n))
            steps = ", ".join(f"w{i}.step AS s{i}" for i in range(n))
            own = " AND ".join(f"h.id <> w{i}.id" for i in range(n))
            rows = sql.execute(
                f"SELECT k.q, {steps}, COUNT(DISTINCT (w0.f, w{n - 1}.t)) AS body, "
                f"COUNT(DISTINCT (w0.f, w{n - 1}.t)) FILTER (h.id IS NOT NULL) AS support "
                f"FROM walk w0{joins} JOIN known k ON k.e = CASE WHEN k.by_subject THEN w0.f ELSE w{n - 1}.t END "
                f"LEFT JOIN head h ON h.q = k.q AND h.s = w0.f AND h.o = w{n - 1}.t "
                f"WHERE h.id IS NULL OR ({own}) GROUP BY ALL HAVING support >= 2 AND support / body >= 0.1"
            ).fetchall()
            found |= {row[:-2]: (row[-1], row[-2]) for row in rows}
    return found


@pytest.mark.parametrize("name", ["nell-sports", "yago2-sample"])
def test_the_rules_of_a_real_set_are_those_of_a_naive_miner(name: str) -> None:
    beliefs = real_set(name)
    number = {beliefs.terms[int(p)]: i for i, p in enumerate(np.unique(beliefs.p))}
    mined = {}
    for rule in mine(beliefs, PATHS):
        steps, here = [], "?x"
        for s, p, _ in rule.body:
            steps.append(2 * number[p] + (s != here))
            here = next(term for term in (rule.body[len(steps) - 1]) if term.startswith("?") and term != here)
        assert rule.head
        assert rule.measures
        mined[number[rule.head[1]], *steps] = (rule.measures.support, rule.confidence)
    expected = rules_by_sql(beliefs)
    assert len(expected) > 100
    assert mined == {key: (n, round(n / body, 6)) for key, (n, body) in expected.items()}


def support_by_grounding(beliefs: Beliefs, rules: list[Rule]) -> list[int]:
    return [len(np.unique(heads)) for heads in ground(beliefs, rules).head if heads is not None]


def plain(rules: list[Rule]) -> list[Rule]:
    """Rules as files give them: without sources, and measures to six digits."""
    made = []
    for rule in rules:
        assert rule.measures
        shares = (rule.measures.head_coverage, rule.measures.standard_confidence)
        rounded = Measures(rule.measures.support, *(round(share, 6) for share in shares if share is not None))
        made.append(replace(rule, source=None, measures=rounded))
    return sorted(made, key=lambda rule: rule.id)


@settings(max_examples=25, phases=[Phase.explicit, Phase.generate])
@given(ground_quads.filter(lambda quads: len(quads) > 2))
def test_rules_come_back_from_files_with_their_support(
    tmp_path_factory: pytest.TempPathFactory, quads: list
) -> None:
    builder = BeliefsBuilder()
    builder.add_parsed(quads, Role.BELIEF)
    beliefs = builder.build()
    rules = mine(beliefs, replace(EVERYTHING, max_per_head=5, min_confidence=0.3))
    if not rules:
        return
    folder = tmp_path_factory.mktemp("rules")
    write_templates(rules, folder / "rq")
    write_shacl(rules, folder / "rules.ttl")
    expected = [rule.measures.support for rule in rules if rule.measures]
    assert support_by_grounding(beliefs, rules) == expected
    for path in (folder / "rq", folder / "rules.ttl"):
        read = {rule.id: rule for rule in read_rules(path)}
        again = [read[rule.id] for rule in rules]
        assert support_by_grounding(beliefs, again) == expected
        assert len(read) == len(rules)
    assert plain(read_rules(folder / "rq")) == plain(rules)


@pytest.mark.parametrize("name", ["nell-sports", "yago2-sample"])
def test_rules_of_a_real_set_come_back_with_their_support(name: str, tmp_path: Path) -> None:
    beliefs = real_set(name)
    rules = mine(beliefs)
    write_templates(rules, tmp_path / "rules")
    read = read_rules(tmp_path / "rules")
    assert plain(read) == plain(rules)
    assert support_by_grounding(beliefs, read) == [rule.measures.support for rule in read if rule.measures]


def test_the_result_depends_on_neither_threads_nor_the_order_of_triples() -> None:
    beliefs = real_set("nell-sports")
    assert mine(beliefs, threads=1) == mine(beliefs, threads=3)
    shuffled = BeliefsBuilder()
    order = np.random.default_rng(1).permutation(len(beliefs))
    shuffled.add([(*beliefs.triple(int(row)), "") for row in order], Role.BELIEF)
    assert mine(shuffled.build()) == mine(beliefs)


def ring(n: int, *patterns: str) -> str:
    return " ".join(pattern.replace("%", str(i)) for i in range(n) for pattern in patterns)


def test_a_longer_rule_that_is_no_better_is_left_out() -> None:
    beliefs = beliefs_of(ring(12, ":a% :p :b% ; :q :b% . :b% :r :c ."))
    kept = {rule.id for rule in mine(beliefs)}
    every = {rule.id for rule in mine(beliefs, MiningOptions(keep_redundant=True))}
    assert "q-if-p" in kept
    assert "q-if-p-r-inv-r" not in every
    beliefs = beliefs_of(ring(12, ":a% :p :b% ; :q :b% . :b% :r :c% ."))
    assert "q-if-p-r-inv-r" in {rule.id for rule in mine(beliefs, MiningOptions(keep_redundant=True))}
    assert "q-if-p-r-inv-r" not in {rule.id for rule in mine(beliefs)}


def test_a_rule_with_constants_that_is_no_better_than_one_without_is_left_out() -> None:
    text = ring(12, ":a% :p :b ; :q :b ; a :C ; :r :d .")
    kept = {rule.id for rule in mine(beliefs_of(text))}
    assert "q-if-p" in kept
    assert "q-b-if-p-b" not in kept
    assert "type-C-if-p" in kept
    assert "type-C-if-p-b" not in kept
    assert "r-d-if-p-b" in kept


def test_signatures_that_the_ontology_states_are_not_found_again(tmp_path: Path) -> None:
    beliefs = beliefs_of(ring(12, ":a% :p :b% ; a :C . :b% a :D ."))
    (tmp_path / "o.ttl").write_text(
        "@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        ":p rdfs:domain :Other . :q rdfs:subPropertyOf :p ."
    )
    known = kgeval.read_ontology(tmp_path / "o.ttl")
    assert {rule.id for rule in mine(beliefs)} == {"type-C-if-p", "type-D-if-inv-p"}
    assert {rule.id for rule in mine(beliefs, known=known)} == {"type-D-if-inv-p"}


def test_rules_that_are_known_are_not_found_again() -> None:
    beliefs = beliefs_of(ring(12, ":a% :p :b% . :b% :q :a% ."))
    found = mine(beliefs)
    assert {rule.id for rule in found} == {"q-if-inv-p", "p-if-inv-q"}
    known = Rule(
        id="k", body=(("?b", "<http://example.org/q>", "?a"),), head=("?a", "<http://example.org/p>", "?b")
    )
    assert {rule.id for rule in mine(beliefs, known=[known])} == {"q-if-inv-p"}


def test_what_is_given_supports_rules_but_is_not_concluded() -> None:
    text, types = ring(12, ":a% :p :b% ."), ring(12, ":a% :q :b% .")
    assert {rule.id for rule in mine(beliefs_of(text, given=types))} == {"p-if-q"}
    assert {rule.id for rule in mine(beliefs_of(text, unknown=types))} == {"p-if-q", "q-if-p"}


def test_blank_nodes_are_never_constants() -> None:
    beliefs = beliefs_of(ring(12, ":a% :p _:b ; :q :c ."))
    constants = {t for rule in mine(beliefs, EVERYTHING) for p in (*rule.body, rule.head or ()) for t in p}
    assert not [t for t in constants if t.startswith("_:")]


def test_a_head_has_no_more_rules_than_the_cap() -> None:
    beliefs = beliefs_of(
        ring(12, *(f":a% :p{i} :b% ." for i in range(6)), *(f":a% a :C{i} ." for i in range(4)))
    )
    rules = mine(beliefs, MiningOptions(max_per_head=2, constants=False, max_length=1))
    heads = [rule.head[1:] for rule in rules if rule.head]
    assert len(rules) == 6 * 2 + 4 * 2
    assert max(heads.count(head) for head in heads) == 2


def test_ids_differ_even_where_names_do_not() -> None:
    names = [f"<http://{host}/p>" for host in "ab"] + ["<http://c/P>"]
    graph = {(f"<http://e/{i}>", p, f"<http://e/x{i}>") for i in range(12) for p in names}
    rules = mine(to_beliefs(graph))
    assert len(rules) == 6
    assert len({rule.id.lower() for rule in rules}) == 6


def test_a_hub_does_not_explode(caplog: pytest.LogCaptureFixture) -> None:
    n = 200_000
    builder = BeliefsBuilder()
    hub = "<http://e/hub>"
    builder.add(((hub, "<http://e/p>", f"<http://e/{i}>", "") for i in range(n)), Role.BELIEF)
    builder.add(((f"<http://e/{i}>", "<http://e/q>", hub, "") for i in range(0, n, 2)), Role.BELIEF)
    rules = mine(builder.build())
    measures = {rule.id: (rule.confidence, rule.measures and rule.measures.support) for rule in rules}
    assert measures["p-if-inv-q"] == (1.0, n // 2)
    assert measures["q-if-inv-p"] == (1.0, n // 2)
    assert any("<http://e/p> are left out: they have" in message for message in caplog.messages)


def test_paths_with_too_many_walks_are_left_out_and_named(caplog: pytest.LogCaptureFixture) -> None:
    text = ring(60, ":hub :p :b% . :b% :q :other .")
    assert "p-if-p-q-inv-q" in {
        rule.id for rule in mine(beliefs_of(text), MiningOptions(keep_redundant=True))
    }
    rules = mine(beliefs_of(text), MiningOptions(keep_redundant=True, max_walks=5000))
    assert "p-if-p-q-inv-q" not in {rule.id for rule in rules}
    assert "... / <http://example.org/q> / ^<http://example.org/q> -> <http://example.org/p>" in caplog.text
    assert "--max-walks" in caplog.text


def test_rules_with_too_many_groundings_are_left_out_and_named(caplog: pytest.LogCaptureFixture) -> None:
    text = ring(60, ":hub :p :b% . :b% :q :other .")
    mine(beliefs_of(text), MiningOptions(keep_redundant=True, max_groundings=100))
    assert "^<http://example.org/q> -> <http://example.org/p> is left out" in caplog.text


def test_sentences_are_words_and_cannot_break_out_of_their_line() -> None:
    text = ring(12, ":a% :playsFor :b% ; :memberOf :b% .")
    label = ':playsFor <http://www.w3.org/2000/01/rdf-schema#label> "plays\\nfor \\u001b[31m" .'
    rules = {rule.id: rule.summary for rule in mine(beliefs_of(text + label))}
    assert rules["memberOf-if-playsFor"] == "If x plays for \\x1b[31m y, then x member of y."


@pytest.mark.parametrize(
    "options", [{"max_length": 4}, {"min_support": 0}, {"min_confidence": 1.5}, {"min_head_coverage": -1}]
)
def test_options_out_of_range_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match="choose"):
        MiningOptions(**options)  # type: ignore[arg-type]


def test_an_empty_or_lone_graph_has_no_rules() -> None:
    assert mine(beliefs_of(":a :p :b .")) == []
    assert mine(BeliefsBuilder().build()) == []

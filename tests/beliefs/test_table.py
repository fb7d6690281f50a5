import hashlib
import random
from pathlib import Path

import numpy as np
import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib.compare import isomorphic

from rdf_kgeval.beliefs.builder import BeliefsBuilder
from rdf_kgeval.beliefs.sparql import BeliefStore
from rdf_kgeval.beliefs.table import Beliefs, Role
from rdf_kgeval.beliefs.terms import from_rdflib
from rdf_kgeval.common.memory import Space
from rdf_kgeval.errors import InputError, RunError
from tests.support.strategies import ground_quads, quads


def build(parsed: list[ox.Quad], role: Role = Role.BELIEF, *, datasets: bool = True) -> Beliefs:
    builder = BeliefsBuilder()
    builder.add_parsed(parsed, role, datasets=datasets)
    return builder.build()


def triples(beliefs: Beliefs) -> set[tuple[str, str, str]]:
    return {beliefs.triple(row) for row in range(len(beliefs))}


def assert_same(one: Beliefs, other: Beliefs) -> None:
    assert list(one.terms) == list(other.terms)
    for column in ("s", "p", "o", "role", "graph_row", "graph_term"):
        assert np.array_equal(getattr(one, column), getattr(other, column))


@given(ground_quads)
def test_every_triple_and_graph_comes_back_as_it_was(parsed: list[ox.Quad]) -> None:
    beliefs = build(parsed)
    assert triples(beliefs) == {(str(q.subject), str(q.predicate), str(q.object)) for q in parsed}
    assert len(triples(beliefs)) == len(beliefs)
    rows = {beliefs.triple(row): row for row in range(len(beliefs))}
    expected = {
        (rows[str(q.subject), str(q.predicate), str(q.object)], str(q.graph_name))
        for q in parsed
        if q.graph_name != ox.DefaultGraph()
    }
    found = {(int(r), beliefs.terms[g]) for r, g in zip(beliefs.graph_row, beliefs.graph_term, strict=True)}
    assert found == expected


@given(ground_quads)
def test_the_faster_way_without_graphs_gives_the_same(parsed: list[ox.Quad]) -> None:
    plain = [ox.Quad(q.subject, q.predicate, q.object) for q in parsed]
    assert triples(build(plain, datasets=False)) == triples(build(plain))


@given(ground_quads, st.randoms())
def test_order_does_not_matter(parsed: list[ox.Quad], shuffle: random.Random) -> None:
    one = build(parsed)
    shuffle.shuffle(parsed)
    other = build(parsed)
    assert_same(one, other)


@given(ground_quads)
def test_find_gives_each_row_and_no_other(parsed: list[ox.Quad]) -> None:
    beliefs = build(parsed)
    for row in range(len(beliefs)):
        assert beliefs.find(*beliefs.triple(row)) == row
    for s in beliefs.terms:
        for o in beliefs.terms:
            found = beliefs.find(s, "<http://example.org/a>", o)
            assert (found is not None) == ((s, "<http://example.org/a>", o) in triples(beliefs))


@given(quads)
def test_the_store_holds_the_same_dataset(parsed: list[ox.Quad]) -> None:
    def canonical(quads: object) -> set[ox.Quad]:
        dataset = ox.Dataset(quads)
        dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
        return set(dataset)

    beliefs = build(parsed)
    named = {(q.subject, q.predicate, q.object) for q in parsed if q.graph_name != ox.DefaultGraph()}
    # A triple that stands in a named graph and in the default graph is kept for the named one.
    expected = [
        q
        for q in parsed
        if q.graph_name != ox.DefaultGraph() or (q.subject, q.predicate, q.object) not in named
    ]
    assert canonical(BeliefStore(beliefs).store) == canonical(expected)


def test_id_is_the_sha256_of_the_line() -> None:
    beliefs = build(
        [ox.Quad(ox.NamedNode("http://a"), ox.NamedNode("http://b"), ox.Literal('x"\n', language="en"))]
    )
    line = '<http://a> <http://b> "x\\"\\n"@en .'
    assert beliefs.line(0) == line
    assert beliefs.id(0) == hashlib.sha256(line.encode()).hexdigest()


def test_rows_are_found_by_ids_and_their_beginnings() -> None:
    beliefs = build(
        [ox.Quad(ox.NamedNode(f"http://{i}"), ox.NamedNode("http://b"), ox.Literal("x")) for i in range(50)]
    )
    for row in range(50):
        assert beliefs.row(beliefs.id(row)) == beliefs.row(beliefs.id(row)[:12]) == row
    with pytest.raises(InputError, match="several beliefs have an id that starts with"):
        beliefs.row(next(d for d in "0123456789abcdef" if sum(beliefs.id(r)[0] == d for r in range(50)) > 1))
    with pytest.raises(InputError, match="no belief has an id"):
        beliefs.row("0" * 64)
    with pytest.raises(InputError, match="hexadecimal"):
        beliefs.row("\x1b[31m")


def test_a_triple_with_several_roles_has_the_strongest() -> None:
    triple = ("<http://a>", "<http://b>", "<http://c>", "")
    for roles in ([Role.BELIEF, Role.GIVEN], [Role.GIVEN, Role.BELIEF]):
        builder = BeliefsBuilder()
        for role in roles:
            builder.add([triple], role)
        assert list(builder.build().role) == [Role.GIVEN]


@given(ground_quads)
def test_counts_by_predicate_and_class(parsed: list[ox.Quad]) -> None:
    rdf_type = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
    distinct = {(q.subject, q.predicate, q.object) for q in parsed}
    distinct |= {(s, rdf_type, ox.NamedNode("http://example.org/C")) for s, _, _ in distinct}
    beliefs = build([ox.Quad(*t) for t in distinct])
    for predicate, count in beliefs.by_predicate().items():
        assert count == sum(p.value == predicate for _, p, _ in distinct)
    assert sum(beliefs.by_predicate().values()) == len(distinct)
    assert beliefs.by_class().get("http://example.org/C", 0) == len({s for s, _, _ in distinct})


@given(ground_quads)
def test_saved_and_loaded_alike(tmp_path_factory: pytest.TempPathFactory, parsed: list[ox.Quad]) -> None:
    folder = tmp_path_factory.mktemp("save") / "beliefs"
    beliefs = build(parsed)
    beliefs.save(folder)
    loaded = Beliefs.load(folder)
    assert list(loaded.quads()) == list(beliefs.quads())
    assert np.array_equal(loaded.role, beliefs.role)


def test_damaged_files_are_one_sentence(tmp_path: Path) -> None:
    build([ox.Quad(ox.NamedNode("http://a"), ox.NamedNode("http://b"), ox.Literal("x"))]).save(tmp_path / "b")
    (tmp_path / "b" / "s.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(RunError, match="damaged"):
        Beliefs.load(tmp_path / "b")


def test_columns_are_read_only() -> None:
    beliefs = build([ox.Quad(ox.NamedNode("http://a"), ox.NamedNode("http://b"), ox.Literal("x"))])
    with pytest.raises(ValueError, match="read-only"):
        beliefs.s[0] = 1


def test_no_quads_at_all() -> None:
    beliefs = build([])
    assert len(beliefs) == beliefs.n_beliefs == 0
    assert beliefs.by_predicate() == beliefs.by_class() == {}
    assert beliefs.find("<http://a>", "<http://a>", "<http://a>") is None


def test_an_rdflib_graph_comes_over_whole() -> None:
    graph = rdflib.Graph()
    graph.parse(
        data="""@prefix : <http://example.org/> .
        :a :p "x"@en-US , 1 , 1.50 , "a\\"b\\\\c\\n\\u001b" , [ :q _:n ] . _:n :r true .""",
        format="turtle",
    )
    back = rdflib.Graph()
    for _, (s, p, o, _) in build(list(from_rdflib(graph))).quads():
        back.parse(data=f"{s} {p} {o} .", format="nt")
    lower = rdflib.Graph()
    for s, p, o in graph:
        lower.add((s, p, rdflib.Literal(o, lang=o.language.lower()) if getattr(o, "language", None) else o))
    # Parsing line by line makes new blank nodes for each, so compare what has none.
    ground = {t for t in back if not any(isinstance(x, rdflib.BNode) for x in t)}
    assert ground == {t for t in lower if not any(isinstance(x, rdflib.BNode) for x in t)}
    assert len(back) == len(lower)


def test_an_rdflib_dataset_keeps_its_graphs() -> None:
    dataset = rdflib.Dataset()
    node = rdflib.URIRef("http://example.org/a")
    dataset.add((node, node, node, rdflib.URIRef("http://example.org/g")))
    dataset.default_graph.add((node, node, rdflib.Literal("x")))
    found = {quad for _, quad in build(list(from_rdflib(dataset))).quads()}
    a = "<http://example.org/a>"
    assert found == {(a, a, a, "<http://example.org/g>"), (a, a, '"x"', "")}


def test_named_blank_nodes_are_isomorphic_to_the_original() -> None:
    text = (
        "@prefix : <http://example.org/> . _:x :p _:y . _:y :p _:x . _:z :p _:z . :a :q _:x , _:z , [] , [] ."
    )
    beliefs = build(list(ox.parse(text, format=ox.RdfFormat.TURTLE)))
    lines = "\n".join(beliefs.line(row) for row in range(len(beliefs)))
    assert isomorphic(
        rdflib.Graph().parse(data=lines, format="nt"), rdflib.Graph().parse(data=text, format="turtle")
    )


@given(parsed=st.one_of(ground_quads, quads))
def test_rows_are_the_same_whether_or_not_a_key_holds_them(parsed: list[ox.Quad]) -> None:
    usual = build(parsed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rdf_kgeval.beliefs.builder._KEY_BITS", 2)
        assert_same(build(parsed), usual)


@settings(max_examples=50)
@given(parsed=st.lists(quads, min_size=1, max_size=4), limit=st.sampled_from([8, 2_000, 100_000]))
def test_runs_on_disk_are_merged_into_the_same_beliefs(parsed: list[list[ox.Quad]], limit: int) -> None:
    usual, spilt = BeliefsBuilder(), BeliefsBuilder(Space(limit))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rdf_kgeval.beliefs.builder._WINDOW", 2)
        for number, part in enumerate(parsed):
            for builder in (usual, spilt):
                builder.add_parsed(part, Role(number % 4))
        assert len(usual) == len(spilt)
        assert_same(spilt.build(), usual.build())

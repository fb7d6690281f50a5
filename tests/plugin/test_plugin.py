"""The rdflib plugin as a user of rdflib meets it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import rdflib
from rdflib import Graph, Literal, Namespace, URIRef
from rdflib.plugins.sparql import prepareQuery
from rdflib.plugins.sparql.operators import register_custom_function, unregister_custom_function
from rdflib.plugins.stores.memory import Memory

import rdf_kgeval
from rdf_kgeval.errors import InputError
from rdf_kgeval.pipeline import Evaluation
from rdf_kgeval.plugin import lookup
from rdf_kgeval.plugin.store import KGEvalStore
from rdf_kgeval.publishing.rdf import Annotations, Form, RecordOptions, to_rdf, write_record
from tests.support.records import EX, EXAMPLE, hostile, motivating

pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")

X = Namespace(EX)
PREFIXES = f"PREFIX kge: <https://w3id.org/rdf-kgeval#> PREFIX : <{EX}> "
LABELS = (
    PREFIXES
    + "SELECT ?s ?p ?o (kge:label(?s, ?p, ?o) AS ?label) (kge:truth(?s, ?p, ?o) AS ?truth) WHERE { ?s ?p ?o }"
)


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return motivating()


@pytest.fixture(autouse=True)
def _nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "registered", None)


def check_labels(graph: Graph, evaluation: Evaluation) -> None:
    beliefs = evaluation.graph.beliefs
    found = {(f"<{s}>", f"<{p}>", f"<{o}>"): (label, truth) for s, p, o, label, truth in graph.query(LABELS)}
    for row, label in zip(beliefs.rows.tolist(), evaluation.label().tolist(), strict=True):
        own = found[beliefs.triple(row)]
        assert own[0] == Literal(bool(label))
        assert float(own[1]) == round(float(evaluation.inference.x[row]), 4)


@pytest.mark.parametrize("form", [Form.REIFICATION, Form.NAMED_GRAPHS])
def test_functions_over_a_record_in_the_queried_dataset(form: Form, evaluation: Evaluation) -> None:
    dataset = to_rdf(evaluation, RecordOptions(form=form))
    dataset.graph(URIRef(EX + "kg")).parse(EXAMPLE / "kg.ttl")
    check_labels(dataset, evaluation)
    rows = list(
        dataset.query(PREFIXES + "SELECT (kge:accuracy(:cityInState) AS ?a) (kge:accuracy() AS ?b) {}")
    )
    assert [tuple(map(float, row)) for row in rows] == [(0.0, 0.75)]


@pytest.mark.parametrize(
    ("form", "suffix"),
    [
        (Form.REIFICATION, "trig"),
        (Form.REIFICATION, "jsonld"),
        (Form.NAMED_GRAPHS, "nq"),
        (Form.NAMED_GRAPHS, "jsonld"),
        (Form.TRIPLE_TERMS, "trig"),
        (Form.TRIPLE_TERMS, "nt"),
    ],
)
def test_functions_over_a_loaded_record(
    form: Form, suffix: str, evaluation: Evaluation, tmp_path: Path
) -> None:
    write_record(evaluation, tmp_path / f"r.{suffix}", RecordOptions(form=form))
    graph = Graph().parse(EXAMPLE / "kg.ttl")
    assert all(row.label is None for row in graph.query(LABELS))
    rdf_kgeval.register(tmp_path / f"r.{suffix}")
    check_labels(graph, evaluation)
    (row,) = graph.query(PREFIXES + "SELECT (kge:accuracy(:cityInState) AS ?a) (kge:accuracy() AS ?b) {}")
    assert tuple(map(float, row)) == (0.0, 0.75)


def test_functions_in_filters(evaluation: Evaluation, tmp_path: Path) -> None:
    write_record(evaluation, tmp_path / "r.ttl")
    rdf_kgeval.register(tmp_path / "r.ttl")
    graph = Graph().parse(EXAMPLE / "kg.ttl")
    wrong = graph.query(PREFIXES + "SELECT ?s { ?s ?p ?o FILTER(!kge:label(?s, ?p, ?o)) }")
    assert {row.s for row in wrong} == {X.Detroit, X.TajMahal}
    sure = graph.query(PREFIXES + "SELECT ?s { ?s ?p ?o FILTER(kge:truth(?s, ?p, ?o) > 0.95) }")
    assert len(list(sure)) == 5


@pytest.mark.parametrize(
    "call", ["kge:truth(?nowhere, :b, :c)", 'kge:accuracy("x")', "kge:label(1/0, :b, :c)"]
)
def test_a_call_without_a_value_does_not_abort_the_query(call: str) -> None:
    graph = Graph().parse(EXAMPLE / "kg.ttl")
    rows = list(graph.query(PREFIXES + f"SELECT ?s ({call} AS ?value) WHERE {{ ?s ?p ?o }}"))
    assert len(rows) == 8
    assert all(row.value is None for row in rows)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("kge:labl(?s, ?p, ?o)", "there is no SPARQL function kge:labl; did you mean kge:label?"),
        ("kge:acuracy()", "did you mean kge:accuracy?"),
        ("kge:Label(?s, ?p, ?o)", "did you mean kge:label?"),
        ("kge:source(?s)", "there are kge:label, kge:truth, kge:accuracy"),
        ("kge:label(?s, ?p)", "kge:label takes 3 arguments, and the query gives it 2; write kge:label("),
        ("kge:truth()", "kge:truth takes 3 arguments, and the query gives it 0"),
        ("kge:accuracy(?s, ?p)", "kge:accuracy takes 0 or 1 arguments, and the query gives it 2"),
    ],
)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT (%s AS ?x) { ?s ?p ?o }",
        "SELECT * { ?s ?p ?o FILTER(!%s) }",
        "SELECT * { ?s ?p ?o OPTIONAL { ?o ?q ?r FILTER(%s > 0.5) } }",
        "SELECT (SUM(%s) AS ?n) { ?s ?p ?o }",
        "SELECT * { ?s ?p ?o } ORDER BY %s",
        "SELECT * { ?s ?p ?o { SELECT ?s (%s AS ?x) { ?s ?p ?o } } }",
        "ASK { ?s ?p ?o FILTER(%s) }",
        "CONSTRUCT { ?s ?p ?x } { ?s ?p ?o BIND(%s AS ?x) }",
    ],
)
def test_a_misspelt_or_incomplete_call_is_an_error_of_the_query(query: str, call: str, message: str) -> None:
    for graph in (Graph().parse(EXAMPLE / "kg.ttl"), Graph()):
        for _ in range(2):
            with pytest.raises(InputError, match=re.escape(message)):
                graph.query(PREFIXES + query % call)


def test_a_prepared_query_with_a_misspelt_call_fails_whenever_it_is_asked() -> None:
    prepared = prepareQuery(PREFIXES + "SELECT * { ?s ?p ?o FILTER(kge:labl(?s, ?p, ?o)) }")
    for _ in range(2):
        with pytest.raises(InputError, match="did you mean kge:label"):
            Graph().query(prepared)


def test_an_update_with_a_misspelt_call_changes_nothing() -> None:
    graph = Graph().parse(EXAMPLE / "kg.ttl")
    with pytest.raises(InputError, match="did you mean kge:label"):
        graph.update(PREFIXES + "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o FILTER(!kge:labl(?s, ?p, ?o)) }")
    assert len(graph) == 8


def test_functions_of_others_and_terms_of_ours_are_let_be() -> None:
    graph = Graph().parse(EXAMPLE / "kg.ttl")
    own = URIRef("https://w3id.org/rdf-kgeval#mine")
    register_custom_function(own, lambda x: Literal(1))
    try:
        assert [
            int(row.x)
            for row in graph.query("PREFIX kge: <https://w3id.org/rdf-kgeval#> SELECT (kge:mine(1) AS ?x) {}")
        ] == [1]
    finally:
        unregister_custom_function(own)
    assert list(graph.query(PREFIXES + "SELECT * { ?s kge:labl ?o }")) == []
    rows = graph.query("PREFIX x: <http://example.org/> SELECT ?s (x:labl(?s) AS ?y) { ?s ?p ?o }")
    assert [row.y for row in rows] == [None] * 8


def test_hostile_literals_are_found_again(tmp_path: Path) -> None:
    evaluation = hostile(tmp_path)
    write_record(evaluation, tmp_path / "r.nq", RecordOptions(annotations=Annotations.ALL))
    rdf_kgeval.register(tmp_path / "r.nq")
    graph = Graph().parse(tmp_path / "kg.ttl")
    rows = list(graph.query(LABELS))
    assert len(rows) == evaluation.graph.n_beliefs
    assert all(row.truth is not None for row in rows)
    labels = {(str(row.s), str(row.o)): row.label for row in rows}
    assert labels[EX + "anna", EX + "Paris"] == Literal(False)
    assert labels[EX + "emil", EX + "dora"] is None, "an unknown label has no value"


def test_the_store_shows_what_is_believed(evaluation: Evaluation, tmp_path: Path) -> None:
    write_record(evaluation, tmp_path / "r.trig")
    graph = Graph(store="KGEval")
    assert isinstance(graph.store, KGEvalStore)
    graph.open(str(tmp_path / "r.trig"))
    graph.parse(EXAMPLE / "kg.ttl")
    graph.add((X.RedWings, X.nickname, Literal("wings")))
    assert len(graph) == 6
    assert (X.Detroit, X.cityInState, X.TajMahal) not in graph
    assert (X.RedWings, X.nickname, Literal("wings")) not in graph
    assert len(list(graph.query("SELECT * { ?s ?p ?o }"))) == 6
    graph.store.confidence = 0.95
    assert len(graph) == 5
    graph.store.unknown = True
    assert (X.RedWings, X.nickname, Literal("wings")) in graph
    graph.store.confidence = 0.0
    assert len(graph) == 9
    assert "ex:" in graph.serialize() or ":RedWings" in graph.serialize()


def test_the_store_delegates_the_rest(evaluation: Evaluation) -> None:
    inner = Memory()
    store = KGEvalStore(store=inner, unknown=True)
    dataset = rdflib.Dataset(store=store)
    dataset.bind("ex", EX)
    assert dict(inner.namespaces())["ex"] == URIRef(EX)
    assert store.namespace("ex") == URIRef(EX)
    assert store.prefix(URIRef(EX)) == "ex"
    named = dataset.graph(X.g)
    named.add((X.a, X.b, X.c))
    assert {g.identifier for g in dataset.graphs()} >= {X.g}
    assert len(named) == 1
    assert [q[3] for q in dataset.quads((X.a, X.b, X.c, None))] == [X.g]
    named.remove((X.a, X.b, X.c))
    assert len(inner) == 0
    dataset.remove_graph(X.g)
    assert X.g not in {g.identifier for g in dataset.graphs()}
    assert (store.context_aware, store.graph_aware) == (inner.context_aware, inner.graph_aware)


def test_the_store_finds_a_record_that_it_holds(evaluation: Evaluation) -> None:
    inner = Memory()
    everything = rdflib.Dataset(store=inner)
    for s, p, o, _ in to_rdf(evaluation).quads():
        everything.graph(X.record).add((s, p, o))
    everything.graph(X.kg).parse(EXAMPLE / "kg.ttl")
    believed = rdflib.Dataset(store=KGEvalStore(store=inner), default_union=True)
    assert len(list(believed.triples((None, None, None)))) == 6
    assert len(list(believed.query(PREFIXES + "SELECT * { ?s ?p ?o FILTER(kge:label(?s, ?p, ?o)) }"))) == 6


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("record.trig", b"<a", "is not a whole record"),
        ("record.jsonld", b"[1", "is not a whole record"),
        (
            "record.rdf",
            b'<!DOCTYPE a [<!ENTITY b "c">]><a/>',
            "has no suffix of a record; name it one of .trig",
        ),
        ("record.nt", None, "cannot be read"),
    ],
)
def test_a_file_that_is_no_record_is_refused_in_a_sentence(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        rdf_kgeval.register(tmp_path / name)
    with pytest.raises(InputError, match=message):
        rdflib.Graph(store="KGEval").open(str(tmp_path / name))


def test_a_truth_that_is_no_number_is_believed_by_nobody() -> None:
    believed = rdflib.Dataset(store=KGEvalStore(store=Memory()))
    node, kge = rdflib.BNode(), rdflib.Namespace("https://w3id.org/rdf-kgeval#")
    believed.add((X.a, X.b, X.c))
    for p, o in ((rdflib.RDF.subject, X.a), (rdflib.RDF.predicate, X.b), (rdflib.RDF.object, X.c)):
        believed.add((node, p, o))
    believed.add((X.n, rdflib.URIRef("http://www.w3.org/ns/oa#hasTarget"), node))
    believed.add((X.n, kge.truth, rdflib.Literal("high")))
    assert (X.a, X.b, X.c) not in believed


def test_a_record_of_an_earlier_release_is_read() -> None:
    rdf_kgeval.register(Path(__file__).with_name("record-before.trig"))
    graph = Graph().parse(EXAMPLE / "kg.ttl")
    wrong = graph.query(PREFIXES + "SELECT ?s { ?s ?p ?o FILTER(!kge:label(?s, ?p, ?o)) }")
    assert {row.s for row in wrong} == {X.Detroit, X.TajMahal}
    (row,) = graph.query(PREFIXES + "SELECT (kge:accuracy(:cityInState) AS ?a) (kge:accuracy() AS ?b) {}")
    assert tuple(map(float, row)) == (0.0, 0.75)


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


QUERY = "import rdflib, sys; print(len(list(rdflib.Graph().query('SELECT * { BIND(1 AS ?x) }'))))"


def test_the_hook_is_found_and_loads_nothing_heavy() -> None:
    code = (
        f"{QUERY}; from rdflib.plugins.sparql import CUSTOM_EVALS; print(sorted(CUSTOM_EVALS));"
        "print([m for m in ('numpy', 'numba', 'duckdb', 'pyoxigraph', 'typer') if m in sys.modules])"
    )
    assert run(code).split("\n") == ["1", "['kgeval']", "[]"]


@pytest.mark.parametrize(
    "broken", ["rdf_kgeval.plugin.lookup", "rdflib.plugins.sparql.operators.register_custom_function"]
)
def test_what_is_broken_in_the_package_does_not_break_queries(broken: str) -> None:
    if broken == "rdf_kgeval.plugin.lookup":
        code = f"import sys; sys.modules[{broken!r}] = None; {QUERY}"
    else:
        code = (
            "import rdflib.plugins.sparql.operators as o\n"
            "def fail(*a, **k): raise RuntimeError('broken')\n"
            f"o.register_custom_function = fail\n{QUERY}"
        )
    assert run(code) == "1"


def test_a_call_into_a_broken_package_has_no_value() -> None:
    query = "SELECT ?s (<https://w3id.org/rdf-kgeval#label>(?s, <x:b>, <x:c>) AS ?x) { VALUES ?s { <x:a> } }"
    code = (
        "import sys; sys.modules['rdf_kgeval.plugin.lookup'] = None; import rdflib\n"
        f"print([row.x for row in rdflib.Graph().query({query!r})])"
    )
    assert run(code) == "[None]"


@pytest.mark.parametrize("absent", ["rdf_kgeval.errors", "rdf_kgeval.common.text", "difflib"])
def test_a_misspelt_call_into_a_broken_package_has_no_value(absent: str) -> None:
    query = "SELECT ?s (<https://w3id.org/rdf-kgeval#labl>(?s, <x:b>, <x:c>) AS ?x) { VALUES ?s { <x:a> } }"
    code = (
        f"import rdflib.plugins.sparql, sys; sys.modules[{absent!r}] = None; import rdflib\n"
        f"print([row.x for row in rdflib.Graph().query({query!r})])"
    )
    assert run(code) == "[None]"

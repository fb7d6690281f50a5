"""Published records: what they hold, that they conform, and that nothing in a graph can break them."""

import hashlib
import json
import re
import uuid
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pyoxigraph as ox
import pyshacl
import pytest
import rdflib
from rdflib import RDF, Literal, URIRef
from rdflib.namespace import DCAT, DCTERMS, RDFS, SKOS, XSD

import rdf_kgeval as kgeval
from rdf_kgeval.beliefs.terms import to_rdflib
from rdf_kgeval.errors import InputError
from rdf_kgeval.namespaces import DQV, KGE, OA, PROV, RECORD_SUFFIXES, VOID
from rdf_kgeval.pipeline import Evaluation
from rdf_kgeval.publishing.rdf import (
    Annotations,
    Form,
    RecordOptions,
    lines_of,
    make_record,
    to_rdf,
    write_record,
)
from rdf_kgeval.publishing.report.content import gather
from rdf_kgeval.publishing.report.page import json_ld
from rdf_kgeval.runs.config import ONTOLOGY, InputFile, RunConfig, ScopeConfig
from rdf_kgeval.sources.files import FORMATS
from rdf_kgeval.verdicts.log import Answer, Retraction, Verdict
from tests.support.records import EX, HOSTILE, NELL, QUERIES, ROOT, hostile, motivating

SHAPES = ROOT / "ontologies" / "kgeval-shapes.ttl"
pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")
P = "PREFIX kge: <https://w3id.org/rdf-kgeval#> PREFIX dqv: <http://www.w3.org/ns/dqv#> "


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return motivating()


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    return hostile(tmp_path_factory.mktemp("hostile"))


def flat(dataset: rdflib.Dataset) -> rdflib.Graph:
    graph = rdflib.Graph()
    for triple in dataset.triples((None, None, None)):
        graph.add(triple)
    return graph


def conforms(graph: rdflib.Graph) -> tuple[bool, str]:
    found, _, text = pyshacl.validate(graph, shacl_graph=str(SHAPES), advanced=True)
    return bool(found), text


def test_a_record_conforms_to_the_shapes(evaluation: Evaluation, attacked: Evaluation) -> None:
    for each in (evaluation, attacked):
        found, text = conforms(flat(to_rdf(each)))
        assert found, text


@pytest.mark.skipif(not NELL.exists(), reason="the nell-sports set is not on this machine")
def test_a_record_of_nell_conforms_and_loads_whole() -> None:
    beliefs = kgeval.read_beliefs(NELL / "beliefs.nt", context_unknown=[NELL / "types.nt"])
    graph = kgeval.couple(beliefs, kgeval.read_ontology(NELL / "ontology.ttl"))
    evaluation = kgeval.evaluate(graph, oracle=kgeval.GoldOracle(NELL / "gold.csv"), seed=3)
    dataset = to_rdf(evaluation)
    assert len(dataset) == sum(chunk.count("\n") for chunk in lines_of(make_record(evaluation)))
    found, text = conforms(flat(dataset))
    assert found, text
    targets = set(dataset.objects(None, URIRef(OA + "hasTarget")))
    assert beliefs.n_beliefs == 1860
    assert len(targets) == int((evaluation.label() >= 0).sum())


CORRUPTIONS: dict[str, Callable[[rdflib.Graph], None]] = {}


def corruption(change: Callable[[rdflib.Graph], None]) -> Callable[[rdflib.Graph], None]:
    CORRUPTIONS[change.__name__] = change
    return change


def one(graph: rdflib.Graph, predicate: str, value: rdflib.term.Node | None = None) -> rdflib.term.Node:
    return min(graph.subjects(URIRef(predicate), value))


def put(graph: rdflib.Graph, predicate: str, value: rdflib.term.Node | None) -> None:
    """Give the first subject of a predicate another value for it, or none."""
    subject = one(graph, predicate)
    graph.remove((subject, URIRef(predicate), None))
    if value is not None:
        graph.add((subject, URIRef(predicate), value))


@corruption
def an_accuracy_above_one(graph: rdflib.Graph) -> None:
    put(graph, DQV + "value", Literal("1.5", datatype=XSD.decimal))


@corruption
def an_accuracy_that_is_no_number(graph: rdflib.Graph) -> None:
    put(graph, DQV + "value", Literal("high"))


@corruption
def a_lower_end_without_an_upper_one(graph: rdflib.Graph) -> None:
    graph.add((one(graph, DQV + "value"), URIRef(KGE + "lower"), Literal("0.1", datatype=XSD.decimal)))


@corruption
def an_interval_upside_down(graph: rdflib.Graph) -> None:
    for name, value in (("lower", "0.9"), ("upper", "0.1"), ("level", "0.95")):
        graph.add((one(graph, DQV + "value"), URIRef(KGE + name), Literal(value, datatype=XSD.decimal)))


@corruption
def a_sample_larger_than_the_population(graph: rdflib.Graph) -> None:
    put(graph, KGE + "sampleSize", Literal(10**6))


@corruption
def a_label_that_is_none(graph: rdflib.Graph) -> None:
    put(graph, KGE + "label", URIRef(KGE + "Perhaps"))


@corruption
def a_soft_truth_against_the_label(graph: rdflib.Graph) -> None:
    subject = one(graph, KGE + "label", URIRef(KGE + "True"))
    graph.set((subject, URIRef(KGE + "truth"), Literal("0.01", datatype=XSD.decimal)))


@corruption
def an_inference_without_evidence(graph: rdflib.Graph) -> None:
    graph.remove((one(graph, KGE + "source", URIRef(KGE + "Inferred")), URIRef(KGE + "evidence"), None))


@corruption
def a_human_label_without_an_annotator(graph: rdflib.Graph) -> None:
    graph.remove((one(graph, KGE + "source", URIRef(KGE + "Human")), URIRef(PROV + "wasAttributedTo"), None))


@corruption
def a_statement_without_an_object(graph: rdflib.Graph) -> None:
    put(graph, str(RDF.object), None)


@corruption
def an_annotation_of_nothing(graph: rdflib.Graph) -> None:
    put(graph, OA + "hasTarget", URIRef(EX + "nothing"))


@corruption
def an_evaluation_by_nobody(graph: rdflib.Graph) -> None:
    graph.remove((None, URIRef(PROV + "wasAssociatedWith"), None))


@corruption
def an_input_without_a_digest(graph: rdflib.Graph) -> None:
    put(graph, KGE + "sha256", None)


@corruption
def a_predicate_left_out(graph: rdflib.Graph) -> None:
    partition = one(graph, VOID + "property")
    graph.remove((partition, None, None))
    graph.remove((None, None, partition))


@corruption
def a_rule_that_held_more_often_than_tested(graph: rdflib.Graph) -> None:
    put(graph, KGE + "held", Literal("99.0", datatype=XSD.decimal))


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_a_corrupted_record_does_not_conform(name: str, evaluation: Evaluation) -> None:
    graph = flat(to_rdf(evaluation))
    before = set(graph)
    CORRUPTIONS[name](graph)
    assert set(graph) != before
    assert not conforms(graph)[0]


def test_measurements_are_what_estimate_says(evaluation: Evaluation) -> None:
    result = evaluation.to_json()
    dataset = to_rdf(evaluation)
    rows = dataset.query(
        P + "PREFIX void: <http://rdfs.org/ns/void#> SELECT ?p ?value ?n ?asked ?inferred WHERE { "
        "?d dqv:hasQualityMeasurement ?m . ?m dqv:value ?value ; kge:population ?n ; kge:sampleSize ?asked ; "
        "kge:inferred ?inferred OPTIONAL { ?d void:property ?p } }"
    )
    found = {str(p) if p else None: (float(v), int(n), int(a), int(i)) for p, v, n, a, i in rows}
    expected = {None: result, **result["by_predicate"]}
    assert found == {
        p: (entry["accuracy"], entry["beliefs"], entry["asked"], entry["inferred"])
        for p, entry in expected.items()
    }


def test_intervals_are_published_as_estimated() -> None:
    evaluation = motivating(policy="stratified")
    dataset = to_rdf(evaluation)
    whole = next(dataset.subjects(URIRef(VOID + "propertyPartition"), None))
    measurement = dataset.value(whole, URIRef(DQV + "hasQualityMeasurement"))
    ends = tuple(float(dataset.value(measurement, URIRef(KGE + end))) for end in ("lower", "upper"))
    assert ends == evaluation.interval
    assert not list(to_rdf(motivating()).objects(None, URIRef(KGE + "lower"))), "greedy carries no interval"


def test_a_running_interval_is_not_published_where_it_may_not_be_shown() -> None:
    running = Evaluation(motivating().graph)
    request = running.next(1)[0]
    running.answer(request, kgeval.verdicts.log.Answer.TRUE, "me")
    assert running.stopped is None
    assert running.interval is None
    assert "#lower>" not in "".join(lines_of(make_record(running)))


def labels(graph: rdflib.Graph) -> dict[tuple[str, ...], tuple[str, float, str]]:
    rows = graph.query(
        P
        + "PREFIX oa: <http://www.w3.org/ns/oa#> SELECT ?s ?p ?o ?label ?truth ?source WHERE { ?a kge:label ?label ; "
        "kge:truth ?truth ; oa:hasTarget ?t . OPTIONAL { ?a kge:source ?source } "
        "?t rdf:subject ?s ; rdf:predicate ?p ; rdf:object ?o }"
    )
    return {
        (str(s), str(p), str(o)): (str(x).rpartition("#")[2], float(t), str(w).rpartition("#")[2])
        for s, p, o, x, t, w in rows
    }


def test_annotations_are_the_labels(evaluation: Evaluation) -> None:
    found = labels(to_rdf(evaluation))
    beliefs, inference = evaluation.graph.beliefs, evaluation.inference
    assert len(found) == beliefs.n_beliefs
    for row, label in zip(beliefs.rows.tolist(), inference.label().tolist(), strict=True):
        s, p, o = (term[1:-1] for term in beliefs.triple(row))
        source = "Human" if row in inference.verdicts else "Inferred"
        assert found[s, p, o] == (["False", "True"][label], round(float(inference.x[row]), 4), source)


def test_votes_and_disputes(attacked: Evaluation) -> None:
    graph = to_rdf(attacked, RecordOptions(annotations=Annotations.ALL))
    rows = graph.query((ROOT / "queries" / "report" / "disputed.rq").read_text())
    assert [(str(s), int(t), int(f), int(a)) for s, _, _, t, f, a in rows] == [(EX + "carl", 1, 1, 0)]
    found = labels(graph)
    assert found[EX + "carl", EX + "playsFor", EX + "Milan"][2] == "None"
    assert found[EX + "anna", EX + "bornIn", EX + "Paris"][0] == "False"
    assert found[EX + "emil", EX + "knows", EX + "dora"] == ("Unknown", 0.7, "None")


def test_a_retracted_verdict_is_gone(tmp_path: Path) -> None:
    evaluation = hostile(tmp_path)
    first = evaluation.records[0]
    before = "".join(lines_of(make_record(evaluation)))
    evaluation.record(Retraction(retract=first.belief, annotator=first.annotator, time=first.time))
    after = "".join(lines_of(make_record(evaluation)))
    assert (before.count("votesTrue"), after.count("votesTrue")) == (11, 10)


def test_every_question_has_an_answer(attacked: Evaluation) -> None:
    dataset = to_rdf(attacked)
    assert len(QUERIES) == 14
    for path in QUERIES:
        text = path.read_text()
        assert re.match(r"#\+ id: (.+)\n#\+ summary: .+\n", text)[1] == path.stem
        assert len(list(dataset.query(text))) > 0, path.stem


def test_contradictions_name_both_sides(attacked: Evaluation) -> None:
    rows = to_rdf(attacked).query((ROOT / "queries" / "report" / "contradictions.rq").read_text())
    found = {
        (str(s).rpartition("/")[2], str(o).rpartition("/")[2], str(b).rpartition("/")[2])
        for s, _, o, _, _, _, b in rows
    }
    assert found == {("anna", "Rome", "Paris"), ("bob", "Inter", "Athlete")}


def test_the_plugin_reads_what_is_written() -> None:
    assert set(RECORD_SUFFIXES) < FORMATS.keys()


@pytest.mark.parametrize("suffix", RECORD_SUFFIXES)
def test_all_formats_hold_the_same_and_publishing_twice_gives_the_same_bytes(
    suffix: str, attacked: Evaluation, tmp_path: Path
) -> None:
    paths = [tmp_path / f"{k}{suffix}" for k in range(2)]
    for path in paths:
        write_record(attacked, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert sorted(tmp_path.iterdir()) == paths
    quads = list(ox.parse(path=str(paths[0])))
    expected = list(ox.parse("".join(lines_of(make_record(attacked))), format=ox.RdfFormat.N_QUADS))
    assert len(quads) == len(set(quads)) == len(expected)
    assert {quad.triple for quad in quads} == {quad.triple for quad in expected}
    assert len({quad.graph_name for quad in quads}) == 1
    (count,) = [
        q.object.value
        for q in quads
        if q.predicate.value == VOID + "triples" and q.subject.value == make_record(attacked).graph[1:-1]
    ]
    assert int(count) == len(quads)


def test_a_log_that_is_read_again_gives_the_same_bytes(attacked: Evaluation) -> None:
    again = Evaluation(attacked.graph, attacked.settings, attacked.records)
    assert list(lines_of(make_record(again))) == list(lines_of(make_record(attacked)))


def test_names_do_not_change_with_more_verdicts(tmp_path: Path) -> None:
    few, many = (make_record(hostile(tmp_path, verdicts=n)) for n in (1, 6))
    assert few.graph == many.graph
    assert few.verdicts_digest != many.verdicts_digest
    other = make_record(motivating())
    assert other.graph != few.graph


def test_the_statements_of_a_hostile_graph_come_back_unchanged(attacked: Evaluation) -> None:
    quads = ox.parse("".join(lines_of(make_record(attacked))), format=ox.RdfFormat.N_QUADS)
    objects = {str(q.object) for q in quads if q.predicate.value == str(RDF.object)}
    given = {
        str(q.object)
        for q in ox.parse("".join(f"<x:> <x:> {text} .\n" for text in HOSTILE), format=ox.RdfFormat.N_TRIPLES)
    }
    assert given <= objects


def statements(store: ox.Store, query: str) -> int:
    """How many different rows a query gives; its result must not outlive the thread in a traceback."""
    return len({tuple(map(str, row)) for row in store.query(query, use_default_graph_as_union=True)})


def test_named_graphs_hold_the_statements(attacked: Evaluation, tmp_path: Path) -> None:
    options = RecordOptions(form=Form.NAMED_GRAPHS, annotations=Annotations.ALL)
    write_record(attacked, tmp_path / "r.trig", options)
    store = ox.Store()
    store.bulk_load(path=str(tmp_path / "r.trig"))
    assert (
        statements(
            store,
            "PREFIX oa: <http://www.w3.org/ns/oa#> SELECT ?s ?p ?o WHERE { GRAPH ?r { ?a oa:hasTarget ?t } GRAPH ?t { ?s ?p ?o } }",
        )
        == attacked.graph.n_beliefs
    )
    found, text = conforms(flat(to_rdf(attacked, options)))
    assert found, text
    with pytest.raises(InputError, match=r"write \.trig, \.nq or \.jsonld"):
        write_record(attacked, tmp_path / "r.ttl", options)
    assert not (tmp_path / "r.ttl").exists()


@pytest.mark.parametrize("name", ["trig", "ttl", "nq"])
def test_triple_terms_are_reified(name: str, attacked: Evaluation, tmp_path: Path) -> None:
    write_record(
        attacked, tmp_path / f"r.{name}", RecordOptions(form=Form.TRIPLE_TERMS, annotations=Annotations.ALL)
    )
    store = ox.Store()
    store.bulk_load(path=str(tmp_path / f"r.{name}"))
    assert (
        statements(
            store,
            "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> PREFIX oa: <http://www.w3.org/ns/oa#> "
            "SELECT ?s ?p ?o WHERE { ?a oa:hasTarget ?t . ?t rdf:reifies <<( ?s ?p ?o )>> }",
        )
        == attacked.graph.n_beliefs
    )
    assert "<<" in (tmp_path / f"r.{name}").read_text()
    with pytest.raises(InputError, match="JSON-LD has no triple terms"):
        write_record(attacked, tmp_path / "r.jsonld", RecordOptions(form=Form.TRIPLE_TERMS))
    with pytest.raises(InputError, match="rdflib knows no triple terms"):
        to_rdf(attacked, RecordOptions(form=Form.TRIPLE_TERMS))


def annotated(evaluation: Evaluation, options: RecordOptions | None = None) -> Counter[str]:
    lines = "".join(lines_of(make_record(evaluation, options))).splitlines()
    return Counter(line.split()[2].rpartition("#")[2] for line in lines if f"<{KGE}label>" in line)


def test_which_beliefs_are_annotated(attacked: Evaluation) -> None:
    found = {which: annotated(attacked, RecordOptions(annotations=which)) for which in Annotations}
    assert found[Annotations.KNOWN] == annotated(attacked) == {"True>": 3, "False>": 8, "Unknown>": 1}
    assert found[Annotations.ASKED] == {"True>": 3, "False>": 7, "Unknown>": 1}
    assert found[Annotations.WRONG] == {"False>": 8}
    assert sum(found[Annotations.ALL].values()) == attacked.graph.n_beliefs == 13


def test_a_record_is_as_large_as_what_is_known(tmp_path: Path) -> None:
    lines = "".join(f"<{EX}s{i}> <{EX}p> <{EX}o{i}> .\n" for i in range(500))
    (tmp_path / "kg.nt").write_text(lines)
    evaluation = Evaluation(kgeval.couple(kgeval.read_beliefs(tmp_path / "kg.nt"), []))
    empty = len(list(ox.parse("".join(lines_of(make_record(evaluation))), format=ox.RdfFormat.N_QUADS)))
    evaluation.answer(evaluation.next(1)[0], kgeval.verdicts.log.Answer.TRUE, "me")
    assert annotated(evaluation) == {"True>": 1}
    assert "".join(lines_of(make_record(evaluation))).count("\n") < empty + 60


def test_statements_that_evidence_names_are_described(attacked: Evaluation) -> None:
    graph = to_rdf(attacked, RecordOptions(annotations=Annotations.WRONG))
    found, text = conforms(flat(graph))
    assert found, text
    for statement in graph.objects(None, URIRef(KGE + "premise")):
        assert graph.value(statement, RDF.subject) is not None


def test_annotators_are_pseudonymous_unless_named(attacked: Evaluation) -> None:
    text = "".join(lines_of(make_record(attacked)))
    assert "ann@example.org" not in text
    assert "bert" not in text
    for name in ("ann@example.org", "</script>bert"):
        assert hashlib.sha256(name.encode()).hexdigest()[:8] not in text
    named = "".join(lines_of(make_record(attacked, RecordOptions(name_annotators=True))))
    assert '"ann@example.org"' in named
    assert text.count(f"> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{KGE}Annotator>") == 2


def test_names_of_ones_own(evaluation: Evaluation) -> None:
    options = RecordOptions(base=EX + "eval#", dataset=EX + "kg", graph=EX + "g")
    text = "".join(lines_of(make_record(evaluation, options)))
    assert "w3id.org/rdf-kgeval/run" not in text
    assert f"<{EX}kg> <{VOID}triples>" in text
    assert all(line.endswith(f" <{EX}g> .") for line in text.splitlines())
    for base in (EX + "eval", "no iri/"):
        with pytest.raises(InputError):
            list(lines_of(make_record(evaluation, RecordOptions(base=base))))


def test_provenance_names_inputs_by_digest_and_not_by_path(evaluation: Evaluation) -> None:
    digest = "a" * 64
    origin = RunConfig(
        files=(InputFile(path="/home/ann/secret/kg.ttl", role="belief", sha256=digest),),
        ontologies=(InputFile(path="onto.ttl", role=ONTOLOGY, sha256="b" * 64),),
        endpoint="http://example.org/sparql?key=***",
        scope=ScopeConfig(graph=EX + "data"),
    )
    text = "".join(lines_of(make_record(evaluation, origin=origin)))
    assert "secret" not in text
    assert "***" not in text
    assert f'"{digest}"' in text
    assert '"kg.ttl"' in text
    assert f"<{EX}data>" in text
    graph = rdflib.Dataset(default_union=True)
    graph.parse(data=text, format="nquads")
    found, said = conforms(flat(graph))
    assert found, said


def test_blank_nodes_get_names(tmp_path: Path) -> None:
    (tmp_path / "kg.nt").write_text("_:a <x:p> _:b .\n_:b <x:p> <x:c> .\n")
    (tmp_path / "all.rq").write_text("SELECT ?s ?p ?o { ?s ?p ?o }")
    beliefs = kgeval.read_beliefs(tmp_path / "kg.nt", scope=tmp_path / "all.rq")
    evaluation, options = (
        Evaluation(kgeval.couple(beliefs, [])),
        RecordOptions(base=EX, annotations=Annotations.ALL),
    )
    text = "".join(lines_of(make_record(evaluation, options)))
    assert beliefs.n_beliefs == 2
    assert "_:" not in text
    assert len(set(re.findall(r"/blank/\w+", text))) == 2


def test_nothing_known_gives_a_record_without_measurements(evaluation: Evaluation) -> None:
    text = "".join(
        lines_of(make_record(Evaluation(evaluation.graph), RecordOptions(annotations=Annotations.ALL)))
    )
    assert DQV + "value" not in text
    assert text.count(f"<{KGE}Unknown>") == 8


def test_a_file_that_cannot_be_written_leaves_nothing(evaluation: Evaluation, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be told from its name; end it in \.trig"):
        write_record(evaluation, tmp_path / "record.rdf")
    with pytest.raises(InputError, match="cannot be written"):
        write_record(evaluation, tmp_path / "absent" / "record.trig")
    (tmp_path / "record.nq").write_text("old")

    def broken(*_: object) -> None:
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        write_record(evaluation, tmp_path / "record.nq", progress=broken)
    assert (tmp_path / "record.nq").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["record.nq"]


def test_the_vocabulary_documents_every_name_that_records_use(attacked: Evaluation) -> None:
    vocabulary = rdflib.Graph().parse(ROOT / "ontologies" / "kgeval.ttl")
    own = {s for s in vocabulary.subjects() if str(s).startswith(KGE)}
    for name in own:
        assert vocabulary.value(name, rdflib.RDFS.label), name
        assert vocabulary.value(name, rdflib.RDFS.comment), name
    settings = {"candidates": 5, "budget": 3, "seconds": 5.0}
    other = Evaluation(attacked.graph, kgeval.Settings(policy="greedy", estimator="inferable", **settings))
    texts = [
        "".join(lines_of(make_record(each))) for each in (attacked, other, motivating(policy="stratified"))
    ]
    used = {URIRef(KGE + name) for text in texts for name in re.findall(rf"<{KGE}(\w+)>", text)}
    assert used - own == set()
    shapes = rdflib.Graph().parse(SHAPES)
    mentioned = {o for o in shapes.objects() if str(o).startswith(KGE)}
    assert mentioned - own == set()


def test_json_ld_needs_no_remote_context(evaluation: Evaluation, tmp_path: Path) -> None:
    write_record(evaluation, tmp_path / "r.jsonld")
    assert "@context" not in json.dumps(json.loads((tmp_path / "r.jsonld").read_text()))
    dataset = rdflib.Dataset(default_union=True)
    dataset.parse(tmp_path / "r.jsonld")
    assert len(labels(dataset)) == 8


def test_the_vocabulary_speaks_of_its_own_terms_alone() -> None:
    vocabulary = rdflib.Graph().parse(ROOT / "ontologies" / "kgeval.ttl")
    named = {s for s in vocabulary.subjects() if isinstance(s, rdflib.URIRef)}
    assert {s for s in named if not s.startswith("https://w3id.org/rdf-kgeval")} == set()


def test_every_name_is_a_uuid_of_the_run_or_under_the_users_base(evaluation: Evaluation) -> None:
    origin = RunConfig(files=(InputFile(path="kg.ttl", role="belief", sha256="a" * 64),))
    bases = {None: "urn:uuid:", EX + "eval/": EX + "eval/"}
    known = (
        "https://w3id.org/rdf-kgeval#",
        "http://www.w3.org/",
        "http://purl.org/dc/terms/",
        "http://spdx.org/",
    )
    of_the_graph = {term[1:-1] for row in range(8) for term in evaluation.graph.beliefs.triple(row)}
    for base, start in bases.items():
        record = make_record(evaluation, RecordOptions(base=base), origin)
        for quad in ox.parse("".join(lines_of(record)), format=ox.RdfFormat.N_QUADS):
            for term in (quad.subject, quad.predicate, quad.object, quad.graph_name):
                if isinstance(term, ox.NamedNode) and term.value not in of_the_graph:
                    assert term.value.startswith((start, *known, "http://rdfs.org/ns/void#")), term
                if isinstance(term, ox.NamedNode) and term.value.startswith("urn:uuid:"):
                    assert uuid.UUID(term.value[9:]).version == 5


def test_a_record_describes_itself(evaluation: Evaluation) -> None:
    origin = RunConfig(
        files=(
            InputFile(path="in/kg.ttl", role="belief", sha256="a" * 64),
            InputFile(path="more.ttl", role="context", sha256="b" * 64),
        )
    )
    options = RecordOptions(license="http://creativecommons.org/publicdomain/zero/1.0/")
    graph = rdflib.Graph()
    for quad in ox.parse(
        "".join(lines_of(make_record(evaluation, options, origin))), format=ox.RdfFormat.N_QUADS
    ):
        graph.add(tuple(to_rdflib(term) for term in quad.triple))
    vocabulary = rdflib.Graph().parse(ROOT / "ontologies" / "kgeval.ttl")
    metric = URIRef(KGE + "accuracy")
    for name in ("inDimension", "expectedDataType"):
        value = graph.value(metric, URIRef(DQV + name))
        assert value is not None
        assert value == vocabulary.value(metric, URIRef(DQV + name))
    assert graph.value(metric, SKOS.definition) == vocabulary.value(metric, SKOS.definition)
    record = graph.value(predicate=RDF.type, object=URIRef(DQV + "QualityMetadata"))
    assert str(graph.value(record, DCTERMS.title)) == "How much of kg.ttl is true"
    assert graph.value(record, DCTERMS.license) == URIRef(options.license)
    last = max(verdict.time for verdict in evaluation.records)
    assert graph.value(record, DCTERMS.created).toPython() == datetime.fromisoformat(last)
    dataset = graph.value(record, DCTERMS.subject)
    assert (dataset, RDF.type, DCAT.Dataset) in graph
    assert (dataset, URIRef(DQV + "hasQualityMeasurement"), None) in graph
    spdx = rdflib.Namespace("http://spdx.org/rdf/terms#")
    checksum = graph.value(graph.value(dataset, spdx.checksum), spdx.checksumValue)
    lines = sorted(
        (f"{evaluation.graph.beliefs.line(row)}" for row in range(8)),
        key=lambda line: hashlib.sha256(line.encode()).digest(),
    )
    assert str(checksum) == hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
    assert str(checksum).startswith(str(graph.value(dataset, URIRef("http://www.w3.org/ns/dcat#version"))))
    (file,) = graph.objects(dataset, DCAT.distribution)
    assert str(graph.value(file, RDFS.label)) == "kg.ttl"
    assert str(graph.value(graph.value(file, spdx.checksum), spdx.checksumValue)) == "a" * 64
    for kind in (DQV + "QualityMeasurement", KGE + "Evaluation", KGE + "Annotator", DQV + "Metric"):
        for subject in graph.subjects(RDF.type, URIRef(kind)):
            assert graph.value(subject, RDFS.label), (kind, subject)
    found, text = conforms(graph)
    assert found, text
    assert DCTERMS.license not in set(to_rdf(evaluation).predicates())


def test_what_is_evaluated_changes_the_version(tmp_path: Path) -> None:
    versions = set()
    for text in (
        "<x:s> <x:p> <x:o> .\n",
        "<x:s> <x:p> <x:q> .\n",
        "<x:s> <x:p> <x:q> .\n<x:s> <x:p> <x:o> .\n",
    ):
        (tmp_path / "kg.nt").write_text(text)
        evaluation = Evaluation(kgeval.couple(kgeval.read_beliefs(tmp_path / "kg.nt"), []))
        versions.add(make_record(evaluation).content_digest)
    assert len(versions) == 3


@pytest.mark.parametrize(
    "address",
    [
        "http://localhost:7878/query",
        "http://LOCALHOST./sparql",
        "http://127.0.0.1:8890/sparql",
        "http://127.8.8.8/sparql",
        "http://127.1/sparql",
        "http://0x7f.1/sparql",
        "http://2130706433/sparql",
        "http://[::1]:7878/query",
        "http://[::ffff:127.0.0.1]/query",
        "http://192.168.3.4/sparql",
        "http://10.0.0.7/sparql",
        "http://store.internal/sparql",
        "http://nas.local:3030/ds",
        "http://virtuoso:8890/sparql",
        "http://ann:secret@dbpedia.org/sparql",
        "https://dbpedia.org/sparql?key=***",
    ],
)
def test_private_addresses_and_credentials_are_not_published(address: str, evaluation: Evaluation) -> None:
    origin = RunConfig(endpoint=address, scope=ScopeConfig(graph=address))
    text = "".join(lines_of(make_record(evaluation, origin=origin)))
    host = address.split("//")[1].split("/")[0]
    assert host not in text
    assert "secret" not in text
    assert "***" not in text
    assert "sparqlEndpoint" not in text
    assert "How much of the graph is true" in text
    assert host not in json.dumps(json_ld(gather(evaluation, origin)))


def test_public_addresses_are_published(evaluation: Evaluation) -> None:
    for address in ("https://dbpedia.org/sparql", "http://[2606:4700::1111]/sparql", "http://8.8.8.8/query"):
        text = "".join(lines_of(make_record(evaluation, origin=RunConfig(endpoint=address))))
        assert f"<{VOID}sparqlEndpoint> <{address}>" in text
    text = "".join(
        lines_of(make_record(evaluation, origin=RunConfig(scope=ScopeConfig(graph="urn:x:graph"))))
    )
    assert "<urn:x:graph>" in text


def test_notes_and_sources_of_answers_are_published(evaluation: Evaluation) -> None:
    told = Evaluation(evaluation.graph)
    request = told.next(1)[0]
    attack = '<b>"\\ } </script>'
    for number, (annotator, note, source) in enumerate(
        [("ann", attack, "https://example.org/page?a=1"), ("bert", None, "http://127.0.0.1:8000/secret")]
    ):
        belief = told.graph.beliefs.id(told.graph.beliefs.rows[request.position])
        told.record(
            Verdict(
                belief=belief, answer=Answer.TRUE, annotator=annotator, drawn=request.drawn, note=note, source=source,
                time=f"2026-01-01T00:00:0{number}+00:00",
            )
        )  # fmt: skip
    graph = flat(to_rdf(told))
    (annotation,) = graph.subjects(URIRef(KGE + "votesTrue"), None)
    assert [str(note) for note in graph.objects(annotation, RDFS.comment)] == [attack]
    assert list(graph.objects(annotation, DCTERMS.source)) == [URIRef("https://example.org/page?a=1")]
    found, text = conforms(graph)
    assert found, text

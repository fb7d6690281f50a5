"""Publishing as users meet it: commands, three stores that agree, and rdflib in an environment of its own."""

import csv
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyoxigraph as ox
import pytest
import rdflib
from rdflib.namespace import XSD

import rdf_kgeval as kgeval
from rdf_kgeval.beliefs.terms import parse_term, rdflib_term
from rdf_kgeval.pipeline import read_evaluation
from rdf_kgeval.publishing.rdf import Annotations, RecordOptions, lines_of, make_record, write_record
from rdf_kgeval.publishing.writeback import Target
from rdf_kgeval.runs.run import open_run
from rdf_kgeval.verdicts.log import VerdictLog
from tests.conftest import Server
from tests.functional.test_cli import kgeval as command
from tests.support.records import EX, EXAMPLE, NELL, QUERIES, ROOT, hostile, hostile_verdicts, write_hostile
from tests.support.run_config import read_entries, write_entries

GRAPH = "http://example.org/evaluation"
SOURCES = ("kg.ttl", "--ontology", "ontology.ttl", "--rules", "rules")

pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    return tmp_path


def nell_run(folder: Path) -> Path:
    """A run on nell-sports, with rules enough to infer and to contradict."""
    source = (
        NELL / "beliefs.nt",
        "--context-unknown",
        NELL / "types.nt",
        "--ontology",
        NELL / "ontology.ttl",
    )
    options = (
        "--oracle",
        NELL / "gold.csv",
        "--run",
        "run",
        "--policy",
        "random+inference",
        "--budget",
        "150",
    )
    done = command("evaluate", *source, *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "run"


def normal(term: str | None) -> str | float | None:
    """A term by its value, because stores spell numbers in their own ways."""
    if term is None:
        return None
    parsed = parse_term(term)
    if isinstance(parsed, ox.Literal) and parsed.datatype.value in {
        str(XSD[n]) for n in ("decimal", "integer", "double")
    }:
        return round(float(parsed.value), 9)
    return parsed.value if isinstance(parsed, ox.Literal) else str(parsed)


def rows_of(text: str, dataset: rdflib.Dataset) -> tuple[list[str], Counter[tuple[str | float | None, ...]]]:
    """The columns of a query, and its rows in rdflib."""
    result = dataset.query(text)
    rows = Counter(
        tuple(normal(None if value is None else rdflib_term(value)) for value in row) for row in result
    )
    return [str(variable) for variable in result.vars or ()], rows


@pytest.mark.parametrize("name", ["hostile", "nell-sports"])
def test_report_queries_give_the_same_rows_in_three_stores_however_the_record_came_there(
    name: str, tmp_path: Path, oxigraph: Server, virtuoso: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "record.trig"
    options = RecordOptions(annotations=Annotations.ALL)
    if name == "hostile":
        evaluation = hostile(tmp_path)
    elif not NELL.exists():
        pytest.skip("the nell-sports set is not on this machine")
    else:
        evaluation = read_evaluation(open_run(nell_run(tmp_path)))
    write_record(evaluation, path, options)
    apart, together = rdflib.Dataset(), rdflib.Dataset(default_union=True)
    for dataset in (apart, together):
        dataset.parse(path)
    (own,) = {graph.identifier for graph in apart.graphs()} - {apart.default_graph.identifier}
    expected = {query: rows_of(query.read_text(), apart) for query in QUERIES}
    answered = sum(bool(rows) for _, rows in expected.values())
    assert answered == len(QUERIES) if name == "hostile" else answered >= 10
    together.graph(rdflib.URIRef(GRAPH)).parse(
        data="".join(lines_of(make_record(evaluation, options))), format="nquads"
    )
    for query in QUERIES:
        assert rows_of(query.read_text(), together) == expected[query], query.stem

    for server in (oxigraph, virtuoso):
        for variable, value in server.environ.items():
            monkeypatch.setenv(variable, value)

        def compare(
            how: str, server: Server = server, kind: type[Counter[Any]] | type[set[Any]] = Counter
        ) -> None:
            for query in QUERIES:
                names, rows = expected[query]
                found = kgeval.Endpoint(server.query).select(query.read_text(), names).rows
                seen = [tuple(map(normal, row)) for row in found]
                assert kind(seen) == kind(rows), (how, query.stem, server.query)

        for graph in (GRAPH, str(own)):
            server.load(b"", graph)
        written = make_record(evaluation, replace(options, graph=GRAPH), quads=False)
        Target(f"<{GRAPH}>", server.query, server.update).write(written)
        compare("written back")
        server.load_trig(path.read_bytes())
        # In Virtuoso, a decimal that was loaded and the same one that was inserted are not the same to DISTINCT.
        compare("written back and loaded", kind=set if server is virtuoso else Counter)
        server.load(b"", GRAPH)
        compare("loaded")
        server.load(b"", str(own))


def test_publish_and_report(folder: Path) -> None:
    assert command("init", "run", *SOURCES, cwd=folder).returncode == 0
    assert command("ask", "run", "--oracle", "gold.csv", cwd=folder).returncode == 0
    done = command("publish", "run", "-o", "record.trig", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "record: record.trig\n")
    first = (folder / "record.trig").read_bytes()
    assert command("publish", "run", "-o", "record.trig", cwd=folder).returncode == 0
    assert (folder / "record.trig").read_bytes() == first
    store = ox.Store()
    store.bulk_load(path=str(folder / "record.trig"))
    digests = {
        row[0].value
        for row in store.query("SELECT ?d { GRAPH ?g { ?x <https://w3id.org/rdf-kgeval#sha256> ?d } }")
    }
    assert len(digests) == 3
    done = command("report", "run", "-o", "report.html", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "report: report.html\n")
    text = (folder / "report.html").read_text()
    data = json.loads(text.split('<script type="application/ld+json">')[1].split("</script>")[0])
    result = json.loads(command("estimate", "run", "--json", cwd=folder).stdout)
    measured = data["dqv:hasQualityMeasurement"]
    assert [measured["dqv:value"], measured["kge:lower"], measured["kge:upper"]] == [
        result["accuracy"],
        *result["interval"],
    ]
    for part in data["void:propertyPartition"]:
        own, entry = part["dqv:hasQualityMeasurement"], result["by_predicate"][part["void:property"]["@id"]]
        assert (own["dqv:value"], own["kge:sampleSize"], own["kge:inferred"]) == (
            entry["accuracy"], entry["asked"], entry["inferred"],
        )  # fmt: skip
    failed = command("report", "run", "-o", "r.xml", "--min-accuracy", "0.8", cwd=folder)
    assert failed.returncode == 3
    assert "<failure" in (folder / "r.xml").read_text()
    assert command("report", "run", "-o", "r.md", cwd=folder).returncode == 0
    assert (folder / "r.md").read_text().startswith("# How much of kg.ttl is true?\n")
    assert command("report", "run", "-o", "r.csv", cwd=folder).returncode == 0
    rows = list(csv.DictReader((folder / "r.csv").read_text().splitlines()))
    assert [row["predicate"] for row in rows] == ["", *result["by_predicate"]]
    assert [float(row["accuracy"]) for row in rows] == [
        result["accuracy"],
        *(entry["accuracy"] for entry in result["by_predicate"].values()),
    ]
    for name, form, begin in (
        ("old.xml", "junit", "<?xml"),
        ("old.txt", "markdown", "# How"),
        ("old.html", "html", "<!"),
    ):
        assert command("report", "run", "-o", name, "--format", form, cwd=folder).returncode == 0
        assert (folder / name).read_text().startswith(begin)
    shown = command("report", "--help", cwd=folder).stdout
    assert "--format" not in shown


@pytest.mark.parametrize(
    "threshold", [("--min-accuracy", "0.8"), ("--max-margin", "0.0000001"), ("--min-accuracy", "0.7")]
)
def test_junit_of_evaluate_fails_as_the_exit_code_does(folder: Path, threshold: tuple[str, str]) -> None:
    options = ("--oracle", "gold.csv", "--policy", "greedy", "--seed-size", "0", "--report", "r.xml")
    done = command("evaluate", *SOURCES, *options, *threshold, cwd=folder)
    whole = ElementTree.parse(folder / "r.xml").getroot()[0]
    assert done.returncode == (0 if whole.find("failure") is None else 3), done.stderr
    assert (done.returncode == 0) == (threshold == ("--min-accuracy", "0.7"))


@pytest.mark.parametrize(
    ("annotations", "labels"), [((), 8), (("--annotations", "asked"), 5), (("--annotations", "wrong"), 2)]
)
def test_evaluate_publishes_what_is_asked_for(
    folder: Path, annotations: tuple[str, ...], labels: int
) -> None:
    options = ("--oracle", "gold.csv", "--policy", "greedy", "--seed-size", "0", "--publish", "r.nt")
    done = command("evaluate", *SOURCES, *options, *annotations, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "r.nt").read_text().count("rdf-kgeval#label>") == labels


def test_a_comparison_is_written_by_its_ending(folder: Path) -> None:
    options = ("--oracle", "gold.csv", "--seeds", "2", "--processes", "1", "--methods", "srs/wilson")
    for ending, begin in ((".html", "<!"), (".md", "# Methods compared: 2 runs"), (".csv", "method,")):
        done = command("compare", *SOURCES, *options, "--report", f"c{ending}", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert (folder / f"c{ending}").read_text().startswith(begin)


def test_format_is_that_of_the_input(folder: Path) -> None:
    (folder / "kg.data").write_bytes((folder / "kg.ttl").read_bytes())
    mine = ("mine", "kg.data", "--min-support", "1", "--min-confidence", "0.1")
    for number, (name, options) in enumerate([("--format", ()), ("--input-format", ("--format", "shacl"))]):
        done = command(*mine, name, "ttl", *options, "-o", f"rules{number}.ttl", cwd=folder)
        assert done.returncode == 0, done.stderr
    assert (folder / "rules0.ttl").read_bytes() == (folder / "rules1.ttl").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["publish", "run"], 2, "give --output FILE"),
        (["publish", "run", "-o", "r.docx"], 1, "r.docx cannot be told from its name; end it in .trig"),
        (["publish", "run", "-o", "absent/r.trig"], 1, "its folder does not exist"),
        (["publish", "run", "-o", "r.trig", "--annotations", "some"], 2, "known, asked, wrong, all"),
        (["publish", "run", "-o", "r.trig", "--license", "free"], 1, "is not an absolute IRI"),
        (["report", "run", "-o", "r.pdf"], 1, "told from its name; end it in .html, .md, .xml or .csv"),
        (["report", "run", "-o", "report"], 1, "told from its name; end it in .html, .md, .xml or .csv"),
        (["evaluate", "kg.ttl", "--oracle", "absent.csv", "--report", "r.pdf"], 1, "r.pdf cannot be told"),
        (
            ["evaluate", "kg.ttl", "--oracle", "gold.csv", "--annotations", "some"],
            2,
            "known, asked, wrong, all",
        ),
        (
            ["compare", "absent.ttl", "--oracle", "absent.csv", "--report", "c.xml"],
            1,
            "end it in .html, .md or .csv",
        ),
        (["publish", "run", "-o", "r.trig", "--form", "star"], 2, "reification, named-graphs, triple-terms"),
        (["publish", "run", "-o", "r.ttl", "--form", "named-graphs"], 1, "write .trig, .nq or .jsonld"),
        (["publish", "run", "-o", "r.trig", "--base", "nonsense"], 1, "must end in / or #"),
        (["publish", "run", "--write-back", "http://g/"], 1, "name it with --endpoint or --update-endpoint"),
        (
            ["publish", "run", "--write-back", "g", "--endpoint", "http://127.0.0.1:1/"],
            1,
            "is not an absolute IRI",
        ),
        (
            ["publish", "run", "--write-back", "http://g/", "--endpoint", "http://127.0.0.1:1/"],
            1,
            "no server answers",
        ),
        (["publish", "absent", "-o", "r.trig"], 1, "absent is not a run directory"),
        (["report", "run", "-o", "r.html", "--format", "pdf"], 2, "html, markdown, junit or csv"),
        (["report", "run", "-o", "absent/r.html"], 1, "its folder does not exist"),
        (
            ["evaluate", "kg.ttl", "--oracle", "gold.csv", "--publish", "r.docx"],
            1,
            "cannot be told from its name",
        ),
        (["evaluate", "kg.ttl", "--oracle", "gold.csv", "--write-back", "http://g/"], 1, "needs a store"),
    ],
)
def test_bad_requests_are_one_sentence_and_leave_nothing(
    folder: Path, arguments: list[str], code: int, message: str
) -> None:
    assert command("init", "run", *SOURCES, cwd=folder).returncode == 0
    before = sorted(folder.rglob("*"))
    failed = command(*arguments, cwd=folder)
    assert failed.returncode == code
    assert failed.stdout == ""
    assert message in " ".join(failed.stderr.replace("│", "").split())
    assert "Traceback" not in failed.stderr
    assert sorted(folder.rglob("*")) == before


def test_evaluate_delivers_everything(folder: Path, oxigraph: Server) -> None:
    oxigraph.load((folder / "kg.ttl").read_bytes(), EX + "data")
    oxigraph.load(b"", GRAPH)
    done = command(
        "evaluate", "--endpoint", oxigraph.query, "--graph", EX + "data", "--update-endpoint", oxigraph.update,
        "--ontology", "ontology.ttl", "--rules", "rules", "--oracle", "gold.csv", "--json", "--publish", "record.trig",
        "--write-back", GRAPH, "--report", "report.html", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["accuracy"] == 0.75
    assert "written to the graph <http://example.org/evaluation>" in done.stderr
    held = kgeval.pull_beliefs(oxigraph.query, graph=GRAPH)
    quads = list(ox.parse(path=str(folder / "record.trig")))
    assert len(held) == len(quads)
    assert (folder / "report.html").read_text().count("<section") >= 8
    refused = command(
        "evaluate", "--endpoint", oxigraph.query, "--graph", EX + "data", "--update-endpoint", oxigraph.update,
        "--oracle", "gold.csv", "--write-back", EX + "data", cwd=folder,
    )  # fmt: skip
    assert refused.returncode == 1
    assert "is the one evaluated" in refused.stderr
    assert len(kgeval.pull_beliefs(oxigraph.query, graph=EX + "data")) == 8


def test_write_back_to_virtuoso_again_after_more_verdicts(tmp_path: Path, virtuoso: Server) -> None:
    write_hostile(tmp_path)
    virtuoso.load((tmp_path / "kg.ttl").read_bytes(), EX + "data")
    virtuoso.load(b"", GRAPH)
    made = command("init", "run", *SOURCES, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    to = ("--write-back", GRAPH, "--endpoint", virtuoso.update)
    data = kgeval.pull_beliefs(virtuoso.query, graph=EX + "data")
    settings = {"policy": "random", "estimator": "mean", "seed_size": 0, "converge": False}
    write_entries(tmp_path / "run", {**read_entries(tmp_path / "run"), "evaluation": settings})
    verdicts = hostile_verdicts(kgeval.Beliefs.load(tmp_path / "run" / "beliefs"))
    sizes = []
    for part in (verdicts[:3], verdicts[3:]):
        with VerdictLog(tmp_path / "run" / "verdicts.jsonl") as log:
            for verdict in part:
                log.append(verdict)
        done = command("publish", "run", *to, cwd=tmp_path, **virtuoso.environ)
        assert done.returncode == 0, done.stderr
        held = kgeval.pull_beliefs(virtuoso.query, graph=GRAPH)
        sizes.append(len(held))
        assert f"{len(held):,} triples written" in done.stderr
    assert sizes[0] < sizes[1]
    again = kgeval.pull_beliefs(virtuoso.query, graph=EX + "data")
    assert [again.line(row) for row in range(len(again))] == [data.line(row) for row in range(len(data))]
    denied = command("publish", "run", *to, cwd=tmp_path, **{**virtuoso.environ, "KGEVAL_PASSWORD": "s3cret"})
    assert denied.returncode == 1
    assert "s3cret" not in denied.stderr
    assert "401" in denied.stderr
    assert len(kgeval.pull_beliefs(virtuoso.query, graph=GRAPH)) == sizes[1]


SCRIPT = """
import rdflib

graph = rdflib.Graph().parse("kg.ttl")
LABELS = '''
    PREFIX kge: <https://w3id.org/rdf-kgeval#>
    SELECT ?s (kge:truth(?s, ?p, ?o) AS ?truth) (kge:accuracy(?p) AS ?accuracy)
    WHERE { ?s ?p ?o FILTER(!kge:label(?s, ?p, ?o)) } ORDER BY ?s
'''
record = rdflib.Dataset(default_union=True)
for triple in graph:
    record.graph(rdflib.URIRef("http://example.org/kg")).add(triple)
record.parse("record.trig")
print([(str(row.s), float(row.truth), float(row.accuracy)) for row in record.query(LABELS)])

believed = rdflib.Graph(store="KGEval")
believed.open("record.trig")
believed.parse("kg.ttl")
print(len(graph), len(believed), len(list(believed.query("SELECT * { ?s ?p ?o }"))))

import rdf_kgeval
rdf_kgeval.register("record.trig")
print(len(list(graph.query(LABELS))))

import sys
print([name for name in ("numba", "duckdb", "scipy") if name in sys.modules])
"""
PLAIN = """
import rdflib
print(len(list(rdflib.Graph().parse("kg.ttl").query("SELECT * { ?s ?p ?o FILTER(isIRI(?s)) }"))))
"""


def test_the_plugin_in_an_environment_of_its_own(folder: Path) -> None:
    options = ("--oracle", "gold.csv", "--policy", "greedy", "--seed-size", "0", "--publish", "record.trig")
    done = command("evaluate", *SOURCES, *options, cwd=folder)
    assert done.returncode == 0, done.stderr

    def run(*arguments: object) -> str:
        clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
        done = subprocess.run(
            list(map(str, arguments)),
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=1200,
            env=clean,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(sys.executable, "-m", "venv", "venv")
    python = folder / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", ROOT)
    expected = [(EX + "Detroit", 0.0, 0.0), (EX + "TajMahal", 0.0, 0.75)]
    assert run(python, "-W", "ignore", "-c", SCRIPT).splitlines() == [str(expected), "8 6 6", "2", "[]"]
    assert run(folder / "venv" / "bin" / "kgeval", "report", "--help")
    (package,) = (folder / "venv").glob("lib/python3*/site-packages/rdf_kgeval")
    assert (package / "data" / "queries" / "report" / "accuracy.rq").exists()
    assert (package / "data" / "ontologies" / "kgeval-shapes.ttl").exists()
    shutil.rmtree(package / "data")
    assert run(python, "-c", PLAIN).strip() == "8"
    assert run(python, "-W", "ignore", "-c", SCRIPT).splitlines()[1] == "8 6 6"
    kept = {
        package / name
        for name in ("__init__.py", "namespaces.py", "plugin/__init__.py", "plugin/functions.py")
    }
    for path in package.rglob("*.py"):
        if path not in kept:
            path.unlink()
    assert run(python, "-c", PLAIN).strip() == "8", "a package in ruins does not break rdflib"

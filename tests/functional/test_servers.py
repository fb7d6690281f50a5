"""Pulls from real servers: what was loaded is what comes back, or the difference is reported."""

import json
from pathlib import Path

import pyoxigraph as ox
import pytest

import rdf_kgeval as kgeval
from rdf_kgeval.beliefs.table import Beliefs
from rdf_kgeval.pipeline import prepare
from rdf_kgeval.runs.create import Coupling
from rdf_kgeval.sources.load import Sources
from rdf_kgeval.sources.scope import Scope
from tests.conftest import Server

EX = "http://example.org/"
GRAPH = "http://example.org/graph"
XSD = "http://www.w3.org/2001/XMLSchema#"

PLAIN = "".join(f"<{EX}s{i}> <{EX}big> <{EX}o{i % 97}> .\n" for i in range(3456)) + "".join(
    f'<{EX}s{i}> <{EX}p{i % 40}> "v{i}"@en .\n' for i in range(1500)
)
TRICKY = (
    f'<{EX}a> <{EX}p> "it\'s \\"quoted\\" \\\\ back\\nline\\ttab \\u001B[31m" .\n'
    f'<{EX}a> <{EX}p> "}} DROP GRAPH <{GRAPH}> # \\"\\"\\" \'\'\'" .\n'
    f'<{EX}a> <{EX}p> "日本語 😀"@ja .\n'
    f'<{EX}a> <{EX}p> "{"x" * 100_000}" .\n'
    f'<{EX}a> <{EX}p> "odd"^^<{EX}type> .\n'
    f'<{EX}a> <{EX}p> "" .\n'
    f"<{EX}it's?a=%22;--> <{EX}p> <{EX}é> .\n"
)
BLANK = f'<{EX}a> <{EX}b> _:x .\n_:x <{EX}b> _:y .\n_:y <{EX}p> "in"@en .\n'
LOSSY = f'<{EX}a> <{EX}n> "007"^^<{XSD}integer> .\n<{EX}a> <{EX}n> "true"^^<{XSD}boolean> .\n'


def canonical(text: str) -> set[str]:
    dataset = ox.Dataset(ox.parse(text, format=ox.RdfFormat.N_TRIPLES))
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return {str(quad) for quad in dataset}


def text(beliefs: Beliefs) -> str:
    return "\n".join(beliefs.line(row) for row in range(len(beliefs)))


@pytest.mark.parametrize("graph", ["", GRAPH])
def test_oxigraph_gives_back_what_it_was_given(oxigraph: Server, graph: str) -> None:
    oxigraph.load((PLAIN + TRICKY + BLANK).encode(), graph)
    beliefs = kgeval.pull_beliefs(oxigraph.query, graph=graph or None)
    assert canonical(text(beliefs)) == canonical(PLAIN + TRICKY + BLANK)
    assert beliefs.n_beliefs == len(beliefs) - 3


def test_virtuoso_gives_back_more_than_its_row_limit(virtuoso: Server) -> None:
    virtuoso.load((PLAIN + TRICKY + BLANK).encode(), GRAPH)
    beliefs = kgeval.pull_beliefs(virtuoso.query, graph=GRAPH)
    assert canonical(text(beliefs)) == canonical(PLAIN + TRICKY + BLANK)
    assert beliefs.n_beliefs == len(beliefs) - 3


@pytest.mark.parametrize("name", ["oxigraph", "virtuoso"])
def test_lossy_literals_are_reported(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    server: Server = request.getfixturevalue(name)
    server.load((LOSSY + TRICKY).encode(), GRAPH)
    sources = Sources(endpoint=kgeval.Endpoint(server.query), scope=Scope.of(graph=GRAPH))
    loaded = prepare(tmp_path / "run", sources, Coupling())
    assert len(loaded.beliefs) == 9
    assert loaded.beliefs.find(f"<{EX}a>", f"<{EX}n>", f'"7"^^<{XSD}integer>') is not None
    (note,) = loaded.config.notes
    assert note.startswith(f"2 literals may be spelt otherwise than when loaded: {name.title()}")
    assert json.loads((tmp_path / "run" / "config.json").read_text())["notes"] == [note]


def test_virtuoso_without_a_graph_says_what_that_means(virtuoso: Server, tmp_path: Path) -> None:
    virtuoso.load(TRICKY.encode(), GRAPH)
    virtuoso.load(TRICKY.encode(), GRAPH + "2")
    sources = Sources(endpoint=kgeval.Endpoint(virtuoso.query), scope=Scope())
    loaded = prepare(tmp_path / "run", sources, Coupling())
    assert any("system graphs included; name yours with --graph" in note for note in loaded.config.notes)
    ours = {line for line in text(loaded.beliefs).splitlines() if f"<{EX}p>" in line}
    assert canonical("\n".join(ours)) == canonical(TRICKY)


@pytest.mark.parametrize("name", ["oxigraph", "virtuoso"])
def test_scopes_on_real_servers(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    server: Server = request.getfixturevalue(name)
    types = f"<{EX}s1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{EX}Thing> .\n"
    label = f'<{EX}big> <http://www.w3.org/2000/01/rdf-schema#label> "is big" .\n'
    comment = f'<{EX}s1> <http://www.w3.org/2000/01/rdf-schema#comment> "thing one"@en .\n'
    server.load((PLAIN + types + label + comment).encode(), GRAPH)
    (tmp_path / "scope.rq").write_text(f"CONSTRUCT {{ ?s <{EX}big> ?o }} WHERE {{ ?s <{EX}big> ?o }}")
    expected = canonical("\n".join(line for line in PLAIN.splitlines() if "/big>" in line))
    (tmp_path / "select.rq").write_text(f"SELECT ?s ?p ?o {{ ?s ?p ?o FILTER(?p = <{EX}big>) }}")
    queries = [{"scope": tmp_path / name} for name in ("scope.rq", "select.rq")]
    for scope in ({"predicates": [EX + "big"]}, *queries):
        beliefs = kgeval.pull_beliefs(server.query, graph=GRAPH, **scope)
        assert canonical("\n".join(beliefs.line(row) for row in beliefs.rows)) == expected
        assert len(beliefs) == beliefs.n_beliefs + 3
        assert label.strip() in text(beliefs)
        assert comment.strip() in text(beliefs)
        assert beliefs.by_class() == {EX + "Thing": 1}

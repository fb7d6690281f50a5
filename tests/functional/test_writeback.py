"""Writing back to real stores: only the run's graph changes, and it is always one whole record."""

from contextlib import nullcontext
from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib

import rdf_kgeval as kgeval
from rdf_kgeval.errors import EndpointError, InputError
from rdf_kgeval.pipeline import Evaluation
from rdf_kgeval.publishing import writeback
from rdf_kgeval.publishing.rdf import Form, RecordOptions, lines_of, make_record
from rdf_kgeval.publishing.record import Record
from rdf_kgeval.publishing.writeback import Target, as_sparql, batches
from rdf_kgeval.sources.endpoint.client import RetryPolicy
from tests.conftest import Server
from tests.functional.test_servers import PLAIN, TRICKY
from tests.support.faults import CuttingProxy, cutting
from tests.support.records import HOSTILE, hostile

GRAPH = "http://example.org/evaluation"
DATA = "http://example.org/data"


@pytest.fixture(params=["oxigraph", "virtuoso"])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Server:
    found: Server = request.getfixturevalue(request.param)
    for name, value in found.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(writeback, "_RETRY", RetryPolicy(backoff=0.0, timeout=30.0))
    for graph in (GRAPH, GRAPH + ".kgeval-staging"):
        found.load(b"", graph)
    found.load((PLAIN + TRICKY).encode(), DATA)
    return found


def record_of(evaluation: Evaluation) -> Record:
    return make_record(evaluation, RecordOptions(graph=GRAPH), quads=False)


def dump(server: Server, graph: str) -> list[str]:
    """Every triple of a graph, as the store gives it."""
    if (
        not kgeval.Endpoint(server.query)
        .select(f"SELECT * {{ GRAPH <{graph}> {{ ?s ?p ?o }} }} LIMIT 1", ["s"])
        .rows
    ):
        return []
    beliefs = kgeval.pull_beliefs(server.query, graph=graph)
    return [beliefs.line(row) for row in range(len(beliefs))]


def target(server: Server) -> Target:
    return Target(f"<{GRAPH}>", server.query, server.update)


def test_only_the_runs_graph_changes(server: Server, tmp_path: Path) -> None:
    before = dump(server, DATA)
    first = record_of(hostile(tmp_path, verdicts=2))
    assert target(server).write(first) == len(dump(server, GRAPH))
    old = dump(server, GRAPH)
    second = record_of(hostile(tmp_path))
    assert target(server).write(second) == len(dump(server, GRAPH))
    new = dump(server, GRAPH)
    assert old != new
    assert sum("votesTrue" in line for line in old) == 2
    assert sum("votesTrue" in line for line in new) == 11
    assert target(server).write(second) == len(new)
    assert dump(server, GRAPH) == new
    assert dump(server, DATA) == before
    assert dump(server, GRAPH + ".kgeval-staging") == []


def test_what_is_written_is_what_is_published(server: Server, tmp_path: Path) -> None:
    evaluation = hostile(tmp_path)
    target(server).write(record_of(evaluation))
    written = dump(server, GRAPH)
    server.load("".join(lines_of(record_of(evaluation))).encode(), GRAPH)
    assert dump(server, GRAPH) == written


def test_a_graph_with_something_else_is_refused(server: Server, tmp_path: Path) -> None:
    before = dump(server, DATA)
    record = make_record(hostile(tmp_path), RecordOptions(graph=DATA), quads=False)
    with pytest.raises(InputError, match="holds triples that are no record of kgeval"):
        Target(f"<{DATA}>", server.query, server.update).write(record)
    assert dump(server, DATA) == before


def test_triples_beside_the_record_are_not_lost(server: Server, tmp_path: Path) -> None:
    record = record_of(hostile(tmp_path))
    own = (
        "".join(lines_of(record)).encode()
        + b"<http://example.org/a> <http://example.org/b> <http://example.org/c> .\n"
    )
    server.load(own, GRAPH)
    before = dump(server, GRAPH)
    with pytest.raises(InputError, match="holds triples that are no record of kgeval"):
        target(server).write(record)
    assert dump(server, GRAPH) == before


def old_and_new(server: Server, folder: Path) -> tuple[tuple[Record, list[str]], tuple[Record, list[str]]]:
    """Two records of one run with what the store then holds; it is left with the first."""
    found = []
    for verdicts in (12, 2):
        record = record_of(hostile(folder, verdicts=verdicts))
        target(server).write(record)
        found.append((record, dump(server, GRAPH)))
    return found[1], found[0]


def posts_of_a_write(server: Server, record: Record) -> int:
    with cutting(server.update) as proxy:
        through(server, proxy).write(record)
        return next(proxy.numbers)


def through(server: Server, proxy: CuttingProxy) -> Target:
    return Target(f"<{GRAPH}>", proxy.url(server.query), proxy.url(server.update))


@pytest.mark.parametrize("how", ["before", "half", "after"])
def test_a_connection_that_dies_leaves_the_old_record_or_the_new_one(
    how: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writeback, "INSERT_TRIPLES", 60)
    (first, old), (second, new) = old_and_new(server, tmp_path)
    data = dump(server, DATA)
    requests = posts_of_a_write(server, second)
    assert requests >= 5
    outcomes = []
    for last in range(requests):
        target(server).write(first)
        with (
            cutting(server.update, lambda n, last=last: how if n == last else None, dies=True) as proxy,  # type: ignore[misc]
            pytest.raises(EndpointError),
        ):
            through(server, proxy).write(second, sleep=lambda _: None)
        held = dump(server, GRAPH)
        assert held in (old, new)
        outcomes.append(held == new)
        assert dump(server, DATA) == data
    assert not any(outcomes[:-1])
    assert outcomes[-1] == (how == "after")
    target(server).write(second)
    assert dump(server, GRAPH) == new
    assert dump(server, GRAPH + ".kgeval-staging") == []


@pytest.mark.parametrize("how", ["before", "half", "after"])
def test_a_connection_that_is_cut_once_does_no_harm(
    how: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writeback, "INSERT_TRIPLES", 60)
    (first, old), (second, new) = old_and_new(server, tmp_path)
    requests = posts_of_a_write(server, second)
    swaps = 2 if server.environ else 1  # with Digest, a request without and one with the answer
    for at in range(requests):
        target(server).write(first)
        with cutting(server.update, lambda n, at=at: how if n == at else None) as proxy:  # type: ignore[misc]
            # Only the swap is never sent twice; where it did not arrive, the old record stands.
            lost = at >= requests - swaps and (how, at) != ("after", requests - 1)
            with pytest.raises(EndpointError, match="both are whole") if lost else nullcontext():
                through(server, proxy).write(second, sleep=lambda _: None)
        assert dump(server, GRAPH) == (old if lost else new)


def test_a_store_that_loses_triples_keeps_the_old_record(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = record_of(hostile(tmp_path, verdicts=2))
    target(server).write(first)
    old = dump(server, GRAPH)
    monkeypatch.setattr(
        writeback, "lines_of", lambda record: [*lines_of(record), "<x:s> <x:p> <x:o> .\n" * 2]
    )
    with pytest.raises(EndpointError, match="the old record stands"):
        target(server).write(record_of(hostile(tmp_path)))
    assert dump(server, GRAPH) == old


def test_named_graphs_are_not_written_back(tmp_path: Path) -> None:
    record = make_record(hostile(tmp_path), RecordOptions(form=Form.NAMED_GRAPHS))
    with pytest.raises(InputError, match="several named graphs"):
        Target(f"<{GRAPH}>", "http://127.0.0.1:1/").write(record)


def test_batches_are_small_and_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f'<x:s> <x:p> "{i}\u2028\u0085" .\n' for i in range(2500)]
    found = list(batches(["".join(lines[:1234]), "".join(lines[1234:])]))
    assert [n for _, n in found] == [1000, 1000, 500]
    assert "\n".join(text for text, _ in found) + "\n" == "".join(lines)
    monkeypatch.setattr(writeback, "INSERT_CHARACTERS", 100)
    assert max(n for _, n in batches(lines)) <= 5


def test_escapes_survive_sparql() -> None:
    assert as_sparql('"\\\\u0022"') == '"\\\\\\U000000750022"'
    assert as_sparql('"\\\\\\u0001 \\n \\" \\\\\\\\u"') == '"\\\\\\u0001 \\n \\" \\\\\\\\\\U00000075"'


def test_escapes_survive_an_engine_that_replaces_them_first() -> None:
    """rdflib does, as the letter of SPARQL 1.1 says."""
    for text in HOSTILE[:2]:
        (quad,) = ox.parse(f"<x:s> <x:p> {text} .", format=ox.RdfFormat.N_TRIPLES)
        graph = rdflib.Graph()
        graph.update(f"INSERT DATA {{ {as_sparql(f'<x:s> <x:p> {quad.object} .')} }}")
        ((_, _, found),) = graph
        assert str(found) == quad.object.value

"""What a pull brings and says about it: odd terms, blank nodes, labels, notes."""

import re
from pathlib import Path

import pytest

import rdf_kgeval as kgeval
from rdf_kgeval.beliefs.table import Role
from rdf_kgeval.errors import InputError
from rdf_kgeval.sources.scope import Scope
from tests.sources.endpoint.test_client import DATA, EX, EXPECTED, _small_pages, fetch, lines, patient  # noqa: F401
from tests.sources.test_pull import pull_from, triples
from tests.support import faults
from tests.support.faults import FaultyStore

LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"


def test_scope_by_predicate_brings_labels_and_types() -> None:
    extra = f'<{EX}s5> {LABEL} "five" .\n<{EX}elsewhere> {LABEL} "no" .\n'.encode()
    server = FaultyStore(DATA + extra)
    beliefs = fetch(server, predicates=[EX + "q"])
    assert lines(beliefs) == {t for t in EXPECTED if f"<{EX}q>" in t}
    background = [beliefs.line(row) for row in range(len(beliefs)) if beliefs.role[row] == Role.BACKGROUND]
    assert background == [f'<{EX}s5> {LABEL} "five" .']


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT ?s ?p ?o {{ ?s ?p ?o FILTER(?p = <{EX}q>) }} # no line end",
        f"PREFIX e: <{EX}> CONSTRUCT {{ ?x e:q ?y }} WHERE {{ ?x e:q ?y }}",
        f"PREFIX e: <{EX}> CONSTRUCT WHERE {{ ?x e:q ?y }}",
    ],
)
def test_scope_by_query(tmp_path: Path, query: str) -> None:
    (tmp_path / "scope.rq").write_text(query)
    server = FaultyStore(DATA)
    assert lines(fetch(server, scope=tmp_path / "scope.rq")) == {t for t in EXPECTED if f"<{EX}q>" in t}


def test_scope_query_that_makes_no_triples(tmp_path: Path) -> None:
    (tmp_path / "scope.rq").write_text("SELECT (?y AS ?s) ?p (?x AS ?o) { ?x ?p ?y }")
    server = FaultyStore(DATA)
    with pytest.raises(InputError, match="which is not a triple"):
        fetch(server, scope=tmp_path / "scope.rq")


def test_virtuoso_s_blank_nodes_and_invalid_iris() -> None:
    """Answers of Virtuoso that a strict parser refuses."""

    def virtuoso(handler: faults.Handler, body: bytes) -> bool:
        if not faults.is_page(handler.query):
            return False
        text = body.decode().replace(f'"uri","value":"{EX}s1"', '"bnode","value":"nodeID://b10001"')
        handler.reply(text.replace(f'"{EX}s9"', '"http://example.org/a b"').encode())
        return True

    server = FaultyStore(DATA, virtuoso)
    endpoint = server.endpoint(patient())
    beliefs = kgeval.pull_beliefs(server.url, endpoint=endpoint)
    bad = {t for t in EXPECTED if f"<{EX}s9>" in t or f"<{EX}s1>" in t}
    assert lines(beliefs) == EXPECTED - bad
    assert {beliefs.triple(r)[0] for r in range(len(beliefs)) if beliefs.role[r] == Role.BACKGROUND} >= {
        "_:nodeIDb10001"
    }


def test_an_empty_graph_names_the_others() -> None:
    data = f"<{EX}a> <{EX}b> <{EX}c> <{EX}g> .".encode()
    server = FaultyStore(data)
    with pytest.raises(InputError, match=f"is empty; name one of its graphs.*<{EX}g>"):
        fetch(server, graph=EX + "nothing")


@pytest.mark.parametrize("cut", [False, True])
def test_an_invalid_predicate_is_left_out_and_counted(tmp_path: Path, cut: bool) -> None:
    spaced = faults.edited(lambda text: text.replace(f'"{EX}p0"', f'"{EX}p 0"'))

    def fault(handler: faults.Handler, body: bytes) -> bool:
        if cut and "GROUP BY" in handler.query:
            body = handler.evaluate(f"SELECT * {{ {{ {handler.query} }} }} LIMIT 2")
            handler.reply(body.replace(b"/p0", b"/p 0"), X_SPARQL_MaxRows="2")
            return True
        return spaced(handler, body)

    server = FaultyStore(DATA, fault)
    pulled = pull_from(server, tmp_path / "pages")
    assert set(triples(pulled)) == {t for t in EXPECTED if f"<{EX}p0>" not in t}
    assert pulled.notes == ["left out 100 triples with an IRI or a term that is not valid RDF"]


def test_invalid_rows_are_counted_once(tmp_path: Path) -> None:
    edit = faults.edited(lambda text: text.replace(f'"{EX}s9"', f'"{EX}s 9"'))
    server = FaultyStore(DATA, edit)
    pulled = pull_from(server, tmp_path / "pages")
    assert pulled.notes == ["left out 3 triples with an IRI or a term that is not valid RDF"]


@pytest.mark.parametrize("kind", ["uri", "bnode"])
def test_virtuoso_s_node_ids_are_blank_nodes(tmp_path: Path, kind: str) -> None:
    edit = faults.edited(
        lambda text: text.replace(f'"uri","value":"{EX}s1"', f'"{kind}","value":"nodeID://b10001"')
    )
    server = FaultyStore(DATA, edit)
    assert f'_:nodeIDb10001 <{EX}p1> "1" .' in triples(pull_from(server, tmp_path / "pages"))


def test_the_graph_of_a_pull_is_kept() -> None:
    data = f"<{EX}a> <{EX}b> <{EX}c> <{EX}g> .".encode()
    server = FaultyStore(data)
    beliefs = fetch(server, graph=EX + "g")
    assert [quad[3] for _, quad in beliefs.quads()] == [f"<{EX}g>"]


@pytest.mark.parametrize("invalid", [False, True])
def test_triple_terms_and_directions_come_over(tmp_path: Path, invalid: bool) -> None:
    said = [
        f'<{EX}a> <{EX}says> <<( <{EX}s> <{EX}p> "o x"@en )>> .',
        f"<{EX}a> <{EX}says> <<( <{EX}s> <{EX}p> <<( _:n <{EX}p> <{EX}o> )>> )>> .",
        f'<{EX}a> <{EX}says> "x"@ar--rtl .',
    ]
    data = "\n".join([*said, f"<{EX}bad> <{EX}p> <{EX}o> ."]).encode()
    edit = faults.edited(lambda text: text.replace(f"{EX}bad", f"{EX}b ad") if invalid else text)
    server = FaultyStore(data, edit)
    got = {re.sub(r"_:\w+", "_:n", line) for line in triples(pull_from(server, tmp_path / "pages"))}
    assert got == {*said, *([] if invalid else [f"<{EX}bad> <{EX}p> <{EX}o> ."])}


@pytest.mark.parametrize(
    ("software", "store"), [("Virtuoso/07.20 (Linux)", "Virtuoso"), ("nginx", "the store")]
)
def test_literals_that_stores_rewrite_are_reported(tmp_path: Path, software: str, store: str) -> None:
    xsd = "http://www.w3.org/2001/XMLSchema#"
    types = [
        *(f"{xsd}{name}" for name in ("integer", "duration", "dayTimeDuration", "yearMonthDuration")),
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral",
        "http://www.opengis.net/ont/geosparql#wktLiteral",
        "http://www.openlinksw.com/schemas/virtrdf#Geometry",
        f"{xsd}string",
    ]
    data = "".join(f'<{EX}a> <{EX}p> "x"^^<{kind}> .\n' for kind in types).encode()
    server = FaultyStore(data)
    server.software = software
    note, *_ = pull_from(server, tmp_path / "pages").notes
    assert note.startswith(f"7 literals may be spelt otherwise than when loaded: {store} may rewrite")


def test_a_predicate_that_no_triple_has_is_reported(tmp_path: Path) -> None:
    server = FaultyStore(DATA)
    scope = Scope.of(predicates=[EX + "q", EX + "typo"])
    (note,) = pull_from(server, tmp_path / "pages", scope).notes
    assert note == f"no triple there has the predicate <{EX}typo>; check --predicate"


@pytest.mark.parametrize(
    "query",
    [
        None,
        f"SELECT ?s ?p ?o {{ ?s ?p ?o FILTER(?p = <{EX}q>) }}",
        f"CONSTRUCT {{ ?s <{EX}q> ?o }} WHERE {{ ?s <{EX}q> ?o }}",
    ],
)
def test_a_scope_brings_the_labels_of_its_predicates(tmp_path: Path, query: str | None) -> None:
    if query is None:
        scope = Scope.of(predicates=[EX + "q"])
    else:
        (tmp_path / "scope.rq").write_text(query)
        scope = Scope.of(scope=tmp_path / "scope.rq")
    server = FaultyStore(DATA + f'<{EX}q> {LABEL} "has q" .\n'.encode())
    assert f'<{EX}q> {LABEL} "has q" .' in triples(pull_from(server, tmp_path / "pages", scope))


def test_a_scope_brings_descriptions_that_people_read_and_the_property_behind_a_predicate(
    tmp_path: Path,
) -> None:
    told = "<https://schema.org/description>"
    claim = f"<{EX}P1> <http://wikiba.se/ontology#directClaim> <{EX}q> .\n"
    wanted = {
        f'<{EX}s5> {told} "five"@en .',
        f'<{EX}s5> {told} "fem"@sv .',
        f'<{EX}s5> {told} "5" .',
        f'<{EX}P1> {LABEL} "has q"@en .',
    }
    text = claim + "\n".join((*wanted, f'<{EX}s5> {told} "fuenf"@de .', f'<{EX}P2> {LABEL} "no" .')) + "\n"
    server = FaultyStore(DATA + text.encode())
    pulled = pull_from(server, tmp_path / "pages", Scope.of(predicates=[EX + "q"]), lang="sv")
    beside = {line for line in triples(pulled) if line.split(" ")[1] != f"<{EX}q>"}
    assert beside == {*wanted, claim.strip()}

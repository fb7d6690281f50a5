"""Evidence: from the graph in each of its forms, and from a file."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdf_kgeval as kgeval
from rdf_kgeval.beliefs.evidence import MOST, Evidence, evidence_of, read_passages
from rdf_kgeval.beliefs.names import Names
from rdf_kgeval.errors import InputError

PREFIXES = """@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix dct: <http://purl.org/dc/terms/> .
@prefix prov: <http://www.w3.org/ns/prov#> . @prefix wikibase: <http://wikiba.se/ontology#> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> . @prefix wd: <http://www.wikidata.org/entity/> .
@prefix p: <http://www.wikidata.org/prop/> . @prefix ps: <http://www.wikidata.org/prop/statement/> .
@prefix pr: <http://www.wikidata.org/prop/reference/> .
"""
E = "http://example.org/"


def found(tmp_path: Path, text: str, triple: tuple[str, str, str], suffix: str = "ttl") -> list[Evidence]:
    path = tmp_path / f"kg.{suffix}"
    path.write_text(PREFIXES + text)
    names = Names(beliefs=kgeval.read_beliefs(path))
    row = names.beliefs.find(*(f"<{term}>" for term in triple))
    assert row is not None
    return list(evidence_of(names, row, {}))


KNOWS = (f"{E}a", f"{E}knows", f"{E}b")


def test_the_named_graph_and_its_source(tmp_path: Path) -> None:
    text = """:g { :a :knows :b . } :g rdfs:label "parish register"@en ; prov:wasDerivedFrom :scan ."""
    assert found(tmp_path, text, KNOWS, "trig") == [
        Evidence(text="parish register", url=f"{E}g"),
        Evidence(text=f"{E}scan", url=f"{E}scan"),
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "[] rdf:subject :a ; rdf:predicate :knows ; rdf:object :b ; dct:source",
        ":r rdf:reifies <<( :a :knows :b )>> ; prov:wasDerivedFrom",
        ":a <http://purl.org/dc/elements/1.1/source>",
    ],
)
def test_sources_of_the_statement_and_of_its_subject(tmp_path: Path, statement: str) -> None:
    text = f""":a :knows :b , :c . {statement} "https://example.org/page?a=1", "Smith 1999, page 7"."""
    assert found(tmp_path, text, KNOWS) == [
        Evidence(text="Smith 1999, page 7"),
        Evidence(text="https://example.org/page?a=1", url="https://example.org/page?a=1"),
    ]
    other = found(tmp_path, text, (f"{E}a", f"{E}knows", f"{E}c"))
    assert bool(other) == statement.startswith(":a")


def test_a_reference_of_a_wikibase(tmp_path: Path) -> None:
    text = """wd:Q1 wdt:P19 wd:Q2 ; p:P19 wd:s1 , wd:s2 . wd:s1 ps:P19 wd:Q2 ; prov:wasDerivedFrom wd:r1 .
    wd:s2 ps:P19 wd:Q3 ; prov:wasDerivedFrom wd:r2 . wd:r2 pr:P854 <http://example.org/other> .
    wd:r1 pr:P854 <https://example.org/ada> ; pr:P813 "2018-05-03"^^<http://www.w3.org/2001/XMLSchema#date> .
    wd:P854 wikibase:reference pr:P854 ; rdfs:label "reference URL"@en .
    wd:P813 wikibase:reference pr:P813 ; rdfs:label "retrieved"@en ."""
    wikidata = "http://www.wikidata.org"
    triple = (f"{wikidata}/entity/Q1", f"{wikidata}/prop/direct/P19", f"{wikidata}/entity/Q2")
    (reference,) = found(tmp_path, text, triple)
    assert reference.url == "https://example.org/ada"
    assert "retrieved: 3 May 2018" in reference.text
    assert "reference URL: " in reference.text


def test_what_is_not_the_address_of_a_web_page_is_no_link(tmp_path: Path) -> None:
    text = """:a :knows :b ; dct:source <javascript:alert(1)> , "file:///etc/passwd" , "https://u:p@example.org/" ."""
    assert [piece.url for piece in found(tmp_path, text, KNOWS)] == [None, None, None]


def test_thousands_of_sources_are_cut_and_counted(tmp_path: Path) -> None:
    sources = ", ".join(f'"source {n:04}"' for n in range(500))
    pieces = found(tmp_path, f":a :knows :b ; dct:source {sources} .", KNOWS)
    assert len(pieces) == MOST + 1
    assert pieces[-1].text == "and 480 more in the graph"


def test_passages_of_a_file_come_first(tmp_path: Path) -> None:
    (tmp_path / "kg.ttl").write_text(PREFIXES + ":a :knows :b ; dct:source 'register' .")
    names = Names(beliefs=kgeval.read_beliefs(tmp_path / "kg.ttl"))
    file = tmp_path / "evidence.csv"
    file.write_text(
        "subject,predicate,object,text,url\n"
        f'{E}a,{E}knows,<{E}b>,"They met, ""often"".\nIn 1999.",https://example.org/\n'
        ":a,:knows,<http://example.org/b>,,https://example.org/2\n"
    )
    passages = read_passages(file, names.beliefs.prefixes)
    row = names.beliefs.find(*(f"<{term}>" for term in KNOWS))
    assert row is not None
    assert list(evidence_of(names, row, passages)) == [
        Evidence(text='They met, "often".\nIn 1999.', url="https://example.org/"),
        Evidence(text="https://example.org/2", url="https://example.org/2"),
        Evidence(text="register"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("subject,predicate,object,text\n", "line 1: the column url is missing"),
        ("x:a,x:p,x:o,,\n", "line 2: there is neither text nor url"),
        ("x:a,x:p,x:o,t,javascript:alert(1)\n", "line 2: the url 'javascript:alert.1.' is not the address"),
        ("a,x:p,x:o,t,\n", "line 2: 'a' is neither an IRI nor an N-Triples term"),
        ('x:a,x:p,x:o,"t,\n', "line 1: not valid CSV: unexpected end of data"),
    ],
)
def test_bad_files_are_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    head = "" if text.startswith("subject") else "subject,predicate,object,text,url\n"
    (tmp_path / "evidence.csv").write_text(head + text)
    with pytest.raises(InputError, match=f"evidence.csv, {message}"):
        read_passages(tmp_path / "evidence.csv")


@given(st.text(max_size=300))
def test_no_file_makes_a_traceback(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("passages") / "e.csv"
    path.write_bytes(("subject,predicate,object,text,url\n" + text).encode("utf-8", "surrogatepass"))
    with suppress(InputError):
        read_passages(path)

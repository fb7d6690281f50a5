from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdf_kgeval as kgeval
from rdf_kgeval.beliefs.builder import BeliefsBuilder
from rdf_kgeval.beliefs.evidence import evidence_of
from rdf_kgeval.beliefs.names import Names, readable
from rdf_kgeval.beliefs.table import Role
from rdf_kgeval.namespaces import (
    DESCRIPTION_PROPERTIES,
    LABEL_PROPERTIES,
    PROVENANCE,
    RDF,
    RDF_TYPE,
    WIKIBASE,
)
from tests.support.strategies import blank_nodes, graphs, iris, literals

TURTLE = """@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
:JoeLouisArena a :Stadium ; :homeStadiumOf :RedWings ;
  rdfs:label "Arena"@de , "Joe Louis Arena"@en-us , "JLA" .
:RedWings a :SportsTeam ; skos:prefLabel "Red Wings"@en ; :founded 1926 .
"""


@pytest.fixture
def labels(tmp_path: Path) -> Names:
    (tmp_path / "kg.ttl").write_text(TURTLE)
    return Names(beliefs=kgeval.read_beliefs(tmp_path / "kg.ttl"))


def term(labels: Names, name: str) -> int:
    found = labels.beliefs.terms.find(f"<http://example.org/{name}>")
    assert found is not None
    return found


def test_the_reader_s_language_comes_first(labels: Names) -> None:
    arena = term(labels, "JoeLouisArena")
    assert labels.of(arena) == "Joe Louis Arena"
    assert Names(beliefs=labels.beliefs, lang="de").of(arena) == "Arena"
    assert Names(beliefs=labels.beliefs, lang="fr").of(arena) == "Joe Louis Arena"


def test_the_first_property_comes_first_and_the_iri_last(labels: Names) -> None:
    team = term(labels, "RedWings")
    assert labels.of(team) == "Red Wings"
    only = Names(beliefs=labels.beliefs, properties=["http://www.w3.org/2000/01/rdf-schema#label"])
    assert only.of(team) == "Red Wings"
    assert only.of(term(labels, "SportsTeam")) == "Sports Team"
    assert Names(beliefs=labels.beliefs, properties=["http://example.org/none"]).of(team) == "Red Wings"


def test_sentences_name_types(labels: Names) -> None:
    sentences = {labels.sentence(row) for row in labels.beliefs.rows}
    assert "Joe Louis Arena (Stadium) is home stadium of Red Wings (Sports Team)" in sentences
    assert "Red Wings is a Sports Team" in sentences
    assert "Red Wings (Sports Team) founded 1926" in sentences


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("<http://example.org/nell/stadium/honda_center>", "honda center"),
        ("<http://dbpedia.org/resource/S%C3%A3o_Paulo>", "São Paulo"),
        ("<http://example.org/ns#cityInState>", "city in state"),
        ("<http://example.org/>", "example.org"),
        ("<urn:isbn:123>", "123"),
        ('"a \\"b\\""@en', 'a "b"'),
        ("_:b1", "_:b1"),
        ("<http://example.org/_>", "http://example.org/_"),
    ],
)
def test_words_for_what_has_no_label(name: str, words: str) -> None:
    assert readable(name) == words


PREFIXES = """@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix schema: <https://schema.org/> . @prefix wikibase: <http://wikiba.se/ontology#> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> . @prefix wd: <http://www.wikidata.org/entity/> .
"""


def names_of(tmp_path: Path, turtle: str, lang: str = "en") -> Names:
    (tmp_path / "kg.ttl").write_text(PREFIXES + turtle + " :x :y :z .")
    return Names(beliefs=kgeval.read_beliefs(tmp_path / "kg.ttl"), lang=lang)


def words(names: Names, s: str, p: str, o: str) -> str:
    return names.in_words((f"<http://example.org/{s}>", f"<http://example.org/{p}>", o))


@pytest.mark.parametrize(
    ("lang", "label"),
    [
        ("pt-br", "Gaborone (br)"), ("pt", "Gaborone (pt)"), ("pt-ao", "Gaborone (pt)"),
        ("es", "Gaborone (es-419)"), ("en", "Gaborone (en)"), ("ja", "Gaborone (en)"), ("en-gb", "Gaborone (en)"),
    ],
)  # fmt: skip
def test_english_stands_in_for_a_language_that_has_no_label(tmp_path: Path, lang: str, label: str) -> None:
    turtle = """:g rdfs:label "Gaborone (ar)"@ar , "Gaborone (de)"@de , "Gaborone (en)"@en , "Gaborone" ,
      "Gaborone (pt)"@pt , "Gaborone (br)"@pt-br , "Gaborone (es-419)"@es-419 ."""
    names = names_of(tmp_path, turtle, lang)
    assert names.name("<http://example.org/g>") == label


def test_without_english_a_label_without_language_then_the_first_tag(tmp_path: Path) -> None:
    turtle = """:a rdfs:label "A"@de , "B" . :b rdfs:label "Z"@ar , "A"@de .
    :capital rdfs:label "Hauptstadt"@de , "capital"@en . :c rdfs:label "C"@de ; skos:prefLabel "See"@ja ."""
    names = names_of(tmp_path, turtle, "ja")
    assert names.name("<http://example.org/a>") == "B"
    assert names.name("<http://example.org/b>") == "Z"
    assert names.name("<http://example.org/c>") == "See"
    assert words(names, "a", "capital", "<http://example.org/b>") == "B capital Z"


def test_two_that_share_a_name_are_told_apart_by_their_descriptions(tmp_path: Path) -> None:
    turtle = """:c rdfs:label "Cochabamba"@en ; a :City ; schema:description "Stadt"@de , "city in Bolivia"@en .
    :d rdfs:label "Cochabamba"@es ; rdfs:comment "department of  Bolivia" . :City rdfs:label "city"@en .
    :l rdfs:label "La Paz"@en ; schema:description "seat of government"@en ."""
    names = names_of(tmp_path, turtle)
    said = words(names, "c", "capitalOf", "<http://example.org/d>")
    assert said == "Cochabamba (city; city in Bolivia) is capital of Cochabamba (department of Bolivia)"
    said = words(names, "c", "near", "<http://example.org/l>")
    assert said == "Cochabamba (city; city in Bolivia) near La Paz"
    assert names.description("<http://example.org/l>") == "seat of government"


@pytest.mark.parametrize(
    ("predicate", "value", "shown"),
    [
        ("population", "246325", "246,325"), ("population", '"-1234567"^^xsd:long', "-1,234,567"),
        ("founded", "1964", "1964"), ("founded", '"12018"^^xsd:gYear', "12018"),
        ("postalCode", "10115", "10115"), ("wikidataId", "1234567", "1234567"),
        ("population", '"00123456"', "00123456"), ("population", '"00123456"^^xsd:integer', "00123456"),
        ("area", "12345.50", "12,345.50"), ("area", "2.5E6", "2,500,000"), ("area", "1.0E300", "1.0E300"),
        ("founded", '"2018-05-03"^^xsd:date', "3 May 2018"), ("founded", '"2018-13-03"^^xsd:date', "2018-13-03"),
        ("at", '"2018-05-03T14:30:00Z"^^xsd:dateTime', "3 May 2018, 14:30 UTC"),
        ("at", '"2018-05-03T14:30:09+02:00"^^xsd:dateTime', "3 May 2018, 14:30:09 UTC+02:00"),
        ("month", '"2018-05"^^xsd:gYearMonth', "May 2018"), ("day", '"--05-03"^^xsd:gMonthDay', "3 May"),
        ("motto", '"246325"', "246325"),
    ],
)  # fmt: skip
def test_numbers_have_separators_and_dates_are_written_out(
    tmp_path: Path, predicate: str, value: str, shown: str
) -> None:
    names = names_of(tmp_path, f":Gaborone :{predicate} {value} .")
    sentences = [names.sentence(row) for row in names.beliefs.rows]
    assert sentences[0].endswith(f" {shown}")


def test_a_predicate_of_wikidata_has_the_name_of_its_property(tmp_path: Path) -> None:
    turtle = """wd:Q1 wdt:P19 wd:Q2 ; rdfs:label "Ada"@en . wd:Q2 rdfs:label "London"@en .
    wd:P19 wikibase:directClaim wdt:P19 ; rdfs:label "Geburtsort"@de , "place of birth"@en ."""
    names = names_of(tmp_path, turtle)
    entity = "http://www.wikidata.org/entity"
    triple = (f"<{entity}/Q1>", "<http://www.wikidata.org/prop/direct/P19>", f"<{entity}/Q2>")
    assert names.in_words(triple) == "Ada place of birth London"


OBSERVED = """:Gaborone rdfs:label "Gaborone"@en ; :population _:b .
    _:b a :PopulationObservation ; :amount 246325 ; :year "2018"^^xsd:gYear .
    :PopulationObservation rdfs:label "population observation"@en ."""


def blank(names: Names, place: int = 0) -> str:
    beliefs = names.beliefs
    return beliefs.terms[beliefs.terms.starting("_:")][place]


def test_a_blank_node_is_shown_by_its_description(tmp_path: Path) -> None:
    names = names_of(tmp_path, OBSERVED)
    described = "population observation of Gaborone: 246,325, 2018"
    assert names.name(blank(names)) == described
    assert words(names, "Gaborone", "population", blank(names)) == f"Gaborone population {described}"
    named = names_of(tmp_path, OBSERVED + ' _:b rdfs:label "census"@en .')
    assert named.name(blank(named)) == "census"


def test_describing_blank_nodes_is_bounded(tmp_path: Path) -> None:
    values = ", ".join(f'"{n:03}{"x" * 500}"' for n in range(300))
    turtle = "_:a :next _:b . _:b :next _:c . _:c :next _:a . _:a :next _:a ; :v " + values
    names = names_of(tmp_path, turtle + " .")
    for place in range(3):
        assert len(names.name(blank(names, place))) < 1000
        assert "next of" in names.name(blank(names, place))
    chain = " . ".join(f"_:n{i} :next _:n{i + 1}" for i in range(2000))
    names = names_of(tmp_path, chain + " .")
    assert len(names.name(blank(names, 7))) < 300
    alone = names_of(tmp_path, '_:a :v "x" .')
    assert alone.name(blank(alone)) == "something without a name: x"


def test_parts_tell_the_graph_s_words_from_ours(tmp_path: Path) -> None:
    turtle = ':g rdfs:label "غابورون"@ar ; a :City ; :capitalOf :b . :b rdfs:label "Botswana"@en .'
    names = names_of(tmp_path, turtle, "ar")
    parts = names.parts(
        ("<http://example.org/g>", "<http://example.org/capitalOf>", "<http://example.org/b>")
    )
    assert [part.text for part in parts if part.name] == ["غابورون", "City", "capital of", "Botswana"]
    assert "".join(part.text for part in parts) == "غابورون (City) is capital of Botswana"


SPECIAL = st.sampled_from(
    [
        ox.NamedNode(name)
        for name in (RDF_TYPE, *LABEL_PROPERTIES, *DESCRIPTION_PROPERTIES, *PROVENANCE, f"{RDF}subject",
                     f"{RDF}reifies", f"{WIKIBASE}directClaim", "http://www.wikidata.org/prop/direct/P1",
                     "http://www.wikidata.org/prop/P1", "http://www.wikidata.org/prop/reference/P1")
    ]
)  # fmt: skip
NODES = st.one_of(iris, blank_nodes, SPECIAL)


@given(
    st.lists(
        st.builds(ox.Quad, NODES, st.one_of(iris, SPECIAL), st.one_of(NODES, literals), graphs), max_size=30
    ),
    st.sampled_from(["en", "de-AT", "", "x"]),
)
def test_whatever_is_in_the_graph_every_row_has_a_sentence_and_its_evidence(
    rows: list[ox.Quad], lang: str
) -> None:
    builder = BeliefsBuilder()
    builder.add_parsed(rows, Role.BELIEF)
    names = Names(beliefs=builder.build(), lang=lang)
    for row in range(len(names.beliefs)):
        assert names.sentence(row)
        assert len(names.sentence(row)) < 3000
        assert all(isinstance(piece.text, str) for piece in evidence_of(names, row, {}))
        assert all(names.description(term) != "" for term in names.beliefs.triple(row))

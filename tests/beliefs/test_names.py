from pathlib import Path

import pytest

import rdf_kgeval as kgeval
from rdf_kgeval.beliefs.names import Names, readable

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
    assert Names(beliefs=labels.beliefs, lang="fr").of(arena) == "JLA"


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

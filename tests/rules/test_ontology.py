"""Reading ontologies: strengths, imports and everything that is wrong with them."""

import logging
from pathlib import Path

import pytest

from rdf_kgeval.common.http.fetch import fetch_rdf
from rdf_kgeval.errors import InputError
from rdf_kgeval.rules.ontology import read_ontology
from rdf_kgeval.rules.rule import AXIOM_CONFIDENCE, Rule
from tests.support.rulecases import PREFIXES

ROOT = Path(__file__).parents[2]
RDF = "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n"


def write(folder: Path, text: str, name: str = "ontology.ttl") -> Path:
    file = folder / name
    file.write_text(PREFIXES + RDF + text, encoding="utf-8")
    return file


def rules_of(folder: Path, text: str) -> dict[str, Rule]:
    return {rule.id: rule for rule in read_ontology(write(folder, text))}


def error_of(*paths: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_ontology(*paths)
    return str(caught.value)


def test_axioms_have_the_usual_confidence(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, ":p rdfs:domain :C ; a owl:FunctionalProperty .")
    assert {rule.confidence for rule in rules.values()} == {AXIOM_CONFIDENCE}


def test_an_annotation_sets_the_weight_of_one_axiom(tmp_path: Path) -> None:
    rules = rules_of(
        tmp_path,
        ":p rdfs:domain :C ; rdfs:range :D . [] a owl:Axiom ; owl:annotatedSource :p ; "
        "owl:annotatedProperty rdfs:domain ; owl:annotatedTarget :C ; kge:weight 0.3 .",
    )
    assert rules["p rdfs:domain C"].theta == 0.3
    assert rules["p rdfs:range D"].confidence == AXIOM_CONFIDENCE


def test_an_annotation_of_a_characteristic(tmp_path: Path) -> None:
    rules = rules_of(
        tmp_path,
        ":p a owl:FunctionalProperty , owl:SymmetricProperty . [] a owl:Axiom ; owl:annotatedSource :p ; "
        "owl:annotatedProperty rdf:type ; owl:annotatedTarget owl:FunctionalProperty ; kge:confidence 0.6 .",
    )
    assert rules["p a owl:FunctionalProperty"].confidence == 0.6
    assert rules["p a owl:SymmetricProperty"].confidence == AXIOM_CONFIDENCE


def test_a_strength_on_the_subject_holds_for_all_its_axioms(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, ":p rdfs:domain :C ; rdfs:range :D ; kge:confidence 0.7 . :q rdfs:domain :C .")
    assert rules["p rdfs:domain C"].confidence == rules["p rdfs:range D"].confidence == 0.7
    assert rules["q rdfs:domain C"].confidence == AXIOM_CONFIDENCE


def test_a_strength_on_a_kind_holds_for_all_of_the_kind(tmp_path: Path) -> None:
    rules = rules_of(
        tmp_path,
        "rdfs:domain kge:confidence 0.8 . owl:FunctionalProperty kge:weight 0.1 . "
        ":p rdfs:domain :C ; rdfs:range :D ; a owl:FunctionalProperty .",
    )
    assert rules["p rdfs:domain C"].confidence == 0.8
    assert rules["p a owl:FunctionalProperty"].weight == 0.1
    assert rules["p rdfs:range D"].confidence == AXIOM_CONFIDENCE


def test_a_strength_on_the_node_of_a_list(tmp_path: Path) -> None:
    rules = rules_of(
        tmp_path, "[] a owl:AllDisjointClasses ; owl:members ( :B :C :D ) ; kge:confidence 0.9 ."
    )
    assert sorted(rules) == ["B owl:disjointWith C", "B owl:disjointWith D", "C owl:disjointWith D"]
    assert {rule.confidence for rule in rules.values()} == {0.9}


def test_a_weaker_axiom_derives_no_others(tmp_path: Path) -> None:
    weaker = (
        "[] a owl:Axiom ; owl:annotatedSource :C ; owl:annotatedProperty rdfs:subClassOf ; "
        "owl:annotatedTarget :D ; kge:confidence 0.6 ."
    )
    schema = ":p rdfs:domain :C . :C rdfs:subClassOf :D . "
    assert "p rdfs:domain D" in rules_of(tmp_path, schema)
    assert sorted(rules_of(tmp_path, schema + weaker)) == ["C rdfs:subClassOf D", "p rdfs:domain C"]


def test_names_that_are_not_unique_are_whole_iris(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, ":p rdfs:domain :C , <http://other.example/C> .")
    assert sorted(rules) == [
        "p rdfs:domain <http://example.org/C>",
        "p rdfs:domain <http://other.example/C>",
    ]


def test_several_files_are_one_ontology_whatever_their_order(tmp_path: Path) -> None:
    one = write(tmp_path, ":p rdfs:domain :C .", "one.ttl")
    two = write(tmp_path, ":C rdfs:subClassOf :D .", "two.ttl")
    bodies = [[(r.id, r.body, r.head) for r in read_ontology(*files)] for files in ((one, two), (two, one))]
    assert bodies[0] == bodies[1]
    assert "p rdfs:domain D" in {name for name, _, _ in bodies[0]}


def test_other_formats(tmp_path: Path) -> None:
    xml = tmp_path / "o.owl"
    xml.write_text(
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        'xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"><rdf:Property rdf:about="http://e/p">'
        '<rdfs:domain rdf:resource="http://e/C"/></rdf:Property></rdf:RDF>'
    )
    assert [rule.id for rule in read_ontology(xml)] == ["p rdfs:domain C"]
    turtle = write(tmp_path, ":p rdfs:domain :C .", "t.owl")
    assert [rule.id for rule in read_ontology(turtle)] == ["p rdfs:domain C"]


def test_the_example_ontologies_are_read() -> None:
    names = [rule.id for rule in read_ontology(ROOT / "ontologies/sports.ttl")]
    assert "City owl:disjointWith State" in names
    assert "playsInCity owl:propertyChainAxiom playsForTeam homeCity" in names
    assert names == sorted(names)


BAD = {
    "not Turtle": ("\n:p rdfs:domain", "line 9", "not valid"),
    "nothing to use": (":a :p :b .", "", "no axiom that is understood"),
    "weight": (":p rdfs:domain :C ; kge:weight -2 .", "", "kge:weight is '-2'"),
    "two strengths": (":p rdfs:domain :C ; kge:weight 2 ; kge:confidence 0.9 .", "", "more than one"),
    "half an annotation": (
        ":p rdfs:domain :C . [] a owl:Axiom ; owl:annotatedSource :p ; kge:weight 1 .", "", "lacks its annotated"),
    "a list without end": (":p owl:propertyChainAxiom _:l . _:l rdf:first :q ; rdf:rest _:l .", "", "broken"),
    "a list with a gap": (":p owl:propertyChainAxiom _:l . _:l rdf:first :q .", "", "broken"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_bad_ontology(case: tuple[str, str, str], tmp_path: Path) -> None:
    text, line, reason = case
    message = error_of(write(tmp_path, text))
    assert message.startswith(str(tmp_path / "ontology.ttl"))
    assert line in message
    assert reason in message
    assert "; " in message
    assert "\n" not in message


def test_all_errors_are_told_at_once(tmp_path: Path) -> None:
    lines = error_of(write(tmp_path, ":p", "a.ttl"), tmp_path / "b.ttl", write(tmp_path, "", "c.txt")).split(
        "\n"
    )
    assert ["a.ttl" in lines[0], "b.ttl" in lines[1], "c.txt" in lines[2]] == [True] * 3


def test_imports_are_not_followed_unless_asked(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = write(tmp_path, "<http://e/o> a owl:Ontology ; owl:imports <http://e/other> . :p rdfs:domain :C .")

    def refuse(iri: str) -> tuple[bytes, str]:
        raise AssertionError(iri)

    with caplog.at_level(logging.WARNING):
        read_ontology(file, fetch=refuse)
    assert "--follow-imports" in caplog.text


def test_imports_are_followed_once_each(tmp_path: Path) -> None:
    file = write(tmp_path, "<http://e/a> a owl:Ontology ; owl:imports <http://e/b> . :p rdfs:domain :C .")
    asked: list[str] = []

    def fetch(iri: str) -> tuple[bytes, str]:
        asked.append(iri)
        other = {"http://e/b": "http://e/c", "http://e/c": "http://e/b"}[iri]
        text = PREFIXES + f"<{iri}> owl:imports <{other}> , <http://e/a> . :C rdfs:subClassOf :D ."
        return text.encode(), "text/turtle"

    names = [rule.id for rule in read_ontology(file, follow_imports=True, fetch=fetch)]
    assert asked == ["http://e/b", "http://e/c"]
    assert "p rdfs:domain D" in names


def test_an_import_that_is_no_rdf(tmp_path: Path) -> None:
    file = write(tmp_path, "<http://e/a> owl:imports <http://e/b> .")
    with pytest.raises(InputError, match="came as text/html, which is not RDF"):
        read_ontology(file, follow_imports=True, fetch=lambda _: (b"<html>", "text/html"))


@pytest.mark.parametrize("iri", ["file:///etc/passwd", "ftp://e/o", "data:text/turtle,x"])
def test_only_http_is_fetched(iri: str) -> None:
    with pytest.raises(InputError, match="not an http or https IRI"):
        fetch_rdf(iri)


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(InputError, match="cannot be fetched"):
        fetch_rdf("http://127.0.0.1:1/ontology")

import json
from pathlib import Path

import pytest
import rdflib
from hypothesis import assume, given
from hypothesis import strategies as st

import rdf_kgeval as kgeval
from rdf_kgeval.beliefs.prefixes import WELL_KNOWN, Prefixes, nearest, parse_prefixes
from rdf_kgeval.beliefs.table import Beliefs
from rdf_kgeval.errors import InputError
from rdf_kgeval.runs.run import open_run
from tests.support.run_config import read_entries, write_entries

EX = "http://example.org/"
TURTLE = f"@prefix ex: <{EX}> . ex:Sucre ex:capitalOf ex:Bolivia ; ex:country ex:Bolivia ."
XML = f"""<rdf:RDF xmlns:rdf="{WELL_KNOWN["rdf"]}" xmlns:ex="{EX}">
<rdf:Description rdf:about="{EX}Sucre"><ex:capitalOf rdf:resource="{EX}Bolivia"/></rdf:Description></rdf:RDF>"""
JSON_LD = json.dumps(
    {
        "@context": {"ex": EX},
        "@id": "ex:Sucre",
        "ex:capitalOf": {"@id": "ex:Bolivia"},
        "ex:country": "Bolivia",
    }
)


def test_the_user_s_prefixes_come_first_then_the_source_s_then_the_well_known() -> None:
    prefixes = Prefixes.of({"wd": f"{EX}mine/"}, {"wd": f"{EX}theirs/", "owl": f"{EX}owl/"})
    assert prefixes.expand("wd:Q1") == f"{EX}mine/Q1"
    assert prefixes.expand("owl:Thing") == f"{EX}owl/Thing"
    assert prefixes.expand("rdfs:label") == WELL_KNOWN["rdfs"] + "label"
    assert prefixes.shorten("http://www.wikidata.org/entity/Q1") == "http://www.wikidata.org/entity/Q1"


def test_iris_are_taken_as_they_are() -> None:
    prefixes = Prefixes.of({"x": EX})
    assert prefixes.expand(f"{EX}a") == prefixes.expand(f"<{EX}a>") == f"{EX}a"
    assert prefixes.expand("<x:a>") == "x:a"
    assert prefixes.expand("urn:isbn:1") == "urn:isbn:1"


def test_the_longest_namespace_names_an_iri() -> None:
    prefixes = Prefixes.of({"a": EX, "b": f"{EX}b/"})
    assert prefixes.shorten(f"{EX}b/c") == "b:c"
    assert prefixes.shorten(EX) == EX


@pytest.mark.parametrize("text", ["shema:name", "nothing-like-it:name", "word", "ex:a b", "", ":a"])
def test_what_names_nothing_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        Prefixes().expand(text)


def test_an_unknown_prefix_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match="there is no prefix 'shema'; did you mean schema:name"):
        Prefixes().expand("shema:name")


def test_a_file_cannot_hide_a_name_or_take_a_scheme() -> None:
    hostile = {
        "http": "http://evil.example/",
        "urn": "http://evil.example/",
        "n\u202e": "http://evil.example/",
        "n\x1b[31m": "http://evil.example/",
        "a b": "http://evil.example/",
        "ok": "no namespace",
    }
    assert Prefixes.of(hostile) == Prefixes()
    assert Prefixes.of(hostile).expand("http://example.org/a") == "http://example.org/a"


names = st.text(st.sampled_from("abZ9-._é\u202e"), max_size=4)
spaces = st.text(st.sampled_from("ab/#:é"), max_size=5).map(lambda rest: f"http://e/{rest}")


@given(st.dictionaries(names, spaces), st.text(st.sampled_from("ab/#:é~%41"), max_size=8))
def test_a_curie_stands_for_the_iri_that_it_was_made_from(declared: dict[str, str], rest: str) -> None:
    prefixes = Prefixes.of(declared)
    iri = f"http://e/{rest}".replace("%", "")
    assume(iri.count("#") < 2)
    assert prefixes.expand(prefixes.shorten(iri)) == iri
    assert Prefixes.of(dict(reversed(declared.items()))) == prefixes


def test_the_nearest_local_name_is_suggested() -> None:
    there = [f"{EX}capital", f"{EX}country", "urn:x:population"]
    assert nearest(f"{EX}captial", there) == f"{EX}capital"
    assert nearest("poplation", there) == "urn:x:population"
    assert nearest(f"{EX}zzz", there) is None


def test_what_is_no_prefix_is_refused() -> None:
    assert parse_prefixes(["ex:=<http://e/>"]) == {"ex": "http://e/"}
    for text in ("ex", "ex=", "=", "ex=nothing", "a b=http://e/", "http=http://e/"):
        with pytest.raises(InputError, match="is not a prefix"):
            parse_prefixes([text])


@pytest.mark.parametrize(("name", "text"), [("g.ttl", TURTLE), ("g.rdf", XML), ("g.jsonld", JSON_LD)])
def test_files_bring_their_prefixes(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    beliefs = kgeval.read_beliefs(tmp_path / name, predicates=["ex:capitalOf"])
    assert list(beliefs.by_predicate()) == [f"{EX}capitalOf"]
    assert beliefs.prefixes.shorten(f"{EX}capitalOf") == "ex:capitalOf"


def test_graphs_in_python_bring_their_prefixes() -> None:
    graph = rdflib.Graph().parse(data=TURTLE)
    assert list(kgeval.read_beliefs(graph, predicates=["ex:country"]).by_predicate()) == [f"{EX}country"]


def test_python_takes_prefixes(tmp_path: Path) -> None:
    (tmp_path / "g.nt").write_text(f"<{EX}a> <{EX}b> <{EX}c> .\n")
    beliefs = kgeval.read_beliefs(tmp_path / "g.nt", predicates=["mine:b"], prefixes={"mine": EX})
    assert beliefs.n_beliefs == 1
    with pytest.raises(InputError, match="is not a prefix"):
        kgeval.read_beliefs(tmp_path / "g.nt", prefixes={"mi ne": EX})


def read(tmp_path: Path, *predicates: str) -> Beliefs:
    (tmp_path / "g.ttl").write_text(TURTLE + " <x:a> <x:p> 1 .")
    return kgeval.read_beliefs(tmp_path / "g.ttl", predicates=predicates)


@pytest.mark.parametrize("wrong", ["ex:contry", "contry", f"{EX}contry"])
def test_a_wrong_predicate_suggests_one_that_is_there(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(InputError, match="did you mean ex:country"):
        read(tmp_path, wrong)


def test_an_iri_of_the_graph_needs_no_prefix(tmp_path: Path) -> None:
    assert list(read(tmp_path, "x:p").by_predicate()) == ["x:p"]


def test_a_run_keeps_the_prefixes_and_an_old_one_opens(tmp_path: Path) -> None:
    from rdf_kgeval.pipeline import prepare
    from rdf_kgeval.runs.create import Coupling
    from rdf_kgeval.sources.load import Sources
    from rdf_kgeval.sources.scope import Scope

    (tmp_path / "g.ttl").write_text(TURTLE)
    sources = Sources(
        files=[tmp_path / "g.ttl"], scope=Scope.of(predicates=["k:country"]), prefixes={"k": EX}
    )
    prepare(tmp_path / "run", sources, Coupling())
    run = open_run(tmp_path / "run")
    assert run.config.scope.predicates == (f"<{EX}country>",)
    assert run.beliefs.prefixes.declared == (("k", EX), ("ex", EX))
    entries = read_entries(tmp_path / "run")
    del entries["prefixes"]
    write_entries(tmp_path / "run", entries)
    assert open_run(tmp_path / "run").beliefs.prefixes == Prefixes()

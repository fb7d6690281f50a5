"""A graph of which nobody said anything: by which rules it is evaluated, and what is said about it."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from rdf_kgeval.beliefs.table import Beliefs
from rdf_kgeval.coupling.graph import couple
from rdf_kgeval.errors import InputError
from rdf_kgeval.rules.ontology import read_ontology
from rdf_kgeval.rules.rule import Rule
from rdf_kgeval.runs import discovery
from rdf_kgeval.runs.create import Coupling, _couple
from rdf_kgeval.runs.discovery import propose_rules
from rdf_kgeval.sources.load import read_beliefs
from tests.conftest import Server
from tests.functional.test_cli import kgeval, league
from tests.functional.test_pages import Browser
from tests.support.annotators import launch

EX = "http://example.org/"
OWL = "http://www.w3.org/2002/07/owl#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
PREFIXES = f"""@prefix : <{EX}> . @prefix owl: <{OWL}> . @prefix rdfs: <{RDFS}> . @prefix skos: <{SKOS}> .
@prefix rdf: <{RDF}> .
"""


def read(tmp_path: Path, text: str) -> Beliefs:
    (tmp_path / "kg.ttl").write_text(PREFIXES + text)
    return read_beliefs(tmp_path / "kg.ttl")


ONTOLOGY = """
:knows rdfs:domain :Person ; rdfs:range :Person ; a owl:SymmetricProperty .
:Person rdfs:subClassOf :Agent ; owl:disjointWith :Place .
[] a owl:AllDisjointClasses ; owl:members ( :Person :River :Hill ) .
"""


def test_a_graph_s_own_schema_is_its_ontology(tmp_path: Path) -> None:
    (tmp_path / "ontology.ttl").write_text(PREFIXES + ONTOLOGY)
    beliefs = read(tmp_path, ONTOLOGY + ":a :knows :b ; a :Person .")
    rules, notes = propose_rules(beliefs)
    expected = read_ontology(tmp_path / "ontology.ttl")
    shape = {(rule.id, rule.body, rule.head, rule.confidence) for rule in rules}
    assert shape == {(rule.id, rule.body, rule.head, rule.confidence) for rule in expected}
    assert notes[0] == f"{len(expected)} rules from the graph's own schema"


def test_a_schema_that_is_broken_or_too_large_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beliefs = read(tmp_path, ":a :p :b . [] a owl:AllDisjointClasses ; owl:members [ rdf:first :A ] .")
    rules, notes = propose_rules(beliefs)
    assert rules == []
    assert notes[0].startswith("the graph's own schema is not used: ")
    monkeypatch.setattr(discovery, "MOST_AXIOMS", 1)
    rules, notes = propose_rules(beliefs)
    assert rules == []
    assert "too many to be used unasked; give them as a file by --ontology" in notes[0]


def test_statements_about_statements_are_no_schema_of_use(tmp_path: Path) -> None:
    (tmp_path / "kg.ttl").write_text(
        PREFIXES + ":r rdf:reifies <<( :a :p :b )>> . :a :p :b . :p rdfs:domain :A ."
    )
    beliefs = read_beliefs(tmp_path / "kg.ttl")
    assert beliefs.by_predicate() == {f"{EX}p": 1}
    rules, _ = propose_rules(beliefs)
    assert [rule.id for rule in rules] == ["p rdfs:domain A"]


def test_mined_rules_conclude_beliefs_and_the_surest_come_first(tmp_path: Path) -> None:
    names = "".join(f':player{i} rdfs:label "player {i % 3}" ; :code "{i % 3}" .' for i in range(40))
    beliefs = read(tmp_path, league(40) + names)
    rules, notes = propose_rules(beliefs)
    assert rules
    assert not any(rule.head and rule.head[1] == f"<{RDFS}label>" for rule in rules)
    confidences = [rule.confidence or 0 for rule in rules]
    assert confidences == sorted(confidences, reverse=True)
    (note,) = notes
    assert note.startswith(f"as no rules are given, {len(rules)} are mined from the beliefs; ")


def test_a_large_graph_is_mined_only_if_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "MOST_TRIPLES", 10)
    rules, notes = propose_rules(read(tmp_path, league(40)))
    assert rules == []
    assert "only if you say --mine" in notes[0]


def test_where_there_is_nothing_to_mine(tmp_path: Path) -> None:
    assert propose_rules(read(tmp_path, ":a :p :b .")) == ([], ())
    unlike = "".join(f":a{i} :p{i} :b{i} ." for i in range(20))
    rules, notes = propose_rules(read(tmp_path, unlike))
    assert (rules, notes) == ([], ["no rules are given, and none can be mined from the beliefs"])


def test_rules_that_nobody_asked_for_cannot_be_too_many(tmp_path: Path) -> None:
    beliefs = read(tmp_path, league(40))
    every, _ = propose_rules(beliefs)
    sizes = np.cumsum([couple(beliefs, [rule]).groundings.sum() for rule in every])
    assert len(every) >= 2
    limit = int(sizes[len(every) // 2 - 1])
    graph, notes = _couple(beliefs, [], Coupling(discover=True, max_groundings=limit), lambda *_: None)
    assert 0 < len(graph.rules) < len(every)
    assert list(graph.rules) == every[: len(graph.rules)]
    assert notes[-1] == f"these rules have too many groundings; the surest {len(graph.rules)} are used"
    with pytest.raises(InputError, match="--max-groundings"):
        _couple(beliefs, every, Coupling(max_groundings=limit), lambda *_: None)


def test_trouble_that_fewer_rules_do_not_mend_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def fail(_: object, rules: Sequence[Rule], **__: object) -> None:
        tried.append(len(rules))
        raise InputError("no room")

    monkeypatch.setattr("rdf_kgeval.runs.create.couple", fail)
    with pytest.raises(InputError, match="no room"):
        _couple(read(tmp_path, league(40)), [], Coupling(discover=True), lambda *_: None)
    assert len(tried) == 1


LEAGUE = league(40) + "\n" + PREFIXES + ':player1 rdfs:label "Player One" . :playsForTeam rdfs:range :Team .'


def test_one_command_from_nothing_with_a_file(tmp_path: Path) -> None:
    (tmp_path / "kg.ttl").write_text(LEAGUE)
    rows = ["subject,predicate,object,label"]
    beliefs = read_beliefs(tmp_path / "kg.ttl")
    rows += [
        ",".join((*beliefs.triple(row), "1"))
        for row in range(len(beliefs))
        if '"' not in beliefs.triple(row)[2]
    ]
    (tmp_path / "gold.csv").write_text("\n".join(rows) + "\n")
    done = kgeval("evaluate", "kg.ttl", "--oracle", "gold.csv", "--run", "run", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "112 triples read:\n  80  beliefs to evaluate (--predicate, --scope)\n" in done.stderr
    assert "note: nobody is asked about rdfs:label (1), rdfs:range (1): " in done.stderr
    assert "1 rule from the graph's own schema" in done.stderr
    assert "are mined from the beliefs; kgeval show --rules lists them, --no-mine does without" in done.stderr
    result = json.loads(done.stdout)
    assert result["beliefs"] == 80
    assert result["by_predicate"].keys() == {
        f"{EX}{name}" for name in ("playsForTeam", "playsInLeague", "teamPlaysInLeague")
    }
    shown = json.loads(kgeval("show", "run", "--json", cwd=tmp_path).stdout)
    assert shown["constraints"] > 0
    assert shown["context"]["background"] == 2
    without = kgeval("evaluate", "kg.ttl", "--oracle", "gold.csv", "--no-mine", "--run", "bare", cwd=tmp_path)
    assert without.returncode == 0
    assert "mined" not in without.stderr
    assert json.loads(kgeval("show", "bare", "--json", cwd=tmp_path).stdout)["constraints"] == 0


def test_one_command_from_nothing_with_an_endpoint_and_a_page(tmp_path: Path, oxigraph: Server) -> None:
    graph = f"{EX}nothing"
    oxigraph.load(LEAGUE.encode(), graph)
    run = tmp_path / "run"
    served = launch(
        "evaluate", "--endpoint", oxigraph.query, "--graph", graph, "--oracle", "web", "--run", str(run)
    )
    try:
        assert "mined from the beliefs" in served.said
        assert "  80  beliefs to evaluate" in served.said
        me = Browser(served, "me")
        assert me.sentence
        me.send("true")
        me.wait()
        assert len((run / "verdicts.jsonl").read_text().splitlines()) == 1
        served.stop()
        assert served.process.returncode == 0
    finally:
        served.kill()

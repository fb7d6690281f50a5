"""Beliefs by CURIEs and by names, answers of other runs, and who said what when."""

import csv
import json
from pathlib import Path

import pytest

from tests.functional.test_cli import kgeval

TURTLE = """@prefix ex: <http://example.org/gaz/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:c1 rdfs:label "Cochabamba"@es ; ex:country ex:bo ; ex:population 630587 .
ex:d1 rdfs:label "Cochabamba Department"@en ; ex:country ex:bo .
ex:bo rdfs:label "Bolivia"@en ; ex:capital ex:Sucre .
"""
GOLD = """subject,predicate,object,label
ex:c1,ex:country,ex:bo,1
ex:d1,ex:country,http://example.org/gaz/bo,0
<http://example.org/gaz/bo>,ex:capital,ex:Sucre,1
"""
CHOSEN = ("--no-mine", "--predicate", "ex:country", "--predicate", "ex:capital")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("names")
    (folder / "g.ttl").write_text(TURTLE)
    (folder / "gold.csv").write_text(GOLD)
    done = kgeval("evaluate", "g.ttl", *CHOSEN, "--oracle", "gold.csv", "--run", "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "3 of 3 beliefs asked" in done.stdout
    return folder


@pytest.mark.parametrize(
    "belief",
    [
        "Cochabamba country",
        "cochabamba COUNTRY bolivia",
        "ex:c1 ex:country ex:bo",
        "ex:c1 <http://example.org/gaz/country> http://example.org/gaz/bo .",
    ],
)
def test_a_belief_is_found_by_names_and_curies(folder: Path, belief: str) -> None:
    assert (
        kgeval("explain", "run", belief, cwd=folder).stdout == "Cochabamba country Bolivia: you said true\n"
    )


def test_several_beliefs_of_a_name_are_listed(folder: Path) -> None:
    found = kgeval("explain", "run", "Cochabamba", cwd=folder)
    assert found.returncode == 1
    lines = found.stdout.splitlines()
    assert [line[14:] for line in lines] == [
        "Cochabamba country Bolivia", "Cochabamba Department country Bolivia",
    ]  # fmt: skip
    assert found.stderr == (
        "kgeval: 2 beliefs have names like 'Cochabamba': add words, or give the id of one\n"
    )
    by_id = kgeval("explain", "run", lines[1][:12], cwd=folder)
    assert by_id.stdout == "Cochabamba Department country Bolivia: you said false\n"


def test_names_that_nothing_has_are_refused(folder: Path) -> None:
    for wrong in ("La Paz", "ex:c1 ex:country ex:pe", "?!", "ex:c1 <no"):
        failed = kgeval("explain", "run", wrong, cwd=folder)
        assert (failed.returncode, failed.stdout) == (1, "")
        assert len(failed.stderr.splitlines()) == 1


def test_labels_say_who_said_what_when(folder: Path) -> None:
    rows = list(csv.DictReader(kgeval("labels", "run", cwd=folder).stdout.splitlines()))
    assert {row["sentence"] for row in rows} == {
        "Bolivia capital Sucre",
        "Cochabamba country Bolivia",
        "Cochabamba Department country Bolivia",
    }
    assert all(row["annotator"] == "gold" and row["time"].endswith("+00:00") for row in rows)
    assert all(row["note"] == "" for row in rows)
    assert json.loads(kgeval("labels", "run", "--json", cwd=folder).stdout)[0].keys() == rows[0].keys()


def test_notes_are_listed(folder: Path) -> None:
    assert kgeval("init", "noted", "g.ttl", *CHOSEN, cwd=folder).returncode == 0
    identity = json.loads(kgeval("labels", "run", "--json", cwd=folder).stdout)[0]["id"]
    (folder / "said.csv").write_text(
        f"task,worker,label,note,source\n{identity},ada,true,as of 2020,http://example.org/atlas\n"
    )
    assert kgeval("import", "noted", "said.csv", cwd=folder).returncode == 0
    (row,) = csv.DictReader(kgeval("labels", "noted", cwd=folder).stdout.splitlines())
    assert (row["annotator"], row["note"], row["evidence"]) == (
        "ada", "as of 2020", "http://example.org/atlas",
    )  # fmt: skip


def test_a_run_takes_the_answers_of_another(folder: Path) -> None:
    assert (
        kgeval("init", "other", "g.ttl", "--no-mine", "--predicate", "ex:country", cwd=folder).returncode == 0
    )
    taken = kgeval("import", "other", "run", cwd=folder)
    assert taken.stderr == (
        "2 answers by 1 annotator on 2 beliefs; 0 were there before\n"
        "note: left out: 1 belief of run, not evaluated in this run\n"
    )
    log = (folder / "other" / "verdicts.jsonl").read_text()
    times = {json.loads(line)["time"] for line in log.splitlines()}
    assert times <= {
        json.loads(line)["time"] for line in (folder / "run" / "verdicts.jsonl").read_text().splitlines()
    }
    again = kgeval("import", "other", "run", cwd=folder)
    assert again.stderr.startswith("0 answers by 0 annotators on 0 beliefs; 2 were there before\n")
    assert (folder / "other" / "verdicts.jsonl").read_text() == log
    assert "2 of 2 beliefs asked" in kgeval("estimate", "other", cwd=folder).stdout


def test_an_annotator_who_differs_is_told_and_what_the_run_has_stands(folder: Path) -> None:
    assert kgeval("init", "own", "g.ttl", *CHOSEN, cwd=folder).returncode == 0
    (folder / "otherwise.csv").write_text(GOLD.replace(",1\n", ",0\n"))
    done = kgeval("ask", "own", "--oracle", "otherwise.csv", "--budget", 3, cwd=folder)
    assert done.returncode == 0, done.stderr
    taken = kgeval("import", "own", "run", cwd=folder).stderr
    assert "note: left out: 2 answers of an annotator who says otherwise in this run, which stands\n" in taken
    assert "; 1 were there before" in taken


def test_a_run_on_another_graph_is_refused(folder: Path) -> None:
    (folder / "far.ttl").write_text("<http://e/a> <http://e/b> <http://e/c> .")
    assert kgeval("init", "far", "far.ttl", "--no-mine", cwd=folder).returncode == 0
    failed = kgeval("import", "far", "run", cwd=folder)
    assert failed.returncode == 1
    assert "no answer of the other run is on a belief of this one" in failed.stderr
    assert (folder / "far" / "verdicts.jsonl").read_text() == ""


def test_a_scope_of_an_estimate_knows_the_prefixes(folder: Path) -> None:
    (folder / "scope.rq").write_text("SELECT ?s ?p ?o { ?s ?p ?o FILTER(?p = ex:country) }")
    part = json.loads(kgeval("estimate", "run", "--scope", "scope.rq", "--json", cwd=folder).stdout)
    assert (part["beliefs"], part["asked"]) == (2, 2)


def test_the_names_of_a_record_may_be_curies(folder: Path) -> None:
    options = ("--dataset", "ex:gazetteer", "--license", "ex:licence")
    done = kgeval("publish", "run", "-o", "record.nq", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    record = (folder / "record.nq").read_text()
    names = ("gazetteer>", "licence>")
    assert all(f"<http://example.org/gaz/{name}" in record for name in names)
    assert "<ex:" not in record


def test_a_record_is_written_to_no_graph_of_an_unknown_prefix(folder: Path) -> None:
    store = ("--endpoint", "http://127.0.0.1:1/q")
    wrong = kgeval("publish", "run", "--write-back", "exx:g", *store, cwd=folder)
    assert wrong.returncode == 1
    assert "exx:g: there is no prefix 'exx'; did you mean ex:g?" in wrong.stderr

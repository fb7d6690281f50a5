"""What the command says where a newcomer goes wrong: what it is, and what to type next."""

import json
from pathlib import Path

import pytest

from rdf_kgeval.pipeline import read_evaluation
from rdf_kgeval.publishing.rdf import RecordOptions, make_record
from rdf_kgeval.publishing.writeback import Target
from rdf_kgeval.runs.run import open_run
from tests.conftest import Server
from tests.functional.test_cli import EXAMPLE, kgeval

SOURCE = (EXAMPLE / "kg.ttl", "--no-mine")
GOLD = ("--oracle", EXAMPLE / "gold.csv")


def test_a_spent_budget_says_how_to_go_on(tmp_path: Path) -> None:
    assert kgeval("evaluate", *SOURCE, *GOLD, "--run", "run", "--budget", 4, cwd=tmp_path).returncode == 0
    said = kgeval("ask", "run", *GOLD, cwd=tmp_path).stderr
    assert "The budget of 4 answers is spent. Go on with --budget 14.\n" in said
    failed = kgeval("export", "run", "--to", "csv", cwd=tmp_path)
    assert (failed.returncode, failed.stderr) == (
        1, "kgeval: The budget of 4 answers is spent. Go on with --budget 14.\n",
    )  # fmt: skip
    assert "6 of 8 beliefs asked" in kgeval("ask", "run", *GOLD, "--budget", 6, cwd=tmp_path).stdout


@pytest.mark.parametrize("command", ["plan", "show", "estimate"])
def test_a_file_in_place_of_a_run_says_what_to_type(tmp_path: Path, command: str) -> None:
    (tmp_path / "gazetteer.ttl").write_text("<x:a> <x:b> <x:c> .")
    failed = kgeval(command, "gazetteer.ttl", cwd=tmp_path)
    assert failed.stderr == (
        "kgeval: gazetteer.ttl is a file. First: kgeval init run gazetteer.ttl; "
        f"then: kgeval {command} run.\n"
    )
    assert failed.returncode == 1


def test_a_misspelt_oracle_is_told_before_anything_is_read(tmp_path: Path) -> None:
    failed = kgeval("evaluate", "absent.ttl", "--oracle", "Web", cwd=tmp_path)
    assert failed.stderr == (
        "kgeval: --oracle takes web, prompt or a CSV file; there is no file 'Web'. Did you mean web?\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--oracle", "half.csv"], "half.csv, line 1: the column label is missing"),
        ([*GOLD, "--margin", "0.7"], "the margin 0.7 is not between 0 and 0.5"),
        ([*GOLD, "--report", "absent/r.html"], "its folder does not exist"),
        ([*GOLD, "--context", "absent.ttl"], "absent.ttl cannot be read: No such file or directory"),
    ],
)
def test_options_are_checked_before_anything_is_loaded(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "half.csv").write_text("subject,predicate,object\n")
    (tmp_path / "broken.ttl").write_text("this is read last")
    failed = kgeval("evaluate", "broken.ttl", *arguments, cwd=tmp_path)
    assert failed.returncode == 1
    assert message in failed.stderr
    assert "broken.ttl" not in failed.stderr


def test_a_plan_says_how_many_more(tmp_path: Path) -> None:
    assert kgeval("evaluate", *SOURCE, *GOLD, "--run", "run", "--budget", 5, cwd=tmp_path).returncode == 0
    planned = json.loads(kgeval("plan", "run", "--json", cwd=tmp_path).stdout)
    assert (planned["asked"], planned["more"]) == (5, 3)
    assert "5 beliefs asked so far; stratified/bayes needs about 3 more\n" in (
        kgeval("plan", "run", cwd=tmp_path).stdout
    )
    assert kgeval("ask", "run", *GOLD, "--budget", 9, cwd=tmp_path).returncode == 0
    assert "stratified/bayes needs no more" in kgeval("plan", "run", cwd=tmp_path).stdout


def test_a_new_run_s_plan_says_nothing_of_more(tmp_path: Path) -> None:
    assert kgeval("init", "run", *SOURCE, cwd=tmp_path).returncode == 0
    planned = json.loads(kgeval("plan", "run", "--expect", "95%", "--json", cwd=tmp_path).stdout)
    assert (planned["asked"], planned["more"]) == (0, None)


def test_nothing_known_is_said_without_a_number(tmp_path: Path) -> None:
    assert kgeval("init", "run", *SOURCE, cwd=tmp_path).returncode == 0
    ids = kgeval("export", "run", "--to", "csv", cwd=tmp_path).stdout.splitlines()
    said = kgeval("explain", "run", ids[1].split(",")[0], cwd=tmp_path).stdout
    assert said.endswith(": unknown: no answer so far says anything about it\n")


def test_an_address_without_updates_names_the_option(tmp_path: Path, oxigraph: Server) -> None:
    assert kgeval("init", "run", *SOURCE, cwd=tmp_path).returncode == 0
    target = ("--write-back", "http://g.example/messages", "--endpoint", oxigraph.query)
    failed = kgeval("publish", "run", *target, cwd=tmp_path)
    assert failed.returncode == 1
    assert "this address takes no updates; name the one that does with --update-endpoint\n" in failed.stderr
    done = kgeval("publish", "run", *target, "--update-endpoint", oxigraph.update, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_writing_back_tells_how_far_it_is(tmp_path: Path, oxigraph: Server) -> None:
    assert kgeval("init", "run", *SOURCE, cwd=tmp_path).returncode == 0
    run = open_run(tmp_path / "run")
    options = RecordOptions(graph="<http://g.example/bar>")
    record = make_record(read_evaluation(run), options, run.config, quads=False)
    told: list[tuple[str, int, int | None]] = []
    target = Target("<http://g.example/bar>", oxigraph.query, oxigraph.update)
    triples = target.write(record, lambda *told_now: told.append(told_now))
    assert told[-1] == ("writing back", triples, triples)

"""Evaluating as a user meets it: processes that are killed, disks that are full, answers that are typed."""

import csv
import io
import json
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.pipeline import Evaluation, read_evaluation
from rdf_kgeval.runs.run import open_run
from rdf_kgeval.verdicts.gold import read_gold
from rdf_kgeval.verdicts.log import Answer, Verdict, read_log
from tests.functional.test_cli import KGEVAL, kgeval

EXAMPLE = Path(__file__).parents[2] / "examples" / "motivating"
GREEDY = Settings(policy="greedy", estimator="inferable")
SOURCES = ("kg.ttl", "--ontology", "ontology.ttl", "--rules", "rules")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Path:
    made = kgeval("init", "run", *SOURCES, cwd=folder)
    assert made.returncode == 0, made.stderr
    return folder / "run"


def test_evaluate_from_file_to_accuracy(folder: Path) -> None:
    options = ("--oracle", "gold.csv", "--policy", "greedy", "--seed-size", "0")
    done = kgeval("evaluate", *SOURCES, *options, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert set(result) == {
        "accuracy", "interval", "level", "margin", "beliefs", "asked", "inferred", "policy", "estimator",
        "seed", "stopped", "seconds", "by_predicate", "read", "accounts",
    }  # fmt: skip
    assert (result["accuracy"], result["interval"], result["beliefs"]) == (0.75, None, 8)
    assert result["asked"] + result["inferred"] == 8
    assert sum(entry["beliefs"] for entry in result["by_predicate"].values()) == 8
    in_words = kgeval("evaluate", *SOURCES, *options, cwd=folder)
    assert "accuracy 75.0% by greedy/inferable, which carries no interval" in in_words.stdout
    assert sorted(p.name for p in folder.iterdir()) == sorted(p.name for p in EXAMPLE.iterdir())


def test_evaluate_keeps_a_run_and_goes_on_with_it(folder: Path) -> None:
    options = ("--oracle", "gold.csv", "--seed-size", "2", "--policy", "random", "--run", "run", "--json")
    first = kgeval("evaluate", *SOURCES, *options, "--budget", "3", cwd=folder)
    assert (json.loads(first.stdout)["asked"], json.loads(first.stdout)["stopped"]) == (3, "budget")
    more = kgeval("evaluate", *SOURCES, *options, "--budget", "6", cwd=folder)
    assert json.loads(more.stdout)["asked"] == 6
    without_sources = kgeval("evaluate", "--oracle", "gold.csv", "--run", "run", "--json", cwd=folder)
    assert json.loads(without_sources.stdout)["asked"] == 6
    (folder / "kg.ttl").write_text("<http://a/> <http://b/> <http://c/> .")
    others = kgeval("evaluate", *SOURCES, *options, cwd=folder)
    assert others.returncode == 1
    assert "run was made from other sources" in others.stderr
    changed = kgeval("ask", "run", "--policy", "greedy", "--oracle", "gold.csv", cwd=folder)
    assert changed.returncode == 1
    assert "has verdicts that were asked for with policy random" in changed.stderr


def test_thresholds_make_exit_code_3(folder: Path) -> None:
    options = (*SOURCES, "--oracle", "gold.csv", "--seed-size", "0", "--policy", "greedy")
    assert kgeval("evaluate", *options, "--min-accuracy", "0.7", cwd=folder).returncode == 0
    assert kgeval("evaluate", *options, "--min-accuracy", "nan", cwd=folder).returncode != 0
    low = kgeval("evaluate", *options, "--min-accuracy", "0.8", cwd=folder)
    assert (low.returncode, low.stderr) == (3, "kgeval: the accuracy is below 0.8\n")
    wide = kgeval("evaluate", *options, "--max-margin", "0.05", cwd=folder)
    assert (wide.returncode, wide.stderr) == (3, "kgeval: there is no interval\n")


def test_a_person_answers_undoes_skips_and_quits(run: Path) -> None:
    typed = b"t\nmaybe\nu\ns\nF\nambiguous\nq\n"
    options = ("--policy", "random", "--seed-size", "8", "--budget", "8", "--annotator", "ann")
    asked = kgeval("ask", run, *options, cwd=run.parent, stdin=typed)
    assert asked.returncode == 0, asked.stderr
    assert "1 of 8: " in asked.stderr
    assert "https://duckduckgo.com/?q=" in asked.stderr
    assert asked.stderr.count("noted") == 3
    records = read_log(run / "verdicts.jsonl")
    assert [type(record).__name__ for record in records] == ["Verdict", "Retraction", "Verdict", "Verdict"]
    assert {record.annotator for record in records} == {"ann"}
    assert [r.answer for r in records if isinstance(r, Verdict)][1:] == [Answer.FALSE, Answer.AMBIGUOUS]
    evaluation = read_evaluation(open_run(run))
    assert evaluation.n_verdicts == 2
    assert evaluation.accuracy == 0.0


def test_labels_are_a_list_to_repair_from(run: Path) -> None:
    answered = kgeval(
        "ask", run, "--oracle", "gold.csv", "--seed-size", "0", "--policy", "greedy", cwd=run.parent
    )
    assert answered.returncode == 0, answered.stderr
    listed = kgeval("labels", run, cwd=run.parent)
    rows = list(csv.DictReader(io.StringIO(listed.stdout)))
    gold = read_gold(EXAMPLE / "gold.csv")
    assert {(r["subject"], r["predicate"], r["object"]): r["label"] == "1" for r in rows} == gold
    assert all(r["reason"] for r in rows if r["source"] == "inferred")
    wrong = json.loads(kgeval("labels", run, "--wrong", "--json", cwd=run.parent).stdout)
    assert {row["object"] for row in wrong} == {"<http://example.org/TajMahal>", "<http://example.org/State>"}
    shown = kgeval("estimate", run, "--by", "predicate", cwd=run.parent)
    assert ":cityInState" in shown.stdout
    assert "cityInState" not in kgeval("estimate", run, cwd=run.parent).stdout


def test_plan_compare_and_demo(folder: Path, run: Path) -> None:
    planned = json.loads(kgeval("plan", run, "--json", cwd=folder).stdout)
    assert {row["method"] for row in planned["rows"]} >= {"greedy/inferable", "stratified/bayes"}
    assert all(0 < row["verdicts"] <= 8 and row["hours"] > 0 for row in planned["rows"])
    methods = "greedy/inferable,random/mean,cascade/inferable"
    options = ("--oracle", "gold.csv", "--methods", methods, "--seeds", "3", "--seed-size", "2")
    done = kgeval("compare", *SOURCES, *options, "--report", "page.html", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [row["method"] for row in rows] == methods.split(",")
    assert set(rows[0]) == {
        "method", "seeds", "asked", "asked_sd", "coverage", "coverage_predicate", "accuracy", "delta_overall",
        "delta_predicate", "margin", "inferred", "label_accuracy", "cost_hours", "seconds",
    }  # fmt: skip
    assert rows[1]["delta_overall"] == 0.0  # everything was asked
    page = (folder / "page.html").read_text()
    assert page.count("<svg") == 4
    again = kgeval(
        "compare", *SOURCES, *options, "--report", "again.html", "--processes", "1", "--json", cwd=folder
    )
    for row, other in zip(rows, json.loads(again.stdout)["rows"], strict=True):
        assert {**row, "seconds": 0} == {**other, "seconds": 0}  # whatever the number of processes
    shown = kgeval("demo", cwd=folder)
    assert "accuracy 75.0%" in shown.stdout
    assert "so it is true that Red Wings is a Sports Team" in shown.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--oracle", "gold.csv", "--policy", "clever"), "there is no policy 'clever'; choose one of"),
        (("--oracle", "nothing.csv"), "or a CSV file; there is no file 'nothing.csv'"),
        (("--oracle", "twice.csv"), "twice.csv, line 3: the same triple has another label above"),
        (("--oracle", "short.csv"), "short.csv has no label for <http://example.org/"),
        (("--oracle", "empty.csv"), "empty.csv has no label for <http://example.org/"),
        (("--oracle", "gold.csv", "--margin", "0"), "the margin 0 is not between 0 and 0.5"),
        (("--oracle", "gold.csv", "--level", "1"), "the level 1 is not between 0.5 and 0.999"),
        (("--oracle", "gold.csv", "--budget", "lots"), "neither a number of verdicts"),
        (("--oracle", "gold.csv", "--budget", "0"), "neither a number of verdicts"),
        (
            ("--oracle", "gold.csv", "--policy", "random", "--estimator", "inferable"),
            "goes with the estimator",
        ),
    ],
)
def test_bad_input_is_one_sentence(folder: Path, options: tuple[str, ...], message: str) -> None:
    line = "http://example.org/RedWings,http://example.org/homeCity,http://example.org/Detroit,"
    head = "subject,predicate,object,label\n"
    (folder / "twice.csv").write_text(f"{head}{line}1\n{line}0\n")
    (folder / "short.csv").write_text(f"{head}{line}1\n")
    (folder / "empty.csv").write_text(f"{head}{line}\n")
    done = kgeval("evaluate", *SOURCES, *options, cwd=folder)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_few_labels_and_single_beliefs_give_defined_results(folder: Path) -> None:
    few = json.loads(
        kgeval("evaluate", *SOURCES, "--oracle", "gold.csv", "--budget", "1", "--json", cwd=folder).stdout
    )
    assert (few["asked"], few["stopped"]) == (1, "budget")
    assert few["interval"][1] - few["interval"][0] > 0.5
    for label in (0, 1):
        (folder / "one.nt").write_text("<http://e/a> <http://e/p> <http://e/b> .\n")
        (folder / "one.csv").write_text(
            f"subject,predicate,object,label\nhttp://e/a,http://e/p,http://e/b,{label}\n"
        )
        one = json.loads(kgeval("evaluate", "one.nt", "--oracle", "one.csv", "--json", cwd=folder).stdout)
        assert (one["accuracy"], one["interval"], one["asked"]) == (label, [label, label], 1)


class Person:
    """Types the true answers into `kgeval ask`, and knows which of them were acknowledged."""

    def __init__(self, run: Path, gold: dict[str, str], *options: str) -> None:
        self.process = subprocess.Popen(
            [KGEVAL, "ask", str(run), *options],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._gold = gold

    def answer(self) -> str | None:
        """Answer one question; the belief's triple once it is acknowledged, None when there is no question."""
        assert self.process.stderr
        assert self.process.stdin
        triple = ""
        for line in self.process.stderr:
            if line.startswith("  <"):
                triple = line.strip()
                self.process.stdin.write(f"{self._gold[triple]}\n")
                self.process.stdin.flush()
            elif line.endswith("noted\n"):
                return triple
        return None

    def __enter__(self) -> "Person":
        return self

    def __exit__(self, *_: object) -> None:
        """Dies by SIGKILL, wherever it is."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stderr):
            assert pipe
            with suppress(BrokenPipeError):
                pipe.close()


def kill_again_and_again(run: Path, times: int) -> None:
    gold = {" ".join(t): "t" if v else "f" for t, v in read_gold(EXAMPLE / "gold.csv").items()}
    options = ("--seed-size", "3", "--policy", "greedy")
    rng = random.Random(7)
    acknowledged: list[str] = []
    for _ in range(times):
        with Person(run, gold, *options) as person:
            if rng.random() < 0.7:
                triple = person.answer()
                acknowledged += [triple] if triple else []
            else:  # in the middle of anything: starting, asking, writing
                time.sleep(rng.uniform(0.05, 1.5))
        beliefs = open_run(run).beliefs
        logged = [
            " ".join(beliefs.triple(beliefs.row(r.belief)))
            for r in read_log(run / "verdicts.jsonl")
            if isinstance(r, Verdict)
        ]
        assert logged[: len(acknowledged)] == acknowledged
        acknowledged = logged
    with Person(run, gold, *options) as person:
        while person.answer():
            pass
        assert person.process.wait(timeout=60) == 0
    opened = open_run(run)
    ended = read_evaluation(opened)
    untouched = Evaluation(opened.graph, GREEDY.changed(seed_size=3))
    while requests := untouched.next():
        triple = " ".join(opened.beliefs.triple(int(opened.beliefs.rows[requests[0].position])))
        untouched.answer(requests[0], Answer.TRUE if gold[triple] == "t" else Answer.FALSE, "me")
    assert ended.asked.tolist() == untouched.asked.tolist()
    assert ended.to_json() == untouched.to_json()


def test_kill_9_loses_no_acknowledged_verdict(run: Path) -> None:
    kill_again_and_again(run, 4)


@pytest.mark.stress
def test_kill_9_fifty_times(folder: Path) -> None:
    for turn in range(5):
        made = kgeval("init", f"run{turn}", *SOURCES, cwd=folder)
        assert made.returncode == 0, made.stderr
        kill_again_and_again(folder / f"run{turn}", 10)


def test_two_at_one_run_get_one_sentence(run: Path) -> None:
    gold = {" ".join(t): "t" if v else "f" for t, v in read_gold(EXAMPLE / "gold.csv").items()}
    with Person(run, gold, "--seed-size", "8") as person:
        assert person.answer()
        second = kgeval("ask", run, "--oracle", "gold.csv", cwd=run.parent)
        assert second.returncode == 1
        assert "another kgeval is taking verdicts into" in second.stderr
        assert person.answer()
    assert len(read_log(run / "verdicts.jsonl")) >= 2


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip(f"a tiny disk needs the right to mount: {made.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_a_full_and_a_read_only_disk_lose_nothing(run: Path, tiny_disk: Path) -> None:
    there = tiny_disk / "run"
    shutil.copytree(run, there)
    options = ("--seed-size", "8", "--policy", "random", "--oracle", run.parent / "gold.csv")
    first = kgeval("ask", there, *options, "--budget", "2", cwd=run.parent)
    assert first.returncode == 0, first.stderr
    kept = (there / "verdicts.jsonl").read_bytes()
    with (tiny_disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
        while filler.write(b"x" * 4096):
            pass
    full = kgeval("ask", there, *options, "--budget", "8", cwd=run.parent)
    after = (there / "verdicts.jsonl").read_bytes()
    assert after.startswith(kept)
    assert after.endswith(b"\n")
    assert full.returncode == 1
    assert "cannot be written: No space left on device" in full.stderr
    assert "Traceback" not in full.stderr
    assert not (there / "config.json.new").exists()
    (tiny_disk / "filler").unlink()
    subprocess.run(["mount", "-o", "remount,ro", tiny_disk], check=True)
    locked = kgeval("ask", there, *options, "--budget", "8", cwd=run.parent)
    assert locked.returncode == 1
    assert "cannot be written: Read-only file system" in locked.stderr
    subprocess.run(["mount", "-o", "remount,rw", tiny_disk], check=True)
    resumed = kgeval("ask", there, *options, "--budget", "8", "--json", cwd=run.parent)
    assert json.loads(resumed.stdout)["asked"] == 8


def test_estimates_of_parts(run: Path) -> None:
    asked = kgeval("ask", run, "--oracle", "gold.csv", "--json", cwd=run.parent)
    assert asked.returncode == 0, asked.stderr
    result = json.loads(asked.stdout)
    assert (result["policy"], result["estimator"], result["stopped"]) == (
        "stratified",
        "bayes",
        "everything asked",
    )
    assert result["interval"] == [0.75, 0.75]  # everything is known
    classes = json.loads(kgeval("estimate", run, "--by", "class", "--json", cwd=run.parent).stdout)[
        "by_class"
    ]
    assert classes["http://example.org/City"] == {
        "beliefs": 2,
        "asked": 2,
        "accuracy": 0.5,
        "interval": [0.5, 0.5],
    }
    scope = run.parent / "part.rq"
    scope.write_text("SELECT ?s ?p ?o { ?s ?p ?o FILTER(?s = <http://example.org/JoeLouisArena>) }")
    part = json.loads(kgeval("estimate", run, "--scope", "part.rq", "--json", cwd=run.parent).stdout)
    assert (part["beliefs"], part["accuracy"], part["interval"]) == (3, 1.0, [1.0, 1.0])
    scope.write_text("SELECT ?s ?p ?o { ?s ?p ?o FILTER(?s = <http://example.org/Nobody>) }")
    nothing = kgeval("estimate", run, "--scope", "part.rq", cwd=run.parent)
    assert (nothing.returncode, nothing.stderr) == (1, f"kgeval: part.rq names no belief of {run}\n")

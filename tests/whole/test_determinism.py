"""The same inputs, verdicts and seed give the same bytes, whatever the machine and the moment."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rdf_kgeval as kgeval
from rdf_kgeval.inference.infer import InferenceOptions
from rdf_kgeval.inference.solver.solve import FEW_ROWS, SolverOptions
from rdf_kgeval.namespaces import RECORD_SUFFIXES
from rdf_kgeval.publishing.record import Form
from tests.conftest import Server

EX = "http://example.org/"
ONTOLOGY = f"""@prefix : <{EX}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:playsFor rdfs:range :Team . :inLeague rdfs:domain :Team ; rdfs:range :League .
"""
# Commands as a machine with so many cores runs them; DuckDB and numba look at the cores by themselves.
DRIVER = """
import json, os, sys
threads = int(sys.argv[1])
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
os.cpu_count = lambda: threads
from rdf_kgeval.cli import main
for arguments in json.loads(sys.argv[2]):
    sys.argv[1:] = arguments
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
"""
MACHINES: list[tuple[int, dict[str, str]]] = [
    (1, {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C", "NUMBA_NUM_THREADS": "1"}),
    (2, {"PYTHONHASHSEED": "4711", "TZ": "Asia/Tokyo", "LC_ALL": "de_DE.UTF-8", "NUMBA_NUM_THREADS": "2"}),
]


IMPOSSIBLE = [(Form.NAMED_GRAPHS, ".ttl"), (Form.NAMED_GRAPHS, ".nt"), (Form.TRIPLE_TERMS, ".jsonld")]


class Machine:
    """A folder, an environment and a number of threads."""

    def __init__(self, folder: Path, threads: int, environ: dict[str, str]) -> None:
        self.folder = folder
        self.folder.mkdir()
        self._command = [sys.executable, "-c", DRIVER, str(threads)]
        self._environ = {**os.environ, **environ}

    def kgeval(self, *arguments: object) -> str:
        return self.run([arguments])

    def run(self, commands: Iterable[Iterable[object]]) -> str:
        """Several commands in one process."""
        done = subprocess.run(
            [*self._command, json.dumps([[str(a) for a in arguments] for arguments in commands])],
            cwd=self.folder, env=self._environ, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def result(self, *arguments: object) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.kgeval(*arguments, "--json"))
        assert found.pop("seconds") >= 0
        return found

    def files(self, name: str) -> dict[str, bytes]:
        """What is in a run or a folder; of verdicts, all but when they were given."""
        found = {}
        for path in sorted((self.folder / name).rglob("*")):
            if path.name == "verdicts.jsonl":
                lines = [json.loads(line) for line in path.read_text().splitlines()]
                found[path.name] = repr([{**line, "time": ""} for line in lines]).encode()
            elif path.is_file():
                found[str(path.relative_to(self.folder))] = path.read_bytes()
        return found


@pytest.fixture
def machines(tmp_path: Path) -> list[Machine]:
    return [Machine(tmp_path / f"machine{i}", *machine) for i, machine in enumerate(MACHINES)]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    rng = np.random.default_rng(5)
    triples, labels = [], []
    for player in range(220):
        team = int(rng.integers(20))
        for p, o in (("playsFor", f"t{team}"), ("playsIn", f"l{team % 4}"), ("plays", f"s{team % 2}")):
            right = bool(rng.random() < 0.85)
            triples.append((f"p{player}", p, o if right else f"{o[0]}{int(rng.integers(20))}"))
            labels.append(right)
    for team in range(20):
        triples.append((f"t{team}", "inLeague", f"l{team % 4}"))
        labels.append(True)
    gold: dict[tuple[str, str, str], bool] = {}
    for triple, label in zip(triples, labels, strict=True):
        gold.setdefault(triple, label)
    lines = [f"<{EX}{s}> <{EX}{p}> <{EX}{o}> .\n" for s, p, o in gold]
    (folder / "kg.nt").write_text("".join(lines))
    (folder / "ontology.ttl").write_text(ONTOLOGY)
    rows = [f"{EX}{s},{EX}{p},{EX}{o},{int(label)}\n" for (s, p, o), label in gold.items()]
    (folder / "gold.csv").write_text("subject,predicate,object,label\n" + "".join(rows))
    return folder


@pytest.mark.parametrize(
    "method",
    [
        [],
        ["--policy", "greedy", "--seed-size", "10", "--budget", "25"],
        ["--policy", "assisted", "--budget", "60"],
    ],
    ids=["default", "greedy", "assisted"],
)
def test_evaluations_with_mined_rules(inputs: Path, machines: list[Machine], method: list[str]) -> None:
    ontology, gold = inputs / "ontology.ttl", inputs / "gold.csv"
    results = []
    for machine in machines:
        machine.kgeval("init", "run", inputs / "kg.nt", "--ontology", ontology, "--mine")
        results.append(machine.result("ask", "run", "--oracle", gold, "--seed", "3", *method))
    one, two = machines
    assert one.files("run") == two.files("run")
    assert results[0] == results[1]
    assert results[0]["asked"] > 10

    # The times of the answers are part of the verdicts, and records have them.
    shutil.copy(one.folder / "run" / "verdicts.jsonl", two.folder / "run")
    outputs = []
    for machine in machines:
        publish = ("publish", "run", "-o", "record.nq", "--annotations", "all")
        labels = machine.run([("report", "run", "-o", "report.html"), publish, ("labels", "run")])
        outputs.append((machine.result("estimate", "run"), labels, machine.files(".")))
    assert outputs[0] == outputs[1]


def test_records_in_every_form_and_format(inputs: Path, machines: list[Machine]) -> None:
    one, two = machines
    ask = ("ask", "run", "--oracle", inputs / "gold.csv", "--budget", "30")
    one.run([("init", "run", inputs / "kg.nt", "--ontology", inputs / "ontology.ttl"), ask])
    shutil.copytree(one.folder / "run", two.folder / "run")
    for machine in machines:
        reports = [
            ("report", "run", "-o", f"report.{kind}", "--format", kind) for kind in ("markdown", "junit")
        ]
        records = [
            ("publish", "run", "-o", f"{form.value}{suffix}", "--form", form.value)
            for form in Form
            for suffix in RECORD_SUFFIXES
            if (form, suffix) not in IMPOSSIBLE
        ]
        machine.run([*reports, *records])
    assert len(one.files(".")) > len(one.files("run")) + len(RECORD_SUFFIXES)
    assert one.files(".") == two.files(".")


def test_an_endpoint_gives_the_same_run_twice(
    inputs: Path, machines: list[Machine], oxigraph: Server
) -> None:
    oxigraph.load((inputs / "kg.nt").read_bytes(), EX + "same")
    source = ("--endpoint", oxigraph.query, "--graph", EX + "same", "--ontology", inputs / "ontology.ttl")
    for machine in machines:
        ask = ("ask", "run", "--oracle", inputs / "gold.csv", "--budget", "25")
        machine.run([("init", "run", *source), ask])
    assert machines[0].files("run") == machines[1].files("run")


def test_mined_rules_and_comparisons(inputs: Path, machines: list[Machine]) -> None:
    found = []
    for machine in machines:
        machine.kgeval("mine", inputs / "kg.nt", "-o", "rules")
        compared = json.loads(
            machine.kgeval(
                "compare",
                inputs / "kg.nt",
                "--rules",
                "rules",
                "--oracle",
                inputs / "gold.csv",
                "--seeds",
                2,
                "--methods",
                "default,greedy/inferable",
                "--budget",
                15,
                "--seed-size",
                5,
                "--json",
            )
        )
        found.append([{**row, "seconds": None} for row in compared["rows"]])
    assert machines[0].files("rules") == machines[1].files("rules")
    assert len(machines[0].files("rules")) > 1
    assert found[0] == found[1]


def test_threads_solve_to_the_same_bits(tmp_path: Path) -> None:
    n = FEW_ROWS
    lines = [f"<{EX}s{i}> <{EX}p> <{EX}o{i}> .\n<{EX}s{i}> <{EX}q> <{EX}o{i}> .\n" for i in range(n)]
    (tmp_path / "kg.nt").write_text("".join(lines))
    beliefs = kgeval.read_beliefs(tmp_path / "kg.nt")
    rules = [
        kgeval.Rule(
            id=f"r{a}", body=(("?x", f"<{EX}{a}>", "?y"),), head=("?x", f"<{EX}{b}>", "?y"), confidence=0.9
        )
        for a, b in ("pq", "qp")
    ]
    graph = kgeval.couple(beliefs, rules)
    rows = beliefs.rows[::7].tolist()
    verdicts = {beliefs.id(row): bool(row % 3) for row in rows}
    assert graph.n_constraints > FEW_ROWS
    one, two = (
        kgeval.infer(graph, verdicts, InferenceOptions(solver=SolverOptions(threads=threads))).x.tobytes()
        for threads in (1, 2)
    )
    assert one == two

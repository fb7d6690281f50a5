"""Evaluation in place on real servers: one sample everywhere, commands on such a run, and kill -9."""

import csv
import hashlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from rdf_kgeval.pipeline import prepare
from rdf_kgeval.runs.create import Coupling
from rdf_kgeval.sources.draws.log import drawn_triples, read_draws
from rdf_kgeval.sources.endpoint.client import Endpoint
from rdf_kgeval.sources.load import InPlace, Sources
from rdf_kgeval.sources.scope import Scope
from rdf_kgeval.verdicts.log import read_log
from tests.conftest import Server
from tests.functional.test_cli import KGEVAL, kgeval
from tests.functional.test_pages import Browser
from tests.functional.test_servers import GRAPH, TRICKY
from tests.support.annotators import start
from tests.support.faults import Handler, faulty

EX = "http://example.org/"
A = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
XSD = "http://www.w3.org/2001/XMLSchema#"
LANGUAGES = "".join(
    f'<{EX}b> <{EX}name> "Greetings {i}"@{lang} .\n' for i in range(40) for lang in ("de", "en-US")
)
NUMBERS = "".join(f'<{EX}n{i}> <{EX}size> "{i}"^^<{XSD}integer> .\n' for i in range(200))
LINKS = "".join(
    f"<{EX}s{i}> <{EX}plays> <{EX}t{i % 41}> .\n<{EX}s{i}> <{A}> <{EX}Player> .\n" for i in range(1500)
)
BLANK = f"_:x <{EX}plays> <{EX}a> .\n<{EX}a> <{EX}plays> _:x .\n"
DATA = LINKS + LANGUAGES + NUMBERS + BLANK
LETTERS = "".join(
    f'<{EX}é{i}> <{EX}ü> <{EX}日本{i}> .\n<{EX}s{i}> <{EX}p> "Grüße {i}"@de .\n<{EX}é{i}> <{EX}p> "日本 {i}" .\n'
    for i in range(60)
)
PLACE = ("--graph", GRAPH, "--in-place")


def write_gold(path: Path, data: str) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["subject", "predicate", "object", "label"])
        for line in data.splitlines():
            s, p, o = line[:-2].split(" ", 2)
            writer.writerow([s, p, o, int(hashlib.sha256(line.encode()).digest()[0] < 220)])


def test_one_seed_draws_the_same_sample_from_both_stores(
    oxigraph: Server, virtuoso: Server, tmp_path: Path
) -> None:
    found = []
    for name, server in (("oxigraph", oxigraph), ("virtuoso", virtuoso)):
        server.load(DATA.encode(), GRAPH)
        made = kgeval("init", name, "--endpoint", server.query, *PLACE, "--seed", 5, cwd=tmp_path)
        assert made.returncode == 0, made.stderr
        found.append(drawn_triples(read_draws(tmp_path / name / "draws.jsonl")))
        summary = json.loads(kgeval("show", name, "--json", cwd=tmp_path).stdout)
        assert summary["beliefs"] == 3000 + 80 + 200
        assert summary["at_hand"] < 2500
    assert found[0] == found[1]
    assert any(o.endswith("@en-us") for _, _, o in found[0])


@pytest.mark.parametrize("name", ["oxigraph", "virtuoso"])
def test_letters_outside_ascii_are_drawn_and_verified(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server: Server = request.getfixturevalue(name)
    server.load((LETTERS + TRICKY).encode(), GRAPH)
    made = kgeval("init", "run", "--endpoint", server.query, *PLACE, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert ("in an encoding of its own" in made.stderr) == (name == "virtuoso")
    drawn = drawn_triples(read_draws(tmp_path / "run" / "draws.jsonl"))
    assert len(drawn) == 180 + 7
    assert len(set(drawn.values())) == len(drawn)


@pytest.mark.parametrize("name", ["oxigraph", "virtuoso"])
def test_every_command_works_on_a_run_in_place(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server: Server = request.getfixturevalue(name)
    server.load((LINKS + BLANK).encode(), GRAPH)
    write_gold(tmp_path / "gold.csv", LINKS)
    (tmp_path / "r.rq").write_text(f"CONSTRUCT {{ ?s a <{EX}Player> }} WHERE {{ ?s <{EX}plays> ?t }}")
    options = ("--oracle", "gold.csv", "--run", "run", "--margin", "0.06", "--seed", 2, "--rules", "r.rq")
    outputs = ("--publish", "f.trig", "--report", "f.html")
    done = kgeval("evaluate", "--endpoint", server.query, *PLACE, *options, *outputs, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["beliefs"] == 3000
    assert result["by_predicate"][f"{EX}plays"]["beliefs"] == 1500
    assert result["stopped"] == "margin"
    assert result["seed"] == 2
    low, high = result["interval"]
    assert 0.7 < low < result["accuracy"] < high
    assert result["inferred"] > 0
    assert "3000" in (tmp_path / "f.trig").read_text()
    assert "3,000" in (tmp_path / "f.html").read_text()
    estimated = json.loads(kgeval("estimate", "run", "--json", cwd=tmp_path).stdout)
    assert {k: v for k, v in estimated.items() if k != "seconds"} == {
        k: v for k, v in result.items() if k != "seconds"
    }
    by_class = json.loads(kgeval("estimate", "run", "--by", "class", "--json", cwd=tmp_path).stdout)[
        "by_class"
    ]
    assert by_class[f"{EX}Player"]["beliefs"] == pytest.approx(3000, rel=0.2)
    labels = list(csv.DictReader(kgeval("labels", "run", cwd=tmp_path).stdout.splitlines()))
    inferred = next(row for row in labels if row["source"] == "inferred")
    assert kgeval("explain", "run", inferred["id"], cwd=tmp_path).stdout
    assert kgeval("ask", "run", "--oracle", "gold.csv", cwd=tmp_path).returncode == 0
    other = kgeval("ask", "run", "--oracle", "gold.csv", "--seed", 3, cwd=tmp_path)
    assert other.returncode == 1
    assert kgeval("publish", "run", "-o", "again.trig", cwd=tmp_path).returncode == 0
    local = kgeval("evaluate", "--endpoint", server.query, "--graph", GRAPH, *options, cwd=tmp_path)
    assert local.returncode == 1
    assert "made from other sources" in local.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--policy", "twcs"), "must see all beliefs"),
        (("--mine",), "rules cannot be mined from a sample"),
        (("--rate", "0"), "no limit"),
    ],
)
def test_what_cannot_be_had_is_one_sentence(options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    write_gold(tmp_path / "gold.csv", LINKS)
    with faulty(LINKS.encode()) as server:
        arguments = ("--endpoint", server.url, "--in-place", "--oracle", "gold.csv", "--run", "run")
        done = kgeval("evaluate", *arguments, *options, cwd=tmp_path)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_killed_at_any_moment_it_goes_on_to_the_same_result(tmp_path: Path) -> None:
    """Each process is killed a little later than the one before, through the drawing and the asking."""
    write_gold(tmp_path / "gold.csv", LINKS)

    def slowly(handler: Handler, body: bytes) -> bool:
        time.sleep(0.05)
        return False

    with faulty(LINKS.encode(), slowly) as server:
        options = ("--in-place", "--oracle", "gold.csv", "--margin", "0.05", "--json")
        command = ("evaluate", "--endpoint", server.url, *options)
        calm = kgeval(*command, "--run", "calm", cwd=tmp_path)
        assert calm.returncode == 0, calm.stderr
        acknowledged = 0
        for kill in range(9):
            process = subprocess.Popen(
                [KGEVAL, *map(str, command), "--run", "run"],
                cwd=tmp_path,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=dict(os.environ),
            )
            _wait_for_growth(tmp_path, process, kill)
            process.send_signal(signal.SIGKILL)
            out, _ = process.communicate()
            log = tmp_path / "run" / "verdicts.jsonl"
            standing = len(read_log(log)) if log.exists() else 0
            assert standing >= acknowledged
            acknowledged = standing
            if out:
                break
        last = kgeval(*command, "--run", "run", cwd=tmp_path)
    assert last.returncode == 0, last.stderr
    drop = ("seconds",)
    one, other = (
        {k: v for k, v in json.loads(done.stdout).items() if k not in drop} for done in (calm, last)
    )
    assert one == other
    assert (tmp_path / "run" / "draws.jsonl").read_bytes() == (tmp_path / "calm" / "draws.jsonl").read_bytes()


def _wait_for_growth(folder: Path, process: subprocess.Popen[bytes], kill: int) -> None:
    """Until the process has written something, and some milliseconds more."""
    before = _size(folder)
    for _ in range(3000):
        if process.poll() is not None or _size(folder) != before:
            break
        time.sleep(0.01)
    time.sleep(0.015 * kill)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("run*/*.jsonl") if path.exists())


def test_the_page_goes_on_when_the_sample_is_used_up(tmp_path: Path) -> None:
    """The server comes back at the same address, with the same links, after more was drawn."""
    run = tmp_path / "run"
    with faulty(LINKS.encode()) as server:
        place = Sources(
            endpoint=Endpoint(server.url),
            in_place=InPlace(reserve=1),
            scope=Scope.of(predicates=[f"{EX}plays"]),
        )
        prepare(run, place, Coupling())
        first = len(drawn_triples(read_draws(run / "draws.jsonl")))
        assert first < 80
        served = start(run, "--annotator", "alice")
        try:
            browser = Browser(served, "alice")
            for i in range(1000):
                try:
                    browser.load()
                    browser.wait()
                    browser.send(("true", "false")[i % 2])
                except (httpx.HTTPError, KeyError):
                    time.sleep(0.1)
                if len(read_log(run / "verdicts.jsonl")) > first:
                    break
        finally:
            served.kill()
        assert len(drawn_triples(read_draws(run / "draws.jsonl"))) > first
    assert len(read_log(run / "verdicts.jsonl")) > first

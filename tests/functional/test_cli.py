"""The command as a user meets it: a process, its exit code, and what it writes where."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyoxigraph as ox
import pytest

from rdf_kgeval.beliefs.table import Beliefs
from tests.conftest import Server
from tests.sources.endpoint.test_client import DATA, EXPECTED
from tests.support.faults import FaultyServer, Handler, faulty, is_page

KGEVAL = str(Path(sys.executable).with_name("kgeval"))
TURTLE = """@prefix : <http://example.org/> .
:JoeLouisArena a :Stadium ; :homeStadiumOf :RedWings . :RedWings a :SportsTeam .
"""


def kgeval(
    *arguments: object, cwd: Path, stdin: bytes = b"", **environ: str
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [KGEVAL, *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        timeout=900,
        check=False,
        env={**os.environ, "COLUMNS": "120", **environ},
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kg.ttl").write_text(TURTLE)
    return tmp_path


def test_init_and_show(folder: Path) -> None:
    made = kgeval("init", "run", "kg.ttl", cwd=folder)
    assert (made.returncode, made.stdout) == (0, "")
    assert made.stderr == "3 beliefs in 2 predicates, 0 constraints: run\n"
    shown = kgeval("show", "run", cwd=folder)
    assert "Joe Louis Arena (Stadium) is home stadium of Red Wings (Sports Team)" in shown.stdout
    summary = json.loads(kgeval("show", "run", "--json", cwd=folder).stdout)
    assert summary["beliefs"] == 3
    assert summary["predicates"] == 2
    assert summary["by_predicate"]["http://example.org/homeStadiumOf"] == 1
    assert summary["by_class"] == {"http://example.org/SportsTeam": 1, "http://example.org/Stadium": 1}
    assert sorted(p.name for p in folder.iterdir()) == ["kg.ttl", "run"]


def test_the_same_input_gives_the_same_bytes(folder: Path) -> None:
    for run in ("one", "two"):
        assert kgeval("init", run, "kg.ttl", cwd=folder).returncode == 0
    for path in (folder / "one").rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (folder / "two" / path.relative_to(folder / "one")).read_bytes()


def test_standard_input_and_json(folder: Path) -> None:
    made = kgeval("init", "run", "-", "--format", "ttl", "--json", cwd=folder, stdin=TURTLE.encode())
    assert json.loads(made.stdout)["beliefs"] == 3


def broken() -> bytes:
    return (
        b"@prefix : <http://example.org/> .\n"
        + b":s :p :o .\n" * 7310
        + b":s :p <x y> .\n"
        + b":s :p :o .\n" * 99
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["broken.ttl"], "broken.ttl, line 7312: not valid Turtle: Invalid IRI"),
        (["absent.ttl"], "absent.ttl cannot be read: No such file or directory"),
        (["empty.ttl"], "empty.ttl holds no triple"),
        (["picture.png"], "the format of picture.png cannot be told from its name; add --format"),
        (["picture.png", "--format", "ttl"], "picture.png, line 1: not valid Turtle"),
        (["--endpoint", "http://127.0.0.1:1/sparql"], "no server answers at http://127.0.0.1:1/sparql"),
        (["kg.ttl", "--scope", "bad.rq"], "bad.rq is not valid SPARQL: line 2, column"),
        (["kg.ttl", "--scope", "absent.rq"], "absent.rq cannot be read: No such file"),
        (["kg.ttl", "--predicate", "homeStadiumOf"], "is not an absolute IRI"),
        (
            ["kg.ttl", "--predicate", "http://example.org/none"],
            "no triple in kg.ttl matches <http://example.org/none>",
        ),
        (["kg.ttl", "--context", "broken.ttl"], "broken.ttl, line 7312"),
        (["kg.ttl", "--format", "docx"], "is not an RDF format"),
        (["--endpoint", "http://u:s3cret@127.0.0.1:1/"], "holds credentials"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    folder: Path, arguments: list[str], message: str
) -> None:
    (folder / "broken.ttl").write_bytes(broken())
    (folder / "empty.ttl").write_bytes(b"")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\x1b[31m" + bytes(range(256)))
    (folder / "bad.rq").write_text("SELECT ?s ?p ?o\nWHERE { ?s ?p }")
    before = sorted(folder.iterdir())
    failed = kgeval("init", "run", *arguments, cwd=folder)
    assert failed.returncode == 1
    assert failed.stdout == ""
    assert message in failed.stderr
    assert failed.stderr.count("\n") == 1
    assert failed.stderr.rstrip("\n").isprintable()
    assert "s3cret" not in failed.stderr
    assert sorted(folder.iterdir()) == before


def test_usage_errors_exit_with_2(folder: Path) -> None:
    assert kgeval("init", "run", cwd=folder).returncode == 2
    assert kgeval("nonsense", cwd=folder).returncode == 2


def test_somebody_else_s_folder_is_not_touched(folder: Path) -> None:
    (folder / "run.partial").mkdir()
    (folder / "run.partial" / "thesis.txt").write_text("years of work")
    for file, message in (
        ("kg.ttl", "run.partial is in the way and is not a stopped kgeval's"),
        ("absent.ttl", "absent.ttl cannot be read"),
    ):
        failed = kgeval("init", "run", file, cwd=folder)
        assert failed.returncode == 1
        assert message in failed.stderr
    assert (folder / "run.partial" / "thesis.txt").read_text() == "years of work"


def test_a_leftover_of_a_killed_save_is_no_obstacle(folder: Path) -> None:
    (folder / "run.partial" / "beliefs").mkdir(parents=True)
    (folder / "run.partial" / ".kgeval-lock").touch()
    assert kgeval("init", "run", "kg.ttl", cwd=folder).returncode == 0
    made = sorted(p.name for p in (folder / "run").iterdir())
    assert made == ["beliefs", "config.json", "coupling", "verdicts.jsonl"]


def test_no_parent_folder_is_made(folder: Path) -> None:
    failed = kgeval("init", "a/b/run", "kg.ttl", cwd=folder)
    assert failed.returncode == 1
    assert "a/b/run cannot be made: No such file or directory" in failed.stderr
    assert not (folder / "a").exists()


def test_odd_file_names_and_terminals(folder: Path) -> None:
    odd = os.fsdecode(b"\xff\x1b.ttl")
    (folder / odd).write_text(TURTLE)
    assert kgeval("init", "run", odd, cwd=folder).returncode == 0
    (folder / "e.ttl").write_text("@prefix : <http://example.org/> . :Zoë :kennt :日本 .")
    kgeval("init", "run2", "e.ttl", cwd=folder)
    assert "Zo\\xeb" in kgeval("show", "run2", cwd=folder, PYTHONIOENCODING="ascii").stdout


def test_a_mistyped_predicate_is_noted(folder: Path) -> None:
    named = ["--predicate", "http://example.org/homeStadiumOf", "--predicate", "http://example.org/homeCitty"]
    made = kgeval("init", "run", "kg.ttl", *named, cwd=folder)
    assert "note: no triple of the files has the predicate <http://example.org/homeCitty>" in made.stderr


def test_a_run_that_exists_is_not_touched(folder: Path) -> None:
    (folder / "run").mkdir()
    failed = kgeval("init", "run", "kg.ttl", cwd=folder)
    assert failed.returncode == 1
    assert "run already exists; choose another name or remove it" in failed.stderr
    assert list((folder / "run").iterdir()) == []


@pytest.mark.parametrize("content", [None, b"", b"[]", b'{"version": 99}', b'{"version": 1}', b"\xff\xfe"])
def test_a_damaged_run_is_one_sentence(folder: Path, content: bytes | None) -> None:
    kgeval("init", "run", "kg.ttl", cwd=folder)
    if content is None:
        (folder / "run" / "beliefs" / "o.npy").unlink()
    else:
        (folder / "run" / "config.json").write_bytes(content)
    failed = kgeval("show", "run", cwd=folder)
    assert failed.returncode == 1
    assert failed.stderr.count("\n") == 1


def test_hostile_text_is_shown_safely(folder: Path) -> None:
    (folder / "bad.ttl").write_text(
        "@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        ':a :p :b . :b rdfs:label "\\u001B[31m[red]\\u202E\\u0007 \\n evil" .\n'
    )
    assert kgeval("init", "run", "bad.ttl", cwd=folder).returncode == 0
    shown = kgeval("show", "run", cwd=folder)
    assert "\\x1b[31m[red]\\u202e\\x07 \\n evil" in shown.stdout
    assert all(c.isprintable() or c == "\n" for c in shown.stdout)


EXAMPLE = Path(__file__).parents[2] / "examples" / "motivating"


def test_the_motivating_example_has_eight_beliefs_and_constraints(tmp_path: Path) -> None:
    rules = ["--ontology", EXAMPLE / "ontology.ttl", "--rules", EXAMPLE / "rules"]
    made = kgeval("init", "run", EXAMPLE / "kg.ttl", *rules, "--json", cwd=tmp_path)
    summary = json.loads(made.stdout)
    assert (summary["beliefs"], summary["constraints"], summary["components"]) == (8, 8, 1)
    assert summary["uncoupled"] == 0
    assert [rule["groundings"] for rule in summary["rules"]] == [1] * 8
    assert "homeStadiumOf rdfs:domain Stadium" in kgeval("show", "run", cwd=tmp_path).stdout


def test_all_errors_of_a_rules_folder_at_once(folder: Path) -> None:
    (folder / "rules").mkdir()
    (folder / "rules" / "a.rq").write_text("CONSTRUCT { ?x <http://a> ?z } WHERE { ?x <http://a> ?y }")
    (folder / "rules" / "b.rq").write_text(
        "#+ weight: heavy\nCONSTRUCT { ?x <http://a> ?x } WHERE { ?x ?p ?o }"
    )
    failed = kgeval("init", "run", "kg.ttl", "--rules", "rules", cwd=folder)
    assert failed.returncode == 1
    lines = failed.stderr.splitlines()
    assert len(lines) == 2
    assert "a.rq" in lines[0]
    assert "b.rq, line 1" in lines[1]
    assert not (folder / "run").exists()


def test_a_rule_that_explodes_is_named(folder: Path) -> None:
    (folder / "kg.nt").write_text("".join(f"<http://s{i}> <http://p> <http://o{i}> .\n" for i in range(2000)))
    (folder / "bad.rq").write_text(
        "#+ id: cross\n#+ denial: true\n"
        "CONSTRUCT { ?a <http://p> ?b } WHERE { ?a <http://p> ?b . ?c <http://p> ?d . ?e <http://p> ?f }"
    )
    failed = kgeval("init", "run", "kg.nt", "--rules", "bad.rq", cwd=folder)
    assert failed.returncode == 1
    assert "cross" in failed.stderr
    assert "--max-groundings" in failed.stderr
    assert sorted(p.name for p in folder.iterdir()) == ["bad.rq", "kg.nt", "kg.ttl"]


def test_infer_and_explain(tmp_path: Path) -> None:
    rules = ["--ontology", EXAMPLE / "ontology.ttl", "--rules", EXAMPLE / "rules"]
    kgeval("init", "run", EXAMPLE / "kg.ttl", *rules, cwd=tmp_path)
    ex = "http://example.org/"
    rdf_type = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    (tmp_path / "verdicts.csv").write_text(
        "subject,predicate,object,label\n"
        f"{ex}JoeLouisArena,{ex}homeStadiumOf,{ex}RedWings,1\n"
        f"{ex}RedWings,{ex}homeCity,{ex}Detroit,1\n{ex}TajMahal,{rdf_type},{ex}State,0\n"
    )
    said = ["--verdicts", "verdicts.csv"]
    inferred = kgeval("infer", "run", *said, cwd=tmp_path).stdout
    assert inferred == "3 verdicts and 5 inferred of 8 beliefs: 6 true, 2 false, 0 unknown\n"
    result = json.loads(kgeval("infer", "run", *said, "--update-confidences", "--json", cwd=tmp_path).stdout)
    assert (result["asked"], result["true"], result["false"]) == (3, 6, 2)
    triple = f"<{ex}Detroit> <{ex}cityInState> <{ex}TajMahal>"
    explained = kgeval("explain", "run", triple, *said, cwd=tmp_path).stdout.splitlines()
    assert explained[0].endswith("false (0.01), because")
    assert (
        'you said false: "Taj Mahal is a State" and the rule "cityInState rdfs:range State"' in explained[1]
    )
    assert kgeval("explain", "run", "zz", cwd=tmp_path).returncode == 1
    assert (
        "unknown: no answer so far says anything about it"
        in kgeval("explain", "run", triple + " .", cwd=tmp_path).stdout
    )


def slow(handler: Handler, body: bytes) -> bool:
    if is_page(handler.query):
        time.sleep(0.2)
    return False


def start_pull(server: FaultyServer, folder: Path) -> subprocess.Popen[bytes]:
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "import rdf_kgeval.sources.pull_plan as plan, rdf_kgeval.sources.pull as pull, sys; from rdf_kgeval.cli import main;"
        "plan.PAGE = pull.PAGE = 100; main()"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, "init", "run", "--endpoint", server.url],
        cwd=folder,
        stderr=subprocess.PIPE,
        env={**os.environ, "KGEVAL_TOKEN": "t0ken"},
    )


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_pull_resumes_to_the_same_set(tmp_path: Path, stop: signal.Signals) -> None:
    with faulty(DATA, slow) as server:
        for _ in range(2):
            seen = len(server.queries)
            process = start_pull(server, tmp_path)
            while sum(map(is_page, server.queries[seen:])) < 2:
                time.sleep(0.01)
            process.send_signal(stop)
            _, errors = process.communicate()
            assert process.returncode != 0
            assert b"Traceback" not in errors
            assert not (tmp_path / "run").exists()
        before = len(server.queries)
        last = start_pull(server, tmp_path)
        last.communicate()
        assert last.returncode == 0
        fetched = sum(map(is_page, server.queries[before:]))
        assert fetched < len(EXPECTED) / 100
    beliefs = Beliefs.load(tmp_path / "run" / "beliefs")
    assert {beliefs.line(row) for row in beliefs.rows} == EXPECTED
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run"]
    everything = b"".join(p.read_bytes() for p in (tmp_path / "run").rglob("*") if p.is_file())
    assert b"t0ken" not in everything


def test_a_failing_pull_says_that_it_can_go_on(tmp_path: Path) -> None:
    def dies_later(handler: Handler, body: bytes) -> bool:
        if sum(map(is_page, handler.server.queries)) <= 2 or not is_page(handler.query):
            return False
        handler.reply(b"gone", status=403, kind="text/plain")
        return True

    with faulty(DATA, dies_later) as server:
        process = start_pull(server, tmp_path)
        _, errors = process.communicate()
        assert process.returncode == 1
        assert b"the same command goes on from there" in errors
        assert errors.count(b"\n") == 1
        server.fault = lambda *_: False
        again = start_pull(server, tmp_path)
        again.communicate()
        assert again.returncode == 0
    assert json.loads(kgeval("show", "run", "--json", cwd=tmp_path).stdout)["beliefs"] == len(EXPECTED)


def test_two_processes_on_one_run(tmp_path: Path) -> None:
    def waits(handler: Handler, body: bytes) -> bool:
        if is_page(handler.query):
            handler.server.hang.wait(60)
        return False

    with faulty(DATA, waits) as server:
        one = start_pull(server, tmp_path)
        while not any(map(is_page, server.queries)):
            time.sleep(0.01)
        two = start_pull(server, tmp_path)
        _, errors = two.communicate()
        assert two.returncode == 1
        assert b"another kgeval is making run; wait for it to end" in errors
        server.hang.set()
        one.communicate()
        assert one.returncode == 0


def test_a_read_only_place(tmp_path: Path) -> None:
    (tmp_path / "kg.ttl").write_text(TURTLE)
    failed = kgeval("init", "/proc/run", "kg.ttl", cwd=tmp_path)
    assert failed.returncode == 1
    assert "/proc/run cannot be made" in failed.stderr
    assert failed.stderr.count("\n") == 1


def test_help_names_every_option_and_is_quick(tmp_path: Path) -> None:
    shown = kgeval("init", "--help", cwd=tmp_path).stdout
    for option in (
        "--endpoint",
        "--graph",
        "--predicate",
        "--scope",
        "--context-unknown",
        "--label-property",
        "--lang",
    ):
        assert option in shown
    heavy = "('numpy', 'rdflib', 'pyoxigraph')"
    code = f"import sys, rdf_kgeval.cli; print([m for m in {heavy} if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )


def league(n: int) -> str:
    """Players of teams, of which one in four has no league of its own."""
    lines = ["@prefix : <http://example.org/> ."]
    for i in range(n):
        lines.append(
            f":player{i} :playsForTeam :team{i % 5} . :team{i % 5} :teamPlaysInLeague :league{i % 2} ."
        )
        if i % 4:
            lines.append(f":player{i} :playsInLeague :league{i % 2} .")
    return "\n".join(lines)


def test_mined_rules_are_files_that_init_takes(folder: Path) -> None:
    (folder / "league.ttl").write_text(league(40))
    made = kgeval("mine", "league.ttl", "-o", "rules", "--min-confidence", "0.4", cwd=folder)
    assert (made.returncode, made.stdout) == (0, "")
    files = sorted(path.name for path in (folder / "rules").iterdir())
    assert made.stderr.endswith(f"{len(files)} rules: rules\n")
    template = (folder / "rules" / "playsInLeague-if-playsForTeam-teamPlaysInLeague.rq").read_text()
    assert (
        "#+ summary: If x plays for team z and z team plays in league y, then x plays in league y.\n"
        in template
    )
    assert (
        "#+ confidence: 0.5\n#+ support: 30\n#+ head-coverage: 1.0\n#+ standard-confidence: 0.375\n"
        in template
    )
    assert "CONSTRUCT { ?x :playsInLeague ?y }\nWHERE {\n  ?x :playsForTeam ?z .\n" in template
    kgeval("init", "by-files", "league.ttl", "--rules", "rules", cwd=folder)
    shown = kgeval("show", "by-files", "--rules", cwd=folder).stdout
    assert "If x plays for team z and z team plays in league y" in shown
    again = kgeval("mine", "by-files", "-o", "rules2", "--min-confidence", "0.4", cwd=folder)
    assert again.returncode == 0
    for name in files:
        assert (folder / "rules" / name).read_bytes() == (folder / "rules2" / name).read_bytes()


def test_mining_while_making_a_run_is_said(folder: Path) -> None:
    (folder / "league.ttl").write_text(league(40))
    made = kgeval("init", "run", "league.ttl", "--mine", cwd=folder)
    assert "mined from the beliefs; kgeval show --rules lists them" in made.stderr
    kgeval("mine", "league.ttl", "-o", "rules", cwd=folder)
    kgeval("init", "by-files", "league.ttl", "--rules", "rules", cwd=folder)
    runs = [json.loads(kgeval("show", run, "--json", cwd=folder).stdout) for run in ("run", "by-files")]
    assert runs[0]["constraints"] == runs[1]["constraints"] > 0
    assert json.loads((folder / "run" / "config.json").read_text())["mine"]["min_support"] == 10


def test_mining_an_endpoint_gives_what_mining_its_file_gives(folder: Path, oxigraph: Server) -> None:
    graph = "http://example.org/league"
    (folder / "league.ttl").write_text(league(40))
    triples = (quad.triple for quad in ox.parse(path=str(folder / "league.ttl")))
    oxigraph.load(ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES) or b"", graph)
    kgeval("mine", "league.ttl", "-o", "by-file", cwd=folder)
    made = kgeval("mine", "--endpoint", oxigraph.query, "--graph", graph, "-o", "by-endpoint", cwd=folder)
    assert made.returncode == 0, made.stderr
    by_file, by_endpoint = (
        {path.name: path.read_text() for path in (folder / name).iterdir()}
        for name in ("by-file", "by-endpoint")
    )
    assert by_file == by_endpoint
    assert by_file


def test_mined_shacl_is_the_same_rules(folder: Path) -> None:
    (folder / "league.ttl").write_text(league(40))
    for arguments in (["-o", "rules"], ["-o", "rules.ttl", "--format", "shacl"]):
        assert kgeval("mine", "league.ttl", *arguments, cwd=folder).returncode == 0
    shown = []
    for run, rules in (("a", "rules"), ("b", "rules.ttl")):
        kgeval("init", run, "league.ttl", "--rules", rules, cwd=folder)
        shown.append(json.loads(kgeval("show", run, "--json", cwd=folder).stdout))
    key = [sorted((rule["id"], rule["groundings"], rule["confidence"]) for rule in s["rules"]) for s in shown]
    assert key[0] == key[1]
    assert shown[0]["constraints"] == shown[1]["constraints"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["kg.ttl", "-o", "rules"],
            "no rule has a support of 10, a head coverage of 0.01 and a confidence of",
        ),
        (["kg.ttl", "-o", "kg.ttl"], "kg.ttl already exists; choose another name or remove it"),
        (["league.ttl", "-o", "a/b"], "a/b.partial cannot be made (No such file or directory)"),
        (["league.ttl", "-o", "x", "--format", "shacl"], "give it a name that ends in .ttl"),
        (["absent.ttl", "-o", "rules"], "absent.ttl cannot be read"),
        (["one.ttl", "-o", "rules"], "no rule has a support of 10"),
    ],
)
def test_mining_that_fails_is_one_sentence_and_leaves_nothing(
    folder: Path, arguments: list[str], message: str
) -> None:
    (folder / "league.ttl").write_text(league(40))
    (folder / "one.ttl").write_text(
        "@prefix : <http://example.org/> .\n" + "".join(f":a{i} :p :b{i} .\n" for i in range(50))
    )
    before = sorted(folder.iterdir())
    failed = kgeval("mine", *arguments, cwd=folder)
    assert failed.returncode == 1
    sentences = [
        line for line in failed.stderr.splitlines() if not line.startswith(("110 triples", "  ", "compiling"))
    ]
    assert len(sentences) == 1
    assert message in sentences[0]
    assert sorted(folder.iterdir()) == before
    assert kgeval("mine", cwd=folder).returncode == 2


def test_a_run_keeps_evidence_and_a_bad_file_makes_no_run(tmp_path: Path) -> None:
    place = "http://example.org"
    head = "subject,predicate,object,text,url\n"
    good = f"{place}/JoeLouisArena,{place}/homeStadiumOf,{place}/RedWings,They played there.,\n"
    strange = f"{place}/a,{place}/b,{place}/c,Elsewhere.,https://example.org/\n"
    (tmp_path / "good.csv").write_text(head + good + strange)
    (tmp_path / "bad.csv").write_text(head + good.replace(".,", ".,ftp://example.org"))
    source = ("init", "run", EXAMPLE / "kg.ttl", "--no-mine", "--evidence")
    failed = kgeval(*source, "bad.csv", cwd=tmp_path)
    assert failed.returncode == 1
    assert "bad.csv, line 2: the url 'ftp://example.org' is not the address of a web page" in failed.stderr
    assert not (tmp_path / "run").exists()
    made = kgeval(*source, "good.csv", cwd=tmp_path)
    assert "evidence for 1 triple; 1 triple of good.csv not found in the graph" in made.stderr
    tasks = kgeval("export", "run", "--to", "csv", "--policy", "srs", cwd=tmp_path)
    rows = list(csv.DictReader(tasks.stdout.splitlines()))
    assert [row["evidence"] for row in rows if "home stadium" in row["sentence"]] == ["They played there."]
    asked = kgeval("ask", "run", "--policy", "srs", cwd=tmp_path, stdin=b"t\n" * 8)
    assert asked.returncode == 0
    assert asked.stderr.count("  evidence: They played there.\n") == 1

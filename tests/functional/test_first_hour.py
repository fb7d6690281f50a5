"""The first hour of a newcomer, with a gazetteer: behind a SPARQL server, in a notebook, on the page, published."""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import nbformat
import pyoxigraph as ox
import pytest
import rdflib
from axe_playwright_python.sync_playwright import Axe
from nbclient import NotebookClient
from playwright.sync_api import Browser, Page, sync_playwright

import rdf_kgeval as kgeval
from rdf_kgeval.errors import KgevalError
from tests.conftest import Server
from tests.functional.test_browser import ARGUMENTS
from tests.functional.test_writeback import dump
from tests.support.annotators import Served, start
from tests.support.gazetteer import BASE, LAST_WORDS, PLACES, PREFIXES, TERMS, Gazetteer, make

ROOT = Path(__file__).parents[2]
KGEVAL = Path(sys.executable).with_name("kgeval")
GRAPH = f"{BASE}graph"
RECORD = f"{BASE}evaluation"
QUERIES = sorted((ROOT / "queries" / "report").glob("*.rq"))
WIDTH = 80


def run(
    *arguments: object, cwd: Path, code: int | None = 0, stdin: str = "", **environ: str
) -> tuple[str, str]:
    """Call kgeval as at a terminal of 80 columns; what it said on standard output and on standard error."""
    done = subprocess.run(
        [KGEVAL, *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "COLUMNS": str(WIDTH), **environ},
    )
    assert code is None or done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout, done.stderr


def one_line(text: str) -> str:
    """A message as one line, however it was wrapped."""
    return re.sub(r"[\s│]+", " ", text)


def accounts_of(run_folder: Path) -> tuple[int, dict[str, int]]:
    """How many triples were read, and what became of them."""
    shown = json.loads(run("show", run_folder, "--json", cwd=run_folder.parent)[0])
    accounts = dict(shown["accounts"])
    return shown["read"], accounts


@pytest.fixture(scope="module")
def gazetteer() -> Gazetteer:
    return make(20)


@pytest.fixture(scope="module")
def folder(gazetteer: Gazetteer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return gazetteer.write(tmp_path_factory.mktemp("hour"))


@pytest.fixture(scope="module")
def evaluated(folder: Path) -> Path:
    """A run of the Turtle file, with answers from the gold file."""
    run("evaluate", "gazetteer.ttl", "--oracle", "gold.csv", "--run", "run", cwd=folder)
    return folder / "run"


@pytest.fixture
def copy(evaluated: Path, tmp_path: Path) -> Path:
    """A run of one's own, beside the files."""
    shutil.copytree(evaluated.parent, tmp_path, dirs_exist_ok=True)
    return tmp_path / "run"


# ---- A SPARQL server


@dataclass(frozen=True)
class Hour:
    """What came of one evaluation of a server."""

    server: Server
    environ: dict[str, str]
    folder: Path
    said: str
    """What `evaluate` said on both channels."""

    def select(self, query: str) -> list[tuple[str, ...]]:
        """The rows of a query that the server answers."""
        found = httpx.post(
            self.server.query,
            data={"query": query},
            headers={"Accept": "application/sparql-results+json"},
            timeout=60,
        ).raise_for_status()
        answer = found.json()
        names = answer["head"]["vars"]
        return rows_of(
            [row.get(name, {}).get("value") for name in names] for row in answer["results"]["bindings"]
        )


def rows_of(rows: Iterable[Iterable[object]]) -> list[tuple[str, ...]]:
    """Rows that can be compared: sorted, and with numbers in one spelling."""
    return sorted(tuple("" if term is None else spelled(str(term)) for term in row) for row in rows)


def spelled(text: str) -> str:
    try:
        return f"{float(text):.9g}"
    except ValueError:
        return text


@pytest.fixture(scope="module", params=["oxigraph", "virtuoso"])
def hour(
    request: pytest.FixtureRequest, gazetteer: Gazetteer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Hour]:
    server: Server = request.getfixturevalue(request.param)
    folder = gazetteer.write(tmp_path_factory.mktemp(request.param))
    server.load(gazetteer.turtle().encode(), GRAPH)
    source = ("--endpoint", server.query, "--graph", GRAPH)
    out = ("--publish", "record.trig", "--report", "report.html")
    back = ("--write-back", RECORD, "--update-endpoint", server.update)
    said = run(
        "evaluate", *source, "--oracle", "gold.csv", "--run", "run", *out, *back, cwd=folder, **server.environ
    )
    yield Hour(server, dict(server.environ), folder, "\n".join(said))
    for graph in (GRAPH, RECORD):
        server.load(b"", graph)  # the store is other tests', too


def test_a_server_is_evaluated_from_the_first_question_to_the_record(
    hour: Hour, gazetteer: Gazetteer
) -> None:
    read, accounts = accounts_of(hour.folder / "run")
    assert read == sum(accounts.values()) == len(set(gazetteer.quads))
    assert "accuracy" in hour.said
    assert f"triples written to the graph <{RECORD}>" in one_line(hour.said)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_report_queries_give_the_same_rows_everywhere(hour: Hour) -> None:
    """As they are: where it was written back, where the TriG was loaded, and where both were done."""
    lines = "\n".join([*dump(hour.server, RECORD), ""]).encode()
    trig = (hour.folder / "record.trig").read_bytes()
    loaded, both, in_rdflib = ox.Store(), ox.Store(), rdflib.Dataset()
    for store in (loaded, both):
        store.load(trig, format=ox.RdfFormat.TRIG)
    both.load(lines, format=ox.RdfFormat.N_TRIPLES, to_graph=ox.NamedNode(RECORD))
    in_rdflib.parse(data=trig, format="trig")
    filled = 0
    for file in QUERIES:
        query = file.read_text()
        expected = hour.select(query)
        filled += bool(expected)
        for store in (loaded, both):
            rows = answer(store, query)
            # Virtuoso spells decimals in its own way, so that with both records a row may come in two spellings.
            assert set(rows) == set(expected) if store is both else rows == expected, file.name
        assert rows_of(in_rdflib.query(query)) == expected, file.name  # type: ignore[arg-type]
    assert filled >= 6


def answer(store: ox.Store, query: str) -> list[tuple[str, ...]]:
    found = store.query(query)
    assert isinstance(found, ox.QuerySolutions)
    names = [variable.value for variable in found.variables]
    return rows_of([getattr(row[name], "value", None) for name in names] for row in found)


def test_every_triple_of_a_file_is_accounted_for(
    evaluated: Path, gazetteer: Gazetteer, tmp_path: Path
) -> None:
    read, accounts = accounts_of(evaluated)
    blank = {q for q in gazetteer.quads if ox.BlankNode in (type(q.subject), type(q.object))}
    assert read == sum(accounts.values()) == len(gazetteer.quads)
    assert len(blank) in accounts.values()
    assert len(gazetteer.quads) - len(set(gazetteer.quads)) in accounts.values()
    said = run("show", evaluated, cwd=tmp_path)[0]
    assert re.search(rf"\b{len(blank)}\b.*blank|blank.*\b{len(blank)}\b", said), said
    run("report", evaluated, "-o", "report.md", cwd=tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "blank node" in text
    assert str(len(blank)) in text


def test_a_blank_node_is_shown_by_what_it_says(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "scope.rq").write_text("SELECT ?s ?p ?o { ?s ?p ?o FILTER(isBlank(?o)) }")
    run("init", "run", folder / "gazetteer.ttl", "--scope", "scope.rq", cwd=tmp_path)
    sentences = tasks(tmp_path / "run")
    about = [text for text in sentences if "Gaborone" in text and "246,325" in text]
    assert about, sentences
    assert "2018" in about[0]
    assert not any(re.search(r"_:|\bc14n|\bb\d", text) for text in sentences)


def tasks(run_folder: Path) -> list[str]:
    """The sentence of every belief."""
    options = ("--to", "csv", "--policy", "srs", "--tasks", "1000", "--margin", "0.001")
    out, _ = run("export", run_folder, *options, cwd=run_folder.parent)
    return [row["sentence"] for row in csv.DictReader(io.StringIO(out))]


@pytest.mark.parametrize(
    ("ending", "begins"),
    [("html", "<!doctype html>"), ("md", "# "), ("xml", "<?xml"), ("csv", "predicate,")],
)
def test_a_report_has_the_format_of_its_name(
    ending: str, begins: str, evaluated: Path, tmp_path: Path
) -> None:
    run("report", evaluated, "-o", f"r.{ending}", cwd=tmp_path)
    assert (tmp_path / f"r.{ending}").read_text().lower().startswith(begins)


def test_a_report_of_an_unknown_kind_is_refused(evaluated: Path, tmp_path: Path) -> None:
    _, said = run("report", evaluated, "-o", "r.pdf", cwd=tmp_path, code=None)
    assert ".html" in said
    assert ".md" in said
    assert not list(tmp_path.iterdir())
    _, said = run(
        "evaluate", "absent.ttl", "--oracle", "absent.csv", "--report", "r.pdf", cwd=tmp_path, code=None
    )
    assert ".html" in said
    assert "absent.ttl" not in said  # looked at before anything is read


def test_thresholds_are_the_same_in_junit_and_in_the_exit_code(evaluated: Path, tmp_path: Path) -> None:
    for options in (("--min-accuracy", "0.999999999"), ("--max-margin", "0.00001")):
        run("report", evaluated, "-o", "r.xml", *options, cwd=tmp_path, code=3)
        assert "<failure" in (tmp_path / "r.xml").read_text()
    run("report", evaluated, "-o", "r.xml", "--min-accuracy", "0.1", cwd=tmp_path)
    assert "<failure" not in (tmp_path / "r.xml").read_text()


def test_the_vocabulary_says_nothing_of_everybodys_statements() -> None:
    graph = rdflib.Graph()
    for file in (ROOT / "ontologies").glob("kgeval*.ttl"):
        graph.parse(file)
    assert len(graph) > 100
    assert not list(graph.triples((rdflib.RDF.Statement, rdflib.RDFS.subClassOf, None)))


def test_no_message_and_no_guide_names_an_index_that_has_no_package() -> None:
    files = [*(ROOT / "rdf_kgeval").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    assert [
        file.name for file in files if re.search(r"pip install ['\"]?rdf[-_]kgeval", file.read_text())
    ] == []


@pytest.mark.parametrize("call", ["kge:labl(?s, ?p, ?o)", "kge:label(?s, ?p)", "kge:accuracy(?s, ?p)"])
def test_a_wrong_call_in_sparql_is_an_error(call: str, evaluated: Path, tmp_path: Path) -> None:
    run("publish", evaluated, "-o", "record.trig", cwd=tmp_path)
    kgeval.register(str(tmp_path / "record.trig"))
    graph = rdflib.Graph().parse(evaluated.parent / "gazetteer.ttl")
    query = f"PREFIX kge: <https://w3id.org/rdf-kgeval#> SELECT * {{ ?s ?p ?o FILTER({call}) }}"
    with pytest.raises(Exception, match=r"kge:label\b|kge:accuracy\b|argument"):
        list(graph.query(query))


# ---- Questions


@pytest.fixture(scope="module")
def japanese(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    made = tmp_path_factory.mktemp("ja")
    run("init", "run", folder / "gazetteer.ttl", "--lang", "ja", cwd=made)
    return tasks(made / "run")


@pytest.fixture(scope="module")
def english(evaluated: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    made = tmp_path_factory.mktemp("en")
    run("init", "run", evaluated.parent / "gazetteer.ttl", cwd=made)
    return tasks(made / "run")


def test_a_predicate_is_named_in_the_language_chosen_then_in_english(japanese: list[str]) -> None:
    assert any("国" in text and "ボリビア" in text for text in japanese)
    assert any("elevation in metres" in text for text in japanese)
    assert not any(re.search("Höhe|gegründet|Land|Geschichte", text) for text in japanese)


def test_where_two_share_a_name_a_description_tells_them_apart(english: list[str]) -> None:
    shared = [text for text in english if text.startswith("Springfield")]
    assert shared
    assert all("city in Austria" in text or "city in Botswana" in text for text in shared)


def test_numbers_and_dates_are_written_for_people(english: list[str]) -> None:
    assert any(re.search(r"elevation in metres \d\d,\d{3}$", text) for text in english)
    assert any(re.search(r"founded on.* \d{1,2} [A-Z][a-z]+ 10\d\d", text) for text in english)


def test_a_property_of_wikidata_has_its_name(english: list[str]) -> None:
    assert any("place of birth" in text or "born" in text for text in english)
    assert not any("P19" in text for text in english)


def test_what_nobody_can_judge_is_not_asked_unless_named(folder: Path, tmp_path: Path) -> None:
    options = ("gazetteer.ttl", "--oracle", "gold.csv", "--json")
    out, said = run("evaluate", *options, cwd=folder)
    asked = set(json.loads(out)["by_predicate"])
    silent = {f"{PREFIXES['dct']}modified", f"{PREFIXES['owl']}sameAs", f"{PREFIXES['rdfs']}label"}
    assert f"{TERMS}country" in asked
    assert not asked & silent
    assert re.search(r"20\b[^;]*modified|modified[^;]*\b20\b", one_line(said)), said
    assert "sameAs" in said
    assert len(kgeval.read_beliefs(folder / "gazetteer.ttl").rows) == json.loads(out)["beliefs"]
    out, _ = run("evaluate", *options, "--predicate", "dct:modified", cwd=folder)
    assert set(json.loads(out)["by_predicate"]) == {f"{PREFIXES['dct']}modified"}


# ---- The page


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    program = shutil.which("chromium")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("Chromium is absent; in CI it must be there")
        pytest.skip("Chromium is absent: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


EVIDENCE = f"""subject,predicate,object,text,url
{PLACES}Zahle,{TERMS}country,{PLACES}Lebanon,"Zahlé <script>alert(1)</script> is the capital of Beqaa in Lebanon.",https://encyclopedia.example/Zahle
"""
PASSAGE = "is the capital of Beqaa in Lebanon."


@pytest.fixture(scope="module")
def judging(gazetteer: Gazetteer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path]]:
    """The page of a lone annotator, with sources in named graphs and a passage."""
    folder = gazetteer.write(tmp_path_factory.mktemp("page"))
    (folder / "evidence.csv").write_text(EVIDENCE, encoding="utf-8")
    predicates = [
        x for name in ("country", "history", "elevation") for x in ("--predicate", f"{TERMS}{name}")
    ]
    run("init", "run", "gazetteer.trig", *predicates, "--evidence", "evidence.csv", cwd=folder)
    served = start(folder / "run", "--annotator", "ada", "--policy", "srs", "--margin", "0.02")
    try:
        yield served, folder / "run"
    finally:
        served.kill()


@dataclass(frozen=True)
class Sitting:
    """What a lone annotator saw, question by question."""

    sentences: list[str]
    texts: list[str]
    markup: list[str]
    waits: int
    verdicts: str
    """The log."""
    narrow: list[str]
    """Faults found at 320 pixels and at 1,280."""


@pytest.fixture(scope="module")
def sitting(
    judging: tuple[Served, Path], chromium: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Sitting:
    served, folder = judging
    shots = Path(os.environ.get("SCREENSHOTS", tmp_path_factory.mktemp("shots")))
    narrow = chromium.new_context(viewport={"width": 320, "height": 640})
    wide = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = narrow.new_page()
    page.goto(served.links["ada"])
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    other = wide.new_page()
    owner = chromium.new_context(viewport={"width": 1280, "height": 800}).new_page()
    other.goto(served.links["ada"])
    owner.goto(served.links["dashboard"])
    seen = Sitting([], [], [], 0, "", [])
    waits = 0
    for number in range(60):
        if page.locator("#main").get_attribute("data-state") != "judge":
            break
        sentence = page.locator("#sentence").inner_text()
        arabic = bool(re.search("[\u0600-\u06ff]", sentence))
        if number == 0 or arabic or "whole of it" in page.content():
            other.reload()
            for name, shown in (("narrow", page), ("wide", other)):
                shown.screenshot(path=shots / f"judge-{name}-{number}.png", full_page=True)
                seen.narrow.extend(faults(shown, f"{name} {number}"))
        seen.sentences.append(sentence)
        seen.texts.append(page.locator("main").inner_text())
        seen.markup.append(page.content())
        if number == 0:
            note(page, "seen in the yearbook", "https://yearbook.example/1")
        before = page.locator("input[name=turn]").first.get_attribute("value")
        page.keyboard.press("t")
        page.wait_for_function(
            "turn => document.querySelector('input[name=turn]').value !== turn", arg=before
        )
        waits += page.get_by_text("Nothing for you at this moment").count()
    page.screenshot(path=shots / "over.png", full_page=True)
    owner.reload()
    owner.screenshot(path=shots / "dashboard-wide.png", full_page=True)
    seen.narrow.extend(faults(owner, "dashboard, wide"))
    small = chromium.new_context(viewport={"width": 320, "height": 640}).new_page()
    small.goto(served.links["dashboard"])
    small.screenshot(path=shots / "dashboard-narrow.png", full_page=True)
    seen.narrow.extend(faults(small, "dashboard, narrow"))
    assert all(url.startswith(f"http://127.0.0.1:{served.port}/") for url in requests)
    log = (folder / "verdicts.jsonl").read_text(encoding="utf-8")
    return Sitting(seen.sentences, seen.texts, seen.markup, waits, log, seen.narrow)


def note(page: Page, text: str, url: str) -> None:
    """Write a note and a source for the answer to come."""
    for summary in page.locator("form.answers summary").all():
        summary.click()
    page.locator("[name=note]").fill(text)
    page.locator("[name=source]").fill(url)
    page.locator("#sentence").focus()


def faults(page: Page, where: str) -> list[str]:
    """What axe finds serious, and sideways scrolling."""
    found = Axe().run(page).response["violations"]
    said = [
        f"{where}: {v['id']} {v['nodes'][0]['html']}" for v in found if v["impact"] in ("serious", "critical")
    ]
    if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
        said.append(f"{where}: scrolls sideways")
    return said


def test_every_page_is_accessible_and_fits_a_telephone(sitting: Sitting) -> None:
    assert sitting.narrow == []


def test_a_lone_annotator_is_never_kept_waiting_and_is_told_how_far_it_is(sitting: Sitting) -> None:
    assert sitting.waits == 0
    assert len(sitting.sentences) >= 30
    assert any(re.search(r"\d+\s+of about\s+\d+", text) for text in sitting.texts)
    assert not any("So far" in text for text in sitting.texts)


def test_a_note_and_a_source_go_with_an_answer(
    sitting: Sitting, judging: tuple[Served, Path], tmp_path: Path
) -> None:
    assert "seen in the yearbook" in sitting.verdicts
    assert "https://yearbook.example/1" in sitting.verdicts
    shutil.copytree(judging[1], tmp_path / "run")
    listed, _ = run("labels", "run", cwd=tmp_path)
    assert "seen in the yearbook" in listed
    run("publish", "run", "-o", "record.ttl", cwd=tmp_path)
    record = (tmp_path / "record.ttl").read_text(encoding="utf-8")
    assert "seen in the yearbook" in record
    assert "https://yearbook.example/1" in record


def test_what_the_graph_and_the_file_say_in_evidence_stands_under_the_question(sitting: Sitting) -> None:
    assert all("https://statistics.example/" in markup for markup in sitting.markup)
    (passage,) = {text for text in sitting.texts if PASSAGE in text}
    markup = next(text for text in sitting.markup if PASSAGE in text)
    assert "<script>alert(1)</script> is the capital" in passage
    assert "&lt;script&gt;alert(1)" in markup
    assert "https://encyclopedia.example/Zahle" in markup


def test_long_literals_can_be_opened_whole(sitting: Sitting) -> None:
    assert any(LAST_WORDS in markup for markup in sitting.markup)


def test_arabic_and_latin_in_one_question_are_isolated(sitting: Sitting) -> None:
    headings = [
        found[0] for m in sitting.markup if (found := re.search(r'<h1 id="sentence".*?</h1>', m, re.DOTALL))
    ]
    mixed = [heading for heading in headings if "زحلة" in heading]
    assert mixed
    for heading in mixed:
        assert re.search(r"<bdi[^>]*>[^<]*زحلة[^<]*</bdi>", heading)
        assert not re.search(r"زحلة[^<]*(country|elevation)", heading)


# ---- At the terminal

COMMANDS = (
    "init", "show", "mine", "evaluate", "ask", "estimate", "infer", "explain", "serve", "export", "import", "plan",
    "compare", "demo", "labels", "publish", "report",
)  # fmt: skip

HELP = """
import json, sys
from rdf_kgeval.cli import main
from contextlib import redirect_stdout
import io
found = {}
for command in json.loads(sys.argv[1]):
    out = io.StringIO()
    with redirect_stdout(out):
        try:
            sys.argv = ["kgeval", *command]
            main()
        except SystemExit:
            pass
    found[" ".join(command)] = out.getvalue()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def helps() -> dict[str, str]:
    """The help of every command at 80 columns."""
    wanted = [["-h"], *([name, "--help"] for name in COMMANDS), *([name, "-h"] for name in COMMANDS)]
    done = subprocess.run(
        [sys.executable, "-c", HELP, json.dumps(wanted)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": str(WIDTH)},
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_no_line_of_help_is_cut_at_80_columns(helps: dict[str, str]) -> None:
    for command, text in helps.items():
        assert text.strip(), command
        assert "…" not in text, command
        assert max(map(len, text.splitlines())) <= WIDTH, command


def test_names_of_options_and_their_values_are_whole(helps: dict[str, str]) -> None:
    text = helps["evaluate --help"]
    for name in (
        "--context-unknown",
        "--follow-imports",
        "--max-groundings",
        "--label-property",
        "--write-back",
    ):
        assert re.search(rf"{name}\b", text), name
    for values in ("dawid-skene", "majority", "overall", "predicate", "local", "spark"):
        assert re.search(rf"(?<!-)\b{values}\b", text), values
    assert len(text.splitlines()) < 193
    groups = [line for line in text.splitlines() if re.match(r"╭─|^[A-Z][\w ]+:?$", line)]
    assert len(groups) >= 6, groups
    assert "interval of the whole graph, or of each predicate" in one_line(text)
    assert text.count("[default:") + text.count("(default") >= 10


def test_the_usual_options_are_there(tmp_path: Path) -> None:
    out, _ = run("--version", cwd=tmp_path)
    assert kgeval.__version__ in out
    assert "completion" in run("--help", cwd=tmp_path)[0]


def test_quiet_says_nothing_but_the_result(folder: Path, tmp_path: Path) -> None:
    out, said = run(
        "evaluate", folder / "gazetteer.ttl", "--oracle", folder / "gold.csv", "--quiet", cwd=tmp_path
    )
    assert "accuracy" in out
    assert said == ""


def test_a_result_fits_the_terminal_and_comes_last(evaluated: Path, tmp_path: Path) -> None:
    out, _ = run("estimate", evaluated, "--by", "predicate", cwd=tmp_path)
    shown, _ = run("show", evaluated, cwd=tmp_path)
    for text in (out, shown):
        rows = [line for line in text.splitlines() if not line.startswith(("accuracy ", "e.g. "))]
        assert max(map(len, rows)) <= WIDTH, text
        assert "…" not in text
        assert re.search(r"\bg:country\b", text), text
    assert "accuracy" in out.strip().splitlines()[-1] or "accuracy" in one_line(
        " ".join(out.splitlines()[-3:])
    )


def test_of_many_predicates_twenty_are_shown(tmp_path: Path) -> None:
    lines = [f"<http://e/a{n % 7}> <http://e/p{n}> <http://e/b{n}> ." for n in range(60)]
    (tmp_path / "kg.nt").write_text("\n".join(lines))
    run("init", "run", "kg.nt", cwd=tmp_path)
    assert re.search(r"\b40 more\b", run("show", "run", cwd=tmp_path)[0])


def test_a_misspelt_name_is_answered_with_the_nearest(folder: Path, tmp_path: Path) -> None:
    _, said = run("init", "run", folder / "gazetteer.ttl", "--predicate", "g:captial", cwd=tmp_path, code=1)
    assert "captial" in said
    assert "g:capital" in said
    assert not (tmp_path / "run").exists()


def test_a_belief_is_found_by_names(evaluated: Path, tmp_path: Path) -> None:
    assert "Cochabamba" in run("explain", evaluated, "Cochabamba country", cwd=tmp_path)[0]
    assert "Cochabamba" in run("explain", evaluated, "p:Cochabamba g:country p:Bolivia", cwd=tmp_path)[0]
    out, said = run("explain", evaluated, "Springfield country", cwd=tmp_path, code=None)
    assert "Austria" in out + said
    assert "Botswana" in out + said


def test_labels_say_what_was_asked_and_who_answered_when(evaluated: Path, tmp_path: Path) -> None:
    out, _ = run("labels", evaluated, cwd=tmp_path)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {"sentence", "annotator", "time", "note"} <= set(rows[0])
    asked = [row for row in rows if row["source"] != "inferred"]
    assert asked
    assert all(row["sentence"] and row["annotator"] and row["time"] for row in asked)


def test_answers_of_another_run_are_taken_over(copy: Path) -> None:
    run("init", "fresh", "gazetteer.ttl", cwd=copy.parent)
    run("import", "fresh", "run", cwd=copy.parent)
    before, after = (run("labels", name, cwd=copy.parent)[0] for name in ("run", "fresh"))
    said = [
        {r["sentence"]: r["label"] for r in csv.DictReader(io.StringIO(text)) if r["source"] != "inferred"}
        for text in (before, after)
    ]
    assert said[0] == said[1] != {}


def test_options_are_checked_before_anything_is_loaded(folder: Path, tmp_path: Path) -> None:
    _, said = run("evaluate", "absent.ttl", "--oracle", "Web", cwd=tmp_path, code=None)
    assert "--oracle takes web, prompt or a CSV file; there is no file 'Web'. Did you mean web?" in one_line(
        said
    )
    (tmp_path / "gold.csv").write_text("a,b\n1,2\n")
    _, said = run("evaluate", "absent.ttl", "--oracle", "gold.csv", cwd=tmp_path, code=None)
    assert "gold.csv" in said
    assert "absent.ttl" not in said


def test_a_spent_budget_and_a_wrong_folder_say_what_to_type(copy: Path) -> None:
    here = copy.parent
    run("init", "small", "gazetteer.ttl", cwd=here)
    options = ("--oracle", "gold.csv", "--budget", "5", "--policy", "srs")
    run("ask", "small", *options, cwd=here)
    _, said = run("export", "small", "--to", "csv", "--policy", "srs", "--budget", "5", cwd=here, code=1)
    assert "The budget of 5 answers is spent. Go on with --budget" in one_line(said)
    _, said = run("plan", "gazetteer.ttl", cwd=here, code=None)
    assert (
        "gazetteer.ttl is a file. First: kgeval init run gazetteer.ttl; then: kgeval plan run."
        in one_line(said)
    )


def test_a_margin_is_a_share_or_a_percentage(folder: Path, tmp_path: Path) -> None:
    options = (folder / "gazetteer.ttl", "--oracle", folder / "gold.csv", "--json")
    assert json.loads(run("evaluate", *options, "--margin", "10%", cwd=tmp_path)[0])["margin"] == 0.1
    _, said = run("evaluate", *options, "--margin", "five", cwd=tmp_path, code=None)
    assert "Input should be" not in said
    assert "0.05" in said


def test_a_belief_that_nothing_is_known_of_is_unknown(evaluated: Path, tmp_path: Path) -> None:
    run("init", "run", evaluated.parent / "gazetteer.ttl", "--no-mine", cwd=tmp_path, code=None)
    if not (tmp_path / "run").exists():
        run("init", "run", evaluated.parent / "gazetteer.ttl", cwd=tmp_path)
    out, _ = run("explain", "run", f"<{PLACES}Cochabamba> <{TERMS}country> <{PLACES}Bolivia>", cwd=tmp_path)
    assert "unknown: no answer so far says anything about it" in one_line(out)


def test_a_plan_says_how_many_more(copy: Path) -> None:
    assert re.search(r"\bmore\b", run("plan", "run", "--margin", "0.03", cwd=copy.parent)[0])


def test_a_query_address_that_takes_no_updates_says_which_option_helps(hour: Hour) -> None:
    if hour.environ:
        pytest.skip("Virtuoso takes updates where it takes queries")
    options = ("--write-back", f"{RECORD}/2", "--endpoint", hour.server.query)
    _, said = run("publish", "run", *options, cwd=hour.folder, code=1)
    assert (
        "this address takes no updates; name the one that does with --update-endpoint"
        in one_line(said).lower()
    )


# ---- Python


@pytest.fixture(scope="module")
def in_python(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> kgeval.Evaluation:
    """The whole job in one call, on a run that is kept."""
    oracle = kgeval.GoldOracle(folder / "gold.csv")
    where = tmp_path_factory.mktemp("python") / "run"
    return kgeval.evaluate(folder / "gazetteer.ttl", oracle=oracle, run=where, margin=0.1, seed=3)


CELLS = (
    "import importlib.util\nassert importlib.util.find_spec('ipywidgets') is None",
    "import rdf_kgeval as kgeval\nbeliefs = kgeval.read_beliefs('gazetteer.ttl')\ngraph = kgeval.couple(beliefs, [])\nlen(beliefs)",
    "oracle = kgeval.GoldOracle('gold.csv')\nevaluation = kgeval.evaluate('gazetteer.ttl', oracle=oracle, run='kept')\nevaluation",
    "evaluation.to_pandas().head()",
    "print(repr(evaluation))",
)


def test_a_notebook_without_ipywidgets_does_the_whole_job(folder: Path, tmp_path: Path) -> None:
    for name in ("gazetteer.ttl", "gold.csv"):
        shutil.copy(folder / name, tmp_path)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    client = NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    outputs = [cell.outputs for cell in notebook.cells]
    (shown,) = [o for o in outputs[2] if o.output_type == "execute_result"]
    assert "g:country" in shown.data["text/html"] or "country" in shown.data["text/html"]
    assert "%" in shown.data["text/html"]
    assert "accuracy" in outputs[4][-1].text
    assert (tmp_path / "kept" / "verdicts.jsonl").exists()


def test_one_call_evaluates_whatever_holds_a_graph(folder: Path, gazetteer: Gazetteer) -> None:
    graph = rdflib.Graph().parse(folder / "gazetteer.ttl")
    beliefs = kgeval.read_beliefs(folder / "gazetteer.ttl")
    oracle = kgeval.GoldOracle(folder / "gold.csv")
    options = {"oracle": oracle, "margin": 0.1, "rules": []}
    found = [
        kgeval.evaluate(source, **options).accuracy  # type: ignore[arg-type]
        for source in (str(folder / "gazetteer.ttl"), graph, beliefs, kgeval.couple(beliefs, []))
    ]
    assert max(found) - min(found) < 0.2
    assert 0.8 < found[0] <= 1


def test_an_endpoint_is_evaluated_by_its_address(hour: Hour, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in hour.environ.items():
        monkeypatch.setenv(name, value)
    oracle = kgeval.GoldOracle(hour.folder / "gold.csv")
    assert kgeval.evaluate(hour.server.query, graph=GRAPH, oracle=oracle, margin=0.1).accuracy > 0.8


def test_an_evaluation_shows_itself_and_goes_on(
    in_python: kgeval.Evaluation, folder: Path, tmp_path: Path
) -> None:
    assert re.match(r"<?Evaluation.*accuracy", repr(in_python), re.DOTALL)
    assert "%" in in_python._repr_html_()
    table = in_python.to_pandas()
    assert (
        f"{TERMS}country" in set(table.astype(str).to_numpy().ravel())
        or any("country" in c for c in table.columns)
        or "country" in table.to_string()
    )
    in_python.report(tmp_path / "r.html")
    in_python.publish(tmp_path / "r.trig")
    assert (tmp_path / "r.html").stat().st_size > 1000
    assert (tmp_path / "r.trig").stat().st_size > 1000
    assert "Cochabamba" in str(in_python.explain("p:Cochabamba", "g:country", "p:Bolivia"))
    assert re.fullmatch(r"\d+\.\d+.*", kgeval.__version__)


def test_an_evaluation_goes_on_where_its_run_stopped(folder: Path, tmp_path: Path) -> None:
    asked: list[str] = []

    def ada(question: kgeval.Question) -> bool:
        asked.append(question.sentence)
        return True

    first = kgeval.evaluate(folder / "gazetteer.ttl", oracle=ada, run=tmp_path / "run", budget=6)
    assert len(asked) == len(first.asked) == 6
    second = kgeval.evaluate(folder / "gazetteer.ttl", oracle=ada, run=tmp_path / "run", budget=9)
    assert len(asked) == len(second.asked) == 9


def test_an_oracle_may_decline_or_call_a_belief_ambiguous(folder: Path) -> None:
    answers = iter([None, kgeval.Answer.AMBIGUOUS])
    oracle: Callable[[kgeval.Question], object] = lambda _: next(answers, True)  # noqa: E731
    assert kgeval.evaluate(folder / "gazetteer.ttl", oracle=oracle, budget=8).n_verdicts >= 7


MISTAKES: dict[str, Callable[[Path, rdflib.Graph], object]] = {
    "couple(graph)": lambda f, g: kgeval.couple(g, []),  # type: ignore[arg-type]
    "couple(path)": lambda f, g: kgeval.couple(str(f / "gazetteer.ttl"), []),  # type: ignore[arg-type]
    "mine(graph)": lambda f, g: kgeval.mine(g),  # type: ignore[arg-type]
    "mine(path)": lambda f, g: kgeval.mine(f / "gazetteer.ttl"),  # type: ignore[arg-type]
    "no oracle": lambda f, g: kgeval.evaluate(g),  # type: ignore[call-arg]
    "oracle=path that is absent": lambda f, g: kgeval.evaluate(g, oracle=str(f / "absent.csv")),
    "oracle=dict": lambda f, g: kgeval.evaluate(g, oracle={("a", "b", "c"): True}),
    "oracle says 1.5": lambda f, g: kgeval.evaluate(g, oracle=lambda question: 1.5),
    "oracle takes nothing": lambda f, g: kgeval.evaluate(g, oracle=lambda: True),
    "margin as text": lambda f, g: kgeval.evaluate(g, oracle=lambda q: True, margin="a lot"),  # type: ignore[arg-type]
    "unknown option": lambda f, g: kgeval.evaluate(g, oracle=lambda q: True, margn=0.1),  # type: ignore[call-arg]
    "Turtle text": lambda f, g: kgeval.read_beliefs("<http://e/a> <http://e/b> <http://e/c> ."),
    "read_beliefs(list)": lambda f, g: kgeval.read_beliefs([("a", "b", "c")]),  # type: ignore[arg-type, list-item]
    "read_rules(graph)": lambda f, g: kgeval.read_rules(g),  # type: ignore[arg-type]
    "register(evaluation)": lambda f, g: kgeval.register(kgeval.evaluate(g, oracle=lambda q: True, budget=3)),  # type: ignore[arg-type]
    "to_rdf(path)": lambda f, g: kgeval.to_rdf("run"),  # type: ignore[arg-type]
    "GoldOracle(dict)": lambda f, g: kgeval.GoldOracle({}),  # type: ignore[arg-type]
    "evaluate(number)": lambda f, g: kgeval.evaluate(5, oracle=lambda q: True),  # type: ignore[call-overload, arg-type]
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_wrong_argument_gets_a_sentence_that_names_the_right_call(name: str, folder: Path) -> None:
    graph = rdflib.Graph().parse(folder / "gazetteer.ttl")
    with pytest.raises((KgevalError, TypeError, ValueError)) as caught:
        MISTAKES[name](folder, graph)
    said = str(caught.value)
    assert not re.search(
        r"has no attribute|takes \d+ positional|not supported between|object is not", said
    ), said
    where = [frame for frame in caught.traceback if "rdf_kgeval" in str(frame.path)]
    assert len(said) > 20
    assert where or isinstance(caught.value, TypeError)


# ---- The record


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_record_describes_itself_and_names_no_address_of_this_machine(hour: Hour) -> None:
    text = (hour.folder / "record.trig").read_text(encoding="utf-8")
    assert "localhost" not in text
    assert "127.0.0.1" not in text
    record = rdflib.Dataset()
    record.parse(hour.folder / "record.trig")
    graph = rdflib.Graph()
    for s, p, o, _ in record.quads():
        graph.add((s, p, o))
    dqv, dcat, dct = (
        rdflib.Namespace(x)
        for x in ("http://www.w3.org/ns/dqv#", "http://www.w3.org/ns/dcat#", PREFIXES["dct"])
    )
    (dataset,) = {
        s for s in graph.subjects(dqv.hasQualityMeasurement) if (s, rdflib.RDF.type, dcat.Dataset) in graph
    }
    metrics = set(graph.objects(None, dqv.isMeasurementOf))
    assert metrics
    for metric in metrics:
        assert list(graph.objects(metric, dqv.inDimension))
        assert list(graph.objects(metric, dqv.expectedDataType))
    assert list(graph.objects(None, dct.title))
    assert list(graph.objects(None, dct.created))
    vocabulary = "https://w3id.org/rdf-kgeval#"
    names = {str(n) for n in graph.all_nodes() | set(graph.predicates()) if isinstance(n, rdflib.URIRef)}
    assert not [
        n for n in names if n.startswith("https://w3id.org/rdf-kgeval") and not n.startswith(vocabulary)
    ]
    assert str(dataset).startswith(("urn:uuid:", BASE))


def test_by_default_a_record_holds_what_is_known(evaluated: Path, tmp_path: Path) -> None:
    run("publish", evaluated, "-o", "known.nt", cwd=tmp_path)
    known = (tmp_path / "known.nt").read_text()
    assert "rdf-kgeval#Unknown" not in known
    assert known.count("rdf-kgeval#label>") == known.count("rdf-kgeval#True>") + known.count(
        "rdf-kgeval#False>"
    )
    assert "rdf-kgeval#Human" in known
    run("publish", evaluated, "-o", "all.nt", "--annotations", "all", cwd=tmp_path)
    assert "rdf-kgeval#Unknown" in (tmp_path / "all.nt").read_text()
    run("publish", evaluated, "-o", "named.nt", "--base", f"{BASE}record/", cwd=tmp_path)
    assert f"<{BASE}record/" in (tmp_path / "named.nt").read_text()


# ---- The first minute


def test_the_first_small_command_after_an_install_does_not_compile(folder: Path, tmp_path: Path) -> None:
    """Without compiled code a small evaluation costs about what it costs with it."""
    arguments = ("evaluate", folder / "gazetteer.ttl", "--oracle", folder / "gold.csv", "--no-mine")
    seconds = []
    for _ in range(2):
        before = os.times()
        _, said = run(*arguments, cwd=tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
        after = os.times()
        seconds.append(
            after.children_user - before.children_user + after.children_system - before.children_system
        )
        assert "compiling" not in said
    assert seconds[0] < 2.5 * seconds[1]


def test_a_gazetteer_of_full_size_is_shown_in_seconds(tmp_path: Path) -> None:
    large = make(1_700).write(tmp_path)
    begin = time.monotonic()
    run("init", "run", large / "gazetteer.ttl", cwd=tmp_path)
    assert time.monotonic() - begin < 60
    read, accounts = accounts_of(tmp_path / "run")
    assert read == sum(accounts.values()) > 30_000

"""The pages over HTTP: what annotators can do, and what nobody can."""

import json
import re
import shutil
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from html import unescape
from pathlib import Path

import httpx
import pytest

from rdf_kgeval.verdicts.log import Retraction, read_log, standing
from tests.evaluation.test_exchange import EXAMPLE, kgeval
from tests.support.annotators import Served, form_of, launch, start

HOSTILE = """
@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:a rdfs:label "<img src=x onerror=alert(1)>" ; :knows <javascript:alert(1)> .
:b rdfs:label "abc\\u202Edcba\\u0007" ; :knows :a .
:c :knows "</script><script>alert(1)</script>\\" onmouseover=\\"alert(1)" .
:d :knows <data:text/html,alert(1)> .
"""


def client(served: Served) -> httpx.Client:
    """Keeps no connection open, so that none is left when a test ends."""
    return httpx.Client(
        base_url=f"http://127.0.0.1:{served.port}",
        follow_redirects=True,
        timeout=60,
        limits=httpx.Limits(max_keepalive_connections=0),
    )


class Browser:
    """One person's browser."""

    def __init__(self, served: Served, name: str) -> None:
        self.http = client(served)
        self.page = self.http.get(served.links[name]).text

    @property
    def sentence(self) -> str:
        found = re.search(r'<h1 id="sentence"[^>]*>(.*?)</h1>', self.page)
        return unescape(re.sub("</?bdi>", "", found[1])) if found else ""

    @property
    def form(self) -> dict[str, str]:
        return form_of(self.page)

    def load(self) -> None:
        self.page = self.http.get("/").text

    def wait(self) -> None:
        """Look again until there is something to judge, or everything is done."""
        for _ in range(600):
            if "belief" in self.form or "That was all" in self.page:
                return
            time.sleep(0.1)
            self.load()

    def send(self, answer: str) -> None:
        response = self.http.post("/answer", data={**self.form, "answer": answer})
        assert response.status_code == 200
        self.page = response.text


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("made") / "run"
    names = ("homeCity", "cityInState", "homeStadiumOf", "stadiumLocatedInCity")
    chosen = (x for name in names for x in ("--predicate", f"http://example.org/{name}"))
    kgeval("init", run, EXAMPLE / "kg.ttl", *chosen)
    return run


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "run"))


@pytest.fixture(scope="module")
def untouched(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of `still`."""
    return Path(shutil.copytree(made, tmp_path_factory.mktemp("untouched") / "run"))


@pytest.fixture(scope="module")
def still(untouched: Path) -> Iterator[Served]:
    """A server that takes no answer in any of the tests that share it."""
    yield from serve(untouched)


def serve(run: Path, *options: str) -> Iterator[Served]:
    served = start(run, "--annotator", "alice", "--annotator", "bob", *options)
    try:
        yield served
    finally:
        served.kill()


@pytest.fixture
def two(run: Path) -> Iterator[Served]:
    yield from serve(run)


@pytest.fixture
def three(run: Path) -> Iterator[Served]:
    yield from serve(run, "--expert", "carol", "--redundancy", "2")


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[Served]:
    (tmp_path / "kg.ttl").write_text(HOSTILE)
    (tmp_path / "g.md").write_text("<script>alert(1)</script> As of 2026.")
    options = ("--predicate", "http://example.org/knows")
    kgeval("init", tmp_path / "run", tmp_path / "kg.ttl", *options)
    yield from serve(tmp_path / "run", "--policy", "srs", "--guidelines", str(tmp_path / "g.md"))


def test_two_people_never_look_at_the_same_belief_and_clicks_count_once(two: Served, run: Path) -> None:
    alice, bob = Browser(two, "alice"), Browser(two, "bob")
    assert alice.form["belief"] != bob.form["belief"]
    first = {**alice.form, "answer": "true"}
    alice.load()
    assert alice.form["belief"] == first["belief"]  # a reload shows the same
    for _ in range(3):
        alice.http.post("/answer", data=first)
    alice.load()
    assert alice.form["belief"] not in (first["belief"], bob.form["belief"])
    assert [(v.annotator, v.belief) for v in read_log(run / "verdicts.jsonl")] == [("alice", first["belief"])]
    alice.send("undo")
    assert alice.form["belief"] == first["belief"]
    alice.http.post("/answer", data=first)  # from before the undo
    assert isinstance(read_log(run / "verdicts.jsonl")[-1], Retraction)
    alice.send("false")
    (verdict,) = standing(read_log(run / "verdicts.jsonl"))
    assert verdict.answer == "false"


def test_what_is_skipped_goes_to_the_other_and_comes_back_at_last(two: Served, run: Path) -> None:
    alice, bob = Browser(two, "alice"), Browser(two, "bob")
    skipped = alice.form["belief"]
    alice.send("skip")
    assert alice.form["belief"] != skipped
    bob.send("true")
    assert bob.form["belief"] == skipped
    bob.send("skip")
    for person in (alice, bob, alice, bob):
        person.load()
        person.wait()
        if "belief" in person.form:
            person.send("true")
    assert len(standing(read_log(run / "verdicts.jsonl"))) == 4


def test_ambiguous_goes_back_to_the_queue_where_there_is_no_expert(two: Served, run: Path) -> None:
    alice, bob = Browser(two, "alice"), Browser(two, "bob")
    doubtful = alice.form["belief"]
    alice.send("ambiguous")
    assert alice.form["belief"] != doubtful
    seen = []
    while doubtful not in seen and len(seen) < 3:
        bob.send("true")
        bob.wait()
        seen.append(bob.form.get("belief"))
    assert doubtful in seen


def test_an_expert_sees_ties_and_nothing_else(three: Served, run: Path) -> None:
    alice, bob, carol = (Browser(three, name) for name in ("alice", "bob", "carol"))
    assert alice.form["belief"] == bob.form["belief"]
    tied = alice.sentence
    assert "Nothing for you" in carol.sentence
    alice.send("true")
    bob.send("false")
    carol.wait()
    assert carol.sentence == tied
    carol.send("true")
    log = standing(read_log(run / "verdicts.jsonl"))
    assert [verdict.expert for verdict in log] == [None, None, True]
    assert "Nothing for you" in carol.sentence


def test_nobody_comes_in_without_a_link_or_with_a_forged_one(still: Served, untouched: Path) -> None:
    http = client(still)
    token = still.links["alice"].rpartition("/")[2]
    forged = token[:-1] + ("A" if token[-1] != "A" else "B")
    for path in ("/", "/dashboard", f"/in/{forged}", "/in/x", "/in/" + "x" * 4000):
        assert http.get(path).status_code == 401
    assert http.post("/answer", data={"answer": "true"}).status_code == 401
    assert read_log(untouched / "verdicts.jsonl") == []
    assert stat.S_IMODE((untouched / "web-secret").stat().st_mode) == 0o600
    assert token not in (untouched / "config.json").read_text()


def test_annotators_see_neither_the_dashboard_nor_each_other(still: Served) -> None:
    alice, bob = Browser(still, "alice"), Browser(still, "bob")
    assert alice.http.get("/dashboard").status_code == 403
    assert "alice" not in bob.page
    assert alice.http.post("/answer", data={**bob.form, "answer": "true"}).status_code == 403
    owner = Browser(still, "dashboard")
    assert owner.http.post("/answer", data={**bob.form, "answer": "true"}).status_code == 403


@pytest.mark.parametrize(
    "headers", [{"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}, {"origin": "null"}]
)
def test_other_sites_cannot_answer(still: Served, untouched: Path, headers: dict[str, str]) -> None:
    alice = Browser(still, "alice")
    form = {**alice.form, "answer": "true"}
    assert alice.http.post("/answer", data=form, headers=headers).status_code == 403
    del form["key"]
    assert alice.http.post("/answer", data=form).status_code == 403
    assert read_log(untouched / "verdicts.jsonl") == []
    assert "samesite=lax" in httpx.get(still.links["alice"]).headers["set-cookie"].lower()
    assert "httponly" in httpx.get(still.links["alice"]).headers["set-cookie"].lower()


def test_a_hundred_megabytes_are_refused_unread(still: Served) -> None:
    alice = Browser(still, "alice")
    body = b"answer=" + b"x" * 100_000_000
    refused = alice.http.post("/answer", content=body)
    assert refused.status_code == 413

    def chunks() -> Iterator[bytes]:
        for _ in range(100):
            yield b"x" * 1_000_000

    with suppress(httpx.TransportError):  # the server hangs up on the rest
        assert alice.http.post("/answer", content=chunks()).status_code == 413
    status = Path(f"/proc/{still.process.pid}/status").read_text()
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert peak
    assert int(peak[1]) < 900_000
    alice.load()
    assert alice.sentence


@pytest.mark.parametrize(
    "path",
    [
        "/static/../pages.py",
        "/static/%2e%2e/pages.py",
        "/static/..%2f..%2fverdicts.py",
        "/static/",
        "/static",
        "/static//etc/passwd",
        "/templates/judge.html",
    ],
)
def test_no_path_leads_out_and_nothing_is_listed(still: Served, path: str) -> None:
    with socket.create_connection(("127.0.0.1", still.port)) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    assert answer.split(" ", 2)[1] in ("404", "307")
    assert "import" not in answer
    assert "root:" not in answer


def test_malformed_forms_are_refused(still: Served, untouched: Path) -> None:
    alice = Browser(still, "alice")
    form = {**alice.form, "answer": "true"}
    for wrong in ({"turn": "-1"}, {"turn": "x"}, {"turn": "9" * 50}, {"answer": "maybe"}, {"answer": ""}):
        assert alice.http.post("/answer", data={**form, **wrong}).status_code == 400
    assert alice.http.post("/answer", content=b"\xff\xfe").status_code == 400
    alice.http.post("/answer", data={**form, "belief": "f" * 64})
    assert read_log(untouched / "verdicts.jsonl") == []


def test_pages_are_closed_to_scripts_frames_and_caches(still: Served) -> None:
    for path in (still.links["alice"], f"http://127.0.0.1:{still.port}/nothing"):
        headers = httpx.get(path, follow_redirects=True).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
    assert "no-store" in Browser(still, "alice").http.get("/").headers["cache-control"]


def test_a_hostile_graph_is_harmless(hostile: Served) -> None:
    alice = Browser(hostile, "alice")
    pages = [alice.page]
    for _ in range(4):
        alice.send("true")
        pages.append(alice.page)
    pages.append(Browser(hostile, "dashboard").page)
    text = "\n".join(pages)
    assert "<img" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;" in text
    assert "<script>alert" not in text
    assert "javascript:alert(1)" in text  # shown
    assert not re.search(r"""(href|src|action)=["']?\s*(javascript|data):""", text, re.IGNORECASE)
    assert not re.search(r"<[^>]*\sonmouseover=", text)
    assert "\u202e" not in text
    assert "\\u202e" in text
    assert "\x07" not in text
    for link in re.findall(r'href="([^"]*)"', text):
        assert link.startswith(("http://", "https://", "/static/"))
    assert "&lt;script&gt;alert(1)&lt;/script&gt; As of 2026." in text


def test_it_listens_on_this_machine_only_and_a_taken_port_is_one_sentence(two: Served, run: Path) -> None:
    assert all(link.startswith("http://127.0.0.1:") for link in two.links.values())
    _, said = kgeval("serve", run, "--port", "0", code=1)
    assert "another kgeval is taking verdicts" in said
    other = run.parent / "other"
    kgeval("init", other, EXAMPLE / "kg.ttl")
    _, said = kgeval("serve", other, "--port", str(two.port), code=1)
    assert "choose another --port" in said
    _, said = kgeval("serve", other, "--annotator", "a", "--annotator", "a", "--port", "0", code=1)
    assert "cannot name an annotator" in said
    assert "Traceback" not in said


def test_a_killed_server_goes_on_and_takes_the_form_that_was_open(run: Path) -> None:
    served = start(run, "--annotator", "alice", "--annotator", "bob")
    alice = Browser(served, "alice")
    alice.send("true")
    form, port = {**alice.form, "answer": "false"}, served.port
    served.kill()
    again = start(run, "--annotator", "alice", "--annotator", "bob", port=port)
    try:
        assert again.links == served.links
        alice.http.post("/answer", data=form)
        assert [str(v.answer) for v in standing(read_log(run / "verdicts.jsonl"))] == ["true", "false"]
        alice.load()
        alice.send("undo")
        assert alice.form["belief"] == form["belief"]
    finally:
        again.kill()


def test_evaluate_serves_the_page_until_there_is_no_more_to_ask(tmp_path: Path) -> None:
    run = tmp_path / "run"
    served = launch(
        "evaluate",
        str(EXAMPLE / "kg.ttl"),
        "--oracle",
        "web",
        "--run",
        str(run),
        "--annotator",
        "alice",
        "--json",
    )
    try:
        alice = Browser(served, "alice")
        while "belief" in alice.form:
            alice.send("false" if "Taj Mahal" in alice.sentence else "true")
            alice.wait()
        out, _ = served.process.communicate(timeout=60)
        assert json.loads(out)["accuracy"] == 0.75
        assert json.loads(out)["stopped"] == "everything asked"
        assert served.process.returncode == 0
    finally:
        served.kill()


def test_a_note_and_a_source_go_with_an_answer_and_what_is_wrong_is_said_where_it_was_written(
    two: Served, run: Path
) -> None:
    alice = Browser(two, "alice")
    note = 'no: "the map" <b>says</b>\r\notherwise'
    bad = {**alice.form, "answer": "false", "note": note, "source": "javascript:alert(1)"}
    refused = alice.http.post("/answer", data=bad)
    assert refused.status_code == 422
    assert "is not the address of a web page" in refused.text
    assert "&lt;b&gt;says&lt;/b&gt;" in refused.text
    assert "<b>says" not in refused.text
    assert read_log(run / "verdicts.jsonl") == []
    good = {**bad, "source": "https://example.org/map"}
    next_page = alice.http.post("/answer", data=good)
    assert next_page.status_code == 200
    assert "So far" not in next_page.text  # what share was true so far would prime people
    assert re.search(r"<strong>1</strong> of about \d+ by all", next_page.text)
    (verdict,) = standing(read_log(run / "verdicts.jsonl"))
    assert verdict.note == 'no: "the map" <b>says</b>\notherwise'
    assert verdict.source == "https://example.org/map"

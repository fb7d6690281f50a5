"""Every kind of page in a real browser, narrow and wide, light and dark: axe-core finds nothing serious."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.evaluation.test_exchange import kgeval
from tests.functional.test_browser import chromium as chromium
from tests.functional.test_browser import open_page, state
from tests.support.annotators import Served, start

ARABIC = "غابورون"
PLACE = "GreatPlace-with-a-very-long-name-that-cannot-be-broken-anywhere-at-all-0123456789"
KG = f"""@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix schema: <https://schema.org/> . @prefix prov: <http://www.w3.org/ns/prov#> .
:{PLACE} rdfs:label "{ARABIC}"@ar ;
  a :City ; :capitalOf :Botswana ; :population 246325 ; prov:wasDerivedFrom <https://example.org/{"x" * 200}> ;
  :history "{"A long story. " * 100}" ; schema:description "عاصمة بوتسوانا"@ar , "capital of Botswana"@en .
:capitalOf rdfs:label "capital of"@en . :population rdfs:label "population"@en .
:Botswana a :Country ; rdfs:label "Botswana"@en .
"""
PREDICATES = ("capitalOf", "population", "history")
SCHEMES = ("light", "dark")
WIDTHS = (320, 1280)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "kg.ttl").write_text(KG)
    (tmp_path / "evidence.csv").write_text(
        "subject,predicate,object,text,url\n"
        f"http://example.org/{PLACE},http://example.org/capitalOf,http://example.org/Botswana,"
        '"Gaborone is the capital and largest city of Botswana.\n<b>Since 1966.</b>",https://example.org/a\n'
    )
    chosen = (x for name in PREDICATES for x in ("--predicate", f"http://example.org/{name}"))
    kgeval("init", tmp_path / "run", tmp_path / "kg.ttl", *chosen, "--evidence", tmp_path / "evidence.csv")
    return tmp_path / "run"


@pytest.fixture
def served(run: Path) -> Iterator[Served]:
    served = start(run, "--annotator", "alice", "--expert", "carol", "--policy", "srs")
    try:
        yield served
    finally:
        served.kill()


def check(page: Page, name: str) -> None:
    """Nothing serious, and nothing to scroll sideways."""
    shots = os.environ.get("SCREENSHOTS")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            found = Axe().run(page).response["violations"]
            serious = [
                (trouble["id"], [node["html"] for node in trouble["nodes"]])
                for trouble in found
                if trouble["impact"] in ("serious", "critical")
            ]
            assert serious == [], (name, width, scheme)
            if shots:
                page.screenshot(path=Path(shots) / f"{name}-{width}-{scheme}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)


def answer(page: Page, key: str) -> None:
    turn = page.locator("input[name=turn]").first.get_attribute("value")
    page.keyboard.press(key)
    page.wait_for_function("turn => document.querySelector('input[name=turn]')?.value !== turn", arg=turn)


def test_no_page_has_a_serious_barrier(chromium: Browser, served: Served, run: Path, tmp_path: Path) -> None:
    troubles: list[str] = []
    carol = open_page(chromium, served.links["carol"], troubles)
    assert state(carol) == "wait"
    check(carol, "wait")
    alice = open_page(chromium, served.links["alice"], troubles)
    first = ""
    for turn in range(len(PREDICATES)):
        assert state(alice) == "judge"
        sentence = alice.locator("#sentence")
        check(alice, f"question-{turn}")
        if "capital of" in sentence.inner_text():
            # Arabic and Latin stand in the order of the sentence, from left to right.
            assert sentence.locator("bdi").first.inner_text() == ARABIC
            alice.set_viewport_size({"width": 1280, "height": 800})
            begin = "parts => parts.map(part => part.getClientRects()[0]).map(box => [box.y, box.x])"
            ends = sentence.locator("bdi").evaluate_all(begin)
            assert ends == sorted(ends)
            assert alice.get_by_text("largest city of Botswana").is_visible()
            assert alice.get_by_text("<b>Since 1966.</b>").is_visible()
        if "A long story" in sentence.inner_text():
            alice.get_by_text("Read all of it").first.click()
            check(alice, "question-opened")
        if turn == 0:
            alice.keyboard.press("n")
            alice.keyboard.type("the true story, from a reader")  # letters that are keys elsewhere
            alice.fill("#source", "https://example.org/page")
            check(alice, "question-note")
            alice.locator("#sentence").focus()
            first = sentence.inner_text()
        answer(alice, "a" if turn == 0 else "t")
        if turn == 0:
            carol.reload()
            carol.get_by_text("Others could not decide this").wait_for(timeout=20_000)
            check(carol, "expert")
            assert carol.locator("#sentence").inner_text() == first
            answer(carol, "t")
    alice.get_by_text("That was all").wait_for(timeout=20_000)
    check(alice, "done")
    owner = open_page(chromium, served.links["dashboard"], troubles)
    check(owner, "dashboard")
    alice.keyboard.press("g")
    check(alice, "guidelines")
    assert troubles == []
    stranger = open_page(chromium, f"http://127.0.0.1:{served.port}/", [])
    check(stranger, "without-a-link")
    lost = open_page(chromium, f"http://127.0.0.1:{served.port}/nothing", [])
    check(lost, "not-found")
    served.stop()
    log = (run / "verdicts.jsonl").read_text()
    assert '"note": "the true story, from a reader"' in log
    assert '"source": "https://example.org/page"' in log
    kgeval("report", run, "-o", tmp_path / "report.html")
    check(open_page(chromium, f"file://{tmp_path / 'report.html'}", []), "report")

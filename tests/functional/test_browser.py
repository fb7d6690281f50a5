"""A real browser: two annotators label the motivating example to the end."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from rdf_kgeval.verdicts.log import read_log, standing
from tests.evaluation.test_exchange import EXAMPLE, kgeval
from tests.support.annotators import start

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
WRONG = ("city in state", "Taj Mahal is a State")


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


def open_page(browser: Browser, link: str, troubles: list[str], **how: object) -> Page:
    page = browser.new_context(**how).new_page()  # type: ignore[arg-type]
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
    page.goto(link)
    return page


def state(page: Page) -> str:
    return page.locator("#main").get_attribute("data-state") or ""


def test_two_annotators_label_the_motivating_example(chromium: Browser, tmp_path: Path) -> None:
    shots = Path(os.environ.get("SCREENSHOTS", tmp_path))
    run = tmp_path / "motivating"
    rules = ("--ontology", EXAMPLE / "ontology.ttl", "--rules", EXAMPLE / "rules")
    kgeval("init", run, EXAMPLE / "kg.ttl", *rules)
    served = start(
        run, "--annotator", "alice", "--annotator", "bob", "--policy", "greedy", "--seed-size", "0"
    )
    troubles: list[str] = []
    try:
        phone = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}
        alice = open_page(chromium, served.links["alice"], troubles)
        bob = open_page(chromium, served.links["bob"], troubles, **phone)
        owner = open_page(chromium, served.links["dashboard"], troubles)
        assert alice.url.endswith(f":{served.port}/")  # the token is gone from the address
        alice.screenshot(path=shots / "judge.png", full_page=True)
        bob.screenshot(path=shots / "judge-phone.png", full_page=True)
        alice.keyboard.press("g")
        assert alice.locator("#guidelines").is_visible()
        alice.keyboard.press("Escape")
        turn = 0
        for _ in range(100):
            for person in (alice, bob):
                if state(person) != "judge":
                    continue
                sentence = person.locator("#sentence").inner_text()
                right = not any(part in sentence for part in WRONG)
                before = person.locator("input[name=turn]").first.get_attribute("value")
                if person is alice:
                    person.keyboard.press("t" if right else "f")
                else:
                    person.get_by_role("button", name="True" if right else "False").click()
                person.wait_for_function(
                    "turn => document.querySelector('input[name=turn]').value !== turn", arg=before
                )
                if turn == 1:
                    person.keyboard.press("u")
                    person.wait_for_function(
                        "s => document.getElementById('sentence').innerText === s", arg=sentence
                    )
                    person.keyboard.press("t" if right else "f")
                    person.wait_for_function(
                        "s => document.getElementById('sentence').innerText !== s", arg=sentence
                    )
                turn += 1
            if state(alice) == state(bob) == "over":
                break
            alice.wait_for_timeout(100)
        assert alice.get_by_text("That was all").is_visible()
        assert bob.get_by_text("That was all").is_visible()
        owner.get_by_text("75.0%").wait_for(timeout=20_000)  # it looks again by itself
        assert owner.get_by_text("done: everything inferred").is_visible()
        alice.screenshot(path=shots / "over.png", full_page=True)
        owner.screenshot(path=shots / "dashboard.png", full_page=True)
        small = open_page(chromium, served.links["dashboard"], troubles, **phone)
        small.screenshot(path=shots / "dashboard-phone.png", full_page=True)
        said = standing(read_log(run / "verdicts.jsonl"))
        assert {verdict.annotator for verdict in said} == {"alice", "bob"}
        assert len({verdict.belief for verdict in said}) == len(said)
        assert troubles == []
        assert "accuracy 75.0%" in served.stop()
    finally:
        served.kill()


def test_the_page_works_without_its_script(chromium: Browser, tmp_path: Path) -> None:
    run = tmp_path / "run"
    kgeval("init", run, EXAMPLE / "kg.ttl")
    served = start(run, "--annotator", "alice")
    try:
        page = open_page(chromium, served.links["alice"], [], java_script_enabled=False)
        for number in range(8):
            page.get_by_role("button", name="True").click()
            page.get_by_text(f"{number + 1} judged by you").wait_for()
            page.reload()
        assert page.get_by_text("That was all").is_visible()
        assert len(standing(read_log(run / "verdicts.jsonl"))) == 8
    finally:
        served.kill()

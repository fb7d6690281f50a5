"""The spine: whoever answers, the same questions are asked and the same evaluation comes out."""

import io
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox
import pytest

import rdf_kgeval as kgeval
from rdf_kgeval.beliefs.table import Triple
from rdf_kgeval.engines.engine import LocalEngine
from rdf_kgeval.evaluation.consult import consult
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.evaluation.simulation import gold_labels, simulate
from rdf_kgeval.evaluation.state import State
from rdf_kgeval.pipeline import Consult, Evaluation, ask, open_evaluation, prepare
from rdf_kgeval.runs.create import Coupling
from rdf_kgeval.runs.run import Run
from rdf_kgeval.sources.load import Sources
from rdf_kgeval.verdicts.oracles import ORACLES, Question, choose_oracle
from rdf_kgeval.web import server as web
from tests.functional.test_pages import Browser
from tests.sources.draws.test_draws import EX, QUICK, Planted, is_true, lines, sources
from tests.support.annotators import Served
from tests.support.faults import FaultyServer, faulty

EXAMPLE = Path(__file__).parents[1] / "examples" / "motivating"
GOLD = kgeval.GoldOracle(EXAMPLE / "gold.csv")
HOW = {"policy": "srs", "seed": 3, "budget": 6}


class Typist(io.StringIO):
    """A person who reads the triple on the screen and types the answer."""

    def __init__(self, screen: io.StringIO) -> None:
        super().__init__()
        self._screen = screen

    def readline(self, _: int = -1) -> str:  # type: ignore[override]
        shown = self._screen.getvalue().rstrip().splitlines()[-3].strip()
        return (
            "t\n"
            if next(label for triple, label in GOLD.labels.items() if " ".join(triple) == shown)
            else "f\n"
        )


def typed(evaluation: Evaluation) -> bool:
    screen = io.StringIO()
    return consult(evaluation, kgeval.PromptOracle("ann", Typist(screen), screen))


@contextmanager
def clicked(truth: Callable[[Triple], bool], monkeypatch: pytest.MonkeyPatch) -> Iterator[Consult]:
    """Pages, and somebody who judges what they show until all is said."""
    monkeypatch.setattr(web, "GRACE", 0.3)
    clicking: list[threading.Thread] = []

    def begin(evaluation: Evaluation, links: Mapping[str, str]) -> None:
        beliefs = evaluation.graph.beliefs

        def click() -> None:
            browser = Browser(Served(None, {**links, "dashboard": links[""]}), "ann")  # type: ignore[arg-type]
            while "belief" in browser.form:
                triple = beliefs.triple(beliefs.row(browser.form["belief"]))
                browser.send("true" if truth(triple) else "false")
                browser.load()
                browser.wait()

        clicking.append(threading.Thread(target=click))
        clicking[-1].start()

    yield web.Pages(web.Serving(annotators=["ann"], port=0, until_stopped=True), begin)
    for thread in clicking:
        thread.join(30)


def asked(state: State) -> list[str]:
    return [record.belief for record in state.records]  # type: ignore[union-attr]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    coupling = Coupling(ontologies=[EXAMPLE / "ontology.ttl"], rules=[EXAMPLE / "rules"])
    return prepare(tmp_path / "run", Sources(files=[EXAMPLE / "kg.ttl"]), coupling)


@pytest.fixture
def in_memory(run: Run) -> Evaluation:
    return kgeval.evaluate(run.graph, GOLD, **HOW)


def test_a_simulation_asks_what_a_file_is_asked(run: Run, in_memory: Evaluation) -> None:
    gold = gold_labels(run.graph, GOLD.labels, "gold.csv")
    simulated = simulate(run.graph, gold, Settings().changed(**HOW))
    assert asked(simulated) == asked(in_memory)
    assert simulated.to_json() == in_memory.to_json()


def test_a_person_at_the_terminal_is_asked_what_a_file_is_asked(run: Run, in_memory: Evaluation) -> None:
    prompted = ask(run, typed, HOW)
    assert asked(prompted) == asked(in_memory)
    assert prompted.to_json() == in_memory.to_json()


def test_people_on_the_page_are_asked_what_a_file_is_asked(
    run: Run, in_memory: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    with clicked(GOLD.labels.__getitem__, monkeypatch) as pages:
        served = ask(run, pages, HOW)
    assert asked(served) == asked(in_memory)
    assert served.to_json() == in_memory.to_json()
    assert repr(served).partition(": ")[2] == repr(in_memory).partition(": ")[2]


def answer_by_label(question: Question) -> bool:
    return GOLD.labels[question.triple]


@contextmanager
def answering(name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Consult]:
    """An oracle as a user names it, and the person who answers there."""
    if name in ORACLES and ORACLES[name].pages:
        with clicked(GOLD.labels.__getitem__, monkeypatch) as pages:
            yield pages
        return
    screen = io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr("sys.stdin", Typist(screen))
    oracle = choose_oracle(name, "ann")
    yield lambda evaluation: consult(evaluation, oracle)


@pytest.mark.parametrize("name", [*ORACLES, str(EXAMPLE / "gold.csv"), f"{__name__}:answer_by_label"])
def test_whoever_answers_an_evaluation_can_be_undone_and_resumed(
    name: str, run: Run, in_memory: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(name, monkeypatch) as consulted:
        first = ask(run, consulted, {**HOW, "budget": 3})
    (annotator,) = {record.annotator for record in first.records}
    with open_evaluation(run, {"budget": 6}) as opened:
        assert opened.undo(annotator)
        assert opened.n_verdicts == 2
    with answering(name, monkeypatch) as consulted:
        done = ask(run, consulted)
    assert done.to_json() == in_memory.to_json()
    said = asked(in_memory)
    assert [getattr(record, "belief", None) for record in done.records] == [*said[:3], None, *said[2:]]


@dataclass(frozen=True)
class Marked(LocalEngine):
    """An engine that can be told from others."""


def test_a_run_that_is_extended_keeps_its_engine(tmp_path: Path) -> None:
    with faulty(lines(6000)) as server:
        run = prepare(tmp_path / "run", sources(server, reserve=1), Coupling(engine=Marked()))
        small = run.beliefs.n_beliefs
        done = kgeval.evaluate(run, Planted(), endpoint=_endpoint(server), margin=0.03)
    assert done.run
    assert done.run.beliefs.n_beliefs > small
    assert done.run.engine == Marked()


def test_python_evaluates_in_place(tmp_path: Path) -> None:
    with faulty(lines(6000)) as server:
        run = prepare(tmp_path / "run", sources(server, reserve=1), Coupling())
        done = kgeval.evaluate(run, Planted(), endpoint=_endpoint(server), margin=0.03)
    assert done.stopped == "margin"
    assert done.interval
    assert done.change is None


def test_the_page_looks_for_changes_of_the_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with faulty(lines(300)) as server:
        run = prepare(tmp_path / "run", sources(server), Coupling())
        server.store.add(ox.Quad(ox.NamedNode(f"{EX}n"), ox.NamedNode(f"{EX}p0"), ox.NamedNode(EX)))
        with clicked(is_true, monkeypatch) as pages:
            done = ask(run, pages, {"budget": 12}, endpoint=_endpoint(server))
    assert "it had 300 triples of this scope and has 301" in (done.change or "")


def _endpoint(server: FaultyServer) -> kgeval.Endpoint:
    return kgeval.Endpoint(server.url, retry=QUICK)

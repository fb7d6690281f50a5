"""The doors: every member of a registry passes its door's test, so none is added without one.

DIALECTS are in rules/test_dialects.py, ORACLES in test_pipeline.py, DRAWERS in sources/draws/.
"""

import csv
import gzip
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyoxigraph as ox
import pytest
import rdflib

from rdf_kgeval.beliefs.builder import BeliefsBuilder
from rdf_kgeval.coupling.graph import CouplingGraph
from rdf_kgeval.estimation.design import Design, Estimate
from rdf_kgeval.estimation.population import Population
from rdf_kgeval.evaluation.methods import METHODS
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.evaluation.simulation import gold_labels, simulate
from rdf_kgeval.evaluation.state import State
from rdf_kgeval.publishing.outputs import OUTPUTS
from rdf_kgeval.publishing.report.content import gather
from rdf_kgeval.runs.config import InputFile, RunConfig
from rdf_kgeval.sources.load import SOURCES, Reading, open_source
from rdf_kgeval.verdicts.aggregation import AGGREGATORS, Aggregator
from rdf_kgeval.verdicts.gold import read_gold
from rdf_kgeval.verdicts.log import NOT_ASKED
from rdf_kgeval.verdicts.votes import Aggregate, Votes
from tests.sources.test_load import NASTY
from tests.support.designs import DESIGNS, design_of
from tests.support.faults import FaultyStore
from tests.support.records import EX, EXAMPLE, HOSTILE, hostile, motivating

pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")


# METHODS: replay, for all; coverage, for designs


@pytest.fixture(scope="module")
def graph() -> CouplingGraph:
    return motivating(budget=1).graph


@pytest.mark.parametrize("name", METHODS)
def test_a_method_asks_the_same_when_its_log_is_replayed(graph: CouplingGraph, name: str) -> None:
    policy, _, estimator = name.partition("/")
    settings = Settings(policy=policy, estimator=estimator, seed=2, seed_size=2, budget=6, converge=False)
    gold = gold_labels(graph, read_gold(EXAMPLE / "gold.csv"), "gold.csv")
    first = simulate(graph, gold, settings)
    records = list(first.records)
    assert len(records) >= 3
    for known in range(len(records)):
        (request,) = State(graph, settings, records[:known]).next(1)
        verdict = records[known]
        assert (first.belief(request.position), request.drawn, request.probability) == (
            verdict.belief,  # type: ignore[union-attr]
            verdict.drawn,  # type: ignore[union-attr]
            verdict.probability,  # type: ignore[union-attr]
        )
    replayed = State(graph, settings, records)
    assert replayed.to_json() == first.to_json()
    assert replayed.history == first.history
    assert replayed.next(2) == first.next(2)


SEEDS, LEVEL, ACCURACY = 100, 0.95, 0.85
LEAST = {True: LEVEL - 0.05, False: LEVEL}
"""The coverage to keep, by whether a method is known to be overconfident."""


def coverage(make: Callable[..., Design]) -> float:
    """The share of seeds whose final interval holds the accuracy, over random labels and draws."""
    held = 0
    for seed in range(SEEDS):
        random = np.random.default_rng(seed)
        truth = (random.random(600) < ACCURACY).astype(np.int8)
        population = Population(
            predicate=random.integers(0, 3, 600),
            subject=random.integers(0, 300, 600),
            known=np.full(600, -1, np.int8),
            truth=np.where(random.random(600) < 0.7, truth, 1 - truth).astype(float),
        )
        design = make(population, seed=seed, margin=0.1, level=LEVEL)
        answers = np.full(600, NOT_ASKED, np.int8)
        while not design.reached(answers):
            drawn = [draw.position for draw in design.next(answers, 8)]
            answers[drawn] = truth[drawn]
        low, high = design.estimate(answers).interval or (0.0, 0.0)
        held += low - 1e-9 <= truth.mean() <= high + 1e-9
    return held / SEEDS


def short(covered: float, least: float) -> bool:
    """Whether the simulated coverage contradicts the least one at 99.9 %."""
    return covered + 3.1 * np.sqrt(least * (1 - least) / SEEDS) < least


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_covers_the_accuracy_as_often_as_it_says(name: str) -> None:
    assert not short(coverage(partial(design_of, name)), LEAST[METHODS[name].overconfident])


def test_a_design_that_covers_too_little_is_found_out() -> None:
    class Narrow:
        """Half the interval of another design."""

        def __init__(self, *args: object, **options: object) -> None:
            self._inner = design_of("srs/wilson", *args, **options)  # type: ignore[arg-type]
            self.next, self.reached = self._inner.next, self._inner.reached

        def estimate(self, answers: np.ndarray) -> Estimate:
            accuracy, interval = self._inner.estimate(answers)
            assert accuracy is not None
            assert interval is not None
            return Estimate(accuracy, tuple((accuracy + end) / 2 for end in interval))  # type: ignore[arg-type]

    assert short(coverage(Narrow), LEAST[True])  # type: ignore[arg-type]


# SOURCES: hostile literals

P = ox.NamedNode(EX + "p")
LINES = "\n".join(
    [
        # Without the number 007, which rdflib and the store themselves make 7.
        *(f"<{EX}it's?a=%22;--> <{EX}p> {text} ." for text in HOSTILE if "^^" not in text),
        str(ox.Quad(ox.NamedNode(EX + "s"), P, ox.Literal(NASTY))) + " .",
        str(ox.Quad(ox.NamedNode(EX + "s"), P, ox.Literal(""))) + " .",
    ]
)


def as_file(folder: Path) -> Path:
    path = folder / "kg.nt.gz"
    path.write_bytes(gzip.compress(LINES.encode()))
    return path


def as_graph(_: Path) -> rdflib.Graph:
    return rdflib.Graph().parse(data=LINES, format="nt")


NAMED: dict[str, Callable[[Path], object]] = {
    "file": as_file,
    "graph": as_graph,
    "endpoint": lambda _: FaultyStore(LINES.encode()).endpoint(),
}
"""The same triples as each kind of source; a new kind needs one here."""


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_leaves_hostile_literals_unchanged(name: str, tmp_path: Path) -> None:
    named = NAMED[name](tmp_path)
    assert next(entry.name for entry in SOURCES.values() if entry.takes(named)) == name
    builder = BeliefsBuilder()
    open_source(named, Reading(pages=tmp_path / "pages")).read(builder, lambda *_: None)
    beliefs = builder.build()
    found = {beliefs.triple(row) for row in range(len(beliefs))}
    quads = ox.parse(LINES.encode(), format=ox.RdfFormat.N_TRIPLES)
    assert found == {(str(q.subject), str(q.predicate), str(q.object)) for q in quads}


# OUTPUTS: determinism, escaping

ATTACK = '<script>alert("x")</script><img src=x onerror=alert(1)>]]>'
ORIGIN = RunConfig(files=(InputFile(path=f"{ATTACK}.ttl", role="belief", sha256="0" * 64),), notes=(ATTACK,))


class Tags(HTMLParser):
    """Counts the tags that a browser, or a renderer of Markdown, would see."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.seen += [name for name, _ in attrs if name.startswith("on")]


def tags_of_html(text: str) -> list[str]:
    seen = Tags(text).seen
    seen.remove("script")  # the embedded data
    return seen


def tags_of_markdown(text: str) -> list[str]:
    return Tags(re.sub(r"\\[<>]", "", text)).seen


def tags_of_xml(text: str) -> list[str]:
    return [element.tag for element in ElementTree.fromstring(text).iter()]


TAGS: dict[str, Callable[[str], list[str]]] = {
    "html": tags_of_html,
    "markdown": tags_of_markdown,
    "junit": tags_of_xml,
    "csv": lambda text: [cell for row in csv.reader(text.splitlines()) for cell in row],
}
"""How each format is read; a new format needs a reader here."""


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_is_deterministic_and_escapes_all_text(name: str, tmp_path: Path) -> None:
    write = OUTPUTS[name].load()
    reports = [replace(gather(hostile(tmp_path), ORIGIN), title=ATTACK) for _ in range(2)]
    texts = [write(report) for report in reports]
    assert texts[0] == texts[1]
    assert ATTACK not in texts[0]
    assert not {"script", "img", "onerror"} & set(TAGS[name](texts[0]))


# AGGREGATORS: permuted annotators


@pytest.mark.parametrize("name", AGGREGATORS)
def test_an_aggregation_does_not_depend_on_how_annotators_are_numbered(name: str) -> None:
    aggregate: Aggregator = AGGREGATORS[name].load()
    random = np.random.default_rng(4)
    accuracy = np.array([0.95, 0.9, 0.7, 0.6, 0.55])
    truth = random.random(120) < 0.7
    task = np.repeat(np.arange(120), 3)
    worker = np.concatenate([random.choice(5, 3, replace=False) for _ in range(120)])
    true = (truth[task] == (random.random(360) < accuracy[worker])).astype(float)
    found = aggregate(Votes(task, worker, true))
    number, order = random.permutation(5), random.permutation(360)
    again: Aggregate = aggregate(Votes(task[order], number[worker][order], true[order]))
    assert again.odds == pytest.approx(found.odds)
    assert (again.decided == found.decided).all()
    assert again.share == pytest.approx(found.share)
    assert again.sensitivity[number] == pytest.approx(found.sensitivity)
    assert again.specificity[number] == pytest.approx(found.specificity)
    assert ((found.odds > 0) == truth)[found.decided].mean() > 0.8, "and it is right more often than not"

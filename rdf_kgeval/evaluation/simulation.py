"""Simulate evaluations against gold labels, for methods and seeds."""

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from rdf_kgeval.beliefs.table import Beliefs, Triple
from rdf_kgeval.common.text import printable
from rdf_kgeval.common.types import Bools
from rdf_kgeval.coupling.graph import CouplingGraph
from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.consult import consult
from rdf_kgeval.evaluation.procedure import Point
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.evaluation.state import State
from rdf_kgeval.verdicts.log import Answer
from rdf_kgeval.verdicts.oracles import Question

Gold = Bools
"""By position in `graph.beliefs.rows`."""

ROUNDING = 1e-9
"""An interval that ends at the very accuracy holds it."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One method, one seed, from the first question to the last."""

    method: str
    seed: int
    asked: int
    accuracy: float
    interval: tuple[float, float] | None
    covered: bool | None
    """Whether the interval holds the gold accuracy."""
    covered_predicate: float | None
    """Share of the predicates whose interval holds their gold accuracy."""
    delta_overall: float
    """The paper's Delta_overall: how far the estimate is off."""
    delta_predicate: float
    """The paper's Delta_predicate: how far off it is per predicate, on average."""
    inferred: int
    label_accuracy: float | None
    """Share of the inferred labels that are right."""
    hours: float
    stopped: str | None
    seconds: float
    history: tuple[Point, ...]
    positions: tuple[int, ...]
    """Positions asked, in order."""


@dataclass(frozen=True, kw_only=True)
class MethodSummary:
    """Averages of a method's trials, as `kgeval compare` shows them."""

    method: str
    seeds: int
    asked: float
    asked_sd: float
    """Standard deviation over the seeds."""
    coverage: float | None
    """Share of the trials whose interval holds the gold accuracy; None without intervals."""
    coverage_predicate: float | None
    accuracy: float
    delta_overall: float
    delta_predicate: float
    margin: float | None
    """Half the width of the interval; None without intervals."""
    inferred: float
    label_accuracy: float | None
    cost_hours: float
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class ExpectedCost:
    """Verdicts and hours that a method is expected to take, as `kgeval plan` shows them."""

    method: str
    verdicts: float
    verdicts_sd: float
    hours: float
    margin: float | None
    """Half the width of the interval at the end; None for methods without an interval."""

    def to_json(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)


def gold_labels(graph: CouplingGraph, labels: Mapping[Triple, bool], name: str) -> Gold:
    """Return the gold label of every belief to be evaluated.

    Raises:
        InputError: a belief has none.
    """
    beliefs = graph.beliefs
    found = np.zeros(graph.n_beliefs, np.bool_)
    for position, row in enumerate(beliefs.rows):
        triple = beliefs.triple(int(row))
        label = labels.get(triple)
        if label is None:
            raise InputError(
                f"{printable(name)} has no label for {printable(' '.join(triple), 300)}, and a comparison "
                "needs all; add it, or leave the triple out of the scope"
            )
        found[position] = label
    return found


@dataclass(frozen=True)
class _GoldOracle:
    """Answers with the gold labels."""

    gold: Gold
    annotator: str = "gold"
    interactive: bool = False

    def ask(self, question: Question) -> Answer:
        return Answer.TRUE if self.gold[question.position] else Answer.FALSE


def simulate(graph: CouplingGraph, gold: Gold, settings: Settings) -> State:
    """Evaluate with the gold labels as answers."""
    state = State(graph, settings)
    consult(state, _GoldOracle(gold))
    return state


def run_trial(graph: CouplingGraph, gold: Gold, settings: Settings) -> Trial:
    """Simulate and compare with gold."""
    start = time.process_time()
    evaluation = simulate(graph, gold, settings)
    seconds = time.process_time() - start
    overall = evaluation.accuracy or 0.0
    by_predicate = evaluation.result().by_predicate
    _, group = evaluation.predicates
    true = np.bincount(group, gold) / np.bincount(group)
    errors, covered = [], []
    for entry, share in zip(by_predicate.values(), true, strict=True):
        estimate = overall if entry.accuracy is None else entry.accuracy
        errors.append(abs(estimate - share))
        if entry.interval is not None:
            covered.append(_holds(entry.interval, share))
    interval, accuracy = evaluation.interval, float(gold.mean())
    label = evaluation.label()
    label[evaluation.asked] = -1
    inferred = label >= 0
    right = label[inferred] == gold[inferred]
    return Trial(
        method=settings.method,
        seed=settings.seed,
        asked=len(evaluation.asked),
        accuracy=overall,
        interval=interval,
        covered=None if interval is None else _holds(interval, accuracy),
        covered_predicate=float(np.mean(covered)) if covered else None,
        delta_overall=abs(overall - accuracy),
        delta_predicate=float(np.mean(errors)),
        inferred=int(inferred.sum()),
        label_accuracy=float(right.mean()) if inferred.any() else None,
        hours=evaluation.cost / 3600,
        stopped=evaluation.stopped,
        seconds=seconds,
        history=tuple(evaluation.history),
        positions=tuple(evaluation.asked.tolist()),
    )


def _holds(interval: Sequence[float], value: float) -> bool:
    return interval[0] - ROUNDING <= value <= interval[1] + ROUNDING


def compare(
    graph: CouplingGraph,
    gold: Gold,
    methods: Iterable[Settings],
    seeds: int,
    *,
    processes: int = 1,
    on_trial: Callable[[int, int], None] = lambda done, of: None,
) -> list[Trial]:
    """Run every method with the seeds 0, 1, ..., spread over processes; the result is in order of both."""
    jobs = [replace(settings, seed=seed) for settings in methods for seed in range(seeds)]
    trials = []
    with _workers(graph, gold, min(processes, len(jobs))) as run:
        for trial in run(jobs):
            trials.append(trial)
            on_trial(len(trials), len(jobs))
    return trials


@contextmanager
def _workers(
    graph: CouplingGraph, gold: Gold, processes: int
) -> Iterator[Callable[[Iterable[Settings]], Iterator[Trial]]]:
    """Provide a function that runs trials in order: here, or in processes that map the graph from disk."""
    if processes <= 1:
        yield lambda jobs: (run_trial(graph, gold, job) for job in jobs)
        return
    with tempfile.TemporaryDirectory(prefix="kgeval-") as name:
        folder = Path(name)
        graph.beliefs.save(folder / "beliefs")
        graph.save(folder / "coupling")
        with ProcessPoolExecutor(processes, get_context("spawn"), _load, (folder, gold)) as pool:
            try:
                yield lambda jobs: pool.map(_run, jobs)
            finally:
                pool.shutdown(cancel_futures=True)


_loaded: dict[str, Any] = {}


def _load(folder: Path, gold: Gold) -> None:
    _loaded["graph"] = CouplingGraph.load(folder / "coupling", Beliefs.load(folder / "beliefs"))
    _loaded["gold"] = gold


def _run(settings: Settings) -> Trial:
    return run_trial(_loaded["graph"], _loaded["gold"], settings)


def expected_costs(
    graph: CouplingGraph,
    methods: Iterable[Settings],
    accuracy: float,
    *,
    seeds: int = 5,
    on_trial: Callable[[int, int], None] = lambda done, of: None,
) -> list[ExpectedCost]:
    """Estimate verdicts and hours of each method, by simulation with labels that are true by chance."""
    gold = np.random.default_rng(0).random(graph.n_beliefs) < accuracy
    trials = compare(graph, gold, methods, seeds, on_trial=on_trial)
    return [
        ExpectedCost(
            method=found.method,
            verdicts=found.asked,
            verdicts_sd=found.asked_sd,
            hours=found.cost_hours,
            margin=found.margin,
        )
        for found in summarise(trials)
    ]


def summarise(trials: Sequence[Trial]) -> list[MethodSummary]:
    """Average over the seeds, method by method."""
    methods = list(dict.fromkeys(trial.method for trial in trials))
    return [_summary(method, [t for t in trials if t.method == method]) for method in methods]


def _summary(method: str, trials: Sequence[Trial]) -> MethodSummary:
    return MethodSummary(
        method=method,
        seeds=len(trials),
        asked=_mean(t.asked for t in trials),
        asked_sd=float(np.std([t.asked for t in trials], ddof=1)) if len(trials) > 1 else 0.0,
        coverage=_mean_known(t.covered for t in trials),
        coverage_predicate=_mean_known(t.covered_predicate for t in trials),
        accuracy=_mean(t.accuracy for t in trials),
        delta_overall=_mean(t.delta_overall for t in trials),
        delta_predicate=_mean(t.delta_predicate for t in trials),
        margin=_mean_known((t.interval[1] - t.interval[0]) / 2 if t.interval else None for t in trials),
        inferred=_mean(t.inferred for t in trials),
        label_accuracy=_mean_known(t.label_accuracy for t in trials),
        cost_hours=_mean(t.hours for t in trials),
        seconds=_mean(t.seconds for t in trials),
    )


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _mean_known(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return _mean(known) if known else None

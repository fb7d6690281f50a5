"""Gather what a report tells from an evaluation; each format writes it in its own way."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np

from rdf_kgeval.beliefs.accounts import Accounts
from rdf_kgeval.beliefs.table import Triple
from rdf_kgeval.common.progress import Progress
from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.evaluation.procedure import Point
from rdf_kgeval.evaluation.result import GroupResult, Result
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.evaluation.state import IDENTIFY, VERIFY, State
from rdf_kgeval.inference.explanation import explain, reason
from rdf_kgeval.inference.model import UNKNOWN
from rdf_kgeval.inference.rule_weights import track_rules
from rdf_kgeval.publishing.record import Record, name_of, title_of
from rdf_kgeval.runs.config import RunConfig
from rdf_kgeval.verdicts.log import AMBIGUOUS, FALSE, TRUE, Answer

REMARKS = 100
"""Notes and sources in a report."""
SUSPICIOUS = 25
"""How many suspicious beliefs, and how many that people called wrong, are listed."""
POINTS = 400
"""How many points of the history are drawn."""

_STOPS = {
    "margin": "Asking stopped when the interval was narrow enough.",
    "budget": "Asking stopped when the budget was spent.",
    "everything asked": "Every belief has been asked.",
    "everything inferred": "Asking stopped when every belief had been asked or inferred.",
    "converged": "Asking stopped when the estimate no longer moved.",
}


@dataclass(frozen=True)
class Suspect:
    """A belief that is held to be false."""

    sentence: str
    triple: Triple
    truth: float
    reason: str
    """Why; empty where people said so."""


@dataclass(frozen=True)
class RuleRecord:
    """A rule, and how it fared under the verdicts."""

    name: str
    groundings: int
    strength: str
    tested: float
    held: float


@dataclass(frozen=True)
class Annotator:
    """Who answered, by pseudonym, and what."""

    name: str
    answers: Mapping[Answer, int]


@dataclass(frozen=True)
class Remark:
    """What an annotator said beside an answer."""

    sentence: str
    answer: Answer
    annotator: str
    """The pseudonym."""
    note: str
    source: str
    """The address of a web page; either may be empty."""


@dataclass(frozen=True)
class Report:
    """Everything that a report tells."""

    title: str
    result: Result
    how: tuple[str, ...]
    """How it was obtained, in sentences."""
    predicates: Mapping[str, str]
    """The predicates' names for people, by IRI."""
    coverage: Mapping[str, int]
    """How many beliefs are known in which way."""
    history: tuple[Point, ...]
    suspects: tuple[Suspect, ...]
    wrong: tuple[Suspect, ...]
    counts: tuple[int, int]
    """How many suspects and wrong ones there are in all."""
    rules: tuple[RuleRecord, ...]
    annotators: tuple[Annotator, ...]
    remarks: tuple[Remark, ...]
    """Notes and sources, the first `REMARKS` in the order of the log."""
    more_remarks: int
    """How many more there are."""
    accounts: Accounts | None
    """What became of every triple read."""
    provenance: tuple[tuple[str, str], ...]
    """Pairs of what and its value."""
    name: str
    """The evaluation's IRI."""
    dataset: str
    """The dataset's IRI."""
    min_accuracy: float | None = None
    """Lowest accuracy that the user accepts."""
    max_margin: float | None = None
    """Widest half of the interval that the user accepts."""


def gather(
    evaluation: State,
    origin: RunConfig | None = None,
    progress: Progress = lambda *_: None,
    *,
    min_accuracy: float | None = None,
    max_margin: float | None = None,
) -> Report:
    """Gather what a report tells.

    Args:
        evaluation: what to report on.
        origin: what the run was made from.
        progress: called while it takes time.
        min_accuracy: the lowest accuracy that the user accepts.
        max_margin: the widest half of the interval that the user accepts.
    """
    progress("reporting", 0, None)
    origin = origin or RunConfig()
    record = Record(evaluation, origin=origin)
    result = evaluation.result()
    suspects, wrong, counts = _suspects(evaluation)
    remarks = _remarks(evaluation, record)
    return Report(
        title=title_of(origin),
        result=result,
        how=tuple(_how(evaluation, result)),
        predicates={iri: name_of(evaluation, iri) for iri in result.by_predicate},
        coverage=_coverage(evaluation),
        history=tuple(evaluation.trace(POINTS)),
        suspects=suspects,
        wrong=wrong,
        counts=counts,
        rules=tuple(_rules(evaluation)),
        annotators=tuple(_annotators(evaluation, record)),
        remarks=tuple(remarks[:REMARKS]),
        more_remarks=max(len(remarks) - REMARKS, 0),
        accounts=origin.accounts or evaluation.graph.beliefs.accounts,
        provenance=tuple(_provenance(evaluation, origin, record)),
        name=record.name("evaluation")[1:-1],
        dataset=record.dataset[1:-1],
        min_accuracy=min_accuracy,
        max_margin=max_margin,
    )


def percent(value: float | None) -> str:
    """Write a share as people read it.

    >>> percent(0.25), percent(None)
    ('25.0%', 'unknown')
    """
    return "unknown" if value is None else f"{100 * value:.1f}%"


def percent_range(interval: Sequence[float] | None) -> str:
    """Write an interval as people read it; nothing where there is none."""
    return f"{percent(interval[0])} to {percent(interval[1])}" if interval is not None else ""


def summary(entry: GroupResult | Result, result: Result) -> str:
    """Tell the accuracy of a graph or predicate, and what is known of it, in a line.

    Args:
        entry: of the graph or of the predicate.
        result: of the graph.
    """
    known = f"{entry.asked:,} of {plural(entry.beliefs, 'belief')} asked, {entry.inferred:,} inferred"
    if entry.interval is None:
        return f"accuracy {percent(entry.accuracy)}, without an interval: {known}"
    sure = f"{percent_range(entry.interval)} at the level {result.level:.4g}"
    return f"accuracy {percent(entry.accuracy)}, {sure}: {known}"


def headline(evaluation: State, origin: RunConfig | None) -> str:
    """Tell in a line what was evaluated, and what came out so far."""
    result = evaluation.result()
    end = f"stopped: {result.stopped}" if result.stopped else "asking goes on"
    return f"{title_of(origin or RunConfig())}: {summary(result, result)}; {end}"


def _how(evaluation: State, result: Result) -> list[str]:
    settings = evaluation.settings
    chosen = settings.chosen.sentence
    sentences = [f"People were asked about {chosen}: {result.asked:,} of {plural(result.beliefs, 'belief')}."]
    if result.stopped:
        sentences.append(_STOPS.get(result.stopped, f"Asking stopped: {result.stopped}."))
    else:
        sentences.append("Asking goes on; the figures are those of now.")
    sentences.append(_interval(settings, result))
    if result.inferred:
        sentences.append(
            f"{plural(result.inferred, 'other belief')} got a label by inference: rules tie beliefs "
            "together, so that what people said of some tells of others."
        )
    sentences.append(_errors(settings))
    if evaluation.note:
        sentences.append(f"Note: {evaluation.note}.")
    return sentences


def _interval(settings: Settings, result: Result) -> str:
    times = f"{100 * settings.level:.4g} times in 100"
    if not settings.chosen.interval:
        return f"The method {settings.method} carries no interval."
    if result.interval is None:
        return "An interval is given at the end; to look at one before would spoil it."
    if settings.chosen.overconfident:
        return (
            f"The interval is meant to hold the true accuracy {times}; where one stops as soon as it is "
            f"narrow, as usual, {settings.method} keeps this promise less often."
        )
    return f"Evaluations made and stopped in this way have the true accuracy in their interval {times}."


def _errors(settings: Settings) -> str:
    if settings.error_rate:
        return f"The estimate allows for {settings.error_rate:.1%} of wrong answers."
    return "Every answer is taken as right."


def _coverage(evaluation: State) -> dict[str, int]:
    label = evaluation.label()
    said = Counter(found.outcome for found in evaluation.findings.values())
    unasked = np.ones(len(label), bool)
    unasked[evaluation.asked] = False
    return {
        "said to be true": said[TRUE],
        "inferred to be true": int((label[unasked] == 1).sum()),
        "unknown": int((label[unasked] < 0).sum()),
        "ambiguous": said[AMBIGUOUS],
        "inferred to be false": int((label[unasked] == 0).sum()),
        "said to be false": said[FALSE],
    }


def _suspects(evaluation: State) -> tuple[tuple[Suspect, ...], tuple[Suspect, ...], tuple[int, int]]:
    """List beliefs of low soft truth that nobody was asked about, and beliefs that people called wrong."""
    graph, inference = evaluation.graph, evaluation.inference
    rows = graph.beliefs.rows
    x = inference.x[rows]
    asked = np.zeros(len(rows), bool)
    asked[evaluation.asked] = True
    low = np.flatnonzero((x < UNKNOWN - 1e-3) & ~asked)
    low = low[np.lexsort((low, np.round(x[low], 4)))]
    wrong = [position for position, found in evaluation.findings.items() if found.outcome == FALSE]

    def suspect(position: int, why: bool) -> Suspect:
        row = int(rows[position])
        told = reason(explain(inference, row, most=1), evaluation.in_words) if why else ""
        return Suspect(
            evaluation.in_words(row),
            graph.triple(row),
            float(x[position]),
            told.replace("you said", "people said"),
        )

    return (
        tuple(suspect(int(position), True) for position in low[:SUSPICIOUS]),
        tuple(suspect(position, False) for position in wrong[-SUSPICIOUS:]),
        (len(low), len(wrong)),
    )


def _rules(evaluation: State) -> list[RuleRecord]:
    """List the rules that tie something, those that failed most first."""
    graph = evaluation.graph
    tracks = track_rules(graph, evaluation.known()) if graph.rules else []
    found = [
        RuleRecord(
            name=printable(rule.summary or rule.id, 200),
            groundings=int(n),
            strength=f"{rule.trust:.3g}" if rule.weight is None else f"weight {rule.weight:.3g}",
            tested=track.forward,
            held=track.forward_held,
        )
        for rule, n, track in zip(graph.rules, graph.groundings, tracks, strict=True)
        if n
    ]
    return sorted(
        found, key=lambda rule: (rule.held - rule.tested, -rule.tested, -rule.groundings, rule.name)
    )


def _remarks(evaluation: State, record: Record) -> list[Remark]:
    """List the notes and sources of the answers that stand."""
    beliefs = evaluation.graph.beliefs
    return [
        Remark(
            sentence=evaluation.in_words(beliefs.row(verdict.belief)),
            answer=verdict.answer,
            annotator=record.pseudonym(verdict.annotator),
            note=verdict.note or "",
            source=verdict.source or "",
        )
        for verdict in evaluation.standing
        if verdict.note or verdict.source
    ]


def _annotators(evaluation: State, record: Record) -> list[Annotator]:
    verdicts = evaluation.standing
    found = [
        Annotator(
            record.pseudonym(name),
            Counter(verdict.answer for verdict in verdicts if verdict.annotator == name),
        )
        for name in sorted({verdict.annotator for verdict in verdicts})
    ]
    return sorted(found, key=lambda annotator: (-sum(annotator.answers.values()), annotator.name))


def _provenance(evaluation: State, origin: RunConfig, record: Record) -> list[tuple[str, str]]:
    times = sorted(verdict.time for verdict in evaluation.standing)
    pairs = [
        (file.role.replace("_", " "), f"{file.name} (SHA-256 {file.sha256})")
        for file in (*origin.files, *origin.ontologies)
    ]
    scope = origin.scope
    if origin.endpoint:
        pairs.append(("endpoint", origin.endpoint))
    if scope.graph:
        pairs.append(("graph", scope.graph))
    if scope.query:
        pairs.append(("query", scope.query))
    pairs += [("predicate", predicate) for predicate in scope.predicates]
    pairs.append(("rules", f"{plural(len(evaluation.graph.rules), 'rule')} (SHA-256 {record.rules_digest})"))
    pairs.append(("settings", evaluation.settings.described()))
    pairs.append(("seed", str(evaluation.settings.seed)))
    if times:
        pairs.append(("first and last answer", f"{times[0]} to {times[-1]}"))
    pace = f"at {IDENTIFY:g} s per entity and {VERIFY:g} s per triple"
    pairs.append(("work", f"about {evaluation.cost / 3600:.1f} hours, {pace}"))
    pairs += [("note", note) for note in origin.notes]
    pairs.append(("software", f"rdf_kgeval {version('rdf-kgeval')}"))
    return [(what, printable(value, 500)) for what, value in pairs]

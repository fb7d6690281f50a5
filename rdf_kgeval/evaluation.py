"""Evaluation: a coupling graph and a verdict log, what to ask next, when to stop, and what is known.

Everything is a pure function of the graph, the settings and the log: resuming is replaying.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from rdf_kgeval.beliefs import Ints
from rdf_kgeval.control import Labels
from rdf_kgeval.controlled import Controlled
from rdf_kgeval.coupling import CouplingGraph
from rdf_kgeval.crowd import allocate
from rdf_kgeval.errors import InputError
from rdf_kgeval.estimation import DESIGNS
from rdf_kgeval.estimation.design import Error
from rdf_kgeval.inference.confidence import updated_thetas
from rdf_kgeval.inference.inference import Inference, infer_rows
from rdf_kgeval.inference.live import Progress
from rdf_kgeval.labels import Labels as Names
from rdf_kgeval.opinions import Finding, Opinions
from rdf_kgeval.oracles import Oracle, Question, Wish
from rdf_kgeval.procedure import Estimated, Point, Procedure, Request
from rdf_kgeval.sampled import Sampled
from rdf_kgeval.settings import MOST_WORKERS, Settings
from rdf_kgeval.terms import iri
from rdf_kgeval.verdicts import (
    AMBIGUOUS,
    TRUE,
    Answer,
    Drawn,
    Record,
    Retraction,
    Verdict,
    belief_of,
    now,
)

IDENTIFY, VERIFY = 45.0, 25.0
"""Seconds that a person needs to find out what an entity is, and to judge one triple about it."""


class Evaluation:
    """What people said so far, and what follows from it.

    Beliefs are named by their position in `graph.beliefs.rows`.
    """

    def __init__(
        self,
        graph: CouplingGraph,
        settings: Settings | None = None,
        records: Iterable[Record] = (),
        *,
        append: Callable[..., None] | None = None,
        names: Names | None = None,
        threads: int = 1,
    ) -> None:
        """Replay a log.

        Args:
            graph: from `couple`.
            settings: how to evaluate.
            records: what the log holds.
            append: writes records to the log before they count; without it, nothing is written.
            names: labels for people.
            threads: how many threads may look ahead.
        """
        self.graph = graph
        self.settings = settings or Settings()
        self.names = names or Names(beliefs=graph.beliefs)
        self._append = append
        self._threads = threads
        several = self.settings.several
        self._opinions = Opinions(self.settings.redundancy, self.settings.votes, weighed=several)
        self._fed: dict[int, Finding] = {}
        self._log: list[Record] = []
        self._begun = self._start()
        for record in records:
            self._take(record, self.position(belief_of(record)))

    def _start(self) -> Procedure:
        settings = self.settings
        if settings.method in DESIGNS:
            return Sampled(
                self.graph,
                DESIGNS[settings.method],
                uses_truth=settings.policy == "assisted",
                margin=settings.margin,
                level=settings.level,
                seed=settings.seed,
                strict=settings.strict,
                objective=settings.objective,
                error=Error(settings.error_rate, settings.error_rate),
            )
        return Controlled(
            self.graph,
            settings.chosen_policy(),
            seed=settings.seed,
            seed_size=settings.seed_size,
            converge=settings.converge,
            threads=self._threads,
        )

    def next(
        self, k: int = 1, without: Collection[int] = (), progress: Progress | None = None
    ) -> list[Request]:
        """Up to k beliefs to ask now.

        Args:
            k: how many.
            without: positions to leave out, because somebody is looking at them; a mapping also says how many
                answers each still needs.
            progress: called while a policy looks ahead.
        """
        if self.stopped:
            return []
        # A belief that is out keeps its part of the budget: the run must not end before its answer is in,
        # or what people find hard would be left out of the sample.
        left = self._affordable(without)
        requests = self._procedure.next(min(k, left), without, progress)
        if not self.settings.several:
            return requests
        wanted = [self._workers(request.position) for request in requests]
        found = []
        for request, workers in zip(requests, wanted, strict=True):
            workers = min(workers, left)
            if workers > 0:
                found.append(replace(request, workers=workers))
                left -= max(workers - len(self.opinions_on(request.position)), 0)
        return found

    def _affordable(self, without: Collection[int]) -> int:
        """How many more verdicts the budget has, besides those that beliefs which are out need."""
        settings = self.settings
        left = settings.budget - self.n_verdicts if settings.budget else self.graph.n_beliefs * MOST_WORKERS
        left -= sum(
            without.values() if isinstance(without, Mapping) else map(self._opinions.missing, without)
        )
        if settings.seconds:
            spare = settings.seconds - self.cost - (IDENTIFY + VERIFY) * len(without)
            left = min(left, math.ceil(spare / VERIFY)) if spare > 0 else 0
        return max(left, 0)

    def _workers(self, position: int) -> int:
        """How many annotators to show a belief to."""
        settings = self.settings
        said = self.opinions_on(position)
        if said:
            return len(said) + self._opinions.missing(position)
        sizes = self._procedure.expected() if settings.allocate else None
        if sizes is None or settings.budget is None:
            return settings.redundancy
        open_ = sizes[sizes > 0]
        return allocate(
            budget=settings.budget,
            left=settings.budget - self.n_verdicts,
            size=float(sizes[position]),
            average=float(open_.mean()) if len(open_) else 0.0,
            largest=float(sizes.max(initial=0.0)),
        )

    def record(self, *records: Record) -> None:
        """Take answers, or take some back; they are in the log before they count.

        Raises:
            InputError: the belief is not one to be evaluated, or there is nothing to take back.
            RunError: the log cannot be written.
        """
        positions = [self.position(belief_of(record)) for record in records]
        standing: dict[tuple[int, str], bool] = {}
        for record, position in zip(records, positions, strict=True):
            key = position, record.annotator
            if isinstance(record, Retraction) and not standing.get(key, key[1] in self.opinions_on(position)):
                raise InputError(f"{record.annotator} has said nothing of the belief {record.retract[:12]}")
            standing[key] = isinstance(record, Verdict)
        if self._append:
            self._append(*records)
        for record, position in zip(records, positions, strict=True):
            self._take(record, position)

    def answer(self, request: Request, answer: Answer, annotator: str) -> None:
        """Record an answer to a request."""
        self.record(self.verdict(request, answer, annotator))

    def verdict(self, request: Request, answer: Answer, annotator: str, *, expert: bool = False) -> Verdict:
        """An answer to a request, as the log keeps it."""
        return Verdict(
            belief=self.belief(request.position),
            answer=answer,
            annotator=annotator,
            time=now(),
            drawn=request.drawn,
            probability=request.probability,
            workers=request.workers if request.workers != self.settings.redundancy else None,
            expert=expert or None,
        )

    def undo(self, annotator: str) -> bool:
        """Take the annotator's last answer back; false where there is none."""
        standing = {id(verdict) for said in self._opinions.said.values() for verdict in said.values()}
        for record in reversed(self._log):
            if record.annotator == annotator and isinstance(record, Verdict) and id(record) in standing:
                self.record(Retraction(retract=record.belief, annotator=annotator, time=now()))
                return True
        return False

    def _take(self, record: Record, position: int) -> None:
        self._log.append(record)
        self._opinions.take(record, position)
        self.__dict__.pop("inference", None)

    @property
    def _procedure(self) -> Procedure:
        """What asks, brought up to what people said."""
        gone, changed, fresh = self._opinions.settle()
        for position in gone | changed:
            found = self._opinions.finding(position) if position in changed else None
            before = self._fed[position]
            if found == before:
                continue
            if found and found.drawn is before.drawn:
                self._fed[position] = found
                done = self._begun.retake(position, found)
            else:
                del self._fed[position]
                done = not found and self._begun.retake(position, None)
            if not done:
                self._begun, self._fed, fresh = self._start(), {}, self._opinions.complete
                break
        for position in fresh:
            self._fed[position] = found = self._opinions.finding(position)
            self._begun.take(position, found)
        return self._begun

    def position(self, belief: str) -> int:
        """The position of a belief by its id.

        Raises:
            InputError: there is none, or it is not one to be evaluated.
        """
        rows = self.graph.beliefs.rows
        row = self.graph.beliefs.row(belief)
        position = int(np.searchsorted(rows, row))
        if position == len(rows) or rows[position] != row:
            raise InputError(f"the belief {belief[:12]} is not one to be evaluated")
        return position

    def belief(self, position: int) -> str:
        """The id of a belief."""
        return self.graph.beliefs.id(int(self.graph.beliefs.rows[position]))

    def question(self, position: int) -> Question:
        """A belief as a person meets it."""
        row = int(self.graph.beliefs.rows[position])
        of = f" of {self.settings.budget:,}" if self.settings.budget else ""
        return Question(
            triple=self.graph.beliefs.triple(row),
            sentence=self.names.sentence(row),
            progress=f"{self.n_verdicts + 1:,}{of}",
        )

    def opinions_on(self, position: int) -> Mapping[str, Verdict]:
        """By annotator, the standing answers on a belief."""
        return self._opinions.said.get(position, {})

    def waiting(self, annotator: str) -> list[int]:
        """Beliefs of which the annotator said something and that wait for others."""
        said = self._opinions.said if self.settings.several else {}
        return [i for i, by in said.items() if annotator in by and self._opinions.missing(i)]

    @property
    def findings(self) -> dict[int, Finding]:
        """What people's answers come to, by position, for beliefs with as many answers as they need."""
        _ = self._procedure
        return self._fed

    @property
    def asked(self) -> Ints:
        """The beliefs of which people said what there was to say, in that order."""
        return np.fromiter(self.findings, np.int32)

    @property
    def n_verdicts(self) -> int:
        """How many answers stand."""
        return self._opinions.n_verdicts

    @property
    def agreement(self) -> float | None:
        """Krippendorff's alpha; None where nobody judged what another did."""
        return self._opinions.agreement()

    def annotators(self) -> dict[str, dict[str, float | int | None]]:
        """By name: answers, ambiguous ones, and the accuracy that agreement with others suggests."""
        return self._opinions.annotators()

    @property
    def cost(self) -> float:
        """Seconds that people need to identify the entities and judge the triples that were asked."""
        beliefs = self.graph.beliefs
        return VERIFY * self.n_verdicts + IDENTIFY * len(np.unique(beliefs.s[beliefs.rows[self.asked]]))

    @property
    def stopped(self) -> str | None:
        """Why there is no more to ask; None while there is.

        One of "margin", "budget", "everything asked", "everything inferred" and "converged".
        """
        settings = self.settings
        spent = (settings.budget and self.n_verdicts >= settings.budget) or (
            settings.seconds and self.cost >= settings.seconds
        )
        return self._procedure.stopped() or ("budget" if spent else None)

    @property
    def history(self) -> list[Point]:
        """Where the evaluation stood after each verdict."""
        return self.trace()

    def trace(self, most: int | None = None) -> list[Point]:
        """Where the evaluation stood after each verdict, or after `most` evenly spread ones."""
        return self._procedure.history(most)

    @property
    def sampled(self) -> bool:
        """Whether the method ends with an interval."""
        return self.settings.method in DESIGNS

    @property
    def note(self) -> str | None:
        """What users must be told of the method, in a sentence."""
        return self._procedure.note

    @property
    def accuracy(self) -> float | None:
        """The estimated share of true beliefs; None before anything is known."""
        return self.estimate().accuracy

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the accuracy lies at the level asked for.

        None for methods that cannot stand for one, and before the end where looking would spoil it.
        """
        return self.estimate().interval

    def estimate(self) -> Estimated:
        """Accuracy and interval."""
        return self._procedure.estimate(final=self.stopped is not None)

    @cached_property
    def inference(self) -> Inference:
        """What follows from all verdicts, with the rules' confidences as the seed set left them."""
        return self.infer()

    def infer(self, more: Mapping[int, float] | None = None, *, relearn: bool = False) -> Inference:
        """What follows from all verdicts.

        Args:
            more: further verdicts by row.
            relearn: learn the rules' confidences from all of them, not only from the seed set.
        """
        known = {**self.known(), **(more or {})}
        thetas = self._procedure.thetas
        if relearn:
            labels = {row: float(round(truth)) for row, truth in known.items()}
            thetas = updated_thetas(self.graph, labels, self._at_random())
        return infer_rows(self.graph, known, thetas)

    def known(self) -> dict[int, float]:
        """By row, what people decided: 1 or 0, or the probability that it is true where they are weighed."""
        rows = self.graph.beliefs.rows
        return {int(rows[i]): found.truth for i, found in self.findings.items() if found.outcome != AMBIGUOUS}

    def _at_random(self) -> list[float] | None:
        """Sure answers on beliefs that were drawn at random; None where there are none."""
        drawn = [
            float(found.outcome == TRUE)
            for found in self.findings.values()
            if found.drawn is not Drawn.CONTROL and found.outcome != AMBIGUOUS
        ]
        return drawn or None

    def label(self) -> Labels:
        """By position: 1 true, 0 false, -1 unknown, by inference from all verdicts."""
        return self.inference.label()

    def labels(self) -> dict[str, bool]:
        """By belief id, every label that is not unknown."""
        return self.inference.labels()

    def by_predicate(self) -> dict[str, dict[str, Any]]:
        """By IRI, most beliefs first: beliefs, asked, inferred, accuracy and interval."""
        names, group = self.predicates
        size = len(names)
        asked = np.zeros(len(group), np.bool_)
        asked[self.asked] = True
        inferred = (self.label() >= 0) & ~asked
        count = np.bincount(group, minlength=size)
        return {
            names[g]: {
                "beliefs": int(count[g]),
                "asked": int(asked[group == g].sum()),
                "inferred": int(inferred[group == g].sum()),
                "accuracy": found.accuracy,
                "interval": found.interval,
            }
            for g, found in enumerate(self._procedure.estimate_groups(group, final=self.stopped is not None))
        }

    def estimate_of(self, rows: Iterable[int]) -> dict[str, Any]:
        """Beliefs, asked, accuracy and interval of those among the rows that are to be evaluated."""
        inside = np.isin(self.graph.beliefs.rows, list(rows))
        group = np.where(inside, 0, -1).astype(np.int32)
        found = Estimated(None, None)
        if inside.any():
            (found,) = self._procedure.estimate_groups(group, final=self.stopped is not None)
        asked = int(inside[self.asked].sum())
        return {"beliefs": int(inside.sum()), "asked": asked, **found._asdict()}

    def by_class(self) -> dict[str, dict[str, Any]]:
        """By IRI of each class in the graph, most beliefs first: the beliefs about its instances."""
        beliefs = self.graph.beliefs
        found = {
            iri(beliefs.terms[class_]): self.estimate_of(
                np.flatnonzero(np.isin(beliefs.s, instances)).tolist()
            )
            for class_, instances in beliefs.instances().items()
        }
        chosen = [(name, entry) for name, entry in found.items() if entry["beliefs"]]
        return dict(sorted(chosen, key=lambda pair: (-pair[1]["beliefs"], pair[0])))

    @cached_property
    def predicates(self) -> tuple[list[str], Ints]:
        """The predicates' IRIs, most beliefs first, and each belief's number among them."""
        beliefs = self.graph.beliefs
        names = list(beliefs.by_predicate())
        number = {name: g for g, name in enumerate(names)}
        terms, at = np.unique(beliefs.p[beliefs.rows], return_inverse=True)
        group = np.array([number[iri(beliefs.terms[int(term)])] for term in terms], dtype=np.int32)
        return names, group[at]

    def to_json(self) -> dict[str, Any]:
        """The result, as `kgeval evaluate --json` prints it, without the seconds that it took."""
        by_predicate = self.by_predicate()
        accuracy, interval = self.estimate()
        return {
            "accuracy": accuracy,
            "interval": interval,
            "level": self.settings.level,
            "margin": self.settings.margin,
            "beliefs": self.graph.n_beliefs,
            "asked": len(self.findings),
            "inferred": sum(entry["inferred"] for entry in by_predicate.values()),
            "policy": self.settings.policy,
            "estimator": self.settings.estimator,
            "seed": self.settings.seed,
            "stopped": self.stopped,
            "by_predicate": by_predicate,
        }


def consult(
    evaluation: Evaluation,
    oracle: Oracle,
    *,
    progress: Progress | None = None,
    told: Callable[[Evaluation], None] = lambda _: None,
) -> bool:
    """Ask the oracle until the evaluation stops or the oracle quits.

    Args:
        evaluation: takes the answers.
        oracle: gives them.
        progress: called while a policy looks ahead.
        told: called after each answer.

    Returns:
        Whether the evaluation stopped, rather than the oracle.
    """
    skipped: list[int] = []
    while not evaluation.stopped:
        requests = evaluation.next(1, [*skipped, *evaluation.waiting(oracle.annotator)], progress)
        if not requests:
            if not skipped:
                break
            skipped = []
            continue
        answer = oracle.ask(evaluation.question(requests[0].position))
        if answer is Wish.QUIT:
            return False
        if answer is Wish.SKIP:
            skipped.append(requests[0].position)
        elif answer is Wish.UNDO:
            evaluation.undo(oracle.annotator)
        else:
            evaluation.answer(requests[0], Answer(answer), oracle.annotator)
            told(evaluation)
    return True


def evaluate(graph: CouplingGraph, oracle: Oracle, *, threads: int = 1, **options: Any) -> Evaluation:
    """Evaluate a graph from the first question to the last.

    Args:
        graph: from `couple`.
        oracle: answers the questions, such as `GoldOracle("gold.csv")`.
        threads: how many threads may look ahead.
        **options: fields of `Settings`, such as `policy`, `budget` and `seed`.
    """
    evaluation = Evaluation(graph, Settings().changed(**options), threads=threads)
    if not graph.n_beliefs:
        raise InputError("there is no belief to evaluate; choose a wider scope")
    consult(evaluation, oracle)
    return evaluation

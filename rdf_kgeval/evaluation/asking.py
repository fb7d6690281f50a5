"""Asking: whom to ask about what within a budget, what came back, and when to stop."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from rdf_kgeval.beliefs.names import Labels as Names
from rdf_kgeval.beliefs.table import Ints
from rdf_kgeval.coupling.graph import CouplingGraph
from rdf_kgeval.errors import InputError
from rdf_kgeval.estimation import DESIGNS
from rdf_kgeval.estimation.design import Error
from rdf_kgeval.evaluation.policy_procedure import Controlled
from rdf_kgeval.evaluation.procedure import Point, Procedure, Request
from rdf_kgeval.evaluation.sampling_procedure import Sampled
from rdf_kgeval.evaluation.settings import MOST_WORKERS, Settings
from rdf_kgeval.inference.lookahead import Progress
from rdf_kgeval.inference.solver.solve import Solve
from rdf_kgeval.verdicts.aggregation import allocate
from rdf_kgeval.verdicts.ledger import Finding, Opinions
from rdf_kgeval.verdicts.log import Answer, Record, Retraction, Verdict, belief_of, now
from rdf_kgeval.verdicts.oracles import Question

IDENTIFY, VERIFY = 45.0, 25.0
"""Seconds that a person needs to find out what an entity is, and to judge one triple about it."""


class Asking:
    """A verdict log at work: what to ask next, and when to stop.

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
        solve: Solve | None = None,
    ) -> None:
        """Replay a log.

        Args:
            graph: from `couple`.
            settings: how to evaluate.
            records: what the log holds.
            append: writes records to the log before they count; without it, nothing is written.
            names: labels for people.
            threads: how many threads may look ahead.
            solve: an engine's way to solve a whole model; looking ahead is done here in any case.
        """
        self.graph = graph
        self.settings = settings or Settings()
        self.names = names or Names(beliefs=graph.beliefs)
        self._append = append
        self._threads = threads
        self._solve = solve
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
                solve=self._solve,
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

    @property
    def records(self) -> Sequence[Record]:
        """The log, as far as it was taken."""
        return self._log

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
    def short(self) -> tuple[str, ...]:
        """Predicates of which more must be drawn from the population before there is more to ask."""
        return () if self.stopped else self._procedure.short

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

"""The state of an evaluation: what people said, what to ask next, when to stop, and what is known.

Everything is a pure function of the graph, the settings and the log: resuming is replaying.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyoxigraph as ox

from rdf_kgeval.beliefs.evidence import Passages
from rdf_kgeval.beliefs.names import Names
from rdf_kgeval.beliefs.search import find_by_names
from rdf_kgeval.beliefs.table import Term, Triple
from rdf_kgeval.beliefs.terms import iri, oxigraph_text
from rdf_kgeval.common.arguments import wrong
from rdf_kgeval.common.progress import StepProgress
from rdf_kgeval.common.text import printable
from rdf_kgeval.common.types import Int8s, Int32s
from rdf_kgeval.coupling.graph import CouplingGraph
from rdf_kgeval.errors import InputError
from rdf_kgeval.estimation.design import Estimate
from rdf_kgeval.estimation.population import sample_size
from rdf_kgeval.evaluation.policies import Greedy, Policy
from rdf_kgeval.evaluation.policy_procedure import PolicyProcedure
from rdf_kgeval.evaluation.procedure import Point, Procedure, Request
from rdf_kgeval.evaluation.result import GroupResult, Result
from rdf_kgeval.evaluation.sampling_procedure import SamplingProcedure
from rdf_kgeval.evaluation.settings import MOST_WORKERS, Settings
from rdf_kgeval.inference.explanation import describe, explain
from rdf_kgeval.inference.infer import Inference, infer_rows
from rdf_kgeval.inference.rule_weights import updated_thetas
from rdf_kgeval.inference.solver.solve import Solve, solve
from rdf_kgeval.verdicts.ledger import Finding, Ledger
from rdf_kgeval.verdicts.log import (
    AMBIGUOUS,
    TRUE,
    Answer,
    Drawn,
    Judgement,
    LogRecord,
    Retraction,
    Verdict,
    belief_of,
    checked_note,
    checked_source,
    now,
    standing,
)
from rdf_kgeval.verdicts.oracles import Question
from rdf_kgeval.verdicts.votes import allocate

EXPECTED, EXPECTED_WEIGHT = 0.9, 30
"""The accuracy that is expected before anybody answers, and how many answers it counts for."""
IDENTIFY, VERIFY = 45.0, 25.0
"""Seconds that a person needs to find out what an entity is, and to judge one triple about it."""


class Goal(NamedTuple):
    """The number of answers at which an evaluation will stop."""

    answers: int
    exact: bool

    def __str__(self) -> str:
        """Write it as people read it."""
        return f"{'' if self.exact else 'about '}{self.answers:,}"


class State:
    """What people said so far, what follows from it, and what to ask next.

    Beliefs are named by their position in `graph.beliefs.rows`.
    """

    def __init__(
        self,
        graph: CouplingGraph,
        settings: Settings | None = None,
        records: Iterable[LogRecord] = (),
        *,
        append: Callable[..., None] | None = None,
        names: Names | None = None,
        passages: Callable[[], Passages] = dict,
        threads: int = 1,
        solve: Solve = solve,
    ) -> None:
        """Replay a log.

        Args:
            graph: from `couple`.
            settings: how to evaluate.
            records: what the log holds.
            append: writes records to the log before they count; without it, nothing is written.
            names: labels for people.
            passages: gives the evidence from a file, when it is first asked for.
            threads: how many threads may look ahead.
            solve: an engine's way to solve a whole model; looking ahead is done here in any case.
        """
        self.graph = graph
        self.settings = settings or Settings()
        self.names = names or Names(beliefs=graph.beliefs)
        self._passages = passages
        self._append = append
        self._threads = threads
        self._solve = solve
        several = self.settings.several
        self._ledger = Ledger(self.settings.redundancy, self.settings.votes, weighed=several)
        self.findings: dict[int, Finding] = {}
        """By position, the outcome of the answers, for beliefs with as many answers as they need."""
        self._procedure = self._start()
        self.take(*records)

    def __repr__(self) -> str:
        accuracy, interval = self.estimate()
        share = "unknown" if accuracy is None else f"{accuracy:.3f}"
        ends = f" in [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else ""
        name = type(self).__name__
        return f"<{name} by {self.settings.method}: accuracy {share}{ends}, {self.n_verdicts:,} verdicts>"

    def _start(self) -> Procedure:
        settings = self.settings
        method = settings.chosen
        if method.interval:
            return SamplingProcedure(self.graph, method, settings.design_options(), solve=self._solve)
        policy: Policy = method.load()
        return PolicyProcedure(
            self.graph,
            policy if settings.candidates is None else Greedy(candidates=settings.candidates),
            seed=settings.seed,
            seed_size=settings.seed_size,
            converge=settings.converge,
            threads=self._threads,
        )

    def next(
        self, k: int = 1, without: Collection[int] = (), progress: StepProgress | None = None
    ) -> list[Request]:
        """Return up to k beliefs to ask now.

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
        """Return how many more verdicts the budget allows, besides those for beliefs that are out."""
        settings = self.settings
        left = settings.budget - self.n_verdicts if settings.budget else self.graph.n_beliefs * MOST_WORKERS
        left -= sum(without.values() if isinstance(without, Mapping) else map(self._ledger.missing, without))
        if settings.seconds:
            spare = settings.seconds - self.cost - (IDENTIFY + VERIFY) * len(without)
            left = min(left, math.ceil(spare / VERIFY)) if spare > 0 else 0
        return max(left, 0)

    def _workers(self, position: int) -> int:
        """Return how many annotators to show a belief to."""
        settings = self.settings
        said = self.opinions_on(position)
        if said:
            return len(said) + self._ledger.missing(position)
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

    def record(self, *records: LogRecord) -> None:
        """Write answers or retractions to the log, then take them into account.

        Raises:
            InputError: the belief is not one to be evaluated, or there is nothing to retract.
            RunError: the log cannot be written.
        """
        standing: dict[tuple[int, str], bool] = {}
        for record in records:
            key = self.position(belief_of(record)), record.annotator
            if isinstance(record, Retraction) and not standing.get(key, key[1] in self.opinions_on(key[0])):
                raise InputError(f"{record.annotator} has said nothing of the belief {record.retract[:12]}")
            standing[key] = isinstance(record, Verdict)
        self.write(*records)
        self.take(*records)

    def write(self, *records: LogRecord) -> None:
        """Append records to the log, all or none; they count once they are taken.

        Raises:
            RunError: the log cannot be written.
        """
        if self._append:
            self._append(*records)

    def take(self, *records: LogRecord) -> None:
        """Take records of the log into account: the ledger first, then what asks and estimates."""
        for record in records:
            self._ledger.take(record, self.position(belief_of(record)))
        self.__dict__.pop("inference", None)
        gone, changed, fresh = self._ledger.settle()
        for position in gone | changed:
            found = self._ledger.finding(position) if position in changed else None
            before = self.findings[position]
            if found == before:
                continue
            if found and found.drawn is before.drawn:
                self.findings[position] = found
                done = self._procedure.retake(position, found)
            else:
                del self.findings[position]
                done = not found and self._procedure.retake(position, None)
            if not done:
                self._procedure, self.findings, fresh = self._start(), {}, self._ledger.complete
                break
        for position in fresh:
            self.findings[position] = found = self._ledger.finding(position)
            self._procedure.take(position, found)

    def answer(self, request: Request, answer: Answer | Judgement, annotator: str) -> None:
        """Record an answer to a request."""
        self.record(self.verdict(request, answer, annotator))

    def verdict(
        self, request: Request, answer: Answer | Judgement, annotator: str, *, expert: bool = False
    ) -> Verdict:
        """Return an answer to a request as the log keeps it.

        Raises:
            InputError: its note is too long, or its source is not the address of a web page.
        """
        given = answer if isinstance(answer, Judgement) else Judgement(answer=answer)
        return Verdict(
            belief=self.belief(request.position),
            answer=Answer(given.answer),
            annotator=annotator,
            time=now(),
            drawn=request.drawn,
            probability=request.probability,
            workers=request.workers if request.workers != self.settings.redundancy else None,
            expert=expert or None,
            note=checked_note(given.note),
            source=checked_source(given.source),
        )

    def undo(self, annotator: str) -> bool:
        """Retract the annotator's last answer; return whether there was one."""
        last = self._ledger.last(annotator)
        if last is None:
            return False
        self.record(Retraction(retract=last.belief, annotator=annotator, time=now()))
        return True

    def position(self, belief: str) -> int:
        """Find the position of a belief by its id.

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
        """Return the id of a belief."""
        return self.graph.beliefs.id(int(self.graph.beliefs.rows[position]))

    def row(self, belief: Term, p: Term | None = None, o: Term | None = None) -> int:
        """Return the row that a user names.

        Args:
            belief: what `find` takes; with `p` and `o`, the subject.
            p: the predicate, as `Beliefs.find` takes it.
            o: the object, likewise.

        Raises:
            InputError: there is none, or several have these names.
        """
        if p is not None and o is not None:
            row = self.graph.beliefs.find(belief, p, o)
            if row is None:
                raise InputError(f"{printable(f'{belief} {p} {o}', 200)} is not in the graph")
            return row
        if p is not None or not isinstance(belief, str):
            need = "a belief is named by its id, or by subject, predicate and object"
            raise wrong(belief if p is None else p, need, "give one text, or three terms")
        rows = self.find(belief)
        if len(rows) > 1:
            raise InputError(
                f"{len(rows):,} beliefs have names like {printable(belief, 200)!r}; give the id of one"
            )
        return rows[0]

    def find(self, belief: str) -> list[int]:
        """Find the rows that a user names: by an id, the beginning of it, a triple, or words of their names.

        The terms of a triple are N-Triples or CURIEs.

        Raises:
            InputError: there is none.
        """
        text = belief.strip()
        if re.fullmatch("[0-9a-f]{6,64}", text):
            with suppress(InputError):
                return [self.graph.beliefs.row(text)]
        triple = self._triple(text)
        if triple is not None:
            row = self.graph.beliefs.find(*triple)
            if row is None:
                raise InputError(f"{printable(text, 200)} is not in the graph")
            return [row]
        rows = find_by_names(self.names, text)
        if not rows:
            if re.fullmatch("[0-9a-f]{1,64}", text):
                return [self.graph.beliefs.row(text)]
            raise InputError(
                f"no belief has names like {printable(text, 200)!r}; give words of its names, "
                "its triple or its id"
            )
        return rows

    def _triple(self, text: str) -> Triple | None:
        """Parse a triple whose IRIs may be CURIEs; None where the text is none."""
        parts = text.removesuffix(".").strip().split(maxsplit=2)
        if len(parts) < 3:
            return None
        terms = [part if part.startswith(("<", "_:", '"')) else self._iri(part) for part in parts]
        try:
            line = f"{' '.join(filter(None, terms))} ."
            (quad,) = ox.parse(line.encode(), format=ox.RdfFormat.N_TRIPLES)
        except (SyntaxError, ValueError) as error:
            if text.startswith(("<", "_:")) or None not in terms:
                raise InputError(f"{printable(text, 200)!r} is not one triple in N-Triples") from error
            return None
        return str(quad.subject), str(quad.predicate), oxigraph_text(quad.object)

    def _iri(self, text: str) -> str | None:
        """Return the term of a CURIE or a plain IRI; None for other text."""
        if ":" not in text or " " in text:
            return None
        try:
            return f"<{self.graph.beliefs.prefixes.expand(text)}>"
        except InputError:
            return None

    def in_words(self, atom: int) -> str:
        """Return an atom of the graph as people read it, safe to show."""
        return printable(self.names.in_words(self.graph.triple(atom)), 200)

    def question(self, position: int) -> Question:
        """Put a belief as a question to a person."""
        number = self.n_verdicts + 1
        return Question(
            position=position,
            row=int(self.graph.beliefs.rows[position]),
            names=self.names,
            counted=lambda: f"{number:,}" + (f" of {self.goal}" if self.goal else ""),
            passages=self._passages,
        )

    @property
    def goal(self) -> Goal | None:
        """How many answers there will be: those of the budget, or about those that reach the margin.

        A sample's size is foreseen from the accuracy that `kgeval plan` expects and, the more answers there
        are, from them.
        """
        settings = self.settings
        budget = Goal(settings.budget, exact=True) if settings.budget else None
        if settings.margin is None or not self.sampled:
            return budget
        from rdf_kgeval.estimation.srs import MINIMUM  # loads scipy

        right = sum(found.truth for found in self.findings.values() if found.outcome != AMBIGUOUS)
        accuracy = (right + EXPECTED * EXPECTED_WEIGHT) / (len(self.findings) + EXPECTED_WEIGHT)
        size = sample_size(settings.margin, settings.level, accuracy, self.graph.beliefs.n_population)
        beliefs = max(size, min(MINIMUM, self.graph.beliefs.n_population))
        foreseen = Goal(max(beliefs * settings.redundancy, self.n_verdicts + 1), exact=False)
        return budget if budget and budget.answers <= foreseen.answers else foreseen

    @property
    def records(self) -> Sequence[LogRecord]:
        """The log, as far as it was taken."""
        return self._ledger.records

    @property
    def standing(self) -> list[Verdict]:
        """The answers that stand, in the order of the log."""
        return standing(self.records)

    def opinions_on(self, position: int) -> Mapping[str, Verdict]:
        """Return the standing answers on a belief, by annotator."""
        return self._ledger.said.get(position, {})

    def waiting(self, annotator: str) -> list[int]:
        """List the beliefs on which the annotator has answered and others have yet to."""
        said = self._ledger.said if self.settings.several else {}
        return [i for i, by in said.items() if annotator in by and self._ledger.missing(i)]

    @property
    def asked(self) -> Int32s:
        """The beliefs with as many answers as they need, in that order."""
        return np.fromiter(self.findings, np.int32)

    @property
    def n_verdicts(self) -> int:
        """The number of answers that stand."""
        return self._ledger.n_verdicts

    @property
    def agreement(self) -> float | None:
        """Krippendorff's alpha; None where nobody judged what another did."""
        return self._ledger.agreement()

    def annotators(self) -> dict[str, dict[str, float | int | None]]:
        """Count answers and ambiguous ones by annotator, with the accuracy that agreement suggests."""
        return self._ledger.annotators()

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
        """Estimates after each verdict."""
        return self.trace()

    def trace(self, most: int | None = None) -> list[Point]:
        """Return the estimates after each verdict, or after `most` evenly spread ones."""
        return self._procedure.history(most)

    @property
    def sampled(self) -> bool:
        """Whether the method ends with an interval."""
        return self.settings.chosen.interval

    @property
    def note(self) -> str | None:
        """A note for users about the method, in a sentence."""
        return self._procedure.note

    @property
    def accuracy(self) -> float | None:
        """The estimated share of true beliefs; None before anything is known."""
        return self.estimate().accuracy

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval of the accuracy, at the level asked for.

        None for methods that cannot stand for one, and before the end where looking would spoil it.
        """
        return self.estimate().interval

    def estimate(self) -> Estimate:
        """Return accuracy and interval."""
        return self._procedure.estimate(final=self.stopped is not None)

    @cached_property
    def inference(self) -> Inference:
        """What follows from all verdicts, with the rules' confidences as the seed set left them."""
        return self.infer()

    def infer(self, more: Mapping[int, float] | None = None, *, relearn: bool = False) -> Inference:
        """Infer from all verdicts.

        Args:
            more: further verdicts by row.
            relearn: learn the rules' confidences from all of them, not only from the seed set.
        """
        known = {**self.known(), **(more or {})}
        thetas = self._procedure.thetas
        if relearn:
            labels = {row: float(round(truth)) for row, truth in known.items()}
            thetas = updated_thetas(self.graph, labels, self._at_random())
        return infer_rows(self.graph, known, thetas, solve=self._solve)

    def known(self) -> dict[int, float]:
        """Return what people decided, by row: 1 or 0, or where they are weighed the probability of true."""
        rows = self.graph.beliefs.rows
        return {int(rows[i]): found.truth for i, found in self.findings.items() if found.outcome != AMBIGUOUS}

    def _at_random(self) -> list[float] | None:
        """Return the sure answers on beliefs that were drawn at random; None where there are none."""
        drawn = [
            float(found.outcome == TRUE)
            for found in self.findings.values()
            if found.drawn is not Drawn.CONTROL and found.outcome != AMBIGUOUS
        ]
        return drawn or None

    def label(self) -> Int8s:
        """Label beliefs by inference from all verdicts, by position: 1 true, 0 false, -1 unknown."""
        return self.inference.label()

    def labels(self) -> dict[str, bool]:
        """Return every label that is not unknown, by belief id."""
        return self.inference.labels()

    def wrong(self) -> dict[str, Triple]:
        """Return by belief id the triple of every belief that is labelled false."""
        beliefs = self.graph.beliefs
        rows = beliefs.rows[self.label() == 0].tolist()
        return {beliefs.id(row): beliefs.triple(row) for row in rows}

    def explain(
        self,
        belief: Term,
        p: Term | None = None,
        o: Term | None = None,
        *,
        more: Mapping[int, float] | None = None,
        relearn: bool = False,
    ) -> str:
        """Say why a belief is held to be true or false, a line for each reason.

        Args:
            belief: its id, the beginning of it, its triple, or words of its names; with `p` and `o`, its
                subject.
            p: its predicate: an IRI, a CURIE, a term in N-Triples or one of rdflib's.
            o: its object, likewise.
            more: further verdicts by row.
            relearn: learn the rules' confidences from all verdicts, not only from the seed set.
        """
        row = self.row(belief, p, o)
        inference = self.infer(more, relearn=relearn) if more or relearn else self.inference
        return "\n".join(describe(explain(inference, row), self.in_words))

    def by_predicate(self) -> dict[str, dict[str, Any]]:
        """Return by IRI, most beliefs first: beliefs, asked, inferred, accuracy and interval."""
        return {name: group.to_json() for name, group in self._by_predicate().items()}

    def _by_predicate(self) -> dict[str, GroupResult]:
        names, group = self.predicates
        size = len(names)
        asked = np.zeros(len(group), np.bool_)
        asked[self.asked] = True
        inferred = (self.label() >= 0) & ~asked
        count = self.graph.beliefs.population()
        found = self._procedure.estimate_groups(group, final=self.stopped is not None)
        found += [Estimate(None, None)] * (size - len(found))
        return {
            names[g]: GroupResult(
                beliefs=count[names[g]],
                asked=int(asked[group == g].sum()),
                inferred=int(inferred[group == g].sum()),
                accuracy=found[g].accuracy,
                interval=found[g].interval,
            )
            for g in range(size)
        }

    def estimate_of(self, rows: Iterable[int]) -> dict[str, Any]:
        """Estimate the accuracy of those among the rows that are to be evaluated."""
        inside = np.isin(self.graph.beliefs.rows, list(rows))
        group = np.where(inside, 0, -1).astype(np.int32)
        found = Estimate(None, None)
        if inside.any():
            (found,) = self._procedure.estimate_groups(group, final=self.stopped is not None)
        asked = int(inside[self.asked].sum())
        size = round(float(self.graph.beliefs.weights[inside].sum()))
        return {"beliefs": size, "asked": asked, **found._asdict()}

    def by_class(self) -> dict[str, dict[str, Any]]:
        """Estimate the accuracy of the beliefs about the instances of each class, most beliefs first."""
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
    def predicates(self) -> tuple[list[str], Int32s]:
        """The predicates' IRIs, most beliefs first, and each belief's number among them."""
        beliefs = self.graph.beliefs
        names = list(beliefs.population())
        number = {name: g for g, name in enumerate(names)}
        terms, at = np.unique(beliefs.p[beliefs.rows], return_inverse=True)
        group = np.array([number[iri(beliefs.terms[int(term)])] for term in terms], dtype=np.int32)
        return names, group[at]

    def result(self) -> Result:
        """Return the result so far."""
        by_predicate = self._by_predicate()
        accuracy, interval = self.estimate()
        return Result(
            accuracy=accuracy,
            interval=interval,
            level=self.settings.level,
            margin=self.settings.margin,
            beliefs=self.graph.beliefs.n_population,
            asked=len(self.findings),
            inferred=sum(group.inferred for group in by_predicate.values()),
            policy=self.settings.chosen.policy,
            estimator=self.settings.chosen.estimator,
            seed=self.settings.seed,
            stopped=self.stopped,
            by_predicate=by_predicate,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the result as `kgeval evaluate --json` prints it, without the seconds that it took."""
        return self.result().to_json()

"""Ask by a sampling design, and estimate with its interval."""

import math
from collections.abc import Collection
from dataclasses import replace
from itertools import takewhile

import numpy as np

from rdf_kgeval.beliefs.table import Beliefs
from rdf_kgeval.common.progress import StepProgress
from rdf_kgeval.common.types import Int32s, Int64s
from rdf_kgeval.coupling.graph import CouplingGraph, Thetas
from rdf_kgeval.estimation.design import Design, DesignOptions, ErrorRates, Estimate
from rdf_kgeval.estimation.population import Population, Reserve
from rdf_kgeval.evaluation.methods import Method
from rdf_kgeval.evaluation.procedure import Point, Request, spread
from rdf_kgeval.inference.infer import infer_rows
from rdf_kgeval.inference.rule_weights import updated_thetas
from rdf_kgeval.inference.solver.solve import Solve, solve
from rdf_kgeval.verdicts.ledger import Finding
from rdf_kgeval.verdicts.log import AMBIGUOUS, FALSE, NOT_ASKED, TRUE, Drawn

ERROR_STEP = 0.005
"""Error rates that answers suggest are rounded to this, so that few designs are tried."""
WEIGHED = (
    "the annotators' rates of error, which follow from their agreement, are taken as known: the interval "
    "does not allow for their own uncertainty"
)
WRONG_BEFORE, RIGHT_BEFORE = 0.5, 4.5
"""Pseudo-counts of wrong and right answers, so that an error rate is never estimated as 0."""


class SamplingProcedure:
    """A sampling design at work.

    What was labelled before the first draw is the certainty stratum. A verdict that comes from elsewhere
    later answers its belief's draw, if it is ever drawn.
    """

    def __init__(
        self, graph: CouplingGraph, method: Method, options: DesignOptions, *, solve: Solve = solve
    ) -> None:
        """Start a design.

        Args:
            graph: what couples the beliefs.
            method: makes the design.
            options: of the design; its error rates are those known of the annotators.
            solve: an engine's way to find soft truths, for a method that starts from them.
        """
        self._graph = graph
        self._method = method
        self._options = options
        self._solve = solve
        self._outcome = np.full(graph.n_beliefs, NOT_ASKED, np.int8)
        self._truth = np.full(graph.n_beliefs, 0.5)
        self._chance = np.full(graph.n_beliefs, 0.5)
        self._drawn: dict[int, Drawn] = {}
        self._design: Design | None = None
        self._error = options.error
        self._weighed = False

    @property
    def note(self) -> str | None:
        """Return the design's note, and what is assumed of annotators."""
        return " ".join(filter(None, (self._drawing().note, WEIGHED if self._weighed else None))) or None

    @property
    def short(self) -> tuple[str, ...]:
        """Return the predicates that the design needs more of."""
        lacking, frame = self._drawing().short, self._graph.beliefs.frame
        names = sorted(frame.sizes) if frame else []
        return tuple(names[int(number)] for number in lacking)

    @property
    def thetas(self) -> Thetas:
        """Return each rule's weights, learned from all verdicts, which are a sample."""
        return updated_thetas(self._graph, self._verdicts())

    def next(self, k: int, without: Collection[int], progress: StepProgress | None = None) -> list[Request]:
        """Return the next draws."""
        draws = self._drawing().next(self._outcome, k + len(without))
        chosen = [draw for draw in draws if draw.position not in without][:k]
        return [Request(draw.position, Drawn.SAMPLE, draw.probability) for draw in chosen]

    def expected(self) -> None:
        """Return nothing: a sample does not look ahead."""
        return

    def take(self, position: int, found: Finding) -> None:
        """Take the finding on a belief that had none before."""
        drawn = found.drawn
        if drawn is Drawn.SAMPLE and not self._sampling:
            self._drawing()  # before the answer is known: it is not of the certainty stratum
        elif not self._sampling:
            self._design = None
        self._drawn[position] = drawn
        self._set(position, found)

    def retake(self, position: int, found: Finding | None) -> bool:
        """Take another finding or its loss, unless it shapes the design: known before the first draw."""
        if position in self._known() or (found is None and position == self._first_draw):
            return False
        if found is None:
            del self._drawn[position]
            self._outcome[position] = NOT_ASKED
        else:
            self._set(position, found)
        return True

    def _set(self, position: int, found: Finding) -> None:
        self._outcome[position], self._truth[position] = found.outcome, found.truth
        self._chance[position] = found.chance
        self._weighed = self._weighed or 0.0 < found.truth < 1.0

    def _errors(self) -> ErrorRates:
        """Return the known error rates or, of weighed answers, those that they suggest themselves."""
        if not self._weighed:
            return self._options.error
        said_true, said_false = self._outcome == TRUE, self._outcome == FALSE
        chance = self._chance
        decided = said_true | said_false
        before = WRONG_BEFORE + RIGHT_BEFORE
        miss = (chance[said_false].sum() + WRONG_BEFORE) / (chance[decided].sum() + before)
        alarm = ((1 - chance[said_true]).sum() + WRONG_BEFORE) / ((1 - chance[decided]).sum() + before)
        return ErrorRates(*(float(round(rate / ERROR_STEP) * ERROR_STEP) for rate in (miss, alarm)))

    @property
    def _first_draw(self) -> int | None:
        return next((position for position, drawn in self._drawn.items() if drawn is Drawn.SAMPLE), None)

    @property
    def _sampling(self) -> bool:
        return self._first_draw is not None

    def history(self, most: int | None = None) -> list[Point]:
        """List the running estimates; inference waits for the end."""
        options = replace(self._options, error=self._error)
        past = SamplingProcedure(self._graph, self._method, options, solve=self._solve)
        wanted = set(spread(len(self._drawn), most))
        points = []
        for asked, (position, drawn) in enumerate(self._drawn.items(), start=1):
            outcome = int(self._outcome[position])
            past.take(position, Finding(outcome, float(outcome), float(outcome), drawn))
            if asked in wanted:
                points.append(Point(asked, past.estimate(final=False).accuracy, None))
        return points

    def stopped(self) -> str | None:
        """Return a reason once the margin is reached or everything is asked."""
        if len(self._drawn) == self._graph.beliefs.n_population:
            return "everything asked"
        return "margin" if self._drawing().reached(self._outcome) else None

    def estimate(self, *, final: bool) -> Estimate:
        """Return the design's estimate; before the end, the one that may be looked at."""
        design = self._drawing()
        if not self._drawn:
            return Estimate(None, None)
        return Estimate(*(design.estimate(self._outcome) if final else design.running(self._outcome)))

    def estimate_groups(self, group: Int32s, *, final: bool) -> list[Estimate]:
        """Return the design's estimates; before the end without intervals."""
        found = self._drawing().estimate_groups(self._outcome, group.astype(np.int64))
        # A group of which nothing was drawn has a mean of NaN.
        return [
            Estimate(
                None if accuracy is None or math.isnan(accuracy) else accuracy, interval if final else None
            )
            for accuracy, interval in found
        ]

    def _known(self) -> list[int]:
        """List the beliefs that were labelled before the first draw.

        What was picked from a reserve was picked by the order of the draws, so it is not set apart: it
        answers its own draw.
        """
        if self._graph.beliefs.frame:
            return []
        return list(takewhile(lambda position: self._drawn[position] is not Drawn.SAMPLE, self._drawn))

    def _drawing(self) -> Design:
        error = self._errors()
        if self._design is None or error != self._error:
            self._error = error
            beliefs = self._graph.beliefs
            certain = self._known()
            known = np.full(len(self._outcome), NOT_ASKED, np.int8)
            known[certain] = np.where(self._outcome[certain] == AMBIGUOUS, NOT_ASKED, self._outcome[certain])
            truth = None
            if self._method.needs_truth:
                verdicts = {int(beliefs.rows[i]): self._truth[i] for i in certain if known[i] != NOT_ASKED}
                sure = {row: round(value) for row, value in verdicts.items()}
                thetas = updated_thetas(self._graph, sure)
                truth = infer_rows(self._graph, verdicts, thetas, solve=self._solve).x[beliefs.rows]
            predicate, reserve = _reserve(beliefs)
            population = Population(
                predicate=predicate,
                reserve=reserve,
                subject=_numbered(beliefs.s[beliefs.rows]),
                known=known,
                truth=truth,
            )
            self._design = self._method.design(population, replace(self._options, error=error))
        return self._design

    def _verdicts(self) -> dict[int, float]:
        said = np.flatnonzero((self._outcome == TRUE) | (self._outcome == FALSE))
        return {int(self._graph.beliefs.rows[i]): float(self._outcome[i]) for i in said}


def _reserve(beliefs: Beliefs) -> tuple[Int64s, Reserve | None]:
    """Number each belief's predicate, and describe the reserve where the population stays in a store."""
    frame = beliefs.frame
    if frame is None:
        return _numbered(beliefs.p[beliefs.rows]), None
    names = sorted(frame.sizes)
    numbers = np.full(len(beliefs.terms), -1, np.int64)
    for number, name in enumerate(names):
        term = beliefs.terms.find(name)
        if term is not None:
            numbers[term] = number
    return numbers[beliefs.p[beliefs.rows]], Reserve(
        size=np.array([frame.sizes[name] for name in names], np.int64),
        reach=np.array([frame.reach[name] for name in names]),
        place=np.asarray(frame.place)[beliefs.rows],
    )


def _numbered(terms: Int32s) -> Int64s:
    return np.unique(terms, return_inverse=True)[1].astype(np.int64)

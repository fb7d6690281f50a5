"""Asking by a sampling design, which stands for its interval."""

from collections.abc import Collection

import numpy as np

from rdf_kgeval.beliefs import Ints
from rdf_kgeval.coupling import CouplingGraph, Thetas
from rdf_kgeval.estimation import Design, Population
from rdf_kgeval.estimation.designs import Factory
from rdf_kgeval.inference.confidence import updated_thetas
from rdf_kgeval.inference.inference import infer_rows
from rdf_kgeval.inference.live import Progress
from rdf_kgeval.procedure import Estimated, Point, Request
from rdf_kgeval.verdicts import AMBIGUOUS, FALSE, NOT_ASKED, TRUE, Drawn


class Sampled:
    """A sampling design at work.

    What was labelled before the first draw is the certainty stratum. A verdict that comes from elsewhere
    later answers its belief's draw, if it is ever drawn.
    """

    def __init__(
        self, graph: CouplingGraph, factory: Factory, *, uses_truth: bool, **options: object
    ) -> None:
        self._graph = graph
        self._factory = factory
        self._options = options
        self._uses_truth = uses_truth
        self._outcome = np.full(graph.n_beliefs, NOT_ASKED, np.int8)
        self._design: Design | None = None
        self._sampling = False
        self.history: list[Point] = []

    @property
    def note(self) -> str | None:
        """What the design has to say."""
        return self._drawing().note

    @property
    def thetas(self) -> Thetas:
        """Each rule's weights, learned from all verdicts, which are a sample."""
        return updated_thetas(self._graph, self._verdicts())

    def next(self, k: int, without: Collection[int], progress: Progress | None = None) -> list[Request]:
        """The next draws."""
        draws = self._drawing().next(self._outcome, k + len(without))
        chosen = [draw for draw in draws if draw.position not in without][:k]
        return [Request(draw.position, Drawn.SAMPLE, draw.probability) for draw in chosen]

    def take(self, position: int, outcome: int, drawn: Drawn) -> None:
        """An answer."""
        if drawn is Drawn.SAMPLE:
            self._drawing()  # before the answer is known: it is not of the certainty stratum
            self._sampling = True
        elif not self._sampling:
            self._design = None
        self._outcome[position] = outcome
        asked = int((self._outcome != NOT_ASKED).sum())
        self.history.append(Point(asked, self._drawing().running(self._outcome).accuracy, None))

    def stopped(self) -> str | None:
        """When the margin is reached, or everything is asked."""
        if (self._outcome != NOT_ASKED).all():
            return "everything asked"
        return "margin" if self._drawing().reached(self._outcome) else None

    def estimate(self, *, final: bool) -> Estimated:
        """The design's estimate; before the end, what may be looked at while it runs."""
        design = self._drawing()
        if (self._outcome == NOT_ASKED).all():
            return Estimated(None, None)
        return Estimated(*(design.estimate(self._outcome) if final else design.running(self._outcome)))

    def estimate_groups(self, group: Ints, *, final: bool) -> list[Estimated]:
        """The design's estimates; before the end without intervals."""
        found = self._drawing().estimate_groups(self._outcome, group.astype(np.int64))
        return [Estimated(accuracy, interval if final else None) for accuracy, interval in found]

    def _drawing(self) -> Design:
        if self._design is None:
            beliefs = self._graph.beliefs
            known = np.where(self._outcome == AMBIGUOUS, NOT_ASKED, self._outcome).astype(np.int8)
            truth = infer_rows(self._graph, self._verdicts(), self.thetas).x if self._uses_truth else None
            population = Population(
                predicate=_numbered(beliefs.p[beliefs.rows]),
                subject=_numbered(beliefs.s[beliefs.rows]),
                known=known,
                truth=None if truth is None else truth[beliefs.rows],
            )
            self._design = self._factory(population, **self._options)  # type: ignore[arg-type]
        return self._design

    def _verdicts(self) -> dict[int, float]:
        said = np.flatnonzero((self._outcome == TRUE) | (self._outcome == FALSE))
        return {int(self._graph.beliefs.rows[i]): float(self._outcome[i]) for i in said}


def _numbered(terms: Ints) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.unique(terms, return_inverse=True)[1].astype(np.int64)

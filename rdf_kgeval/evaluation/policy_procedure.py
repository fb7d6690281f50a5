"""Ask by a policy: a random seed set, then the policy's picks, and the paper's estimate.

The estimate is the mean label over the inferable set. It has no interval: what control chose is not a sample.
"""

from collections.abc import Collection
from typing import Protocol

import numpy as np

from rdf_kgeval.common.progress import StepProgress
from rdf_kgeval.common.types import Float64s, Int8s, Int32s
from rdf_kgeval.coupling.graph import CouplingGraph
from rdf_kgeval.estimation.design import Estimate
from rdf_kgeval.evaluation.policies import Contagion, Policy, View
from rdf_kgeval.evaluation.procedure import Point, Request, spread
from rdf_kgeval.inference.infer import label, normalise_class_mass
from rdf_kgeval.inference.lookahead import Lookahead
from rdf_kgeval.inference.model import UNKNOWN
from rdf_kgeval.inference.rule_weights import updated_thetas
from rdf_kgeval.verdicts.ledger import Finding
from rdf_kgeval.verdicts.log import AMBIGUOUS, NOT_ASKED, Drawn

LAST, RANGE = 10, 0.004
"""Number of last estimates, and the range within which they have converged (our reading of the paper)."""


class Labelling(Protocol):
    """Follows verdicts."""

    def take(self, position: int, value: float) -> None:
        """Take a verdict."""
        ...

    def label(self) -> Int8s:
        """Return the known and the inferred labels."""
        ...


class PolicyProcedure:
    """A seed set and a policy at work; a pure function of the verdicts that it took, in their order."""

    def __init__(
        self,
        graph: CouplingGraph,
        policy: Policy,
        *,
        seed: int,
        seed_size: int,
        converge: bool = True,
        threads: int = 1,
    ) -> None:
        n = graph.n_beliefs
        self._graph = graph
        self._policy = policy
        self._seed = seed
        self._size = min(seed_size, n)
        self._converge = converge
        self._threads = threads
        self._order = np.random.default_rng(seed).permutation(n).astype(np.int32)
        self._outcome = np.full(n, NOT_ASKED, np.int8)
        self._truth = np.full(n, UNKNOWN)
        self._seed_set = self._order[: self._size]
        self._labelling: Labelling | None = None
        self._masses = (UNKNOWN, UNKNOWN)
        self.thetas = graph.thetas
        """Each rule's weights; after the seed set, as its verdicts left them."""
        self.note: str | None = None
        self.short: tuple[str, ...] = ()
        self._points: list[Point] = []
        if not self._size:
            self._begin()

    def next(self, k: int, without: Collection[int], progress: StepProgress | None = None) -> list[Request]:
        """Choose up to k beliefs to ask, none of them in `without`."""
        open_ = self._outcome == NOT_ASKED
        open_[list(without)] = False
        if self._labelling is None:
            chosen = self._seed_set[open_[self._seed_set]][:k]
            return [Request(int(i), Drawn.SEED, self._size / len(self._order)) for i in chosen]
        view = View(
            graph=self._graph,
            open=open_,
            label=self._labelling.label(),
            order=self._order,
            accuracy=self._seed_accuracy(),
            live=self._labelling if isinstance(self._labelling, Lookahead) else None,
            progress=progress,
        )
        return [Request(position, Drawn.CONTROL) for position in self._policy.pick(view, k)]

    def take(self, position: int, found: Finding) -> None:
        """Take the finding on a belief that had none before."""
        outcome, truth = found.outcome, found.truth
        self._outcome[position], self._truth[position] = outcome, truth
        if self._labelling is None:
            if (self._outcome[self._seed_set] == NOT_ASKED).any():
                return
            self._begin()
        elif outcome != AMBIGUOUS:
            if isinstance(self._labelling, Lookahead) and truth not in (0.0, 1.0):
                self._labelling = Lookahead(self._graph, self._verdicts(), self.thetas, self._threads)
            else:
                self._labelling.take(position, float(outcome))
        asked = self._outcome != NOT_ASKED
        inferred = int((self.label()[~asked] >= 0).sum())
        self._points.append(Point(int(asked.sum()), self.estimate(final=False).accuracy, inferred))

    def retake(self, position: int, found: Finding | None) -> bool:
        """Accept only a finding that changes nothing here: later picks may depend on the old one."""
        before = int(self._outcome[position]), float(self._truth[position])
        return found is not None and (found.outcome, found.truth) == before

    def history(self, most: int | None = None) -> list[Point]:
        """List a point for each verdict from the end of the seed set on."""
        return [self._points[i - 1] for i in spread(len(self._points), most)]

    def expected(self) -> Float64s | None:
        """Return the expected gain of every belief that may be asked."""
        if not isinstance(self._labelling, Lookahead):
            return None
        open_ = np.flatnonzero(self._outcome == NOT_ASKED).astype(np.int32)
        x = self._labelling.x[open_]
        pi = np.where(label(x) >= 0, x, self._seed_accuracy())
        gains = self._labelling.gains(open_)
        found = np.zeros(len(self._outcome))
        found[open_] = pi * gains[:, 1] + (1 - pi) * gains[:, 0]
        return found

    def label(self) -> Int8s:
        """Return the labels of the inferable set; before the seed set is complete, the verdicts."""
        return self._said() if self._labelling is None else self._labelling.label()

    def estimate(self, *, final: bool) -> Estimate:
        """Return the mean label."""
        return self.estimate_groups(np.zeros(len(self._outcome), np.int32), final=final)[0]

    def estimate_groups(self, group: Int32s, *, final: bool) -> list[Estimate]:
        """Return the mean label of each group.

        Where inference makes the labels, the classes' masses are first set right by the seed set.
        """
        labels = self.label()
        if isinstance(self._labelling, Lookahead):
            asked = np.flatnonzero(self._said() >= 0).astype(np.int32)
            labels = label(normalise_class_mass(self._labelling.x, *self._masses, asked))
        size = int(group.max(initial=0)) + 1
        known = group >= 0
        count = np.bincount(group[known & (labels >= 0)], minlength=size)
        true = np.bincount(group[known & (labels == 1)], minlength=size)
        return [Estimate(float(t / c) if c else None, None) for t, c in zip(true, count, strict=True)]

    def stopped(self) -> str | None:
        """Return a reason once all is asked or inferred, or the last estimates hardly differ."""
        if ((self.label() >= 0) | (self._outcome != NOT_ASKED)).all():
            return "everything inferred"
        last = [point.accuracy for point in self._points[-LAST:] if point.accuracy is not None]
        settled = self._converge and len(last) == LAST and max(last) - min(last) <= RANGE
        return "converged" if settled else None

    def _begin(self) -> None:
        """Learn the rules' confidences from the seed set, solve, and fix the class masses."""
        said = self._said()
        asked = np.flatnonzero(said >= 0)
        sure = {int(self._graph.beliefs.rows[i]): float(said[i]) for i in asked}
        self.thetas = updated_thetas(self._graph, sure)
        if self._policy.labelling == "inference":
            live = Lookahead(self._graph, self._verdicts(), self.thetas, self._threads)
            inferred = (live.label() >= 0) & (said < 0)
            if inferred.any():
                self._masses = (self._seed_accuracy(), float(live.x[inferred].mean()))
            self._labelling = live
            return
        self._labelling = (
            Contagion(self._graph, self._seed) if self._policy.labelling == "contagion" else _Said(len(said))
        )
        for i in asked:
            self._labelling.take(int(i), float(said[i]))

    def _verdicts(self) -> dict[int, float]:
        rows = self._graph.beliefs.rows
        return {int(rows[i]): float(self._truth[i]) for i in np.flatnonzero(self._said() >= 0)}

    def _said(self) -> Int8s:
        return np.where(self._outcome == AMBIGUOUS, NOT_ASKED, self._outcome).astype(np.int8)

    def _seed_accuracy(self) -> float:
        said = self._said()[self._seed_set]
        return float(said[said >= 0].mean()) if (said >= 0).any() else UNKNOWN


class _Said:
    """Nothing follows: labels are what was said."""

    def __init__(self, n: int) -> None:
        self._label = np.full(n, -1, np.int8)

    def take(self, position: int, value: float) -> None:
        self._label[position] = int(value)

    def label(self) -> Int8s:
        return self._label.copy()

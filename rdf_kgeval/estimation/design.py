"""Define sampling designs: what to ask next, when to stop, and how accurate the graph is.

A design is a pure function of the population, its options and the answers so far: the order of its draws
comes from a seed and from answers earlier in that order, never from when answers arrived. The same answers
therefore give the same draws, stop and estimate, and resuming a run is replaying its log.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from rdf_kgeval.common.types import Float64s, Int8s, Int64s
from rdf_kgeval.errors import InputError
from rdf_kgeval.estimation.intervals import Interval
from rdf_kgeval.estimation.population import Population
from rdf_kgeval.verdicts.log import NOT_ASKED

OBJECTIVES = ("overall", "predicate")


class Estimate(NamedTuple):
    """An accuracy, None while nothing is known, and its interval, None where the method gives none."""

    accuracy: float | None
    interval: Interval | None


class Draw(NamedTuple):
    """A belief to ask about, by position."""

    position: int
    probability: float
    """The probability of this draw, within its stratum where there are strata."""


@dataclass(frozen=True)
class ErrorRates:
    """Shares of wrong verdicts; true if any is above 0."""

    miss: float
    """The share of true beliefs that are called false."""
    alarm: float
    """The share of false beliefs that are called true."""

    def __bool__(self) -> bool:
        return self.miss > 0 or self.alarm > 0

    @property
    def kept(self) -> float:
        """Return by how much the share of true verdicts changes with the accuracy."""
        return 1 - self.miss - self.alarm


@dataclass(frozen=True, kw_only=True)
class DesignOptions:
    """Options of every design; `Settings.design_options` makes them, and has the defaults."""

    margin: float | None
    """Half the width at which to stop; None where only a budget ends the run."""
    level: float
    """The share of runs whose interval is to hold the true accuracy."""
    seed: int
    strict: bool
    """At least the level at every accuracy, not only on average over them."""
    objective: str
    """What the allocation serves: the graph's accuracy (`overall`) or each predicate's (`predicate`)."""
    error: ErrorRates
    """The known shares of wrong verdicts; where both are 0, every verdict is taken as right."""

    def __post_init__(self) -> None:
        if self.margin is not None and not 0 < self.margin < 0.5:
            raise InputError(f"the margin {self.margin:g} is not between 0 and 0.5; give for example 0.05")
        if not 0.5 < self.level < 0.999:
            raise InputError(f"the level {self.level:g} is not between 0.5 and 0.999; give for example 0.95")
        if not (self.error.miss >= 0 and self.error.alarm >= 0 and self.error.kept > 0):
            worst = max(self.error.miss, self.error.alarm)
            raise InputError(
                f"an error rate of {worst:g} is not between 0 and 0.5; verdicts that are wrong half the time "
                "or more say nothing"
            )
        if self.objective not in OBJECTIVES:
            raise InputError(f"the objective {self.objective!r} is not one of {', '.join(OBJECTIVES)}")


class Design(Protocol):
    """A sampling design beside its estimator."""

    note: str | None
    """A note for users about this design, in a sentence."""
    short: Int64s
    """Predicates that need more beliefs from the population before there is a next draw."""

    def next(self, answers: Int8s, k: int) -> list[Draw]:
        """Return the first k unanswered draws in the order of the draws; none when there are no more.

        Fewer than k where later draws depend on answers that are still out.
        """
        ...

    def reached(self, answers: Int8s) -> bool:
        """Return whether the margin is reached, so that sampling may stop."""
        ...

    def estimate(self, answers: Int8s) -> Estimate:
        """Estimate at the stop; before it, what a run reports whose budget ends here."""
        ...

    def estimate_groups(self, answers: Int8s, group: Int64s) -> list[Estimate]:
        """Estimate groups of beliefs, numbered from 0 to the largest; -1 marks beliefs in no group."""
        ...

    def running(self, answers: Int8s) -> Estimate:
        """Estimate during the run: with an interval that holds at every moment, or without one."""
        ...


@dataclass(frozen=True)
class Scale:
    """The map from the share of true verdicts in a sample to the accuracy of the whole graph.

    With C known beliefs, K of them true, and R others, of whose true ones a share m is called false and of
    whose false ones a share f is called true, a share q of true verdicts among the others gives
    `(K + R * (q - f) / (1 - m - f)) / (C + R)`.
    """

    known: int
    known_true: int
    rest: int
    error: ErrorRates

    @classmethod
    def of(cls, population: Population, error: ErrorRates) -> "Scale":
        """Make the scale of a population."""
        known = population.known
        return cls(int((known >= 0).sum()), int((known == 1).sum()), population.free, error)

    @property
    def factor(self) -> float:
        """Return by how much the whole graph's accuracy changes with the share of true verdicts."""
        return self.rest / (self.known + self.rest) / self.error.kept

    def margin(self, margin: float) -> float:
        """Return the margin of the share of true verdicts that gives this margin for the whole graph."""
        return margin / self.factor if self.rest else 1.0

    def whole(self, share: float) -> float:
        """Return the whole graph's accuracy."""
        corrected = min(max((share - self.error.alarm) / self.error.kept, 0.0), 1.0)
        return float((self.known_true + self.rest * corrected) / (self.known + self.rest))

    def estimate(self, share: float, interval: Interval, possible: Interval = (0.0, 1.0)) -> Estimate:
        """Estimate the whole graph from its sampled part, within what the labels leave possible."""
        share, low, high = (self.whole(min(max(x, possible[0]), possible[1])) for x in (share, *interval))
        return Estimate(share, (low, high))


class SequentialDesign(ABC):
    """A base for designs: the draws so far and the answers on them, in the order of the draws.

    Answers are followed in that order up to the first one that is out. Where the margin is reached on the
    way, later answers no longer count: going on would be looking twice.
    """

    note: str | None = None
    adaptive = True
    """Whether later draws depend on earlier answers."""

    def __init__(self, population: Population, options: DesignOptions, margin: float | None = None) -> None:
        self.population = population
        self.options = options
        self.scale = Scale.of(population, options.error)
        self.margin = None if options.margin is None else margin or self.scale.margin(options.margin)
        """The margin for the share of true verdicts among what is sampled."""
        self._position = np.empty(0, np.int64)
        self._chance = np.empty(0)
        self._reset()

    def _reset(self) -> None:
        self.short = np.empty(0, np.int64)
        self._drawn = 0
        self._followed = np.empty(0, np.int8)
        self._stopped = False
        self._restart()

    @abstractmethod
    def _restart(self) -> None:
        """Forget all answers."""

    @abstractmethod
    def _extend(self) -> tuple[Int64s, Float64s]:
        """Return the next draws and their chances, given all answers on those before; none at the end."""

    @abstractmethod
    def _observe(self, at: int, answer: int) -> bool:
        """Take in the answer on the draw with this number. Returns whether the margin is now reached."""

    @abstractmethod
    def _labelled(self) -> tuple[float, float]:
        """Count the sampled beliefs that are labelled true, and those labelled false."""

    def _open(self) -> Interval:
        """Return the shares that the labels leave possible: one only after a full count by sure verdicts."""
        if self.options.error:
            return 0.0, 1.0
        true, false = self._labelled()
        return true / self.scale.rest, 1 - false / self.scale.rest

    @abstractmethod
    def estimate(self, answers: Int8s) -> Estimate:
        """Estimate at the stop, or at the end of the budget."""

    def _draw_more(self) -> bool:
        position, chance = self._extend()
        self._position = np.concatenate([self._position[: self._drawn], position])
        self._chance = np.concatenate([self._chance[: self._drawn], chance])
        self._drawn += len(position)
        return len(position) > 0

    def _follow(self, answers: Int8s) -> None:
        """Update the state by the answers; where old ones changed, start again."""
        if not np.array_equal(answers[self._position[: len(self._followed)]], self._followed):
            self._reset()
        new: list[int] = []
        seen = len(self._followed)
        while not self._stopped and (seen < self._drawn or self._draw_more()):
            answer = int(answers[self._position[seen]])
            if answer == NOT_ASKED:
                break
            self._stopped = self._observe(seen, answer)
            new.append(answer)
            seen += 1
        if new:
            self._followed = np.concatenate([self._followed, np.array(new, np.int8)])

    def next(self, answers: Int8s, k: int) -> list[Draw]:
        """Return the first k unanswered draws; none once the margin is reached."""
        self._follow(answers)
        found: dict[int, Draw] = {}
        at = len(self._followed)
        while not self._stopped and len(found) < k:
            if at == self._drawn and (self.adaptive or not self._draw_more()):
                break
            position = int(self._position[at])
            if answers[position] == NOT_ASKED:
                found.setdefault(position, Draw(position, float(self._chance[at])))
            at += 1
        return list(found.values())

    def reached(self, answers: Int8s) -> bool:
        """Return whether the margin is reached."""
        self._follow(answers)
        return self._stopped or not self.scale.rest

    def running(self, answers: Int8s) -> Estimate:
        """Return the estimate so far, without an interval."""
        return Estimate(self.estimate(answers).accuracy, None)

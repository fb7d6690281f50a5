"""Sample at random without replacement, every belief as likely as any other."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from rdf_kgeval.common.types import Float64s, Int8s, Int64s
from rdf_kgeval.estimation import intervals
from rdf_kgeval.estimation.calibration import FALLBACK, calibrated_margin, fixed_width_constants
from rdf_kgeval.estimation.design import DesignOptions, Estimate, Scale, SequentialDesign
from rdf_kgeval.estimation.groups import estimate_groups
from rdf_kgeval.estimation.intervals import Interval
from rdf_kgeval.estimation.population import Population
from rdf_kgeval.estimation.strata import Strata
from rdf_kgeval.verdicts.log import AMBIGUOUS, TRUE

MINIMUM = 30
"""Answers before which the published methods never stop."""
_CHUNK = 64


@dataclass(frozen=True)
class StoppingRule:
    """An interval for k of n true answers; narrower than twice the margin, it stops the sampling."""

    interval: Callable[[int, int], Interval]
    minimum: int = 1
    widened: bool = False
    """Whether the report at the stop is as wide as the margin allows, and not as the interval is."""


class Srs(SequentialDesign):
    """Draws in the order of a seeded permutation, stopped by the width of an interval."""

    adaptive = False

    def __init__(
        self,
        population: Population,
        options: DesignOptions,
        rule: StoppingRule,
        *,
        margin: float | None = None,
        note: str | None = None,
    ) -> None:
        self.note = note
        self._rule = rule
        self._size = population.free
        self._strata = Strata(population, np.zeros(len(population.sizes), np.int64), options.seed)
        super().__init__(population, options, margin)

    def _restart(self) -> None:
        self._n = self._k = self._pending = 0

    def _extend(self) -> tuple[Int64s, Float64s]:
        at = self._drawn
        block = self._strata.slice(0, at, at + max(_CHUNK, at // 4))
        self.short = self._strata.lacking(np.array([min(at + 1, self._size)]))
        return block, 1.0 / (self._size - np.arange(at, at + len(block)))

    def _observe(self, at: int, answer: int) -> bool:
        self._n += 1
        self._k += answer == TRUE
        self._pending += answer == AMBIGUOUS
        if self.margin is None or self._n < min(self._rule.minimum, self._size):
            return False
        low, high = self._ends(self._rule.interval)
        least, most = self._open()
        return min(high - low, most - least) <= 2 * self.margin + 1e-12

    def _ends(self, interval: Callable[[int, int], Interval]) -> Interval:
        if not self._pending:
            return interval(self._n, self._k)
        return interval(self._n, self._k)[0], interval(self._n, self._k + self._pending)[1]

    def _labelled(self) -> tuple[float, float]:
        return self._k, self._n - self._k - self._pending

    def _share(self) -> float:
        return (self._k + self._pending / 2) / self._n if self._n else 0.5

    def estimate(self, answers: Int8s) -> Estimate:
        """Return the share of true answers and the interval."""
        self._follow(answers)
        if not self._size:
            return self.scale.estimate(0.5, (0.5, 0.5))
        low, high = self._ends(self._rule.interval)
        if self._stopped and self._rule.widened and self.margin is not None:
            centre = (low + high) / 2
            low, high = centre - self.margin, centre + self.margin
        return self.scale.estimate(self._share(), (low, high), self._open())

    def running(self, answers: Int8s) -> Estimate:
        """Return the share of true answers and the betting interval, which holds at every moment."""
        self._follow(answers)
        if not self._size:
            return self.estimate(answers)
        size = np.inf if self.options.error else self._size
        bet = partial(intervals.betting, size=size, level=self.options.level)
        return self.scale.estimate(self._share(), self._ends(bet), self._open())

    def estimate_groups(self, answers: Int8s, group: Int64s) -> list[Estimate]:
        """Estimate groups by the hierarchical model over the groups."""
        self._follow(answers)
        asked = self._position[: len(self._followed)]
        one = np.zeros_like(group)
        return estimate_groups(
            self.population, group, one, asked, self._followed, self.options.level, self.options.error
        )


def srs_wilson(population: Population, options: DesignOptions) -> Srs:
    """Make `srs/wilson`: Wilson's interval, as published."""
    return Srs(population, options, StoppingRule(partial(intervals.wilson, level=options.level), MINIMUM))


def srs_ahpd(population: Population, options: DesignOptions) -> Srs:
    """Make `srs/ahpd`: the adaptive HPD interval, as published."""
    return Srs(population, options, StoppingRule(partial(intervals.ahpd, level=options.level), MINIMUM))


def anytime_betting(population: Population, options: DesignOptions, note: str | None = None) -> Srs:
    """Make `anytime/betting`: a confidence sequence, valid at every moment."""
    size = np.inf if options.error else population.free
    bet = partial(intervals.betting, size=size, level=options.level)
    if options.margin is not None:
        bet = partial(bet, margin=min(Scale.of(population, options.error).margin(options.margin), 0.5))
    rule = StoppingRule(bet)
    return Srs(population, options, rule, note=note)


def srs_fixed_width(population: Population, options: DesignOptions) -> Srs:
    """Make `srs/fixed-width`: Frey's interval of a fixed width, which never covers less than the level."""
    margin = calibrated_margin(Scale.of(population, options.error), options)
    if margin is None:
        return anytime_betting(population, options, FALLBACK)
    shrink, z = fixed_width_constants(margin, options.level)
    rule = StoppingRule(partial(intervals.adjusted_wald, shrink=shrink, z=z), widened=True)
    return Srs(population, options, rule, margin=margin)

"""Sample by predicate where labels teach most, until the posterior is narrow: `stratified/bayes`.

The posterior of the graph's accuracy A is that of the hierarchical model (hierarchy.py), taken as a Beta
distribution with its mean and variance. Asking stops when an interval of width `2 * margin` holds enough:

`max_x P(x <= A <= x + 2 * margin) >= 2 * Phi(f * z) - 1`

with the level's normal quantile z and a factor f >= 1, by margin and level (calibration.py), which makes up
for stopping at a lucky moment. Allocation: Neyman (JRSS 1934), by the posterior's doubt in place of the
unknown variances.
"""

import numpy as np

from rdf_kgeval.common.types import Float64s, Int8s, Int64s
from rdf_kgeval.estimation.beta_interval import best_interval, least_precision, precise
from rdf_kgeval.estimation.calibration import FACTORS, FALLBACK, SHRINK, calibrated_margin, stopping_mass
from rdf_kgeval.estimation.design import Design, DesignOptions, Estimate, Scale, SequentialDesign
from rdf_kgeval.estimation.groups import estimate_groups
from rdf_kgeval.estimation.hierarchy import (
    ENDLESS,
    GRID,
    begin,
    doubts,
    observe,
    posterior,
    posterior_moments,
)
from rdf_kgeval.estimation.intervals import Interval
from rdf_kgeval.estimation.population import Population
from rdf_kgeval.estimation.srs import anytime_betting
from rdf_kgeval.estimation.strata import Strata, strata_of
from rdf_kgeval.verdicts.log import AMBIGUOUS, TRUE

FIRST = 20
"""Draws that are spread in proportion to the strata before answers steer."""
LEAST_BLOCK = 8
GROWTH = 5
"""Draws are settled in blocks of a fifth of those before, at least 8: people can work side by side."""
TRUST, FLOOR = 0.8, 0.02
"""Shares of the posterior's doubt and of a constant in what a stratum is thought to vary."""


def first_block(size: Int64s, length: int) -> Int64s:
    """Choose strata for the first draws, in proportion to their sizes (Sainte-Lague)."""
    block = np.empty(length, np.int64)
    taken = np.zeros(size.size, np.int64)
    for i in range(length):
        block[i] = np.argmax(np.where(taken < size, size / (2.0 * taken + 1.0), -1.0))
        taken[block[i]] += 1
    return block


def gain_of(size: int, taken: int, doubt: float, by_predicate: bool) -> float:
    """Return the gain of one more answer from a stratum; negative where none is left.

    Either how much it lowers the variance of the graph's accuracy, up to a factor (Neyman), or how much it
    lowers the standard error of the predicate's: the next answer, or the mean of all to its end.
    """
    left = size - taken
    if left == 0:
        return -1.0
    if not by_predicate:
        return float(size) * float(size) * (TRUST * doubt + FLOOR) / (taken + 0.5) ** 2
    s = taken + 2.0
    now = np.sqrt(left * (s + left) / s)
    after = np.sqrt((left - 1) * (s + left) / (s + 1))
    return float(np.sqrt(TRUST * doubt + FLOOR) / size * max(now - after, now / left))


def next_block(size: Int64s, taken: Int64s, doubt: Float64s, length: int, by_predicate: bool) -> Int64s:
    """Choose strata for the next draws: each goes where it gains most."""
    block = np.empty(length, np.int64)
    planned = taken.copy()
    gain = np.empty(size.size)
    for h in range(size.size):
        gain[h] = gain_of(size[h], planned[h], doubt[h], by_predicate)
    for i in range(length):
        best = int(np.argmax(gain))
        planned[best] += 1
        gain[best] = gain_of(size[best], planned[best], doubt[best], by_predicate)
        block[i] = best
    return block


def block_length(drawn: int, left: int) -> int:
    """Return the number of draws to settle at once."""
    return min(FIRST if drawn == 0 else max(LEAST_BLOCK, drawn // GROWTH), left)


class Stratified(SequentialDesign):
    """Uniform draws without replacement within strata; between them, where the posterior learns most.

    The stop: the interval of width twice the margin that holds most of the posterior of the graph's accuracy
    holds the calibrated mass of it, after shrinkage by pseudo-counts. That interval is the report.
    """

    def __init__(self, population: Population, options: DesignOptions, margin: float) -> None:
        self._by_predicate = options.objective == "predicate"
        kind = "strict" if options.strict else options.objective
        self._mass = stopping_mass(margin, options.level, FACTORS[kind])
        self._table = least_precision(margin, self._mass)
        number = strata_of(population.sizes, self._by_predicate)
        self._strata = Strata(population, number, options.seed)
        self._stratum, self._size = self._strata.of, self._strata.size
        self._free = population.free
        self._weighed = self._size.astype(np.float64) * (ENDLESS if options.error else 1.0)
        self._weight, self._mean, self._var = (np.empty(len(GRID.a)) for _ in range(3))
        super().__init__(population, options, margin)

    def _restart(self) -> None:
        self._taken, self._n, self._k, self._pending = (np.zeros(len(self._size), np.int64) for _ in range(4))
        begin(GRID.a, GRID.b, GRID.weight, self._weighed, self._weight, self._mean, self._var)
        self._moments = float(GRID.weight @ self._mean), float("inf")

    def _extend(self) -> tuple[Int64s, Float64s]:
        length = block_length(self._drawn, self._free - self._drawn)
        if self._drawn == 0 and not self._by_predicate:
            block = first_block(self._size, length)
        else:
            doubt = np.empty(len(self._size))
            doubts(GRID.a, GRID.b, self._weight, self._n, self._k, doubt)
            block = next_block(self._size, self._taken, doubt, length, self._by_predicate)
        self.short = self._strata.lacking(self._taken + np.bincount(block, minlength=len(self._size)))
        if len(self.short):
            return np.empty(0, np.int64), np.empty(0)
        position, chance = np.empty(length, np.int64), np.empty(length)
        for i, h in enumerate(block):
            position[i] = self._strata.at(h, self._taken[h])
            chance[i] = 1.0 / (self._size[h] - self._taken[h])
            self._taken[h] += 1
        return position, chance

    def _observe(self, at: int, answer: int) -> bool:
        h = int(self._stratum[self._position[at]])
        if answer == AMBIGUOUS:
            self._pending[h] += 1
        else:
            state = (self._weighed, self._n, self._k, self._weight, self._mean, self._var)
            self._moments = observe(h, int(answer == TRUE), GRID.a, GRID.b, *state)
        if self.options.margin is None or self.margin is None:
            return False
        low, high = self._open()
        if high - low <= 2 * self.margin:
            return True
        if self._pending.any():
            low, high = self._ends(None)
            return high - low <= 2 * self.margin
        mean, variance = self._scaled(*self._moments)
        return bool(precise(mean, variance, SHRINK, self._table))

    def _scaled(self, mean: float, variance: float) -> tuple[float, float]:
        total = self._weighed.sum()
        return mean / total, variance / total**2

    def _labelled(self) -> tuple[float, float]:
        true = self._k.sum()
        return true, self._n.sum() - true

    def _posterior(self, extra: Int64s | None) -> tuple[float, float]:
        """Return the posterior mean and variance of the share; `extra` counts pending answers as true."""
        mean, variance = self._moments
        if extra is not None:
            n, k = (self._n + self._pending).astype(float), (self._k + extra).astype(float)
            first = np.zeros(1, np.int64)
            found = posterior_moments(GRID, posterior(GRID, n, k), self._weighed, n, k, first)
            mean, variance = float(found[0][0]), float(found[1][0])
        return self._scaled(mean, variance)

    def _ends(self, margin: float | None) -> Interval:
        """Return the interval of this margin, or the narrowest that holds the mass."""
        cases = [None, None] if not self._pending.any() else [np.zeros_like(self._pending), self._pending]
        found = [best_interval(*self._posterior(extra), SHRINK, self._mass, margin) for extra in cases]
        return found[0][0], found[1][1]

    def estimate(self, answers: Int8s) -> Estimate:
        """Return the stratified mean, at the stop with the margin's interval."""
        self._follow(answers)
        if not self._free:
            return self.scale.estimate(0.5, (0.5, 0.5))
        pending = self._pending.any()
        low, high = self._ends(self.margin if self._stopped and not pending else None)
        return self.scale.estimate(min(max(self._share(), low), high), (low, high), self._open())

    def _share(self) -> float:
        """Return the stratified mean, each stratum's as if one more answer in it had been average.

        The posterior mean would be pulled towards one half: where nearly all is true, that costs more than it
        saves.
        """
        n, k = self._n + self._pending, self._k + self._pending / 2
        seen = n > 0
        if not seen.any():
            return 0.5
        average = float((self._size * k / np.maximum(n, 1))[seen].sum() / self._size[seen].sum())
        rest = (self._size - n) * (k + average) / (n + 1)
        return float((k + rest).sum() / self._size.sum())

    def estimate_groups(self, answers: Int8s, group: Int64s) -> list[Estimate]:
        """Estimate groups by the hierarchical model over what each group has of each stratum."""
        self._follow(answers)
        asked, options = self._position[: len(self._followed)], self.options
        return estimate_groups(
            self.population, group, self._stratum, asked, self._followed, options.level, options.error
        )


def stratified_bayes(population: Population, options: DesignOptions) -> Design:
    """Make `stratified/bayes`; outside the calibrated margins and levels, `anytime/betting`."""
    margin = calibrated_margin(Scale.of(population, options.error), options)
    if margin is None:
        return anytime_betting(population, options, FALLBACK)
    return Stratified(population, options, margin)

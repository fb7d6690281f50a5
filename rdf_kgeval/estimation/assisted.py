"""Estimate by a forecast of every label, corrected by its error where people looked: `assisted/difference`.

Cells are strata by predicate, split by what inference believed before sampling started. Before draw t, with
the labels so far, cell c with R_c unlabelled beliefs has a forecast f_c and the chance Q_c of being drawn
from. Then

`x_t = (labelled true ones + sum_c R_c * f_c + (y_t - f_c) * R_c / Q_c) / N`

with the answer y_t from cell c is unbiased whatever the forecast is (Des Raj, JASA 1956, for a difference):
what f and Q look at lies before t. The estimate is the mean of all x_t, weighted by the precision that was
expected before each draw; its variance is taken from the x_t themselves, plus one draw that was entirely off,
since a forecast that never failed yet has seen no variance. A useless or hostile forecast costs labels, not
coverage.
"""

import numpy as np

from rdf_kgeval.common.types import Float64s, Int8s, Int64s
from rdf_kgeval.estimation.beta_interval import best_interval, least_precision, precise
from rdf_kgeval.estimation.calibration import (
    ASSISTED_FACTORS,
    FALLBACK,
    SHRINK,
    calibrated_margin,
    stopping_mass,
)
from rdf_kgeval.estimation.design import Design, DesignOptions, Estimate, Scale, SequentialDesign
from rdf_kgeval.estimation.groups import estimate_groups
from rdf_kgeval.estimation.hierarchy import GRID, begin, doubts, observe
from rdf_kgeval.estimation.intervals import Interval
from rdf_kgeval.estimation.population import Population
from rdf_kgeval.estimation.srs import anytime_betting
from rdf_kgeval.estimation.strata import strata_of
from rdf_kgeval.estimation.stratified import FLOOR, TRUST, block_length
from rdf_kgeval.verdicts.log import AMBIGUOUS, FALSE, TRUE

BOUNDS = (0.2, 0.8)
"""Soft truths between which inference believes nothing."""
EVEN = 0.5
"""The share of draws that go to beliefs evenly; it keeps the weight of any answer below its inverse."""
PSEUDO = 1.0
"""Draws that were entirely off, added to the variance; and pseudo-counts, added to the estimate."""


def plan_draws(
    a: Float64s,
    b: Float64s,
    weight: Float64s,
    n: Int64s,
    k: Int64s,
    left: Int64s,
    forecast: Float64s,
    chance: Float64s,
) -> float:
    """Set each cell's forecast and chance of the next draw. Returns the expected variance of N * x_t."""
    doubt = np.empty(n.size)
    doubts(a, b, weight, n, k, doubt)
    doubt = TRUST * doubt + FLOOR
    for c in range(n.size):
        forecast[c] = (weight * (a + k[c]) / (a + b + n[c])).sum()
    pull = left * np.sqrt(doubt)
    chance[:] = EVEN * left / left.sum() + (1 - EVEN) * pull / pull.sum()
    some = left > 0
    return float((pull[some] ** 2 / chance[some]).sum())


def add_draw(sums: Float64s, base: float, off: float, leverage: float, precision: float) -> None:
    """Add `x_t = base + off * leverage` to the weighted sums that the estimate and its variance need."""
    x, w2 = base + off * leverage, precision * precision
    sums[0] += precision
    sums[1] += precision * x
    sums[2] += w2
    sums[3] += w2 * x
    sums[4] += w2 * x * x
    sums[5] += w2 * leverage * leverage
    sums[6] += 1.0


def weighted_moments(sums: Float64s) -> tuple[float, float]:
    """Return the estimate, shrunk by pseudo-counts, and its variance."""
    mean = sums[1] / sums[0]
    variance = (sums[4] - 2 * mean * sums[3] + mean * mean * sums[2] + PSEUDO * sums[5] / sums[6]) / sums[
        0
    ] ** 2
    count = sums[6]
    return (count * min(max(mean, 0.0), 1.0) + PSEUDO) / (count + 2 * PSEUDO), variance


class Assisted(SequentialDesign):
    """Draws by cell at random, more from doubtful cells; uniform without replacement within a cell."""

    def __init__(self, population: Population, options: DesignOptions, margin: float) -> None:
        self._mass = stopping_mass(margin, options.level, ASSISTED_FACTORS)
        self._table = least_precision(margin, self._mass)
        rest = np.flatnonzero(population.known < 0)
        self._cell = np.zeros(len(population), np.int64)
        self._cell[rest] = cells_of(population, rest)
        shuffled = np.random.default_rng(options.seed).permutation(rest)
        self._order = shuffled[np.argsort(self._cell[shuffled], kind="stable")]
        self._size = np.bincount(self._cell[rest], minlength=1)
        self._start = np.cumsum(self._size) - self._size
        super().__init__(population, options, margin)

    def _restart(self) -> None:
        cells = len(self._size)
        self._taken, self._n, self._k = (np.zeros(cells, np.int64) for _ in range(3))
        self._weight, self._mean, self._var = (np.empty(len(GRID.a)) for _ in range(3))
        begin(GRID.a, GRID.b, GRID.weight, self._size.astype(np.float64), self._weight, self._mean, self._var)
        self._forecast, self._chances = np.zeros(cells), np.zeros(cells)
        self._precision = 1.0
        self._left = self._size.copy()
        # With the ambiguous counted false, and true.
        self._sums = np.zeros((2, 7))
        self._true = np.zeros(2)

    def _extend(self) -> tuple[Int64s, Float64s]:
        length = block_length(self._drawn, len(self._order) - self._drawn)
        position, chance = np.empty(length, np.int64), np.empty(length)
        if length:
            left = self._size - self._taken
            variance = plan_draws(
                GRID.a, GRID.b, self._weight, self._n, self._k, left, self._forecast, self._chances
            )
            self._precision = len(self._order) ** 2 / variance
        random = np.random.default_rng([self.options.seed, self._drawn])
        for i in range(length):
            odds = np.where(self._taken < self._size, self._chances, 0.0)
            c = int(np.searchsorted(np.cumsum(odds), random.random() * odds.sum(), side="right"))
            position[i] = self._order[self._start[c] + self._taken[c]]
            chance[i] = odds[c] / odds.sum() / (self._size[c] - self._taken[c])
            self._taken[c] += 1
        return position, chance

    def _observe(self, at: int, answer: int) -> bool:
        c, total = int(self._cell[self._position[at]]), len(self._order)
        leverage = 1 / (total * float(self._chance[at]))
        expected = float(self._left @ self._forecast)
        for case, true in enumerate((answer == TRUE, answer != FALSE)):
            base = (self._true[case] + expected) / total
            add_draw(self._sums[case], base, true - self._forecast[c], leverage, self._precision)
            self._true[case] += true
        self._left[c] -= 1
        if answer != AMBIGUOUS:
            state = (self._size.astype(np.float64), self._n, self._k, self._weight, self._mean, self._var)
            observe(c, int(answer == TRUE), GRID.a, GRID.b, *state)
        if self.options.margin is None or self.margin is None:
            return False
        low, high = self._open()
        if high - low <= 2 * self.margin:
            return True
        if self._true[0] == self._true[1]:
            return bool(precise(*weighted_moments(self._sums[0]), SHRINK, self._table))
        low, high = self._ends(None)
        return high - low <= 2 * self.margin

    def _labelled(self) -> tuple[float, float]:
        return self._true[0], len(self._order) - self._left.sum() - self._true[1]

    def _ends(self, margin: float | None) -> Interval:
        """Return the interval of this margin, or the narrowest that holds the mass."""
        if not self._sums[0, 6]:
            return 0.0, 1.0
        found = [best_interval(*weighted_moments(sums), SHRINK, self._mass, margin) for sums in self._sums]
        return found[0][0], found[1][1]

    def estimate(self, answers: Int8s) -> Estimate:
        """Return the weighted mean of the x_t; at the stop with the interval of the margin."""
        self._follow(answers)
        if not len(self._order):
            return self.scale.estimate(0.5, (0.5, 0.5))
        settled = self._true[0] == self._true[1]
        low, high = self._ends(self.margin if self._stopped and settled else None)
        share = float((self._sums[:, 1] / self._sums[:, 0]).mean()) if self._sums[0, 0] else 0.5
        return self.scale.estimate(share, (low, high), self._open())

    def estimate_groups(self, answers: Int8s, group: Int64s) -> list[Estimate]:
        """Estimate groups by the hierarchical model over what each group has of each cell."""
        self._follow(answers)
        asked, options = self._position[: len(self._followed)], self.options
        return estimate_groups(
            self.population, group, self._cell, asked, self._followed, options.level, options.error
        )


def cells_of(population: Population, rest: Int64s) -> Int64s:
    """Number the cells of the beliefs to sample from 0."""
    stratum = strata_of(population.sizes, False)[population.predicate[rest]]
    if population.truth is None:
        return stratum
    believed = np.digitize(population.truth[rest], BOUNDS)
    found: Int64s = np.unique(stratum * (len(BOUNDS) + 1) + believed, return_inverse=True)[1].astype(np.int64)
    return found


def assisted_difference(population: Population, options: DesignOptions) -> Design:
    """Make `assisted/difference`; outside the calibrated margins and levels, `anytime/betting`."""
    margin = calibrated_margin(Scale.of(population, options.error), options)
    if margin is None:
        return anytime_betting(population, options, FALLBACK)
    return Assisted(population, options, margin)

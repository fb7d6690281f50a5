"""Intervals, against independent implementations, enumeration and their own definitions."""

import itertools
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize_scalar
from statsmodels.stats.proportion import proportion_confint

from rdf_kgeval.estimation import intervals
from rdf_kgeval.estimation.beta_interval import best_mass, best_start, half_width, least_precision, precise
from rdf_kgeval.estimation.hierarchy import GRID, begin, doubts, observe, posterior, posterior_moments

counts = st.integers(1, 300).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))
levels = st.sampled_from([0.8, 0.9, 0.95, 0.99])


@given(counts, levels)
def test_wilson_agrees_with_statsmodels(nk: tuple[int, int], level: float) -> None:
    n, k = nk
    expected = proportion_confint(k, n, alpha=1 - level, method="wilson")
    assert intervals.wilson(n, k, level) == pytest.approx(np.clip(expected, 0, 1), abs=1e-12)


def test_wilson_agrees_with_a_published_table() -> None:
    # Newcombe, Statistics in Medicine 1998, table I, method 3.
    for k, n, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611)):
        assert intervals.wilson(n, k, 0.95) == pytest.approx((low, high), abs=6e-5)


@given(counts, levels, st.sampled_from(intervals.PRIORS))
def test_hpd_holds_the_level_and_is_narrowest(nk: tuple[int, int], level: float, prior: float) -> None:
    n, k = nk
    beta = stats.beta(k + prior, n - k + prior)
    low, high = intervals.hpd(k + prior, n - k + prior, level)
    assert beta.cdf(high) - beta.cdf(low) == pytest.approx(level, abs=1e-7)
    best = minimize_scalar(
        lambda tail: beta.ppf(tail + level) - beta.ppf(tail), bounds=(0, 1 - level), method="bounded"
    )
    assert high - low <= best.fun + 1e-6


@pytest.mark.parametrize("just", [1e-12, 1e-9, 1e-6, 1e-3, 0.05])
def test_hpd_where_the_density_falls_only_just_before_its_end(just: float) -> None:
    """Effective sizes need not be whole, so that a parameter can hardly exceed 1."""
    for level in (0.9, 0.95, 0.99):
        low, high = intervals.hpd(40.0, 1 + just, level)
        beta = stats.beta(40.0, 1 + just)
        assert beta.cdf(high) - beta.cdf(low) == pytest.approx(level, abs=1e-6)
        assert low == pytest.approx(beta.ppf(1 - level), abs=0.01)
        assert intervals.hpd(1 + just, 40.0, level) == pytest.approx((1 - high, 1 - low), abs=1e-6)


def test_adaptive_hpd_is_the_narrowest_and_starts_as_in_the_literature() -> None:
    # Thirty of thirty correct: [0.952, 1], the start that stops too soon.
    low, high = intervals.ahpd(30, 30, 0.95)
    assert (round(low, 3), high) == (0.952, 1.0)
    widths = [np.subtract(*intervals.hpd(25 + c, 5 + c, 0.95)[::-1]) for c in intervals.PRIORS]
    assert np.subtract(*intervals.ahpd(30, 25, 0.95)[::-1]) == pytest.approx(min(widths))


def wealth(n: int, k: int, count: int, size: int, margin: float) -> float:
    """The bettors' money against a count, answer by answer."""
    far = round(margin * size)

    def chance(j: int) -> Fraction:
        value = Fraction(1)
        for i in range(k):
            value *= Fraction(max(j - i, 0), size - i)
        for i in range(n - k):
            value *= Fraction(max(size - j - i, 0), size - k - i)
        return value

    mixture = Fraction(1)
    for i in range(k):
        mixture *= (i + Fraction(1, 2)) / (i + 1)
    for i in range(n - k):
        mixture *= (i + Fraction(1, 2)) / (k + i + 1)
    toward = min(count + far, size) if count * n < k * size else max(count - far, 0)
    return float((mixture / 10 + chance(toward) * Fraction(45, 100)) / chance(count))


@pytest.mark.parametrize("size", [12, 40])
def test_betting_keeps_exactly_the_counts_whose_bettors_stay_poor(size: int) -> None:
    for n in (1, 5, size // 2, size - 1, size):
        for k in range(0, n + 1, max(1, n // 5)):
            low, high = intervals.betting(n, k, size, 0.9, 0.1)
            for count in range(k, size - (n - k) + 1):
                inside = low - 1e-9 <= count / size <= high + 1e-9
                if abs(wealth(n, k, count, size, 0.1) - 10) > 1e-6 and count != round(k / n * size):
                    assert inside == (wealth(n, k, count, size, 0.1) < 10), (n, k, count)


def test_betting_is_exact_after_a_full_count() -> None:
    assert intervals.betting(50, 37, 50, 0.95) == (0.74, 0.74)


def test_betting_never_excludes_the_truth_more_often_than_it_may() -> None:
    """10,000 small populations, looked at after every draw."""
    rng = np.random.default_rng(7)
    missed = 0
    known: dict[tuple[int, int, int], tuple[float, float]] = {}
    for _ in range(10_000):
        size = int(rng.integers(5, 41))
        labels = rng.permutation(np.arange(size) < rng.integers(0, size + 1))
        k = 0
        for n, label in enumerate(labels, start=1):
            k += int(label)
            if (size, n, k) not in known:
                known[size, n, k] = intervals.betting(n, k, size, 0.8, 0.1)
            low, high = known[size, n, k]
            if not low - 1e-9 <= labels.sum() / size <= high + 1e-9:
                missed += 1
                break
    assert missed <= stats.binom.ppf(0.999, 10_000, 0.2)
    assert missed > 100, "an interval that never misses would be no test"


def test_the_best_window_is_found() -> None:
    for a, b, width in ((31.0, 1.3, 0.1), (80.0, 9.0, 0.1), (3.0, 3.0, 0.3)):
        beta = stats.beta(a, b)
        starts = np.linspace(0, 1 - width, 20_001)
        held = beta.cdf(starts + width) - beta.cdf(starts)
        assert best_mass(np.array([a]), np.array([b]), width)[0] == pytest.approx(held.max(), abs=1e-5)
        assert best_start(a, b, width) == pytest.approx(starts[held.argmax()], abs=1e-3)
        assert best_mass(np.array([a]), np.array([b]), 2 * half_width(a, b, 0.9))[0] == pytest.approx(
            0.9, abs=1e-6
        )


def test_the_table_of_precisions_decides_as_the_mass_does() -> None:
    table = least_precision(0.05, 0.96)
    for mean in (0.5, 0.77, 0.912, 0.985):
        for nu in (20.0, 60.0, 120.0, 250.0, 420.0):
            a, b = mean * nu + 0.5, (1 - mean) * nu + 0.5
            held = best_mass(np.array([a]), np.array([b]), 0.1)[0]
            if abs(held - 0.96) > 2e-3:
                assert precise(mean, mean * (1 - mean) / (nu + 1), 0.5, table) == (held > 0.96)


def enumerated(size: list[int], n: list[int], k: list[int]) -> tuple[float, float]:
    """The posterior mean and variance of the number of true beliefs, by the definition of the model."""
    total = first = second = 0.0
    for a, b, prior in zip(GRID.a, GRID.b, GRID.weight, strict=True):
        chances = []
        for size_h, n_h, k_h in zip(size, n, k, strict=True):
            left = size_h - n_h
            share = stats.betabinom(left, a + k_h, b + n_h - k_h).pmf(np.arange(left + 1))
            prior *= stats.betabinom(n_h, a, b).pmf(k_h) / comb(n_h, k_h)
            chances.append(share)
        for extra in itertools.product(*(range(len(c)) for c in chances)):
            chance = prior * np.prod([c[e] for c, e in zip(chances, extra, strict=True)])
            true = sum(k) + sum(extra)
            total, first, second = total + chance, first + chance * true, second + chance * true**2
    return first / total, second / total - (first / total) ** 2


def test_the_hierarchical_posterior_by_enumeration() -> None:
    size, answers = [5, 7, 3], [(0, 1), (1, 1), (1, 0), (0, 1), (2, 1)]
    floats = np.array(size, dtype=float)
    weight, mean, var = (np.empty(len(GRID.a)) for _ in range(3))
    n, k = np.zeros(3, np.int64), np.zeros(3, np.int64)
    begin(GRID.a, GRID.b, GRID.weight, floats, weight, mean, var)
    for h, answer in answers:
        found = observe(h, answer, GRID.a, GRID.b, floats, n, k, weight, mean, var)
    expected = enumerated(size, n.tolist(), k.tolist())
    assert found == pytest.approx(expected, rel=1e-9)
    at_once = posterior(GRID, n.astype(float), k.astype(float))
    assert at_once == pytest.approx(weight, rel=1e-9)
    batch = posterior_moments(GRID, at_once, floats, n.astype(float), k.astype(float), np.array([0]))
    assert (batch[0][0], batch[1][0]) == pytest.approx(expected, rel=1e-9)
    doubt = np.empty(3)
    doubts(GRID.a, GRID.b, weight, n, k, doubt)
    e = (GRID.a + k[0]) / (GRID.a + GRID.b + n[0])
    s = GRID.a + GRID.b + n[0]
    assert doubt[0] == pytest.approx(float(weight @ (e - e * e - e * (1 - e) / (s + 1))))


def test_fixed_width_interval_is_frey_s() -> None:
    low, high = intervals.adjusted_wald(100, 90, 2.0, 2.0)
    p = 92 / 104
    assert ((low + high) / 2, (high - low) / 2) == pytest.approx((p, 2 * (p * (1 - p) / 100) ** 0.5))

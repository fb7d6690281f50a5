"""Intervals for a proportion: k of n draws were true.

All but the betting interval come from a formula for one look at the data; what they keep when one stops as soon
as they are narrow is measured in benchmarks/COVERAGE.md.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betainc, betaincinv, betaln, gammaln, ndtri

Floats = NDArray[np.float64]
Interval = tuple[float, float]

PRIORS = (1 / 3, 1 / 2, 1.0)
"""The symmetric Beta priors (Kerman, Jeffreys, uniform) among which adaptive HPD chooses."""


def quantile(level: float) -> float:
    """The standard normal's two-sided quantile."""
    return float(ndtri(0.5 + level / 2))


def wilson(n: float, k: float, level: float) -> Interval:
    """The score interval of Wilson (JASA 1927).

    `(k + z^2/2 +- z * sqrt(k * (n - k) / n + z^2/4)) / (n + z^2)`; n and k need not be whole, so that a design's
    effective size can stand in for the number of draws.
    """
    if n <= 0:
        return 0.0, 1.0
    z = quantile(level)
    centre = (k + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * np.sqrt(max(k * (n - k), 0.0) / n + z * z / 4)
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def hpd(a: float, b: float, level: float) -> Interval:
    """The narrowest interval that holds `level` of a Beta(a, b) distribution.

    Where the density falls or rises throughout, it starts at that end; where it rises at both (a, b < 1), it is
    the equal-tailed one. Else both ends have the same density: `f(lo) = f(hi)`, `F(hi) - F(lo) = level`.
    """
    if a < 1 and b < 1:
        tail = (1 - level) / 2
        return float(betaincinv(a, b, tail)), float(betaincinv(a, b, 1 - tail))
    if a <= 1:
        return 0.0, float(betaincinv(a, b, level))
    if b <= 1:
        return float(betaincinv(a, b, 1 - level)), 1.0

    def upper(lo: float) -> float:
        return float(betaincinv(a, b, min(betainc(a, b, lo) + level, 1.0)))

    def slope(lo: float) -> float:
        hi = upper(lo)
        return float((a - 1) * np.log(hi / lo) + (b - 1) * (np.log1p(-hi) - np.log1p(-lo)))

    low, high = 0.0, float(betaincinv(a, b, 1 - level))
    # At the ends of the bracket a density is zero: one side is infinitely less dense than the other.
    lo = float(brentq(slope, low + high * 1e-9, high * (1 - 1e-12), xtol=1e-12))
    return lo, upper(lo)


@lru_cache(maxsize=100_000)
def ahpd(n: float, k: float, level: float) -> Interval:
    """Adaptive HPD (Marchesin and Silvello, SIGMOD 2025): the narrowest among the priors 1/3, 1/2 and 1."""
    found = [hpd(k + c, max(n - k, 0.0) + c, level) for c in PRIORS]
    return min(found, key=lambda ends: ends[1] - ends[0])


def fixed_width(n: float, k: float, margin: float, shrink: float, z: float) -> tuple[bool, Interval]:
    """The fixed-width sequential interval of Frey (The American Statistician 2010).

    With the adjusted proportion `p = (k + a) / (n + 2a)`, stop when `z^2 * p * (1 - p) / n <= margin^2` and report
    `p +- margin`. For each a, the least z is found by exact recursion over (n, k) such that the coverage, stopping
    included, is nowhere below the level.

    Returns:
        Whether to stop, and the interval as it would be reported.
    """
    p = (k + shrink) / (n + 2 * shrink)
    half = margin if n <= 0 else max(margin, z * float(np.sqrt(p * (1 - p) / n)))
    return n > 0 and half <= margin, (max(0.0, p - half), min(1.0, p + half))


def betting(n: int, k: int, size: float, level: float) -> Interval:
    """A confidence sequence for draws without replacement (Waudby-Smith and Ramdas, NeurIPS 2020, JRSSB 2023).

    Against each number K of true beliefs among `size` a bettor stakes on the next answer at odds that K would make
    fair, in the proportions of the Beta(1/2, 1/2) forecast from the answers before. Its wealth is the ratio of the
    two forecasts of all answers,

    `W(K) = B(k + 1/2, n - k + 1/2) / B(1/2, 1/2) * [size]_n / ([K]_k [size - K]_(n-k))`

    with falling factorials `[x]_j`; it is a martingale if K is the truth and so passes `1 / (1 - level)` ever with
    probability at most 1 - level (Ville). The interval is every K whose bettor never got so rich now; it holds at
    all times at once. An infinite size gives draws with replacement.
    """
    if n == 0:
        return 0.0, 1.0
    bound = -np.log1p(-level) - float(betaln(k + 0.5, n - k + 0.5) - betaln(0.5, 0.5))
    if np.isinf(size):
        return _betting_infinite(n, k, bound)
    bound -= float(gammaln(size + 1) - gammaln(size - n + 1))

    def poor(count: float) -> bool:
        log_likelihood = (
            gammaln(count + 1) - gammaln(count - k + 1)
            + gammaln(size - count + 1) - gammaln(size - count - (n - k) + 1)
        )
        return bool(-log_likelihood < bound)

    least, most = k, int(size) - (n - k)
    likeliest = min(max(round(k / n * size), least), most)
    return _edge(poor, likeliest, least) / size, _edge(poor, likeliest, most) / size


def _edge(inside: Callable[[int], bool], start: int, end: int) -> int:
    """The last number between start and end, on the way from the one to the other, that is inside."""
    step = 1 if end >= start else -1
    low, high = 0, abs(end - start)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if inside(start + step * middle) else (low, middle - 1)
    return start + step * low


def _betting_infinite(n: int, k: int, bound: float) -> Interval:
    def wealth(p: float) -> float:
        return float(-(k * np.log(p) + (n - k) * np.log1p(-p)) - bound)

    tiny, likeliest = 1e-12, k / n
    lo = 0.0 if k == 0 else float(brentq(wealth, tiny, likeliest if k < n else 1 - tiny, xtol=1e-12))
    hi = 1.0 if k == n else float(brentq(wealth, likeliest if k else tiny, 1 - tiny, xtol=1e-12))
    return lo, hi

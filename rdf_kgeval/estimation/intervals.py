"""Compute intervals for a proportion: k of n draws were true.

All but the betting interval come from a formula for one look at the data; what they keep when one stops as
soon as they are narrow is measured in benchmarks/COVERAGE.md.
"""

from collections.abc import Callable
from functools import lru_cache
from math import exp, inf, lgamma

import numpy as np

Interval = tuple[float, float]

PRIORS = (1 / 3, 1 / 2, 1.0)
"""The symmetric Beta priors (Kerman, Jeffreys, uniform) among which adaptive HPD chooses."""


def quantile(level: float) -> float:
    """Return the standard normal's two-sided quantile."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + level / 2))


def wilson(n: float, k: float, level: float) -> Interval:
    """Compute the score interval of Wilson (JASA 1927).

    `(k + z^2/2 +- z * sqrt(k * (n - k) / n + z^2/4)) / (n + z^2)`; n and k need not be whole, so that a
    design's effective size can stand in for the number of draws.
    """
    if n <= 0:
        return 0.0, 1.0
    z = quantile(level)
    centre = (k + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * np.sqrt(max(k * (n - k), 0.0) / n + z * z / 4)
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def hpd(a: float, b: float, level: float) -> Interval:
    """Find the narrowest interval that holds `level` of a Beta(a, b) distribution.

    Where the density falls or rises throughout, it starts at that end; where it rises at both (a, b < 1), it
    is the equal-tailed one. Else both ends have the same density: `f(lo) = f(hi)`, `F(hi) - F(lo) = level`.
    """
    from scipy.special import betainc, betaincinv

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

    last = float(betaincinv(a, b, 1 - level))
    # At 0 and 1 the density is zero, but where a or b hardly exceeds 1 it falls only just before.
    bottom, top = last * 1e-9, last * (1 - 1e-12)
    if slope(bottom) <= 0:
        return 0.0, upper(0.0)
    if slope(top) >= 0:
        return last, 1.0
    from scipy.optimize import brentq  # which takes longer to load than all the rest here

    lo = float(brentq(slope, bottom, top, xtol=1e-12))
    return lo, upper(lo)


@lru_cache(maxsize=100_000)
def ahpd(n: float, k: float, level: float) -> Interval:
    """Return the adaptive HPD interval (Marchesin, Silvello, SIGMOD 2025): the narrowest of all `PRIORS`."""
    found = [hpd(k + c, max(n - k, 0.0) + c, level) for c in PRIORS]
    return min(found, key=lambda ends: ends[1] - ends[0])


def adjusted_wald(n: float, k: float, shrink: float, z: float) -> Interval:
    """Compute the interval of Frey's fixed-width sequential design (The American Statistician 2010).

    With the adjusted proportion `p = (k + a) / (n + 2a)` it is `p +- z * sqrt(p * (1 - p) / n)`, not cut to
    [0, 1]. The design stops when its half-width is at most the margin and reports `p +- margin`. For each a,
    the least z is found by exact recursion over (n, k) such that the coverage, stopping included, is nowhere
    below the level.
    """
    if n <= 0:
        return 0.0, 1.0
    p = (k + shrink) / (n + 2 * shrink)
    half = z * float(np.sqrt(p * (1 - p) / n))
    return p - half, p + half


def betting(n: int, k: int, size: float, level: float, margin: float = 0.05) -> Interval:
    """Compute a confidence sequence without replacement (Waudby-Smith, Ramdas, NeurIPS 2020, JRSSB 2023).

    Against each number K of true beliefs among `size`, bettors stake on every answer at odds that K would
    make fair, one as if the number were J: its wealth after k of n true answers is `L(J) / L(K)` with the
    likelihood `L(K) = [K]_k [size - K]_(n-k) / [size]_n` in falling factorials `[x]_j`. A tenth of the money
    goes to J ~ Beta-binomial(1/2, 1/2), whose average of L is `B(k + 1/2, n - k + 1/2) / B(1/2, 1/2)`: it
    wins in the end whatever the truth. The rest goes to `J = K +- margin * size`, which win soonest when that
    is how far off K is. If K is the truth the wealth is a martingale and ever exceeds `1 / (1 - level)` with
    probability at most 1 - level (Ville), so the interval of all K whose bettors are not that rich holds at
    all times at once. An infinite size means draws with replacement.
    """
    from scipy.special import betaln

    if n == 0:
        return 0.0, 1.0
    size = int(min(size, _INFINITE))
    far = round(margin * size)
    mixed = float(betaln(k + 0.5, n - k + 0.5) - betaln(0.5, 0.5)) + lgamma(size + 1) - lgamma(size - n + 1)

    def likelihood(count: int) -> float:
        if count < k or size - count < n - k:
            return -inf
        true, false = lgamma(count + 1), lgamma(size - count + 1)
        return true - lgamma(count - k + 1) + false - lgamma(size - count - (n - k) + 1)

    def poor(count: int, other: int) -> bool:
        """Return whether the bettors on numbers nearer to the answers are poor; wealth grows outwards."""
        against = likelihood(count)
        wealth = 0.1 * exp(min(mixed - against, 50.0))
        return wealth + 0.45 * exp(min(likelihood(other) - against, 50.0)) < 1 / (1 - level)

    least, most = k, size - (n - k)
    likeliest = min(max(round(k / n * size), least), most)
    low = _edge(lambda count: poor(count, min(count + far, size)), likeliest, least)
    high = _edge(lambda count: poor(count, max(count - far, 0)), likeliest, most)
    return low / size, high / size


_INFINITE = 1e7
"""A population as good as infinite, whose factorials still have enough digits."""


def _edge(inside: Callable[[int], bool], start: int, end: int) -> int:
    """Find the last number inside, on the way from start to end."""
    step = 1 if end >= start else -1
    low, high = 0, abs(end - start)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if inside(start + step * middle) else (low, middle - 1)
    return start + step * low

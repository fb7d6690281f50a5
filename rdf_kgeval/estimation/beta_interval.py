"""Place intervals of a fixed width under a Beta posterior, and decide when they hold enough of it.

A posterior with mean M and variance V is taken as the Beta distribution with these moments, of precision `nu
= M * (1 - M) / V - 1` (its two parameters' sum). Stopping when the best interval of width `2 * margin` holds
a mass of it is, for each mean, a least precision: a table of it makes the check an interpolation.
"""

import math
from functools import lru_cache

import numpy as np

from rdf_kgeval.common.types import Float64s
from rdf_kgeval.estimation.intervals import Interval

STEPS = 1000
"""Means at which the least precision is tabulated."""


def best_start(a: float, b: float, width: float) -> float:
    """Find the start of the interval of this width that holds most of Beta(a, b): its ends are as dense."""
    low, high = 0.0, 1.0 - width
    for _ in range(50):
        x = (low + high) / 2
        # Python's logarithm of 0 raises an error.
        near = math.log(x) if x > 0.0 else -math.inf
        far = math.log1p(-x - width) if x + width < 1.0 else -math.inf
        rise = (a - 1) * (math.log(x + width) - near)
        fall = (b - 1) * (math.log1p(-x) - far)
        if rise > fall:
            low = x
        else:
            high = x
    return (low + high) / 2


def best_starts(a: Float64s, b: Float64s, width: float) -> Float64s:
    """Find the starts for many distributions."""
    low, high = np.zeros(len(a)), np.full(len(a), 1.0 - width)
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(50):
            x = (low + high) / 2
            rise = (a - 1) * (np.log(x + width) - np.log(x))
            fall = (b - 1) * (np.log1p(-x) - np.log1p(-np.minimum(x + width, 1.0)))
            low, high = np.where(rise > fall, x, low), np.where(rise > fall, high, x)
    return np.asarray((low + high) / 2)


def best_mass(a: Float64s, b: Float64s, width: float) -> Float64s:
    """Return the share of Beta(a, b) that the best interval of this width holds."""
    from scipy.special import betainc

    start = best_starts(a, b, width)
    held: Float64s = betainc(a, b, np.minimum(start + width, 1.0)) - betainc(a, b, start)
    return held


@lru_cache(maxsize=256)
def least_precision(margin: float, mass: float) -> Float64s:
    """Tabulate the least precision at which the best interval holds the mass, for means from 0 to 1."""
    mean = np.clip(np.linspace(0.0, 1.0, STEPS + 1), 1e-9, 1 - 1e-9)
    low, high = np.full(STEPS + 1, 2.0), np.full(STEPS + 1, 100.0 + 12.0 / margin**2)
    for _ in range(50):
        nu = (low + high) / 2
        enough = best_mass(mean * nu, (1 - mean) * nu, 2 * margin) >= mass
        high, low = np.where(enough, nu, high), np.where(enough, low, nu)
    high.setflags(write=False)
    return high


def precise(mean: float, variance: float, shrink: float, table: Float64s) -> bool:
    """Return whether a posterior of these moments, shrunk by pseudo-counts, is precise enough."""
    if variance <= 0.0:
        return True
    nu = mean * (1 - mean) / variance - 1
    if nu <= 0.0:
        return False
    x = (mean * nu + shrink) / (nu + 2 * shrink) * (table.size - 1)
    i = min(int(x), table.size - 2)
    return bool(nu + 2 * shrink >= table[i] * (i + 1 - x) + table[i + 1] * (x - i))


def best_interval(mean: float, variance: float, shrink: float, mass: float, margin: float | None) -> Interval:
    """Find the interval of this margin that holds most of a posterior, or the narrowest that holds the mass.

    Args:
        mean: of the posterior.
        variance: of the posterior.
        shrink: pseudo-counts on either side by which the posterior is shrunk.
        mass: what the interval must hold where there is no margin.
        margin: half the width.
    """
    nu = max(mean * (1 - mean) / max(variance, 1e-12) - 1, 1e-3)
    a, b = mean * nu + shrink, (1 - mean) * nu + shrink
    width = 2 * (half_width(a, b, mass) if margin is None else margin)
    start = best_start(a, b, width)
    return start, start + width


def half_width(a: float, b: float, mass: float) -> float:
    """Find half the width of the narrowest interval that holds the mass of Beta(a, b)."""
    from scipy.special import betainc

    low, high = 0.0, 0.5
    for _ in range(24):
        half = (low + high) / 2
        start = best_start(a, b, 2 * half)
        held = betainc(a, b, min(start + 2 * half, 1.0)) - betainc(a, b, start)
        low, high = (low, half) if held >= mass else (half, high)
    return high

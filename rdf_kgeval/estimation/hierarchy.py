"""Model strata that differ, but not without limit: the hierarchical Beta model.

Stratum h of N_h beliefs has accuracy theta_h ~ Beta(mu * kappa, (1 - mu) * kappa). The mean mu and the
likeness kappa of the strata are unknown: a grid over both carries their posterior exactly, since the answers
of a stratum enter it by the Beta-binomial forecast `(mu * kappa + k_h) / (kappa + n_h)` of each next answer.
Given a point of the grid, the number of true beliefs in a stratum has, after k of n true ones and with R = N
- n left,

`mean = k + R * e`, `variance = R * e * (1 - e) * (S + R) / (S + 1)`, `e = (mu * kappa + k) / S`, `S = kappa +
n`

so that what is fully labelled is known exactly. Gelman et al., Bayesian Data Analysis, chapter 5; finite
populations: Ericson (JRSSB 1969).
"""

from dataclasses import dataclass

import numpy as np

from rdf_kgeval.common.types import Float64s, Int64s

KAPPAS = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Likeness of the strata, in answers that the others are worth: from 2, where around a mean of one half any
accuracy is as likely as another, to 64, where they hardly differ."""
MEANS = 24
"""Grid points for the mean, equally spaced in the arcsine scale, where a proportion's error is even."""

ENDLESS = 1e6
"""Times its size, a stratum is as good as infinite."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Points (mu, kappa) as parameters of Beta, and their prior weights."""

    a: Float64s
    b: Float64s
    weight: Float64s


def make_grid() -> Grid:
    """Make the grid of all hierarchical estimates: every kappa and every mean is as likely as any other."""
    angle = np.pi * (np.arange(MEANS) + 0.5) / (2 * MEANS)
    kappa, mu = (x.ravel() for x in np.meshgrid(KAPPAS, np.sin(angle) ** 2, indexing="ij"))
    # What an equal step of the angle spans in the mean.
    weight = np.sqrt(mu * (1 - mu))
    return Grid(mu * kappa, (1 - mu) * kappa, weight / weight.sum())


GRID = make_grid()


def begin(
    a: Float64s, b: Float64s, prior: Float64s, size: Float64s, weight: Float64s, mean: Float64s, var: Float64s
) -> None:
    """Set the grid's weights, and the mean and variance of the number of true beliefs at each point."""
    s = a + b
    e = a / s
    weight[:] = prior
    mean[:], var[:] = 0.0, 0.0
    for h in range(size.size):
        mean += size[h] * e
        var += size[h] * e * (1 - e) * (s + size[h]) / (s + 1)


def observe(
    h: int,
    answer: int,
    a: Float64s,
    b: Float64s,
    size: Float64s,
    n: Int64s,
    k: Int64s,
    weight: Float64s,
    mean: Float64s,
    var: Float64s,
) -> tuple[float, float]:
    """Take in an answer from stratum h. Returns posterior mean and variance of the number of true beliefs."""
    left = size[h] - n[h]
    s = a + b + n[h]
    e = (a + k[h]) / s
    weight *= e if answer == 1 else 1 - e
    weight /= weight.sum()
    e1 = (a + k[h] + answer) / (s + 1)
    mean += answer + (left - 1) * e1 - left * e
    var += (left - 1) * e1 * (1 - e1) * (s + left) / (s + 2) - left * e * (1 - e) * (s + left) / (s + 1)
    n[h] += 1
    k[h] += answer
    middle = (weight * mean).sum()
    off = mean - middle
    return middle, (weight * (var + off * off)).sum()


def doubts(a: Float64s, b: Float64s, weight: Float64s, n: Int64s, k: Int64s, doubt: Float64s) -> None:
    """Set each stratum's doubt, the variance of one more answer: the mean of theta * (1 - theta)."""
    for h in range(n.size):
        s = a + b + n[h]
        e = (a + k[h]) / s
        doubt[h] = (weight * e * (1 - e) * s / (s + 1)).sum()


def posterior(grid: Grid, n: Float64s, k: Float64s) -> Float64s:
    """Return the grid's weights after k of n answers were true in each stratum, all at once."""
    from scipy.special import betaln

    a, b = grid.a[:, None], grid.b[:, None]
    seen = n > 0
    log = np.log(grid.weight) + (betaln(a + k[seen], b + (n - k)[seen]) - betaln(a, b)).sum(axis=1)
    weight: Float64s = np.exp(log - log.max())
    weight /= weight.sum()
    return weight


def posterior_moments(
    grid: Grid, weight: Float64s, size: Float64s, n: Float64s, k: Float64s, first: Int64s
) -> tuple[Float64s, Float64s]:
    """Return the posterior mean and variance of the number of true beliefs in groups of cells.

    The cells of a group follow one another; `first` is each group's first one.
    """
    s = (grid.a + grid.b)[:, None] + n
    e = (grid.a[:, None] + k) / s
    left = size - n
    mean = np.add.reduceat(k + left * e, first, axis=1)
    var = np.add.reduceat(left * e * (1 - e) * (s + left) / (s + 1), first, axis=1)
    middle = weight @ mean
    return middle, weight @ (var + (mean - middle) ** 2)

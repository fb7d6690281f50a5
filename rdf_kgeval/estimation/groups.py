"""Estimate groups of beliefs (predicates, classes, results of a query) from a sample drawn by strata."""

import numpy as np

from rdf_kgeval.common.types import Float64s, Int8s, Int64s
from rdf_kgeval.estimation.design import ErrorRates, Estimate
from rdf_kgeval.estimation.hierarchy import ENDLESS, GRID, posterior, posterior_moments
from rdf_kgeval.estimation.population import Population
from rdf_kgeval.verdicts.log import AMBIGUOUS, TRUE


def estimate_groups(
    population: Population,
    group: Int64s,
    stratum: Int64s,
    asked: Int64s,
    answers: Int8s,
    level: float,
    error: ErrorRates,
    intervals: bool = True,
) -> list[Estimate]:
    """Return the posterior mean and interval of each group's accuracy under the hierarchical Beta model.

    What a group has of a stratum is a cell: within it every belief was as likely to be drawn as any other, so
    its answers tell of the rest of it. The cells share the model's mean and likeness. The number of true
    beliefs among the unlabelled is given a Beta distribution with its posterior moments, whose equal-tailed
    interval is rounded outward to whole beliefs; fully labelled groups are exact. Ambiguous answers count as
    false at the lower end and as true at the upper one.

    Args:
        population: The beliefs.
        group: Each belief's group from 0 on, or -1.
        stratum: Each belief's stratum.
        asked: Positions of the sampled beliefs, in any order.
        answers: The answers on them.
        level: The share of groups whose interval is to hold the truth.
        error: How often verdicts are wrong.
        intervals: Whether the design allows intervals for groups.
    """
    groups = int(group.max(initial=-1)) + 1
    if not groups:
        return []
    asked, first = np.unique(asked, return_index=True)
    answers = answers[first]
    inside = group[asked] >= 0
    asked, answers = asked[inside], answers[inside]
    known = np.bincount(group[(population.known >= 0) & (group >= 0)], minlength=groups)
    known_true = np.bincount(group[(population.known == 1) & (group >= 0)], minlength=groups)
    free = np.flatnonzero((population.weights > 0) & (group >= 0))
    codes = group * (int(stratum.max(initial=0)) + 1) + stratum
    cells, at = np.unique(codes[free], return_inverse=True)
    size = np.bincount(at, population.weights[free], minlength=len(cells)).astype(np.float64)
    of = cells // (int(stratum.max(initial=0)) + 1)
    cell = np.searchsorted(cells, codes[asked])
    n = np.bincount(cell, minlength=len(cells)).astype(np.float64)
    cases = (answers == TRUE, (answers == TRUE) | (answers == AMBIGUOUS))
    true = [np.bincount(cell, case, minlength=len(cells)).astype(np.float64) for case in cases]
    found = [_shares(size, n, k, of, groups, level, error) for k in true]
    share = (found[0][0] + found[1][0]) / 2
    ends = np.array([found[0][1], found[1][2]])
    sampled = np.bincount(of, size, minlength=groups)
    total = known + sampled
    with np.errstate(invalid="ignore"):
        accuracy = (known_true + sampled * share) / total
        low, high = (known_true + sampled * ends) / total
    return [
        Estimate(float(accuracy[g]), (float(low[g]), float(high[g])) if intervals and total[g] else None)
        for g in range(groups)
    ]


def _shares(
    size: Float64s, n: Float64s, k: Float64s, of: Int64s, groups: int, level: float, error: ErrorRates
) -> tuple[Float64s, Float64s, Float64s]:
    """Return each group's share of true beliefs among those to sample, and the ends of its interval."""
    from scipy.special import betaincinv

    share, low, high = (np.zeros(groups) for _ in range(3))
    if not len(size):
        return share, low, high
    used, first = np.unique(of, return_index=True)
    many = size * (ENDLESS if error else 1.0)
    mean, var = posterior_moments(GRID, posterior(GRID, n, k), many, n, k, first)
    true, labelled, whole = (np.add.reduceat(x, first) for x in (k, n, many))
    left = whole - labelled
    safe = np.maximum(left, 1.0)
    p = np.clip((mean - true) / safe, 1e-9, 1 - 1e-9)
    nu = np.maximum(p * (1 - p) * safe**2 / np.maximum(var, 1e-12) - 1, 1e-3)
    tail = (1 - level) / 2
    lo, hi = (betaincinv(p * nu, (1 - p) * nu, q) for q in (tail, 1 - tail))
    if not error:
        lo, hi = np.floor(lo * left + 1e-9) / safe, np.ceil(hi * left - 1e-9) / safe
    for target, x in ((share, p), (low, lo), (high, hi)):
        corrected = ((true + left * np.where(left > 0, x, 0.0)) / whole - error.alarm) / error.kept
        target[used] = np.clip(corrected, 0.0, 1.0)
    return share, low, high

"""Find the constants in rdf_kgeval/estimation/calibration.py from synthetic labels: no real label is read.

    python benchmarks/calibrate.py shape         how z varies with the estimate, by exact recursion
    python benchmarks/calibrate.py fixed-width   pseudo-counts and z of srs/fixed-width, by exact recursion
    python benchmarks/calibrate.py stratified    z of stratified/bayes by margin and level, by simulation
    python benchmarks/calibrate.py assisted      the same for assisted/difference
"""

import argparse
import time

import numba
import numpy as np
from scipy.special import ndtri
from sweep import compiled

from rdf_kgeval.estimation.window import best_mass, best_starts

MARGIN, LEVEL = 0.05, 0.95
KNOTS = np.array([0.0, 0.4, 1.0, 1.6, 2.4, 4.0, 10.0])
POINTS = np.concatenate([np.arange(0.55, 0.85, 0.01), np.arange(0.85, 0.9951, 0.0025)])
POOLED = np.isclose(POINTS * 100, np.round(POINTS * 100), atol=1e-6)
"""Points in steps of 0.01, over which the coverage is pooled and the labels are judged."""


def windows(shrink: float, margin: float, most: int) -> tuple[np.ndarray, np.ndarray]:
    """For k of n true answers of a simple random sample: the normal quantile of the best window's mass, its start."""
    z, start = np.zeros((most + 1, most + 1)), np.zeros((most + 1, most + 1))
    for n in range(1, most + 1):
        k = np.arange(n + 1.0)
        a, b = k + shrink, n - k + shrink
        z[n, : n + 1] = ndtri(0.5 + np.clip(best_mass(a, b, 2 * margin), 0, 1 - 1e-14) / 2)
        start[n, : n + 1] = best_starts(a, b, 2 * margin)
    return z, start


@compiled
def coverage(p, z, start, margin, shrink, knots, factors, level_z):
    """Coverage and expected labels at each accuracy, exactly, if one stops where z exceeds the shape's."""
    most = z.shape[0] - 1
    chance, grown = np.zeros((p.size, most + 2)), np.zeros((p.size, most + 2))
    chance[:, 0] = 1.0
    covered, labels = np.zeros(p.size), np.zeros(p.size)
    for n in range(1, most + 1):
        for i in range(p.size):
            grown[i, 0] = chance[i, 0] * (1 - p[i])
            for k in range(1, n + 1):
                grown[i, k] = chance[i, k] * (1 - p[i]) + chance[i, k - 1] * p[i]
        chance, grown = grown, chance
        for k in range(n + 1):
            mean = (k + shrink) / (n + 2 * shrink)
            u = min(mean, 1 - mean) / margin
            if n == most or z[n, k] >= level_z * np.interp(u, knots, factors):
                low, high = start[n, k] - 1e-9, start[n, k] + 2 * margin + 1e-9
                for i in range(p.size):
                    q = chance[i, k]
                    labels[i] += n * q
                    if low <= p[i] <= high:
                        covered[i] += q
                    chance[i, k] = 0.0
    return covered, labels


def search(shrink, least, pooled, rounds, seed=0):
    """Factors that need the fewest labels while no accuracy covers less than `least` and all together `pooled`."""
    z, start = windows(shrink, MARGIN, 560)
    level_z = ndtri(0.5 + LEVEL / 2)
    rng = np.random.default_rng(seed)

    def judge(factors):
        covered, labels = coverage(POINTS, z, start, MARGIN, shrink, KNOTS, factors, level_z)
        short = max(0.0, least - covered.min()) + max(0.0, pooled - covered[POOLED].mean())
        return np.log(labels[POOLED]).mean() + 60 * short, covered, labels

    factors = np.full(len(KNOTS), 1.05)
    best = judge(factors)
    step = 0.06
    for i in range(rounds):
        tried = factors + rng.normal(size=len(KNOTS)) * step * (rng.random(len(KNOTS)) < 0.4)
        found = judge(tried)
        if found[0] < best[0]:
            factors, best = tried, found
        step = 0.06 * (1 - i / rounds) + 0.005
    return factors, best

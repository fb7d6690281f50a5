"""Find the constants in rdf_kgeval/estimation/calibration.py from synthetic labels: no real label is read.

python benchmarks/calibrate.py shape         how z varies with the estimate, by exact recursion
python benchmarks/calibrate.py fixed-width   pseudo-counts and z of srs/fixed-width, by exact recursion
python benchmarks/calibrate.py stratified    z of stratified/bayes by margin and level, by simulation
"""

import argparse
from functools import partial

import numpy as np
from scipy.special import ndtri
from sweep import EFFECTS, Stop, compiled, recursion, simulate_stratified, structures

from rdf_kgeval.estimation import intervals
from rdf_kgeval.estimation.calibration import LEVELS, MARGINS, SHAPE, SHRINK
from rdf_kgeval.estimation.intervals import quantile
from rdf_kgeval.estimation.window import best_mass, best_starts

MARGIN, LEVEL = 0.05, 0.95
KNOTS = np.array([0.0, 0.4, 1.0, 1.6, 2.4, 4.0, 10.0])
TARGETS = {False: (0.934, 0.952, 1.1), True: (0.951, 0.951, 1.25)}
"""What a shape must cover at least and pooled, and how much dearer than `srs/wilson` it may be, by `strict`."""
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


def search(shrink, least, pooled, dearer, rounds, seed=0):
    """Factors that need the fewest labels at accuracies from 0.85 on, compared with `srs/wilson`.

    No accuracy may cover less than `least`, all together less than `pooled`, and none may need more labels than
    `dearer` times those of `srs/wilson`. A random search with smaller and smaller steps.
    """
    z, start = windows(shrink, MARGIN, 560)
    level_z = ndtri(0.5 + LEVEL / 2)
    wilson = recursion(partial(intervals.wilson, level=LEVEL), MARGIN, POINTS, minimum=30)[0]
    rng = np.random.default_rng(seed)

    def judge(factors):
        covered, labels = coverage(POINTS, z, start, MARGIN, shrink, KNOTS, factors, level_z)
        short = max(0.0, least - covered.min()) + max(0.0, pooled - covered[POOLED].mean())
        ratio = labels / wilson
        return (
            np.log(ratio[POINTS >= 0.85]).mean() + 60 * short + 5 * max(0.0, ratio.max() - dearer),
            covered,
            labels,
        )

    factors = np.full(len(KNOTS), 1.03)
    best = judge(factors)
    for i in range(rounds):
        step = 0.06 * (1 - i / rounds) + 0.005
        tried = factors + rng.normal(size=len(KNOTS)) * step * (rng.random(len(KNOTS)) < 0.4)
        found = judge(tried)
        if found[0] < best[0]:
            factors, best = tried, found
    return factors, best


@compiled
def coverage_fixed_width(p, margin, shrink, z, most):
    """Coverage and expected labels of `srs/fixed-width` at each accuracy, exactly."""
    chance, grown = np.zeros((p.size, most + 2)), np.zeros((p.size, most + 2))
    chance[:, 0] = 1.0
    covered, labels = np.zeros(p.size), np.zeros(p.size)
    first, last = 0, 0
    for n in range(1, most + 1):
        for i in range(p.size):
            for k in range(first, last + 2):
                before = chance[i, k - 1] if k > first else 0.0
                here = chance[i, k] if k <= last else 0.0
                grown[i, k] = here * (1 - p[i]) + before * p[i]
        chance, grown = grown, chance
        last += 1
        low, high = last + 1, first - 1
        for k in range(first, last + 1):
            centre = (k + shrink) / (n + 2 * shrink)
            if n < most and z * z * centre * (1 - centre) / n > margin * margin:
                low, high = min(low, k), max(high, k)
                continue
            for i in range(p.size):
                labels[i] += n * chance[i, k]
                if centre - margin <= p[i] <= centre + margin:
                    covered[i] += chance[i, k]
        first, last = low, high
        if first > last:
            break
    return covered, labels


@compiled
def fixed_width_centres(margin, shrink, z, most):
    """The centres of all intervals that `srs/fixed-width` can report."""
    centres = [0.5]
    first, last = 0, 0
    for n in range(1, most + 1):
        last += 1
        low, high = last + 1, first - 1
        for k in range(first, last + 1):
            centre = (k + shrink) / (n + 2 * shrink)
            if n < most and z * z * centre * (1 - centre) / n > margin * margin:
                low, high = min(low, k), max(high, k)
            else:
                centres.append(centre)
        first, last = low, high
        if first > last:
            break
    return np.array(centres)


def refine(margin, level, shrink, z, most):
    """The least z, from one found on a grid of accuracies on, for which also the infimum of coverage is enough.

    Coverage falls only where an accuracy leaves an interval, so it is lowest just outside of one's end.
    """
    while True:
        centres = fixed_width_centres(margin, shrink, z, most)
        ends = np.concatenate([centres - margin - 1e-7, centres + margin + 1e-7])
        ends = np.unique(np.round(ends[(ends >= 0.5) & (ends < 1)], 7))
        if coverage_fixed_width(ends, margin, shrink, z, most)[0].min() >= level:
            return z
        z += 0.004


def calibrate_fixed_width():
    """For each margin and level the pseudo-counts and the least z that never cover less, by bisection."""
    points = np.arange(0.5, 0.9995, 0.0025)
    for margin in MARGINS:
        for level in LEVELS:
            base, found = quantile(level), []
            most = int(0.25 * (1.3 * base / margin) ** 2) + 50
            for shrink in (1.0, 1.25, 1.5, 2.0):
                low, high = base * 0.97, base * 1.3
                while high - low > 0.004:
                    z = (low + high) / 2
                    enough = coverage_fixed_width(points, margin, shrink, z, most)[0].min() >= level
                    low, high = (low, z) if enough else (z, high)
                z = np.ceil(high * 1000) / 1000
                covered, labels = coverage_fixed_width(points, margin, shrink, z, most)
                if covered.min() >= level:
                    found.append((np.log(labels[points >= 0.85]).mean(), shrink, z))
            _, shrink, z = min(found)
            z = refine(margin, level, shrink, z, most)
            print(f"{margin}: {level}: ({shrink}, {z:.3f}),", flush=True)


def calibrate_stratified(margin, kinds, seeds):
    """For each level the least z that keeps the promise, strict or not.

    The labels have no effects of predicates and subjects: where all strata are alike, adaptive allocation has
    nothing to gain and most to lose, and coverage is lowest. Coverage is the mean over the structures; since some
    lie lower, it must exceed its target by `RESERVE`.
    """
    near = np.round(1 - 2 * margin - np.array([0.001, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.08]), 4)
    points = np.unique(np.concatenate([SPARSE, near]))
    factors = np.round(np.arange(0.94, 1.2, 0.01), 2)
    cases = [(strict, level, f) for strict in kinds for level in LEVELS for f in factors]
    stops = [Stop(margin, f * quantile(level), SHRINK, SHAPE[strict]) for strict, level, f in cases]
    found = [
        simulate_stratified(s, EFFECTS["even"], points, seeds, stops, i)[2]
        for i, s in enumerate(structures())
    ]
    covered, even = np.mean(found, axis=0), np.isin(points, SPARSE)
    for strict in kinds:
        for level in LEVELS:
            reserve = RESERVE * (1 - level) / 0.05
            least = level + reserve if strict else level - 0.02 + RESERVE
            for f in factors:
                c = covered[:, cases.index((strict, level, f))]
                if c.min() >= least and c[even].mean() >= level + reserve:
                    worst = f"{c.min():.4f} at {points[c.argmin()]}, pooled {c[even].mean():.4f}"
                    print(
                        f"strict={strict} {margin}: {level}: {f * quantile(level):.3f}  # {f}, worst {worst}",
                        flush=True,
                    )
                    break
            else:
                print(f"strict={strict} {margin}: {level}: none of the factors is enough", flush=True)


RESERVE = 0.004
SPARSE = np.round(np.arange(0.55, 0.991, 0.11), 3)
"""Equally spaced accuracies over which the coverage is pooled."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["shape", "fixed-width", "stratified"])
    parser.add_argument("--margins", type=float, nargs="+", default=MARGINS)
    parser.add_argument("--strict", choices=["no", "yes", "both"], default="both")
    parser.add_argument("--seeds", type=int, default=500, help="for each structure and accuracy")
    options = parser.parse_args()
    kinds = {"no": [False], "yes": [True], "both": [False, True]}[options.strict]
    if options.what == "fixed-width":
        calibrate_fixed_width()
    elif options.what == "stratified":
        for margin in options.margins:
            calibrate_stratified(margin, kinds, options.seeds)
    else:
        for strict in kinds:
            factors, (_, covered, _) = search(1.5, *TARGETS[strict], rounds=1500)
            print(f"strict={strict} {np.round(factors, 3).tolist()} worst {covered.min():.4f}", flush=True)


if __name__ == "__main__":
    main()

"""Find the constants of the calibrated methods from synthetic labels: no real label or graph is read.

    python benchmarks/calibrate.py [prior] [stratified] [assisted] [fixed-width] [--processes 2] [--check]

prior        the prior of the hierarchical model (`KAPPAS`, `MEAN_PRIOR`) and `SHRINK`: among a few, those that need
             the fewest labels, by simulation
stratified   `FACTORS` by margin and level, by simulation
assisted     `ASSISTED_FACTORS` likewise
fixed-width  `FIXED_WIDTH`, by exact recursion

Each prints what it finds, in the form of the code; with `--check` it fails where the code has other constants.

A method's factor is the least that keeps its promise in every curve: on each generated structure and with each kind
of effects, coverage is nowhere more than 2 points below the level (if strict, nowhere below it), and on average over
the accuracies 0.55 to 0.99 at least the level. The least of so many simulated coverages lies below the least true
one, which is all the reserve there is; coverage.py judges the outcome with other seeds and on other structures.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pprint import pformat

import numpy as np
from sweep import (
    EFFECTS,
    FORECASTS,
    Stop,
    compiled,
    generated,
    recursion,
    simulate_assisted,
    simulate_stratified,
)

from rdf_kgeval.estimation import hierarchy, intervals
from rdf_kgeval.estimation.calibration import (
    ASSISTED_FACTORS,
    ASSISTED_SHRINK,
    FACTORS,
    FIXED_WIDTH,
    LEVELS,
    MARGINS,
    SHRINK,
)
from rdf_kgeval.estimation.hierarchy import make_grid
from rdf_kgeval.estimation.intervals import quantile

EVEN = np.round(np.arange(0.55, 0.991, 0.04), 2)
"""Accuracies over which coverage is pooled and labels are compared."""
TRIED = np.round(np.arange(1.0, 1.405, 0.01), 2)
"""Factors; none below 1, so that the interval of a run whose budget ends first holds the level."""
KAPPAS = ((1.0, 3.0, 9.0, 27.0, 81.0), (2.0, 4.0, 8.0, 16.0, 32.0, 64.0), (4.0, 16.0, 64.0))
MEAN_PRIORS = (0.75, 1.0, 1.25, 1.5, 2.0)
SHRINKS = (0.0, 0.25, 0.5, 1.0)


def points(margin):
    """Where coverage is simulated: evenly, and closely below 1 - 2 * margin.

    There the first interval that can stop a run, [1 - 2 * margin, 1], misses the truth.
    """
    near = 1 - 2 * margin - np.array([0.001, 0.005, 0.01, 0.02, 0.03, 0.05])
    return np.unique(np.concatenate([EVEN, np.round(near, 4)]))


def least_factor(covered, margin, level, strict):
    """The first factor whose curves, arrays (curve, point, factor), all keep the promise."""
    worst = covered.min(axis=(0, 1))
    pooled = covered[:, np.isin(points(margin), EVEN)].mean(axis=1).min(axis=0)
    kept = (worst >= (level if strict else level - 0.02)) & (pooled >= level)
    if not kept.any():
        raise SystemExit(f"no factor up to {TRIED[-1]} is enough at margin {margin} and level {level}")
    at = int(kept.argmax())
    print(
        f"margin {margin} level {level}: {TRIED[at]}, worst {worst[at]:.4f}, pooled {pooled[at]:.4f}",
        file=sys.stderr,
        flush=True,
    )
    return at


def simulate_prior(job):
    """Labels and coverage, arrays (point, shrink, factor), at the middle margin and level."""
    kappas, mean_prior, i, effect, seeds = job
    stops = [Stop(0.05, 0.95, f, shrink) for shrink in SHRINKS for f in TRIED]
    labels, _, covered = simulate_stratified(
        generated()[i], EFFECTS[effect], points(0.05), seeds, stops, i, grid=make_grid(kappas, mean_prior)
    )
    return [x.reshape(len(x), len(SHRINKS), len(TRIED)) for x in (labels, covered)]


def calibrate_prior(pool, seeds):
    """The prior and the shrinkage that need the fewest labels, with the factor that each needs for its promise.

    Labels are compared with those of `srs/wilson` by the mean of the logarithm of their ratio over structures,
    effects and accuracies 0.55 to 0.99.
    """
    wilson = recursion(partial(intervals.wilson, level=0.95), 0.05, EVEN, minimum=30)[0]
    candidates = list(product(KAPPAS, MEAN_PRIORS))
    curves = [(i, effect, seeds // 4) for i in range(len(generated())) for effect in EFFECTS]
    found = list(pool.map(simulate_prior, [(*c, *curve) for c in candidates for curve in curves]))
    scores = {}
    for n, (kappas, mean_prior) in enumerate(candidates):
        labels, covered = (
            np.array(x) for x in zip(*found[n * len(curves) : (n + 1) * len(curves)], strict=True)
        )
        for s, shrink in enumerate(SHRINKS):
            at = least_factor(covered[:, :, s], 0.05, 0.95, False)
            needed = labels[:, np.isin(points(0.05), EVEN), s, at]
            scores[kappas, mean_prior, shrink] = float(np.log(needed / wilson).mean())
            print(kappas, mean_prior, shrink, round(scores[kappas, mean_prior, shrink], 4), flush=True)
    kappas, mean_prior, shrink = min(scores, key=scores.__getitem__)
    return {"KAPPAS": kappas, "MEAN_PRIOR": mean_prior, "SHRINK": shrink}


def simulate_factors(job):
    """Coverage of `stratified/bayes`, an array (point, level, factor)."""
    margin, i, effect, by_predicate, seeds = job
    stops = [Stop(margin, level, f, SHRINK) for level in LEVELS for f in TRIED]
    covered = simulate_stratified(
        generated()[i], EFFECTS[effect], points(margin), seeds, stops, i, by_predicate
    )[2]
    return covered.reshape(len(covered), len(LEVELS), len(TRIED))


def calibrate_stratified(pool, seeds):
    """`FACTORS`, for either objective and strict."""
    found = {kind: {} for kind in FACTORS}
    for margin, by_predicate in product(MARGINS, (False, True)):
        jobs = [
            (margin, i, effect, by_predicate, seeds) for i in range(len(generated())) for effect in EFFECTS
        ]
        covered = np.array(list(pool.map(simulate_factors, jobs)))
        for kind in ("predicate",) if by_predicate else ("overall", "strict"):
            found[kind][margin] = {
                level: float(TRIED[least_factor(covered[:, :, v], margin, level, kind == "strict")])
                for v, level in enumerate(LEVELS)
            }
    return {"FACTORS": found}


def simulate_forecasts(job):
    """Coverage of `assisted/difference`, an array (point, level, factor)."""
    margin, i, forecast, seeds = job
    stops = [Stop(margin, level, f, ASSISTED_SHRINK) for level in LEVELS for f in TRIED]
    covered = simulate_assisted(
        generated()[i], EFFECTS["mild"], points(margin), seeds, stops, i, FORECASTS[forecast]
    )[2]
    return covered.reshape(len(covered), len(LEVELS), len(TRIED))


def calibrate_assisted(pool, seeds):
    """`ASSISTED_FACTORS`, over forecasts of every kind."""
    found = {}
    for margin in MARGINS:
        jobs = [(margin, i, forecast, seeds) for i in range(len(generated())) for forecast in FORECASTS]
        covered = np.array(list(pool.map(simulate_forecasts, jobs)))
        found[margin] = {
            level: float(TRIED[least_factor(covered[:, :, v], margin, level, False)])
            for v, level in enumerate(LEVELS)
        }
    return {"ASSISTED_FACTORS": found}


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


def fixed_width(job):
    """The pseudo-counts and the least z that never cover less, by bisection."""
    margin, level = job
    accuracies = np.arange(0.5, 0.9995, 0.0025)
    base, found = quantile(level), []
    most = int(0.25 * (1.3 * base / margin) ** 2) + 50
    for shrink in (1.0, 1.25, 1.5, 2.0):
        low, high = base * 0.97, base * 1.3
        while high - low > 0.004:
            z = (low + high) / 2
            enough = coverage_fixed_width(accuracies, margin, shrink, z, most)[0].min() >= level
            low, high = (low, z) if enough else (z, high)
        z = np.ceil(high * 1000) / 1000
        covered, labels = coverage_fixed_width(accuracies, margin, shrink, z, most)
        if covered.min() >= level:
            found.append((np.log(labels[(accuracies >= 0.55) & (accuracies <= 0.99)]).mean(), shrink, z))
    _, shrink, z = min(found)
    return shrink, round(float(refine(margin, level, shrink, z, most)), 3)


def calibrate_fixed_width(pool, _seeds):
    """`FIXED_WIDTH`: the pseudo-counts that need the fewest labels over accuracies 0.55 to 0.99."""
    grid = list(product(MARGINS, LEVELS))
    found = dict(zip(grid, pool.map(fixed_width, grid), strict=True))
    return {"FIXED_WIDTH": {margin: {level: found[margin, level] for level in LEVELS} for margin in MARGINS}}


PARTS = {
    "prior": calibrate_prior,
    "stratified": calibrate_stratified,
    "assisted": calibrate_assisted,
    "fixed-width": calibrate_fixed_width,
}
CODE = {
    "KAPPAS": hierarchy.KAPPAS,
    "MEAN_PRIOR": hierarchy.MEAN_PRIOR,
    "SHRINK": SHRINK,
    "FACTORS": FACTORS,
    "ASSISTED_FACTORS": ASSISTED_FACTORS,
    "FIXED_WIDTH": FIXED_WIDTH,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--seeds", type=int, default=8000, help="for each curve and accuracy; the code's: 8000"
    )
    parser.add_argument("--check", action="store_true", help="fail where the code has other constants")
    options = parser.parse_args()
    other = []
    with ProcessPoolExecutor(options.processes) as pool:
        for part in options.parts:
            for name, value in PARTS[part](pool, options.seeds).items():
                print(f"{name} = {pformat(value, sort_dicts=False, width=100)}", flush=True)
                other += [name] if value != CODE[name] else []
    if options.check and other:
        sys.exit(f"the code has other constants: {', '.join(other)}")


if __name__ == "__main__":
    main()

"""Find the constants in rdf_kgeval/estimation/calibration.py from synthetic labels: no real label or graph is read.

    python benchmarks/calibrate.py [stratified] [assisted] [fixed-width] [--processes 2] [--check]

stratified   `FACTORS` by margin and level, by simulation
assisted     `ASSISTED_FACTORS` likewise
fixed-width  `FIXED_WIDTH`, by exact recursion

Each prints what it finds, in the form of the code; with `--check` it fails where the code has other constants.

A method's factor is the least that keeps its promise in every curve: on each generated structure and with each kind
of effects, coverage is nowhere more than 2 points below the level (if strict, nowhere below it), and on average over
the accuracies 0.55 to 0.99 at least the level. The least of so many simulated coverages lies below the least true
one, which is all the reserve there is; intervals.py judges the outcome with other seeds and on other structures.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pprint import pformat

import numpy as np
from sweep import (
    EFFECTS,
    FORECASTS,
    Stop,
    compiled,
    generated,
    simulate_assisted,
    simulate_stratified,
)

from rdf_kgeval.estimation.calibration import ASSISTED_FACTORS, FACTORS, FIXED_WIDTH, LEVELS, MARGINS
from rdf_kgeval.estimation.intervals import quantile

EVEN = np.round(np.arange(0.55, 0.991, 0.055), 3)
"""Accuracies over which coverage is pooled."""
TRIED = np.round(np.arange(1.0, 1.205, 0.01), 2)
"""Factors; none below 1, so that the interval of a run whose budget ends first holds the level."""
SEEDS = 4000
"""For each curve and accuracy, when the constants in the code were found."""


def points(margin):
    """Where coverage is simulated: evenly, and closely below 1 - 2 * margin.

    There the first interval that can stop a run, [1 - 2 * margin, 1], misses the truth.
    """
    near = 1 - 2 * margin - np.array([0.001, 0.005, 0.01, 0.03])
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


def simulate_factors(job):
    """Coverage of `stratified/bayes`, an array (point, level, factor)."""
    margin, i, effect, by_predicate, seeds = job
    stops = [Stop(margin, level, f) for level in LEVELS for f in TRIED]
    covered = simulate_stratified(
        generated()[i], EFFECTS[effect], points(margin), seeds, stops, i, by_predicate
    )[2]
    return covered.reshape(len(covered), len(LEVELS), len(TRIED))


def calibrate_stratified(pool, seeds, margins=MARGINS):
    """`FACTORS`, for either objective and strict."""
    found = {kind: {} for kind in FACTORS}
    for margin, by_predicate in product(margins, (False, True)):
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
    stops = [Stop(margin, level, f) for level in LEVELS for f in TRIED]
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
            found.append((np.log(labels[accuracies >= 0.85]).mean(), shrink, z))
    _, shrink, z = min(found)
    return shrink, round(float(refine(margin, level, shrink, z, most)), 3)


def calibrate_fixed_width(pool, _seeds):
    """`FIXED_WIDTH`: the pseudo-counts that need the fewest labels at accuracies from 0.85 on.

    That is where graphs lie: the yardstick is to be at its best there.
    """
    grid = list(product(MARGINS, LEVELS))
    found = dict(zip(grid, pool.map(fixed_width, grid), strict=True))
    return {"FIXED_WIDTH": {margin: {level: found[margin, level] for level in LEVELS} for margin in MARGINS}}


PARTS = {
    "stratified": calibrate_stratified,
    "assisted": calibrate_assisted,
    "fixed-width": calibrate_fixed_width,
}
CODE = {
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
    parser.add_argument("--seeds", type=int, default=SEEDS, help="for each curve and accuracy")
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

"""Synthetic populations, and compiled runs of the designs on them: what calibration and coverage share.

A population is the structure of a graph (each belief's predicate and subject) with labels from latent scores: a
random effect of the predicate, one of the subject and noise, none of which knows the graph's features. The beliefs
with the lowest scores are wrong, as many as make the accuracy exactly the one wanted.
"""

import csv
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from compiled import compiled, compiled_copies
from scipy.special import ndtr

from rdf_kgeval.estimation import assisted, beta_interval, hierarchy, stratified
from rdf_kgeval.estimation.beta_interval import least_precision
from rdf_kgeval.estimation.calibration import SHRINK
from rdf_kgeval.estimation.hierarchy import GRID
from rdf_kgeval.estimation.intervals import quantile
from rdf_kgeval.estimation.strata import strata_of

DATA = Path(__file__).parents[2] / "shared" / "data"
REAL = ("nell-sports", "yago2-sample")
ACCURACIES = np.round(np.arange(0.55, 0.991, 0.02), 2)
EFFECTS = {"even": (0.0, 0.0), "mild": (1.0, 0.5), "strong": (2.0, 1.0)}
"""Standard deviations of the predicates' and the subjects' effects, in units of the logistic scale."""
FORECASTS = {"none": 0.0, "helpful": 0.8, "hostile": -0.8}
"""Of what share of the beliefs inference knew the label beforehand; of the others it knew nothing."""

begin, observe, doubts, plan_draws, add_draw, weighted_moments = compiled_copies(
    hierarchy.begin,
    hierarchy.observe,
    hierarchy.doubts,
    assisted.plan_draws,
    assisted.add_draw,
    assisted.weighted_moments,
)
best_start, precise, block_length, first_block, _, next_block = compiled_copies(
    beta_interval.best_start,
    beta_interval.precise,
    stratified.block_length,
    stratified.first_block,
    stratified.gain_of,
    stratified.next_block,
)


@dataclass(frozen=True, eq=False)
class Structure:
    """A graph's beliefs, in the order of their strata."""

    name: str
    predicate: np.ndarray
    subject: np.ndarray
    gold: np.ndarray | None = None

    @property
    def stratum(self) -> np.ndarray:
        return strata_of(np.bincount(self.predicate), False)[self.predicate]


def arrange(
    name: str, predicate: np.ndarray, subject: np.ndarray, gold: np.ndarray | None = None
) -> Structure:
    order = np.argsort(strata_of(np.bincount(predicate), False)[predicate], kind="stable")
    subject = np.unique(subject, return_inverse=True)[1]
    return Structure(name, predicate[order], subject[order], None if gold is None else gold[order])


def read_real(name: str) -> Structure | None:
    """A real set's structure and gold labels, where the data are at hand; sweeps use the structure alone."""
    path = DATA / name / "gold.csv"
    if not path.exists():
        return None
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    predicate, subject = (
        np.unique([row[column] for row in rows], return_inverse=True)[1]
        for column in ("predicate", "subject")
    )
    return arrange(name, predicate, subject, np.array([int(row["label"]) for row in rows]))


def generate(name: str, sizes: np.ndarray, tail: float, seed: int = 0) -> Structure:
    """Predicates of these sizes, over subjects whose number of beliefs falls as a power (the less, the skewer)."""
    rng = np.random.default_rng(seed)
    predicate = np.repeat(np.arange(len(sizes)), sizes)
    n = len(predicate)
    cluster = np.minimum(np.ceil(rng.pareto(tail, n) + 1e-9), n // 10).astype(np.int64)
    subject = np.repeat(np.arange(n), cluster)[:n]
    return arrange(name, predicate, rng.permutation(subject))


def generated() -> list[Structure]:
    """Few and many predicates, skewed clusters, a small graph: what the constants are calibrated on."""
    return [
        generate("few", np.array([900, 600, 300, 200]), 3.0),
        generate("many", np.ceil(500 / np.arange(1, 201)).astype(np.int64), 2.0),
        generate("skewed", np.array([200] * 10), 1.05),
        generate("small", np.array([200, 100, 50, 30, 20]), 2.0),
    ]


def structures() -> list[Structure]:
    """Those of the real sets, where at hand, and the generated ones."""
    return [*(s for s in map(read_real, REAL) if s is not None), *generated()]


@compiled
def latents(rng, predicate, subject, of_predicate, of_subject):
    """A score for each belief."""
    b = rng.standard_normal(predicate.max() + 1) * of_predicate
    c = rng.standard_normal(subject.max() + 1) * of_subject
    score = np.empty(predicate.size)
    for i in range(predicate.size):
        u = rng.random()
        score[i] = b[predicate[i]] + c[subject[i]] + np.log((u + 1e-300) / (1 - u))
    return score


@compiled
def threshold(ordered, accuracy):
    """The score up to which beliefs are wrong."""
    wrong = int(np.round((1 - accuracy) * ordered.size))
    return ordered[wrong - 1] if wrong else -np.inf


@compiled
def run_stratified(label, size, a, b, prior, tables, margins, after, by_predicate, stop, low, high):
    """One run, read in the order of `label` within each stratum, through the stops by all tables.

    stop, low and high receive, for each table, the number of labels and the interval at its stop; a table cannot
    stop before the one `after` which it comes, which is laxer.
    """
    strata, total = size.size, size.sum()
    weighed = size.astype(np.float64)
    start = np.cumsum(size) - size
    weight, mean, var = np.empty(a.size), np.empty(a.size), np.empty(a.size)
    begin(a, b, prior, weighed, weight, mean, var)
    taken, n, k = np.zeros(strata, np.int64), np.zeros(strata, np.int64), np.zeros(strata, np.int64)
    doubt = np.empty(strata)
    stop[:] = 0
    left = stop.size
    drawn = 0
    while left and drawn < total:
        length = block_length(drawn, total - drawn)
        if drawn == 0 and not by_predicate:
            block = first_block(size, length)
        else:
            doubts(a, b, weight, n, k, doubt)
            block = next_block(size, taken, doubt, length, by_predicate)
        for h in block:
            answer = label[start[h] + taken[h]]
            taken[h] += 1
            drawn += 1
            middle, spread = observe(h, answer, a, b, weighed, n, k, weight, mean, var)
            middle, spread = middle / total, spread / total**2
            least, most = k.sum() / total, 1 - (drawn - k.sum()) / total
            for j in range(stop.size):
                if stop[j] or (after[j] >= 0 and stop[after[j]] == 0):
                    continue
                if most - least <= 2 * margins[j] or precise(middle, spread, SHRINK, tables[j]):
                    stop[j] = drawn
                    left -= 1
                    nu = max(middle * (1 - middle) / max(spread, 1e-12) - 1, 1e-3)
                    x = best_start(middle * nu + SHRINK, (1 - middle) * nu + SHRINK, 2 * margins[j])
                    low[j], high[j] = max(x, least), min(x + 2 * margins[j], most)
            if left == 0:
                break


@compiled
def sweep_stratified(
    seed_rng,
    predicate,
    subject,
    size,
    effects,
    accuracies,
    seeds,
    a,
    b,
    prior,
    tables,
    margins,
    after,
    by_predicate,
):
    """Labels and coverage summed over seeds: arrays (accuracy, table)."""
    labels = np.zeros((accuracies.size, margins.size))
    labels_squared, covered = np.zeros_like(labels), np.zeros_like(labels)
    stop, low, high = np.zeros(margins.size, np.int64), np.zeros(margins.size), np.zeros(margins.size)
    label = np.empty(predicate.size, np.int64)
    start = np.cumsum(size) - size
    for _ in range(seeds):
        score = latents(seed_rng, predicate, subject, effects[0], effects[1])
        ordered = np.sort(score)
        for h in range(size.size):
            part = score[start[h] : start[h] + size[h]]
            for i in range(size[h] - 1, 0, -1):
                j = int(seed_rng.random() * (i + 1))
                part[i], part[j] = part[j], part[i]
        for i in range(accuracies.size):
            bar = threshold(ordered, accuracies[i])
            for u in range(label.size):
                label[u] = score[u] > bar
            truth = label.sum() / label.size
            run_stratified(label, size, a, b, prior, tables, margins, after, by_predicate, stop, low, high)
            for j in range(margins.size):
                labels[i, j] += stop[j]
                labels_squared[i, j] += stop[j] ** 2
                covered[i, j] += low[j] - 1e-9 <= truth <= high[j] + 1e-9
    return labels, labels_squared, covered


@compiled
def run_assisted(random, label, size, a, b, prior, tables, margins, after, stop, low, high):
    """One run of `assisted/difference`, read in the order of `label` within each cell, through all stops.

    The cells are drawn by the numbers in `random`, evenly distributed over [0, 1), one for each draw.
    """
    cells, total = size.size, size.sum()
    weighed = size.astype(np.float64)
    start = np.cumsum(size) - size
    weight, mean, var = np.empty(a.size), np.empty(a.size), np.empty(a.size)
    begin(a, b, prior, weighed, weight, mean, var)
    n, k = np.zeros(cells, np.int64), np.zeros(cells, np.int64)
    forecast, chance, sums = np.zeros(cells), np.zeros(cells), np.zeros(7)
    stop[:] = 0
    left = stop.size
    drawn = 0
    while left and drawn < total:
        variance = plan_draws(a, b, weight, n, k, size - n, forecast, chance)
        precision = total * total / variance
        for _ in range(block_length(drawn, total - drawn)):
            odds, expected = 0.0, 0.0
            for h in range(cells):
                odds += chance[h] if n[h] < size[h] else 0.0
                expected += k[h] + (size[h] - n[h]) * forecast[h]
            c, passed = -1, 0.0
            while passed <= random[drawn] * odds:
                c += 1
                passed += chance[c] if n[c] < size[c] else 0.0
            answer = label[start[c] + n[c]]
            leverage = (size[c] - n[c]) * odds / (total * chance[c])
            base = expected / total
            add_draw(sums, base, answer - forecast[c], leverage, precision)
            observe(c, answer, a, b, weighed, n, k, weight, mean, var)
            drawn += 1
            middle, spread = weighted_moments(sums)
            least, most = k.sum() / total, 1 - (drawn - k.sum()) / total
            for j in range(stop.size):
                if stop[j] or (after[j] >= 0 and stop[after[j]] == 0):
                    continue
                if most - least <= 2 * margins[j] or precise(middle, spread, SHRINK, tables[j]):
                    stop[j] = drawn
                    left -= 1
                    nu = max(middle * (1 - middle) / max(spread, 1e-12) - 1, 1e-3)
                    x = best_start(middle * nu + SHRINK, (1 - middle) * nu + SHRINK, 2 * margins[j])
                    low[j], high[j] = max(x, least), min(x + 2 * margins[j], most)
            if left == 0:
                break


@compiled
def sweep_assisted(
    rng,
    predicate,
    subject,
    stratum,
    effects,
    helped,
    accuracies,
    seeds,
    a,
    b,
    prior,
    tables,
    margins,
    after,
):
    """Labels and coverage summed over seeds: arrays (accuracy, table).

    Before sampling, inference is right about a share `helped` of the beliefs, wrong about as many if it is negative,
    and silent about the others.
    """
    labels = np.zeros((accuracies.size, margins.size))
    labels_squared, covered = np.zeros_like(labels), np.zeros_like(labels)
    stop, low, high = np.zeros(margins.size, np.int64), np.zeros(margins.size), np.zeros(margins.size)
    for _ in range(seeds):
        score = latents(rng, predicate, subject, effects[0], effects[1])
        ordered = np.sort(score)
        for i in range(accuracies.size):
            right = (score > threshold(ordered, accuracies[i])).astype(np.int64)
            silent = rng.random(score.size) >= abs(helped)
            believed = np.where(silent, 1, 2 * (right if helped > 0 else 1 - right))
            cell = stratum * 3 + believed
            order = np.argsort(cell + rng.random(score.size))
            size = np.bincount(cell)
            size = size[size > 0]
            truth = right.sum() / right.size
            random = rng.random(score.size)
            run_assisted(random, right[order], size, a, b, prior, tables, margins, after, stop, low, high)
            for j in range(margins.size):
                labels[i, j] += stop[j]
                labels_squared[i, j] += stop[j] ** 2
                covered[i, j] += low[j] - 1e-9 <= truth <= high[j] + 1e-9
    return labels, labels_squared, covered


@dataclass(frozen=True)
class Stop:
    """A stopping rule of `stratified/bayes` or `assisted/difference`."""

    margin: float
    level: float
    factor: float

    @property
    def mass(self) -> float:
        return float(2 * ndtr(self.factor * quantile(self.level)) - 1)


def tabulate(stops):
    """Stopping rules as arrays; each comes after the one before it if that is the same but laxer."""
    tables = np.array([least_precision(s.margin, s.mass) for s in stops])
    after = np.full(len(stops), -1)
    for j, (one, other) in enumerate(pairwise(stops), start=1):
        if replace(one, factor=other.factor) == other and one.factor <= other.factor:
            after[j] = j - 1
    return tables, np.array([s.margin for s in stops]), after


def averages(seeds, labels, squared, covered):
    """Mean labels, their standard deviation and coverage: arrays (accuracy, stop)."""
    mean = labels / seeds
    return mean, np.sqrt(np.maximum(squared / seeds - mean**2, 0.0)), covered / seeds


def simulate_stratified(structure, effects, accuracies, seeds, stops, seed=0, by_predicate=False):
    """`stratified/bayes` with labels drawn anew for each seed."""
    stratum = strata_of(np.bincount(structure.predicate), by_predicate)[structure.predicate]
    order = np.argsort(stratum, kind="stable")
    found = sweep_stratified(
        np.random.default_rng(seed),
        structure.predicate[order],
        structure.subject[order],
        np.bincount(stratum),
        np.array(effects),
        np.asarray(accuracies),
        seeds,
        GRID.a,
        GRID.b,
        GRID.weight,
        *tabulate(stops),
        by_predicate,
    )
    return averages(seeds, *found)


def simulate_assisted(structure, effects, accuracies, seeds, stops, seed=0, helped=0.0):
    """`assisted/difference` with labels drawn anew for each seed."""
    found = sweep_assisted(
        np.random.default_rng(seed),
        structure.predicate,
        structure.subject,
        structure.stratum,
        np.array(effects),
        helped,
        np.asarray(accuracies),
        seeds,
        GRID.a,
        GRID.b,
        GRID.weight,
        *tabulate(stops),
    )
    return averages(seeds, *found)


def recursion(interval, margin, accuracies, *, minimum=1, widened=False, most=100_000):
    """Exact expected labels and coverage of a simple random sample that stops when its interval is narrow.

    The chance of having k of n true without a stop before is carried from n to n + 1. The interval is symmetric in
    true and false, so that the margin is reached where the rarer answer came at most so many times.
    """
    p = np.asarray(accuracies)
    chance = np.ones((len(p), 1))
    covered, labels, squared = np.zeros(len(p)), np.zeros(len(p)), np.zeros(len(p))
    rarer = -1
    for n in range(1, most):
        grown = np.zeros((len(p), n + 1))
        grown[:, 1:] = chance * p[:, None]
        grown[:, :-1] += chance * (1 - p[:, None])
        chance = grown
        if n < minimum:
            continue
        while 2 * rarer < n and np.subtract(*interval(n, n - rarer - 1)[::-1]) <= 2 * margin + 1e-12:
            rarer += 1
        for k in sorted({*range(rarer + 1), *range(n - rarer, n + 1)} & set(range(n + 1))):
            q = chance[:, k]
            if not q.any():
                continue
            low, high = interval(n, k)
            if widened:
                low, high = (low + high) / 2 - margin, (low + high) / 2 + margin
            labels += n * q
            squared += n * n * q
            covered += q * ((p >= low - 1e-12) & (p <= high + 1e-12))
            chance[:, k] = 0.0
        if 2 * rarer >= n or chance.sum() < 1e-9:
            break
    return labels, np.sqrt(np.maximum(squared - labels**2, 0.0)), covered

"""The runs behind COVERAGE.md: designs on the real sets, and the synthetic sweep of sweep.py and clusters.py."""

import resource
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product

import numpy as np
from clusters import simulate_twcs
from sweep import (
    ACCURACIES,
    EFFECTS,
    FORECASTS,
    REAL,
    Stop,
    latents,
    read_real,
    recursion,
    simulate_assisted,
    simulate_stratified,
    structures,
    threshold,
)

from rdf_kgeval.estimation import intervals
from rdf_kgeval.estimation.calibration import ASSISTED_FACTORS, FACTORS, FIXED_WIDTH, LEVELS, MARGINS
from rdf_kgeval.estimation.population import Population
from rdf_kgeval.estimation.srs import MINIMUM
from rdf_kgeval.evaluation import methods
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.verdicts.log import NOT_ASKED

DEFAULT, STRICT = "stratified/bayes", "stratified/bayes, strict"
BY_PREDICATE = "stratified/bayes, by predicate"
METHODS = (
    DEFAULT,
    "srs/wilson",
    "srs/ahpd",
    "twcs/wilson",
    "twcs/ahpd",
    "assisted/difference",
    "anytime/betting",
)
STRICT_METHODS = (STRICT, "srs/fixed-width")
SRS = ("srs/wilson", "srs/ahpd", "srs/fixed-width", "anytime/betting")
COARSE = np.round(np.arange(0.55, 0.991, 0.055), 3)
"""Accuracies for the narrow margin and for all but simple random samples and the default."""
BUDGETS = {"nell-sports": 140, "yago2-sample": 204}
IDENTIFY, VERIFY = 45 / 3600, 25 / 3600
"""Hours to identify a new subject and to verify a belief."""


def make(name, population, **options):
    chosen = Settings(strict=name.endswith("strict"), **options).design_options()
    return methods.METHODS[name.removesuffix(", strict")].design(population, chosen)


def run(design, gold, budget=10**9):
    """Ask the gold labels until the margin is reached or the budget spent."""
    answers = np.full(len(gold), NOT_ASKED, np.int8)
    asked = 0
    while asked < budget and not design.reached(answers):
        draws = design.next(answers, 1)
        if not draws:
            break
        answers[draws[0].position] = gold[draws[0].position]
        asked += 1
    return answers


def people(structure):
    n = len(structure.predicate)
    return Population(
        predicate=structure.predicate.astype(np.int64),
        subject=structure.subject.astype(np.int64),
        known=np.full(n, -1, np.int8),
    )


def held_by(groups, predicate, gold):
    """For each predicate that has an interval, whether it holds the truth."""
    truth = np.bincount(predicate, gold) / np.bincount(predicate)
    return [
        g.interval[0] - 1e-9 <= t <= g.interval[1] + 1e-9
        for g, t in zip(groups, truth, strict=True)
        if g.interval
    ]


def real_runs(job):
    """One method on one real set: what each seed asked, found and missed."""
    name, method, seeds, budget, objective = job
    structure = read_real(name)
    gold, predicate = structure.gold.astype(np.int8), structure.predicate.astype(np.int64)
    population = people(structure)
    by_predicate = np.bincount(predicate, gold) / np.bincount(predicate)
    rows = []
    for seed in range(seeds):
        options = {"margin": None} if budget else {}
        if objective:
            options["objective"] = objective
        design = make(method, population, seed=seed, **options)
        answers = run(design, gold, budget or 10**9)
        asked = np.flatnonzero(answers >= 0)
        found, groups = design.estimate(answers), design.estimate_groups(answers, predicate)
        low, high = found.interval
        inside = held_by(groups, predicate, gold)
        rows.append(
            (
                len(asked),
                low - 1e-9 <= gold.mean() <= high + 1e-9,
                abs(found.accuracy - gold.mean()),
                float(np.mean([abs(g.accuracy - t) for g, t in zip(groups, by_predicate, strict=True)])),
                float(np.mean(inside)) if inside else np.nan,
                VERIFY * len(asked) + IDENTIFY * len(np.unique(population.subject[asked])),
            )
        )
    rows = np.array(rows, float)
    return {
        "set": name,
        "method": method,
        "seeds": seeds,
        "budget": budget,
        "objective": objective,
        "mean": rows.mean(axis=0).tolist(),
        "sd": rows.std(axis=0).tolist(),
    }


def known_error(structure, budget, seeds=4000):
    """Mean error of an allocation that knows each predicate's accuracy (Neyman), one label each at least."""
    rng = np.random.default_rng(0)
    size = np.bincount(structure.predicate)
    true = np.bincount(structure.predicate, structure.gold).astype(int)
    doubt = size * np.sqrt(true / size * (1 - true / size))
    share = np.ones(len(size), int)
    while share.sum() < budget:
        share[np.argmax(np.where(share < size, (doubt + 1e-9 * size) / (share + 0.5), -1))] += 1
    drawn = rng.hypergeometric(true, size - true, share, (seeds, len(size)))
    return float(np.abs((drawn / share * size).sum(axis=1) / size.sum() - structure.gold.mean()).mean())


def srs_rule(method, margin, level) -> tuple[Callable, dict]:
    if method == "srs/fixed-width":
        shrink, z = FIXED_WIDTH[margin][level]
        return partial(intervals.adjusted_wald, shrink=shrink, z=z), {"widened": True}
    if method == "anytime/betting":
        return partial(intervals.betting, size=np.inf, level=level, margin=margin), {}
    return partial(getattr(intervals, method.split("/")[1]), level=level), {"minimum": MINIMUM}


def curve(method, structure, effects, margin, level, seeds, points, found, **more):
    """One curve; `found` are its mean labels, their deviation and its coverage."""
    labels, sd, covered = (x.tolist() for x in found)
    return {
        "method": method,
        "structure": structure,
        "effects": effects,
        "margin": margin,
        "level": level,
        "seeds": seeds,
        "accuracy": points.tolist(),
        "labels": labels,
        "sd": sd,
        "coverage": covered,
        **more,
    }


def exact_curves(job):
    """A simple random sample, by exact recursion."""
    method, margin, level = job
    points = COARSE if margin == 0.03 else ACCURACIES
    rule, options = srs_rule(method, margin, level)
    found = recursion(rule, margin, points, **options)
    return [curve(method, "any", "any", margin, level, None, points, found)]


def stratified_curves(job):
    """`stratified/bayes` at all levels, on one structure with one kind of effects."""
    structure, effect, margins, points, seeds, seed, by_predicate = job
    methods = {BY_PREDICATE: "predicate"} if by_predicate else {DEFAULT: "overall", STRICT: "strict"}
    cases = [(m, margin, level) for margin in margins for m in methods for level in LEVELS]
    stops = [Stop(margin, level, FACTORS[methods[m]][margin][level]) for m, margin, level in cases]
    found = simulate_stratified(structure, EFFECTS[effect], points, seeds, stops, seed, by_predicate)
    return [
        curve(m, structure.name, effect, margin, level, seeds, points, [x[:, j] for x in found])
        for j, (m, margin, level) in enumerate(cases)
    ]


def assisted_curves(job):
    """`assisted/difference` at all levels, on one structure with one kind of forecast."""
    structure, forecast, margin, seeds, seed = job
    stops = [Stop(margin, level, ASSISTED_FACTORS[margin][level]) for level in LEVELS]
    found = simulate_assisted(structure, EFFECTS["mild"], COARSE, seeds, stops, seed, FORECASTS[forecast])
    return [
        curve(
            "assisted/difference",
            structure.name,
            "mild",
            margin,
            level,
            seeds,
            COARSE,
            [x[:, j] for x in found],
            forecast=forecast,
        )
        for j, level in enumerate(LEVELS)
    ]


def twcs_curves(job):
    """`twcs/wilson` and `twcs/ahpd` on one structure with one kind of effects."""
    structure, effect, seeds, seed = job
    found = simulate_twcs(structure, EFFECTS[effect], COARSE, seeds, 0.05, 0.95, seed)
    return [
        curve(m, structure.name, effect, 0.05, 0.95, seeds, COARSE, [x[:, j] for x in found])
        for j, m in enumerate(("twcs/wilson", "twcs/ahpd"))
    ]


def predicate_intervals(job):
    """How often the default's intervals of predicates hold the truth, through the interface."""
    structure, effect, seeds = job
    population = people(structure)
    inside = np.empty((len(COARSE), seeds))
    for seed in range(seeds):
        rng = np.random.default_rng([seed, 17])
        score = latents(rng, structure.predicate, structure.subject, *EFFECTS[effect])
        ordered = np.sort(score)
        for i, accuracy in enumerate(COARSE):
            gold = (score > threshold(ordered, accuracy)).astype(np.int8)
            design = make(DEFAULT, population, seed=seed)
            groups = design.estimate_groups(run(design, gold), population.predicate)
            inside[i, seed] = np.mean(held_by(groups, structure.predicate, gold))
    return {
        "structure": structure.name,
        "effects": effect,
        "seeds": seeds,
        "coverage": inside.mean(axis=1).tolist(),
        "error": float(inside.mean(axis=0).std() / np.sqrt(seeds)),
    }


def measure_real(pool, seeds):
    """The real sets, with each method's own stop and at the paper's budgets; there with four times the seeds."""
    sets = [name for name in REAL if read_real(name) is not None]
    jobs = [(name, m, seeds // 10, None, None) for name in sets for m in (*METHODS, *STRICT_METHODS)]
    at_budget = ((DEFAULT, "overall"), (DEFAULT, "predicate"), ("srs/wilson", None))
    jobs += [(name, m, seeds * 2 // 5, BUDGETS[name], o) for name in sets for m, o in at_budget]
    known = {name: known_error(read_real(name), BUDGETS[name]) for name in sets}
    return {"runs": list(pool.map(real_runs, jobs)), "known": known}


def measure_predicates(pool, seeds):
    """Intervals of predicates."""
    jobs = [(s, e, max(1, seeds // 50)) for s in structures() for e in EFFECTS]
    return list(pool.map(predicate_intervals, jobs))


def measure_curves(make_curves, make_jobs):
    """A part of the sweep."""

    def measure(pool, seeds):
        return [c for curves in pool.map(make_curves, make_jobs(seeds)) for c in curves]

    return measure


def forecast_jobs(margins, seeds):
    return [(s, f, m, seeds, i) for m in margins for i, s in enumerate(structures()) for f in FORECASTS]


BOTH = [(i, s, e) for i, s in enumerate(structures()) for e in EFFECTS]
PARTS = {
    "real": measure_real,
    "predicates": measure_predicates,
    "exact": measure_curves(
        exact_curves, lambda seeds: [(m, *g) for m in SRS for g in product(MARGINS, LEVELS)]
    ),
    "stratified": measure_curves(
        stratified_curves,
        lambda seeds: (
            [(s, e, (0.03,), COARSE, seeds, i, False) for i, s, e in BOTH]
            + [(s, e, (0.05, 0.1), ACCURACIES, seeds, i, False) for i, s, e in BOTH]
        ),
    ),
    "by-predicate": measure_curves(
        stratified_curves, lambda seeds: [(s, e, (0.05,), COARSE, seeds, i, True) for i, s, e in BOTH]
    ),
    "twcs": measure_curves(twcs_curves, lambda seeds: [(s, e, seeds, i) for i, s, e in BOTH]),
    "assisted": measure_curves(assisted_curves, lambda seeds: forecast_jobs(MARGINS[1:], seeds)),
    "assisted-narrow": measure_curves(assisted_curves, lambda seeds: forecast_jobs(MARGINS[:1], seeds)),
}
SWEEP = ("stratified", "by-predicate", "twcs", "assisted", "assisted-narrow", "exact")


def measure(part, processes, seeds):
    """One part's results, with the time that they took."""
    before = cpu_seconds()
    with ProcessPoolExecutor(processes) as pool:
        found = PARTS[part](pool, seeds)
    return {
        "found": found,
        "seeds": seeds,
        "cpu_minutes": (cpu_seconds() - before) / 60,
    }


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

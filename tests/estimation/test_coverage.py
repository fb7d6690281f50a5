"""The promise, simulated on synthetic labels; benchmarks/intervals.py measures it at length."""

from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from rdf_kgeval.estimation import intervals
from rdf_kgeval.estimation.calibration import ASSISTED_FACTORS, FACTORS, FIXED_WIDTH, LEVELS, MARGINS
from rdf_kgeval.estimation.population import Population
from rdf_kgeval.verdicts.log import NOT_ASKED
from tests.support.designs import design_of


@pytest.fixture
def sweep(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import sweep

    return sweep


@pytest.fixture
def calibrate(sweep: ModuleType) -> ModuleType:
    import calibrate

    return calibrate


def short(covered: np.ndarray, seeds: int, least: float) -> bool:
    """Whether a simulated coverage contradicts the least one at 99.9 %."""
    return bool((covered + 3.1 * np.sqrt(np.maximum(covered * (1 - covered), 1e-4) / seeds) < least).any())


def test_the_default_keeps_its_promise_on_a_small_sweep(sweep: ModuleType) -> None:
    seeds, points = 300, [0.6, 0.8, 0.88, 0.93, 0.98]
    structure = sweep.generate("few", np.array([900, 600, 300, 200]), 3.0)
    factors = [FACTORS[kind][0.05][0.95] for kind in ("overall", "strict")]
    stops = [sweep.Stop(0.05, 0.95, factor) for factor in factors]
    labels, _, covered = sweep.simulate_stratified(structure, (0.0, 0.0), points, seeds, stops)
    assert not short(covered[:, 0], seeds, 0.93)
    assert not short(covered[:, 1], seeds, 0.95)
    assert (labels[:, 0] < labels[:, 1]).all()
    lax = [sweep.Stop(0.05, 0.95, 0.8)]
    assert short(sweep.simulate_stratified(structure, (0.0, 0.0), points, seeds, lax)[2], seeds, 0.93)


@pytest.mark.stress
@pytest.mark.parametrize("margin", MARGINS)
def test_the_default_keeps_its_promise(sweep: ModuleType, margin: float) -> None:
    """At all levels, strict and not, and with the other objective, on every structure."""
    seeds = 300 if margin == 0.03 else 1000
    points = [0.55, 0.7, 0.8, 1 - 2.4 * margin, 1 - 2.1 * margin, 0.95, 0.99]
    for kinds in (("overall", "strict"), ("predicate",)):
        cases = [(kind, level) for kind in kinds for level in LEVELS]
        stops = [sweep.Stop(margin, level, FACTORS[kind][margin][level]) for kind, level in cases]
        for structure in sweep.structures():
            for effects in sweep.EFFECTS.values():
                covered = sweep.simulate_stratified(
                    structure, effects, points, seeds, stops, 11, kinds == ("predicate",)
                )[2]
                for j, (kind, level) in enumerate(cases):
                    least = level if kind == "strict" else level - 0.02
                    assert not short(covered[:, j], seeds, least), (kind, level, structure.name, effects)


@pytest.mark.stress
@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize("helped", [-0.8, 0.0, 0.8])
def test_assisted_covers_whatever_the_forecast(sweep: ModuleType, helped: float, margin: float) -> None:
    seeds = 300 if margin == 0.03 else 1000
    stops = [sweep.Stop(margin, level, ASSISTED_FACTORS[margin][level]) for level in LEVELS]
    points = [0.55, 0.7, 0.8, 0.88, 0.95, 0.99]
    for structure in sweep.structures():
        covered = sweep.simulate_assisted(structure, (1.0, 0.5), points, seeds, stops, 3, helped)[2]
        for j, level in enumerate(LEVELS):
            assert not short(covered[:, j], seeds, level - 0.02), (structure.name, level)


@pytest.mark.stress
def test_the_calibration_reproduces_a_constant(calibrate: ModuleType) -> None:
    """One margin; `python benchmarks/calibrate.py --check` does it for all of them."""
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(2) as pool:
        found = calibrate.calibrate_stratified(pool, calibrate.SEEDS, margins=(0.1,))
    assert {kind: table[0.1] for kind, table in found["FACTORS"].items()} == {
        kind: table[0.1] for kind, table in FACTORS.items()
    }


@pytest.mark.parametrize(("margin", "level"), [(0.1, 0.9), (0.1, 0.95), (0.05, 0.9)])
def test_the_calibration_reproduces_fixed_width(calibrate: ModuleType, margin: float, level: float) -> None:
    assert calibrate.fixed_width((margin, level)) == FIXED_WIDTH[margin][level]


@pytest.mark.parametrize("margin", [0.05, 0.1])
def test_fixed_width_never_covers_less_than_the_level(sweep: ModuleType, margin: float) -> None:
    """Exactly, at accuracies other than those of the calibration."""
    points = np.arange(0.5013, 0.999, 0.0107)
    for level in LEVELS[:2]:
        shrink, z = FIXED_WIDTH[margin][level]
        rule = partial(intervals.adjusted_wald, shrink=shrink, z=z)
        assert sweep.recursion(rule, margin, points, widened=True)[2].min() >= level - 5e-4


def test_intervals_of_predicates_cover_on_average() -> None:
    rng = np.random.default_rng(1)
    sizes = np.array([500, 300, 150, 60, 20, 10, 5, 3, 1])
    predicate = np.repeat(np.arange(9), sizes)
    population = Population(
        predicate=predicate, subject=np.arange(len(predicate)), known=np.full(len(predicate), -1, np.int8)
    )
    inside = []
    for seed in range(60):
        shares = rng.beta(9, 1, 9)
        gold = (rng.random(len(predicate)) < shares[predicate]).astype(np.int8)
        design = design_of("stratified/bayes", population, seed=seed)
        answers = np.full(len(gold), NOT_ASKED, np.int8)
        while not design.reached(answers):
            for draw in design.next(answers, 100):
                answers[draw.position] = gold[draw.position]
        truth = np.bincount(predicate, gold) / sizes
        groups = design.estimate_groups(answers, predicate)
        inside += [
            g.interval is not None and g.interval[0] - 1e-9 <= t <= g.interval[1] + 1e-9
            for g, t in zip(groups, truth, strict=True)
        ]
    assert np.mean(inside) + 3.1 * np.sqrt(0.05 * 0.95 / len(inside)) >= 0.95

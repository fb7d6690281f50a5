"""Sampling designs: draws, stops and estimates as pure functions of the answers."""

import itertools
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdf_kgeval.errors import InputError
from rdf_kgeval.estimation.beta_interval import least_precision
from rdf_kgeval.estimation.calibration import ASSISTED_FACTORS, FACTORS, stopping_mass
from rdf_kgeval.estimation.design import Design
from rdf_kgeval.estimation.hierarchy import GRID
from rdf_kgeval.estimation.population import Population
from rdf_kgeval.estimation.stratified import block_length
from rdf_kgeval.estimation.twcs import SECOND_STAGE
from rdf_kgeval.verdicts.log import AMBIGUOUS, NOT_ASKED
from tests.support.designs import DESIGNS, design_of

STRICT = ("stratified/bayes", "srs/fixed-width", "anytime/betting")


def population(sizes: list[int], known: dict[int, int] | None = None, seed: int = 0) -> Population:
    """Predicates of these sizes over subjects with one to four beliefs."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    predicate = np.repeat(np.arange(len(sizes)), sizes)
    subject = np.repeat(np.arange(n), rng.integers(1, 5, n))[:n]
    labels = np.full(n, -1, np.int8)
    for position, label in (known or {}).items():
        labels[position] = label
    return Population(
        predicate=predicate, subject=rng.permutation(subject), known=labels, truth=rng.random(n)
    )


def labelled(sizes: list[int], accuracies: list[float], seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.random(n) < p for n, p in zip(sizes, accuracies, strict=True)]).astype(np.int8)


def run(design: Design, gold: np.ndarray, budget: int = 10**9, k: int = 1) -> np.ndarray:
    """Ask and answer until the margin is reached, the budget spent or nothing left to ask."""
    answers = np.full(len(gold), NOT_ASKED, np.int8)
    asked = 0
    while asked < budget and not design.reached(answers):
        draws = design.next(answers, min(k, budget - asked))
        if not draws:
            break
        for draw in draws:
            assert answers[draw.position] == NOT_ASKED
            answers[draw.position] = gold[draw.position]
        asked += len(draws)
    return answers


SIZES, ACCURACIES = [300, 150, 80, 9, 3, 1], [0.97, 0.7, 0.9, 0.5, 1.0, 1.0]


@pytest.mark.parametrize("name", DESIGNS)
def test_a_run_stops_at_the_margin_and_reports_it(name: str) -> None:
    gold = labelled(SIZES, ACCURACIES)
    design = design_of(name, population(SIZES), margin=0.08, level=0.9, seed=3)
    answers = run(design, gold)
    assert design.reached(answers)
    assert 20 <= (answers >= 0).sum() < len(gold)
    estimate = design.estimate(answers)
    assert estimate.interval is not None
    low, high = estimate.interval
    assert 0 <= low <= estimate.accuracy <= high <= 1
    assert high - low <= 0.16 + 1e-9
    assert abs(estimate.accuracy - gold.mean()) < 0.16
    assert design.next(answers, 5) == []


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("k", [3, 1000])
def test_state_depends_on_the_answers_alone(name: str, k: int) -> None:
    """A design that saw answers come in, in any order, and a fresh one given them all agree."""
    gold = labelled(SIZES, ACCURACIES, seed=1)
    people = population(SIZES)
    lived = design_of(name, people, seed=5)
    answers = np.full(len(gold), NOT_ASKED, np.int8)
    rng = np.random.default_rng(2)
    for _ in range(25):
        draws = lived.next(answers, k)
        for draw in draws:
            if rng.random() < 0.7:
                answers[draw.position] = gold[draw.position]
        fresh = design_of(name, people, seed=5)
        assert fresh.reached(answers) == lived.reached(answers)
        assert fresh.estimate(answers) == lived.estimate(answers)
        assert fresh.running(answers) == lived.running(answers)
        assert fresh.next(answers, k) == lived.next(answers, k)
    retracted = answers.copy()
    retracted[np.flatnonzero(answers >= 0)[0]] = NOT_ASKED
    assert lived.estimate(retracted) == design_of(name, people, seed=5).estimate(retracted)


@pytest.mark.parametrize("name", DESIGNS)
def test_answers_after_a_hole_do_not_count(name: str) -> None:
    gold = labelled(SIZES, ACCURACIES)
    design = design_of(name, population(SIZES), margin=None, seed=1)
    answers = run(design, gold, budget=15)
    before = design.estimate(answers)
    later = [draw.position for draw in design.next(answers, 12)]
    answers[later[1:]] = gold[later[1:]]
    assert design.estimate(answers) == before
    assert design.next(answers, 1)[0].position == later[0]
    answers[later[0]] = gold[later[0]]
    assert design.estimate(answers) != before


@pytest.mark.parametrize("name", DESIGNS)
def test_a_full_count_is_exact(name: str) -> None:
    sizes, accuracies = [20, 11, 2, 1], [0.9, 0.5, 1.0, 0.0]
    gold = labelled(sizes, accuracies)
    people = population(sizes, known={0: int(gold[0]), 25: int(gold[25])})
    design = design_of(name, people, margin=None)
    answers = run(design, gold)
    assert (answers[people.known < 0] >= 0).all()
    assert (answers[people.known >= 0] == NOT_ASKED).all()
    estimate = design.estimate(answers)
    assert estimate.accuracy == pytest.approx(gold.mean())
    assert estimate.interval == pytest.approx((gold.mean(), gold.mean()))
    by_predicate = design.estimate_groups(answers, people.predicate)
    exact = [gold[people.predicate == p].mean() for p in range(4)]
    assert [e.accuracy for e in by_predicate] == pytest.approx(exact)
    for e, truth in zip(by_predicate, exact, strict=True):
        assert e.interval is None or e.interval == pytest.approx((truth, truth))


@pytest.mark.parametrize("name", DESIGNS)
def test_what_is_known_beforehand_is_a_certainty_stratum(name: str) -> None:
    sizes = [400, 400]
    gold = labelled(sizes, [0.9, 0.9])
    half = {i: int(gold[i]) for i in range(400)}
    all_known = {i: int(label) for i, label in enumerate(gold)}
    design = design_of(name, population(sizes, known=half), seed=1)
    answers = run(design, gold)
    asked = np.flatnonzero(answers >= 0)
    assert len(asked)
    assert (asked >= 400).all()
    low, high = design.estimate(answers).interval or (0, 0)
    assert high - low <= 0.1 + 1e-9
    assert low >= gold[:400].sum() / 800
    alone = design_of(name, population(sizes), seed=1)
    assert len(asked) < (run(alone, gold) >= 0).sum()
    done = design_of(name, population(sizes, known=all_known))
    nothing = np.full(800, NOT_ASKED, np.int8)
    assert done.reached(nothing)
    assert done.next(nothing, 3) == []
    assert done.estimate(nothing) == (pytest.approx(gold.mean()), pytest.approx((gold.mean(), gold.mean())))


@pytest.mark.parametrize("name", DESIGNS)
def test_ambiguous_answers_open_both_ends(name: str) -> None:
    gold = labelled(SIZES, ACCURACIES)
    people = population(SIZES)
    doubtful = gold.copy()
    doubtful[::12] = AMBIGUOUS
    budget = 120
    answers = run(design_of(name, people, margin=None, seed=4), doubtful, budget)
    unclear = design_of(name, people, margin=None, seed=4).estimate(answers).interval
    assert unclear is not None
    if name.startswith(("srs", "anytime", "twcs")):
        for value, end in ((0, 0), (1, 1)):
            resolved = np.where(answers == AMBIGUOUS, value, answers).astype(np.int8)
            clear = design_of(name, people, margin=None, seed=4).estimate(resolved).interval
            assert clear is not None
            assert clear[end] == pytest.approx(unclear[end], abs=1e-9)
    plain = design_of(name, people, margin=None, seed=4)
    settled = plain.estimate(run(plain, gold, budget)).interval
    assert settled is not None
    assert unclear[1] - unclear[0] > settled[1] - settled[0]


def test_ambiguous_answers_put_the_stop_off() -> None:
    gold = labelled([2000], [0.9])
    doubtful = gold.copy()
    doubtful[::30] = AMBIGUOUS
    for name in ("stratified/bayes", "srs/wilson", "assisted/difference"):
        stops = [(run(design_of(name, population([2000]), seed=2), g) >= 0).sum() for g in (gold, doubtful)]
        assert stops[0] < stops[1]
        interval = design_of(name, population([2000]), seed=2)
        low, high = interval.estimate(run(interval, doubtful)).interval or (0, 1)
        assert high - low <= 0.1 + 1e-9


@pytest.mark.parametrize("name", DESIGNS)
def test_one_label_throughout(name: str) -> None:
    for value in (0, 1):
        gold = np.full(500, value, np.int8)
        design = design_of(name, population([497, 1, 1, 1]))
        low, high = design.estimate(run(design, gold)).interval or (0.5, 0.5)
        assert (high if value else 1 - low) == pytest.approx(1, abs=0.02)
        assert high - low <= 0.1 + 1e-9


@pytest.mark.parametrize("name", DESIGNS)
def test_a_budget_below_the_minimum_gives_a_defined_result(name: str) -> None:
    gold = labelled(SIZES, ACCURACIES)
    for budget in (0, 1, 5):
        design = design_of(name, population(SIZES))
        estimate = design.estimate(run(design, gold, budget))
        assert estimate.interval is not None
        assert estimate.interval[1] - estimate.interval[0] > 0.2
        groups = design.estimate_groups(run(design, gold, budget), population(SIZES).predicate)
        assert all(0 <= e.accuracy <= 1 for e in groups)


def test_options_out_of_range_are_refused_in_a_sentence() -> None:
    people = population([10])
    make = partial(design_of, "stratified/bayes")
    for options, words in (
        ({"margin": 0.0}, "margin 0 is not between 0 and 0.5"),
        ({"margin": 0.5}, "margin"),
        ({"level": 0.5}, "level 0.5 is not between"),
        ({"level": 0.999}, "level"),
        ({"error": 0.5}, "error rate"),
        ({"objective": "class"}, "objective 'class'"),
    ):
        with pytest.raises(InputError, match=words):
            make(people, **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no belief"):
        population([])
    with pytest.raises(InputError, match="srs/wilson does not steer"):
        design_of("srs/wilson", people, objective="predicate")
    with pytest.raises(InputError, match="strict for the objective overall only"):
        make(people, strict=True, objective="predicate")
    for name in DESIGNS:
        if name in STRICT:
            design_of(name, people, strict=True)
        else:
            with pytest.raises(InputError, match=f"{name} cannot promise"):
                design_of(name, people, strict=True)


@pytest.mark.parametrize(
    "options", [{"margin": 0.012}, {"margin": 0.3}, {"level": 0.7}, {"margin": 0.03, "error": 0.1}]
)
def test_outside_the_calibrated_range_betting_takes_over(options: dict[str, float]) -> None:
    people = population([4000])
    gold = labelled([4000], [0.9])
    bet = design_of("anytime/betting", people, **options)  # type: ignore[arg-type]
    assert bet.note is None
    for name in ("stratified/bayes", "srs/fixed-width", "assisted/difference"):
        design = design_of(name, people, **options)  # type: ignore[arg-type]
        assert design.note is not None
        assert "betting" in design.note
        answers = run(design, gold, 300)
        assert design.estimate(answers) == bet.estimate(answers)


def test_strict_asks_more() -> None:
    gold = labelled([2000], [0.85])
    stops = [
        np.mean(
            [
                (
                    run(design_of("stratified/bayes", population([2000]), strict=strict, seed=s), gold) >= 0
                ).sum()
                for s in range(5)
            ]
        )
        for strict in (False, True)
    ]
    assert stops[0] < stops[1]


@pytest.mark.parametrize("name", DESIGNS)
def test_a_known_error_rate_corrects_and_widens(name: str) -> None:
    """One verdict in ten is wrong: without correction an accuracy of 0.95 looks like 0.86."""
    size, missed, estimates, widths = 1500, 0, [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        gold = (np.arange(size) < 0.95 * size).astype(np.int8)
        verdicts = np.where(rng.random(size) < 0.1, 1 - gold, gold).astype(np.int8)
        people = population([size], seed=seed)
        noisy = design_of(name, people, margin=0.06, error=0.1, seed=seed)
        answers = run(noisy, verdicts)
        low, high = noisy.estimate(answers).interval or (0, 0)
        estimates.append(noisy.estimate(answers).accuracy)
        missed += not low <= 0.95 <= high
        plain = design_of(name, people, margin=None, seed=seed).estimate(answers).interval or (0, 0)
        same = design_of(name, people, margin=None, error=0.1, seed=seed).estimate(answers).interval or (0, 0)
        if same[1] < 1:
            widths.append((same[1] - same[0]) / (plain[1] - plain[0]))
    assert np.mean(estimates) == pytest.approx(0.95, abs=0.03)
    assert missed <= 2 or name == "twcs/ahpd"
    assert not widths or min(widths) > 1


def test_a_full_count_by_noisy_verdicts_is_not_exact() -> None:
    design = design_of("stratified/bayes", population([50]), margin=None, error=0.1)
    low, high = design.estimate(run(design, labelled([50], [0.8]))).interval or (0, 0)
    assert high - low > 0.1


def test_objective_predicate_exhausts_the_tiny_and_balances_the_rest() -> None:
    sizes = [900, 300, 100, 5, 2, 1]
    people = population(sizes)
    gold = labelled(sizes, [0.9, 0.8, 0.7, 0.5, 0.5, 1.0])
    overall, predicate = (
        np.bincount(
            people.predicate[
                run(design_of("stratified/bayes", people, margin=None, objective=o), gold, 120) >= 0
            ],
            minlength=6,
        )
        for o in ("overall", "predicate")
    )
    assert predicate[3:].tolist() == [5, 2, 1]
    assert predicate[:3].max() <= 2.5 * predicate[:3].min()
    assert overall[0] > predicate[0]


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=6),
    st.integers(0, 1000),
    st.sampled_from(sorted(DESIGNS)),
)
@settings(max_examples=40)
def test_every_population_can_be_run_to_its_end(sizes: list[int], seed: int, name: str) -> None:
    gold = labelled(sizes, [0.8] * len(sizes), seed)
    people = population(sizes, seed=seed)
    design = design_of(name, people, margin=None, seed=seed)
    answers = run(design, gold, k=7)
    assert (answers >= 0).all()
    assert design.estimate(answers).interval == pytest.approx((gold.mean(), gold.mean()))


def test_chances_are_those_of_the_draws() -> None:
    """How often a belief comes first, over seeds, is the chance recorded with it."""
    for name in ("srs/wilson", "stratified/bayes", "twcs/wilson", "assisted/difference"):
        people = population([6, 4])
        nothing = np.full(10, NOT_ASKED, np.int8)
        first = [design_of(name, people, seed=seed).next(nothing, 1)[0] for seed in range(1500)]
        count = np.bincount([d.position for d in first], minlength=10) / 1500
        for draw in first[:50]:
            chance = draw.probability
            if name == "twcs/wilson":
                size = (people.subject == people.subject[draw.position]).sum()
                chance *= 1 / min(size, SECOND_STAGE)
            assert count[draw.position] == pytest.approx(chance, abs=0.04), name


def test_twcs_is_unbiased_by_enumeration() -> None:
    """The mean of a drawn cluster's mean, over every cluster and every choice within, is the accuracy."""
    rng = np.random.default_rng(0)
    for _ in range(8):
        n = 9
        subject = np.sort(rng.integers(0, 4, n))
        gold = rng.integers(0, 2, n)
        expected = 0.0
        for cluster in np.unique(subject):
            members = np.flatnonzero(subject == cluster)
            chosen = list(itertools.combinations(members, min(len(members), SECOND_STAGE)))
            expected += len(members) / n * np.mean([gold[list(c)].mean() for c in chosen])
        assert expected == pytest.approx(gold.mean())
        people = Population(predicate=np.zeros(n, np.int64), subject=subject, known=np.full(n, -1, np.int8))
        estimates = []
        for seed in range(100):
            design = design_of("twcs/wilson", people, margin=None, seed=seed)
            estimates.append(design.estimate(run(design, gold.astype(np.int8), budget=3)).accuracy)
        assert abs(np.mean(estimates) - gold.mean()) < 4 * np.std(estimates) / 10 + 1e-9


def test_assisted_is_unbiased_whatever_the_forecast() -> None:
    sizes = [30, 30]
    gold = labelled(sizes, [0.9, 0.4])
    for truth in (gold.astype(float), 1.0 - gold, np.full(60, 0.5)):
        people = Population(
            predicate=np.repeat([0, 1], 30),
            subject=np.arange(60),
            known=np.full(60, -1, np.int8),
            truth=truth,
        )
        estimates = []
        for seed in range(300):
            design = design_of("assisted/difference", people, margin=None, seed=seed)
            estimates.append(design.estimate(run(design, gold, budget=20)).accuracy)
        assert abs(np.mean(estimates) - gold.mean()) < 4 * np.std(estimates) / np.sqrt(300) + 0.003


def test_groups_may_cut_across_strata() -> None:
    people = population(SIZES)
    gold = labelled(SIZES, ACCURACIES)
    group = (np.arange(len(gold)) % 3).astype(np.int64)
    group[group == 2] = -1
    for name in DESIGNS:
        design = design_of(name, people, margin=None)
        found = design.estimate_groups(run(design, gold, 200), group)
        assert len(found) == 2
        for g, e in enumerate(found):
            assert e.accuracy == pytest.approx(gold[group == g].mean(), abs=0.1)
            assert e.interval is None or e.interval[0] <= gold[group == g].mean() <= e.interval[1]
    assert design.estimate_groups(run(design, gold, 20), np.full(len(gold), -1)) == []


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))


def stops_of(factors: dict[float, dict[float, float]]) -> tuple[np.ndarray, ...]:
    """One stopping rule, at margin 0.07, as the compiled runs take it."""
    table = least_precision(0.07, stopping_mass(0.07, 0.95, factors))
    return table[None], np.array([0.07]), np.array([-1])


@pytest.mark.usefixtures("benchmarks")
@pytest.mark.parametrize("kind", FACTORS)
def test_the_compiled_runs_are_those_of_the_interface(kind: str) -> None:
    import sweep

    gold = labelled(SIZES, ACCURACIES)
    by_predicate, strict = kind == "predicate", kind == "strict"
    for seed in range(6):
        design = design_of(
            "stratified/bayes",
            population(SIZES),
            seed=seed,
            margin=0.07,
            strict=strict,
            objective="predicate" if by_predicate else "overall",
        )
        answers = run(design, gold)
        size, label = design._size, gold[design._strata._order].astype(np.int64)  # type: ignore[attr-defined]
        stop, low, high = np.zeros(1, np.int64), np.zeros(1), np.zeros(1)
        grid = GRID.a, GRID.b, GRID.weight
        sweep.run_stratified(label, size, *grid, *stops_of(FACTORS[kind]), by_predicate, stop, low, high)
        assert stop[0] == (answers >= 0).sum()
        assert design.estimate(answers).interval == pytest.approx((low[0], high[0]))


@pytest.mark.usefixtures("benchmarks")
def test_the_compiled_runs_of_assisted_are_those_of_the_interface() -> None:
    import sweep

    gold = labelled(SIZES, ACCURACIES)
    for seed in range(6):
        design = design_of("assisted/difference", population(SIZES), seed=seed, margin=0.07)
        answers = run(design, gold)
        size, label = design._size, gold[design._order].astype(np.int64)  # type: ignore[attr-defined]
        random = np.zeros(0)
        while length := block_length(len(random), len(gold) - len(random)):
            random = np.append(random, np.random.default_rng([seed, len(random)]).random(length))
        stop, low, high = np.zeros(1, np.int64), np.zeros(1), np.zeros(1)
        grid = GRID.a, GRID.b, GRID.weight
        stops = stops_of(ASSISTED_FACTORS)
        sweep.run_assisted(random, label, size, *grid, *stops, stop, low, high)
        assert stop[0] == (answers >= 0).sum()
        assert design.estimate(answers).interval == pytest.approx((low[0], high[0]))


@pytest.mark.usefixtures("benchmarks")
@pytest.mark.parametrize(("sizes", "accuracies"), [(SIZES, ACCURACIES), ([45], [0.9]), ([300], [1.0])])
def test_the_compiled_runs_of_twcs_are_those_of_the_interface(
    sizes: list[int], accuracies: list[float]
) -> None:
    import clusters

    from rdf_kgeval.estimation.intervals import quantile

    gold, people = labelled(sizes, accuracies), population(sizes)
    table = clusters.least_sizes(0.95, 0.07)
    for seed in range(6):
        for method, name in ((clusters.WILSON, "twcs/wilson"), (clusters.AHPD, "twcs/ahpd")):
            design = design_of(name, people, seed=seed, margin=0.07)
            answers = run(design, gold)
            stop, low, high = np.zeros(2, np.int64), np.zeros(2), np.zeros(2)
            seen, sums, counts = np.zeros(len(gold), np.bool_), np.zeros(2), np.zeros(5, np.int64)
            stop[1 - method] = 1
            draws = design._position, np.array(design._ends_at)  # type: ignore[attr-defined]
            rule = 0.95, quantile(0.95), 0.07, table
            state = seen, sums, counts, stop, low, high
            assert clusters.follow(*draws, gold.astype(np.int64), *rule, *state)
            assert stop[method] == (answers >= 0).sum()
            assert design.estimate(answers).interval == pytest.approx((low[method], high[method]), abs=1e-4)


@pytest.mark.usefixtures("benchmarks")
@given(st.floats(0.3, 1000), st.floats(0.3, 1000), st.floats(0, 1))
def test_the_compiled_beta_distribution(a: float, b: float, x: float) -> None:
    import clusters
    from scipy.special import betainc

    assert clusters.beta_share(a, b, x) == pytest.approx(betainc(a, b, x), abs=1e-9)

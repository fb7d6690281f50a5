from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdf_kgeval.errors import InputError
from rdf_kgeval.inference.incremental import solution as incremental
from rdf_kgeval.inference.incremental.journal import Search
from rdf_kgeval.inference.incremental.solution import Incremental
from rdf_kgeval.inference.incremental.worklist import Local
from rdf_kgeval.inference.solver.solve import Model, SolverOptions, solve
from tests.support.hinges import model_of, models, projected_gradient

TAU = 0.8


def clamped(model: Model, verdicts: dict[int, float]) -> Model:
    """The model with variables substituted; they keep their place, at a prior equal to the verdict."""
    value = np.zeros(model.n_variables)
    value[list(verdicts)] = list(verdicts.values())
    fixed = np.isin(model.indices, list(verdicts))
    row = np.repeat(np.arange(model.n_rows), np.diff(model.indptr))
    known = np.bincount(row[fixed], (model.coef * value[model.indices])[fixed], model.n_rows)
    prior = model.prior.copy()
    prior[list(verdicts)] = list(verdicts.values())
    coef = np.where(fixed, 0.0, model.coef)
    return Model(model.indptr, model.indices, coef, model.offset + known, model.weight, prior, model.strength)


def random_model(seed: int, n: int = 300, rows: int = 1200) -> Model:
    """Horn rules and denials over a few components, some observed."""
    rng = np.random.default_rng(seed)
    block = rng.integers(0, 4, rows) * (n // 4)
    drawn = []
    for start in block:
        a, b, c = (int(start + i) for i in rng.choice(n // 4, 3, replace=False))
        kind = rng.random()
        if kind < 0.5:
            terms, offset = [(a, 1.0), (b, 1.0), (c, -1.0)], -1.0
        elif kind < 0.8:
            terms, offset = [(a, 1.0), (c, -1.0)], 0.0
        else:
            terms, offset = [(a, 1.0), (b, 1.0)], -1.0
        drawn.append((terms, offset, float(rng.uniform(0.1, 1.0))))
    drawn += [([(int(i), -1.0)], 1.0, 1.0) for i in rng.integers(0, n, n // 8)]
    drawn += [([(int(i), 1.0)], 0.0, 1.0) for i in rng.integers(0, n, n // 8)]
    return model_of(drawn, np.full(n, 0.5))


def count(x: np.ndarray) -> int:
    return int(((x >= TAU) | (x <= 1 - TAU)).sum())


def what_if(search: Incremental, variable: int, value: float) -> int:
    """How many variables are inferred if this one is fixed, by fixing it and taking that back."""
    count = search.clamp(variable, value).count
    search.rollback()
    return count


def bits(search: Incremental) -> list[bytes]:
    """All of its numerical state."""
    state = search._search
    return [array.tobytes() for array in (state.variables, state.rows, state.entries, state.columns)]


@given(models(), st.data())
@settings(max_examples=200, deadline=None)
def test_every_clamp_equals_a_cold_solve(model: Model, data: st.DataObject) -> None:
    search = Incremental(model, solve(model))
    verdicts: dict[int, float] = {}
    for variable in data.draw(st.permutations(range(model.n_variables)))[:4]:
        verdicts[variable] = data.draw(st.sampled_from([0.0, 1.0, 0.3]))
        change = search.clamp(variable, verdicts[variable])
        if data.draw(st.booleans()):
            search.commit()
        substituted = clamped(model, verdicts)
        assert (np.abs(projected_gradient(substituted, search.x)) <= 2.1e-7 * model.strength).all()
        assert search.x == pytest.approx(solve(substituted).x, abs=1e-5)
        assert change.count == search.count == count(search.x)


@pytest.mark.parametrize("seed", range(3))
def test_long_sequence_equals_a_cold_solve(seed: int) -> None:
    model = random_model(seed)
    rng = np.random.default_rng(seed)
    search = Incremental(model, solve(model))
    verdicts: dict[int, float] = {}
    for variable in rng.permutation(model.n_variables)[:60]:
        verdicts[int(variable)] = float(rng.integers(2))
        search.clamp(int(variable), verdicts[int(variable)])
        search.commit()
        assert search.count == count(search.x)
    cold = solve(clamped(model, verdicts))
    assert search.x == pytest.approx(cold.x, abs=1e-5)
    assert (np.abs(projected_gradient(clamped(model, verdicts), search.x)) <= 2.1e-7 * model.strength).all()
    assert search.fixed.sum() == 60


def test_rows_that_turn_active_on_the_way_do_not_make_it_cycle() -> None:
    rows = [([(5, 1.0), (0, -1.0)], 0.0, 0.05), ([(0, -2.0), (1, 3.0), (2, -2.0)], 0.0, 0.3),
            ([(0, 1.0), (2, -1.0)], 0.0, 0.05)]  # fmt: skip
    model = model_of(rows, [0.0, 0.0, 0.0, 0.0, 0.0, 0.2])
    search = Incremental(model, solve(model), SolverOptions(max_iterations=20))
    search.clamp(1, 0.3)
    assert search.x == pytest.approx(solve(clamped(model, {1: 0.3})).x, abs=1e-6)


def test_rollback_is_bit_identical_even_after_several_clamps() -> None:
    model = random_model(5)
    search = Incremental(model, solve(model))
    search.clamp(7, 1.0)
    search.commit()
    before, inferred = bits(search), search.count
    for variable in range(20, 30):
        search.clamp(variable, float(variable % 2))
    assert bits(search) != before
    search.rollback()
    assert bits(search) == before
    assert search.count == inferred


def test_moved_says_what_changed_and_commit_whom_that_concerns() -> None:
    model = random_model(6)
    search = Incremental(model, solve(model))
    x, gradient = search.x, search.gradient
    change = search.clamp(11, 0.0)
    assert set(change.moved) == set(np.flatnonzero(search.x != x))
    concerned = set(search.commit().tolist())
    changed = set(np.flatnonzero((search.x != x) | (search.gradient != gradient)).tolist())
    assert set(change.moved) <= changed
    assert concerned == changed | _neighbours(model, changed)
    assert {i // 75 for i in concerned} == {0}


def _neighbours(model: Model, some: set[int]) -> set[int]:
    """Variables that share with these a row that some point of the box violates."""
    found: set[int] = set()
    for j in range(model.n_rows):
        span = slice(model.indptr[j], model.indptr[j + 1])
        members = set(model.indices[span].tolist())
        if members & some and model.offset[j] + np.maximum(0, model.coef[span]).sum() > 0:
            found |= members
    return found


def test_cached_gains_stay_exact_until_a_commit_concerns_a_member() -> None:
    model = random_model(8, n=400, rows=500)
    search = Incremental(model, solve(model))
    everyone = np.arange(model.n_variables)
    before, base = search.what_ifs(everyone), search.count
    reused = 0
    for variable in (3, 150, 399):
        search.clamp(variable, 1.0)
        concerned = set(search.commit().tolist())
        after = search.what_ifs(everyone)
        for c in everyone:
            members = set(before.members[before.indptr[c] : before.indptr[c + 1]].tolist())
            if not members & concerned and not search.fixed[c]:
                reused += 1
                assert (after.counts[c] - search.count == before.counts[c] - base).all()
        before, base = after, search.count
    assert reused > 100


def test_commit_tells_whose_gradient_alone_changed() -> None:
    model = model_of([([(0, 1.0), (1, 1.0)], -0.5, 1.0)], [0.2, 0.0])
    search = Incremental(model, solve(model))
    assert search.clamp(0, 1.0).moved.tolist() == [0]
    assert search.x[1] == 0.0
    assert sorted(search.commit()) == [0, 1]


@pytest.mark.parametrize("threads", [1, 2])
def test_batch_equals_single_what_ifs_and_changes_nothing(threads: int) -> None:
    model = random_model(9)
    options = SolverOptions(threads=threads)
    counted = np.arange(300) % 3 != 0
    search = Incremental(model, solve(model), options, tau=0.7, counted=counted)
    search.clamp(5, 1.0)
    search.commit()
    before = bits(search)
    candidates = np.array([4, 5, 100, 299, 17])
    batch = search.what_ifs(candidates)
    assert bits(search) == before
    assert batch.counts[1].tolist() == [search.count] * 2
    assert batch.indptr[1] == batch.indptr[2]
    for c in (0, 2, 3, 4):
        moved = set()
        for side in (0, 1):
            assert batch.counts[c, side] == what_if(search, int(candidates[c]), float(side))
            change = search.clamp(int(candidates[c]), float(side))
            moved |= set(change.moved)
            x = search.x
            assert change.count == int((((x >= 0.7) | (x <= 1 - 0.7)) & counted).sum())
            search.rollback()
        assert moved <= set(batch.members[batch.indptr[c] : batch.indptr[c + 1]])
    assert bits(search) == before


def test_each_thread_starts_from_the_state_before_any_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model(9)
    search = Incremental(model, solve(model), SolverOptions(threads=2))
    before = search._search.variables["x"].copy()
    starts = []

    def spoil(space: Search, local: Local, *others: object) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        starts.append(space.variables["x"].copy())
        space.variables["x"] = -1.0
        return np.zeros((1, 2), np.int64), np.zeros(1, np.int64), np.empty(0, np.int32)

    monkeypatch.setattr(incremental, "_what_ifs", spoil)
    monkeypatch.setattr(incremental, "threads", lambda _: ThreadPoolExecutor(1))
    search.what_ifs(np.array([1, 2]))
    assert [(start == before).all() for start in starts] == [True, True]


def test_no_candidates_and_no_rules() -> None:
    search = Incremental(model_of([], [0.5, 0.5]), solve(model_of([], [0.5, 0.5])))
    assert search.what_ifs(np.empty(0, np.int64)).counts.shape == (0, 2)
    assert what_if(search, 1, 0.0) == 1
    assert what_if(search, 1, 0.6) == 0
    change = search.clamp(0, 1.0)
    assert (change.moved.tolist(), change.count) == ([0], 1)


@pytest.mark.parametrize("weight", [0.0, 1e9])
def test_extreme_weights_in_a_hub(weight: float) -> None:
    rows = [([(0, 1.0), (i, -1.0)], 0.0, weight) for i in range(1, 2000)]
    model = model_of(rows, np.full(2000, 0.5))
    search = Incremental(model, solve(model))
    search.clamp(0, 1.0)
    assert search.x[1:] == pytest.approx(np.full(1999, 1.0 if weight else 0.5), abs=1e-6)


def test_coarse_tolerance_is_kept_in_one_large_component() -> None:
    rng = np.random.default_rng(4)
    rows = [
        ([(int(a), 1.0), (int(b), -1.0)], 0.0, 0.5) for a, b in rng.integers(0, 5000, (15_000, 2)) if a != b
    ]
    rows += [([(int(i), -1.0)], 1.0, 1.0) for i in rng.integers(0, 5000, 400)]
    model = model_of(rows, np.full(5000, 0.5))
    options = SolverOptions(tolerance=1e-4)
    search = Incremental(model, solve(model, options), options)
    change = search.clamp(17, 0.0)
    assert (np.abs(projected_gradient(clamped(model, {17: 0.0}), search.x)) <= 2.1e-4 * model.strength).all()
    assert 1 < len(change.moved) < 5000


def test_misuse_is_refused() -> None:
    model = random_model(1)
    solution = solve(model)
    search = Incremental(model, solution)
    for variable, value in ((-1, 0.0), (300, 0.0), (0, 1.5), (0, np.nan)):
        with pytest.raises(InputError):
            search.clamp(variable, value)
    search.clamp(0, 1.0)
    with pytest.raises(InputError, match="fixed already"):
        search.clamp(0, 0.0)
    with pytest.raises(RuntimeError, match="commit or roll back"):
        search.what_ifs(np.array([1]))
    with pytest.raises(InputError, match="squared"):
        Incremental(model, solution, SolverOptions(p=1))
    with pytest.raises(InputError, match="tau"):
        Incremental(model, solution, tau=0.4)
    with pytest.raises(InputError, match="mask"):
        Incremental(model, solution, counted=np.ones(3, np.bool_))

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdf_kgeval.errors import InputError
from rdf_kgeval.inference.solver.solve import Model, Solution, SolverOptions, solve
from tests.support.hinges import (
    model_of,
    models,
    objective,
    projected_gradient,
    solve_by_clarabel,
    solve_by_lbfgs,
)

EPS = 0.05
LINEAR = SolverOptions(p=1)


def permuted(model: Model, variables: np.ndarray, rows: np.ndarray) -> Model:
    """The same model with variable `variables[i]` in place i and row `rows[j]` in place j."""
    rank = np.argsort(variables)
    spans = [range(model.indptr[j], model.indptr[j + 1]) for j in rows]
    entries = np.array([k for span in spans for k in reversed(span)], np.int64)
    return Model(
        indptr=np.cumsum([0] + [len(span) for span in spans]),
        indices=rank[model.indices[entries]].astype(np.int32),
        coef=model.coef[entries],
        offset=model.offset[rows],
        weight=model.weight[rows],
        prior=model.prior[variables],
        strength=model.strength[variables],
    )


@given(models())
@settings(max_examples=300, deadline=None)
def test_projected_gradient_vanishes(model: Model) -> None:
    solution = solve(model)
    residual = np.abs(projected_gradient(model, solution.x))
    assert (residual <= 2e-6 * model.strength).all()
    assert solution.residual == pytest.approx(residual.max(), abs=1e-12)
    assert solution.objective == pytest.approx(objective(model, solution.x), rel=1e-12, abs=1e-14)
    assert ((solution.x >= 0) & (solution.x <= 1)).all()


@given(models())
@settings(max_examples=100, deadline=None)
def test_objective_equals_that_of_independent_solvers(model: Model) -> None:
    ours = solve(model).objective
    for x in (solve_by_lbfgs(model), solve_by_clarabel(model)):
        theirs = objective(model, x)
        assert ours <= theirs * (1 + 1e-9) + 1e-12
        assert ours == pytest.approx(theirs, rel=1e-7, abs=1e-8)


@given(models(), st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_solution_depends_on_neither_start_nor_order(model: Model, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = solve(model).x
    assert solve(model, start=rng.random(model.n_variables)).x == pytest.approx(x, abs=1e-6)
    variables, rows = rng.permutation(model.n_variables), rng.permutation(model.n_rows)
    assert solve(permuted(model, variables, rows)).x == pytest.approx(x[variables], abs=1e-6)


@given(models())
@settings(max_examples=100, deadline=None)
def test_linear_hinges_reach_the_optimum_of_a_qp_solver(model: Model) -> None:
    solution = solve(model, LINEAR)
    assert solution.residual <= 2e-8 * model.strength.max()
    assert solution.objective == pytest.approx(objective(model, solution.x, p=1), rel=1e-12, abs=1e-14)
    assert solution.objective == pytest.approx(
        objective(model, solve_by_clarabel(model, p=1), p=1), rel=1e-7, abs=1e-8
    )


@pytest.mark.parametrize("confidence", [0.6, 0.8, 0.99])
def test_lone_rule_with_a_true_body_gives_its_head_its_confidence(confidence: float) -> None:
    theta = EPS * (confidence - 0.5) / (1 - confidence)
    assert solve(model_of([([(0, -1.0)], 1.0, theta)], [0.5])).x[0] == pytest.approx(confidence, abs=1e-6)


def test_components_in_two_threads_give_the_same_as_in_one() -> None:
    rng = np.random.default_rng(3)
    rows = [([(3 * c + i, 1.0), (3 * c + (i + 1) % 3, -1.0)], 0.3, w) for c in range(20_000)
            for i, w in enumerate(rng.random(3))]  # fmt: skip
    model = model_of(rows, rng.random(60_000))
    one, two = solve(model), solve(model, SolverOptions(threads=2))
    assert (one.x == two.x).all()
    assert one.residual <= 2e-6 * EPS


def test_empty_model() -> None:
    solution = solve(model_of([], []))
    assert (len(solution.x), solution.objective, solution.residual, solution.iterations) == (0, 0.0, 0.0, 0)


@pytest.mark.parametrize("p", [1, 2])
def test_everything_clamped_leaves_constants(p: int) -> None:
    solution = solve(model_of([([], 0.5, 2.0), ([], -0.5, 3.0)], []), SolverOptions(p=p))
    assert solution.objective == pytest.approx(2.0 * 0.5**p)


def test_variables_without_rules_stay_at_their_prior() -> None:
    assert solve(model_of([([(0, -1.0)], 1.0, 0.0)], [0.5, 0.2])).x.tolist() == [0.5, 0.2]


def test_prior_outside_the_box_is_cut() -> None:
    assert solve(model_of([], [-3.0, 1.5])).x.tolist() == [0.0, 1.0]


def test_a_stiff_rule_against_the_box_is_solved_in_few_steps_from_anywhere() -> None:
    model = model_of([([(0, -4.0), (1, -1.0)], 2.0, 20.0)], [0.0, 0.5], [0.5, 0.05])
    for start in np.random.default_rng(0).random((50, 2)):
        solution = solve(model, start=start)
        assert solution.x == pytest.approx([160 / 641, 1.0], abs=1e-6)
        assert solution.iterations <= 10


def test_only_the_right_one_of_two_that_leave_the_box_is_held_there() -> None:
    rows = [([(0, 6.0), (1, -1.0)], 0.5, 20.0), ([(0, -2.0), (1, 0.5)], 0.0, 0.05)]
    model = model_of(rows, [0.0, 0.0])
    for start in np.random.default_rng(0).random((50, 2)):
        solution = solve(model, start=start)
        assert solution.x == pytest.approx([0.0, 20 / 40.125], abs=1e-6)
        assert solution.iterations <= 10


def test_contradiction_is_settled_in_the_middle() -> None:
    model = model_of([([(0, -1.0)], 1.0, 5.0), ([(0, 1.0)], 0.0, 5.0)], [0.5])
    assert solve(model).x[0] == pytest.approx(0.5)


@pytest.mark.parametrize("p", [1, 2])
def test_huge_weights_pull_a_chain_all_the_way(p: int) -> None:
    rows = [([(i, 1.0), (i + 1, -1.0)], 0.0, 1e9) for i in range(50)] + [([(0, -1.0)], 1.0, 1e9)]
    solution = solve(model_of(rows, np.full(51, 0.5)), SolverOptions(p=p))
    assert solution.x == pytest.approx(np.ones(51), abs=1e-5)
    assert np.isfinite(solution.objective)


def test_huge_and_small_weights_agree_with_a_qp_solver() -> None:
    rows = [([(0, 1.0), (1, 1.0), (2, -1.0)], -1.0, 1e9), ([(0, -1.0)], 1.0, 1.0), ([(1, -1.0)], 1.0, 0.1)]
    model = model_of([*rows, ([(2, 1.0)], 0.0, 0.3)], [0.5, 0.5, 0.5])
    assert solve(model).x == pytest.approx(solve_by_clarabel(model), abs=1e-5)


def test_a_variable_in_very_many_rows() -> None:
    n = 100_000
    model = Model(
        indptr=np.arange(0, 2 * n + 2, 2)[: n + 1],
        indices=np.column_stack([np.zeros(n), np.arange(1, n + 1)]).ravel().astype(np.int32),
        coef=np.tile([1.0, -1.0], n),
        offset=np.full(n, 0.4),
        weight=np.linspace(0.1, 1.0, n),
        prior=np.full(n + 1, 0.5),
        strength=np.full(n + 1, EPS),
    )
    solution = solve(model)
    assert solution.residual <= 2e-6 * EPS
    assert solution.x[0] < 0.5 < solution.x[1:].min()


def test_step_limit_is_kept_and_the_residual_says_what_was_missed() -> None:
    rng = np.random.default_rng(0)
    rows = [([(int(a), 1.0), (int(b), -1.0)], 0.4, 1.0) for a, b in rng.integers(0, 200, (800, 2)) if a != b]
    model = model_of(rows, rng.random(200))
    stopped = solve(model, SolverOptions(max_iterations=1), start=rng.random(200))
    assert stopped.iterations == 1
    assert stopped.residual == pytest.approx(np.abs(projected_gradient(model, stopped.x)).max())
    assert stopped.residual > 2e-6 * EPS >= solve(model).residual


@pytest.mark.parametrize("name", ["coef", "offset", "weight", "prior", "strength"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(name: str, value: float) -> None:
    model = model_of([([(0, 1.0)], 0.0, 1.0)], [0.5])
    with pytest.raises(InputError, match=rf"{name}\[0\]"):
        dataclasses.replace(model, **{name: np.array([value])})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"weight": np.array([-1.0])}, "weight is negative"),
        ({"strength": np.array([0.0])}, "strength is not positive"),
        ({"indices": np.array([1], np.int32)}, "no prior"),
        ({"indptr": np.array([0, 2])}, "indptr"),
        ({"indptr": np.array([0])}, "indptr"),
        ({"coef": np.array([1.0, 1.0])}, "coef"),
        ({"offset": np.array([[1.0]])}, "dimensions"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changes: dict[str, np.ndarray], reason: str) -> None:
    model = model_of([([(0, 1.0)], 0.0, 1.0)], [0.5])
    with pytest.raises(InputError, match=reason):
        dataclasses.replace(model, **changes)


def test_options_and_starts_that_make_no_sense_are_refused() -> None:
    for wrong in ({"p": 3}, {"tolerance": 0.0}, {"max_iterations": 0}, {"threads": 0}):
        with pytest.raises(InputError):
            SolverOptions(**wrong)
    model = model_of([], [0.5])
    for start in (np.array([np.nan]), np.array([0.1, 0.2])):
        with pytest.raises(InputError, match="start"):
            solve(model, start=start)


def test_inputs_are_left_as_they_were() -> None:
    model = model_of([([(0, 1.0), (1, -1.0)], 0.5, 1.0)], [0.9, 0.1])
    before = [getattr(model, field.name).copy() for field in dataclasses.fields(model)]
    start = np.array([0.3, 0.4])
    solve(model, LINEAR, start)
    assert isinstance(solve(model, start=start), Solution)
    assert start.tolist() == [0.3, 0.4]
    for field, old in zip(dataclasses.fields(model), before, strict=True):
        assert (getattr(model, field.name) == old).all()

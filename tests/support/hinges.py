"""Small random hinge models and independent ways to judge and solve them."""

import clarabel
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import optimize, sparse

from rdf_kgeval.inference.solver.solve import Model

Array = NDArray[np.float64]


def model_of(
    rows: list[tuple[list[tuple[int, float]], float, float]], prior: object, strength: object = 0.05
) -> Model:
    """A model from rows of ([(variable, coefficient), ...], offset, weight)."""
    priors = np.atleast_1d(np.asarray(prior, float))
    return Model(
        indptr=np.cumsum([0] + [len(terms) for terms, _, _ in rows]),
        indices=np.array([i for terms, _, _ in rows for i, _ in terms], np.int32),
        coef=np.array([c for terms, _, _ in rows for _, c in terms], float),
        offset=np.array([offset for _, offset, _ in rows], float),
        weight=np.array([weight for _, _, weight in rows], float),
        prior=priors,
        strength=np.broadcast_to(np.asarray(strength, float), priors.shape).copy(),
    )


@st.composite
def models(draw: st.DrawFn) -> Model:
    """Logical rules as coupling graphs give them, mixed with any small hinges, repeats and constants."""
    n = draw(st.integers(1, 10))
    variable = st.integers(0, n - 1)
    weight = st.sampled_from([0.0, 0.05, 0.3, 1.0, 20.0])
    rows = []
    for _ in range(draw(st.integers(0, 25))):
        if draw(st.booleans()):
            coefficient = st.sampled_from([-2.0, -1.0, -0.5, 0.5, 1.0, 3.0])
            terms = draw(st.lists(st.tuples(variable, coefficient), max_size=4))
            # Multipliers of linear hinges settle too slowly where an offset is below the tolerance.
            offset = round(draw(st.floats(-2, 2)), 6)
            rows.append((terms, offset, draw(weight)))
        else:
            atoms = draw(st.lists(variable, min_size=1, max_size=min(3, n), unique=True))
            denial = draw(st.booleans())
            terms = [(i, 1.0) for i in atoms[: len(atoms) if denial else -1]]
            terms += [] if denial else [(atoms[-1], -1.0)]
            known = draw(st.integers(0, 1))
            rows.append((terms, known - max(0, len(terms) - 1 - (not denial) + known), draw(weight)))
    prior = draw(st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]), min_size=n, max_size=n))
    strength = draw(st.lists(st.sampled_from([0.05, 0.5]), min_size=n, max_size=n))
    return model_of(rows, prior, strength)


def dense(model: Model) -> Array:
    """The rows as a matrix."""
    matrix = sparse.csr_matrix((model.coef, model.indices, model.indptr), (model.n_rows, model.n_variables))
    return np.asarray(matrix.todense())


def objective(model: Model, x: Array, p: int = 2) -> float:
    """What a solution minimises."""
    hinge = np.maximum(0.0, dense(model) @ x + model.offset)
    return float(model.weight @ hinge**p + model.strength @ (x - model.prior) ** 2)


def projected_gradient(model: Model, x: Array) -> Array:
    """Of the squared hinges."""
    matrix = dense(model)
    hinge = np.maximum(0.0, matrix @ x + model.offset)
    gradient = 2 * matrix.T @ (model.weight * hinge) + 2 * model.strength * (x - model.prior)
    held = ((x <= 0) & (gradient > 0)) | ((x >= 1) & (gradient < 0))
    return np.where(held, 0.0, gradient)


def solve_by_lbfgs(model: Model) -> Array:
    """SciPy's L-BFGS-B on the squared hinges, from several starts: from one it may stall far from the minimum."""
    matrix = dense(model)

    def both(x: Array) -> tuple[float, Array]:
        hinge = np.maximum(0.0, matrix @ x + model.offset)
        gradient = 2 * matrix.T @ (model.weight * hinge) + 2 * model.strength * (x - model.prior)
        return objective(model, x), gradient

    bounds = [(0.0, 1.0)] * model.n_variables
    options = {"ftol": 1e-15, "gtol": 1e-12, "maxiter": 10_000, "maxfun": 100_000}
    starts = [model.prior, *np.random.default_rng(0).random((8, model.n_variables))]
    ends = (
        optimize.minimize(both, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        for start in starts
    )
    return np.asarray(min(ends, key=lambda end: float(end.fun)).x)


def solve_by_clarabel(model: Model, p: int = 2) -> Array:
    """An interior-point QP solver, with one more variable per hinge."""
    real = (model.weight > 0) & (np.diff(model.indptr) > 0)
    matrix, offset, weight = sparse.csc_matrix(dense(model)[real]), model.offset[real], model.weight[real]
    n, m = model.n_variables, len(weight)
    quadratic = np.concatenate([2 * model.strength, 2 * weight if p == 2 else np.zeros(m)])
    linear = np.concatenate([-2 * model.strength * model.prior, np.zeros(m) if p == 2 else weight])
    eye, none = sparse.identity(n), sparse.csc_matrix((n, m))
    constraints = sparse.bmat(
        [
            [matrix, -sparse.identity(m)],
            [sparse.csc_matrix((m, n)), -sparse.identity(m)],
            [-eye, none],
            [eye, none],
        ],
        format="csc",
    )
    bounds = np.concatenate([-offset, np.zeros(m), np.zeros(n), np.ones(n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solver = clarabel.DefaultSolver(
        sparse.diags(quadratic, format="csc"),
        linear,
        constraints,
        bounds,
        [clarabel.NonnegativeConeT(2 * m + 2 * n)],
        settings,
    )
    return np.clip(np.array(solver.solve().x)[:n], 0.0, 1.0)

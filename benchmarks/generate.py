"""Random ground models as coupling graphs give them: mostly Horn rules, some denials, a tenth observed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdf_kgeval.inference.solver.solve import Model

RULES_PER_ATOM = 4
LEVELS = np.arange(1, 11) / 10
STRENGTH = 0.05


@dataclass(frozen=True)
class Ground:
    """Ground rules over atoms: `kind` 0 is a & b -> c, 1 is a -> c, 2 is a -> not b."""

    kind: NDArray[np.int8]
    atoms: NDArray[np.int32]
    """One row of three atoms per rule: body, body or -1, head (of a denial: the second body)."""
    level: NDArray[np.int8]
    """Which of LEVELS is the rule's weight."""
    observed: NDArray[np.float64]
    """Truth of each atom, NaN where not observed."""


def generate(rules: int, *, giant: bool, seed: int = 0, largest: int = 2000) -> Ground:
    """Draw `rules` ground rules, either over all atoms or inside blocks of 10 to `largest` atoms.

    Block sizes are log-uniform, so most blocks are small and most atoms are in large ones.
    """
    rng = np.random.default_rng(seed)
    n = max(3, rules // RULES_PER_ATOM)
    first, size = np.zeros(n, np.int64), np.full(n, n)
    if not giant:
        sizes = np.exp(rng.uniform(np.log(10), np.log(largest), n // 10 + 1)).astype(np.int64)
        ends = np.cumsum(sizes)
        block = np.searchsorted(ends, np.arange(n), side="right")
        first = (ends - sizes)[block]
        size = np.minimum(sizes[block], n - first)
    anchor = rng.integers(0, n, rules)
    others = (first[anchor, None] + rng.random((rules, 2)) * size[anchor, None]).astype(np.int64)
    atoms = np.column_stack([anchor, others]).astype(np.int32)
    distinct = (atoms[:, 0] != atoms[:, 1]) & (atoms[:, 0] != atoms[:, 2]) & (atoms[:, 1] != atoms[:, 2])
    atoms = atoms[distinct]
    kind = rng.choice(3, len(atoms), p=[0.6, 0.3, 0.1]).astype(np.int8)
    atoms[kind != 0, 1] = -1
    observed = np.where(rng.random(n) < 0.1, rng.integers(0, 2, n).astype(float), np.nan)
    return Ground(kind, atoms, rng.integers(0, len(LEVELS), len(atoms)).astype(np.int8), observed)


def to_model(ground: Ground) -> tuple[Model, NDArray[np.int64]]:
    """Substitute what is observed; also the atom behind each variable."""
    free = np.isnan(ground.observed)
    number = np.cumsum(free) - 1
    present = ground.atoms >= 0
    sign = np.ones(ground.atoms.shape)
    sign[ground.kind != 2, 2] = -1.0
    truth = np.where(present, np.nan_to_num(ground.observed)[ground.atoms], 0.0)
    offset = (sign * truth).sum(axis=1) - np.where(ground.kind == 1, 0.0, 1.0)
    variable = present & free[ground.atoms]
    indptr = np.concatenate([[0], np.cumsum(variable.sum(axis=1))]).astype(np.int64)
    n = int(free.sum())
    model = Model(
        indptr=indptr,
        indices=number[ground.atoms[variable]].astype(np.int32),
        coef=sign[variable],
        offset=offset,
        weight=LEVELS[ground.level],
        prior=np.full(n, 0.5),
        strength=np.full(n, STRENGTH),
    )
    return model, np.flatnonzero(free)

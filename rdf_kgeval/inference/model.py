"""From a coupling graph and verdicts to the arrays that the solver takes."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rdf_kgeval.beliefs.table import Role
from rdf_kgeval.common.types import Bools, Float64s, Int32s
from rdf_kgeval.coupling.graph import CouplingGraph, Thetas
from rdf_kgeval.errors import InputError
from rdf_kgeval.inference.solver.solve import Model
from rdf_kgeval.rules.rule import EPSILON

UNKNOWN = 0.5
"""The prior of a belief without evidence for or against it."""


@dataclass(frozen=True)
class PosedModel:
    """A model, and the atom of each variable and the constraint of each row."""

    model: Model
    atom: Int32s
    """The atom of each variable, ascending."""
    constraint: Int32s
    """The constraint of each row, ascending."""
    x: Float64s
    """Every atom's value where it is not a variable: given, clamped, or in no constraint that matters."""

    def spread(self, x: Float64s) -> Float64s:
        """Fill in the values of all atoms from those of the variables."""
        whole = self.x.copy()
        whole[self.atom] = x
        return whole


def pose(
    graph: CouplingGraph,
    verdicts: Mapping[int, float],
    thetas: Thetas | None = None,
    prior: Float64s | None = None,
    among: Int32s | None = None,
) -> PosedModel:
    """Substitute what is known and leave out the constraints that nothing can violate any more.

    Args:
        graph: what couples the atoms.
        verdicts: by row, 1 or 0 for a sure verdict, which clamps; between them, the probability q that the
            belief is true, which takes the prior's place with the strength EPSILON / (4 q (1 - q)): at
            q = 1/2 it is the prior of an unknown belief, and towards a sure verdict it grows to a clamp. A
            belief that nothing else touches ends at q.
        thetas: each rule's weights, its own by default; where a verdict says that a constraint's head is
            false, its weight is the backward one.
        prior: each atom's prior, UNKNOWN by default.
        among: the only atoms that may move, ascending; all by default. Others stay at their prior.
    """
    n = graph.n_atoms
    mean = np.full(n, UNKNOWN) if prior is None else np.asarray(prior, dtype=np.float64).copy()
    if mean.shape != (n,) or not ((mean >= 0) & (mean <= 1)).all():
        raise InputError(f"the prior must be {n} numbers between 0 and 1, one for each atom")
    fixed = np.zeros(n, dtype=bool) if among is None else np.ones(n, dtype=bool)
    if among is not None:
        fixed[among] = False
    given = np.flatnonzero(graph.beliefs.role == Role.GIVEN)
    mean[given], fixed[given] = 1.0, True
    unsure: dict[int, float] = {}
    for row, q in verdicts.items():
        if not 0 <= row < len(graph.beliefs):
            raise InputError(f"there is no belief in row {row}; the graph has {len(graph.beliefs)} rows")
        if not 0 <= q <= 1:
            raise InputError(f"a verdict is 1, 0 or a probability between them, not {q}")
        mean[row] = q
        if q in (0.0, 1.0):
            fixed[row] = True
        else:
            unsure[row] = EPSILON / (4.0 * q * (1.0 - q))
    rows = None if among is None else open_to_violation(graph, among, verdicts)
    weight = constraint_weights(graph, thetas, [row for row, q in verdicts.items() if q == 0.0], rows)
    return _reduce(graph, rows, weight, mean, unsure, fixed)


def open_to_violation(graph: CouplingGraph, among: Int32s, verdicts: Mapping[int, float]) -> Int32s:
    """Find the constraints that can be violated while only these atoms and judged ones are off the prior.

    A constraint of several atoms that are all at their prior is not violated. One of a single atom may be:
    those come first in the graph.
    """
    alone = bisect_left(range(graph.n_constraints), True, key=lambda j: bool(graph.start[j + 1] > j + 1))
    moved = np.union1d(among, np.array(list(verdicts), dtype=np.int32))
    return np.union1d(graph.touching(moved), np.arange(alone, dtype=np.int32))


def constraint_weights(
    graph: CouplingGraph, thetas: Thetas | None, false: Sequence[int], rows: Int32s | None = None
) -> Float64s:
    """Compute the weight of each constraint, or of these, given the atoms that people judged false."""
    if thetas is None:
        return graph.weights(rows=rows)
    weight = graph.weights(thetas.forward, rows)
    refuted = graph.concluding(false)
    if rows is not None:
        refuted = np.intersect1d(refuted, rows, assume_unique=True)
    weight[refuted if rows is None else np.searchsorted(rows, refuted)] = graph.weights(
        thetas.backward, refuted
    )
    return weight


def _reduce(
    graph: CouplingGraph,
    rows: Int32s | None,
    weight: Float64s,
    mean: Float64s,
    unsure: Mapping[int, float],
    fixed: Bools,
) -> PosedModel:
    part = graph.part(rows)
    n = len(part.offset)
    row_of = np.repeat(np.arange(n), np.diff(part.start))
    is_fixed = fixed[part.atom]
    settled = part.sign * np.where(is_fixed, mean[part.atom], 0.0)
    offset = part.offset + np.bincount(row_of, settled, n)
    highest = offset + np.bincount(row_of[~is_fixed & (part.sign > 0)], minlength=n)
    kept = (highest > 0) & (weight > 0)
    entry = kept[row_of] & ~is_fixed
    atom, variable = np.unique(part.atom[entry], return_inverse=True)
    sizes = np.bincount(row_of[entry], minlength=n)[kept]
    strength = np.full(len(atom), EPSILON)
    for row, value in unsure.items():
        strength[atom == row] = value
    model = Model(
        indptr=np.concatenate([[0], np.cumsum(sizes)]),
        indices=variable.astype(np.int32),
        coef=part.sign[entry].astype(np.float64),
        offset=offset[kept].astype(np.float64),
        weight=weight[kept],
        prior=mean[atom],
        strength=strength,
    )
    constraint = np.flatnonzero(kept) if rows is None else rows[kept]
    return PosedModel(model, atom.astype(np.int32), constraint.astype(np.int32), mean)

"""From a coupling graph and verdicts to the arrays that the solver takes."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdf_kgeval.beliefs import Ints, Role
from rdf_kgeval.coupling import CouplingGraph, Thetas
from rdf_kgeval.errors import InputError
from rdf_kgeval.inference.solver import Model
from rdf_kgeval.rule import EPSILON

Floats = NDArray[np.float64]

UNKNOWN = 0.5
"""The prior of a belief that nothing speaks for or against."""


@dataclass(frozen=True)
class Posed:
    """A model, and how its variables and rows stand for atoms and constraints."""

    model: Model
    atom: Ints
    """The atom of each variable, ascending."""
    constraint: Ints
    """The constraint of each row, ascending."""
    x: Floats
    """Every atom's value where it is not a variable: given, clamped, or in no constraint that matters."""

    def spread(self, x: Floats) -> Floats:
        """Values of all atoms from those of the variables."""
        whole = self.x.copy()
        whole[self.atom] = x
        return whole


def pose(
    graph: CouplingGraph,
    verdicts: Mapping[int, float],
    thetas: Thetas | None = None,
    prior: Floats | None = None,
) -> Posed:
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
    """
    n = graph.n_atoms
    mean = np.full(n, UNKNOWN) if prior is None else np.asarray(prior, dtype=np.float64).copy()
    if mean.shape != (n,) or not ((mean >= 0) & (mean <= 1)).all():
        raise InputError(f"the prior must be {n} numbers between 0 and 1, one for each atom")
    strength = np.full(n, EPSILON)
    known = np.zeros(n, dtype=bool)
    known[: len(graph.beliefs)] = graph.beliefs.role == Role.GIVEN
    mean[known] = 1.0
    for row, q in verdicts.items():
        if not 0 <= row < len(graph.beliefs):
            raise InputError(f"there is no belief in row {row}; the graph has {len(graph.beliefs)} rows")
        if not 0 <= q <= 1:
            raise InputError(f"a verdict is 1, 0 or a probability between them, not {q}")
        mean[row] = q
        if q in (0.0, 1.0):
            known[row] = True
        else:
            strength[row] = EPSILON / (4.0 * q * (1.0 - q))
    return _reduce(graph, constraint_weights(graph, thetas, known & (mean == 0.0)), mean, strength, known)


def constraint_weights(graph: CouplingGraph, thetas: Thetas | None, false: NDArray[np.bool_]) -> Floats:
    """Each constraint's weight, given which atoms people said are false."""
    if thetas is None:
        return graph.weights()
    weight = graph.weights(thetas.forward)
    entry = np.flatnonzero((graph.sign < 0) & false[graph.atom])
    refuted = np.searchsorted(graph.start, entry, side="right") - 1
    weight[refuted] = graph.weights(thetas.backward)[refuted]
    return weight


def _reduce(
    graph: CouplingGraph, weight: Floats, mean: Floats, strength: Floats, known: NDArray[np.bool_]
) -> Posed:
    row_of = np.repeat(np.arange(graph.n_constraints), np.diff(graph.start))
    fixed = known[graph.atom]
    settled = graph.sign * np.where(fixed, mean[graph.atom], 0.0)
    offset = graph.offset + np.bincount(row_of, settled, graph.n_constraints)
    highest = offset + np.bincount(row_of[~fixed & (graph.sign > 0)], minlength=graph.n_constraints)
    kept = (highest > 0) & (weight > 0)
    entry = kept[row_of] & ~fixed
    atom, variable = np.unique(graph.atom[entry], return_inverse=True)
    sizes = np.bincount(row_of[entry], minlength=graph.n_constraints)[kept]
    model = Model(
        indptr=np.concatenate([[0], np.cumsum(sizes)]),
        indices=variable.astype(np.int32),
        coef=graph.sign[entry].astype(np.float64),
        offset=offset[kept].astype(np.float64),
        weight=weight[kept],
        prior=mean[atom],
        strength=strength[atom],
    )
    return Posed(model, atom.astype(np.int32), np.flatnonzero(kept).astype(np.int32), mean)

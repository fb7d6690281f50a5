"""Evidence: for every belief at once, the constraints that pushed it to its soft truth.

The same choice as `inference.explanation` makes for one belief, in arrays, because a record explains all.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rdf_kgeval.beliefs import Ints
from rdf_kgeval.inference.explanation import LEAST_SHARE, MOST_REASONS
from rdf_kgeval.inference.inference import Inference
from rdf_kgeval.inference.model import UNKNOWN, constraint_weights


class Evidence(NamedTuple):
    """Pairs of an atom and a constraint that pushed it, by atom, the strongest push first."""

    atom: Ints
    constraint: Ints


def find_evidence(inference: Inference, atoms: Ints) -> Evidence:
    """The strongest violated constraints that push each atom to where it went from the prior.

    Args:
        inference: what followed from the verdicts.
        atoms: the atoms to explain, ascending.
    """
    graph, x = inference.graph, inference.x
    if not graph.n_constraints or not len(atoms):
        return Evidence(np.zeros(0, np.int32), np.zeros(0, np.int32))
    entries = _entries(graph.atom_start, atoms)
    constraint, atom = graph.constraint[entries], np.repeat(atoms, np.diff(graph.atom_start)[atoms])
    push = -graph.constraint_sign[entries] * _force(inference)[constraint]
    towards = push * (x[atom] - UNKNOWN) > 0
    atom, constraint, push = atom[towards], constraint[towards], np.abs(push[towards])
    order = np.lexsort((constraint, -push, atom))
    atom, constraint, push = atom[order], constraint[order], push[order]
    rank = np.arange(len(atom)) - np.searchsorted(atom, atom)
    total = np.bincount(atom, push, minlength=graph.n_atoms)[atom]
    chosen = (rank == 0) | ((rank < MOST_REASONS) & (push >= LEAST_SHARE * total))
    return Evidence(atom[chosen], constraint[chosen])


def find_broken(inference: Inference) -> Ints:
    """The constraints that what people said breaks: the body is true, and the head is not."""
    graph = inference.graph
    if not graph.n_constraints:
        return np.zeros(0, np.int32)
    known = np.zeros(graph.n_atoms, dtype=bool)
    known[list(inference.verdicts)] = True
    sure = np.logical_and.reduceat(known[graph.atom], graph.start[:-1])
    return np.flatnonzero(sure & (_hinge(inference) > UNKNOWN)).astype(np.int32)


def _hinge(inference: Inference) -> NDArray[np.float64]:
    """How far each constraint is violated; negative where it holds with room to spare."""
    graph = inference.graph
    parts = graph.sign * inference.x[graph.atom]
    return np.asarray(graph.offset + np.add.reduceat(parts, graph.start[:-1]))


def _force(inference: Inference) -> NDArray[np.float64]:
    """How strongly each constraint pushes its atoms."""
    graph = inference.graph
    false = np.zeros(graph.n_atoms, dtype=bool)
    false[[row for row, value in inference.verdicts.items() if value == 0.0]] = True
    weight = constraint_weights(graph, inference.thetas, false)
    return np.asarray(weight * np.maximum(0.0, _hinge(inference)))


def _entries(start: NDArray[np.int64], chosen: Ints) -> NDArray[np.int64]:
    """The places start[i]:start[i + 1] of every chosen i, one after the other."""
    sizes = np.diff(start)[chosen]
    shift = np.repeat(start[chosen] - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
    return shift + np.arange(sizes.sum())

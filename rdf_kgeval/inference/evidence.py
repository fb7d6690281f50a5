"""Evidence: for every belief at once, the constraints that pushed it to its soft truth.

The same choice as `inference.explanation` makes for one belief, in arrays, because a record explains all.
"""

from typing import NamedTuple

import numpy as np

from rdf_kgeval.common.types import Float64s, Int32s
from rdf_kgeval.coupling.graph import ranges
from rdf_kgeval.inference.explanation import LEAST_SHARE, MOST_REASONS
from rdf_kgeval.inference.infer import Inference
from rdf_kgeval.inference.model import UNKNOWN, constraint_weights


class Evidence(NamedTuple):
    """Pairs of an atom and a constraint that pushed it, by atom, the strongest push first."""

    atom: Int32s
    constraint: Int32s


def find_evidence(inference: Inference, atoms: Int32s) -> Evidence:
    """The strongest violated constraints that push each atom to where it went from the prior.

    Args:
        inference: what followed from the verdicts.
        atoms: the atoms to explain, ascending.
    """
    graph, x = inference.graph, inference.x
    atoms = atoms[x[atoms] != UNKNOWN]
    rows = graph.touching(atoms)
    if not len(rows):
        return Evidence(np.zeros(0, np.int32), np.zeros(0, np.int32))
    start, entries = ranges(graph.atom_start, atoms)
    constraint, atom = graph.constraint[entries], np.repeat(atoms, np.diff(start))
    false = [row for row, value in inference.verdicts.items() if value == 0.0]
    weight = constraint_weights(graph, inference.thetas, false, rows)
    force = weight * np.maximum(0.0, _hinge(inference, rows))
    push = -graph.constraint_sign[entries] * force[np.searchsorted(rows, constraint)]
    towards = push * (x[atom] - UNKNOWN) > 0
    atom, constraint, push = atom[towards], constraint[towards], np.abs(push[towards])
    order = np.lexsort((constraint, -push, atom))
    atom, constraint, push = atom[order], constraint[order], push[order]
    rank = np.arange(len(atom)) - np.searchsorted(atom, atom)
    total = np.bincount(atom, push, minlength=graph.n_atoms)[atom]
    chosen = (rank == 0) | ((rank < MOST_REASONS) & (push >= LEAST_SHARE * total))
    return Evidence(atom[chosen], constraint[chosen])


def find_broken(inference: Inference) -> Int32s:
    """The constraints that what people said breaks: the body is true, and the head is not."""
    verdicts = sorted(inference.verdicts)
    rows = inference.graph.touching(np.array(verdicts, dtype=np.int64))
    if not len(rows):
        return rows
    part = inference.graph.part(rows)
    sure = np.logical_and.reduceat(np.isin(part.atom, verdicts), part.start[:-1])
    return rows[sure & (_hinge(inference, rows) > UNKNOWN)]


def _hinge(inference: Inference, rows: Int32s) -> Float64s:
    """How far these constraints are violated; negative where one holds with room to spare."""
    part = inference.graph.part(rows)
    values = part.sign * inference.x[part.atom]
    return np.asarray(part.offset + np.add.reduceat(values, part.start[:-1]))

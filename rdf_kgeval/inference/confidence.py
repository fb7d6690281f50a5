"""How far each rule is to be trusted, after people have judged some of its groundings."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdf_kgeval.beliefs import Role
from rdf_kgeval.coupling import CouplingGraph
from rdf_kgeval.rule import theta as theta_of

Floats = NDArray[np.float64]

PRIOR_STRENGTH = 10.0
"""A rule's own confidence counts as so many judged groundings, in each direction."""


@dataclass(frozen=True)
class Track:
    """What verdicts say of one rule, as counts of groundings."""

    forward: int
    """Groundings with a true body and a judged head."""
    forward_held: int
    """Those of them whose head is true."""
    backward: int
    """Groundings with a false head and a body of which it is known whether it is all true."""
    backward_held: int
    """Those of them whose body is not all true."""

    def confidence(self, prior: float) -> float:
        """The lower of the two posterior means; the prior is the same for both."""
        return min(
            (PRIOR_STRENGTH * prior + self.forward_held) / (PRIOR_STRENGTH + self.forward),
            (PRIOR_STRENGTH * prior + self.backward_held) / (PRIOR_STRENGTH + self.backward),
        )


def track_rules(graph: CouplingGraph, verdicts: Mapping[int, float]) -> list[Track]:
    """Count, for each rule, how its groundings fared under the sure verdicts.

    A denial `not (a_1 & ... & a_k)` has no head. Its groundings are counted where all atoms but one are known
    to be true and that one is judged: it held if that one is false.
    """
    value = np.full(graph.n_atoms, np.nan)
    value[: len(graph.beliefs)][graph.beliefs.role == Role.GIVEN] = 1.0
    for row, q in verdicts.items():
        if q in (0.0, 1.0):
            value[row] = q
    n = graph.n_constraints
    row_of = np.repeat(np.arange(n), np.diff(graph.start))
    body = graph.sign > 0
    of_body, of_head = value[graph.atom[body]], value[graph.atom[~body]]

    def count(chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.bincount(row_of[body][chosen], minlength=n)

    size, true, false = count(np.ones(len(of_body), bool)), count(of_body == 1.0), count(of_body == 0.0)
    head = np.full(n, np.nan)
    head[row_of[~body]] = of_head
    denial = np.ones(n, dtype=bool)
    denial[row_of[~body]] = False
    forward = np.where(denial, (true >= size - 1) & (true + false == size), (true == size) & ~np.isnan(head))
    forward_held = forward & np.where(denial, false == 1, head == 1.0)
    backward = ~denial & (head == 0.0) & ((false > 0) | (true == size))
    backward_held = backward & (false > 0)
    constraint_of = np.repeat(np.arange(n), np.diff(graph.rule_start))
    totals = [
        np.bincount(graph.rule, graph.count * flags[constraint_of], len(graph.rules)).astype(int)
        for flags in (forward, forward_held, backward, backward_held)
    ]
    return [Track(*(int(total[i]) for total in totals)) for i in range(len(graph.rules))]


def updated_theta(graph: CouplingGraph, verdicts: Mapping[int, float]) -> Floats:
    """Each rule's weight after the verdicts; a rule whose weight was set by hand keeps it."""
    tracks = track_rules(graph, verdicts)
    return np.array(
        [
            rule.theta if rule.weight is not None else theta_of(track.confidence(rule.trust))
            for rule, track in zip(graph.rules, tracks, strict=True)
        ],
        dtype=np.float64,
    )

"""Rule weights: how far to trust each rule after people have judged some of its groundings.

Truth and falsity travel apart. Forwards counts how often the head is true given a true body; backwards, how
often the body is not all true given a false head. The second follows from the first and from how many beliefs
are true at all: of 100 beliefs with 10 false ones, a rule that fails in 5 of 100 groundings explains half of
the false heads by itself, so that a false head speaks against its body in the other half only.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from rdf_kgeval.common.types import Bools, Float64s, Int32s, Int64s
from rdf_kgeval.coupling.graph import CouplingGraph, Thetas, ranges
from rdf_kgeval.rules.rule import Rule
from rdf_kgeval.rules.rule import theta as theta_of

PRIOR_STRENGTH = 10.0
"""The number of judged heads that a rule's own confidence counts as, in each direction."""


@dataclass(frozen=True)
class Track:
    """What verdicts say of one rule, in judged heads; a head of several groundings counts by their shares.

    Groundings that share a head are not independent of one another, so they do not add up.
    """

    forward: float
    """Heads that are judged and have a grounding with a true body."""
    forward_held: float
    """Those of them that are true."""
    backward: float
    """False heads that have a grounding whose body is known to be all true, or known not to be."""
    backward_held: float
    """Those of them whose body is not all true."""

    def confidence(self, rule: Rule, accuracy: float) -> tuple[float, float]:
        """Compute the posterior means forwards and backwards.

        The rule's confidence c is the prior forwards. Backwards, an axiom has the same prior: it is right or
        wrong as a whole. A rule that holds now and then has the prior 1 - P(head false | body true) *
        P(body true) / P(head false), with the accuracy for P(body true) and the rule of succession for the
        first factor, because even a confidence of 1 that counts as ten cases leaves room for a failure.

        Args:
            rule: whose track this is.
            accuracy: share of beliefs that are true, below 1.
        """
        c, n = rule.trust, PRIOR_STRENGTH
        forward = (n * c + self.forward_held) / (n + self.forward)
        failing = 1.0 - (n * c + self.forward_held + 1.0) / (n + self.forward + 2.0)
        prior = c if rule.axiom else max(0.0, min(c, 1.0 - failing * accuracy / (1.0 - accuracy)))
        return forward, (n * prior + self.backward_held) / (n + self.backward)


def track_rules(graph: CouplingGraph, verdicts: Mapping[int, float]) -> list[Track]:
    """Count, for each rule, how its groundings fared under the sure verdicts.

    A denial `not (a_1 & ... & a_k)` has no head. Its groundings are counted, one by one, where all atoms but
    one are known to be true and that one is judged: it held if that one is false.
    """
    sure = {row: q for row, q in verdicts.items() if q in (0.0, 1.0)}
    atoms = np.array(sorted(sure), dtype=np.int64)
    truths = np.array([sure[row] for row in atoms.tolist()], dtype=np.float64)
    rows = graph.touching(atoms)
    part = graph.part(rows)
    n = len(rows)
    value = _look_up(part.atom, atoms, truths)
    row_of = np.repeat(np.arange(n), np.diff(part.start))
    body = part.sign > 0
    size, true, false = (
        np.bincount(row_of[body & chosen], minlength=n)
        for chosen in (np.ones(len(value), bool), value == 1.0, value == 0.0)
    )
    head = np.full(n, -1)
    truth = np.full(n, np.nan)
    head[row_of[~body]], truth[row_of[~body]] = part.atom[~body], value[~body]
    denial = head < 0
    head[denial] = graph.n_atoms + rows[denial]  # a name of its own: groundings of denials share no head
    forward = np.where(denial, (true >= size - 1) & (true + false == size), (true == size) & ~np.isnan(truth))
    backward = (truth == 0.0) & ((false > 0) | (true == size))
    held = np.where(denial, false == 1, truth == 1.0)
    totals = [*_by_head(graph, rows, head, forward, held), *_by_head(graph, rows, head, backward, false > 0)]
    return [Track(*(float(total[i]) for total in totals)) for i in range(len(graph.rules))]


def _look_up(atom: Int32s, atoms: Int64s, truths: Float64s) -> Float64s:
    """Look up the truth of each atom, NaN where it is not known."""
    if not len(atoms):
        return np.full(len(atom), np.nan)
    at = np.minimum(np.searchsorted(atoms, atom), len(atoms) - 1)
    return np.where(atoms[at] == atom, truths[at], np.nan)


def _by_head(
    graph: CouplingGraph, rows: Int32s, head: Int64s, judged: Bools, held: Bools
) -> tuple[Float64s, Float64s]:
    """Count, for each rule, the heads that are judged, and sum over them the share that held.

    Constraints are the rows; the other columns are beside them.
    """
    start, at = ranges(graph.rule_start, rows[judged])
    constraint = np.repeat(np.flatnonzero(judged), np.diff(start))
    rule = graph.rule[at]
    pairs, number = np.unique(np.column_stack([rule, head[constraint]]), axis=0, return_inverse=True)
    share = np.bincount(number, held[constraint].astype(np.float64), len(pairs)) / np.bincount(
        number, minlength=len(pairs)
    )
    size = len(graph.rules)
    judged_heads = np.bincount(pairs[:, 0], minlength=size).astype(np.float64)
    return judged_heads, np.bincount(pairs[:, 0], share, size).astype(np.float64)


def updated_thetas(
    graph: CouplingGraph, verdicts: Mapping[int, float], sample: Collection[float] | None = None
) -> Thetas:
    """Learn each rule's weights from the verdicts.

    A rule whose weight was set by hand keeps it, and one that is idle forwards is so backwards.

    Args:
        graph: what couples the beliefs.
        verdicts: by row, 1 or 0.
        sample: verdicts on beliefs drawn at random, which tell how many are true at all; by default all.
    """
    sample = [q for q in verdicts.values() if q in (0.0, 1.0)] if sample is None else sample
    accuracy = (sum(sample) + 1.0) / (len(sample) + 2.0)
    forward, backward = graph.theta.copy(), graph.theta.copy()
    for i, (rule, track) in enumerate(zip(graph.rules, track_rules(graph, verdicts), strict=True)):
        if rule.weight is None:
            forward[i], backward[i] = map(theta_of, track.confidence(rule, accuracy))
    return Thetas(forward, np.where(forward > 0.0, backward, 0.0))

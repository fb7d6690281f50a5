"""Sample by two-stage weighted clusters (Gao et al., PVLDB 2019), as published.

Subjects are drawn with replacement and with probability proportional to their number of beliefs; of each, up
to 3 beliefs are drawn without replacement. Asking about one subject's beliefs together saves its
identification.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from rdf_kgeval.common.types import Float64s, Int8s, Int64s
from rdf_kgeval.estimation import intervals
from rdf_kgeval.estimation.design import DesignOptions, Estimate, SequentialDesign
from rdf_kgeval.estimation.groups import estimate_groups
from rdf_kgeval.estimation.intervals import Interval
from rdf_kgeval.estimation.population import Population
from rdf_kgeval.estimation.srs import MINIMUM
from rdf_kgeval.verdicts.log import AMBIGUOUS, FALSE, TRUE

SECOND_STAGE = 3
"""Most beliefs of a drawn subject to ask about."""
_CLUSTERS = 32


def effective_size(clusters: int, labels: int, total: float, squares: float) -> float:
    """Return the number of single draws that would be as precise, `N^2 * p * (1 - p) / sum (m_i - p)^2`.

    Args:
        clusters: The number N of drawn clusters.
        labels: The number of labels in them: what counts where all cluster means m_i agree.
        total: The sum of the cluster means; p is their mean.
        squares: The sum of their squares.
    """
    p = total / clusters
    spread = squares - clusters * p * p
    if spread <= 1e-9:
        return float(labels)
    return clusters * clusters * p * (1 - p) / spread


class Twcs(SequentialDesign):
    """Clusters in a seeded order; estimates use whole clusters only."""

    adaptive = False

    def __init__(
        self, population: Population, options: DesignOptions, interval: Callable[[float, float], Interval]
    ) -> None:
        self._interval = interval
        rest = np.flatnonzero(population.known < 0)
        self._members = rest[np.argsort(population.subject[rest], kind="stable")]
        subject = population.subject[self._members]
        new = np.concatenate([[True], subject[1:] != subject[:-1]]) if len(rest) else np.zeros(0, bool)
        first = np.flatnonzero(new)
        size = np.diff(np.append(first, len(rest)))
        self._first, self._size = np.repeat(first, size), np.repeat(size, size)
        super().__init__(population, options)

    def _restart(self) -> None:
        self._random = np.random.default_rng(self.options.seed)
        self._seen: set[int] = set()
        self._answered: dict[int, int] = {}
        self._ends_at: list[int] = []
        self._in_cluster: list[int] = []
        self._clusters = self._labels = 0
        # Sums over the cluster means and their squares, with the ambiguous counted false, and true.
        self._sums = np.zeros((2, 2))

    def _extend(self) -> tuple[Int64s, Float64s]:
        position: list[int] = []
        chance: list[float] = []
        if len(self._seen) == len(self._members):
            # Once its answers are in, the count is full.
            return np.empty(0, np.int64), np.empty(0)
        for unit in self._random.integers(len(self._members), size=_CLUSTERS):
            size, first = int(self._size[unit]), int(self._first[unit])
            m = min(size, SECOND_STAGE)
            chosen = self._random.choice(size, m, replace=False)
            position += [int(self._members[first + i]) for i in chosen]
            chance += [m / len(self._members)] * m
            self._ends_at += [0] * (m - 1) + [m]
        self._seen.update(position)
        return np.array(position, np.int64), np.array(chance)

    def _observe(self, at: int, answer: int) -> bool:
        m = self._ends_at[at]
        self._answered[int(self._position[at])] = answer
        self._in_cluster.append(answer)
        if not m:
            return False
        true, pending = self._in_cluster.count(TRUE), self._in_cluster.count(AMBIGUOUS)
        for case, share in enumerate((true / m, (true + pending) / m)):
            self._sums[case] += share, share * share
        self._labels += m
        self._clusters += 1
        self._in_cluster = []
        if self.margin is None or len(self._answered) < min(MINIMUM, len(self._members)):
            return False
        (low, high), (least, most) = self._ends(), self._open()
        return min(high - low, most - least) <= 2 * self.margin + 1e-12

    def _ends(self) -> Interval:
        if not self._clusters:
            return 0.0, 1.0
        found = []
        for total, squares in self._sums:
            n = effective_size(self._clusters, self._labels, total, squares)
            found.append(self._interval(n, n * total / self._clusters))
        return found[0][0], found[1][1]

    def _labelled(self) -> tuple[float, float]:
        said = list(self._answered.values())
        return said.count(TRUE), said.count(FALSE)

    def estimate(self, answers: Int8s) -> Estimate:
        """Return the mean of the cluster means, and its interval."""
        self._follow(answers)
        if not len(self._members):
            return self.scale.estimate(0.5, (0.5, 0.5))
        share = float(self._sums[:, 0].mean() / self._clusters) if self._clusters else 0.5
        return self.scale.estimate(share, self._ends(), self._open())

    def estimate_groups(self, answers: Int8s, group: Int64s) -> list[Estimate]:
        """Estimate groups, without intervals: the labels of a cluster are not independent."""
        self._follow(answers)
        asked, options = self._position[: len(self._followed)], self.options
        one = np.zeros_like(group)
        return estimate_groups(
            self.population, group, one, asked, self._followed, options.level, options.error, intervals=False
        )


def twcs_wilson(population: Population, options: DesignOptions) -> Twcs:
    """Make `twcs/wilson`."""
    return Twcs(population, options, partial(intervals.wilson, level=options.level))


def twcs_ahpd(population: Population, options: DesignOptions) -> Twcs:
    """Make `twcs/ahpd`."""
    return Twcs(population, options, partial(intervals.ahpd, level=options.level))

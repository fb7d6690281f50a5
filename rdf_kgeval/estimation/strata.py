"""Divide the beliefs to sample into strata, each in a random order.

Of a population in a store only the head of that order is loaded; a design that comes to its end says which
predicates it needs more of.
"""

import numpy as np

from rdf_kgeval.beliefs.sampling_frame import LARGE
from rdf_kgeval.common.types import Int64s
from rdf_kgeval.estimation.population import Population


def strata_of(sizes: Int64s, by_predicate: bool) -> Int64s:
    """Number each predicate's stratum from 0: its own, or one for all small predicates."""
    own = sizes > 0 if by_predicate else sizes >= LARGE * sizes.sum()
    number: Int64s = np.where(own, np.cumsum(own) - 1, own.sum())
    return number


class Strata:
    """Beliefs by stratum, in the order of the draws.

    Args:
        population: the beliefs.
        number: by predicate, its stratum.
        seed: of the order, where the whole population is loaded; else the order is the reserve's.
    """

    def __init__(self, population: Population, number: Int64s, seed: int) -> None:
        self.of = np.where(population.known < 0, number[population.predicate], 0)
        """By position."""
        self.size = np.bincount(number, population.sizes, minlength=1).astype(np.int64)
        """Beliefs to sample in the population."""
        self.size = self.size[: int(number[population.sizes > 0].max(initial=0)) + 1]
        order = population.shuffled(seed)
        reserve = population.reserve
        if reserve is not None:
            limit = np.full(len(self.size), np.inf)
            there = population.sizes > 0
            np.minimum.at(limit, number[there], reserve.reach[there])
            order = order[reserve.place[order] < limit[self.of[order]]]
        self._number = number
        self._order = order[np.argsort(self.of[order], kind="stable")]
        self.have = np.bincount(self.of[order], minlength=len(self.size))
        """Loaded beliefs, in the order of the draws."""
        self._start = np.cumsum(self.have) - self.have

    def at(self, stratum: int, i: int) -> int:
        """Return the position of a stratum's belief number i."""
        return int(self._order[self._start[stratum] + i])

    def slice(self, stratum: int, start: int, stop: int) -> Int64s:
        """Return the positions of a stratum's loaded beliefs from one number to another."""
        first = int(self._start[stratum])
        found: Int64s = self._order[first + start : first + min(stop, int(self.have[stratum]))]
        return found

    def lacking(self, taken: Int64s) -> Int64s:
        """Return the predicates that need more beliefs before `taken` of each stratum can be drawn."""
        short: Int64s = np.flatnonzero((taken > self.have)[np.minimum(self._number, len(self.size) - 1)])
        return short

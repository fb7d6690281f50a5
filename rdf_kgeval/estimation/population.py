"""Describe the population that a design samples: all beliefs to be evaluated, or the part loaded so far."""

from dataclasses import dataclass
from functools import cached_property
from math import ceil
from statistics import NormalDist

import numpy as np

from rdf_kgeval.common.types import Float64s, Int8s, Int64s
from rdf_kgeval.errors import InputError


@dataclass(frozen=True, eq=False, kw_only=True)
class Reserve:
    """The part loaded so far of a population in a store: the head of a random order of the whole."""

    size: Int64s
    """By predicate: beliefs of the population."""
    reach: Float64s
    """By predicate: every belief whose place is below is loaded."""
    place: Float64s
    """By position: uniform in [0, 1), or 1 for what no draw can fall on."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Population:
    """The beliefs to be evaluated, by position."""

    predicate: Int64s
    """Each belief's predicate, numbered from 0."""
    subject: Int64s
    """Each belief's subject, numbered from 0: the clusters of `twcs`."""
    known: Int8s
    """1 or 0 for what was labelled before sampling started (the certainty stratum), -1 elsewhere."""
    truth: Float64s | None = None
    """Soft truth from inference over what was known before sampling started; only `assisted` looks at it."""
    reserve: Reserve | None = None
    """Given where the positions are only a part of the population."""

    def __post_init__(self) -> None:
        n = len(self.predicate)
        if not n:
            raise InputError("there is no belief to evaluate; choose a wider scope")
        if (
            len(self.subject) != n
            or len(self.known) != n
            or (self.truth is not None and len(self.truth) != n)
        ):
            raise InputError("the columns of a population differ in length; give one entry for each belief")

    def __len__(self) -> int:
        return len(self.predicate)

    @cached_property
    def sizes(self) -> Int64s:
        """Count the beliefs to sample by predicate."""
        if self.reserve is None:
            return np.bincount(self.predicate[self.known < 0], minlength=int(self.predicate.max()) + 1)
        sizes: Int64s = self.reserve.size - np.bincount(
            self.predicate[self.known >= 0], minlength=len(self.reserve.size)
        )
        return sizes

    @property
    def free(self) -> int:
        """Count the beliefs to sample."""
        return int(self.sizes.sum())

    def shuffled(self, seed: int) -> Int64s:
        """List the positions that can be drawn, in a random order."""
        rest = np.flatnonzero(self.known < 0)
        if self.reserve is None:
            return np.random.default_rng(seed).permutation(rest)
        drawn = rest[self.reserve.place[rest] < self.reserve.reach[self.predicate[rest]]]
        order: Int64s = drawn[np.argsort(self.reserve.place[drawn], kind="stable")]
        return order

    @cached_property
    def weights(self) -> Float64s:
        """Return each position's weight: the number of beliefs to sample that it represents."""
        weights = (self.known < 0).astype(np.float64)
        if self.reserve is not None:
            drawn = self.reserve.place < self.reserve.reach[self.predicate]
            weights *= drawn
            count = np.bincount(self.predicate[weights > 0], minlength=len(self.sizes))
            weights *= (self.sizes / np.maximum(count, 1))[self.predicate]
        return weights


def sample_size(margin: float, level: float, accuracy: float, population: int) -> int:
    """Return how many answers a simple random sample needs for a margin (Cochran 1977).

    >>> sample_size(0.05, 0.95, 0.9, 1_000_000), sample_size(0.05, 0.95, 0.9, 100)
    (139, 59)
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    endless = (z / margin) ** 2 * accuracy * (1 - accuracy)
    return min(ceil(endless / (1 + (endless - 1) / population)), population)

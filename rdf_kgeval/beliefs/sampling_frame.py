"""SamplingFrame: a population that stays where it is, and how much of its random order is at hand.

Every belief of the population has a place in [0, 1), uniformly at random and on its own: the first digits of
a salted digest. The rows at hand are, of each predicate, all beliefs whose place lies below its reach; what
else is at hand (a neighbour) has no place. Taken by place, the rows of any set of predicates are therefore a
simple random sample without replacement, as far as the least reach among them goes.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rdf_kgeval.common.types import Float64s

LARGE = 0.02
"""Predicates with at least this share of the beliefs are strata of their own; the others share one."""
NO_PLACE = 1.0
"""The place of a row that no draw can fall on."""


@dataclass(frozen=True, eq=False)
class SamplingFrame:
    """Sizes of the population, and places of the rows."""

    sizes: Mapping[str, int]
    """Beliefs of the population by predicate, an N-Triples term."""
    reach: Mapping[str, float]
    """By predicate: every belief whose place is below is at hand."""
    place: Float64s
    """By row."""
    salt: str
    """What the digests are salted with."""

    @property
    def total(self) -> int:
        """How many beliefs the population has."""
        return sum(self.sizes.values())

    def fingerprint(self) -> bytes:
        """A digest of what is sampled and how, which further draws do not change."""
        return hashlib.sha256(json.dumps([sorted(self.sizes), self.salt]).encode()).digest()

    def save(self, folder: Path) -> None:
        """Write it beside the columns of the beliefs."""
        record = {"sizes": dict(self.sizes), "reach": dict(self.reach), "salt": self.salt}
        (folder / "frame.json").write_text(json.dumps(record, sort_keys=True, indent=1), encoding="utf-8")
        np.save(folder / "place.npy", self.place)

    @classmethod
    def load(cls, folder: Path) -> "SamplingFrame | None":
        """Read it; None where the beliefs are the population.

        Raises:
            OSError, ValueError, KeyError: it is damaged.
        """
        path = folder / "frame.json"
        if not path.exists():
            return None
        record = json.loads(path.read_text(encoding="utf-8"))
        place = np.load(folder / "place.npy", mmap_mode="r")
        return cls(record["sizes"], record["reach"], place, record["salt"])

"""SamplingFrame: a population that stays at its endpoint, and the sample of it that was drawn.

Every belief of the population has a place in [0, 1), uniformly at random and independently of the others: the
first digits of a salted digest. Of each predicate, all beliefs with a place below its reach were drawn; other
rows, such as neighbours, have no place. In the order of their places, the rows of any set of predicates are
therefore a simple random sample without replacement, up to the least reach among these predicates.
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
"""The place of a row that was not drawn."""


@dataclass(frozen=True, eq=False)
class SamplingFrame:
    """Sizes of the population, and places of the rows."""

    sizes: Mapping[str, int]
    """Beliefs of the population by predicate, an N-Triples term."""
    reach: Mapping[str, float]
    """By predicate, the place below which every belief was drawn."""
    place: Float64s
    """By row."""
    salt: str
    """The salt of the digests."""

    @property
    def total(self) -> int:
        """The number of beliefs in the population."""
        return sum(self.sizes.values())

    def fingerprint(self) -> bytes:
        """Return a digest of the predicates and the salt, which further draws do not change."""
        return hashlib.sha256(json.dumps([sorted(self.sizes), self.salt]).encode()).digest()

    def save(self, folder: Path) -> None:
        """Write the frame beside the columns of the beliefs."""
        record = {"sizes": dict(self.sizes), "reach": dict(self.reach), "salt": self.salt}
        (folder / "frame.json").write_text(json.dumps(record, sort_keys=True, indent=1), encoding="utf-8")
        np.save(folder / "place.npy", self.place)

    @classmethod
    def load(cls, folder: Path) -> "SamplingFrame | None":
        """Read the frame; None where the beliefs are the whole population.

        Raises:
            OSError, ValueError, KeyError: it is damaged.
        """
        path = folder / "frame.json"
        if not path.exists():
            return None
        record = json.loads(path.read_text(encoding="utf-8"))
        place = np.load(folder / "place.npy", mmap_mode="r")
        return cls(record["sizes"], record["reach"], place, record["salt"])

"""A table of terms: one block of text for all of them, which can be mapped into memory."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import overload

import numpy as np
from numpy.typing import NDArray


class Terms(Sequence[str]):
    """A sorted, read-only table of N-Triples terms: one block of UTF-8 and the offsets into it."""

    def __init__(self, block: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self.block = block
        self.offsets = offsets
        self.text = block.data
        """The block as bytes; slices of it make no copy."""

    @classmethod
    def of(cls, terms: Iterable[str]) -> "Terms":
        """Build the table from sorted terms."""
        block = bytearray()
        offsets = array("q", [0])
        for term in terms:
            block += term.encode()
            offsets.append(len(block))
        return cls(np.frombuffer(bytes(block), dtype=np.uint8), np.frombuffer(offsets, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> list[str]: ...
    def __getitem__(self, i: int | slice) -> str | list[str]:
        if isinstance(i, slice):
            low, high, step = i.indices(len(self))
            if step != 1:
                return [self[j] for j in range(low, high, step)]
            ends = self.offsets[low : max(low, high) + 1].tolist()
            return [str(self.text[a:b], "utf-8") for a, b in pairwise(ends)]
        if not 0 <= i < len(self):
            raise IndexError(i)
        return str(self.text[self.offsets.item(i) : self.offsets.item(i + 1)], "utf-8")

    def place(self, term: str) -> int:
        """How many terms come before this one."""
        return bisect_left(self, term)

    def find(self, term: str) -> int | None:
        """The number of a term, or None where it is not in the table."""
        i = self.place(term)
        return i if i < len(self) and self[i] == term else None

    def starting(self, prefix: str) -> slice:
        """The run of terms that start with `prefix`."""
        return slice(self.place(prefix), self.place(prefix + "\U0010ffff"))

    def is_text(self) -> bool:
        """Whether every entry is UTF-8 and starts as an IRI, a blank node or a literal does."""
        starts = self.offsets[:-1]
        if (np.diff(self.offsets) < 2).any() or not np.isin(self.block[starts], list(b'<_"')).all():
            return False
        try:
            for at in range(0, len(self), _CHUNK):
                end = self.offsets[min(at + _CHUNK, len(self))]
                self.block[self.offsets[at] : end].tobytes().decode()
        except UnicodeDecodeError:
            return False
        return True


_CHUNK = 1 << 16

"""Memory limits: large arrays are in memory or, under a limit, in files that the system can page out."""

import math
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError

LEAST = 500_000_000
"""Bytes that Python, compiled code and working space take before any graph is loaded."""
_LARGE = 64
"""An array that takes more than this part of the limit goes to disk."""
_UNITS = ("B", "KB", "MB", "GB", "TB")


class Space:
    """Allocates arrays; under a limit, large ones are mapped from files that vanish with the process."""

    def __init__(self, limit: int | None = None, folder: Path | None = None) -> None:
        """Set the limit.

        Args:
            limit: bytes of memory that the process should keep to; None for no limit.
            folder: where the files go; the system's place for temporary files by default.
        """
        self.limit = limit
        self.folder = folder
        self.spilled = 0
        """Bytes of arrays on disk."""
        self.joined = 0
        """Most bytes that joins had on disk at one time."""

    def share(self, part: float) -> int | None:
        """Return a part of the limit in bytes; None without a limit."""
        return None if self.limit is None else int(self.limit * part)

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Allocate an array to be filled."""
        kind = np.dtype(dtype)
        size = math.prod(shape if isinstance(shape, tuple) else (shape,)) * kind.itemsize
        if self.limit is None or size * _LARGE < self.limit:
            return np.empty(shape, kind)
        with tempfile.TemporaryFile(dir=self.folder) as file:
            # Reserved now: a full disk raises an error here, but would kill the process once mapped.
            os.posix_fallocate(file.fileno(), 0, size)
            self.spilled += size
            return np.asarray(np.memmap(file, kind, "r+", shape=shape))

    def kept(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the array itself, or a copy on disk if it is large."""
        if self.limit is None or array.nbytes * _LARGE < self.limit:
            return array
        copy = self.empty(array.shape, array.dtype)
        copy[...] = array
        return copy

    @property
    def note(self) -> str | None:
        """Say in a sentence what was put on disk."""
        if self.limit is None:
            return None
        parts = [
            f"{format_size(size)} of {what}"
            for size, what in ((self.spilled, "arrays"), (self.joined, "joins"))
            if size
        ]
        kept = f"{' and '.join(parts) or 'nothing'} went to disk"
        return f"within the memory limit of {format_size(self.limit)}, {kept}"


RAM = Space()
"""No limit: everything is in memory."""


def parse_size(text: str) -> int:
    """Read a number of bytes as users write it.

    >>> parse_size("2GB"), parse_size("1.5 GiB")
    (2000000000, 1610612736)
    """
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?([KMGT]?)(i?)B?", text.strip(), re.IGNORECASE)
    if not match:
        raise InputError(f"the memory limit {printable(text, 40)!r} is not a size such as 2GB or 1500MB")
    size = int(float(match[1]) * (1024 if match[3] else 1000) ** " KMGT".index(match[2].upper() or " "))
    if size < LEAST:
        raise InputError(
            f"a memory limit of {format_size(size)} is too little to work in; "
            f"give at least {format_size(LEAST)}"
        )
    return size


def format_size(size: int) -> str:
    """Write a number of bytes for people.

    >>> format_size(2_000_000_000), format_size(999)
    ('2.0 GB', '999 B')
    """
    power = min(len(_UNITS) - 1, int(math.log10(max(size, 1)) // 3))
    return f"{size / 1000**power:.{1 if power else 0}f} {_UNITS[power]}"

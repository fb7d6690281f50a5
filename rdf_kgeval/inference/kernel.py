"""The one way in which numerical kernels are compiled."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Indices = NDArray[np.int32]
Entries = NDArray[np.uint32]
"""Variables in rows: without a sign, compiled code need not ask whether to count from the end."""
Flags = NDArray[np.bool_]
Records = NDArray[np.void]
"""What belongs together lies together: one look at memory brings all of it."""

_OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract"},
}
_LEAN_OPTIONS = {**_OPTIONS, "_nrt": False}

_F = TypeVar("_F", bound=Callable[..., Any])


def kernel(function: _F) -> _F:
    """Compile a function over arrays: kept on disk between runs, without the interpreter lock.

    Sums may be reordered, but infinities and zeros keep their meaning; the same input gives the same bits.
    """
    return cast(_F, numba.njit(**_OPTIONS)(function))


def lean_kernel(function: _F) -> _F:
    """A kernel that makes no array, so that it need not count references to those it is handed.

    Compiled code counts them whenever it takes an array out of a tuple, which costs more than a short loop.
    """
    return cast(_F, numba.njit(**_LEAN_OPTIONS)(function))


def drop_stale(folder: Path) -> None:
    """Forget compiled code that is older than any kernel: its key is its own file, not those it calls."""
    newest = max(source.stat().st_mtime for source in folder.glob("*.py"))
    for index in (folder / "__pycache__").glob("*.nbi"):
        with suppress(OSError):  # another process was faster, or the folder cannot be written
            if index.stat().st_mtime < newest:
                index.unlink()


drop_stale(Path(__file__).parent)

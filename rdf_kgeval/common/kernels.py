"""The one way in which numerical kernels are compiled."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rdf_kgeval.common.jit import compiled

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Indices = NDArray[np.int32]
Entries = NDArray[np.uint32]
"""Variables in rows: without a sign, compiled code need not ask whether to count from the end."""
Flags = NDArray[np.bool_]
Records = NDArray[np.void]
"""What belongs together lies together: one look at memory brings all of it."""

_FAST: dict[str, Any] = {"fastmath": {"reassoc", "contract"}}
_PACKAGE = Path(__file__).parents[1]
_SOURCES = frozenset(
    file
    for room in ("common", "inference", "estimation", "rules/mining")
    for file in (_PACKAGE / room).rglob("*.py")
)
"""Where kernels are that kernels call."""

_F = TypeVar("_F", bound=Callable[..., Any])


def kernel(function: _F) -> _F:
    """Compile a function over arrays.

    Sums may be reordered, but infinities and zeros keep their meaning; the same input gives the same bits.
    """
    return compiled(function, _SOURCES, **_FAST)


def lean_kernel(function: _F) -> _F:
    """A kernel that makes no array, so that it need not count references to those it is handed.

    Compiled code counts them whenever it takes an array out of a tuple, which costs more than a short loop.
    """
    return compiled(function, _SOURCES, **_FAST, _nrt=False)

"""The one way in which numerical kernels are compiled."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from rdf_kgeval.common.jit import compiled

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

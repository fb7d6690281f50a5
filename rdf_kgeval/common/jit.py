"""Functions over arrays, compiled on first use and kept on disk between runs.

The code is kept beside the package; where that cannot be written, in the user's cache folder or in
NUMBA_CACHE_DIR; and where nothing can be written, until the process ends. With NUMBA_DISABLE_JIT=1 kernels
run as the Python that they are written in, so that a debugger can step through them.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event

_log = logging.getLogger(__name__)
_F = TypeVar("_F", bound=Callable[..., Any])

_FAST: dict[str, Any] = {"fastmath": {"reassoc", "contract"}}
_PACKAGE = Path(__file__).parents[1]
_ROOMS = ("common", "inference", "estimation", "rules/mining")
"""Where kernels are that kernels call."""


def kernel(function: _F) -> _F:
    """Compile a function over arrays.

    Sums may be reordered, but infinities and zeros keep their meaning; the same input gives the same bits.
    """
    return _compiled(function, **_FAST)


def lean_kernel(function: _F) -> _F:
    """Compile a kernel that makes no array, so that it need not count references to those it is handed.

    Compiled code counts them whenever it takes an array out of a tuple, which costs more than a short loop.
    """
    return _compiled(function, **_FAST, _nrt=False)


def exact_kernel(function: _F) -> _F:
    """Compile a kernel whose sums keep their order."""
    return _compiled(function)


def _compiled(function: _F, **options: Any) -> _F:
    """Compile a function on its first call; it runs without the interpreter lock."""
    options = {"nogil": True, "error_model": "numpy", **options}
    try:
        made = numba.njit(cache=True, **options)(function)
    except RuntimeError:
        return cast(_F, numba.njit(**options)(function))
    if made is function:  # NUMBA_DISABLE_JIT
        return function
    _drop_stale(Path(made.stats.cache_path), _newest_source())
    return cast(_F, made)


@cache
def _newest_source() -> float:
    """Return when a file that may hold a kernel was last changed."""
    return max(file.stat().st_mtime for room in _ROOMS for file in (_PACKAGE / room).rglob("*.py"))


@cache
def _drop_stale(kept: Path, newest: float) -> None:
    """Drop compiled code that is older than a source: numba compares it with its own file alone."""
    for index in kept.glob("*.nbi"):
        with suppress(OSError):  # another process was faster, or the folder cannot be written
            if index.stat().st_mtime < newest:
                index.unlink()


class _Announcement(event.Listener):
    """Say once why nothing seems to happen; reading compiled code from disk is not announced."""

    def __init__(self) -> None:
        self.made = False

    def on_start(self, event: event.Event) -> None:
        dispatcher = event.data["dispatcher"]
        if self.made or not dispatcher.py_func.__module__.startswith("rdf_kgeval."):
            return
        self.made = True
        if dispatcher.stats.cache_path:
            _log.warning("compiling numerical code, once after installation; this takes a minute or two")
        else:
            _log.warning(
                "compiling numerical code takes a minute or two each time, as there is no folder to keep it "
                "in; set NUMBA_CACHE_DIR to one that can be written"
            )

    def on_end(self, event: event.Event) -> None:
        pass


event.register("numba:compile", _Announcement())  # type: ignore[no-untyped-call]

"""Functions over arrays, compiled on first use and kept on disk between runs."""

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event

_log = logging.getLogger(__name__)
_F = TypeVar("_F", bound=Callable[..., Any])


def compiled(function: _F, sources: Iterable[Path], **options: Any) -> _F:
    """Compile a function on its first call, without the interpreter lock.

    The code is kept beside the package; where that cannot be written, in the user's cache folder or in
    NUMBA_CACHE_DIR; and where nothing can be written, until the process ends.

    Args:
        function: what to compile.
        sources: files with what it calls: code that is older than any of them is compiled anew.
        options: of `numba.njit`.
    """
    options = {"nogil": True, "error_model": "numpy", **options}
    try:
        made = numba.njit(cache=True, **options)(function)
    except RuntimeError:
        return cast(_F, numba.njit(**options)(function))
    _drop_stale(Path(made.stats.cache_path), frozenset(sources))
    return cast(_F, made)


@cache
def _drop_stale(kept: Path, sources: frozenset[Path]) -> None:
    """Forget compiled code that is older than a source: numba's key to it is its own file alone."""
    newest = max(source.stat().st_mtime for source in sources)
    for index in kept.glob("*.nbi"):
        with suppress(OSError):  # another process was faster, or the folder cannot be written
            if index.stat().st_mtime < newest:
                index.unlink()


class _Announcement(event.Listener):
    """Says once why nothing seems to happen; reading code from disk is no event."""

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

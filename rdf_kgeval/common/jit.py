"""Kernels: functions over arrays. Small problems run them as Python, large ones as compiled code.

A small problem takes less time as Python than compiled code takes to load, let alone to compile. Whether
a problem is small follows from its size alone (`sized`), not from whether compiled code is at hand: compiled
code adds numbers up in another order, so its last bits differ from those of Python, and the same input must
give the same bits on every machine, on the first day and after.

When the first large problem finds no compiled code, all kernels are compiled at once, each for the one list
of types that its parameters are annotated with: it is said once, and nobody waits a second time. The code is
kept beside the package; where that cannot be written, in the user's cache folder or in NUMBA_CACHE_DIR; and
where nothing can be written, until the process ends. With NUMBA_DISABLE_JIT=1 all problems run as Python, so
that a debugger can step through the kernels.
"""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache, update_wrapper
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast, get_args, get_origin, get_type_hints

from rdf_kgeval.common.progress import Show, unseen

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_log = logging.getLogger(__name__)
_F = TypeVar("_F", bound=Callable[..., Any])

SMALL = 5_000
"""Constraints or triples up to which kernels run as Python, in about half a second."""

_FAST: dict[str, Any] = {"fastmath": {"reassoc", "contract"}}
_PACKAGE = Path(__file__).parents[1]
_ROOMS = ("common", "inference", "rules/mining")
"""Where kernels are."""

show: Show = unseen
"""Shows how far compiling is."""
_DEBUG = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
_as_python: ContextVar[bool] = ContextVar("as_python", default=_DEBUG)
_kernels: list["_Kernel"] = []


def kernel(function: _F) -> _F:
    """Make a kernel of a function over arrays.

    Sums may be reordered, but infinities and zeros keep their meaning.
    """
    return _made(function, **_FAST)


def lean_kernel(function: _F) -> _F:
    """Make a kernel that makes no array, so that it need not count references to those it is handed.

    Compiled code counts them whenever it takes an array out of a tuple, which costs more than a short loop.
    """
    return _made(function, **_FAST, _nrt=False)


def exact_kernel(function: _F) -> _F:
    """Make a kernel whose sums keep their order."""
    return _made(function)


@contextmanager
def sized(size: int, small: int | None = None) -> Iterator[None]:
    """Run the kernels within as Python if the problem is small, and compiled if it is large.

    Args:
        size: constraints or triples of the problem.
        small: the largest size of a small one, SMALL if not given.
    """
    import numpy as np

    token = _as_python.set(_DEBUG or size <= (SMALL if small is None else small))
    try:
        with np.errstate(**_silence()):
            yield
    finally:
        _as_python.reset(token)


def threads(number: int) -> "ThreadPoolExecutor":
    """Start threads in which kernels run as they do here."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(number, initializer=_enter, initargs=(_as_python.get(),))


def _enter(as_python: bool) -> None:
    import numpy as np

    _as_python.set(as_python)
    np.seterr(**_silence())


def _silence() -> dict[str, Any]:
    """Let Python divide and overflow as compiled code does, without a word."""
    return {"all": "ignore"} if _as_python.get() else {}


def _made(function: _F, **options: Any) -> _F:
    made = _Kernel(function, {"nogil": True, "error_model": "numpy", **options})
    _kernels.append(made)
    return cast(_F, made)


class _Kernel:
    """A function that runs as Python or compiled; numba is imported when the first one runs compiled."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._function = function
        self._options = options
        self._dispatcher: Any = None
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        if _as_python.get():
            return self._function(*arguments)
        dispatcher = self.load()
        dispatcher.disable_compile(False)
        return dispatcher(*arguments)

    @property
    def _numba_type_(self) -> Any:
        """Tell numba, when it meets this in a kernel that it compiles, what to call.

        The caller's numbers are converted to the types of this one's parameters.
        """
        from numba.core.types import Dispatcher

        dispatcher = self.load()
        if dispatcher.signatures:
            dispatcher.disable_compile()
        return Dispatcher(dispatcher)

    def load(self) -> Any:
        """Return the compiled function; where it is not at hand, compile it and all other kernels."""
        if self._dispatcher is None:
            from numba.core.compiler_lock import global_compiler_lock

            with global_compiler_lock:
                if self._dispatcher is None:
                    before = _announcement().made
                    self._dispatcher = self._read()
                    if _announcement().made and not before and self._dispatcher.stats.cache_path:
                        compile_all()
        return self._dispatcher

    def _read(self) -> Any:
        """Read the compiled function from disk, or compile it, and keep it if that is possible."""
        from numba import njit

        try:
            made = njit(cache=True, **self._options)(self._function)
            _drop_stale(Path(made.stats.cache_path), _newest_source())
        except RuntimeError:
            made = njit(**self._options)(self._function)
        hints = get_type_hints(self._function, include_extras=True)
        hints.pop("return", None)
        if hints:
            made.compile(tuple(_numba_type(hint) for hint in hints.values()))
        return made


def _numba_type(hint: Any) -> Any:
    """Return the type that compiled code has for a parameter annotated so; arrays are contiguous."""
    import numpy as np

    numba: Any = import_module("numba")
    scalars = {int: numba.int64, float: numba.float64, bool: numba.boolean}
    if hint in scalars:
        return scalars[hint]
    if hasattr(hint, "_fields"):
        fields = get_type_hints(hint, include_extras=True).values()
        return numba.types.BaseTuple.from_types([_numba_type(field) for field in fields], hint)
    # An array's dtype, or its number of dimensions, is said where its type does not tell.
    array, said = get_args(hint) if get_origin(hint) is Annotated else (hint, 1)
    record = isinstance(said, np.dtype)
    dtype = said if record else get_args(get_args(array)[1])[0]
    return numba.typeof(np.empty((0,) * (1 if record else said), dtype))


def compile_all() -> None:
    """Load all kernels there are, and compile those that are not at hand, so that nobody waits again."""
    if _DEBUG:
        return
    for room in _ROOMS:
        for file in (_PACKAGE / room).rglob("*.py"):
            if "kernel\n" in file.read_text(encoding="utf-8"):
                import_module(".".join((_PACKAGE.name, *file.relative_to(_PACKAGE).with_suffix("").parts)))
    with show() as progress:
        for done, each in enumerate(_kernels, 1):
            each.load()
            progress("compiling", done, len(_kernels))


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


@cache
def _announcement() -> Any:
    """Say once why nothing seems to happen; reading compiled code from disk is not announced."""
    from numba.core import event

    class Announcement(event.Listener):
        def __init__(self) -> None:
            self.made = False

        def on_start(self, event: Any) -> None:
            dispatcher = event.data["dispatcher"]
            if self.made or not dispatcher.py_func.__module__.startswith("rdf_kgeval."):
                return
            self.made = True
            if dispatcher.stats.cache_path:
                _log.warning("compiling numerical code, once after installation; this takes about a minute")
            else:
                _log.warning(
                    "compiling numerical code takes up to a minute each time, as there is no folder to keep "
                    "it in; set NUMBA_CACHE_DIR to one that can be written"
                )

        def on_end(self, event: Any) -> None:
            pass

    made = Announcement()
    event.register("numba:compile", made)  # type: ignore[no-untyped-call]
    return made

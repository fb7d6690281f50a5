"""Compiled copies of functions that the package runs as Python: sweeps call them millions of times."""

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numba

compiled = numba.njit(cache=True, nogil=True, error_model="numpy")


def compiled_copies(*functions: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """Compile functions, each of which may call those before it."""
    made: dict[str, Callable[..., Any]] = {}
    for function in functions:
        scope = {**function.__globals__, **made}
        made[function.__name__] = compiled(FunctionType(function.__code__, scope, function.__name__))
        yield made[function.__name__]

"""Validation of what was read from JSON: a value is what its annotation says, or it is refused."""

import math
import types
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


def checked(record: T) -> T:
    """Return a dataclass if its fields hold what they are annotated with.

    Raises:
        TypeError: one does not.
    """
    for name, hint in hints(cast(Any, type(record))).items():
        if not fits(getattr(record, name), hint):
            raise TypeError(f"{name} is not what it should be")
    return record


hints = cache(get_type_hints)


def fits(value: object, hint: Any) -> bool:
    """Check that a value is of a type; a dict as `hint` gives the type of each required entry.

    Numbers are finite and text can be written as UTF-8.
    """
    if isinstance(hint, Mapping):
        return isinstance(value, dict) and all(k in value and fits(value[k], t) for k, t in hint.items())
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, option) for option in arguments)
    if origin is Literal:
        return value in arguments
    if origin is tuple and arguments[-1] is not ...:
        return isinstance(value, tuple) and len(value) == len(arguments) and all(map(fits, value, arguments))
    if origin is dict:
        return isinstance(value, dict) and all(
            fits(k, arguments[0]) and fits(v, arguments[1]) for k, v in value.items()
        )
    if origin in (tuple, list):
        return isinstance(value, origin) and all(fits(part, arguments[0]) for part in value)
    return _is(value, hint)


def _is(value: object, kind: type) -> bool:
    if is_dataclass(kind):
        return isinstance(value, kind) and checked(value) is value
    if kind is str:
        return isinstance(value, str) and value.encode("utf-8", "replace").decode() == value
    if kind in (int, float) and not isinstance(value, bool):
        return isinstance(value, int) or (kind is float and isinstance(value, float) and math.isfinite(value))
    return isinstance(value, kind)

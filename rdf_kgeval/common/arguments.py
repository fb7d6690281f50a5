"""Arguments of public calls: one of another kind than the call takes is refused in a sentence."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

from rdf_kgeval.common.text import printable
from rdf_kgeval.common.validation import fits, hints
from rdf_kgeval.errors import InputError

T = TypeVar("T")
_WORDS = {int: "a whole number", float: "a number", bool: "True or False", str: "text", type(None): "None"}


def expect(given: object, wanted: type[T] | tuple[type[T], ...], need: str, remedy: str) -> T:
    """Return an argument, if it is of a kind that the call takes.

    Args:
        given: the argument.
        wanted: the kind, or several.
        need: what takes what, such as "couple takes beliefs first".
        remedy: what to do instead.

    Raises:
        InputError: it is of another kind.
    """
    if not isinstance(given, wanted):
        raise wrong(given, need, remedy)
    return given


def wrong(given: object, need: str, remedy: str) -> InputError:
    """Make the error for an argument that a call cannot take.

    >>> print(wrong({}, "couple takes beliefs first", "read_beliefs makes them"))
    couple takes beliefs first, not a dict; read_beliefs makes them
    """
    return InputError(f"{need}, not {described(given)}; {remedy}")


def expect_all(given: object, wanted: type[T] | tuple[type[T], ...], need: str, remedy: str) -> list[T]:
    """Return the members of an argument, if it is one of a kind or a list of them.

    Raises:
        InputError: it is something else.
    """
    return [expect(one, wanted, need, remedy) for one in several(given)]


def several(given: Any) -> list[Any]:
    """Return what may be one thing or several as a list.

    >>> several("a"), several(("a", "b"))
    (['a'], ['a', 'b'])
    """
    is_one = isinstance(given, (str, Path, Mapping)) or not isinstance(given, Iterable)
    return [given] if is_one else list(given)


def described(value: object) -> str:
    """Describe a value that somebody gave in the place of another.

    >>> described("kg.ttl"), described([1]), described(None), described(print)
    ("the text 'kg.ttl'", 'a list', 'None', 'a function')
    """
    if value is None or isinstance(value, (bool, int, float)):
        return printable(repr(value), 40)
    if type(value) is str:
        return f"the text {printable(repr(value), 60)}"
    if isinstance(value, Path):
        return f"the path {printable(str(value), 60)}"
    if isinstance(value, type):
        return f"the class {printable(value.__name__, 40)}"
    kind = "function" if hasattr(value, "__code__") or type(value) is type(print) else type(value).__name__
    return f"{'an' if kind[0] in 'AEIOaeio' else 'a'} {printable(kind, 40)}"


def check_fields(options: Any) -> None:
    """Refuse options, a dataclass, of which a field holds something of another type.

    Raises:
        InputError: one does; the message has its usual value.
    """
    wanted = hints(cast(Any, type(options)))
    for field in fields(options):
        value = getattr(options, field.name)
        if not fits(value, wanted[field.name]):
            kinds = " or ".join(map(_word, get_args(wanted[field.name]) or [wanted[field.name]]))
            usual = f"the usual value is {field.default!r}"
            raise wrong(value, f"{field.name} takes {kinds}", usual)


def _word(kind: Any) -> str:
    return _WORDS.get(kind) or str(kind)

"""Registries: names that users may choose, one sentence about each, and where its code is.

Nothing is imported before it is asked for, so help texts and messages list every name without loading any.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Generic, TypeVar

from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError


@dataclass(frozen=True)
class Entry:
    """A name that users may choose."""

    name: str
    target: str
    """Where its code is, as `module:attribute` below `rdf_kgeval`."""
    sentence: str
    """What it does, for help, messages, reports and docs."""

    def load(self) -> Any:
        """Import and return the code."""
        module, _, attribute = self.target.partition(":")
        return getattr(import_module(f"rdf_kgeval.{module}"), attribute)


E = TypeVar("E", bound=Entry)


class Registry(Mapping[str, E], Generic[E]):
    """Entries by name, in the order in which users meet them.

    Args:
        kind: what the names are names of, in the singular: "method".
        entries: the members.
    """

    def __init__(self, kind: str, *entries: E) -> None:
        self.kind = kind
        self._entries = {entry.name: entry for entry in entries}

    def __getitem__(self, name: str) -> E:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def choose(self, name: str) -> E:
        """Return the entry that a user names.

        Raises:
            InputError: there is none; the message has the nearest name.
        """
        if name in self._entries:
            return self._entries[name]
        raise InputError(f"there is no {self.kind} {printable(name, 40)!r}; {suggest(name, self._entries)}")


def suggest(name: str, known: Iterable[str]) -> str:
    """Say which name somebody may have meant.

    >>> suggest("gready", ["greedy", "srs"]), suggest("x", ["greedy", "srs"])
    ('did you mean greedy?', 'choose one of greedy, srs')
    """
    names = list(known)
    near = get_close_matches(name, names, n=1)
    return f"did you mean {near[0]}?" if near else f"choose one of {', '.join(names)}"

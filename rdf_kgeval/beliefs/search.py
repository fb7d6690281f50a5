"""Search: the beliefs that people mean by words, such as "Cochabamba country"."""

import re

import numpy as np

from rdf_kgeval.beliefs.names import Names, last_part, readable
from rdf_kgeval.beliefs.table import Role
from rdf_kgeval.common.types import Bools, Int32s

_WORD = re.compile(r"\w+")


def find_by_names(names: Names, text: str) -> list[int]:
    """Find the rows whose names, in any language, have all words of a text; beliefs before other triples.

    Rows whose subject and predicate are named by words of the text alone come without the others.
    """
    beliefs = names.beliefs
    words = set(_words(text))
    if not words:
        return []
    keys = [_key(term) for term in beliefs.terms]
    found = np.ones(len(beliefs), dtype=bool)
    for word in words:
        has = np.fromiter((word in key for key in keys), dtype=bool, count=len(keys))
        has |= _named(names, has)
        found &= has[beliefs.s] | has[beliefs.p] | has[beliefs.o]
    rows = np.flatnonzero(found)
    chosen = rows[beliefs.role[rows] == Role.BELIEF]
    result: list[int] = (chosen if len(chosen) else rows).tolist()
    exact = [row for row in result if _is_named(names, row, words)]
    return exact or result


def _named(names: Names, literals: Bools) -> Bools:
    """Mark the terms that have one of these literals as a label."""
    beliefs = names.beliefs
    predicates = [n for p in names.properties if (n := beliefs.terms.find(f"<{p}>")) is not None]
    labelled = np.isin(beliefs.p, predicates) & literals[beliefs.o]
    marked = np.zeros(len(beliefs.terms), dtype=bool)
    subjects: Int32s = beliefs.s[labelled]
    marked[subjects] = True
    return marked


def _is_named(names: Names, row: int, words: set[str]) -> bool:
    s, p, _ = names.beliefs.triple(row)
    return all(set(_words(name)) <= words for name in (names.name(s), names.name(p)))


def _key(term: str) -> str:
    """Return what of a term is searched: no namespace and no datatype."""
    return readable(term).casefold() + (" " + last_part(term).casefold() if term.startswith("<") else "")


def _words(text: str) -> list[str]:
    return _WORD.findall(text.replace("_", " ").casefold())

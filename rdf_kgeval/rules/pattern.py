"""Patterns of rules: their terms as users write them, and as canonical N-Triples texts."""

import re
from typing import Any

from rdf_kgeval.common.arguments import wrong
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError

Pattern = tuple[str, str, str]
"""Subject, predicate and object, each a term or a variable."""


def read_patterns(body: Any, head: Any, name: str) -> tuple[tuple[Pattern, ...], Pattern | None]:
    """Read the body and the head of a rule as a user gave them; CURIEs stay.

    Raises:
        InputError: one is no pattern, or a term would match nothing.
    """
    need = f"the body of rule {name} takes patterns of three terms"
    remedy = "write for example body=[('?x', 'ex:capitalOf', '?y')]"
    if isinstance(body, str) or not hasattr(body, "__iter__"):
        raise wrong(body, need, remedy)
    patterns = tuple(_pattern(pattern, need, remedy, name) for pattern in body)
    need = f"the head of rule {name} takes one pattern of three terms, or None"
    remedy = "write for example head=('?x', 'ex:locatedIn', '?y')"
    return patterns, None if head is None else _pattern(head, need, remedy, name)


def is_written_out(term: str) -> bool:
    """Return whether a term is a variable or in N-Triples, rather than a CURIE."""
    return term.startswith(("?", "<", '"', "_:"))


def _pattern(pattern: Any, need: str, remedy: str, name: str) -> Pattern:
    if not isinstance(pattern, (tuple, list)) or len(pattern) != 3:
        raise wrong(pattern, need, remedy)
    s, p, o = (_term(term, name) for term in pattern)
    if s.startswith('"') or p.startswith(('"', "_:", "<<")):
        which = ("subject", s) if s.startswith('"') else ("predicate", p)
        raise InputError(
            f"rule {name} has the {which[0]} {printable(which[1], 100)}, which no triple has; write an IRI "
            "or a variable"
        )
    return s, p, o


_PLAIN = re.compile(r"\?\w+|<[^\x00-\x20<>\"{}|^`\\]+>")


def _term(term: Any, name: str) -> str:
    if type(term) is str and _PLAIN.fullmatch(term):
        return term
    if type(term).__name__ == "Variable":  # rdflib's
        return f"?{term}"
    from rdf_kgeval.beliefs.prefixes import user_term  # with pyoxigraph, which `kgeval --help` does without

    try:
        return user_term(term)
    except InputError as error:
        raise InputError(f"rule {name}: {error}; a variable is written ?x") from error

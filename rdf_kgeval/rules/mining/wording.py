"""Names and sentences for rules that a program made, so that a person can read them."""

import hashlib
import re
import urllib.parse
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rdf_kgeval.beliefs.names import Labels, readable
from rdf_kgeval.beliefs.table import Beliefs
from rdf_kgeval.beliefs.terms import iri
from rdf_kgeval.namespaces import RDF_TYPE
from rdf_kgeval.rules.rule import Pattern, Rule, in_words

_LONGEST_ID = 150
"""Leaves room in a file name."""


class Wording:
    """Words for the patterns of rules, with the labels of a graph."""

    def __init__(self, beliefs: Beliefs) -> None:
        self._labels = Labels(beliefs=beliefs)

    def id(self, body: Sequence[Pattern], head: Pattern) -> str:
        """A name such as `playsSport-if-playsForTeam-teamPlaysSport`; `inv-` stands before inverse steps."""
        return f"{_side([head])}-if-{_side(body)}"

    def sentence(self, body: Sequence[Pattern], head: Pattern) -> str:
        """A rule in words, such as "If x plays for y, then x is a Person."."""
        return in_words(body, head, self._name)

    def _name(self, term: str) -> str:
        number = self._labels.beliefs.terms.find(term)
        return readable(term) if number is None else self._labels.of(number)


def _side(patterns: Iterable[Pattern]) -> str:
    names, here = [], "?x"
    for s, p, o in patterns:
        backwards = o == here and s != here
        here = s if backwards else o
        end = [] if here.startswith("?") else [_slug(here)]
        name = "type" if p == f"<{RDF_TYPE}>" else _slug(p)
        names += [f"inv-{name}" if backwards else name, *end]
    return "-".join(names)


def _slug(term: str) -> str:
    """The last part of a term in letters that are safe in file names and IRIs.

    >>> _slug("<http://example.org/nell/Joe%20Louis_Arena>")
    'Joe-Louis_Arena'
    """
    name = re.split(r"[#/:]", iri(term).rstrip("#/:"))[-1] if term.startswith("<") else readable(term)
    slug = re.sub(r"[^A-Za-z0-9_]+", "-", urllib.parse.unquote(name)).strip("-")
    return slug[:40] or "x"


def distinct_ids(rules: Sequence[Rule]) -> list[Rule]:
    """The rules with a digest after ids that are too long or that others have, be it in another case."""
    taken = Counter(rule.id.lower() for rule in rules)
    return [
        replace(rule, id=f"{rule.id[:_LONGEST_ID]}-{_digest(rule)}")
        if taken[rule.id.lower()] > 1 or len(rule.id) > _LONGEST_ID
        else rule
        for rule in rules
    ]


def _digest(rule: Rule) -> str:
    text = " ".join(term for pattern in (*rule.body, rule.head or ()) for term in pattern)
    return hashlib.sha256(text.encode()).hexdigest()[:8]

"""Names: the words that people read in place of IRIs."""

import re
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyoxigraph as ox

from rdf_kgeval.beliefs.table import Beliefs, Triple
from rdf_kgeval.beliefs.terms import iri, local_name, parse_term
from rdf_kgeval.common.types import Int32s
from rdf_kgeval.namespaces import LABEL_PROPERTIES, RDF_TYPE


@dataclass(frozen=True, kw_only=True)
class Names:
    """Names of terms, from the graph's own labels or, failing that, from the IRI."""

    beliefs: Beliefs
    properties: Sequence[str] = field(default=LABEL_PROPERTIES)
    """IRIs of label properties, the best first."""
    lang: str = "en"
    """The language that people read; a label without a language is the next best."""

    def of(self, term: int) -> str:
        """Name a term, given by its number."""
        best: tuple[int, int, str] | None = None
        rows, subject = self._rows
        for row in rows[np.searchsorted(subject, term) : np.searchsorted(subject, term, "right")]:
            literal = parse_term(self.beliefs.terms[self.beliefs.o[row]])
            if isinstance(literal, ox.Literal):
                preference = (
                    self._numbers.index(self.beliefs.p[row]),
                    self._rank(literal.language),
                    literal.value,
                )
                best = min(best, preference) if best else preference
        return best[2] if best else readable(self.beliefs.terms[term])

    def sentence(self, row: int) -> str:
        """Put a row into words: "Joe Louis Arena (Stadium) is home stadium of Red Wings (Sports Team)"."""
        return self.in_words(self.beliefs.triple(row))

    def in_words(self, triple: Triple) -> str:
        """Put a triple into words; it need not be in the graph."""
        s, p, o = triple
        if p == f"<{RDF_TYPE}>":
            return f"{self.name(s)} is a {self.name(o)}"
        return f"{self._with_type(s)} {_as_verb(self.name(p))} {self._with_type(o)}"

    @property
    def label_predicates(self) -> set[int]:
        """The numbers of the label properties that the graph uses."""
        return {number for number in self._numbers if number is not None}

    def name(self, text: str) -> str:
        """Name a term, given by its text; it need not be in the graph."""
        term = self.beliefs.terms.find(text)
        return readable(text) if term is None else self.of(term)

    def _with_type(self, text: str) -> str:
        term = self.beliefs.terms.find(text)
        if self._type is None or term is None:
            return self.name(text)
        low, high = (int(np.searchsorted(self.beliefs.s, term, side)) for side in ("left", "right"))
        types = self.beliefs.o[low:high][self.beliefs.p[low:high] == self._type]
        return f"{self.of(term)} ({self.of(int(types[0]))})" if len(types) else self.of(term)

    def _rank(self, language: str | None) -> int:
        if language is None:
            return 2
        if language == self.lang.lower():
            return 0
        return 1 if language.split("-")[0] == self.lang.lower().split("-")[0] else 3

    @cached_property
    def _type(self) -> int | None:
        return self.beliefs.terms.find(f"<{RDF_TYPE}>")

    @cached_property
    def _numbers(self) -> list[int | None]:
        return [self.beliefs.terms.find(f"<{p}>") for p in self.properties]

    @cached_property
    def _rows(self) -> tuple[Int32s, Int32s]:
        """The rows with a label property, and their subjects."""
        rows = np.flatnonzero(np.isin(self.beliefs.p, list(self.label_predicates))).astype(np.int32)
        return rows, self.beliefs.s[rows]


def _as_verb(name: str) -> str:
    """Put "is" before a name such as "capital of", which reads better so."""
    return f"is {name}" if re.fullmatch(r"(?!is )(?!\w+s of)[a-z][\w ]* of", name) else name


def last_part(term: str) -> str:
    """Return the part of an IRI term after its last separator, not counting separators at the end.

    >>> last_part("<http://example.org/Joe_Louis_Arena/>"), last_part("<urn:isbn:123>")
    ('Joe_Louis_Arena', '123')
    """
    return local_name(iri(term).rstrip("#/:"), "#/:")


def readable(term: str) -> str:
    """Make words for a term without a label.

    >>> readable("<http://example.org/nell/homeStadiumOf>")
    'home stadium of'
    >>> readable("<http://example.org/Joe_Louis_Arena>")
    'Joe Louis Arena'
    """
    if term.startswith(("_:", "<<")):
        return term
    if not term.startswith("<"):
        literal = parse_term(term)
        return literal.value if isinstance(literal, ox.Literal) else term
    name = last_part(term) or iri(term)
    words = urllib.parse.unquote(name).replace("_", " ")
    if " " not in words and re.match(r"[a-z]+[A-Z]", words):
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", words).lower()
    elif " " not in words:
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", " ", words)
    return " ".join(words.split()) or iri(term)

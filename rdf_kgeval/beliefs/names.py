"""Names: the words that people read in place of IRIs."""

import re
import unicodedata
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import pyoxigraph as ox

from rdf_kgeval.beliefs.table import Beliefs, Triple
from rdf_kgeval.beliefs.terms import iri, local_name, parse_term
from rdf_kgeval.beliefs.values import value_text
from rdf_kgeval.common.types import Int32s
from rdf_kgeval.namespaces import (
    DESCRIPTION_PROPERTIES,
    LABEL_PROPERTIES,
    PROVENANCE,
    RDF_TYPE,
    WIKIBASE,
    WIKIBASE_PREDICATES,
)

MOST = 1_000
"""Labels of one term that are looked at."""
SHORT = 120
"""Characters of a description within a sentence."""
VALUES = 4
"""Values by which a blank node is described."""
VALUE = 40
"""Characters of each of them."""
DEPTH = 2
"""Blank nodes that are described within each other."""


class Part(NamedTuple):
    """A part of a sentence."""

    text: str
    name: bool
    """Whether it comes from the graph, in whatever script; the other parts are ours, in English."""


@dataclass(frozen=True, kw_only=True)
class Names:
    """Names of terms, from the graph's own labels or, failing that, from the IRI.

    Of several labels the best is the one in the chosen language, then in its base language, in another
    variety of it, in English, without a language, and last in the language whose tag comes first in the
    alphabet. Of two that are equally good, that of the better property is taken, then the first in the
    alphabet. Descriptions are chosen likewise.
    """

    beliefs: Beliefs
    properties: Sequence[str] = field(default=LABEL_PROPERTIES)
    """IRIs of label properties, the best first."""
    lang: str = "en"
    """The language that people read."""

    def of(self, term: int) -> str:
        """Name a term, given by its number."""
        text = self.beliefs.terms[term]
        if text.startswith("_:"):
            return self.label(term) or self._blank_node(term)
        return self.label(term) or self._label_of_property(term) or readable(text)

    def sentence(self, row: int) -> str:
        """Put a row into words: "Joe Louis Arena (Stadium) is home stadium of Red Wings (Sports Team)"."""
        return self.in_words(self.beliefs.triple(row))

    def in_words(self, triple: Triple) -> str:
        """Put a triple into words; it need not be in the graph."""
        return "".join(part.text for part in self.parts(triple))

    def parts(self, triple: Triple) -> list[Part]:
        """Put a triple into words, part by part, so that a page can keep scripts apart."""
        s, p, o = triple
        alike = s != o and not o.startswith('"') and self.name(s) == self.name(o)
        if p == f"<{RDF_TYPE}>":
            return [
                *self._entity(s, alike, typed=False),
                Part(" is a ", False),
                *self._entity(o, alike, typed=False),
            ]
        name = self.name(p)
        verb = [Part(" is " if _needs_is(name) else " ", False), Part(name, True), Part(" ", False)]
        if o.startswith('"'):
            literal = parse_term(o)
            kind = " ".join((name, readable(p)))
            value = value_text(literal, kind) if isinstance(literal, ox.Literal) else o
            return [*self._entity(s, alike), *verb, Part(value, True)]
        return [*self._entity(s, alike), *verb, *self._entity(o, alike)]

    @cached_property
    def shown_apart(self) -> set[int]:
        """The numbers of the predicates of labels, descriptions and sources, shown by themselves."""
        return {*self._labels, *self._descriptions, *self._used(PROVENANCE)}

    def name(self, text: str) -> str:
        """Name a term, given by its text; it need not be in the graph."""
        term = self.beliefs.terms.find(text)
        return readable(text) if term is None else self.of(term)

    def description(self, text: str) -> str | None:
        """Return what the graph says that a term is, whole; None where it says nothing."""
        term = self.beliefs.terms.find(text)
        return None if term is None else self._best(term, self._descriptions)

    def label(self, term: int) -> str | None:
        """Return the best label of a term; None where the graph has none."""
        return self._remembered(term)

    def value(self, text: str, predicate: int) -> str:
        """Write an object of a predicate: a literal as people write it, or a name."""
        if not text.startswith('"'):
            return self.name(text)
        literal = parse_term(text)
        return value_text(literal, self.of(predicate)) if isinstance(literal, ox.Literal) else text

    def objects(self, term: int, predicate: int | None) -> Int32s:
        """List the objects of a term by a predicate, in the order of terms."""
        if predicate is None:
            return self.beliefs.o[:0]
        low, high = _span(self.beliefs.s, term)
        first, last = _span(self.beliefs.p[low:high], predicate)
        return self.beliefs.o[low + first : low + last]

    def subjects(self, predicate: int | None, term: int | None) -> Int32s:
        """List the subjects that have a term as object by one of the predicates that name statements."""
        if predicate is None or term is None:
            return self.beliefs.s[:0]
        objects, subjects = self._by_object([predicate])
        low, high = _span(objects, term)
        return subjects[low:high]

    def about(self, term: int, most: int) -> Iterator[tuple[int, int]]:
        """Yield the predicates and objects of a term, at most so many."""
        low, high = _span(self.beliefs.s, term)
        columns = (
            column[low : min(high, low + most)].tolist() for column in (self.beliefs.p, self.beliefs.o)
        )
        return zip(*columns, strict=True)

    def _entity(self, text: str, alike: bool, *, typed: bool = True) -> Iterator[Part]:
        """Name an entity, with its type, and with its description where another one has its name."""
        term = self.beliefs.terms.find(text)
        yield Part(readable(text) if term is None else self.of(term), True)
        if term is None or (text.startswith("_:") and not self.label(term)):
            return
        details = []
        types = self.objects(term, self._type if typed else None)
        if len(types):
            details.append(self.of(int(types[0])))
        if alike or self._shares_its_name(term):
            description = self._best(term, self._descriptions)
            if description:
                details.append(_cut(" ".join(description.split()), SHORT))
        for before, detail in zip((" (", "; "), details, strict=False):
            yield Part(before, False)
            yield Part(detail, True)
        if details:
            yield Part(")", False)

    def _best(self, term: int, properties: Sequence[int]) -> str | None:
        """Choose among the literals that a term has by some properties, the best property first."""
        found = (
            (self._rank(_tag(text)), place, text)
            for place, predicate in enumerate(properties)
            for text in (self.beliefs.terms[o] for o in self.objects(term, predicate)[:MOST])
            if text.startswith('"')
        )
        best = min(found, default=None)
        literal = parse_term(best[2]) if best else None
        return literal.value if isinstance(literal, ox.Literal) and literal.value.strip() else None

    def _rank(self, tag: str) -> tuple[int, str]:
        """Rank a language, the best first; an empty tag is no language."""
        lang = self.lang.lower()
        base = lang.split("-")[0]
        return next(
            (rank, tag)
            for rank, fits in enumerate(
                (
                    tag == lang,
                    tag == base,
                    tag.split("-")[0] == base,
                    tag == "en",
                    tag.startswith("en-"),
                    not tag,
                    True,
                )
            )
            if fits
        )

    def _label_of_property(self, term: int) -> str | None:
        """Return the label of the Wikibase property behind a predicate, such as that of P19 for wdt:P19."""
        predicates, properties = self._by_object(self._wikibase)
        at = int(np.searchsorted(predicates, term))
        return self.label(int(properties[at])) if at < len(predicates) and predicates[at] == term else None

    def _shares_its_name(self, term: int) -> bool:
        """Return whether another entity has a label with the same text, in whatever language."""
        label = self.label(term)
        if label is None:
            return False
        literal = str(ox.Literal(label))
        terms = self.beliefs.terms
        same = terms.starting(literal)
        objects, subjects = self._by_object(self._labels)
        low, high = (int(np.searchsorted(objects, end)) for end in (same.start, same.stop))
        return bool((subjects[low:high] != term).any())

    def _blank_node(self, term: int, above: tuple[int, ...] = ()) -> str:
        """Describe a blank node: "population observation of Gaborone: 246,325, 2018"."""
        beliefs = self.beliefs
        types = self.objects(term, self._type)
        pointer = self._pointer(term, above)
        words = self._label_or_words(int(types[0])) if len(types) else ""
        if pointer is not None:
            predicate, subject = int(beliefs.p[pointer]), int(beliefs.s[pointer])
            words = words or self._label_or_words(predicate)
            words += f" of {self._within(subject, (*above, term))}"
        low, high = _span(beliefs.s, term)
        values = [
            (int(beliefs.p[row]), text)
            for row in range(low, min(high, low + MOST))
            if (text := beliefs.terms[beliefs.o[row]]).startswith('"')
        ]
        shown = [_cut(self.value(text, predicate), VALUE) for predicate, text in values[:VALUES]]
        more = ", …" if len(values) > VALUES else ""
        return (words or "something without a name") + (f": {', '.join(shown)}{more}" if shown else "")

    def _within(self, term: int, above: tuple[int, ...]) -> str:
        """Name what points to a blank node."""
        if not self.beliefs.terms[term].startswith("_:"):
            return _cut(self.of(term), SHORT)
        label = self.label(term)
        if label or term in above or len(above) >= DEPTH:
            return _cut(label or "something without a name", SHORT)
        return self._blank_node(term, above)

    def _label_or_words(self, term: int) -> str:
        text = self.beliefs.terms[term]
        return _cut("something without a name" if text.startswith("_:") else self.of(term), SHORT)

    def _pointer(self, term: int, above: tuple[int, ...]) -> int | None:
        """Return the first row that points to a blank node from elsewhere."""
        objects, rows = self._pointers
        low, high = _span(objects, term)
        others = (row for row in rows[low:high].tolist() if int(self.beliefs.s[row]) not in (term, *above))
        return next(others, None)

    @cached_property
    def _type(self) -> int | None:
        return self.beliefs.terms.find(f"<{RDF_TYPE}>")

    @cached_property
    def _remembered(self) -> Callable[[int], str | None]:
        """Chooses labels, and keeps those of the last terms: a sentence needs each several times."""
        return lru_cache(maxsize=10_000)(lambda term: self._best(term, self._labels))

    @cached_property
    def _labels(self) -> list[int]:
        return self._used(self.properties)

    @cached_property
    def _descriptions(self) -> list[int]:
        return self._used(DESCRIPTION_PROPERTIES)

    def _used(self, properties: Sequence[str]) -> list[int]:
        """Return the numbers of those properties that are in the graph."""
        found = (self.beliefs.terms.find(f"<{name}>") for name in dict.fromkeys(properties))
        return [number for number in found if number is not None]

    @cached_property
    def _indexes(self) -> dict[tuple[int, ...], tuple[Int32s, Int32s]]:
        """Made by `_by_object`, each once."""
        return {}

    def _by_object(self, predicates: Sequence[int]) -> tuple[Int32s, Int32s]:
        """Return the objects of some predicates, sorted, and their subjects."""
        key = tuple(predicates)
        if key not in self._indexes:
            rows = np.flatnonzero(np.isin(self.beliefs.p, key))
            rows = rows[np.argsort(self.beliefs.o[rows], kind="stable")]
            self._indexes[key] = self.beliefs.o[rows], self.beliefs.s[rows]
        return self._indexes[key]

    @cached_property
    def _pointers(self) -> tuple[Int32s, Int32s]:
        """Return the blank nodes that are objects, sorted, and the rows where they are."""
        blank = self.beliefs.terms.starting("_:")
        rows = np.flatnonzero((self.beliefs.o >= blank.start) & (self.beliefs.o < blank.stop)).astype(
            np.int32
        )
        rows = rows[np.argsort(self.beliefs.o[rows], kind="stable")]
        return self.beliefs.o[rows], rows

    @cached_property
    def _wikibase(self) -> list[int]:
        """The numbers of what ties a property of a Wikibase to the predicates that stand for it."""
        return self._used([f"{WIKIBASE}{name}" for name in WIKIBASE_PREDICATES])


def is_right_to_left(text: str) -> bool:
    """Return whether the first letter of a text belongs to a script that runs from right to left.

    >>> is_right_to_left("غابورون"), is_right_to_left("3 Gaborone")
    (True, False)
    """
    strong = (kind for kind in map(unicodedata.bidirectional, text) if kind in ("L", "R", "AL"))
    return next(strong, "L") != "L"


def _span(column: Int32s, value: int) -> tuple[int, int]:
    """Return where a value is in a sorted column."""
    return int(np.searchsorted(column, value)), int(np.searchsorted(column, value, "right"))


def _tag(literal: str) -> str:
    """Return the language tag of a literal term; empty where it has none."""
    end = literal[literal.rindex('"') + 1 :]
    return end[1:] if end.startswith("@") else ""


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _needs_is(name: str) -> bool:
    """Return whether "is" goes before a name, such as "capital of", which reads better so."""
    return bool(re.fullmatch(r"(?!is )(?!\w+s of)[a-z][\w ]* of", name))


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

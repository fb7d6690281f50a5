"""Numbers for the terms of a graph and of its rules together, and what SPARQL needs to compare literals.

Rules may name terms that the graph lacks; they are merged into the graph's sorted table by shifting its
numbers, so that IRIs, literals and every prefix stay one run of numbers.
"""

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyoxigraph as ox

from rdf_kgeval.beliefs.table import Terms
from rdf_kgeval.beliefs.terms import parse_term
from rdf_kgeval.common.types import Bools, Float32s, Float64s, Int8s, Int32s
from rdf_kgeval.namespaces import XSD

TermRange = tuple[int, int]
"""The numbers of adjacent terms: the first, and the one after the last."""


class Vocabulary:
    """The graph's terms and some more, numbered in sorted order."""

    def __init__(self, terms: Terms, more: Iterable[str]) -> None:
        self.terms = terms
        self.extra = sorted({term for term in more if terms.find(term) is None})
        self._before = [bisect_left(terms, term) for term in self.extra]
        shift = np.zeros(len(terms) + 1, dtype=np.int32)
        np.add.at(shift, self._before, 1)
        self._shift = np.cumsum(shift, dtype=np.int32)

    def __len__(self) -> int:
        return len(self.terms) + len(self.extra)

    def number(self, column: Int32s) -> Int32s:
        """Translate the graph's numbers into those of this vocabulary."""
        return column + self._shift[column]

    def find(self, term: str) -> int:
        """Return the number of a term that is in the table."""
        number = self.terms.find(term)
        if number is not None:
            return int(number + self._shift[number])
        i = bisect_left(self.extra, term)
        return self._before[i] + i

    def text(self, number: int) -> str:
        """Return the term of a number."""
        i = bisect_right(self._places, number) - 1
        if i >= 0 and self._places[i] == number:
            return self.extra[i]
        return self.terms[int(number) - i - 1]

    @cached_property
    def _places(self) -> list[int]:
        return [before + i for i, before in enumerate(self._before)]

    def starting(self, prefix: str) -> TermRange:
        """Return the range of terms that start with `prefix`."""
        own = self.terms.starting(prefix)
        low = bisect_left(self.extra, prefix)
        return own.start + low, own.stop + bisect_left(self.extra, prefix + "\U0010ffff")

    @property
    def literals(self) -> TermRange:
        """Return the range of literals."""
        return self.starting('"')

    @property
    def blanks(self) -> TermRange:
        """Return the range of blank nodes."""
        return self.starting("_:")

    def split(self, numbers: Int32s) -> Int32s:
        """Translate numbers into the graph's own, and after those into places in `extra`."""
        places = np.array(self._places, dtype=np.int64)
        i = np.searchsorted(places, numbers, side="right")
        own = numbers - i
        if len(places):
            is_extra = (i > 0) & (places[np.maximum(i, 1) - 1] == numbers)
            own = np.where(is_extra, len(self.terms) + i - 1, own)
        return own.astype(np.int32)


OPAQUE, NUMBER, STRING, BOOLEAN, TAGGED, DATE, MOMENT, YEAR, OTHER = range(9)
"""What a literal is to comparison: OPAQUE equals only itself, OTHER is left to a SPARQL engine."""

EXACT, SINGLE, DOUBLE = range(3)
"""Integers and decimals are exact; comparison is done in the less precise of two numbers' types."""


@dataclass(frozen=True)
class LiteralValues:
    """Columns for comparing literals, one row each."""

    id: Int32s
    family: Int8s
    level: Int8s
    """EXACT, SINGLE or DOUBLE."""
    place: Int32s
    """Place in the order of values; equal values of a family have the same."""
    tag: Int32s
    """The language tag's number."""
    f32: Float32s
    f64: Float64s
    is_nan: Bools

    @classmethod
    def of(cls, vocabulary: Vocabulary, numbers: Iterable[int]) -> "LiteralValues":
        """Compute the values of the literals among `numbers`."""
        low, high = vocabulary.literals
        ids = sorted({int(n) for n in numbers if low <= n < high})
        parsed = [_value(vocabulary.text(n)) for n in ids]
        keys = [(family, key) for family, _, key, _ in parsed]
        place = {key: i for i, key in enumerate(sorted(set(keys)))}
        tags = {tag: i for i, tag in enumerate(sorted({tag for *_, tag in parsed}))}
        numeric = [_to_float(key) if family == NUMBER else 0.0 for family, _, key, _ in parsed]
        with np.errstate(over="ignore"):
            single = np.array(numeric, dtype=np.float32)
        return cls(
            id=np.array(ids, dtype=np.int32),
            family=np.array([family for family, *_ in parsed], dtype=np.int8),
            level=np.array([level for _, level, *_ in parsed], dtype=np.int8),
            place=np.array([place[key] for key in keys], dtype=np.int32),
            tag=np.array([tags[tag] for *_, tag in parsed], dtype=np.int32),
            f32=single,
            f64=np.array(numeric, dtype=np.float64),
            is_nan=np.array([tag == "NaN" for *_, tag in parsed], dtype=bool),
        )


Value = tuple[int, int, Any, str]
"""Family, level, sort key and language tag."""

_INTEGERS = frozenset(
    XSD + name
    for name in (
        "integer", "int", "long", "short", "byte",
        "unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte",
        "positiveInteger", "negativeInteger", "nonPositiveInteger", "nonNegativeInteger",
    )
)  # fmt: skip
_TEMPORAL = frozenset(
    XSD + name
    for name in (
        "date", "dateTime", "dateTimeStamp", "time", "gYear", "gYearMonth", "gMonth", "gMonthDay", "gDay",
        "duration", "dayTimeDuration", "yearMonthDuration",
    )
)  # fmt: skip
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)")
_FLOAT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?INF|NaN")


def _value(term: str) -> Value:
    literal = parse_term(term)
    assert isinstance(literal, ox.Literal)  # noqa: S101
    text, datatype = literal.value, literal.datatype.value
    if literal.language:
        return TAGGED, EXACT, text, literal.language
    if datatype == XSD + "string":
        return STRING, EXACT, text, ""
    if datatype == XSD + "boolean" and text in ("true", "false", "1", "0"):
        return BOOLEAN, EXACT, int(text in ("true", "1")), ""
    if datatype in _TEMPORAL:
        return _moment(text, datatype)
    return _number(text, datatype) or (OPAQUE, EXACT, term, "")


def _to_float(number: Fraction | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


_MOMENT = re.compile(
    r"([0-9]{4})(-[0-9]{2}-[0-9]{2})?(T([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9](\.[0-9]+)?))?"
)


def _moment(text: str, datatype: str) -> Value:
    """Order dates, years and date-times without a time zone; the rest is left to the engine."""
    match = _MOMENT.fullmatch(text)
    form = {"date": (True, False), "gYear": (False, False), "dateTime": (True, True)}.get(
        datatype[len(XSD) :]
    )
    if match is None or match[1] == "0000" or form != (match[2] is not None, match[3] is not None):
        return OTHER, EXACT, text, ""
    if form == (False, False):
        return YEAR, EXACT, text, ""
    try:
        day = date.fromisoformat(match[1] + match[2]).toordinal()
    except ValueError:
        return OPAQUE, EXACT, f'"{text}"^^<{datatype}>', ""
    if form == (True, False):
        return DATE, EXACT, (day,), ""
    return MOMENT, EXACT, (day, match[4], match[5], Decimal(match[6])), ""


def _number(text: str, datatype: str) -> Value | None:
    if datatype in _INTEGERS and _INTEGER.fullmatch(text):
        # int() of a long text takes quadratic time and is refused; Decimal is exact at any length.
        return NUMBER, EXACT, Fraction(Decimal(text)), ""
    if datatype == XSD + "decimal" and _DECIMAL.fullmatch(text):
        return NUMBER, EXACT, Fraction(Decimal(text)), ""
    if datatype in (XSD + "double", XSD + "float") and _FLOAT.fullmatch(text):
        number = float(text.replace("INF", "inf"))
        if datatype == XSD + "float":
            with np.errstate(over="ignore"):
                number = float(np.float32(number))
        nan = math.isnan(number)
        level = DOUBLE if datatype == XSD + "double" else SINGLE
        return NUMBER, level, 0.0 if nan else number, "NaN" if nan else ""
    return None

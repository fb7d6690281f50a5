"""Write literals as people read them: numbers with separators, and dates in words."""

import re
from decimal import Decimal

import pyoxigraph as ox

from rdf_kgeval.namespaces import XSD

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
_INTEGERS = {
    f"{XSD}{name}"
    for name in (
        "integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger",
        "nonPositiveInteger", "negativeInteger", "unsignedInt", "unsignedLong", "unsignedShort",
        "unsignedByte",
    )
}  # fmt: skip
_FRACTIONS = {f"{XSD}{name}" for name in ("decimal", "double", "float")}
_CODES = {
    "code", "codes", "fax", "id", "identifier", "identifiers", "ids", "isbn", "issn", "key", "phone",
    "postcode", "ref", "telephone", "year", "zip",
}  # fmt: skip
"""Words of a predicate whose numbers name something, or are years, and do not count anything."""
_YEAR_DIGITS = 4
_LARGEST_EXPONENT = 15


def value_text(literal: ox.Literal, predicate: str = "") -> str:
    """Write a literal; `predicate` is what it is the value of, in words.

    Integers of four digits may be years, and stay as they are. What a datatype does not allow stays, too.

    >>> integer = ox.NamedNode(XSD + "integer")
    >>> value_text(ox.Literal("246325", datatype=integer)), value_text(ox.Literal("2018", datatype=integer))
    ('246,325', '2018')
    >>> value_text(ox.Literal("246325", datatype=integer), "postal code")
    '246325'
    >>> value_text(ox.Literal("2018-05-03", datatype=ox.NamedNode(XSD + "date")))
    '3 May 2018'
    """
    text, kind = literal.value, literal.datatype.value
    if kind in _INTEGERS | _FRACTIONS:
        named = _CODES.intersection(re.findall(r"[^\W_]+", predicate.lower()))
        return text if named else _number(text, kind)
    writer = _DATES.get(kind)
    return (writer and writer(text)) or text


def _number(text: str, kind: str) -> str:
    if kind not in _INTEGERS and re.fullmatch(r"[+-]?[0-9]{1,20}(\.[0-9]{1,20})?[eE][+-]?[0-9]{1,3}", text):
        value = Decimal(text)
        if abs(value.adjusted()) <= _LARGEST_EXPONENT:
            text = f"{value:f}"
            text = text.rstrip("0").rstrip(".") if "." in text else text
    found = re.fullmatch(r"([+-]?)([1-9][0-9]{0,99})(\.[0-9]+)?", text)
    if not found or (len(found[2]) <= _YEAR_DIGITS and not (found[3] or "").strip(".0")):
        return text
    return f"{found[1]}{int(found[2]):,}{found[3] or ''}"


_ZONE = r"(Z|[+-][0-9]{2}:[0-9]{2})?"
_DAY = r"(0[1-9]|[12][0-9]|3[01])"
_MONTH = r"(0[1-9]|1[0-2])"
_YEAR = r"([1-9][0-9]{3,8}|0[0-9]{3})"


def _date(text: str) -> str | None:
    found = re.fullmatch(f"{_YEAR}-{_MONTH}-{_DAY}{_ZONE}", text)
    return found and f"{_day(*found.group(1, 2, 3))}{_zone(found[4])}"


def _date_time(text: str) -> str | None:
    clock = r"([0-9]{2}:[0-9]{2})(:[0-9]{2}(?:\.[0-9]+)?)"
    found = re.fullmatch(f"{_YEAR}-{_MONTH}-{_DAY}T{clock}{_ZONE}", text)
    if not found:
        return None
    seconds = found[5] if found[5].strip(":0.") else ""
    return f"{_day(*found.group(1, 2, 3))}, {found[4]}{seconds}{_zone(found[6])}"


def _year_month(text: str) -> str | None:
    found = re.fullmatch(f"{_YEAR}-{_MONTH}{_ZONE}", text)
    return found and f"{_MONTHS[int(found[2]) - 1]} {int(found[1])}{_zone(found[3])}"


def _month_day(text: str) -> str | None:
    found = re.fullmatch(f"--{_MONTH}-{_DAY}{_ZONE}", text)
    return found and f"{int(found[2])} {_MONTHS[int(found[1]) - 1]}{_zone(found[3])}"


def _month(text: str) -> str | None:
    found = re.fullmatch(f"--{_MONTH}{_ZONE}", text)
    return found and f"{_MONTHS[int(found[1]) - 1]}{_zone(found[2])}"


def _day(year: str, month: str, day: str) -> str:
    return f"{int(day)} {_MONTHS[int(month) - 1]} {int(year)}"


def _zone(zone: str | None) -> str:
    if not zone:
        return ""
    return " UTC" if zone == "Z" else f" UTC{zone}"


_DATES = {
    f"{XSD}date": _date,
    f"{XSD}dateTime": _date_time,
    f"{XSD}dateTimeStamp": _date_time,
    f"{XSD}gYearMonth": _year_month,
    f"{XSD}gMonthDay": _month_day,
    f"{XSD}gMonth": _month,
}

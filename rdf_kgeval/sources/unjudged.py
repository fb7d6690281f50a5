"""What nobody can judge: names, records, links and the schema, which people are not asked about by default.

`unjudged.toml` lists the predicates.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rdf_kgeval.beliefs.accounts import LINKS, NAMES, RECORDS, SCHEMA
from rdf_kgeval.beliefs.prefixes import Prefixes
from rdf_kgeval.beliefs.table import Beliefs
from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.common.types import Bools, Int32s, UInt8s
from rdf_kgeval.namespaces import OWL, RDF, RDF_TYPE, RDFS, WIKIBASE

REASONS = ("", NAMES, RECORDS, LINKS, SCHEMA)
"""The accounts of what is not judged, by their codes; 0 is what people can judge."""
_AXIOMS = (RDF, RDFS, OWL)
"""Namespaces of the vocabularies of schemas, which axioms are read from."""
SCHEMAS = (*_AXIOMS, WIKIBASE)
"""Namespaces whose terms say what classes, properties and records are."""
NOTHING_ELSE = (
    "there is nothing but names, records, links or schema, which people can hardly judge, so all of it is "
    "evaluated"
)
"""The note where the default would leave nothing."""
_NAMED = 20
"""Predicates to name in a note."""
FACTS = (RDF_TYPE, f"{OWL}differentFrom")
"""What these vocabularies say of things."""


@cache
def _list() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


@cache
def listed() -> Mapping[str, str]:
    """Map each predicate of the list, an IRI, to its account."""
    found: dict[str, str] = {}
    for account, names in _list()["predicates"].items():
        for name in names:
            prefix, local = name.split(":")
            found |= {space + local: account for space in _list()["prefixes"][prefix]}
    return found


def reason_of(predicate: str, label_properties: Sequence[str]) -> str:
    """Return the account of a predicate's triples, given its IRI; empty where people can judge them."""
    if predicate in label_properties:
        return NAMES
    if predicate in listed():
        return listed()[predicate]
    return SCHEMA if predicate.startswith(SCHEMAS) and predicate not in FACTS else ""


def is_schema_type(predicate: str, object_: str) -> bool:
    """Test, given a triple's predicate and object, N-Triples terms, whether it says what class a class is."""
    return predicate == f"<{RDF_TYPE}>" and object_.startswith(tuple(f"<{space}" for space in SCHEMAS))


def unjudged(beliefs: Beliefs, label_properties: Sequence[str]) -> UInt8s:
    """Return by row why nobody can judge it, as a code of `REASONS`."""
    in_schemas = _in(beliefs, SCHEMAS)
    code = in_schemas.astype(np.uint8) * REASONS.index(SCHEMA)
    code[_numbers(beliefs, FACTS)] = 0
    for predicate, account in listed().items():
        code[_numbers(beliefs, [predicate])] = REASONS.index(account)
    typed = _typed(beliefs)
    declared = beliefs.s[typed & np.isin(beliefs.o, _numbers(beliefs, [f"{OWL}AnnotationProperty"]))]
    code[declared] = REASONS.index(NAMES)
    code[_numbers(beliefs, label_properties)] = REASONS.index(NAMES)
    reason: UInt8s = code[beliefs.p]
    reason[typed & in_schemas[beliefs.o]] = REASONS.index(SCHEMA)
    return reason


def describe(predicates: Mapping[str, int], prefixes: Prefixes) -> str:
    """Say in a note which predicates are left out, those with most triples first.

    Args:
        predicates: the number of triples by predicate IRI, most first.
        prefixes: to write them with.
    """
    named = [
        f"{'types of the schema' if p == RDF_TYPE else printable(prefixes.shorten(p), 80)} ({count:,})"
        for p, count in list(predicates.items())[:_NAMED]
    ]
    more = len(predicates) - _NAMED
    names = ", ".join([*named, *([plural(more, "more predicate")] if more > 0 else [])])
    return (
        f"nobody is asked about {names}: people can hardly judge them; --predicate IRI or --scope F.rq names "
        "what to ask about"
    )


def is_schema(beliefs: Beliefs) -> Bools:
    """Mark the triples that say what classes and properties are, not what is so."""
    in_schemas = _in(beliefs, _AXIOMS)
    typed = _typed(beliefs)
    of_facts = np.isin(beliefs.p, _numbers(beliefs, [*FACTS, f"{OWL}sameAs"]))
    rows: Bools = (in_schemas[beliefs.p] & ~of_facts) | (typed & in_schemas[beliefs.o])
    return rows


def _in(beliefs: Beliefs, spaces: Sequence[str]) -> Bools:
    """Mark the terms in any of some namespaces."""
    terms = np.zeros(len(beliefs.terms), dtype=bool)
    for space in spaces:
        terms[beliefs.terms.starting(f"<{space}")] = True
    return terms


def _typed(beliefs: Beliefs) -> Bools:
    typed: Bools = np.isin(beliefs.p, _numbers(beliefs, [RDF_TYPE]))
    return typed


def _numbers(beliefs: Beliefs, iris: Iterable[str]) -> Int32s:
    found = (beliefs.terms.find(f"<{name}>") for name in iris)
    return np.array([number for number in found if number is not None], dtype=np.int32)

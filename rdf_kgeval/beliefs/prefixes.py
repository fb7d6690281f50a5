"""Prefixes: short names of namespaces, by which people read and write IRIs as CURIEs such as `ex:capital`."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, cast

from rdf_kgeval.beliefs.terms import iri, iri_term, local_name, oxigraph_text, parse_term, rdflib_term
from rdf_kgeval.common.arguments import wrong
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError

WELL_KNOWN = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "dct": "http://purl.org/dc/terms/",
    "dcterms": "http://purl.org/dc/terms/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "schema": "http://schema.org/",
    "sdo": "https://schema.org/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "prov": "http://www.w3.org/ns/prov#",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dqv": "http://www.w3.org/ns/dqv#",
    "void": "http://rdfs.org/ns/void#",
    "sh": "http://www.w3.org/ns/shacl#",
    "org": "http://www.w3.org/ns/org#",
    "time": "http://www.w3.org/2006/time#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "geosparql": "http://www.opengis.net/ont/geosparql#",
    "gn": "http://www.geonames.org/ontology#",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "wikibase": "http://wikiba.se/ontology#",
    "dbo": "http://dbpedia.org/ontology/",
    "dbp": "http://dbpedia.org/property/",
    "dbr": "http://dbpedia.org/resource/",
    "kge": "https://w3id.org/rdf-kgeval#",
}
"""Prefixes that are understood everywhere; those of the user and of the source come first."""
_SCHEMES = {"did", "file", "ftp", "http", "https", "info", "mailto", "tag", "tel", "urn"}
"""What begins with one of these is an IRI, whatever the prefixes are."""
_NAME = re.compile(r"(?:[^\W\d_](?:[\w.-]*[\w-])?)?")


@dataclass(frozen=True)
class Prefixes:
    """The prefixes of a graph; of two with one name, or for one namespace, the earlier counts.

    >>> prefixes = Prefixes.of({"ex": "http://example.org/"})
    >>> prefixes.expand("ex:capital"), prefixes.shorten("http://example.org/capital")
    ('http://example.org/capital', 'ex:capital')
    """

    declared: tuple[tuple[str, str], ...] = ()
    """Names with namespaces, the user's before those of the source; the well-known ones are left out."""

    @classmethod
    def of(cls, *sources: Mapping[str, str]) -> "Prefixes":
        """Collect prefixes, the most important source first; leave out what makes no CURIE."""
        found: dict[str, str] = {}
        for source in sources:
            for name, namespace in sorted(source.items()):
                if _is_usable(name, namespace):
                    found.setdefault(name, namespace)
        return cls(tuple(found.items()))

    @cached_property
    def namespaces(self) -> dict[str, str]:
        """The namespace of each prefix."""
        return {
            **dict(self.declared),
            **{k: v for k, v in WELL_KNOWN.items() if k not in dict(self.declared)},
        }

    @cached_property
    def _names(self) -> dict[str, str]:
        names: dict[str, str] = {}
        for name, namespace in self.namespaces.items():
            names.setdefault(namespace, name)
        return names

    @cached_property
    def _lengths(self) -> list[int]:
        return sorted({len(namespace) for namespace in self._names}, reverse=True)

    def shorten(self, iri: str) -> str:
        """Write an IRI as a CURIE, by the longest namespace that fits; else in full."""
        for length in self._lengths:
            name = self._names.get(iri[:length])
            if name is not None and len(iri) > length and not iri.startswith("//", length):
                return f"{name}:{iri[length:]}"
        return iri

    def expand(self, text: str) -> str:
        """Return the IRI that a user means by an IRI, with or without angle brackets, or a CURIE.

        Raises:
            InputError: it is neither, or the prefix is unknown.
        """
        name, colon, local = text.partition(":")
        if is_iri(text) or not colon:
            return iri(iri_term(text))
        namespace = self.namespaces.get(name)
        if namespace is None:
            near = get_close_matches(name, filter(None, self.namespaces), n=1)
            hint = f"did you mean {printable(near[0])}:{printable(local, 100)}? Otherwise " if near else ""
            raise InputError(
                f"{printable(text, 200)}: there is no prefix {printable(name, 40)!r}; {hint}"
                f"add --prefix {printable(name, 40)}=NAMESPACE, or write the IRI in angle brackets"
            )
        return iri(iri_term(namespace + local))

    def full(self, text: str | None) -> str:
        """Write out a CURIE with a known prefix; leave other text, such as a literal, as it is."""
        plain = (text or "").strip()
        known = plain.partition(":")[0] in self.namespaces and not plain.startswith(('"', "_:"))
        return self.expand(plain) if known and ":" in plain and not is_iri(plain) else plain


def is_iri(text: str) -> bool:
    """Return whether a text is meant as an IRI rather than as a CURIE."""
    scheme, _, rest = text.partition(":")
    return text.startswith("<") or rest.startswith("//") or scheme.lower() in _SCHEMES


def user_term(term: object) -> str:
    """Convert a term as Python users write it into N-Triples; a CURIE stays.

    Args:
        term: an IRI or a CURIE, a term in N-Triples, or one of rdflib's.

    Raises:
        InputError: it is none of these, or a blank node of rdflib's.
    """
    advice = "write an IRI, a CURIE, a text as rdflib.Literal('Rome'), or any term in N-Triples"
    if type(term) is not str:
        if not hasattr(term, "n3"):
            raise wrong(term, "a term is an IRI, a CURIE or one of rdflib's", advice)
        if type(term).__name__ == "BNode":
            raise InputError(
                f"the blank node {printable(str(term), 40)} has another name among the beliefs; "
                "name the belief by its id"
            )
        return rdflib_term(cast(Any, term))
    if term.startswith(("<", '"', "_:")):
        try:
            return oxigraph_text(parse_term(term))
        except (SyntaxError, ValueError) as error:
            raise InputError(f"{printable(term, 200)} is not a term in N-Triples; {advice}") from error
    if is_iri(term):
        return iri_term(term)
    if ":" in term and not NEVER.search(term):
        return term
    raise InputError(f"{printable(repr(term), 200)} is neither an IRI nor a CURIE; {advice}")


NEVER = re.compile(r'[\x00-\x20<>"{}|\\^`]')
"""Characters that no IRI has."""


def parse_prefixes(texts: Iterable[str]) -> dict[str, str]:
    """Parse a user's prefixes.

    >>> parse_prefixes(["ex=http://example.org/"])
    {'ex': 'http://example.org/'}
    """
    found = {}
    for text in texts:
        name, _, namespace = text.partition("=")
        name, namespace = (
            name.strip().removesuffix(":"),
            namespace.strip().removeprefix("<").removesuffix(">"),
        )
        if not _is_usable(name, namespace):
            raise InputError(
                f"{printable(text, 200)!r} is not a prefix; write a name and a namespace, such as "
                "ex=http://example.org/"
            )
        found[name] = namespace
    return found


def nearest(wanted: str, iris: Iterable[str]) -> str | None:
    """Find the IRI that a user may have meant: the one whose local name is most like that of `wanted`."""
    by_name: dict[str, str] = {}
    for one in iris:
        by_name.setdefault(local_name(one, "/#:").lower(), one)
    near = get_close_matches(local_name(wanted, "/#:").lower(), by_name, n=1)
    return by_name[near[0]] if near else None


def _is_usable(name: str, namespace: str) -> bool:
    """Check that CURIEs with this prefix are read as what they are written for, and hide nothing."""
    try:
        iri_term(namespace)
    except InputError:
        return False
    fits = _NAME.fullmatch(name) is not None and name.isprintable() and namespace.isprintable()
    return fits and name.lower() not in _SCHEMES

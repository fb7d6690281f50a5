"""Evidence: where a belief comes from, as the graph says or as a file says that somebody wrote.

In the graph: the named graph, sources of the statement (of its reification, its reifiers, or its Wikibase
references), and sources of the subject. Nothing is fetched.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rdf_kgeval.beliefs.names import Names
from rdf_kgeval.beliefs.prefixes import Prefixes
from rdf_kgeval.beliefs.table import Triple
from rdf_kgeval.beliefs.terms import cell_term, iri, parse_term
from rdf_kgeval.common.tables import read_rows
from rdf_kgeval.common.text import printable, web_address
from rdf_kgeval.errors import InputError
from rdf_kgeval.namespaces import PROV, PROVENANCE, RDF

COLUMNS = ("subject", "predicate", "object", "text", "url")
MOST = 20
"""Pieces of evidence for one belief."""
_LOOKED_AT = 1_000
"""Triples about one node that are looked at."""
_REFERENCE = "/prop/reference/"


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """A passage or a source, as it was given: show it escaped."""

    text: str
    url: str | None = None
    """The address of the web page, with http or https."""

    def __str__(self) -> str:
        """Write it in one piece."""
        return self.text if self.url in (None, self.text) else f"{self.text} {self.url}"


Passages = Mapping[Triple, Sequence[Evidence]]
"""Evidence from a file, by the triple that it is about."""


def read_passages(path: Path, prefixes: Prefixes | None = None) -> Passages:
    """Read passages from CSV with the columns subject, predicate, object, text and url.

    Terms are plain IRIs, N-Triples terms, or CURIEs with one of the prefixes. The text or the url may be
    empty.

    Raises:
        InputError: the file cannot be read, or a row has neither text nor a web address.
    """
    full = (prefixes or Prefixes()).full
    found: dict[Triple, list[Evidence]] = {}
    for where, row in read_rows(path, COLUMNS):
        text, url = row["text"], row["url"]
        if not text and not url:
            raise InputError(f"{where}: there is neither text nor url; write one of them")
        if url and not web_address(url):
            raise InputError(
                f"{where}: the url {printable(url, 100)!r} is not the address of a web page; give one "
                "that starts with http:// or https:// and holds no space and no password"
            )
        s, p, o = (cell_term(full(row[column]), where) for column in COLUMNS[:3])
        found.setdefault((s, p, o), []).append(Evidence(text=text or url, url=url or None))
    return found


def evidence_of(names: Names, row: int, passages: Passages) -> tuple[Evidence, ...]:
    """List the evidence for a row: passages first, then what the graph says, nearest first."""
    triple = names.beliefs.triple(row)
    found = dict.fromkeys(islice(_all(names, row, triple, passages), _LOOKED_AT))
    left = len(found) - MOST
    rest = [Evidence(text=f"and {left:,} more in the graph")] if left > 0 else []
    return (*islice(found, MOST), *rest)


def _all(names: Names, row: int, triple: Triple, passages: Passages) -> Iterator[Evidence]:
    beliefs = names.beliefs
    yield from passages.get(triple, ())
    for statement in _statements(names, triple):
        yield from _sources(names, statement)
    for term in islice(beliefs.graphs(row), _LOOKED_AT):
        yield _source(names, term)
        yield from _sources(names, term)
    yield from _sources(names, int(beliefs.s[row]))


def _statements(names: Names, triple: Triple) -> Iterator[int]:
    """Yield the nodes that stand for a triple: reifications, reifiers and statements of a Wikibase."""
    terms = names.beliefs.terms
    s, p, o = (terms.find(term) for term in triple)
    if s is None or p is None or o is None:
        return
    yield from names.subjects(terms.find(f"<{RDF}reifies>"), terms.find("<<( {} {} {} )>>".format(*triple)))
    parts = [(terms.find(f"<{RDF}{part}>"), term) for part, term in (("predicate", p), ("object", o))]
    for node in names.subjects(terms.find(f"<{RDF}subject>"), s)[:_LOOKED_AT].tolist():
        if all(term in names.objects(node, predicate) for predicate, term in parts):
            yield node
    direct = iri(triple[1])
    if "/prop/direct/" in direct:
        claim, value = (
            terms.find(f"<{direct.replace('/prop/direct/', part)}>")
            for part in ("/prop/", "/prop/statement/")
        )
        for node in names.objects(s, claim)[:_LOOKED_AT].tolist():
            if o in names.objects(node, value):
                yield node
    elif "/prop/P" in direct:
        yield o


def _sources(names: Names, node: int) -> Iterator[Evidence]:
    """Yield the sources that the graph names for a node."""
    for predicate in (f"{PROV}wasQuotedFrom", *PROVENANCE):
        number = names.beliefs.terms.find(f"<{predicate}>")
        for source in names.objects(node, number)[:_LOOKED_AT].tolist():
            yield _source(names, source)


def _source(names: Names, source: int) -> Evidence:
    """Describe a source: by its label, its address or, for a reference of a Wikibase, by what it says."""
    text = names.beliefs.terms[source]
    if text.startswith('"'):
        value = getattr(parse_term(text), "value", text)
        return Evidence(text=value, url=web_address(value))
    said = [
        (int(p), names.beliefs.terms[o])
        for p, o in names.about(source, _LOOKED_AT)
        if _REFERENCE in names.beliefs.terms[p]
    ]
    if said:
        values = [getattr(parse_term(o), "value", "") for _, o in said]
        words = (f"{names.of(p)}: {names.value(o, p)}" for p, o in said)
        return Evidence(text="; ".join(words), url=next(filter(None, map(web_address, values)), None))
    own = names.label(source) or (iri(text) if text.startswith("<") else names.of(source))
    return Evidence(text=own, url=web_address(iri(text)))

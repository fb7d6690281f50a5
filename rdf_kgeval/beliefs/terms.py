"""Convert the terms of rdflib, pyoxigraph and SPARQL JSON into ours, and back, in one place.

A term is its canonical N-Triples text; language tags are in lower case, their value space in RDF 1.1.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.namespaces import XSD

if TYPE_CHECKING:
    import rdflib


def iri(term: str) -> str:
    """Return the IRI of an N-Triples IRI term, and any other term unchanged."""
    return term[1:-1] if term.startswith("<") and not term.startswith("<<") else term


def local_name(iri: str, separators: str = "/#") -> str:
    """Return the part of an IRI after its last separator; it is empty where the IRI ends in one.

    >>> local_name("http://example.org/nell#Stadium"), local_name("urn:isbn:123"), local_name("urn:x", ":")
    ('Stadium', 'urn:isbn:123', 'x')
    """
    return iri[max(map(iri.rfind, separators)) + 1 :]


def iri_term(text: str) -> str:
    """Convert an IRI, with or without angle brackets, into an N-Triples term."""
    try:
        return str(ox.NamedNode(text[1:-1] if text.startswith("<") and text.endswith(">") else text))
    except ValueError as error:
        raise InputError(
            f"{printable(text, 200)!r} is not an absolute IRI ({printable(str(error))}); "
            "write it in full, such as http://example.org/name"
        ) from error


def parse_term(term: str) -> ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple:
    """Convert an N-Triples term into pyoxigraph's."""
    (quad,) = ox.parse(f"<x:> <x:> {term} .", format=ox.RdfFormat.N_TRIPLES)
    parsed: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple = quad.object
    return parsed


def cell_term(text: str | None, where: str) -> str:
    """Convert a cell of a table: a plain IRI or an N-Triples term; `where` is its file and line."""
    text = (text or "").strip()
    try:
        return str(parse_term(text)) if text.startswith(("<", "_:", '"')) else iri_term(text)
    except (SyntaxError, ValueError, InputError) as error:
        raise InputError(
            f"{where}: {printable(text, 120)!r} is neither an IRI nor an N-Triples term; correct it"
        ) from error


def to_rdflib(term: object) -> "rdflib.term.Identifier":
    """Convert a pyoxigraph term into rdflib's, with the same lexical form."""
    import rdflib

    if isinstance(term, ox.NamedNode):
        return rdflib.URIRef(term.value)
    if isinstance(term, ox.BlankNode):
        return rdflib.BNode(term.value)
    if isinstance(term, ox.Literal):
        if term.language:
            return rdflib.Literal(term.value, lang=term.language)
        datatype = rdflib.URIRef(term.datatype.value) if term.datatype.value != f"{XSD}string" else None
        return rdflib.Literal(term.value, datatype=datatype, normalize=False)
    raise InputError(f"{printable(str(term), 120)} is a term that rdflib does not know; leave it out")


def oxigraph_text(term: object) -> str:
    """Convert a pyoxigraph term into N-Triples; str() leaves out the brackets of a triple term."""
    return f"<<( {term} )>>" if isinstance(term, ox.Triple) else str(term)


def json_term(binding: Mapping[str, Any]) -> str:
    """Convert a SPARQL JSON binding into an N-Triples term; ValueError where it is not valid RDF."""
    kind, value = binding["type"], binding["value"]
    if kind == "triple":
        s, p, o = (json_term(value[part]) for part in ("subject", "predicate", "object"))
        if s.startswith(('"', "<<")) or not p.startswith("<") or p.startswith("<<"):
            raise ValueError(kind)
        return f"<<( {s} {p} {o} )>>"
    if kind == "uri":
        return str(ox.NamedNode(value))
    if kind == "bnode":
        return str(ox.BlankNode(value))
    if kind != "literal":
        raise ValueError(kind)
    if "xml:lang" in binding:
        direction = ox.BaseDirection(binding["its:dir"]) if "its:dir" in binding else None
        return str(ox.Literal(value, language=binding["xml:lang"], direction=direction))
    return str(ox.Literal(value, datatype=ox.NamedNode(binding.get("datatype", f"{XSD}string"))))


def from_rdflib(graph: "rdflib.Graph") -> Iterator[ox.Quad]:
    """Yield the quads of an rdflib Graph or Dataset."""
    import rdflib

    convert = _RdflibTerms()
    if isinstance(graph, rdflib.Dataset):
        for s, p, o, g in graph.quads():
            named = (
                isinstance(g, (rdflib.URIRef, rdflib.BNode)) and g != rdflib.graph.DATASET_DEFAULT_GRAPH_ID
            )
            yield ox.Quad(convert[s], convert[p], convert[o], convert[g] if named else ox.DefaultGraph())
    else:
        for s, p, o in graph:
            yield ox.Quad(convert[s], convert[p], convert[o])


def rdflib_term(term: "rdflib.term.Node") -> str:
    """Convert an rdflib term into an N-Triples term."""
    return str(_RdflibTerms()[term])


class _RdflibTerms(dict[Any, Any]):
    """The pyoxigraph terms of rdflib terms, each converted once."""

    def __missing__(self, term: Any) -> Any:
        import rdflib

        try:
            if isinstance(term, rdflib.URIRef):
                converted: Any = ox.NamedNode(str(term))
            elif isinstance(term, rdflib.BNode):
                # Any string can be an rdflib label; only letters and digits are safe in N-Triples.
                converted = ox.BlankNode("b" + str(term).encode().hex())
            elif isinstance(term, rdflib.Literal) and term.language:
                converted = ox.Literal(str(term), language=term.language)
            elif isinstance(term, rdflib.Literal):
                converted = ox.Literal(str(term), datatype=ox.NamedNode(str(term.datatype or f"{XSD}string")))
            else:
                raise InputError(
                    f"the rdflib graph holds {printable(repr(term), 120)}, which is not an RDF term"
                )
        except ValueError as error:
            raise InputError(
                f"the rdflib graph holds {printable(repr(term), 120)}, which is not valid RDF "
                f"({printable(str(error))})"
            ) from error
        self[term] = converted
        return converted

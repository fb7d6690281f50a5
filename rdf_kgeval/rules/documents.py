"""Parse ontologies and shapes into rdflib graphs, without the network."""

from pathlib import Path
from typing import Any
from xml.parsers import expat

import pyoxigraph as ox
import rdflib
from rdflib import RDF

from rdf_kgeval.beliefs.terms import to_rdflib
from rdf_kgeval.common.disk import read_bytes
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.sources.files import FORMATS, check_xml, syntax_message


def read_document(path: Path) -> rdflib.Graph:
    """Parse the RDF of one file.

    Raises:
        InputError: it is missing, of an unknown kind or not valid; the message names file and line.
    """
    known = FORMATS.get(path.suffix.lower())
    if known is None:
        raise InputError(
            f"{printable(str(path))} has no suffix of an RDF file; name it one of {', '.join(FORMATS)}, or "
            "read rules with read_rules"
        )
    return parse_document(read_bytes(path), known, str(path), path.absolute().as_uri())


def parse_document(data: bytes, form: ox.RdfFormat, name: str, base: str) -> rdflib.Graph:
    """Parse RDF; `name` is its name in messages."""
    if (
        form == ox.RdfFormat.RDF_XML
        and name.endswith(".owl")
        and not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<?xml")
    ):
        form = form if b"<rdf:RDF" in data[:4096] else ox.RdfFormat.TURTLE
    graph = rdflib.Graph(bind_namespaces="none")
    try:
        if form == ox.RdfFormat.RDF_XML:
            parser = expat.ParserCreate()
            for part in (data, b""):
                check_xml(parser, part)
        for quad in ox.parse(input=data, format=form, base_iri=base):
            graph.add(tuple(to_rdflib(term) for term in quad.triple))  # type: ignore[arg-type]
    except SyntaxError as error:
        raise InputError(syntax_message(printable(name), form, error)) from error
    except ValueError as error:
        raise InputError(
            f"{printable(name)}: it is not valid ({printable(str(error), 160)}); correct it"
        ) from error
    return graph


def read_list(graph: rdflib.Graph, head: Any) -> list[Any]:
    """List the members of an RDF list; ValueError where it is broken."""
    members, seen = [], set()
    while head != RDF.nil:
        first, rest = list(graph.objects(head, RDF.first)), list(graph.objects(head, RDF.rest))
        if head in seen or len(first) != 1 or len(rest) != 1:
            raise ValueError(
                "it does not end in rdf:nil" if head in seen else "a part lacks rdf:first or rdf:rest"
            )
        seen.add(head)
        members.append(first[0])
        head = rest[0]
    return members

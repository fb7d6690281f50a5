"""Read RDFS and OWL ontologies as rules.

The schema is closed by owlrl first, so that a property whose domain is a subclass also has the superclass as
its domain; data in the file is ignored. An axiom has confidence 0.99 unless `kge:weight` or
`kge:confidence` says otherwise: on its owl:Axiom annotation, on its subject, or on its kind (as in
`rdfs:domain kge:confidence 0.9`). An axiom with a strength of its own is not used to derive others.
"""

import logging
from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox
import rdflib
from rdflib import OWL, RDF

from rdf_kgeval.common.http.fetch import fetch_rdf
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.rules.axioms import axiom_rules
from rdf_kgeval.rules.dialects import read_paths
from rdf_kgeval.rules.documents import parse_document, read_document
from rdf_kgeval.rules.expressions import TemplateError
from rdf_kgeval.rules.rule import Rule

_log = logging.getLogger(__name__)
_MAX_IMPORTS = 50

Fetch = Callable[[str], tuple[bytes, str]]
"""Returns the bytes and the media type of the document at an IRI."""


def read_ontology(
    *paths: str | Path | rdflib.Graph, follow_imports: bool = False, fetch: Fetch = fetch_rdf
) -> list[Rule]:
    """Read the axioms of ontologies as rules, sorted by their ids.

    Args:
        paths: RDF files or rdflib graphs, read as one ontology.
        follow_imports: fetch imported ontologies over HTTP; otherwise they are left out and logged.
        fetch: fetches the document of an IRI.

    Raises:
        InputError: with one line for every mistake in any of the files.
    """
    graph = rdflib.Graph(bind_namespaces="none")
    errors: list[str] = []
    graphs = [path for path in paths if isinstance(path, rdflib.Graph)]
    for given in graphs:
        for triple in given:
            graph.add(triple)
    files = [path for path in paths if not isinstance(path, rdflib.Graph)]
    for path in read_paths(files, "read_ontology", "couple(beliefs, rules) takes rules as they are"):
        try:
            for triple in read_document(path):
                graph.add(triple)
        except InputError as error:
            errors.append(str(error))
    if errors:
        raise InputError("\n".join(errors))
    _import(graph, follow_imports, fetch)
    names = ", ".join([*(printable(str(path)) for path in files), *("the graph" for _ in graphs)])
    try:
        rules = axiom_rules(graph, names)
    except TemplateError as error:
        raise InputError(f"{names}: {error}") from error
    if not rules and paths:
        raise InputError(f"{names}: it states no axiom that is understood; see the list in the documentation")
    return rules


def _import(graph: rdflib.Graph, follow: bool, fetch: Fetch) -> None:
    done = set(graph.subjects(RDF.type, OWL.Ontology))
    while due := sorted(set(graph.objects(None, OWL.imports)) - done, key=str):
        if not follow:
            for iri in due:
                _log.warning(
                    "owl:imports %s is not followed; to fetch it, use --follow-imports", printable(str(iri))
                )
            return
        for iri in due:
            if len(done) > _MAX_IMPORTS:
                raise InputError(
                    f"the ontology imports more than {_MAX_IMPORTS} others; give the needed ones as files"
                )
            done.add(iri)
            data, media_type = fetch(str(iri))
            form = _format(media_type, str(iri))
            for triple in parse_document(data, form, str(iri), str(iri)):
                graph.add(triple)


def _format(media_type: str, iri: str) -> ox.RdfFormat:
    form = ox.RdfFormat.from_media_type(media_type)
    if form is None:
        raise InputError(
            f"the import {printable(iri)} came as {printable(media_type, 80)}, which is not RDF; "
            "give it as a file"
        )
    return form

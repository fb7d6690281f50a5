"""Look up statements and predicates in a published evaluation, in rdflib's terms."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import rdflib
from rdflib import Literal, URIRef
from rdflib.store import Store
from rdflib.term import Node

from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.namespaces import DQV, KGE, OA, RDF, RECORD_SUFFIXES, VOID, XSD

Statement = tuple[Node, Node, Node]

_LABELS = {URIRef(KGE + "True"): True, URIRef(KGE + "False"): False}
_LABEL, _TRUTH, _ACCURACY = (URIRef(KGE + name) for name in ("label", "truth", "accuracy"))
_SUBJECT, _PREDICATE, _OBJECT = (URIRef(RDF + name) for name in ("subject", "predicate", "object"))
_TARGET, _PROPERTY, _PARTITION = (
    URIRef(OA + "hasTarget"),
    URIRef(VOID + "property"),
    URIRef(VOID + "propertyPartition"),
)
_MEASURED, _METRIC, _VALUE = (
    URIRef(DQV + name) for name in ("hasQualityMeasurement", "isMeasurementOf", "value")
)


class Belief(NamedTuple):
    """The label and the soft truth of a statement."""

    label: bool | None
    truth: Node | None


class PublishedEvaluation(Protocol):
    """A published evaluation that can be looked up."""

    def belief(self, statement: Statement) -> Belief | None:
        """Look up a statement; None where the record does not mention it."""
        ...

    def accuracy(self, predicate: Node | None) -> Node | None:
        """Look up the accuracy of a predicate, or of the dataset."""
        ...


def answer(name: str, arguments: list[Any], store: Store, loaded: PublishedEvaluation | None) -> Node | None:
    """Compute a SPARQL function; None where it has no value.

    Args:
        name: label, truth or accuracy.
        arguments: terms.
        store: the queried store.
        loaded: the record to look in next.
    """
    if not all(isinstance(argument, Node) for argument in arguments):
        return None
    for source in (PublishedStore(getattr(store, "behind", store)), loaded):
        found = _ask(source, name, arguments) if source is not None else None
        if found is not None:
            return found
    return None


def _ask(source: PublishedEvaluation, name: str, arguments: list[Any]) -> Node | None:
    if name == "accuracy":
        (predicate,) = arguments or [None]
        return source.accuracy(predicate)
    s, p, o = arguments
    belief = source.belief((s, p, o))
    if belief is None or name == "truth":
        return belief and belief.truth
    return None if belief.label is None else Literal(belief.label)


class PublishedStore:
    """A record anywhere in an rdflib store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def belief(self, statement: Statement) -> Belief | None:
        """Look up a statement; None where the record does not mention it."""
        for name in self._names(statement):
            for annotation in self._subjects(_TARGET, name):
                truth = next(self._objects(annotation, _TRUTH), None)
                label = next(self._objects(annotation, _LABEL), None)
                if truth is not None or label is not None:
                    return Belief(_LABELS.get(label), truth)  # type: ignore[call-overload]
        return None

    def _names(self, statement: Statement) -> Iterator[Node]:
        """Yield the names of a statement: reifications of it, and named graphs with it."""
        s, p, o = statement
        for name in self._subjects(_SUBJECT, s):
            if self._has(name, _PREDICATE, p) and self._has(name, _OBJECT, o):
                yield name
        if self._store.context_aware:
            for context in self._store.contexts(statement):
                yield getattr(context, "identifier", context)

    def accuracy(self, predicate: Node | None) -> Node | None:
        """Look up the accuracy of a predicate, or of the dataset."""
        if predicate is None:
            of = [s for s, _, _ in self._triples(None, _PARTITION, None)]
        else:
            of = list(self._subjects(_PROPERTY, predicate))
        for dataset in of:
            for measurement in self._objects(dataset, _MEASURED):
                if self._has(measurement, _METRIC, _ACCURACY):
                    return next(self._objects(measurement, _VALUE), None)
        return None

    def _triples(self, s: Node | None, p: Node | None, o: Node | None) -> Iterator[Any]:
        for triple, _ in self._store.triples((s, p, o), None):
            yield triple

    def _subjects(self, p: Node, o: Node) -> Iterator[Node]:
        return (s for s, _, _ in self._triples(None, p, o))

    def _objects(self, s: Node, p: Node) -> Iterator[Node]:
        return (o for _, _, o in self._triples(s, p, None))

    def _has(self, s: Node, p: Node, o: Node) -> bool:
        return any(True for _ in self._triples(s, p, o))


class PublishedFile:
    """A record read from a file, in any form.

    Raises:
        InputError: the file cannot be read, or is not of a format that records have.
    """

    def __init__(self, path: str | Path) -> None:
        import pyoxigraph as ox

        name = printable(str(path))
        if Path(path).suffix not in RECORD_SUFFIXES:
            raise InputError(f"{name} has no suffix of a record; name it one of {', '.join(RECORD_SUFFIXES)}")
        store = ox.Store()
        try:
            store.bulk_load(path=str(path))
        except OSError as error:
            raise InputError(
                f"{name} cannot be read: {error.strerror or printable(str(error), 200)}"
            ) from error
        except (SyntaxError, ValueError) as error:
            raise InputError(
                f"{name} is not a whole record ({printable(str(error), 200)}); publish it again"
            ) from error

        def rows(query: str) -> Iterator[list[Any]]:
            for row in store.query(query, use_default_graph_as_union=True):  # type: ignore[union-attr]
                yield [_term(term) for term in row]

        self._beliefs = {
            (s, p, o): Belief(_LABELS.get(label), truth) for s, p, o, label, truth in rows(_BELIEFS)
        }
        self._accuracy = dict(rows(_ACCURACIES))

    def belief(self, statement: Statement) -> Belief | None:
        """Look up a statement; None where the record does not mention it."""
        return self._beliefs.get(statement)

    def accuracy(self, predicate: Node | None) -> Node | None:
        """Look up the accuracy of a predicate, or of the dataset."""
        return self._accuracy.get(predicate)


registered: PublishedFile | None = None
"""The record that `rdf_kgeval.register` loaded."""

_BELIEFS = f"""
PREFIX rdf: <{RDF}>
SELECT ?s ?p ?o ?label ?truth WHERE {{
  ?annotation <{OA}hasTarget> ?name ; <{KGE}label> ?label ; <{KGE}truth> ?truth .
  {{ ?name rdf:subject ?s ; rdf:predicate ?p ; rdf:object ?o }}
  UNION {{ ?name rdf:reifies <<( ?s ?p ?o )>> }}
  UNION {{ GRAPH ?name {{ ?s ?p ?o }} }}
}}"""
_ACCURACIES = f"""
SELECT ?predicate ?value WHERE {{
  ?measurement <{DQV}isMeasurementOf> <{KGE}accuracy> ; <{DQV}computedOn> ?dataset ; <{DQV}value> ?value .
  OPTIONAL {{ ?dataset <{VOID}property> ?predicate }}
}}"""


def _term(term: Any) -> Any:
    """Convert a pyoxigraph term into rdflib's, normalised as rdflib does; other terms stay."""
    kind = type(term).__name__
    if kind == "NamedNode":
        return rdflib.URIRef(term.value)
    if kind == "BlankNode":
        return rdflib.BNode(term.value)
    if kind != "Literal":
        return term
    if term.language:
        return Literal(term.value, lang=term.language)
    plain = term.datatype.value == XSD + "string"
    return Literal(term.value, datatype=None if plain else URIRef(term.datatype.value))

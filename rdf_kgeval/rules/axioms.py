"""Axioms of a schema graph -> rules, after closing the schema with owlrl."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import owlrl
import rdflib
from rdflib import OWL, RDF, RDFS, XSD

from rdf_kgeval.beliefs.terms import rdflib_term
from rdf_kgeval.common.text import printable
from rdf_kgeval.namespaces import KGE, RDF_TYPE
from rdf_kgeval.rules.build import strength
from rdf_kgeval.rules.documents import read_list
from rdf_kgeval.rules.expressions import TemplateError
from rdf_kgeval.rules.rule import AXIOM_CONFIDENCE, Differ, Pattern, Rule, Source

_TYPE = f"<{RDF_TYPE}>"
_PAIRS = (
    RDFS.domain, RDFS.range, RDFS.subClassOf, RDFS.subPropertyOf, OWL.equivalentClass, OWL.equivalentProperty,
    OWL.inverseOf, OWL.disjointWith, OWL.propertyDisjointWith,
)  # fmt: skip
_KINDS = (
    OWL.SymmetricProperty, OWL.TransitiveProperty, OWL.FunctionalProperty, OWL.InverseFunctionalProperty,
    OWL.AsymmetricProperty, OWL.IrreflexiveProperty,
)  # fmt: skip
_LISTS = (OWL.unionOf, OWL.intersectionOf, OWL.propertyChainAxiom, OWL.disjointUnionOf, OWL.members)
_LIMITS = (OWL.maxCardinality, OWL.cardinality, OWL.maxQualifiedCardinality, OWL.qualifiedCardinality)
_PARTS = (RDF.first, RDF.rest, OWL.onProperty, OWL.onClass, *_LIMITS, *_LISTS)
_VOCABULARIES = tuple(str(ns) for ns in (RDF, RDFS, OWL, XSD))


@dataclass(frozen=True)
class _Axiom:
    """A subject, what is said of it, and of what: `:p rdfs:domain :C`."""

    subject: Any
    kind: Any
    object: Any


Strength = tuple[float | None, float | None]


def axiom_rules(graph: rdflib.Graph, file: str) -> list[Rule]:
    """The rules of all axioms, sorted by their ids.

    Args:
        graph: the ontology, with or without data.
        file: where it was read, for messages.

    Raises:
        TemplateError: an axiom has a strength that is not a number, or a list that is broken.
    """
    reader = _Schema(graph, file)
    rules = {rule.id: rule for rule in reader.rules()}
    return [rules[name] for name in sorted(rules)]


class _Schema:
    def __init__(self, graph: rdflib.Graph, file: str) -> None:
        self._stated = graph
        self._file = file
        self._strengths = _annotated(graph)
        self._closed = self._close()
        self._same_as = tuple(
            sorted(
                (rdflib_term(a), rdflib_term(b))
                for a, b in graph.subject_objects(OWL.sameAs)
                if _is_iri(a) and _is_iri(b)
            )
        )
        iris = {t for triple in self._closed for t in triple if isinstance(t, rdflib.URIRef)}
        locals_ = [_local(iri) for iri in iris]
        self._ambiguous = (
            {name for name in locals_ if locals_.count(name) > 1} if len(iris) < 5000 else set(locals_)
        )

    def _close(self) -> rdflib.Graph:
        """The schema's triples and what follows from those of the usual strength."""
        for predicate in _LISTS:
            list(self._lists(predicate))
        schema = rdflib.Graph(bind_namespaces="none")
        for s, p, o in self._stated:
            kept = p in _PAIRS or p in _PARTS or (p == RDF.type and str(o).startswith((str(OWL), str(RDFS))))
            if (kept and not isinstance(o, rdflib.Literal)) or p in _LIMITS:
                schema.add((s, p, o))
        for whole, members in list(self._lists(OWL.disjointUnionOf)):
            for member in members:
                schema.add((member, RDFS.subClassOf, whole))
        own = [t for t in schema if t[1] in _PAIRS and self._strength(_Axiom(*t)) != (None, AXIOM_CONFIDENCE)]
        for triple in own:
            schema.remove(triple)
        owlrl.DeductiveClosure(owlrl.OWLRL_Semantics, improved_datatypes=False).expand(schema)
        for triple in own:
            schema.add(triple)
        return schema

    def _strength(self, axiom: _Axiom) -> Strength:
        """The axiom's own strength, else its subject's, else its kind's, else the usual one."""
        stated = self._strengths.get((axiom.subject, axiom.kind, axiom.object))
        if axiom.kind in _KINDS:
            stated = self._strengths.get((axiom.subject, RDF.type, axiom.kind))
        if stated is not None:
            return stated
        for node in (axiom.subject, axiom.kind):
            if (found := self._strength_of(node)) != (None, None):
                return found
        return None, AXIOM_CONFIDENCE

    def _strength_of(self, node: Any) -> Strength:
        try:
            return strength(self._stated, node)
        except TemplateError as error:
            raise TemplateError(f"{printable(str(node), 120)}: {error}") from error

    def _lists(self, predicate: rdflib.URIRef) -> Iterator[tuple[Any, list[Any]]]:
        for owner, head in sorted(self._stated.subject_objects(predicate)):
            try:
                members = read_list(self._stated, head)
            except ValueError as error:
                raise TemplateError(
                    f"a list of {_local(predicate)} is broken ({error}); correct it"
                ) from error
            yield owner, members

    def rules(self) -> Iterator[Rule]:
        for kind in _PAIRS:
            for s, o in self._closed.subject_objects(kind):
                if s != o and _is_user(s) and _is_user(o):
                    yield from self._pair(_Axiom(s, kind, o))
        for kind in _KINDS:
            for s in self._closed.subjects(RDF.type, kind):
                if _is_user(s):
                    yield from self._kind(_Axiom(s, kind, None))
        for s, chain in self._lists(OWL.propertyChainAxiom):
            if _is_user(s) and len(chain) > 1 and all(map(_is_user, chain)):
                yield self._chain(_Axiom(s, OWL.propertyChainAxiom, None), chain)
        for owner, members in [*self._lists(OWL.members), *self._lists(OWL.disjointUnionOf)]:
            yield from self._all_disjoint(owner, members)
        yield from self._cardinalities()

    def _pair(self, axiom: _Axiom) -> Iterator[Rule]:
        s, o = rdflib_term(axiom.subject), rdflib_term(axiom.object)
        match axiom.kind:
            case RDFS.domain:
                yield self._implies(axiom, [("?x", s, "?y")], ("?x", _TYPE, o))
            case RDFS.range if not self._is_datatype(axiom.object):
                yield self._implies(axiom, [("?x", s, "?y")], ("?y", _TYPE, o))
            case RDFS.subClassOf if (axiom.subject, OWL.equivalentClass, axiom.object) not in self._closed:
                yield self._implies(axiom, [("?x", _TYPE, s)], ("?x", _TYPE, o))
            case OWL.equivalentClass:
                for left, right in ((s, o), (o, s)):
                    turned = axiom if left == s else _Axiom(axiom.object, axiom.kind, axiom.subject)
                    yield self._implies(turned, [("?x", _TYPE, left)], ("?x", _TYPE, right), of=axiom)
            case RDFS.subPropertyOf if (
                axiom.subject,
                OWL.equivalentProperty,
                axiom.object,
            ) not in self._closed:
                yield self._implies(axiom, [("?x", s, "?y")], ("?x", o, "?y"))
            case OWL.equivalentProperty:
                for left, right in ((s, o), (o, s)):
                    turned = axiom if left == s else _Axiom(axiom.object, axiom.kind, axiom.subject)
                    yield self._implies(turned, [("?x", left, "?y")], ("?x", right, "?y"), of=axiom)
            case OWL.inverseOf:
                for left, right in ((s, o), (o, s)):
                    turned = axiom if left == s else _Axiom(axiom.object, axiom.kind, axiom.subject)
                    yield self._implies(turned, [("?x", left, "?y")], ("?y", right, "?x"), of=axiom)
            case OWL.disjointWith | OWL.propertyDisjointWith:
                yield self._disjoint(axiom, axiom)

    def _disjoint(self, axiom: _Axiom, of: _Axiom) -> Rule:
        first, second = sorted((axiom.subject, axiom.object))
        s, o = rdflib_term(first), rdflib_term(second)
        ordered = _Axiom(first, axiom.kind, second)
        if axiom.kind == OWL.disjointWith:
            return self._denies(ordered, [("?x", _TYPE, s), ("?x", _TYPE, o)], of=of)
        return self._denies(ordered, [("?x", s, "?y"), ("?x", o, "?y")], of=of)

    def _kind(self, axiom: _Axiom) -> Iterator[Rule]:
        p = rdflib_term(axiom.subject)
        match axiom.kind:
            case OWL.SymmetricProperty:
                yield self._implies(axiom, [("?x", p, "?y")], ("?y", p, "?x"))
            case OWL.TransitiveProperty:
                yield self._implies(axiom, [("?x", p, "?y"), ("?y", p, "?z")], ("?x", p, "?z"))
            case OWL.FunctionalProperty:
                yield self._denies(axiom, [("?x", p, "?y"), ("?x", p, "?z")], differ=True)
            case OWL.InverseFunctionalProperty:
                yield self._denies(axiom, [("?y", p, "?x"), ("?z", p, "?x")], differ=True)
            case OWL.AsymmetricProperty:
                yield self._denies(axiom, [("?x", p, "?y"), ("?y", p, "?x")])
            case OWL.IrreflexiveProperty:
                yield self._denies(axiom, [("?x", p, "?x")])

    def _chain(self, axiom: _Axiom, chain: list[Any]) -> Rule:
        body = [(f"?x{i}", rdflib_term(p), f"?x{i + 1}") for i, p in enumerate(chain)]
        named = _Axiom(axiom.subject, axiom.kind, tuple(chain))
        return self._implies(named, body, ("?x0", rdflib_term(axiom.subject), f"?x{len(chain)}"), of=axiom)

    def _all_disjoint(self, owner: Any, members: list[Any]) -> Iterator[Rule]:
        """AllDisjointClasses, AllDisjointProperties and disjointUnionOf, pair by pair."""
        types = set(self._stated.objects(owner, RDF.type))
        of_properties = OWL.AllDisjointProperties in types
        if OWL.AllDifferent in types:
            return
        kind = OWL.propertyDisjointWith if of_properties else OWL.disjointWith
        for a, b in combinations(sorted({m for m in members if _is_user(m)}), 2):
            yield self._disjoint(_Axiom(a, kind, b), _Axiom(owner, kind, None))

    def _cardinalities(self) -> Iterator[Rule]:
        """At most one value, for the instances of a class."""
        for limit in _LIMITS:
            for node, number in self._stated.subject_objects(limit):
                prop, target = self._stated.value(node, OWL.onProperty), self._stated.value(node, OWL.onClass)
                if str(number) != "1" or not _is_user(prop) or (target is not None and not _is_iri(target)):
                    continue
                for cls in set(self._closed.subjects(RDFS.subClassOf, node)):
                    if _is_user(cls):
                        yield self._at_most_one(_Axiom(cls, limit, prop), node, target)

    def _at_most_one(self, axiom: _Axiom, node: Any, target: Any) -> Rule:
        p = rdflib_term(axiom.object)
        body = [("?x", _TYPE, rdflib_term(axiom.subject)), ("?x", p, "?y"), ("?x", p, "?z")]
        named = axiom
        if target is not None and target != OWL.Thing:
            body += [("?y", _TYPE, rdflib_term(target)), ("?z", _TYPE, rdflib_term(target))]
            named = _Axiom(axiom.subject, axiom.kind, (axiom.object, target))
        return self._denies(named, body, differ=True, of=_Axiom(node, axiom.kind, None))

    def _implies(self, axiom: _Axiom, body: list[Pattern], head: Pattern, of: _Axiom | None = None) -> Rule:
        return self._rule(axiom, of, body=tuple(body), head=head, latent=head[1] == _TYPE)

    def _denies(
        self, axiom: _Axiom, body: list[Pattern], *, differ: bool = False, of: _Axiom | None = None
    ) -> Rule:
        filters = (Differ("?y", "?z", self._same_as),) if differ else ()
        return self._rule(axiom, of, body=tuple(body), head=None, filters=filters)

    def _rule(self, axiom: _Axiom, of: _Axiom | None, **parts: Any) -> Rule:
        weight, confidence = self._strength(of or axiom)
        if of is not None and of.object is None and (weight, confidence) == (None, AXIOM_CONFIDENCE):
            weight, confidence = self._strength(axiom)
        name = self._name(axiom)
        return Rule(
            id=name,
            summary=name,
            weight=weight,
            confidence=confidence,
            axiom=True,
            source=Source(self._file),
            **parts,
        )

    def _name(self, axiom: _Axiom) -> str:
        """The axiom as it is written: subject, kind and object by their local names."""
        kind = _curie(axiom.kind)
        if axiom.object is None:
            return f"{self._short(axiom.subject)} a {kind}"
        objects = axiom.object if isinstance(axiom.object, tuple) else (axiom.object,)
        return " ".join([self._short(axiom.subject), kind, *map(self._short, objects)])

    def _short(self, iri: Any) -> str:
        name = _local(iri)
        return f"<{iri}>" if not name or name in self._ambiguous else name

    def _is_datatype(self, node: Any) -> bool:
        return (node, RDF.type, RDFS.Datatype) in self._closed


def _annotated(graph: rdflib.Graph) -> dict[tuple[Any, Any, Any], Strength]:
    """The strengths that owl:Axiom annotations state, by the triple they annotate."""
    found = {}
    for node in graph.subjects(RDF.type, OWL.Axiom):
        parts = [
            graph.value(node, p) for p in (OWL.annotatedSource, OWL.annotatedProperty, OWL.annotatedTarget)
        ]
        stated = strength(graph, node)
        if stated != (None, None):
            if None in parts:
                raise TemplateError(
                    "an owl:Axiom with kge:weight lacks its annotated source, property or target; add it"
                )
            found[(parts[0], parts[1], parts[2])] = stated
    return found


def _is_iri(node: Any) -> bool:
    return isinstance(node, rdflib.URIRef)


def _is_user(node: Any) -> bool:
    """An IRI that is not of RDF's own vocabularies."""
    return _is_iri(node) and not str(node).startswith((*_VOCABULARIES, KGE))


def _local(node: Any) -> str:
    text = str(node)
    return text[max(text.rfind("/"), text.rfind("#")) + 1 :]


def _curie(node: Any) -> str:
    text = str(node)
    prefix = next((p for p, ns in (("rdfs", RDFS), ("owl", OWL)) if text.startswith(str(ns))), "rdf")
    return f"{prefix}:{_local(node)}"

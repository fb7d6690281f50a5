"""Translate the axioms of a schema into rules, after closing the schema with owlrl.

A kind of axiom is a row of `AXIOMS`: how to find its axioms, and how to translate one into rules.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import owlrl
import rdflib
from rdflib import OWL, RDF, RDFS, XSD

from rdf_kgeval.beliefs.terms import local_name, rdflib_term
from rdf_kgeval.common.text import printable
from rdf_kgeval.namespaces import KGE, RDF_TYPE
from rdf_kgeval.rules.documents import read_list
from rdf_kgeval.rules.expressions import TemplateError
from rdf_kgeval.rules.rule import AXIOM_CONFIDENCE, Differ, Pattern, Rule, RuleOrigin
from rdf_kgeval.rules.template import strength

_TYPE = f"<{RDF_TYPE}>"
_VOCABULARIES = tuple(str(ns) for ns in (RDF, RDFS, OWL, XSD))

Strength = tuple[float | None, float | None]
"""Weight and confidence, at most one of them."""


@dataclass(frozen=True)
class _Axiom:
    """An axiom such as `:p rdfs:domain :C`: subject, kind and object; a characteristic has no object."""

    subject: Any
    kind: Any
    object: Any = None

    @property
    def terms(self) -> tuple[str, str]:
        """Return subject and object as N-Triples terms."""
        return rdflib_term(self.subject), rdflib_term(self.object)

    @property
    def turned(self) -> "_Axiom":
        """The same axiom with subject and object exchanged."""
        return _Axiom(self.object, self.kind, self.subject)


def axiom_rules(graph: rdflib.Graph, file: str) -> list[Rule]:
    """Translate all axioms into rules, sorted by their ids.

    Args:
        graph: the ontology, with or without data.
        file: where it was read, for messages.

    Raises:
        TemplateError: an axiom has a strength that is not a number, or a list that is broken.
    """
    schema = _Schema(graph, file)
    rules = {
        rule.id: rule
        for name, kind in AXIOMS.items()
        for axiom in kind.find(schema, name)
        for rule in kind.translate(schema, axiom)
    }
    return [rules[name] for name in sorted(rules)]


class _Schema:
    """The axioms of a graph, as stated and closed, and how strong each is."""

    def __init__(self, graph: rdflib.Graph, file: str) -> None:
        self.stated = graph
        self._file = file
        self._strengths = _annotated(graph)
        self.closed = self._close()
        self._same_as = tuple(
            sorted(
                (rdflib_term(a), rdflib_term(b))
                for a, b in graph.subject_objects(OWL.sameAs)
                if _is_iri(a) and _is_iri(b)
            )
        )
        iris = {t for triple in self.closed for t in triple if isinstance(t, rdflib.URIRef)}
        locals_ = [local_name(iri) for iri in iris]
        self._ambiguous = (
            {name for name in locals_ if locals_.count(name) > 1} if len(iris) < 5000 else set(locals_)
        )

    def _close(self) -> rdflib.Graph:
        """Add the triples that follow from those of the usual strength."""
        for predicate in _LISTS:
            list(self.lists(predicate))
        schema = rdflib.Graph(bind_namespaces="none")
        for s, p, o in self.stated:
            kept = p in _PAIRS or p in _PARTS or (p == RDF.type and str(o).startswith((str(OWL), str(RDFS))))
            if (kept and not isinstance(o, rdflib.Literal)) or p in _LIMITS:
                schema.add((s, p, o))
        for whole, members in list(self.lists(OWL.disjointUnionOf)):
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
        """Find the axiom's own strength, else its subject's, else its kind's, else the usual one."""
        stated = self._strengths.get((axiom.subject, axiom.kind, axiom.object))
        if axiom.kind in _CHARACTERISTICS:
            stated = self._strengths.get((axiom.subject, RDF.type, axiom.kind))
        if stated is not None:
            return stated
        for node in (axiom.subject, axiom.kind):
            if (found := self._strength_of(node)) != (None, None):
                return found
        return None, AXIOM_CONFIDENCE

    def _strength_of(self, node: Any) -> Strength:
        try:
            return strength(self.stated, node)
        except TemplateError as error:
            raise TemplateError(f"{printable(str(node), 120)}: {error}") from error

    def lists(self, predicate: rdflib.URIRef) -> Iterator[tuple[Any, list[Any]]]:
        """Yield the owners of a predicate's lists, with the members."""
        for owner, head in sorted(self.stated.subject_objects(predicate)):
            try:
                members = read_list(self.stated, head)
            except ValueError as error:
                raise TemplateError(
                    f"a list of {local_name(predicate)} is broken ({error}); correct it"
                ) from error
            yield owner, members

    def implies(self, axiom: _Axiom, body: list[Pattern], head: Pattern, of: _Axiom | None = None) -> Rule:
        """Make the rule `body -> head`, named after the axiom and as strong as `of` or the axiom itself."""
        return self._rule(axiom, of, body=tuple(body), head=head, latent=head[1] == _TYPE)

    def denies(
        self, axiom: _Axiom, body: list[Pattern], *, differ: bool = False, of: _Axiom | None = None
    ) -> Rule:
        """Make the rule that not all of the body is true; `differ` says: of a `?y` that is not `?z`."""
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
            source=RuleOrigin(self._file),
            **parts,
        )

    def _name(self, axiom: _Axiom) -> str:
        """Write the axiom as in Turtle: subject, kind and object by their local names."""
        kind = _curie(axiom.kind)
        if axiom.object is None:
            return f"{self._short(axiom.subject)} a {kind}"
        objects = axiom.object if isinstance(axiom.object, tuple) else (axiom.object,)
        return " ".join([self._short(axiom.subject), kind, *map(self._short, objects)])

    def _short(self, iri: Any) -> str:
        name = local_name(iri)
        return f"<{iri}>" if not name or name in self._ambiguous else name


def _annotated(graph: rdflib.Graph) -> dict[tuple[Any, Any, Any], Strength]:
    """Collect the strengths that owl:Axiom annotations state, by the triple that they annotate."""
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
    """Return whether a node is an IRI outside the vocabularies of RDF, RDFS, OWL and XSD."""
    return _is_iri(node) and not str(node).startswith((*_VOCABULARIES, KGE))


def _curie(node: Any) -> str:
    text = str(node)
    prefix = next((p for p, ns in (("rdfs", RDFS), ("owl", OWL)) if text.startswith(str(ns))), "rdf")
    return f"{prefix}:{local_name(node)}"


# Finding the axioms of a kind.


def _pairs(schema: _Schema, kind: rdflib.URIRef) -> Iterator[_Axiom]:
    """Find axioms that are one triple between two of the user's IRIs, stated or implied."""
    for s, o in schema.closed.subject_objects(kind):
        if s != o and _is_user(s) and _is_user(o):
            yield _Axiom(s, kind, o)


def _characteristics(schema: _Schema, kind: rdflib.URIRef) -> Iterator[_Axiom]:
    """Find axioms that give a property a type, stated or implied."""
    for s in schema.closed.subjects(RDF.type, kind):
        if _is_user(s):
            yield _Axiom(s, kind)


def _lists(schema: _Schema, kind: rdflib.URIRef) -> Iterator[_Axiom]:
    """Find stated axioms whose object is a list, which becomes a tuple."""
    for owner, members in schema.lists(kind):
        yield _Axiom(owner, kind, tuple(members))


def _limits(schema: _Schema, kind: rdflib.URIRef) -> Iterator[_Axiom]:
    """Find stated cardinalities of restrictions."""
    for node, number in schema.stated.subject_objects(kind):
        yield _Axiom(node, kind, number)


# Translating an axiom.


def _domain(schema: _Schema, axiom: _Axiom) -> Iterator[Rule]:
    p, c = axiom.terms
    yield schema.implies(axiom, [("?x", p, "?y")], ("?x", _TYPE, c))


def _range(schema: _Schema, axiom: _Axiom) -> Iterator[Rule]:
    p, c = axiom.terms
    if (axiom.object, RDF.type, RDFS.Datatype) not in schema.closed:
        yield schema.implies(axiom, [("?x", p, "?y")], ("?y", _TYPE, c))


def _subclass(schema: _Schema, axiom: _Axiom) -> Iterator[Rule]:
    c, d = axiom.terms
    if (axiom.subject, OWL.equivalentClass, axiom.object) not in schema.closed:
        yield schema.implies(axiom, [("?x", _TYPE, c)], ("?x", _TYPE, d))


def _subproperty(schema: _Schema, axiom: _Axiom) -> Iterator[Rule]:
    p, q = axiom.terms
    if (axiom.subject, OWL.equivalentProperty, axiom.object) not in schema.closed:
        yield schema.implies(axiom, [("?x", p, "?y")], ("?x", q, "?y"))


def _equivalent_classes(schema: _Schema, axiom: _Axiom) -> Iterator[Rule]:
    for way in (axiom, axiom.turned):
        c, d = way.terms
        yield schema.implies(way, [("?x", _TYPE, c)], ("?x", _TYPE, d), of=axiom)


def _equivalent_properties(schema: _Schema, axiom: _Axiom) -> Iterator[Rule]:
    for way in (axiom, axiom.turned):
        p, q = way.terms
        yield schema.implies(way, [("?x", p, "?y")], ("?x", q, "?y"), of=axiom)


def _inverse(schema: _Schema, axiom: _Axiom) -> Iterator[Rule]:
    for way in (axiom, axiom.turned):
        p, q = way.terms
        yield schema.implies(way, [("?x", p, "?y")], ("?y", q, "?x"), of=axiom)


def _disjoint(schema: _Schema, axiom: _Axiom, of: _Axiom | None = None) -> Iterator[Rule]:
    ordered = axiom if axiom.subject < axiom.object else axiom.turned
    a, b = ordered.terms
    classes = [("?x", _TYPE, a), ("?x", _TYPE, b)]
    properties = [("?x", a, "?y"), ("?x", b, "?y")]
    yield schema.denies(ordered, classes if axiom.kind == OWL.disjointWith else properties, of=of or axiom)


def _symmetric(schema: _Schema, axiom: _Axiom) -> Iterator[Rule]:
    p = rdflib_term(axiom.subject)
    yield schema.implies(axiom, [("?x", p, "?y")], ("?y", p, "?x"))


def _transitive(schema: _Schema, axiom: _Axiom) -> Iterator[Rule]:
    p = rdflib_term(axiom.subject)
    yield schema.implies(axiom, [("?x", p, "?y"), ("?y", p, "?z")], ("?x", p, "?z"))


def _functional(schema: _Schema, axiom: _Axiom) -> Iterator[Rule]:
    p = rdflib_term(axiom.subject)
    yield schema.denies(axiom, [("?x", p, "?y"), ("?x", p, "?z")], differ=True)


def _inverse_functional(schema: _Schema, axiom: _Axiom) -> Iterator[Rule]:
    p = rdflib_term(axiom.subject)
    yield schema.denies(axiom, [("?y", p, "?x"), ("?z", p, "?x")], differ=True)


def _asymmetric(schema: _Schema, axiom: _Axiom) -> Iterator[Rule]:
    p = rdflib_term(axiom.subject)
    yield schema.denies(axiom, [("?x", p, "?y"), ("?y", p, "?x")])


def _irreflexive(schema: _Schema, axiom: _Axiom) -> Iterator[Rule]:
    p = rdflib_term(axiom.subject)
    yield schema.denies(axiom, [("?x", p, "?x")])


def _chain(schema: _Schema, axiom: _Axiom) -> Iterator[Rule]:
    chain = axiom.object
    if _is_user(axiom.subject) and len(chain) > 1 and all(map(_is_user, chain)):
        body = [(f"?x{i}", rdflib_term(p), f"?x{i + 1}") for i, p in enumerate(chain)]
        head = "?x0", rdflib_term(axiom.subject), f"?x{len(chain)}"
        yield schema.implies(axiom, body, head, of=_Axiom(axiom.subject, axiom.kind))


def _all_disjoint(schema: _Schema, axiom: _Axiom) -> Iterator[Rule]:
    """Translate AllDisjointClasses, AllDisjointProperties and disjointUnionOf pair by pair."""
    types = set(schema.stated.objects(axiom.subject, RDF.type))
    if OWL.AllDifferent in types:
        return
    kind = OWL.propertyDisjointWith if OWL.AllDisjointProperties in types else OWL.disjointWith
    for a, b in combinations(sorted({m for m in axiom.object if _is_user(m)}), 2):
        yield from _disjoint(schema, _Axiom(a, kind, b), of=_Axiom(axiom.subject, kind))


def _at_most_one(schema: _Schema, axiom: _Axiom) -> Iterator[Rule]:
    """Deny two values of a property to the instances of each class below a restriction to one."""
    node, limit = axiom.subject, axiom.kind
    prop, target = schema.stated.value(node, OWL.onProperty), schema.stated.value(node, OWL.onClass)
    if str(axiom.object) != "1" or not _is_user(prop) or (target is not None and not _is_iri(target)):
        return
    for cls in set(schema.closed.subjects(RDFS.subClassOf, node)):
        if not _is_user(cls):
            continue
        named = _Axiom(cls, limit, prop)
        c, p = named.terms
        body = [("?x", _TYPE, c), ("?x", p, "?y"), ("?x", p, "?z")]
        if target is not None and target != OWL.Thing:
            body += [("?y", _TYPE, rdflib_term(target)), ("?z", _TYPE, rdflib_term(target))]
            named = _Axiom(cls, limit, (prop, target))
        yield schema.denies(named, body, differ=True, of=_Axiom(node, limit))


class _Kind(NamedTuple):
    """A kind of axiom: how to find its axioms in a schema, and how to translate one into rules."""

    find: Callable[[_Schema, rdflib.URIRef], Iterator[_Axiom]]
    translate: Callable[[_Schema, _Axiom], Iterator[Rule]]


AXIOMS = {
    RDFS.domain: _Kind(_pairs, _domain),
    RDFS.range: _Kind(_pairs, _range),
    RDFS.subClassOf: _Kind(_pairs, _subclass),
    RDFS.subPropertyOf: _Kind(_pairs, _subproperty),
    OWL.equivalentClass: _Kind(_pairs, _equivalent_classes),
    OWL.equivalentProperty: _Kind(_pairs, _equivalent_properties),
    OWL.inverseOf: _Kind(_pairs, _inverse),
    OWL.disjointWith: _Kind(_pairs, _disjoint),
    OWL.propertyDisjointWith: _Kind(_pairs, _disjoint),
    OWL.SymmetricProperty: _Kind(_characteristics, _symmetric),
    OWL.TransitiveProperty: _Kind(_characteristics, _transitive),
    OWL.FunctionalProperty: _Kind(_characteristics, _functional),
    OWL.InverseFunctionalProperty: _Kind(_characteristics, _inverse_functional),
    OWL.AsymmetricProperty: _Kind(_characteristics, _asymmetric),
    OWL.IrreflexiveProperty: _Kind(_characteristics, _irreflexive),
    OWL.propertyChainAxiom: _Kind(_lists, _chain),
    OWL.members: _Kind(_lists, _all_disjoint),
    OWL.disjointUnionOf: _Kind(_lists, _all_disjoint),
    OWL.maxCardinality: _Kind(_limits, _at_most_one),
    OWL.cardinality: _Kind(_limits, _at_most_one),
    OWL.maxQualifiedCardinality: _Kind(_limits, _at_most_one),
    OWL.qualifiedCardinality: _Kind(_limits, _at_most_one),
}
_PAIRS, _CHARACTERISTICS, _LIMITS = (
    {name for name, kind in AXIOMS.items() if kind.find is find}
    for find in (_pairs, _characteristics, _limits)
)
_LISTS = (OWL.unionOf, OWL.intersectionOf, *(name for name, kind in AXIOMS.items() if kind.find is _lists))
_PARTS = {RDF.first, RDF.rest, OWL.onProperty, OWL.onClass, *_LIMITS, *_LISTS}
"""Predicates of class expressions and lists, which the closure needs."""

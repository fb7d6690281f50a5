"""Read SHACL rules (`sh:SPARQLRule`, `sh:TripleRule`) of an RDF file.

A shape's target is part of the body: `$this` must be of the target class, or subject or object of the target
property. `kge:weight` or `kge:confidence`, `kge:latent` and `kge:denial` on a rule mean what `#+` lines mean.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import rdflib
from rdflib import RDF, RDFS, SH

from rdf_kgeval.beliefs.terms import local_name, rdflib_term
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.namespaces import KGE, RDF_TYPE
from rdf_kgeval.rules.construct import Branch, Construct, parse_construct
from rdf_kgeval.rules.documents import read_document, read_list
from rdf_kgeval.rules.expressions import TemplateError
from rdf_kgeval.rules.rule import Measures, Pattern, Rule, RuleOrigin, Values
from rdf_kgeval.rules.template import Metadata, make_rules, strength

_KGE = rdflib.Namespace(KGE)
_THIS = "?this"


def read_shacl(file: Path) -> list[Rule]:
    """Read the SHACL rules of a file.

    Raises:
        InputError: with one line for every mistake.
    """
    shapes = _Shapes(read_document(file), file)
    rules: list[Rule] = []
    errors: list[str] = []
    for shape, node in shapes.rules():
        try:
            rules += shapes.read(shape, node)
        except TemplateError as error:
            origin = RuleOrigin(str(file), shapes.line(node, shape, error))
            errors.append(f"{origin}: {shapes.name(node, shape)}: {error}")
    if not rules and not errors and not shapes.any_rule:
        errors.append(
            f"{printable(str(file))} holds no sh:rule; give a file of SHACL rules, "
            "or read an ontology with --ontology or read_ontology"
        )
    if errors:
        raise InputError("\n".join(errors))
    return rules


class _Shapes:
    def __init__(self, graph: rdflib.Graph, file: Path) -> None:
        self._graph = graph
        self._file = file
        self._text = file.read_text(encoding="utf-8", errors="replace")
        self.any_rule = (None, SH.rule, None) in graph

    def rules(self) -> Iterator[tuple[Any, Any]]:
        """Yield shapes with their active rules, in an order that does not depend on blank node labels."""
        pairs = list(self._graph.subject_objects(SH.rule))
        for shape, node in sorted(pairs, key=lambda pair: (self._key(pair[0]), self._key(pair[1]))):
            if not self._is_true(node, SH.deactivated) and not self._is_true(shape, SH.deactivated):
                yield shape, node

    def _key(self, node: Any) -> str:
        if not isinstance(node, rdflib.BNode):
            return str(node)
        return " ".join(
            sorted(
                f"{p} {o}" for p, o in self._graph.predicate_objects(node) if not isinstance(o, rdflib.BNode)
            )
        )

    def _is_true(self, node: Any, predicate: rdflib.URIRef) -> bool:
        value = self._graph.value(node, predicate)
        return isinstance(value, rdflib.Literal) and str(value) in ("true", "1")

    def name(self, node: Any, shape: Any) -> str:
        """Name a rule in messages."""
        return printable(
            _local(node) if isinstance(node, rdflib.URIRef) else f"a rule of {_local(shape)}", 80
        )

    def line(self, node: Any, shape: Any, error: TemplateError) -> int | None:
        """Find the line of the rule's query, or else of its name or its shape's name, in the file."""
        query = self._graph.value(node, SH.construct)
        lines = str(query or "").split("\n")
        for probe, extra in (
            (str(query or ""), error.line or 1),
            (lines[0].strip(), 1),
            (_local(node), 1),
            (_local(shape), 1),
        ):
            if probe and (at := self._text.find(probe)) >= 0:
                return self._text.count("\n", 0, at) + extra
        return None

    def read(self, shape: Any, node: Any) -> list[Rule]:
        """Translate one SHACL rule, which may become several rules."""
        if (node, SH.condition, None) in self._graph:
            raise TemplateError("it has a sh:condition, which is not supported; write it into WHERE")
        kinds = set(self._graph.objects(node, RDF.type))
        query = self._graph.value(node, SH.construct)
        if SH.SPARQLRule in kinds or query is not None:
            if query is None:
                raise TemplateError("it has no sh:construct; add one")
            construct = parse_construct(str(query), self._prefixes(node))
        elif SH.TripleRule in kinds or (node, SH.predicate, None) in self._graph:
            construct = self._triple_rule(node)
        else:
            raise TemplateError("it is neither a sh:SPARQLRule nor a sh:TripleRule; state its type")
        taken = {v for branch in construct.branches for v in branch.visible | branch.bound}
        other = next(name for i in count() if (name := f"?_t{i}") not in taken)
        branches = [
            branch if _is_implied(target, branch, other) else target.join(branch)
            for target in self._targets(shape, other)
            for branch in construct.branches
        ]
        targeted = replace(construct, branches=tuple(branches))
        source = RuleOrigin(str(self._file), self.line(node, shape, TemplateError("")))
        return make_rules(targeted, self._metadata(shape, node), source)

    def _metadata(self, shape: Any, node: Any) -> Metadata:
        own = node if isinstance(node, rdflib.URIRef) else None
        label = self._graph.value(node, RDFS.label) or self._graph.value(node, RDFS.comment)
        position = [n for s, n in self.rules() if s == shape].index(node) + 1
        several = sum(1 for s, _ in self.rules() if s == shape) > 1
        weight, confidence = strength(self._graph, node)
        return Metadata(
            id=_local(own) if own is not None else _local(shape) + (f"-{position}" if several else ""),
            summary=str(label or ""),
            weight=weight,
            confidence=confidence,
            latent=self._is_true(node, _KGE.latent),
            denial=self._is_true(node, _KGE.denial),
            measures=self._measures(node),
        )

    def _measures(self, node: Any) -> Measures | None:
        """Read a miner's measures; they are only shown, so anything but a number counts as absent."""
        found: list[float | None] = []
        for name in ("support", "headCoverage", "standardConfidence"):
            try:
                number = float(str(self._graph.value(node, _KGE[name])))
            except ValueError:
                number = math.nan
            found.append(number if math.isfinite(number) else None)
        return None if found[0] is None else Measures(int(found[0]), *found[1:])

    def _prefixes(self, node: Any) -> dict[str, str]:
        found: dict[str, str] = {}
        for owner in self._graph.objects(node, SH.prefixes):
            for declared in self._graph.objects(owner, SH.declare):
                prefix, iri = (
                    self._graph.value(declared, SH.prefix),
                    self._graph.value(declared, SH.namespace),
                )
                if prefix is None or iri is None:
                    raise TemplateError("a sh:declare lacks its sh:prefix or sh:namespace; add it")
                if (
                    not str(prefix).replace("-", "").replace("_", "").isalnum() and str(prefix)
                ) or ">" in str(iri):
                    raise TemplateError(f"the prefix {printable(str(prefix), 40)} is not valid; correct it")
                found[str(prefix)] = str(iri)
        return found

    def _targets(self, shape: Any, other: str) -> list[Branch]:
        graph, targets = self._graph, []
        classes = set(graph.objects(shape, SH.targetClass))
        if (shape, RDF.type, RDFS.Class) in graph or (shape, RDF.type, rdflib.OWL.Class) in graph:
            classes.add(shape)
        narrower = {c for wide in classes for c in graph.transitive_subjects(RDFS.subClassOf, wide)}
        for cls in sorted(c for c in narrower if isinstance(c, rdflib.URIRef)):
            targets.append(_target((_THIS, f"<{RDF_TYPE}>", rdflib_term(cls))))
        for prop in sorted(graph.objects(shape, SH.targetSubjectsOf), key=str):
            targets.append(_target((_THIS, rdflib_term(prop), other)))
        for prop in sorted(graph.objects(shape, SH.targetObjectsOf), key=str):
            targets.append(_target((other, rdflib_term(prop), _THIS)))
        nodes = sorted(graph.objects(shape, SH.targetNode), key=str)
        if nodes:
            targets.append(
                Branch(values=[Values((_THIS,), tuple((self._constant(n),) for n in nodes))], visible={_THIS})
            )
        if not targets or (shape, SH.target, None) in graph:
            raise TemplateError(
                "its shape has no target or one not supported; give it sh:targetClass, sh:targetNode, "
                "sh:targetSubjectsOf or sh:targetObjectsOf"
            )
        return targets

    def _triple_rule(self, node: Any) -> Construct:
        branch = Branch(visible={_THIS})
        terms = []
        for predicate in (SH.subject, SH.predicate, SH.object):
            expression = list(self._graph.objects(node, predicate))
            if len(expression) != 1:
                raise TemplateError(f"it has {len(expression)} values of sh:{_local(predicate)}; give it one")
            terms.append(self._expression(expression[0], branch))
        s, p, o = terms
        if s.startswith('"') or not p.startswith("<"):
            raise TemplateError("its subject is a literal or its predicate no IRI; correct it")
        return Construct(((s, p, o),), (branch,), "", "", 1)

    def _expression(self, node: Any, branch: Branch) -> str:
        """Translate a node expression: sh:this, a constant, or a path from this node."""
        if node == SH.this:
            return _THIS
        if not isinstance(node, rdflib.BNode):
            return self._constant(node)
        path = self._graph.value(node, SH.path)
        if path is None or len(list(self._graph.predicates(node))) != 1:
            raise TemplateError(
                "it uses a node expression that is not sh:this, a term or a path; use sh:SPARQLRule"
            )
        try:
            steps = read_list(self._graph, path) if (path, RDF.first, None) in self._graph else [path]
        except ValueError as error:
            raise TemplateError(f"the list of its path is broken ({error}); correct it") from error
        here = _THIS
        for step in steps:
            there = f"?_{len(branch.body)}"
            inverse = self._graph.value(step, SH.inversePath) if isinstance(step, rdflib.BNode) else None
            prop = step if inverse is None else inverse
            if not isinstance(prop, rdflib.URIRef):
                raise TemplateError("it uses a path that is not of fixed steps; use sh:SPARQLRule")
            ends = (here, there) if inverse is None else (there, here)
            branch.body.append((ends[0], rdflib_term(prop), ends[1]))
            branch.visible.add(there)
            here = there
        return here

    def _constant(self, node: Any) -> str:
        if isinstance(node, rdflib.BNode):
            raise TemplateError("it names a blank node, which names no term of the graph; use an IRI")
        return rdflib_term(node)


def _is_implied(target: Branch, branch: Branch, other: str) -> bool:
    """Return whether the body already has the triple of the target, which another would only repeat."""
    return not branch.more and any(
        all(other == wanted or wanted == term for wanted, term in zip(pattern, own, strict=True))
        for pattern in target.body
        for own in branch.body
    )


def _target(pattern: Pattern) -> Branch:
    return Branch(body=[pattern], visible={_THIS})


def _local(node: Any) -> str:
    """Return the last part of an IRI."""
    return local_name(str(node).rstrip("/#")) if isinstance(node, rdflib.URIRef) else "a shape"

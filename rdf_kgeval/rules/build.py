"""A parsed CONSTRUCT and its metadata -> rules, one for each triple of the template and branch of WHERE."""

from dataclasses import dataclass
from typing import Any

import rdflib

from rdf_kgeval.common.text import printable
from rdf_kgeval.namespaces import KGE
from rdf_kgeval.rules.construct import Branch, Construct
from rdf_kgeval.rules.expressions import TemplateError
from rdf_kgeval.rules.rule import Measures, Pattern, Rule, Source, variables


@dataclass(frozen=True, kw_only=True, slots=True)
class Metadata:
    """What a template says of itself."""

    id: str
    summary: str = ""
    weight: float | None = None
    confidence: float | None = None
    latent: bool = False
    denial: bool = False
    measures: Measures | None = None


def make_rules(construct: Construct, metadata: Metadata, source: Source) -> list[Rule]:
    """The rules of a template; several are numbered `id/1`, `id/2`, ...

    Args:
        construct: the parsed query.
        metadata: its id, strength and kind.
        source: where it was read.

    Raises:
        TemplateError: it cannot be a rule.
    """
    pairs = [(head, branch) for head in construct.heads for branch in construct.branches]
    names = [metadata.id] if len(pairs) == 1 else [f"{metadata.id}/{i}" for i in range(1, len(pairs) + 1)]
    return [
        _rule(construct, head, branch, metadata, name, source)
        for name, (head, branch) in zip(names, pairs, strict=True)
    ]


def _rule(
    construct: Construct, head: Pattern, branch: Branch, metadata: Metadata, name: str, source: Source
) -> Rule:
    unbound = sorted(set(variables(head)) - branch.visible)
    if unbound:
        raise TemplateError(
            f"its template uses {printable(unbound[0], 80)}, which WHERE does not bind; use one it binds",
            construct.line,
        )
    body = tuple(dict.fromkeys(branch.body))
    if not body:
        raise TemplateError(
            "its WHERE has no plain triple that must hold, so nothing would support the conclusion; add one",
            construct.line,
        )
    if head in body and not metadata.denial:
        raise TemplateError("it concludes a triple of its own WHERE; conclude another one", construct.line)
    if metadata.denial:
        body = tuple(dict.fromkeys((*body, head)))
    return Rule(
        id=name,
        summary=metadata.summary,
        body=body,
        head=None if metadata.denial else head,
        weight=metadata.weight,
        confidence=metadata.confidence,
        latent=metadata.latent and not metadata.denial,
        filters=() if branch.more else tuple(branch.filters),
        values=tuple(branch.values),
        query=construct.select(branch, head) if branch.more else None,
        source=source,
        measures=metadata.measures,
    )


def strength(graph: rdflib.Graph, node: Any) -> tuple[float | None, float | None]:
    """The `kge:weight` and `kge:confidence` of a node; at most one of the two.

    Raises:
        TemplateError: it is not a number in its range, or stated more than once.
    """
    stated = [
        (name, value)
        for name in ("weight", "confidence")
        for value in graph.objects(node, rdflib.URIRef(KGE + name))
    ]
    if len(stated) > 1:
        raise TemplateError("it states more than one kge:weight or kge:confidence; keep one", near="kge:")
    if not stated:
        return None, None
    name, value = stated[0]
    try:
        number = float(str(value))
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf") or (name == "confidence" and number > 1):
        top = " to 1" if name == "confidence" else " up"
        raise TemplateError(
            f"its kge:{name} is {printable(str(value), 40)!r}; write a number from 0{top}, such as 0.9"
        )
    return (number, None) if name == "weight" else (None, number)

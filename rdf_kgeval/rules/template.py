"""Templates: rules as a SPARQL CONSTRUCT with metadata, in a file.

A template states its metadata in comment lines before CONSTRUCT, as grlc does:

    #+ id: stadium-city
    #+ summary: A stadium is in the home city of its team.
    #+ confidence: 0.9        (or `weight`, which is theta itself)
    #+ latent: true           (its head may be a triple that the graph does not assert)
    #+ denial: true           (the template's triple and those of WHERE cannot all be true)

Mined rules also state `support`, `head-coverage` and `standard-confidence`, which are shown but not used.
SHACL rules state the same in RDF, and become rules in this module, too.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import rdflib

from rdf_kgeval.common.disk import read_text
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.namespaces import KGE
from rdf_kgeval.rules.construct import Branch, Construct, parse_construct
from rdf_kgeval.rules.expressions import TemplateError
from rdf_kgeval.rules.rule import Measures, Pattern, Rule, RuleOrigin, variables


@dataclass(frozen=True, kw_only=True, slots=True)
class Metadata:
    """The metadata of a rule."""

    id: str
    summary: str = ""
    weight: float | None = None
    confidence: float | None = None
    latent: bool = False
    denial: bool = False
    measures: Measures | None = None


def read_template(file: Path) -> list[Rule]:
    """Read the rules of a template file.

    Raises:
        InputError: it is not a CONSTRUCT that can be a rule; the message names the line.
    """
    text = read_text(file)
    try:
        construct = parse_construct(text)
        metadata = _read_metadata(text.split("\n")[: construct.line], file.stem)
        return make_rules(construct, metadata, RuleOrigin(str(file), construct.line))
    except TemplateError as error:
        raise InputError(f"{RuleOrigin(str(file), error.line)}: {error}") from error


_MEASURES = ("support", "head-coverage", "standard-confidence")
_KEYS = ("id", "summary", "weight", "confidence", "latent", "denial", *_MEASURES)


def _read_metadata(lines: list[str], stem: str) -> Metadata:
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.startswith("#+"):
            continue
        key, colon, value = (part.strip() for part in line[2:].partition(":"))
        if key in found:
            raise TemplateError(f"it states {key} twice; keep one", number)
        if key in _KEYS and colon:
            found[key] = _unquoted(value)
            _check(key, found, number)
        elif close := get_close_matches(key.lower(), _KEYS, n=1, cutoff=0.75):
            raise TemplateError(
                f"it states {printable(key, 40)}, which is not known; write #+ {close[0]}: ...", number
            )
    return Metadata(
        id=found.get("id") or stem,
        summary=found.get("summary", ""),
        weight=float(found["weight"]) if "weight" in found else None,
        confidence=float(found["confidence"]) if "confidence" in found else None,
        latent=found.get("latent") == "true",
        denial=found.get("denial") == "true",
        measures=_measures(found),
    )


def _measures(found: dict[str, str]) -> Measures | None:
    support, coverage, confidence = (float(found[key]) if key in found else None for key in _MEASURES)
    return None if support is None else Measures(int(support), coverage, confidence)


def _check(key: str, found: dict[str, str], line: int) -> None:
    value = found[key]
    if key in ("latent", "denial") and value not in ("true", "false"):
        raise TemplateError(f"its {key} is {printable(value, 40)!r}; write true or false", line)
    if key in ("weight", "confidence", *_MEASURES):
        _number(key, value, line, share=key not in ("weight", "support"))
    if "weight" in found and "confidence" in found:
        raise TemplateError("it states a weight and a confidence; keep one of them", line)


def _number(key: str, value: str, line: int | None = None, *, share: bool) -> float:
    """Read a number from 0 up, or from 0 to 1 where it is a share."""
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if 0 <= number < float("inf") and not (share and number > 1):
        return number
    top = " to 1" if share else " up"
    raise TemplateError(
        f"its {key} is {printable(value, 40)!r}; write a number from 0{top}, such as 0.9", line
    )


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def make_rules(construct: Construct, metadata: Metadata, source: RuleOrigin) -> list[Rule]:
    """Make the rules of a template; several are numbered `id/1`, `id/2`, ...

    Args:
        construct: the parsed query.
        metadata: its id, strength and kind.
        source: its file and line.

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
    construct: Construct, head: Pattern, branch: Branch, metadata: Metadata, name: str, source: RuleOrigin
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
    """Read the `kge:weight` or `kge:confidence` of a node; at most one of the two.

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
    number = _number(f"kge:{name}", str(value), share=name == "confidence")
    return (number, None) if name == "weight" else (None, number)

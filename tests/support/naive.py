"""Grounding as the definition says, with nested loops and SPARQL's operators written out once more."""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

import numpy as np
import pyoxigraph as ox

from rdf_kgeval.beliefs.table import Beliefs, Role, Triple
from rdf_kgeval.beliefs.terms import parse_term
from rdf_kgeval.rules.rule import (
    And,
    Compare,
    Differ,
    Filter,
    IsKind,
    Not,
    Or,
    Pattern,
    Rule,
    SameTerm,
    StartsWith,
)
from tests.support.rulecases import Constraint

XSD = "http://www.w3.org/2001/XMLSchema#"
Binding = dict[str, str]


def ground(beliefs: Beliefs, rules: list[Rule]) -> list[Constraint]:
    """All constraints of the rules over the beliefs."""
    asserted = {beliefs.triple(i): Role(int(beliefs.role[i])) for i in range(len(beliefs))}
    atoms = dict(asserted)
    while True:
        new = {
            head
            for rule in rules
            if rule.latent
            for binding in _solutions(rule, list(atoms))
            if (head := _put(rule.head, binding)) is not None
            and head not in atoms
            and not head[0].startswith('"')
        }
        if not new:
            break
        atoms |= dict.fromkeys(new, Role.UNKNOWN)
    merged: dict[tuple[frozenset[Triple], Triple | None], Counter[str]] = {}
    for rule in rules:
        clauses = set()
        for binding in _solutions(rule, list(atoms)):
            body = frozenset(_put(pattern, binding) for pattern in rule.body)
            head = None if rule.head is None else _put(rule.head, binding)
            if rule.head is None or (head in atoms and head not in body and atoms[head] != Role.GIVEN):
                clauses.add((body, head))
        for body, head in clauses:
            free = frozenset(t for t in body if atoms[t] != Role.GIVEN)
            if free or head is not None:
                merged.setdefault((free, head), Counter())[rule.id] += 1
    return [(body, head, frozenset(rules.items())) for (body, head), rules in merged.items()]


def _put(pattern: Pattern | None, binding: Binding) -> Triple | None:
    found = [binding.get(term) if term.startswith("?") else term for term in pattern or ()]
    return None if None in found or not found else tuple(found)


def _solutions(rule: Rule, triples: list[Triple]) -> Iterator[Binding]:
    for binding in _match(list(rule.body), triples, {}):
        for whole in _with_values(rule, 0, binding):
            if all(holds(part, whole) is True for part in rule.filters):
                yield whole


def _match(patterns: list[Pattern], triples: list[Triple], binding: Binding) -> Iterator[Binding]:
    if not patterns:
        yield binding
        return
    for triple in triples:
        extended = dict(binding)
        if all(
            extended.setdefault(wanted, term) == term if wanted.startswith("?") else wanted == term
            for wanted, term in zip(patterns[0], triple, strict=True)
        ):
            yield from _match(patterns[1:], triples, extended)


def _with_values(rule: Rule, i: int, binding: Binding) -> Iterator[Binding]:
    if i == len(rule.values):
        yield binding
        return
    block = rule.values[i]
    for row in block.rows:
        cells = {v: t for v, t in zip(block.variables, row, strict=True) if t is not None}
        if all(binding.get(v, t) == t for v, t in cells.items()):
            yield from _with_values(rule, i + 1, binding | cells)


def holds(part: Filter, binding: Binding) -> bool | None:
    """SPARQL's three values: None is an error."""
    match part:
        case And(parts):
            values = [holds(p, binding) for p in parts]
            return False if False in values else None if None in values else True
        case Or(parts):
            values = [holds(p, binding) for p in parts]
            return True if True in values else None if None in values else False
        case Not(inner):
            value = holds(inner, binding)
            return None if value is None else not value
        case IsKind(kind, term):
            value = _term(term, binding)
            return (
                None if value is None else value[0] == {"isIRI": "<", "isBlank": "_", "isLiteral": '"'}[kind]
            )
        case StartsWith(term, prefix, of_str):
            return _starts(_term(term, binding), prefix, of_str)
    left, right = _term(part.left, binding), _term(part.right, binding)
    if left is None or right is None:
        return None
    match part:
        case SameTerm():
            return left == right
        case Differ():
            same = equal(left, right)
            return None if same is None else not same and "_" not in (left[0], right[0])
        case Compare("=", _, _):
            return equal(left, right)
        case Compare("!=", _, _):
            same = equal(left, right)
            return None if same is None else not same
        case Compare(op, _, _):
            return _ordered(op, left, right)
    raise AssertionError(part)


def _term(term: str, binding: Binding) -> str | None:
    return binding.get(term) if term.startswith("?") else term


def _starts(term: str | None, prefix: str, of_str: bool) -> bool | None:
    if term is None or term.startswith("_"):
        return None
    parsed = parse_term(term)
    if of_str:
        return parsed.value.startswith(prefix)
    texty = isinstance(parsed, ox.Literal) and (parsed.language or parsed.datatype.value == XSD + "string")
    return parsed.value.startswith(prefix) if texty else None


NUMERIC = {"integer": Decimal, "decimal": Decimal, "float": np.float32, "double": np.float64}
LEVEL = [Decimal, np.float32, np.float64]


def _value(term: str) -> tuple[str, object]:
    """What kind of thing a literal is, and its value."""
    literal = parse_term(term)
    text, name = literal.value, literal.datatype.value.removeprefix(XSD)
    if literal.language:
        return f"@{literal.language}", text
    if name in NUMERIC and text != "abc":
        return "number", NUMERIC[name](text)
    if name == "boolean":
        return "boolean", text in ("true", "1")
    if name in ("string", "date", "gYear"):
        return name, text
    return "opaque", None


def _numbers(a: object, b: object) -> tuple[object, object]:
    level = max(LEVEL.index(type(a)), LEVEL.index(type(b)))
    return tuple(x if type(x) is LEVEL[level] else LEVEL[level](float(x)) for x in (a, b))


def equal(left: str, right: str) -> bool | None:
    if left[0] != '"' or right[0] != '"':
        return left == right
    (kind, a), (other, b) = _value(left), _value(right)
    if kind == other == "number":
        a, b = _numbers(a, b)
        return bool(a == b)
    if left == right:
        return True
    if "@" in (kind[0], other[0]):
        return False
    if "opaque" in (kind, other):
        return None
    return kind == other and a == b


def _ordered(op: str, left: str, right: str) -> bool | None:
    if left == right:
        return "=" in op
    if left[0] != '"' or right[0] != '"':
        return None
    (kind, a), (other, b) = _value(left), _value(right)
    if kind != other or kind in ("opaque", "boolean"):
        return None
    if kind == "number":
        a, b = _numbers(a, b)
        if a != a or b != b:
            return None
    return bool({"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op])

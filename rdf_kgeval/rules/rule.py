"""Rule: `body_1 & ... & body_k -> head` with a weight or a confidence; without a head it is a denial.

Terms are canonical N-Triples texts and variables are `?name`, which no such text starts with. A rule may
also be given IRIs without brackets, CURIEs and rdflib terms; a CURIE is written out when the
rule meets beliefs.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from rdf_kgeval.common.text import printable
from rdf_kgeval.common.validation import checked
from rdf_kgeval.errors import InputError
from rdf_kgeval.namespaces import RDF_TYPE
from rdf_kgeval.rules.pattern import Pattern as Pattern
from rdf_kgeval.rules.pattern import is_written_out, read_patterns

if TYPE_CHECKING:
    from rdf_kgeval.beliefs.table import Beliefs

EPSILON = 0.05
"""Strength of inference's prior: a lone rule of confidence c with a true body gives its head soft truth c."""
AXIOM_CONFIDENCE = 0.99
"""Confidence of an ontology axiom."""
DEFAULT_CONFIDENCE = 0.9
"""Confidence of a rule that states neither weight nor confidence: alone, it infers its head at tau = 0.8."""
MAX_CONFIDENCE = 0.999
"""Confidences above this count as this, so that theta stays finite."""


@dataclass(frozen=True, slots=True)
class Compare:
    """`left op right` by value, as SPARQL compares; either side is a variable or a term."""

    op: Literal["=", "!=", "<", "<=", ">", ">="]
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class SameTerm:
    """`sameTerm(left, right)`."""

    left: str
    right: str


@dataclass(frozen=True, slots=True)
class IsKind:
    """`isIRI(term)`, `isBlank(term)` or `isLiteral(term)`."""

    kind: Literal["isIRI", "isBlank", "isLiteral"]
    term: str


@dataclass(frozen=True, slots=True)
class StartsWith:
    """`STRSTARTS(STR(term), prefix)`, or without the `STR`; `prefix` is a plain string, not a term."""

    term: str
    prefix: str
    of_str: bool


@dataclass(frozen=True, slots=True)
class Differ:
    """The two are known to differ: IRIs that no owl:sameAs joins, or literals of different value.

    Args:
        left: a variable.
        right: a variable.
        same_as: pairs of IRIs that the ontology declares to be the same.
    """

    left: str
    right: str
    same_as: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class And:
    """True if all parts are."""

    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """True if any part is."""

    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The negation; an error stays an error."""

    part: "Filter"


Filter = Compare | SameTerm | IsKind | StartsWith | Differ | And | Or | Not


@dataclass(frozen=True, slots=True)
class Values:
    """A `VALUES` block; None is UNDEF."""

    variables: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]


@dataclass(frozen=True, slots=True)
class RuleOrigin:
    """The file and line of a rule."""

    file: str
    line: int | None = None

    def __str__(self) -> str:
        return printable(self.file) if self.line is None else f"{printable(self.file)}, line {self.line}"


@dataclass(frozen=True, slots=True)
class Measures:
    """The measures of a mined rule, as AMIE defines them; the PCA confidence is the rule's confidence."""

    support: int
    """Number of distinct heads that are asserted and have a body that holds."""
    head_coverage: float | None = None
    """Support over the number of asserted triples that match the head."""
    standard_confidence: float | None = None
    """Support over the number of distinct heads with a body that holds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """A rule over triples, to be grounded by `couple`."""

    id: str
    """Its name in messages, explanations and counts; distinct within a coupling graph."""
    body: tuple[Pattern, ...]
    """The conditions, of variables such as `?x`, IRIs, CURIEs and rdflib terms; the matched triples are the
    atoms of a constraint."""
    head: Pattern | None
    """The conclusion; None is a denial: the conditions cannot all be true."""
    summary: str = ""
    confidence: float | None = None
    weight: float | None = None
    """Theta itself; where it is given, the confidence does not count."""
    axiom: bool = False
    """Whether it holds by definition: it can be wrong as a whole, but has no exceptions."""
    latent: bool = False
    """Whether the head may be an atom that the graph does not assert."""
    filters: tuple[Filter, ...] = ()
    values: tuple[Values, ...] = ()
    query: str | None = None
    """A SELECT that binds the variables of body and head, where joins and filters do not suffice."""
    source: RuleOrigin | None = None
    measures: Measures | None = None
    """Measures of a mined rule."""

    def __post_init__(self) -> None:
        body, head = read_patterns(self.body, self.head, self.name)
        object.__setattr__(self, "body", body)
        object.__setattr__(self, "head", head)
        unbound = set(variables(self.head)) - self.bound if self.head and self.query is None else set()
        if not self.body:
            raise InputError(
                f"rule {self.name} has an empty body; give it at least one triple that must hold"
            )
        if unbound:
            name = printable(min(unbound), 80)
            raise InputError(
                f"rule {self.name} has the head variable {name}, which its body does not bind; "
                "use a variable of the body"
            )
        check_strength(self.weight, self.confidence)

    @property
    def name(self) -> str:
        """The id as it is safe to show."""
        return printable(str(self.id), 200)

    @property
    def is_plain(self) -> bool:
        """Whether the rule is a Horn rule without filters, values or query."""
        return self.head is not None and not self.filters and not self.values and self.query is None

    @property
    def bound(self) -> set[str]:
        """The variables that body and values bind."""
        found = {v for pattern in self.body for v in variables(pattern)}
        return found.union(*(block.variables for block in self.values))

    @property
    def theta(self) -> float:
        """The weight of its constraints in the objective of inference; 0 is an idle rule."""
        return theta(self.trust) if self.weight is None else self.weight

    @property
    def trust(self) -> float:
        """The stated confidence, or the default one."""
        return DEFAULT_CONFIDENCE if self.confidence is None else self.confidence

    def resolved(self, beliefs: "Beliefs") -> "Rule":
        """Return the rule with its CURIEs written out by the prefixes of the beliefs.

        Raises:
            InputError: a prefix is unknown.
        """
        from rdf_kgeval.beliefs.terms import iri_term
        from rdf_kgeval.sources.scope import resolve

        def expanded(pattern: Pattern) -> Pattern:
            s, p, o = (
                term if is_written_out(term) else iri_term(resolve(term, beliefs.prefixes, beliefs))
                for term in pattern
            )
            return s, p, o

        patterns = [*self.body, *([self.head] if self.head else [])]
        if all(is_written_out(term) for pattern in patterns for term in pattern):
            return self
        head = expanded(self.head) if self.head else None
        return replace(self, body=tuple(map(expanded, self.body)), head=head)

    def to_select(self) -> str:
        """Write a SPARQL SELECT for the rule's bindings, over one default graph."""
        if self.query is not None:
            return self.query
        parts = [" ".join(pattern) + " ." for pattern in self.body]
        for block in self.values:
            rows = " ".join(f"({' '.join('UNDEF' if t is None else t for t in row)})" for row in block.rows)
            parts.append(f"VALUES ({' '.join(block.variables)}) {{ {rows} }}")
        parts.extend(f"FILTER({_sparql(f)})" for f in self.filters)
        return f"SELECT DISTINCT {' '.join(sorted(self.bound)) or '*'} WHERE {{ {' '.join(parts)} }}"


def theta(confidence: float) -> float:
    """Return the weight that gives a lone head with a true body the soft truth `confidence`; 0 up to 0.5.

    >>> round(theta(0.99), 3), theta(0.5)
    (2.45, 0.0)
    """
    c = min(confidence, MAX_CONFIDENCE)
    return max(0.0, EPSILON * (c - 0.5) / (1 - c))


def check_strength(weight: float | None, confidence: float | None) -> None:
    """Refuse a weight or confidence out of range."""
    if weight is not None and not 0 <= weight < float("inf"):
        raise InputError(f"the weight {weight} is not a finite number from 0 up; write one such as 0.9")
    if confidence is not None and not 0 <= confidence <= 1:
        raise InputError(f"the confidence {confidence} is not from 0 to 1; write one such as 0.9")


def variables(pattern: Pattern | None) -> Iterator[str]:
    """List the variables of a pattern, in order."""
    return (term for term in pattern or () if term.startswith("?"))


def operands(part: Filter) -> Iterator[str]:
    """List the variables and terms that a filter mentions."""
    for field in fields(part):
        value = getattr(part, field.name)
        if field.name in ("left", "right", "term"):
            yield value
        elif field.name == "part":
            yield from operands(value)
        elif field.name == "parts":
            for inner in value:
                yield from operands(inner)


def _sparql(part: Filter) -> str:
    match part:
        case Compare(op, left, right):
            return f"({left} {op} {right})"
        case SameTerm(left, right):
            return f"sameTerm({left}, {right})"
        case IsKind(kind, term):
            return f"{kind}({term})"
        case StartsWith(term, prefix, of_str):
            return f"STRSTARTS({f'STR({term})' if of_str else term}, {_string(prefix)})"
        case Differ(left, right, _):
            return f"(({left} != {right}) && !isBlank({left}) && !isBlank({right}))"
        case And(parts):
            return "(" + " && ".join(map(_sparql, parts)) + ")"
        case Or(parts):
            return "(" + " || ".join(map(_sparql, parts)) + ")"
        case Not(inner):
            return f"(!{_sparql(inner)})"


def _string(text: str) -> str:
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(escapes.get(c, c) for c in text) + '"'


_FILTERS = {cls.__name__: cls for cls in (Compare, SameTerm, IsKind, StartsWith, Differ, And, Or, Not)}


def to_json(rule: Rule) -> dict[str, Any]:
    """Convert a rule into JSON."""
    record = {field.name: _plain(getattr(rule, field.name)) for field in fields(rule)}
    return {name: value for name, value in record.items() if value not in (None, [], "")}


def from_json(record: dict[str, Any]) -> Rule:
    """Convert JSON of `to_json` back into a rule."""
    known = {
        name: _tuples(value)
        for name, value in record.items()
        if name not in ("filters", "source", "measures")
    }
    known["values"] = tuple(
        Values(_tuples(b["variables"]), _tuples(b["rows"])) for b in record.get("values", ())
    )
    known["filters"] = tuple(_filter(part) for part in record.get("filters", ()))
    known["source"] = RuleOrigin(**record["source"]) if "source" in record else None
    known["measures"] = Measures(**record["measures"]) if "measures" in record else None
    return checked(Rule(**{"head": None, **known}))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if not hasattr(value, "__dataclass_fields__"):
        return value
    plain = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return {"filter": type(value).__name__, **plain} if type(value).__name__ in _FILTERS else plain


def _tuples(value: Any) -> Any:
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value


def _filter(record: dict[str, Any]) -> Filter:
    values = {name: value for name, value in record.items() if name != "filter"}
    if "part" in values:
        values["part"] = _filter(values["part"])
    if "parts" in values:
        values["parts"] = tuple(_filter(part) for part in values["parts"])
    built: Filter = _FILTERS[record["filter"]](**{name: _tuples(v) for name, v in values.items()})
    return built


def verbalise(body: Iterable[Pattern], head: Pattern, name: Callable[[str], str]) -> str:
    """Put a rule into words, "If x plays for y, then x is a Person."; `name` names a term."""

    def clause(pattern: Pattern) -> str:
        s, p, o = (
            term[1:] if term.startswith("?") else printable(" ".join(name(term).split()), 80)
            for term in pattern
        )
        return f"{s} is a {o}" if pattern[1] == f"<{RDF_TYPE}>" else f"{s} {p} {o}"

    return f"If {' and '.join(map(clause, body))}, then {clause(head)}."

"""Pool: the beliefs of a scope at an endpoint, and the queries that count them and draw from them.

A triple's place is the start of the MD5 of its text and a salt, read as a number, so that
`FILTER(?h < "0006...")` returns each triple with a known probability, always the same triples, on any store.
The text is the same on every store: STR of subject, predicate and object, and the object's language. So is
its MD5, except for letters outside ASCII in stores that encode them twice.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import pyoxigraph as ox

from rdf_kgeval.beliefs.table import Triple
from rdf_kgeval.beliefs.terms import parse_term
from rdf_kgeval.errors import InputError
from rdf_kgeval.namespaces import RDF_TYPE
from rdf_kgeval.sources.endpoint.quirks import encodings
from rdf_kgeval.sources.scope import Scope, variables_of
from rdf_kgeval.sources.unjudged import SCHEMAS

DIGITS = 12
"""Hexadecimal digits of a place."""
_TYPE = f"<{RDF_TYPE}>"
FULL = 1 << 4 * DIGITS
"""Places are whole numbers below this one."""


def text_of(triple: Triple) -> str:
    """Return the text of a triple of N-Triples terms that is hashed, without the salt."""
    return " ".join(_parts(triple))


def _parts(triple: Triple) -> list[str]:
    """List the strings of subject, predicate and object, and the object's language."""
    parts = [_string(term) for term in triple]
    literal = parse_term(triple[2]) if triple[2].startswith('"') else None
    language = literal.language if isinstance(literal, ox.Literal) else None
    return [*parts, (language or "").lower()]


def digest_of(triple: Triple, salt: str) -> str:
    """Compute the digest that a store must return for a triple."""
    return _md5(f"{text_of(triple)} {salt}")


def recoded_digests(triple: Triple, salt: str) -> set[str]:
    """List the digests of a store that encodes letters outside ASCII twice in some of the terms."""
    return {_md5(" ".join([*parts, salt])) for parts in product(*map(encodings, _parts(triple)))}


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def place_of(digest: str) -> float:
    """Return the place of a digest, as a fraction in [0, 1)."""
    return int(digest[:DIGITS], 16) / FULL


def _string(term: str) -> str:
    parsed = parse_term(term)
    if isinstance(parsed, ox.Triple):
        raise InputError("triples about triple terms cannot be drawn in place; choose a scope without them")
    return parsed.value


@dataclass(frozen=True, kw_only=True)
class Pool:
    """The triples that are beliefs."""

    template: Triple
    """Subject, predicate and object: variables with their question marks, or constants."""
    pattern: str
    """A graph pattern that binds the variables, each solution once."""
    graph: str | None = None
    prologue: str = ""
    dataset: str = ""
    predicates: tuple[str, ...] = ()
    """The predicates that the scope names, if any."""
    plain: bool = True
    """Whether every triple of these predicates in this graph is a belief."""
    judged: bool = False
    """Whether the types of the schema, such as "is an owl:Class", are left out."""

    @classmethod
    def of(cls, scope: Scope) -> "Pool":
        """Make the pool of a scope.

        Raises:
            InputError: the scope cannot be drawn from in place.
        """
        query = scope.query
        if query is None:
            return cls(
                template=("?s", "?p", "?o"),
                pattern="?s ?p ?o",
                graph=scope.graph,
                predicates=scope.predicates,
            )
        if len(query.parts) != 1:
            raise InputError(
                f"{query.name} has several triples in its template, which may name one belief twice; with "
                "--in-place give a query with one, or leave --in-place out"
            )
        (part,) = query.parts
        return cls(
            template=part.template,
            pattern=part.pattern,
            prologue=query.prologue,
            dataset=scope.dataset,
            predicates=() if part.template[1].startswith("?") else (part.template[1],),
            plain=False,
        )

    @property
    def variables(self) -> tuple[str, ...]:
        """The template's variables, without question marks."""
        return variables_of(self.template)

    def triple(self, row: Sequence[str | None]) -> Triple | None:
        """Make the triple of a row; None where a variable is unbound or the row is not a triple."""
        bound = dict(zip(self.variables, row, strict=True))
        s, p, o = (bound[t[1:]] if t.startswith("?") else t for t in self.template)
        if s is None or p is None or o is None or not (s.startswith("<") and p.startswith("<")):
            return None
        return s, p, o

    def count(self, *, blank: bool) -> str:
        """Write the query for ?n, the triples of each predicate, with or without those of blank nodes."""
        predicate = self.template[1]
        named = "" if blank else self._named()
        values = self._values(self.predicates) if predicate.startswith("?") else ""
        where = f"{{ {values}{self._body()}{named} }}"
        if not predicate.startswith("?"):
            return f"{self.prologue}SELECT (COUNT(*) AS ?n) {self.dataset}WHERE {where}"
        return (
            f"{self.prologue}SELECT ({predicate} AS ?kgeval_p) (COUNT(*) AS ?n) {self.dataset}"
            f"WHERE {where} GROUP BY {predicate}"
        )

    def count_schema_types(self) -> str:
        """Write the query for ?n, the types of the schema of named things."""
        pool = replace(self, judged=False).only(_TYPE)
        found = f"{{ {pool._body()}{pool._named()} FILTER({pool._of_schema()}) }}"
        return f"SELECT (COUNT(*) AS ?n) WHERE {found}"

    def only(self, predicate: str) -> "Pool":
        """Restrict the pool to one predicate."""
        if not self.template[1].startswith("?"):
            return self
        if self.plain:
            template = (self.template[0], predicate, self.template[2])
            return replace(self, template=template, pattern=f"?s {predicate} ?o", predicates=(predicate,))
        return replace(self, predicates=(predicate,))

    def among(self, predicates: Iterable[str]) -> "Pool":
        """Restrict the pool to some predicates."""
        chosen = tuple(predicates)
        return self.only(chosen[0]) if len(chosen) == 1 else replace(self, predicates=chosen)

    def draw(self, salt: str, low: int, high: int) -> str:
        """Write the query for the triples with places from `low` to before `high`, and their digests."""
        names = " ".join(f"?{v}" for v in self.variables)
        return f"{self.prologue}SELECT {names} ?kgeval_h {self.dataset}{self._drawn(salt, low, high)}"

    def count_drawn(self, salt: str, low: int, high: int) -> str:
        """Write the query for ?n, the number of these triples."""
        return f"{self.prologue}SELECT (COUNT(*) AS ?n) {self.dataset}{self._drawn(salt, low, high)}"

    def probe(self, rows: int) -> str:
        """Write a cheap query for a number of rows, ?kgeval_x."""
        values = self._values(self.predicates) if self.template[1].startswith("?") else ""
        where = f"{{ {values}{self._body()} }}"
        return f"{self.prologue}SELECT (1 AS ?kgeval_x) {self.dataset}WHERE {where} LIMIT {rows}"

    def _drawn(self, salt: str, low: int, high: int) -> str:
        tests = []
        if low > 0:
            tests.append(f'?kgeval_h >= "{low:0{DIGITS}x}"')
        if high < FULL:
            tests.append(f'?kgeval_h < "{high:0{DIGITS}x}"')
        chosen = f" FILTER({' && '.join(tests)})" if tests else ""
        values = self._values(self.predicates) if self.template[1].startswith("?") else ""
        body = self._body()
        return f"WHERE {{ {values}{body} BIND(MD5({self._text(salt)}) AS ?kgeval_h){chosen}{self._named()} }}"

    def _text(self, salt: str) -> str:
        s, p, o = self.template
        parts = [f"STR({t})" if t.startswith("?") else str(ox.Literal(_string(t))) for t in (s, p, o)]
        if o.startswith("?"):
            language = f'IF(isLiteral({o}), LCASE(LANG({o})), "")'
        else:
            literal = parse_term(o)
            found = literal.language if isinstance(literal, ox.Literal) else None
            language = str(ox.Literal(found or ""))
        return f'CONCAT({parts[0]}, " ", {parts[1]}, " ", {parts[2]}, " ", {language}, " {salt}")'

    def _named(self) -> str:
        ends = [t for t in (self.template[0], self.template[2]) if t.startswith("?")]
        tests = [f"!isBlank({t})" for t in dict.fromkeys(ends)]
        predicate = self.template[1]
        if self.judged and predicate.startswith("?"):
            tests.append(f"({predicate} != {_TYPE} || !{self._of_schema()})")
        elif self.judged and predicate == _TYPE:
            tests.append(f"!{self._of_schema()}")
        return f" FILTER({' && '.join(tests)})" if tests else ""

    def _of_schema(self) -> str:
        """Write the test for an object that is in a vocabulary of schemas."""
        o = self.template[2]
        tests = " || ".join(f'STRSTARTS(STR({o}), "{space}")' for space in SCHEMAS)
        return f"(isIRI({o}) && ({tests}))"

    def _values(self, predicates: Sequence[str]) -> str:
        return f"VALUES {self.template[1]} {{ {' '.join(predicates)} }} " if predicates else ""

    def _body(self) -> str:
        return f"GRAPH {self.graph} {{ {self.pattern} }}" if self.graph and self.plain else self.pattern

"""A rule as SQL over the table of atoms: one row per grounding.

The text holds only integers and our own names, so nothing from a graph or a rule can reach the SQL, and keeps
to what DuckDB and Spark SQL share: inner and left joins, CASE, COALESCE, VALUES, GROUP BY. The tables are
`atom(id, s, p, o, given)`, `literal` (see LiteralValues), `same(id, representative)` and one of solutions.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyoxigraph as ox

from rdf_kgeval.coupling.bounds import Degrees, Relation, all_of, count_queries
from rdf_kgeval.coupling.vocabulary import (
    BOOLEAN,
    DOUBLE,
    EXACT,
    NUMBER,
    OPAQUE,
    STRING,
    TAGGED,
    TermRange,
    Vocabulary,
)
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
    Values,
    variables,
)


@dataclass(frozen=True, slots=True)
class Solutions:
    """The table of a SPARQL engine's solutions: its name and the variable of each column."""

    table: str
    variables: tuple[str, ...]


class Join:
    """The joins of one rule."""

    def __init__(
        self,
        rule: Rule,
        vocabulary: Vocabulary,
        *,
        literal: Callable[[str], bool],
        same_as: bool = False,
        solutions: Solutions | None = None,
    ) -> None:
        """Set up the joins.

        Args:
            rule: the rule.
            vocabulary: numbers for all its terms.
            literal: whether a variable or term may be a literal, so that comparing it needs values.
            same_as: whether the table `same` has rows.
            solutions: where a SPARQL engine has decided the filters.
        """
        self.rule = rule
        self._vocabulary = vocabulary
        self._may_be_literal = literal
        self._same_as = same_as
        self._solutions = solutions
        self.body = [self._pattern(f"b{i}", pattern) for i, pattern in enumerate(rule.body)]
        self._tables = [self._inline(f"v{i}", b) for i, b in enumerate(rule.values)]
        if solutions is not None and solutions.variables:
            columns = {v: f"c{i}" for i, v in enumerate(solutions.variables)}
            optional = set(columns) - {v for pattern in rule.body for v in variables(pattern)}
            self._tables.append(Relation("q", solutions.table, columns, nullable=optional))
        self.head = None if rule.head is None else self._pattern("h", rule.head)
        self._lookups: dict[str, str] = {}

    def _pattern(self, alias: str, pattern: Pattern) -> Relation:
        relation = Relation(alias, "atom")
        for column, term in zip("spo", pattern, strict=True):
            if not term.startswith("?"):
                number = self._vocabulary.find(term)
                relation.where.append(f"{alias}.{column} = {number}")
                if column == "p":
                    relation.predicate = number
                else:
                    relation.fixed.add(column)
            elif term in relation.columns:
                relation.where.append(f"{alias}.{column} = {alias}.{relation.columns[term]}")
            else:
                relation.columns[term] = column
        return relation

    def _inline(self, alias: str, block: Values) -> Relation:
        names = [f"c{i}" for i in range(len(block.variables))]
        rows = [
            ", ".join("CAST(NULL AS INT)" if t is None else str(self._vocabulary.find(t)) for t in row)
            for row in dict.fromkeys(block.rows)
        ]
        if not rows or not names:
            return Relation(alias, "(SELECT 1 AS one)", where=[] if rows else ["1 = 0"])
        table = " UNION ALL ".join(
            "SELECT "
            + ", ".join(f"{cell} AS {name}" for cell, name in zip(row.split(", "), names, strict=True))
            for row in rows
        )
        undefined = {v for i, v in enumerate(block.variables) if any(row[i] is None for row in block.rows)}
        columns = dict(zip(block.variables, names, strict=True))
        return Relation(alias, f"({table})", columns, nullable=undefined)

    def groundings(self, limit: int | None = None) -> str:
        """Return SQL for the ids of the body's atoms and the head's, for heads that are atoms."""
        relations = [*self.body, *self._tables]
        where = self._conditions(relations)
        if self.head is not None:
            relations.append(self.head)
            where += self.head.where + [f"h.{c} = {self._value(v)}" for v, c in self.head.columns.items()]
            where += [f"h.id <> {b.alias}.id" for b in self.body if self._may_be_same(b, self.head)]
            where.append("NOT h.given")
        where += self._symmetry()
        ids = [f"{r.alias}.id AS {r.alias}" for r in (*self.body, *([self.head] if self.head else []))]
        cap = f" LIMIT {limit}" if limit is not None else ""
        return f"SELECT {', '.join(ids)} FROM {self._from(relations)} WHERE {all_of(where)}{cap}"

    @staticmethod
    def _may_be_same(one: Relation, other: Relation) -> bool:
        return one.predicate is None or other.predicate is None or one.predicate == other.predicate

    def missing_heads(self, rdf_type: int, thing: int) -> str:
        """Return SQL for the head triples that are not atoms, each once."""
        assert self.rule.head is not None  # noqa: S101
        s, p, o = (self._operand(term) for term in self.rule.head)
        where = self._conditions([*self.body, *self._tables])
        low, high = self._vocabulary.literals
        where += [f"({s} < {low} OR {s} >= {high})", self._is_iri(p), f"{o} IS NOT NULL"]
        where.append(f"NOT ({p} = {rdf_type} AND {o} = {thing})")
        source = self._from([*self.body, *self._tables])
        heads = f"SELECT DISTINCT {s} AS s, {p} AS p, {o} AS o FROM {source} WHERE {all_of(where)}"
        known = "LEFT JOIN atom AS k ON k.s = n.s AND k.p = n.p AND k.o = n.o WHERE k.id IS NULL"
        return f"SELECT n.s, n.p, n.o FROM ({heads}) AS n {known}"

    def _from(self, relations: Iterable[Relation]) -> str:
        joins = " CROSS JOIN ".join(r.source for r in relations)
        return joins + "".join(f" LEFT JOIN {table} ON {on}" for on, table in sorted(self._lookups.items()))

    def _conditions(self, relations: list[Relation]) -> list[str]:
        where = [condition for relation in relations for condition in relation.where]
        for variable in dict.fromkeys(v for r in relations for v in r.columns):
            first = self._value(variable)
            for relation in relations:
                column = f"{relation.alias}.{relation.columns.get(variable)}"
                if variable in relation.columns and column != first:
                    free = variable in relation.nullable
                    where.append(
                        f"({column} IS NULL OR {column} = {first})" if free else f"{column} = {first}"
                    )
        filters: Iterable[Filter] = self.rule.filters
        if self._solutions is not None:
            filters = (f for f in filters if isinstance(f, Differ))
        return where + [self._filter(part) for part in filters]

    def _value(self, variable: str) -> str:
        """Return the column of a variable; of one that only VALUES with UNDEF bind, what they bind."""
        held = [r for r in (*self.body, *self._tables) if variable in r.columns]
        columns = [f"{r.alias}.{r.columns[variable]}" for r in held]
        sure = [c for c, r in zip(columns, held, strict=True) if variable not in r.nullable]
        if sure or len(columns) == 1:
            return (sure or columns)[0]
        return f"COALESCE({', '.join(columns)})" if columns else "CAST(NULL AS INT)"

    def _operand(self, term: str) -> str:
        return self._value(term) if term.startswith("?") else str(self._vocabulary.find(term))

    def _symmetry(self) -> list[str]:
        """Let a denial of two triples that only `Differ` tells apart ground once per pair."""
        rule = self.rule
        pairs = [f for f in rule.filters if isinstance(f, Differ)]
        if rule.head is not None or len(pairs) != 1 or len(rule.filters) != 1 or rule.values or rule.query:
            return []
        swap = {pairs[0].left: pairs[0].right, pairs[0].right: pairs[0].left}
        for i, pattern in enumerate(rule.body):
            mirror = tuple(swap.get(term, term) for term in pattern)
            if mirror not in rule.body:
                return []
            if mirror != pattern:
                return [f"b{i}.id < b{rule.body.index(mirror)}.id"]
        return []

    def _is_iri(self, value: str) -> str:
        inside = _within(value, self._vocabulary.starting("<"))
        low, high = self._vocabulary.starting("<<")
        return inside if low == high else f"({inside} AND NOT {_within(value, (low, high))})"

    def _filter(self, part: Filter) -> str:
        match part:
            case And(parts) | Or(parts):
                word, empty = (" AND ", "1 = 1") if isinstance(part, And) else (" OR ", "1 = 0")
                return "(" + (word.join(map(self._filter, parts)) or empty) + ")"
            case Not(inner):
                return f"(NOT {self._filter(inner)})"
            case SameTerm(left, right):
                return f"({self._operand(left)} = {self._operand(right)})"
            case IsKind("isIRI", term):
                return self._is_iri(self._operand(term))
            case IsKind(kind, term):
                run = self._vocabulary.blanks if kind == "isBlank" else self._vocabulary.literals
                return _within(self._operand(term), run)
            case StartsWith():
                return self._starts_with(part)
            case Differ(left, right):
                return self._differ(left, right)
            case Compare("=" | "!=" as op, left, right):
                equal = self._equal(left, right)
                return equal if op == "=" else f"(NOT {equal})"
            case Compare(op, left, right):
                return self._less(op, left, right)

    def _starts_with(self, part: StartsWith) -> str:
        value = self._operand(part.term)
        start = _escaped(part.prefix)
        literal = _within(value, self._vocabulary.starting('"' + start))
        if part.of_str:
            iri = _within(value, self._vocabulary.starting("<" + part.prefix))
            plain = f"({self._is_iri(value)} OR {_within(value, self._vocabulary.literals)})"
            return f"(CASE WHEN {plain} THEN ({self._is_iri(value)} AND {iri}) OR {literal} END)"
        if not self._may_be_literal(part.term):
            return "CAST(NULL AS BOOLEAN)"
        row = self._literal(part.term)
        return f"(CASE WHEN {row}.family IN ({STRING}, {TAGGED}) THEN {literal} END)"

    def _literal(self, term: str) -> str:
        """Join the values of a literal; NULL where the term is not a literal."""
        return self._lookup("literal", "l", f"= {self._operand(term)}")

    def _lookup(self, table: str, letter: str, condition: str) -> str:
        for on, source in self._lookups.items():
            if source.startswith(f"{table} ") and on.endswith(f".id {condition}"):
                return on.partition(".")[0]
        alias = f"{letter}{len(self._lookups)}"
        self._lookups[f"{alias}.id {condition}"] = f"{table} AS {alias}"
        return alias

    def _equal(self, left: str, right: str) -> str:
        a, b = self._operand(left), self._operand(right)
        if not (self._may_be_literal(left) and self._may_be_literal(right)):
            return f"({a} = {b})"
        x, y = self._literal(left), self._literal(right)
        exact = f"GREATEST({x}.level, {y}.level)"
        number = (
            f"CASE WHEN {x}.is_nan OR {y}.is_nan THEN 1 = 0 "
            f"WHEN {exact} = {EXACT} THEN {x}.place = {y}.place "
            f"WHEN {exact} = {DOUBLE} THEN {x}.f64 = {y}.f64 ELSE {x}.f32 = {y}.f32 END"
        )
        return (
            f"(CASE WHEN {a} IS NULL OR {b} IS NULL THEN NULL "
            f"WHEN {a} = {b} THEN NOT COALESCE({x}.is_nan, 1 = 0) "
            f"WHEN {x}.id IS NULL OR {y}.id IS NULL THEN 1 = 0 "
            f"WHEN {x}.family = {TAGGED} OR {y}.family = {TAGGED} THEN 1 = 0 "
            f"WHEN {x}.family = {OPAQUE} OR {y}.family = {OPAQUE} THEN NULL "
            f"WHEN {x}.family <> {y}.family THEN 1 = 0 "
            f"WHEN {x}.family = {NUMBER} THEN {number} ELSE {x}.place = {y}.place END)"
        )

    def _less(self, op: str, left: str, right: str) -> str:
        a, b = self._operand(left), self._operand(right)
        same = "1 = 1" if op.endswith("=") else "1 = 0"
        if not (self._may_be_literal(left) and self._may_be_literal(right)):
            return f"(CASE WHEN {a} = {b} THEN {same} END)"
        x, y = self._literal(left), self._literal(right)
        exact = f"GREATEST({x}.level, {y}.level)"
        number = (
            f"CASE WHEN {x}.is_nan OR {y}.is_nan THEN NULL "
            f"WHEN {exact} = {EXACT} THEN {x}.place {op} {y}.place "
            f"WHEN {exact} = {DOUBLE} THEN {x}.f64 {op} {y}.f64 ELSE {x}.f32 {op} {y}.f32 END"
        )
        return (
            f"(CASE WHEN {a} = {b} THEN {same} WHEN {x}.family = {OPAQUE} THEN NULL "
            f"WHEN {x}.family <> {y}.family OR {x}.tag <> {y}.tag AND {x}.family = {TAGGED} THEN NULL "
            f"WHEN {x}.family = {BOOLEAN} THEN CASE WHEN {x}.place = {y}.place THEN {same} END "
            f"WHEN {x}.family = {NUMBER} THEN {number} ELSE {x}.place {op} {y}.place END)"
        )

    def _differ(self, left: str, right: str) -> str:
        a, b = self._operand(left), self._operand(right)
        known = []
        if self._solutions is None:
            known = [f"(NOT {self._equal(left, right)})"]
            known += [
                f"(NOT {_within(v, self._vocabulary.blanks)})"
                for v in (a, b)
                if _some(self._vocabulary.blanks)
            ]
        if self._same_as:
            one, other = self._lookup("same", "e", f"= {a}"), self._lookup("same", "e", f"= {b}")
            known.append(f"(COALESCE({one}.representative, {a}) <> COALESCE({other}.representative, {b}))")
        return all_of(known or ["1 = 1"])

    def rough_bound(self, degrees: Degrees, *, with_head: bool) -> float:
        """Bound the number of rows from above by the largest degrees alone."""
        return degrees.bound(self._counted(with_head))

    def _counted(self, with_head: bool) -> list[Relation]:
        return [*self.body, *self._tables, *([self.head] if with_head and self.head is not None else [])]

    def bounds(self, *, with_head: bool) -> Iterator[str]:
        """Yield SQL for upper bounds of the number of rows, each from one tree of joins, unfiltered."""
        return count_queries(self._counted(with_head))


def _some(terms: TermRange) -> bool:
    return terms[0] < terms[1]


def _within(value: str, terms: TermRange) -> str:
    return f"({value} >= {terms[0]} AND {value} < {terms[1]})"


def _escaped(text: str) -> str:
    """Escape text as inside an N-Triples literal."""
    return str(ox.Literal(text))[1:-1]

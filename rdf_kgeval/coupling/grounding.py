"""Rule x Beliefs -> groundings: the atoms of every way to satisfy a rule's body.

Atoms are the rows of the beliefs and, after them, latent atoms: heads that rules marked `latent` conclude and
the graph does not assert. Latent atoms are found first, to a fixed point, so that bodies can match them too.
"""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields

import numpy as np

from rdf_kgeval.beliefs.sparql import BeliefStore
from rdf_kgeval.beliefs.table import Beliefs, Role
from rdf_kgeval.common.memory import RAM, Space
from rdf_kgeval.common.text import plural
from rdf_kgeval.common.types import Int32s
from rdf_kgeval.coupling.bindings import Bindings, find_bindings
from rdf_kgeval.coupling.bounds import Degrees
from rdf_kgeval.coupling.joins import Join, Solutions
from rdf_kgeval.coupling.tables import Tables, open_tables
from rdf_kgeval.coupling.vocabulary import OTHER, LiteralValues, Vocabulary
from rdf_kgeval.errors import TooManyGroundings
from rdf_kgeval.namespaces import OWL, RDF_TYPE
from rdf_kgeval.rules.rule import Compare, Differ, Filter, Not, Pattern, Rule, StartsWith, operands

MAX_GROUNDINGS = 50_000_000
"""Default limit on the groundings of all rules together."""
_HOPELESS = 100
"""A rule whose bound is this many times the limit is refused unseen; below, it is tried up to the limit."""


@dataclass(frozen=True)
class Groundings:
    """The groundings of each rule and the latent atoms that they use."""

    body: tuple[tuple[Int32s, ...], ...]
    """For each rule and each of its body's patterns, the atom in each grounding."""
    head: tuple[Int32s | None, ...]
    """For each rule, the atom of each grounding's head; None for a denial."""
    latent: Int32s
    """Subject, predicate, object of the latent atoms, sorted; numbers past the beliefs' terms are `extra`."""
    extra: tuple[str, ...]
    """Terms that only rules name."""


def ground(
    beliefs: Beliefs,
    rules: Sequence[Rule],
    *,
    max_groundings: int = MAX_GROUNDINGS,
    threads: int | None = None,
    space: Space = RAM,
    tables: Tables | None = None,
) -> Groundings:
    """Find all groundings of the rules.

    Args:
        beliefs: the graph.
        rules: what to ground.
        max_groundings: refuse to make more than this, over all rules.
        threads: how many threads DuckDB may use; its default is all.
        space: where large arrays go; under a limit, DuckDB gets a quarter of it and spills.
        tables: where the joins are made, if not in a DuckDB of its own.

    Raises:
        TooManyGroundings: a rule takes them past the limit.
        InputError: a SPARQL engine cannot evaluate a rule.
    """
    with open_tables(space, threads) if tables is None else nullcontext(tables) as chosen:
        return _Grounder(chosen, beliefs, rules, max_groundings).run()


class _Grounder:
    def __init__(self, tables: Tables, beliefs: Beliefs, rules: Sequence[Rule], limit: int) -> None:
        self._tables = tables
        self._beliefs = beliefs
        self._rules = rules
        self._limit = limit
        self._left = limit
        self._store = BeliefStore(beliefs)
        self._bindings = {i: self._solve(rule) for i, rule in enumerate(rules) if rule.query is not None}
        named = {term for rule in rules for term in _terms(rule)}
        bound = {term for i, b in self._bindings.items() if rules[i].latent for term in b.terms}
        self._vocabulary = Vocabulary(beliefs.terms, named | bound | {f"<{RDF_TYPE}>", _THING})
        numbers = self._vocabulary.number
        self._triples = np.column_stack([numbers(beliefs.s), numbers(beliefs.p), numbers(beliefs.o)])
        self._latent = np.zeros((0, 3), dtype=np.int32)
        self._rdf_type = self._vocabulary.find(f"<{RDF_TYPE}>")

    def run(self) -> Groundings:
        same_as = self._load_same_as()
        self._load_atoms()
        self._find_latent(same_as)
        body: list[tuple[Int32s, ...]] = []
        head: list[Int32s | None] = []
        for i, rule in enumerate(self._rules):
            columns = self._ground(i, rule, same_as)
            body.append(tuple(columns[: len(rule.body)]))
            head.append(None if rule.head is None else columns[-1])
        latent = self._vocabulary.split(self._latent)
        return Groundings(tuple(body), tuple(head), latent, tuple(self._vocabulary.extra))

    def _load_atoms(self) -> None:
        triples = np.concatenate([self._triples, self._latent])
        given = np.zeros(len(triples), dtype=bool)
        given[: len(self._beliefs)] = self._beliefs.role == Role.GIVEN
        s, p, o = (np.ascontiguousarray(column) for column in triples.T)
        self._degrees = Degrees(s, p, o)
        self._predicates = set(np.unique(p).tolist())
        self._classes = set(np.unique(o[p == self._rdf_type]).tolist())
        ids = np.arange(len(triples), dtype=np.int32)
        # Sorted by predicate, a rule's scan skips the blocks of other predicates.
        self._tables.load("atom", {"id": ids, "s": s, "p": p, "o": o, "given": given}, "p, s, o")

    def _is_possible(self, i: int) -> bool:
        """Check that each pattern's predicate, and class, occurs: spares most rules of an ontology."""
        for _, p, o in self._rules[i].body:
            if not p.startswith("?"):
                if (number := self._vocabulary.find(p)) not in self._predicates:
                    return False
                is_class = number == self._rdf_type and not o.startswith("?")
                if is_class and self._vocabulary.find(o) not in self._classes:
                    return False
        return True

    def _load_same_as(self) -> bool:
        """Load which terms are the same; return False if none are."""
        pairs = [
            pair for rule in self._rules for f in rule.filters if isinstance(f, Differ) for pair in f.same_as
        ]
        if not any(isinstance(f, Differ) for rule in self._rules for f in rule.filters):
            return False
        same = self._beliefs.terms.find(_SAME_AS)
        rows = np.zeros((0, 2), dtype=np.int32)
        if same is not None:
            rows = self._triples[self._beliefs.p == same][:, [0, 2]]
        edges = {(int(a), int(b)) for a, b in rows}
        edges |= {(self._vocabulary.find(a), self._vocabulary.find(b)) for a, b in pairs}
        member = _representatives(sorted(edges))
        if not member:
            return False
        ids = np.array(sorted(member), dtype=np.int32)
        self._tables.load(
            "same", {"id": ids, "representative": np.array([member[i] for i in ids], dtype=np.int32)}
        )
        return True

    def _solve(self, rule: Rule) -> Bindings:
        bindings = find_bindings(self._store, rule, self._limit)
        if bindings is None:
            raise _too_many(rule, self._limit, None)
        return bindings

    def _join(self, i: int, rule: Rule, same_as: bool) -> Join:
        """Set up the joins of a rule over the present atoms."""
        values = {term: self._objects(rule, term) for f in rule.filters for term in _compared(f)}
        literal = LiteralValues.of(self._vocabulary, (n for numbers in values.values() for n in numbers))
        low, high = self._vocabulary.literals
        may_be = {term: bool(((n >= low) & (n < high)).any()) for term, n in values.items()}
        if i not in self._bindings and (literal.family == OTHER).any() and any(may_be.values()):
            self._bindings[i] = self._solve(rule)
        solutions = self._load_solutions(i, rule) if i in self._bindings else None
        if any(may_be.values()):
            self._tables.load("literal", {f.name: getattr(literal, f.name) for f in fields(literal)})
        return Join(
            rule,
            self._vocabulary,
            literal=lambda t: may_be.get(t, False),
            same_as=same_as,
            solutions=solutions,
        )

    def _load_solutions(self, i: int, rule: Rule) -> Solutions:
        bindings = self._bindings[i]
        known = [
            self._vocabulary.find(t) if rule.latent or self._beliefs.terms.find(t) is not None else -2
            for t in bindings.terms
        ]
        lookup = np.array([*known, -1], dtype=np.int32)
        cells = lookup[bindings.cells]
        cells = np.unique(cells[(cells != -2).all(axis=1)], axis=0) if len(cells) else cells
        columns = {f"c{j}": np.ascontiguousarray(cells[:, j]) for j in range(cells.shape[1])}
        if columns:
            self._tables.load("solution", columns)
            chosen = ", ".join(f"NULLIF({name}, -1) AS {name}" for name in columns)
            return Solutions(f"(SELECT {chosen} FROM solution)", bindings.variables)
        return Solutions("(SELECT 1 AS one)" if len(cells) else "(SELECT 1 AS one WHERE 1 = 0)", ())

    def _objects(self, rule: Rule, term: str) -> Int32s:
        """Return the terms that a variable can be where it may be a literal, or the constant itself."""
        if not term.startswith("?"):
            return np.array([self._vocabulary.find(term)], dtype=np.int32)
        if any(term in pattern[:2] for pattern in rule.body):
            return np.zeros(0, dtype=np.int32)
        triples = np.concatenate([self._triples, self._latent])
        for pattern in rule.body:
            if pattern[2] == term:
                for column in (0, 1):
                    if not pattern[column].startswith("?"):
                        triples = triples[triples[:, column] == self._vocabulary.find(pattern[column])]
                return np.unique(triples[:, 2])
        numbers = [
            self._vocabulary.find(t)
            for block in rule.values
            if term in block.variables
            for t in {row[block.variables.index(term)] for row in block.rows}
            if t is not None
        ]
        return np.array(sorted(numbers), dtype=np.int32)

    def _find_latent(self, same_as: bool) -> None:
        """Add the latent atoms, until no rule finds another."""
        thing = self._vocabulary.find(_THING)
        productive = [i for i, rule in enumerate(self._rules) if rule.latent and not _is_thing(rule.head)]
        due = productive
        while due:
            found = [np.zeros((0, 3), dtype=np.int32)]
            for i in filter(self._is_possible, due):
                join = self._join(i, self._rules[i], same_as)
                limit = self._check_size(self._rules[i], join, with_head=False)
                cap = "" if limit is None else f" LIMIT {limit + 1}"
                rows = np.column_stack(self._tables.fetch(join.missing_heads(self._rdf_type, thing) + cap))
                if limit is not None and len(rows) > limit:
                    raise _too_many(self._rules[i], self._limit, None)
                found.append(rows)
            new = np.unique(np.concatenate(found), axis=0)
            self._latent = np.unique(np.concatenate([self._latent, new]), axis=0)
            if len(self._latent) > self._limit:
                raise _too_many(self._rules[due[0]], self._limit, None)
            if len(new):
                self._load_atoms()
            touched = {self._vocabulary.text(int(n)) for n in np.unique(new[:, 1])}
            due = [i for i in productive if len(new) and _mentions(self._rules[i], touched)]

    def _ground(self, i: int, rule: Rule, same_as: bool) -> list[Int32s]:
        if _is_thing(rule.head) or not self._is_possible(i):
            return [np.zeros(0, dtype=np.int32)] * (len(rule.body) + (rule.head is not None))
        join = self._join(i, rule, same_as)
        limit = self._check_size(rule, join, with_head=True)
        columns = self._tables.fetch(join.groundings(None if limit is None else limit + 1))
        if limit is not None and len(columns[0]) > limit:
            raise _too_many(rule, self._limit, self._bound(join, with_head=True))
        self._left -= len(columns[0])
        return columns

    def _check_size(self, rule: Rule, join: Join, *, with_head: bool) -> int | None:
        """Return the most rows a query may have, None if it cannot have more; refuse one with far more."""
        if join.rough_bound(self._degrees, with_head=with_head) <= self._left:
            return None
        if (bound := self._bound(join, with_head=with_head)) > _HOPELESS * max(self._left, 1):
            raise _too_many(rule, self._limit, bound)
        return None if bound <= self._left else self._left

    def _bound(self, join: Join, *, with_head: bool) -> float:
        """Return the least of the upper bounds, or the first that is small enough."""
        least = float("inf")
        for sql in join.bounds(with_head=with_head):
            least = min(least, self._tables.number(sql))
            if least <= self._left:
                break
        return least


_THING = f"<{OWL}Thing>"
_SAME_AS = f"<{OWL}sameAs>"


def _is_thing(head: Pattern | None) -> bool:
    return head is not None and head[1:] == (f"<{RDF_TYPE}>", _THING)


def _mentions(rule: Rule, predicates: set[str]) -> bool:
    return any(p in predicates or p.startswith("?") for _, p, _ in rule.body)


def _too_many(rule: Rule, limit: int, bound: float | None) -> TooManyGroundings:
    where = f" ({rule.source})" if rule.source else ""
    size = "" if bound is None else f", by estimate up to {bound:,.0f} of its own"
    return TooManyGroundings(
        f"rule {rule.name}{where} takes the coupling graph past {plural(limit, 'grounding')}{size}; make its "
        "body more specific, leave it out, or raise --max-groundings"
    )


def _terms(rule: Rule) -> Iterable[str]:
    """Yield the constants of a rule."""
    for pattern in (*rule.body, rule.head or ()):
        yield from (term for term in pattern if not term.startswith("?"))
    for block in rule.values:
        yield from (term for row in block.rows for term in row if term is not None)
    for part in rule.filters:
        yield from (term for term in operands(part) if not term.startswith("?"))
        yield from (term for pair in getattr(part, "same_as", ()) for term in pair)


def _compared(part: Filter) -> Iterable[str]:
    """Yield the operands whose value may matter."""
    match part:
        case Compare(_, left, right) | Differ(left, right):
            return (left, right)
        case StartsWith(term, _, False):
            return (term,)
        case Not(inner):
            return _compared(inner)
        case _:
            return [term for inner in getattr(part, "parts", ()) for term in _compared(inner)]


def _representatives(edges: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return the least member of everyone's class."""
    parent: dict[int, int] = {}

    def find(i: int) -> int:
        while parent.setdefault(i, i) != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for a, b in edges:
        low, high = sorted((find(a), find(b)))
        parent[high] = low
    return {i: find(i) for i in sorted(parent)}

"""CouplingGraph: which beliefs are tied to which, by which rules; frozen, in read-only arrays."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rdf_kgeval.beliefs.table import Beliefs, Role, Terms, Triple
from rdf_kgeval.common.arguments import expect, expect_all
from rdf_kgeval.common.arrays import check_length, check_range, check_starts, damaged, map_arrays, save_arrays
from rdf_kgeval.common.disk import read_plain
from rdf_kgeval.common.memory import RAM, Space
from rdf_kgeval.common.types import Float64s, Int8s, Int32s, Int64s
from rdf_kgeval.common.validation import fits
from rdf_kgeval.coupling.constraints import by_shape, merge
from rdf_kgeval.coupling.grounding import MAX_GROUNDINGS, ground
from rdf_kgeval.coupling.tables import Tables
from rdf_kgeval.errors import InputError
from rdf_kgeval.rules.rule import Rule, from_json, to_json


class Thetas(NamedTuple):
    """The weight of each rule in the objective of inference."""

    forward: Float64s
    """Where truth passes from the body to the head."""
    backward: Float64s
    """Where people said that the head is false, and falsity passes to the body."""


class Part(NamedTuple):
    """Some constraints, in arrays as those of the graph."""

    start: Int64s
    atom: Int32s
    sign: Int8s
    offset: Int32s


@dataclass(frozen=True, eq=False)
class CouplingGraph:
    """Constraints over atoms, both ways.

    Atoms are numbered: first the rows of `beliefs`, whatever their role, then the latent atoms. Rows that are
    given never occur in a constraint: they are substituted. The constraint j is the clause
    `a_1 & ... & a_k -> h`, or `not (a_1 & ... & a_k)` if it has no head, and inference penalises
    `max(0, offset[j] + sum of sign * x over its atoms)`:

    - its atoms are `atom[start[j]:start[j + 1]]`: the k distinct body atoms, ascending, then the head;
    - `sign` beside `atom` is +1 for a body atom and -1 for the head;
    - `offset[j]` is `1 - k`, with k the body atoms that are left after given ones are substituted;
    - the rules that it stands for are `rule[rule_start[j]:rule_start[j + 1]]`, ascending, and `count` beside
      `rule` says from how many of that rule's clauses, which differ only in given atoms. Its weight is the
      sum of count * theta[rule].

    The atom i occurs in the constraints `constraint[atom_start[i]:atom_start[i + 1]]`, ascending, with the
    sign in `constraint_sign`. Constraints are distinct, and sorted by k, denials first, then by their atoms.
    """

    beliefs: Beliefs
    rules: tuple[Rule, ...]
    start: Int64s
    atom: Int32s
    sign: Int8s
    offset: Int32s
    rule_start: Int64s
    rule: Int32s
    count: Int32s
    atom_start: Int64s
    constraint: Int32s
    constraint_sign: Int8s
    latent: Int32s
    """Subject, predicate and object of each latent atom; numbers past the beliefs' terms are `extra`."""
    extra: Terms
    """Terms that only rules name."""
    space: Space = RAM
    """Where large arrays that are made from it go."""

    def __post_init__(self) -> None:
        for name in _KINDS:
            getattr(self, name).flags.writeable = False

    @property
    def n_beliefs(self) -> int:
        """Return the number of beliefs to be evaluated."""
        return self.beliefs.n_beliefs

    @property
    def n_constraints(self) -> int:
        """Return the number of constraints."""
        return len(self.offset)

    @property
    def n_atoms(self) -> int:
        """Return the number of atoms: rows of the beliefs and latent ones."""
        return len(self.beliefs) + len(self.latent)

    @cached_property
    def theta(self) -> Float64s:
        """Return the weight of each rule, from its confidence or weight."""
        return np.array([rule.theta for rule in self.rules], dtype=np.float64)

    @property
    def thetas(self) -> Thetas:
        """Return the same weights in both directions."""
        return Thetas(self.theta, self.theta)

    def weights(self, theta: Float64s | None = None, rows: Int32s | None = None) -> Float64s:
        """Compute the weight of each constraint, or of these, from the rules' (their own by default)."""
        theta = self.theta if theta is None else theta
        if rows is None:
            if not self.n_constraints:
                return np.zeros(0)
            return np.add.reduceat(theta[self.rule] * self.count, self.rule_start[:-1])
        start, at = ranges(self.rule_start, rows)
        return (
            np.add.reduceat(theta[self.rule[at]] * self.count[at], start[:-1]) if len(rows) else np.zeros(0)
        )

    def touching(self, atoms: Int32s | Int64s) -> Int32s:
        """Find the constraints in which these atoms occur, ascending."""
        return np.unique(self.constraint[ranges(self.atom_start, atoms)[1]])

    def concluding(self, atoms: Sequence[int] | Int32s | Int64s) -> Int32s:
        """Find the constraints whose heads are among these atoms, ascending."""
        at = ranges(self.atom_start, np.asarray(atoms, dtype=np.int64))[1]
        return np.unique(self.constraint[at][self.constraint_sign[at] < 0])

    def part(self, rows: Int32s | None) -> "Part":
        """Return some of the constraints, or all."""
        if rows is None:
            return Part(self.start, self.atom, self.sign, self.offset)
        start, at = ranges(self.start, rows)
        return Part(start, self.atom[at], self.sign[at], self.offset[rows])

    @cached_property
    def degree(self) -> Int32s:
        """Count the constraints in which each atom occurs."""
        return np.diff(self.atom_start).astype(np.int32)

    @cached_property
    def component(self) -> Int32s:
        """Number each atom's connected component by least atoms; -1 for an atom in no constraint."""
        from scipy import sparse
        from scipy.sparse import csgraph

        tie = np.ones(max(len(self.atom) - 1, 0), dtype=bool)
        tie[self.start[1:-1] - 1] = False
        left, right = self.atom[:-1][tie], self.atom[1:][tie]
        edges = sparse.coo_array(
            (np.ones(len(left), bool), (left, right)), shape=(self.n_atoms, self.n_atoms)
        )
        _, label = csgraph.connected_components(edges, directed=False)
        coupled = self.degree > 0
        _, first, number = np.unique(label[coupled], return_index=True, return_inverse=True)
        component = np.full(self.n_atoms, -1, dtype=np.int32)
        component[coupled] = np.argsort(np.argsort(first))[number]
        return component

    @property
    def n_components(self) -> int:
        """Count the connected components of the coupled atoms."""
        return int(self.component.max(initial=-1)) + 1

    def component_sizes(self) -> Int32s:
        """Count the beliefs to be evaluated in each component."""
        own = self.component[self.beliefs.rows]
        return np.bincount(own[own >= 0], minlength=self.n_components).astype(np.int32)

    @cached_property
    def groundings(self) -> Int64s:
        """Count the clauses of each rule; those that differ only in given atoms count apart."""
        return np.bincount(self.rule, weights=self.count, minlength=len(self.rules)).astype(np.int64)

    def uncoupled(self) -> Int32s:
        """Return the rows to be evaluated that no constraint touches."""
        rows = self.beliefs.rows
        chosen: Int32s = rows[self.degree[rows] == 0]
        return chosen

    def triple(self, atom: int) -> Triple:
        """Return subject, predicate and object of an atom as N-Triples terms."""
        if atom < len(self.beliefs):
            return self.beliefs.triple(atom)
        s, p, o = (self._term(int(n)) for n in self.latent[atom - len(self.beliefs)])
        return s, p, o

    def _term(self, number: int) -> str:
        own = len(self.beliefs.terms)
        return self.beliefs.terms[number] if number < own else self.extra[number - own]

    def rules_of(self, constraint: int) -> Iterator[Rule]:
        """Return the rules behind a constraint."""
        for i in self.rule[self.rule_start[constraint] : self.rule_start[constraint + 1]]:
            yield self.rules[i]

    def save(self, folder: Path) -> None:
        """Write the rules and, as .npy files that can be mapped into memory, the arrays; not the beliefs."""
        save_arrays(folder, {name: getattr(self, name) for name in _KINDS})
        extra = [self.extra[i] for i in range(len(self.extra))]
        record = {"rules": [to_json(rule) for rule in self.rules], "extra": extra}
        (folder / _RULES).write_text(json.dumps(record, ensure_ascii=False, indent=1), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, beliefs: Beliefs, space: Space = RAM) -> "CouplingGraph":
        """Map a saved graph into memory; `beliefs` are those it was made from.

        Raises:
            RunError: it is missing or damaged.
        """
        arrays = map_arrays(folder, _KINDS)
        try:
            record = json.loads(read_plain(folder / _RULES))
            rules = tuple(from_json(rule) for rule in record["rules"])
            if not fits(record["extra"], list[str]):
                raise TypeError("its terms are not text")
            extra = Terms.of(record["extra"])
        except OSError as error:
            raise damaged(folder / _RULES, error.strerror or str(error)) from error
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, InputError) as error:
            raise damaged(folder / _RULES, str(error)) from error
        graph = cls(beliefs, rules, **arrays, extra=extra, space=space)
        graph._check(folder)
        return graph

    def _check(self, folder: Path) -> None:
        """Refuse arrays that do not fit each other; compiled code would follow them anywhere."""
        path = {name: folder / f"{name}.npy" for name in _KINDS}
        n, cells, pairs = self.n_constraints, len(self.atom), len(self.rule)
        if self.latent.shape[1] != 3:
            raise damaged(path["latent"], "it does not hold triples")
        check_starts(path["start"], self.start, n, cells, least=1)
        check_starts(path["rule_start"], self.rule_start, n, pairs, least=1)
        check_starts(path["atom_start"], self.atom_start, self.n_atoms, cells)
        for name, length, low, top in (
            ("atom", cells, 0, self.n_atoms),
            ("sign", cells, -1, 2),
            ("offset", n, -cells, 2),
            ("rule", pairs, 0, len(self.rules)),
            ("count", pairs, 1, 2**31),
            ("constraint", cells, 0, n),
            ("constraint_sign", cells, -1, 2),
        ):
            check_length(path[name], getattr(self, name), length)
            check_range(path[name], getattr(self, name), top, low)
        check_range(path["latent"], self.latent.ravel(), len(self.beliefs.terms) + len(self.extra))
        if not np.array_equal(np.bincount(self.atom, minlength=self.n_atoms), np.diff(self.atom_start)):
            raise damaged(path["atom_start"], "it does not fit atom.npy")


def ranges(start: Int64s, rows: NDArray[Any]) -> tuple[Int64s, Int64s]:
    """Line up the entries of some rows; return where each row's begin, and where they are in the whole."""
    low = start[rows]
    size = start[np.asarray(rows) + 1] - low
    begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(size)])
    return begin, np.arange(begin[-1]) + np.repeat(low - begin[:-1], size)


_RULES = "rules.json"
_KINDS: dict[str, type] = {
    "start": np.int64, "atom": np.int32, "sign": np.int8, "offset": np.int32, "rule_start": np.int64,
    "rule": np.int32, "count": np.int32, "atom_start": np.int64, "constraint": np.int32,
    "constraint_sign": np.int8, "latent": np.int32,
}  # fmt: skip


def couple(
    beliefs: Beliefs,
    rules: Iterable[Rule],
    *,
    max_groundings: int = MAX_GROUNDINGS,
    threads: int | None = None,
    space: Space = RAM,
    tables: Tables | None = None,
) -> CouplingGraph:
    """Ground the rules over the beliefs and tie the beliefs together.

    Args:
        beliefs: the graph to evaluate.
        rules: from `read_rules` and `read_ontology`.
        max_groundings: refuse to make more than this, over all rules.
        threads: how many threads DuckDB may use.
        space: where large arrays go.
        tables: where the joins are made, if not in a DuckDB of its own.
    """
    from scipy import sparse

    remedy = "read_beliefs(source) makes beliefs of a file or an rdflib Graph: couple(beliefs, rules)"
    expect(beliefs, Beliefs, "couple takes beliefs first", remedy)
    remedy = "read_rules(path), read_ontology(path) and mine(beliefs) make rules"
    rules = expect_all(rules, Rule, "couple takes rules after the beliefs", remedy)
    rules = tuple(rule.resolved(beliefs) for rule in rules)
    _refuse_duplicates(rules)
    found = ground(beliefs, rules, max_groundings=max_groundings, threads=threads, space=space, tables=tables)
    given = np.zeros(len(beliefs) + len(found.latent), dtype=bool)
    given[: len(beliefs)] = beliefs.role == Role.GIVEN
    constraints = merge(by_shape(found, rules, given), space)
    # scipy copies everything to the wider of two integer types, so it gets the narrow one where that will do.
    start = constraints.start.astype(np.int32) if len(constraints.atom) < 2**31 else constraints.start
    shape = (len(constraints.offset), len(given))
    matrix = sparse.csr_array((constraints.sign, constraints.atom, start), shape=shape).tocsc()
    return CouplingGraph(
        beliefs=beliefs,
        rules=rules,
        **{field.name: getattr(constraints, field.name) for field in fields(constraints)},
        atom_start=space.kept(matrix.indptr.astype(np.int64)),
        constraint=space.kept(matrix.indices.astype(np.int32, copy=False)),
        constraint_sign=space.kept(matrix.data.astype(np.int8, copy=False)),
        latent=found.latent,
        extra=Terms.of(found.extra),
        space=space,
    )


def _refuse_duplicates(rules: Sequence[Rule]) -> None:
    seen: dict[str, Rule] = {}
    for rule in rules:
        if rule.id in seen:
            places = " and ".join(str(r.source) for r in (seen[rule.id], rule) if r.source)
            raise InputError(
                f"two rules have the id {rule.name}{f' ({places})' if places else ''}; rename one"
            )
        seen[rule.id] = rule

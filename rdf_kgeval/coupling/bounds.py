"""Tables in a FROM clause, and how many rows their join can have at most, before it is made."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np

from rdf_kgeval.common.types import Int32s


@dataclass(slots=True)
class Relation:
    """A table in the FROM clause: which of its columns hold which variables."""

    alias: str
    table: str
    columns: dict[str, str] = field(default_factory=dict)
    where: list[str] = field(default_factory=list)
    nullable: set[str] = field(default_factory=set)
    predicate: int | None = None
    """The number of the predicate, of atoms that have a constant one."""
    fixed: set[str] = field(default_factory=set)
    """Subject or object column that is a constant."""

    @property
    def source(self) -> str:
        """Return the table under its alias."""
        return f"{self.table} AS {self.alias}"


class Degrees:
    """The number of atoms of a predicate, and the most with one subject or one object."""

    def __init__(self, s: Int32s, p: Int32s, o: Int32s) -> None:
        self._columns = (s, p, o)
        self._all = len(s)

    @cached_property
    def _of(self) -> dict[int, dict[str, int]]:
        s, p, o = self._columns
        found: dict[int, dict[str, int]] = {}
        for column, ends in (("s", s), ("o", o)):
            key = (p.astype(np.int64) << 32) | ends
            key.sort()
            at = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
            size = np.diff(np.append(at, len(key)))
            predicate = key[at] >> 32
            first = np.flatnonzero(np.append(True, predicate[1:] != predicate[:-1]))
            total = np.add.reduceat(size, first)
            most = np.maximum.reduceat(size, first)
            for number, n, degree in zip(
                predicate[first].tolist(), total.tolist(), most.tolist(), strict=True
            ):
                found.setdefault(number, {})[""] = n
                found[number][column] = degree
        return found

    def bound(self, relations: list[Relation]) -> float:
        """Bound the number of rows of a join from above."""
        bounds = []
        for root in relations:
            tree = _spanning_tree(root, relations)
            steps = [child for children in tree.values() for child in children]
            bounds.append(self.most(root, ()) * prod(self.most(relation, keys) for relation, keys in steps))
        return min(bounds)

    def most(self, relation: Relation, keys: Iterable[str]) -> float:
        """Return the most rows of a relation that agree on the variables `keys`."""
        if relation.predicate is None:
            return float(self._all) if relation.table == "atom" else float("inf")
        if not self._all:
            return 0.0
        degrees = self._of.get(relation.predicate, {"": 0, "s": 0, "o": 0})
        columns = {relation.columns[v] for v in keys} | relation.fixed
        if {"s", "o"} <= columns:
            return min(1.0, degrees[""])
        return float(min((degrees[c] for c in columns if c in degrees), default=degrees[""]))


def count_queries(relations: list[Relation]) -> Iterator[str]:
    """Yield SQL for upper bounds of the number of rows of a join, each from one tree of the relations."""
    for root in relations:
        yield _count_tree(root, _spanning_tree(root, relations))


def _spanning_tree(
    root: Relation, relations: list[Relation]
) -> Mapping[str, list[tuple[Relation, list[str]]]]:
    """Find the children of each relation and the variables shared, joining on the most variables first."""
    tree: dict[str, list[tuple[Relation, list[str]]]] = {r.alias: [] for r in relations}
    done, left = [root], [r for r in relations if r is not root]
    while left:
        shared = {
            (i, j): sorted((set(a.columns) - a.nullable) & (set(b.columns) - b.nullable))
            for i, a in enumerate(done)
            for j, b in enumerate(left)
        }
        (i, j), keys = max(shared.items(), key=lambda item: len(item[1]))
        tree[done[i].alias].append((left[j], keys))
        done.append(left.pop(j))
    return tree


def _count_tree(
    node: Relation, tree: Mapping[str, list[tuple[Relation, list[str]]]], keys: Iterable[str] = ()
) -> str:
    source, factors = node.source, ["CAST(1 AS DOUBLE)"]
    for child, shared in tree[node.alias]:
        on = [f"n_{child.alias}.k{i} = {node.alias}.{node.columns[v]}" for i, v in enumerate(shared)]
        source += (
            f" JOIN ({_count_tree(child, tree, shared)}) AS n_{child.alias} ON {all_of(on or ['1 = 1'])}"
        )
        factors.append(f"n_{child.alias}.n")
    columns = [f"{node.alias}.{node.columns[v]}" for v in keys]
    chosen = "".join(f"{column} AS k{i}, " for i, column in enumerate(columns))
    grouped = f" GROUP BY {', '.join(columns)}" if columns else ""
    total = f"COALESCE(SUM({' * '.join(factors)}), 0) AS n"
    return f"SELECT {chosen}{total} FROM {source} WHERE {all_of(node.where)}{grouped}"


def all_of(conditions: list[str]) -> str:
    """Join conditions by AND."""
    return " AND ".join(conditions) or "1 = 1"

"""Groundings -> distinct constraints: given atoms substituted, bodies as sets, duplicates merged."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rdf_kgeval.common.memory import RAM, Space
from rdf_kgeval.common.types import Bools, Int8s, Int32s, Int64s
from rdf_kgeval.coupling.grounding import Groundings
from rdf_kgeval.rules.rule import Rule

Shape = tuple[int, bool]
"""How many body atoms, and whether there is a head."""
Clauses = list[Int32s]
"""Clauses in columns: the body's atoms in ascending order, then the head."""
_ABSENT = np.iinfo(np.int32).max


def by_shape(
    found: Groundings, rules: Sequence[Rule], given: Bools
) -> dict[Shape, list[tuple[int, Clauses]]]:
    """Collect the clauses of all rules after substitution by shape, in order of the rules."""
    chunks: dict[Shape, list[tuple[int, Clauses]]] = {}
    for i, (body, head) in enumerate(zip(found.body, found.head, strict=True)):
        heads = [] if head is None else [head]
        columns, gaps = _clauses(list(body), heads, distinct=not _tells_apart(rules[i]))
        body_columns, heads = columns[: len(body)], columns[len(body) :]
        if given.any():
            body_columns, filled = _substitute(body_columns, given)
            gaps |= filled
        if not gaps:
            chunks.setdefault((len(body), bool(heads)), []).append((i, [*body_columns, *heads]))
            continue
        size = sum((column != _ABSENT).astype(np.int8) for column in body_columns)
        for k in np.unique(size).tolist():
            if k or heads:
                chosen = [column[size == k] for column in (*body_columns[:k], *heads)]
                chunks.setdefault((k, bool(heads)), []).append((i, chosen))
    return chunks


def _tells_apart(rule: Rule) -> bool:
    """Tell whether different solutions are different clauses, because each predicate occurs once."""
    predicates = {pattern[1] for pattern in rule.body}
    constant = not any(p.startswith("?") for p in predicates)
    return constant and len(predicates) == len(rule.body) and not rule.values and rule.query is None


def _clauses(body: Clauses, head: Clauses, *, distinct: bool) -> tuple[Clauses, bool]:
    """Return body atoms as an ascending set, padded with _ABSENT, then the head; and whether any is padded.

    `distinct` drops repeated clauses.
    """
    body = _ascending(body)
    gaps = False
    for j in range(len(body) - 1, 0, -1):
        twice = body[j] == body[j - 1]
        if twice.any():
            body[j], gaps = np.where(twice, np.int32(_ABSENT), body[j]), True
    columns = [*(_ascending(body) if gaps else body), *head]
    if distinct and len(columns[0]):
        order = _order(columns)
        columns = [column[order] for column in columns]
        first = _firsts(columns)
        columns = [column[first] for column in columns]
    return columns, gaps


def _ascending(columns: Clauses) -> Clauses:
    """Sort within each row, by exchanging neighbours."""
    columns = list(columns)
    for end in range(len(columns) - 1, 0, -1):
        for j in range(end):
            low, high = columns[j], columns[j + 1]
            columns[j], columns[j + 1] = np.minimum(low, high), np.maximum(low, high)
    return columns


def _substitute(body: Clauses, given: Bools) -> tuple[Clauses, bool]:
    """Take given atoms out; return whether there were any."""
    known = np.append(given, False)
    filled = [known[np.minimum(column, len(given))] for column in body]
    if not any(column.any() for column in filled):
        return body, False
    pairs = zip(body, filled, strict=True)
    return _ascending([np.where(gone, np.int32(_ABSENT), column) for column, gone in pairs]), True


def _order(columns: Clauses) -> Int64s:
    """Find the stable order of the rows.

    Sorting numbers is ten times faster than finding their order, so a key holds the row's place below the
    columns, from the last one on; as many columns to a pass as 63 bits hold.
    """
    n = len(columns[0])
    place_bits = n.bit_length()
    order: Int64s | None = None
    left = list(columns)
    while left:
        key, bits = np.arange(n, dtype=np.int64), place_bits
        while left and bits + (wide := int(left[-1].max(initial=0)).bit_length()) <= 63:
            column = left.pop() if order is None else left.pop()[order]
            key |= column.astype(np.int64) << bits
            bits += wide
        key.sort()
        key &= (1 << place_bits) - 1
        order = key if order is None else order[key]
    assert order is not None  # noqa: S101
    return order


def _firsts(columns: Clauses) -> Bools:
    """Mark the ordered rows that differ from the one before."""
    first = np.zeros(len(columns[0]), dtype=bool)
    first[:1] = True
    for column in columns:
        first[1:] |= column[1:] != column[:-1]
    return first


@dataclass(frozen=True)
class Constraints:
    """All constraints in arrays, as CouplingGraph describes them."""

    start: Int64s
    atom: Int32s
    sign: Int8s
    offset: Int32s
    rule_start: Int64s
    rule: Int32s
    count: Int32s


def merge(shapes: dict[Shape, list[tuple[int, Clauses]]], space: Space = RAM) -> Constraints:
    """Order the clauses and merge equal ones, shape by shape; uses up `shapes`.

    The arrays are made once, at the size that they have without duplicates, and filled: touching fresh memory
    costs more than all the arithmetic.
    """
    sizes = {shape: sum(len(columns[0]) for _, columns in parts) for shape, parts in shapes.items()}
    total, cells = sum(sizes.values()), sum(n * (k + head) for (k, head), n in sizes.items())
    atom, sign = space.empty(cells, np.int32), space.empty(cells, np.int8)
    start, offset = space.empty(total + 1, np.int64), space.empty(total, np.int32)
    rule_start = space.empty(total + 1, np.int64)
    rule, count = space.empty(total, np.int32), space.empty(total, np.int32)
    row = cell = pair = 0
    for shape in sorted(shapes):
        k, width = shape[0], shape[0] + shape[1]
        columns, rules, counts, owner = _merge_shape(shapes.pop(shape), width)
        n, m = len(columns[0]), len(rules)
        table = atom[cell : cell + n * width].reshape(n, width)
        for j, column in enumerate(columns):
            table[:, j] = column
        signs = sign[cell : cell + n * width].reshape(n, width)
        signs[:, :k], signs[:, k:] = 1, -1
        start[row : row + n] = np.arange(cell, cell + n * width, width)
        offset[row : row + n] = 1 - k
        rule[pair : pair + m], count[pair : pair + m] = rules, counts
        rule_start[row : row + n] = owner
        rule_start[row : row + n] += pair
        row, cell, pair = row + n, cell + n * width, pair + m
    start[row], rule_start[row] = cell, pair
    return Constraints(
        start[: row + 1],
        atom[:cell],
        sign[:cell],
        offset[:row],
        rule_start[: row + 1],
        rule[:pair],
        count[:pair],
    )


def _merge_shape(
    chunks: list[tuple[int, Clauses]], width: int
) -> tuple[Clauses, Int32s, Int32s | int, Int64s]:
    """Return the ordered distinct clauses, their rules with counts, and where the rules of each clause start.

    The stable order keeps the rules of a clause ascending.
    """
    columns = [_joined([columns[j] for _, columns in chunks]) for j in range(width)]
    order = _order(columns)
    columns = [column[order] for column in columns]
    sizes = [len(columns[0]) for _, columns in chunks]
    rule_of = np.repeat(np.array([i for i, _ in chunks], dtype=np.int32), sizes)[order]
    first = _firsts(columns)
    if first.all():
        return columns, rule_of, 1, np.arange(len(order), dtype=np.int64)
    new_rule = first.copy()
    new_rule[1:] |= rule_of[1:] != rule_of[:-1]
    at = np.flatnonzero(new_rule)
    counts = np.diff(np.append(at, len(order))).astype(np.int32)
    return [column[first] for column in columns], rule_of[at], counts, np.flatnonzero(first[at])


def _joined(columns: Clauses) -> Int32s:
    return columns[0] if len(columns) == 1 else np.concatenate(columns)

"""Build Beliefs from the quads of any source.

Under a memory limit, the collected quads go to disk whenever they grow too large, as a run: sorted terms and
the rows over them. The runs are merged at the end.
"""

import io
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby, islice, pairwise, repeat
from typing import IO, Any, cast

import numpy as np
import pyoxigraph as ox

from rdf_kgeval.beliefs.blank_nodes import Quad, name_blank_nodes
from rdf_kgeval.beliefs.table import Beliefs, Role, Terms
from rdf_kgeval.beliefs.terms import parse_term
from rdf_kgeval.common.memory import RAM, Space
from rdf_kgeval.common.text import printable
from rdf_kgeval.common.types import Int32s, Int64s, UInt8s
from rdf_kgeval.errors import InputError

_ENTRY = 150
"""Bytes of a term in a dictionary, without its text."""
_BATCH = 10_000
"""Quads between two checks of the size."""
_WINDOW = 100_000
"""Terms of each run to merge at a time."""
_STEP = 1 << 20
"""Rows to process at a time."""
_ROLES = 4
_KEY_BITS = 63


@dataclass(frozen=True)
class _SortedRun:
    """A part of the quads, over its own sorted terms."""

    terms: Terms
    rows: Int32s
    graphs: Int32s
    roles: UInt8s


class BeliefsBuilder:
    """Collect quads, and build Beliefs from them."""

    def __init__(self, space: Space = RAM) -> None:
        self._space = space
        self._most = space.share(0.25)
        self._taken: Counter[str] = Counter()
        self._runs: list[_SortedRun] = []
        self._count = 0
        self._clear()

    def _clear(self) -> None:
        self._numbers = _Numbers()
        self._rows = array("i")
        self._graphs = array("i")
        self._roles = bytearray()

    def __len__(self) -> int:
        return self._count + len(self._roles)

    def add(self, quads: Iterable[Quad], role: Role) -> None:
        """Add quads whose blank nodes, if any, have stable names."""
        rest = iter(quads)
        while batch := list(islice(rest, _BATCH)):
            numbers = self._numbers
            for s, p, o, g in batch:
                self._rows.extend((numbers[s], numbers[p], numbers[o]))
                self._graphs.append(numbers[g] if g else -1)
            self._roles.extend(repeat(role, len(batch)))
            self._spill()

    def add_all(self, beliefs: Beliefs) -> None:
        """Add all rows of other beliefs, with their roles."""
        for role, rows in groupby(beliefs.quads(), lambda pair: Role(beliefs.role[pair[0]])):
            self.add((quad for _, quad in rows), role)

    def add_parsed(self, quads: Iterable[ox.Quad], role: Role, *, datasets: bool = True) -> None:
        """Add the quads of one file, and give its blank nodes stable names.

        Args:
            quads: as pyoxigraph's parser yields them.
            role: the role of these triples.
            datasets: whether there may be named graphs; without them it is faster.
        """
        blank: list[Quad] = []
        lines = _LineSink(lambda text: self._add_lines(text, role, datasets, blank))
        ox.serialize(quads, cast(IO[bytes], lines), format=ox.RdfFormat.N_QUADS)
        lines.hand_on()
        if blank:
            self.add(name_blank_nodes(blank, self._taken), role)

    def _add_lines(self, text: str, role: Role, datasets: bool, blank: list[Quad]) -> None:
        lines = text.split(" .\n")
        lines.pop()
        if datasets or "_:" in text:
            self.add(_set_blank_aside(map(_split_line, lines), blank), role)
        else:
            cells = chain.from_iterable([line.split(" ", 2) for line in lines])
            self._rows.extend(map(self._numbers.__getitem__, cells))
            self._graphs.extend(repeat(-1, len(lines)))
            self._roles.extend(repeat(role, len(lines)))
            self._spill()

    def _spill(self) -> None:
        if self._most is not None and self._size > self._most:
            self._runs.append(self._sorted_run())
            self._count += len(self._roles)
            self._clear()

    @property
    def _size(self) -> int:
        """Estimate the bytes of the collected quads."""
        return self._numbers.size + len(self._numbers) * _ENTRY + 17 * len(self._roles)

    def _sorted_run(self) -> _SortedRun:
        ordered = sorted(self._numbers)
        rank = np.empty(len(ordered) + 1, dtype=np.int32)
        rank[np.fromiter(map(self._numbers.__getitem__, ordered), np.int32, len(ordered))] = np.arange(
            len(ordered), dtype=np.int32
        )
        rank[-1] = -1
        keep = self._space.kept
        terms = Terms.of(ordered)
        return _SortedRun(
            Terms(keep(terms.block), keep(terms.offsets)),
            keep(rank[np.frombuffer(self._rows, dtype=np.int32)]),
            keep(rank[np.frombuffer(self._graphs, dtype=np.int32)]),
            keep(np.frombuffer(bytes(self._roles), dtype=np.uint8)),
        )

    def build(self) -> Beliefs:
        """Sort terms and rows and merge equal triples."""
        last = self._sorted_run()
        self._clear()
        whole = _merge_runs([*self._runs, last], self._space) if self._runs else last
        return _merge(whole, self._space)


class _Numbers(dict[str, int]):
    """Terms numbered in the order of their first lookup."""

    size = 0
    """Characters of all terms."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        self.size += len(term)
        return number


_CHUNK = 1 << 16


class _LineSink(io.RawIOBase):
    """A file that passes N-Quads lines on as text, a chunk of whole lines at a time."""

    def __init__(self, take: Callable[[str], None]) -> None:
        self._take = take
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        self._size += len(data)
        if self._size > _CHUNK:
            self.hand_on()
        return len(data)

    def hand_on(self) -> None:
        """Pass on the whole lines so far; at the end, the rest."""
        whole, newline, rest = b"".join(self._parts).rpartition(b"\n")
        self._take((whole + newline).decode())
        self._parts, self._size = [rest], len(rest)


def _split_line(line: str) -> Quad:
    """Split an N-Quads line that pyoxigraph wrote, without its final dot."""
    s, p, rest = line.split(" ", 2)
    o, _, last = rest.rpartition(" ")
    # A literal ends in a token with a quote, a triple term in ")>>"; any other last token is a graph.
    if o and '"' not in last and last[0] in "<_":
        return s, p, o, last
    return s, p, rest, ""


def _set_blank_aside(quads: Iterable[Quad], blank: list[Quad]) -> Iterator[Quad]:
    for quad in quads:
        s, _, o, g = quad
        if s[0] == "_" or o[0] == "_" or g[:1] == "_":
            blank.append(quad)
        elif o.startswith("<<") and _mentions_blank(parse_term(o)):
            raise InputError(f"the triple term {printable(o, 120)} holds a blank node; give that node an IRI")
        else:
            yield quad


def _mentions_blank(term: object) -> bool:
    if isinstance(term, ox.Triple):
        return any(_mentions_blank(part) for part in (term.subject, term.object))
    return isinstance(term, ox.BlankNode)


def _merge_runs(runs: list[_SortedRun], space: Space) -> _SortedRun:
    """Merge runs into one, over the terms of all."""
    ranks = [space.empty(len(run.terms) + 1, np.int32) for run in runs]
    block = space.empty(sum(len(run.terms.block) for run in runs), np.uint8)
    offsets = space.empty(sum(len(run.terms) for run in runs) + 1, np.int64)
    offsets[0] = 0
    base = end = 0
    for window in _windows(runs):
        parts = [run.terms[slice(*bounds)] for run, bounds in zip(runs, window, strict=True)]
        merged = sorted(set().union(*parts))
        number = dict(zip(merged, range(base, base + len(merged)), strict=True))
        for rank, part, (low, high) in zip(ranks, parts, window, strict=True):
            rank[low:high] = np.fromiter(map(number.__getitem__, part), np.int32, len(part))
        table = Terms.of(merged)
        block[end : end + len(table.block)] = table.block
        offsets[base + 1 : base + 1 + len(merged)] = table.offsets[1:] + end
        base, end = base + len(merged), end + len(table.block)
    total = sum(len(run.roles) for run in runs)
    rows, graphs, roles = (
        space.empty(3 * total, np.int32),
        space.empty(total, np.int32),
        space.empty(total, np.uint8),
    )
    at = 0
    for run, rank in zip(runs, ranks, strict=True):
        rank[-1] = -1
        n = len(run.roles)
        for low in range(0, n, _STEP):
            high = min(n, low + _STEP)
            rows[3 * (at + low) : 3 * (at + high)] = rank[run.rows[3 * low : 3 * high]]
            graphs[at + low : at + high] = rank[run.graphs[low:high]]
        roles[at : at + n] = run.roles
        at += n
    return _SortedRun(Terms(block[:end], offsets[: base + 1]), rows, graphs, roles)


def _windows(runs: list[_SortedRun]) -> Iterator[list[tuple[int, int]]]:
    """Divide the order of terms into windows; yield the bounds of each window in every run."""
    pivots = sorted({run.terms[i] for run in runs for i in range(_WINDOW, len(run.terms), _WINDOW)})
    cuts = [[run.terms.place(pivot) for run in runs] for pivot in pivots]
    for low, high in pairwise([[0] * len(runs), *cuts, [len(run.terms) for run in runs]]):
        yield list(zip(low, high, strict=True))


def _merge(run: _SortedRun, space: Space) -> Beliefs:
    named = bool(len(run.graphs) and run.graphs.max() >= 0)
    key = None if named else _packed(run, space)
    return _merge_columns(run) if key is None else _merge_keys(run.terms, *key, space)


def _merge_columns(run: _SortedRun) -> Beliefs:
    s, p, o = run.rows.reshape(-1, 3).T
    order = np.lexsort((run.graphs, o, p, s))
    s, p, o, graphs, roles = s[order], p[order], o[order], run.graphs[order], run.roles[order]
    new = np.ones(len(s), dtype=bool)
    new[1:] = (s[1:] != s[:-1]) | (p[1:] != p[:-1]) | (o[1:] != o[:-1])
    first = np.flatnonzero(new)
    row_of = np.cumsum(new, dtype=np.int32) - 1
    new_pair = new.copy()
    new_pair[1:] |= graphs[1:] != graphs[:-1]
    pair = np.flatnonzero(new_pair & (graphs >= 0))
    return Beliefs(
        run.terms,
        s[first],
        p[first],
        o[first],
        role=np.maximum.reduceat(roles, first) if len(first) else roles,
        graph_row=row_of[pair].astype(np.int32),
        graph_term=graphs[pair],
    )


def _packed(run: _SortedRun, space: Space) -> tuple[Int64s, Int32s] | None:
    """Pack each row into one number, sorted; None if a number cannot hold a row.

    Returns:
        The numbers, and the predicates, which they number anew.
    """
    n_terms = len(run.terms)
    rows = run.rows.reshape(-1, 3)
    used = np.zeros(n_terms, dtype=bool)
    used[rows[:, 1]] = True
    predicates = np.flatnonzero(used).astype(np.int32)
    if n_terms * n_terms * len(predicates) * _ROLES >= 1 << _KEY_BITS:
        return None
    number = np.cumsum(used, dtype=np.int32) - 1
    key = space.empty(len(rows), np.int64)
    for low in range(0, len(rows), _STEP):
        s, p, o = rows[low : low + _STEP].T
        spo = (s.astype(np.int64) * len(predicates) + number[p]) * n_terms + o
        key[low : low + _STEP] = spo * _ROLES + run.roles[low : low + _STEP]
    key.sort()
    return key, predicates


def _merge_keys(terms: Terms, key: Int64s, predicates: Int32s, space: Space) -> Beliefs:
    """Unpack the rows, each triple once: of equal triples the last has the largest role."""
    last = np.ones(len(key), dtype=bool)
    for low in range(0, len(key) - 1, _STEP):
        triple = key[low : low + _STEP + 1] // _ROLES
        last[low : low + len(triple) - 1] = triple[:-1] != triple[1:]
    n = int(last.sum())
    s, p, o = (space.empty(n, np.int32) for _ in range(3))
    role = space.empty(n, np.uint8)
    at = 0
    for low in range(0, len(key), _STEP):
        chosen = key[low : low + _STEP][last[low : low + _STEP]]
        part = slice(at, at + len(chosen))
        spo, role[part] = np.divmod(chosen, _ROLES)
        sp, o[part] = np.divmod(spo, len(terms))
        s[part], number = np.divmod(sp, len(predicates))
        p[part] = predicates[number]
        at += len(chosen)
    empty = np.zeros(0, dtype=np.int32)
    return Beliefs(terms, s, p, o, role, graph_row=empty, graph_term=empty)

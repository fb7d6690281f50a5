"""Beliefs: the triples of a graph in columns of integers over one table of terms.

Terms and rows are sorted, so that the same triples give the same bytes whatever their order was.
"""

import hashlib
import io
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from itertools import chain, repeat
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from rdf_kgeval.arrays import check_length, check_range, check_starts, damaged, map_arrays, save_arrays
from rdf_kgeval.blanknodes import Quad, name_blank_nodes
from rdf_kgeval.errors import InputError
from rdf_kgeval.namespaces import RDF_TYPE
from rdf_kgeval.terms import iri, parse_term
from rdf_kgeval.termtable import Terms
from rdf_kgeval.text import printable

Ints = NDArray[np.int32]
Triple = tuple[str, str, str]


class Role(IntEnum):
    """What a row is for; when a triple comes with several roles, the largest counts."""

    BACKGROUND = 0
    """In the source but not to be evaluated: a free atom, never asked, counted or published."""
    BELIEF = 1
    """To be evaluated."""
    UNKNOWN = 2
    """`--context-unknown`: like BACKGROUND, by the user's word."""
    GIVEN = 3
    """`--context`: taken as true."""


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Distinct triples with their roles and named graphs; `row` numbers them in sorted order."""

    terms: Terms
    s: Ints
    p: Ints
    o: Ints
    role: NDArray[np.uint8]
    graph_row: Ints
    """With `graph_term`: which rows stand in which named graphs, sorted."""
    graph_term: Ints

    def __post_init__(self) -> None:
        for column in (self.s, self.p, self.o, self.role, self.graph_row, self.graph_term):
            column.flags.writeable = False

    def __len__(self) -> int:
        return len(self.s)

    @cached_property
    def rows(self) -> Ints:
        """The rows to be evaluated."""
        return np.flatnonzero(self.role == Role.BELIEF).astype(np.int32)

    @property
    def n_beliefs(self) -> int:
        """How many rows are to be evaluated."""
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        """Bytes that the table and its columns take."""
        columns = (self.s, self.p, self.o, self.role, self.graph_row, self.graph_term)
        return sum(c.nbytes for c in (self.terms.block, self.terms.offsets, *columns))

    def triple(self, row: int) -> Triple:
        """Subject, predicate and object of a row as N-Triples terms."""
        return self.terms[self.s[row]], self.terms[self.p[row]], self.terms[self.o[row]]

    def line(self, row: int) -> str:
        """The row as a canonical N-Triples line, without the line feed."""
        return "{} {} {} .".format(*self.triple(row))

    def id(self, row: int) -> str:
        """The row's lasting name: the SHA-256 of its line, in hexadecimal."""
        return hashlib.sha256(self.line(row).encode()).hexdigest()

    def row(self, id_: str) -> int:
        """The row with an id, or with an id that starts so.

        Raises:
            InputError: no row has such an id, or several have.
        """
        if not re.fullmatch("[0-9a-f]{1,64}", id_):
            raise InputError(f"{printable(id_, 80)!r} is not a belief's id, which is a hexadecimal number")
        prefixes, rows = self._ids
        low = np.searchsorted(prefixes, np.uint64(int(id_[:16].ljust(16, "0"), 16)))
        high = np.searchsorted(prefixes, np.uint64(int(id_[:16].ljust(16, "f"), 16)), "right")
        found = [int(row) for row in rows[low:high] if self.id(int(row)).startswith(id_)]
        if len(found) != 1:
            many = "several beliefs have" if found else "no belief has"
            raise InputError(f"{many} an id that starts with {id_}; kgeval show RUN lists some")
        return found[0]

    @cached_property
    def _ids(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """The first 64 bits of every row's id, sorted, and the rows in that order."""
        digests = (hashlib.sha256(self.line(row).encode()).digest()[:8] for row in range(len(self)))
        prefixes = np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)
        order = np.argsort(prefixes, kind="stable")
        return prefixes[order], order

    @cached_property
    def id_rank(self) -> Ints:
        """The place of each row in the order of their ids."""
        rank = np.empty(len(self), np.int32)
        rank[self._ids[1]] = np.arange(len(self), dtype=np.int32)
        return rank

    def find(self, s: str, p: str, o: str) -> int | None:
        """The row of a triple of N-Triples terms, or None."""
        wanted = tuple(self.terms.find(term) for term in (s, p, o))
        low, high = 0, len(self)
        for column, term in zip((self.s, self.p, self.o), wanted, strict=True):
            if term is None:
                return None
            part = column[low:high]
            low, high = (
                low + int(np.searchsorted(part, term)),
                low + int(np.searchsorted(part, term, "right")),
            )
        return low if low < high else None

    def is_blank(self) -> NDArray[np.bool_]:
        """Which terms are blank nodes."""
        blank = np.zeros(len(self.terms), dtype=bool)
        blank[self.terms.starting("_:")] = True
        return blank

    def by_predicate(self, role: Role = Role.BELIEF) -> dict[str, int]:
        """How many rows of a role each predicate has, by IRI, most first."""
        return self._count(self.p[self.role == role])

    def by_class(self) -> dict[str, int]:
        """How many instances the graph asserts for each class, by IRI, most first."""
        rdf_type = self.terms.find(f"<{RDF_TYPE}>")
        return self._count(self.o[self.p == rdf_type]) if rdf_type is not None else {}

    def instances(self) -> dict[int, Ints]:
        """The instances that the graph asserts for each class, as terms."""
        rdf_type = self.terms.find(f"<{RDF_TYPE}>")
        typed = self.p == (-1 if rdf_type is None else rdf_type)
        return {int(c): self.s[typed & (self.o == c)] for c in np.unique(self.o[typed])}

    def _count(self, terms: Ints) -> dict[str, int]:
        numbers, counts = np.unique(terms, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return {iri(self.terms[numbers[i]]): int(counts[i]) for i in order}

    def with_roles(self, role: NDArray[np.uint8]) -> "Beliefs":
        """The same triples with other roles."""
        return Beliefs(self.terms, self.s, self.p, self.o, role, self.graph_row, self.graph_term)

    def quads(self) -> Iterator[tuple[int, Quad]]:
        """Every row once for each of its graphs, or once in the default graph."""
        first = np.searchsorted(self.graph_row, np.arange(len(self) + 1))
        for row in range(len(self)):
            s, p, o = self.triple(row)
            graphs = [self.terms[g] for g in self.graph_term[first[row] : first[row + 1]]]
            for graph in graphs or [""]:
                yield row, (s, p, o, graph)

    def save(self, folder: Path) -> None:
        """Write the table and its columns as .npy files that can be mapped into memory."""
        table = ("block", "offsets")
        save_arrays(folder, {name: getattr(self.terms if name in table else self, name) for name in _KINDS})

    @classmethod
    def load(cls, folder: Path) -> "Beliefs":
        """Map saved beliefs into memory.

        Raises:
            RunError: they are missing or damaged.
        """
        column = map_arrays(folder, _KINDS)
        path = {name: folder / f"{name}.npy" for name in column}
        terms = Terms(column.pop("block"), column.pop("offsets"))
        check_starts(path["offsets"], terms.offsets, max(len(terms.offsets) - 1, 0), len(terms.block))
        rows = len(column["s"])
        for name, length, top in (
            ("s", rows, len(terms)),
            ("p", rows, len(terms)),
            ("o", rows, len(terms)),
            ("role", rows, len(Role)),
            ("graph_row", len(column["graph_term"]), rows),
            ("graph_term", len(column["graph_row"]), len(terms)),
        ):
            check_length(path[name], column[name], length)
            check_range(path[name], column[name], top)
        if not terms.is_text():
            raise damaged(path["block"], "it is not a table of terms")
        return cls(terms, **column)


_KINDS: dict[str, type] = {
    "block": np.uint8, "offsets": np.int64, "s": np.int32, "p": np.int32, "o": np.int32, "role": np.uint8,
    "graph_row": np.int32, "graph_term": np.int32,
}  # fmt: skip


class BeliefsBuilder:
    """Collects quads and makes Beliefs of them."""

    def __init__(self) -> None:
        self._numbers = _Numbers()
        self._rows = array("i")
        self._graphs = array("i")
        self._roles = bytearray()
        self._taken: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._roles)

    def add(self, quads: Iterable[Quad], role: Role) -> None:
        """Take quads whose blank nodes, if any, have lasting names."""
        numbers = self._numbers
        for s, p, o, g in quads:
            self._rows.extend((numbers[s], numbers[p], numbers[o]))
            self._graphs.append(numbers[g] if g else -1)
            self._roles.append(role)

    def add_parsed(self, quads: Iterable[ox.Quad], role: Role, *, datasets: bool = True) -> None:
        """Take the quads of one file and give its blank nodes lasting names.

        Args:
            quads: what pyoxigraph's parser yields, or anything like it.
            role: the role of these triples.
            datasets: whether there may be named graphs; without them it is faster.
        """
        blank: list[Quad] = []
        lines = _LineSink(lambda text: self._add_lines(text, role, datasets, blank))
        ox.serialize(quads, cast(IO[bytes], lines), format=ox.RdfFormat.N_QUADS)
        lines.close()
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

    def build(self) -> Beliefs:
        """Sort terms and rows and merge equal triples."""
        ordered = sorted(self._numbers)
        rank = np.empty(len(ordered) + 1, dtype=np.int32)
        rank[np.fromiter(map(self._numbers.__getitem__, ordered), np.int32, len(ordered))] = np.arange(
            len(ordered), dtype=np.int32
        )
        rank[-1] = -1
        rows = rank[np.frombuffer(self._rows, dtype=np.int32).reshape(-1, 3)]
        graphs = rank[np.frombuffer(self._graphs, dtype=np.int32)]
        roles = np.frombuffer(bytes(self._roles), dtype=np.uint8)
        return _merge(Terms.of(ordered), rows, graphs, roles)


class _Numbers(dict[str, int]):
    """Terms numbered in the order of their first lookup."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


_CHUNK = 1 << 16


class _LineSink(io.RawIOBase):
    """Takes the bytes of N-Quads lines and hands them on as text of whole lines, a chunk at a time."""

    def __init__(self, take: Callable[[str], None]) -> None:
        self._take = take
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        self._size += len(data)
        if self._size > _CHUNK:
            self._hand_on()
        return len(data)

    def _hand_on(self) -> None:
        whole, newline, rest = b"".join(self._parts).rpartition(b"\n")
        self._take((whole + newline).decode())
        self._parts, self._size = [rest], len(rest)

    def close(self) -> None:
        if not self.closed:
            self._hand_on()
        super().close()


def _split_line(line: str) -> Quad:
    """Split an N-Quads line that pyoxigraph wrote, without its final dot."""
    s, p, rest = line.split(" ", 2)
    o, _, last = rest.rpartition(" ")
    # A literal ends in a token with a quote, a triple term in ")>>"; what else follows a space is a graph.
    if o and '"' not in last and last[0] in "<_":
        return s, p, o, last
    return s, p, rest, ""


def _merge(terms: Terms, rows: Ints, graphs: Ints, roles: NDArray[np.uint8]) -> Beliefs:
    s, p, o = rows.T
    named = bool((graphs >= 0).any())
    order = np.lexsort((graphs, o, p, s)) if named else _order(s, p, o, len(terms))
    s, p, o, graphs, roles = s[order], p[order], o[order], graphs[order], roles[order]
    new = np.ones(len(s), dtype=bool)
    new[1:] = (s[1:] != s[:-1]) | (p[1:] != p[:-1]) | (o[1:] != o[:-1])
    first = np.flatnonzero(new)
    row_of = np.cumsum(new, dtype=np.int32) - 1
    new_pair = new.copy()
    new_pair[1:] |= graphs[1:] != graphs[:-1]
    pair = np.flatnonzero(new_pair & (graphs >= 0))
    return Beliefs(
        terms,
        s[first],
        p[first],
        o[first],
        role=np.maximum.reduceat(roles, first) if len(first) else roles,
        graph_row=row_of[pair].astype(np.int32),
        graph_term=graphs[pair],
    )


def _order(s: Ints, p: Ints, o: Ints, n_terms: int, key_bits: int = 63) -> NDArray[np.int64]:
    """The order of the rows by subject, predicate, object: by one packed key where `key_bits` hold it."""
    used = np.zeros(n_terms, dtype=np.int64)
    used[p] = 1
    n_predicates = int(used.sum())
    if n_terms * n_terms * n_predicates >= 1 << key_bits:
        return np.lexsort((o, p, s))
    predicate = np.cumsum(used) - 1
    return np.argsort((s.astype(np.int64) * n_predicates + predicate[p]) * n_terms + o, kind="stable")


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

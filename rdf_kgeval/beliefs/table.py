"""Beliefs: the triples of a graph in columns of integers over one table of terms.

Terms and rows are sorted, so that the same triples give the same bytes whatever their order was.
"""

import hashlib
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union, overload

import numpy as np

from rdf_kgeval.beliefs.accounts import Accounts
from rdf_kgeval.beliefs.blank_nodes import Quad
from rdf_kgeval.beliefs.prefixes import Prefixes, user_term
from rdf_kgeval.beliefs.sampling_frame import SamplingFrame
from rdf_kgeval.beliefs.terms import iri
from rdf_kgeval.common.arrays import check_length, check_range, check_starts, damaged, map_arrays, save_arrays
from rdf_kgeval.common.text import printable
from rdf_kgeval.common.types import Bools, Float64s, Int32s, Int64s, UInt8s, UInt64s
from rdf_kgeval.errors import InputError
from rdf_kgeval.namespaces import RDF_TYPE

if TYPE_CHECKING:
    import rdflib

Term = Union[str, "rdflib.term.Node"]
"""A term as Python users write it: an IRI, a CURIE, a term in N-Triples, or one of rdflib's."""
Triple = tuple[str, str, str]


class Terms(Sequence[str]):
    """A sorted, read-only table of N-Triples terms: one block of UTF-8 and the offsets into it."""

    def __init__(self, block: UInt8s, offsets: Int64s) -> None:
        self.block = block
        self.offsets = offsets
        self.text = block.data
        """The block as bytes; slicing it copies nothing."""

    @classmethod
    def of(cls, terms: Iterable[str]) -> "Terms":
        """Build the table from sorted terms."""
        block = bytearray()
        offsets = array("q", [0])
        for term in terms:
            block += term.encode()
            offsets.append(len(block))
        return cls(np.frombuffer(bytes(block), dtype=np.uint8), np.frombuffer(offsets, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> list[str]: ...
    def __getitem__(self, i: int | slice) -> str | list[str]:
        if isinstance(i, slice):
            low, high, step = i.indices(len(self))
            if step != 1:
                return [self[j] for j in range(low, high, step)]
            ends = self.offsets[low : max(low, high) + 1].tolist()
            return [str(self.text[a:b], "utf-8") for a, b in pairwise(ends)]
        if not 0 <= i < len(self):
            raise IndexError(i)
        return str(self.text[self.offsets.item(i) : self.offsets.item(i + 1)], "utf-8")

    def place(self, term: str) -> int:
        """Return the number of terms that come before this one."""
        return bisect_left(self, term)

    def find(self, term: str) -> int | None:
        """Return the number of a term; None where it is not in the table."""
        i = self.place(term)
        return i if i < len(self) and self[i] == term else None

    def starting(self, prefix: str) -> slice:
        """Return the slice of terms that start with `prefix`."""
        return slice(self.place(prefix), self.place(prefix + "\U0010ffff"))

    def is_text(self) -> bool:
        """Return whether every entry is UTF-8 and starts as an IRI, a blank node or a literal does."""
        starts = self.offsets[:-1]
        if (np.diff(self.offsets) < 2).any() or not np.isin(self.block[starts], list(b'<_"')).all():
            return False
        try:
            for at in range(0, len(self), _STEP):
                end = self.offsets[min(at + _STEP, len(self))]
                self.block[self.offsets[at] : end].tobytes().decode()
        except UnicodeDecodeError:
            return False
        return True


class Role(IntEnum):
    """The use of a row; of several roles of a triple, the largest counts."""

    BACKGROUND = 0
    """In the source but not evaluated: a free atom, never asked, counted or published."""
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
    s: Int32s
    p: Int32s
    o: Int32s
    role: UInt8s
    graph_row: Int32s
    """With `graph_term`, pairs of a row and a named graph that it is in, sorted."""
    graph_term: Int32s
    frame: SamplingFrame | None = None
    """The population, where these beliefs are only a sample of it."""
    accounts: Accounts | None = None
    """What became of every triple read, where the roles are those that a source was read with."""
    prefixes: Prefixes = field(default_factory=Prefixes)
    """How people write and read the IRIs."""

    def __post_init__(self) -> None:
        for column in (self.s, self.p, self.o, self.role, self.graph_row, self.graph_term):
            column.flags.writeable = False

    def __len__(self) -> int:
        return len(self.s)

    @cached_property
    def rows(self) -> Int32s:
        """The rows to be evaluated."""
        return np.flatnonzero(self.role == Role.BELIEF).astype(np.int32)

    @property
    def n_beliefs(self) -> int:
        """The number of rows to be evaluated."""
        return len(self.rows)

    @property
    def n_population(self) -> int:
        """The number of beliefs in the population."""
        return self.frame.total if self.frame else self.n_beliefs

    def population(self) -> dict[str, int]:
        """Count the beliefs of the population by predicate IRI, most first."""
        if self.frame is None:
            return self.by_predicate()
        sizes = sorted(self.frame.sizes.items(), key=lambda item: (-item[1], item[0]))
        return {iri(predicate): size for predicate, size in sizes}

    @cached_property
    def weights(self) -> Float64s:
        """By row to be evaluated, the number of beliefs of the population that it represents."""
        weights = np.ones(len(self.rows))
        if self.frame:
            place = self.frame.place[self.rows]
            for predicate, size in self.frame.sizes.items():
                number = self.terms.find(predicate)
                own = self.p[self.rows] == (-1 if number is None else number)
                drawn = own & (place < self.frame.reach[predicate])
                weights[own] = 0.0
                weights[drawn] = size / max(int(drawn.sum()), 1)
        return weights

    def identity(self) -> Iterator[memoryview]:
        """Yield the bytes that identify what is evaluated."""
        if self.frame:
            yield memoryview(self.frame.fingerprint())
            return
        for column in (self.terms.block, self.s, self.p, self.o, self.role):
            yield column.data

    @property
    def nbytes(self) -> int:
        """The size of the terms and columns, in bytes."""
        columns = (self.s, self.p, self.o, self.role, self.graph_row, self.graph_term)
        return sum(c.nbytes for c in (self.terms.block, self.terms.offsets, *columns))

    def triple(self, row: int) -> Triple:
        """Return subject, predicate and object of a row as N-Triples terms."""
        return self.terms[self.s[row]], self.terms[self.p[row]], self.terms[self.o[row]]

    def line(self, row: int) -> str:
        """Write a row as a canonical N-Triples line, without the line feed."""
        return "{} {} {} .".format(*self.triple(row))

    def graphs(self, row: int) -> list[int]:
        """Return the named graphs that a row is in, as terms."""
        low, high = (int(np.searchsorted(self.graph_row, row, side)) for side in ("left", "right"))
        graphs: list[int] = self.graph_term[low:high].tolist()
        return graphs

    def id(self, row: int) -> str:
        """Return a row's permanent id: the SHA-256 of its line, in hexadecimal."""
        return hashlib.sha256(self.line(row).encode()).hexdigest()

    def row(self, id_: str) -> int:
        """Find the row with an id, or with an id that starts with this one.

        Raises:
            InputError: no row has such an id, or several have.
        """
        if not re.fullmatch("[0-9a-f]{1,64}", id_):
            raise InputError(f"{printable(id_, 80)!r} is not a belief's id, which is a hexadecimal number")
        prefixes, rows = self.ids
        low = np.searchsorted(prefixes, np.uint64(int(id_[:16].ljust(16, "0"), 16)))
        high = np.searchsorted(prefixes, np.uint64(int(id_[:16].ljust(16, "f"), 16)), "right")
        found = [int(row) for row in rows[low:high] if self.id(int(row)).startswith(id_)]
        if len(found) != 1:
            many = "several beliefs have" if found else "no belief has"
            raise InputError(f"{many} an id that starts with {id_}; kgeval show RUN lists some")
        return found[0]

    @cached_property
    def ids(self) -> tuple[UInt64s, Int32s]:
        """The first 64 bits of every row's id, sorted, and the rows in that order."""
        text, offsets = self.terms.text, self.terms.offsets
        prefixes = np.empty(len(self), dtype=np.uint64)
        for low in range(0, len(self), _STEP):
            part = slice(low, low + _STEP)
            ends = [
                end.tolist()
                for c in (self.s, self.p, self.o)
                for end in (offsets[c[part]], offsets[c[part] + 1])
            ]
            digests = [
                hashlib.sha256(b" ".join((text[a:b], text[c:d], text[e:f], b"."))).digest()[:8]
                for a, b, c, d, e, f in zip(*ends, strict=True)
            ]
            prefixes[part] = np.frombuffer(b"".join(digests), dtype=">u8")
        order = np.argsort(prefixes, kind="stable").astype(np.int32)
        return prefixes[order], order

    @cached_property
    def id_rank(self) -> Int32s:
        """The rank of each row in the order of ids."""
        rank = np.empty(len(self), np.int32)
        rank[self.ids[1]] = np.arange(len(self), dtype=np.int32)
        return rank

    def find(self, s: Term, p: Term, o: Term) -> int | None:
        """Find the row of a triple; None where there is none.

        Args:
            s: the subject: an IRI or a CURIE, a term in N-Triples, or one of rdflib's.
            p: the predicate, likewise.
            o: the object, likewise; a text is written as rdflib.Literal("Rome") or as '"Rome"'.

        Raises:
            InputError: a term is none of these, so that no triple could have it.
        """
        wanted = tuple(map(self._number, (s, p, o)))
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

    def _number(self, term: Term) -> int | None:
        """Return the number of a term that a user names; None where no triple has it."""
        number = self.terms.find(term) if type(term) is str else None
        if number is not None:
            return number
        text = user_term(term)
        if text.startswith(("<", '"', "_:")):
            return self.terms.find(text)
        number = self.terms.find(f"<{text}>")  # an IRI such as x:p
        return self.terms.find(f"<{self.prefixes.expand(text)}>") if number is None else number

    def is_blank(self) -> Bools:
        """Mark the terms that are blank nodes."""
        blank = np.zeros(len(self.terms), dtype=bool)
        blank[self.terms.starting("_:")] = True
        return blank

    def by_predicate(self, role: Role = Role.BELIEF) -> dict[str, int]:
        """Count the rows of a role by predicate IRI, most first."""
        return self._count(self.p[self.role == role])

    def by_class(self) -> dict[str, int]:
        """Count the instances that the graph asserts by class IRI, most first."""
        rdf_type = self.terms.find(f"<{RDF_TYPE}>")
        return self._count(self.o[self.p == rdf_type]) if rdf_type is not None else {}

    def instances(self) -> dict[int, Int32s]:
        """Map each class to the instances that the graph asserts, as terms."""
        rdf_type = self.terms.find(f"<{RDF_TYPE}>")
        typed = self.p == (-1 if rdf_type is None else rdf_type)
        return {int(c): self.s[typed & (self.o == c)] for c in np.unique(self.o[typed])}

    def _count(self, terms: Int32s) -> dict[str, int]:
        numbers, counts = np.unique(terms, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return {iri(self.terms[numbers[i]]): int(counts[i]) for i in order}

    def with_roles(self, role: UInt8s) -> "Beliefs":
        """Return the same triples with other roles."""
        return replace(self, role=role, accounts=None)

    def with_frame(self, frame: SamplingFrame) -> "Beliefs":
        """Return the same triples as a sample of a population."""
        return replace(self, frame=frame)

    def with_prefixes(self, prefixes: Prefixes) -> "Beliefs":
        """Return the same triples, with IRIs that people write and read by these prefixes."""
        return replace(self, prefixes=prefixes)

    def quads(self) -> Iterator[tuple[int, Quad]]:
        """Yield every row once for each of its graphs, or once in the default graph."""
        first = np.searchsorted(self.graph_row, np.arange(len(self) + 1))
        for row in range(len(self)):
            s, p, o = self.triple(row)
            graphs = [self.terms[g] for g in self.graph_term[first[row] : first[row + 1]]]
            for graph in graphs or [""]:
                yield row, (s, p, o, graph)

    def save(self, folder: Path) -> None:
        """Write the table and its columns as .npy files that can be mapped into memory."""
        own = ("s", "p", "o", "role", "graph_row", "graph_term")
        save_arrays(
            folder,
            {
                "block": self.terms.block,
                "offsets": self.terms.offsets,
                **{name: getattr(self, name) for name in own},
                "id": self.ids[0],
                "id_row": self.ids[1],
            },
        )
        if self.frame:
            self.frame.save(folder)

    @classmethod
    def load(cls, folder: Path, prefixes: Prefixes = Prefixes()) -> "Beliefs":  # noqa: B008, it is frozen
        """Map saved beliefs into memory; their prefixes are kept elsewhere.

        Raises:
            RunError: they are missing or damaged.
        """
        column: dict[str, Any] = map_arrays(folder, _KINDS)
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
            ("id", rows, 1 << 64),
            ("id_row", rows, rows),
        ):
            check_length(path[name], column[name], length)
            check_range(path[name], column[name], top)
        if not terms.is_text():
            raise damaged(path["block"], "it is not a table of terms")
        ids = column.pop("id"), column.pop("id_row")
        try:
            frame = SamplingFrame.load(folder)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise damaged(folder / "frame.json", str(error)) from error
        beliefs = cls(terms, **column, frame=frame, prefixes=prefixes)
        beliefs.__dict__["ids"] = ids  # saves the cached property a minute in a large graph
        return beliefs


_KINDS: dict[str, type] = {
    "block": np.uint8, "offsets": np.int64, "s": np.int32, "p": np.int32, "o": np.int32, "role": np.uint8,
    "graph_row": np.int32, "graph_term": np.int32, "id": np.uint64, "id_row": np.int32,
}  # fmt: skip
_STEP = 1 << 16
"""Rows or terms to process at a time."""

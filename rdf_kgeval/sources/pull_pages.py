"""Pages of triples on disk, each written whole or not at all, and the tally of their rows.

A page is N-Triples. A row that is not valid RDF is a comment in it, so that it counts as a row.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rdf_kgeval.beliefs.table import Triple
from rdf_kgeval.common.disk import replacing
from rdf_kgeval.sources.endpoint.quirks import is_localised, is_renumbered_row, may_rewrite


@dataclass(frozen=True)
class Page:
    """The triples of one response, and the rows of it that are not valid RDF, as JSON."""

    triples: Sequence[Triple]
    skipped: Sequence[str]

    def __len__(self) -> int:
        return len(self.triples) + len(self.skipped)


def write_page(path: Path, page: Page) -> None:
    """Write a page whole or not at all."""
    with replacing(path) as new, new.open("w", encoding="utf-8") as file:
        file.writelines(f"# {row}\n" for row in page.skipped)
        file.writelines(f"{s} {p} {o} .\n" for s, p, o in page.triples)


def read_page(path: Path) -> Page:
    """Read a page back."""
    triples, skipped = [], []
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            if line.startswith("#"):
                skipped.append(line[2:-1])
            else:
                s, p, o = line.split(" ", 2)
                triples.append((s, p, o[:-3]))
    return Page(triples, skipped)


@dataclass
class Tally:
    """Counts of the rows of some pages."""

    pages: int = 0
    rows: int = 0
    rewritten: int = 0
    """Number of literals that a store may have rewritten."""
    renumbered: bool = False
    """Whether blank nodes are numbered anew in each response."""
    skipped: set[int] = field(default_factory=set)
    """Hashes of rows that are not valid RDF."""
    _named: "array[int]" = field(default_factory=lambda: array("q"))
    _blank: "array[int]" = field(default_factory=lambda: array("q"))

    def add(self, page: Page) -> None:
        """Count a page."""
        self.pages += 1
        self.rows += len(page)
        for triple in page.triples:
            s, _, o = triple
            if s.startswith("_:") or o.startswith(("_:", "<<")):
                self.renumbered = self.renumbered or is_localised(f"{s} {o}")
            (self._blank if s.startswith("_:") or o.startswith("_:") else self._named).append(hash(triple))
            self.rewritten += may_rewrite(o)
        for row in page.skipped:
            self.renumbered = self.renumbered or is_renumbered_row(row)
            (self._blank if '"type": "bnode"' in row else self._named).append(hash(row))
            self.skipped.add(hash(row))

    @property
    def named(self) -> int:
        """The number of distinct rows without a blank node."""
        return len(np.unique(np.array(self._named)))

    @property
    def distinct(self) -> int:
        """The number of distinct rows, as far as they can be distinguished."""
        return self.named + len(np.unique(np.array(self._blank)))

    @property
    def is_ambiguous(self) -> bool:
        """Whether a row that came twice may count as two."""
        return self.renumbered and self.pages > 1

    def has_named_rows_of(self, other: "Tally") -> bool:
        """Return whether all rows without a blank node in another tally are in this one."""
        return bool(np.isin(np.array(other._named), np.array(self._named)).all())

"""Pulling triples from an endpoint: page by page, verified by COUNT, resumable.

Servers cut results short in many ways, some without a sign. So the triples are counted first, fetched in
units (a large predicate, or several small ones), and each unit's distinct triples are compared with its
count. That makes the cheap way safe: pages by OFFSET without ORDER BY are complete whenever the numbers
agree; where they do not, the unit is fetched again in order. Each page is a file that is written whole or
not at all, and a pull that was stopped goes on after the last of them.
"""

import json
import os
import re
import shutil
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from rdf_kgeval.beliefs import Role, Triple
from rdf_kgeval.blanknodes import Quad
from rdf_kgeval.endpoint import Answer, Endpoint, Row
from rdf_kgeval.errors import EndpointError, IncompleteError, InputError
from rdf_kgeval.namespaces import XSD
from rdf_kgeval.plan import PAGE, Unit, count, make_plan
from rdf_kgeval.scope import Scope
from rdf_kgeval.text import plural, printable

_SMALLEST_PAGE = 100
# Stores that renumber blank nodes in each response, such as Jena, use labels of this form.
_RENUMBERED = re.compile(r"_:b\d+$")
# Virtuoso and Oxigraph keep the values of these literals, but not how they were written.
_REWRITTEN_TYPES = (
    "integer decimal double float boolean dateTime date time int long short byte nonNegativeInteger "
    "positiveInteger nonPositiveInteger negativeInteger unsignedInt unsignedLong unsignedShort unsignedByte "
    "gYear gYearMonth hexBinary base64Binary"
)
_REWRITTEN = tuple(f"^^<{XSD}{name}>" for name in _REWRITTEN_TYPES.split())

Progress = Callable[[int, int], None]
"""Called with triples pulled so far and triples in all."""


@dataclass(kw_only=True)
class Pulled:
    """What a pull brought: pages of triples on disk, and what the user should know about them."""

    pages: list[tuple[Path, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def quads(self, graph: str) -> Iterator[tuple[Role, Iterator[Quad]]]:
        """The triples page by page, each with its role."""
        for path, role in self.pages:
            yield Role(role), ((s, p, o, graph) for s, p, o in _read_page(path)[0])


def pull(
    endpoint: Endpoint, scope: Scope, folder: Path, decorations: Sequence[str], progress: Progress
) -> Pulled:
    """Fetch all triples of a scope into pages below `folder`, going on where an earlier pull stopped.

    Args:
        endpoint: where to ask.
        scope: which triples are beliefs.
        folder: keeps the pages; made if absent.
        decorations: label properties; with a scope, the labels and types of its entities are fetched too.
        progress: told how far the pull is.
    """
    units = make_plan(endpoint, scope, decorations)
    _open_folder(folder, endpoint, units)
    pulled = Pulled()
    total = sum(unit.rows for unit in units)
    done = skipped = rewritten = 0
    renumbered = False
    for number, unit in enumerate(units):
        fetch = _Fetch(endpoint, unit, folder, f"{number:05d}")
        fetch.run(lambda rows, done=done: progress(done + rows, total))  # type: ignore[misc]
        done += unit.rows
        skipped += fetch.skipped
        rewritten += fetch.rewritten
        renumbered |= fetch.renumbered
        pulled.pages += [(page, unit.role) for page in fetch.pages()]
    if units != make_plan(endpoint, scope, decorations):
        shutil.rmtree(folder)
        raise EndpointError(f"{endpoint.name} changed while it was being read; run the command again")
    pulled.notes = _notes(endpoint, scope, skipped, rewritten, renumbered)
    return pulled


def _notes(endpoint: Endpoint, scope: Scope, skipped: int, rewritten: int, renumbered: bool) -> list[str]:
    notes = []
    if skipped:
        notes.append(f"left out {plural(skipped, 'triple')} with an IRI or a term that is not valid RDF")
    if renumbered:
        notes.append("this store renumbers blank nodes in every answer: one node may appear as several")
    store = next((name for name in ("Virtuoso", "Oxigraph") if name.lower() in endpoint.server.lower()), None)
    if store and rewritten:
        notes.append(
            f"{plural(rewritten, 'literal')} may be spelt otherwise than when loaded: {store} keeps the "
            "values of numbers, dates and booleans, not their spelling, so the ids of these beliefs may "
            "differ from those of the original file"
        )
    if store == "Virtuoso" and scope.graph is None and scope.query is None:
        notes.append(
            "Virtuoso answers from all of its graphs, its own system graphs included; name yours with --graph"
        )
    return notes


def _open_folder(folder: Path, endpoint: Endpoint, units: list[Unit]) -> None:
    """Keep the pages of an earlier pull of the same triples, and no others."""
    plan = json.dumps({"endpoint": endpoint.name, "units": [asdict(unit) for unit in units]}, indent=1)
    saved = folder / "plan.json"
    if saved.exists() and saved.read_text(encoding="utf-8") == plan:
        return
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    saved.write_text(plan, encoding="utf-8")


class _Fetch:
    """Fetches one unit, first by plain pages, then, where the count disagrees, by ordered ones."""

    def __init__(self, endpoint: Endpoint, unit: Unit, folder: Path, stem: str) -> None:
        self._endpoint = endpoint
        self._unit = unit
        self._folder = folder
        self._stem = stem
        self.skipped = 0
        self.rewritten = 0
        self.renumbered = False

    def run(self, progress: Callable[[int], None]) -> None:
        expected = self._unit.rows
        fetched = self._fetch(expected, progress, ordered=False)
        if fetched == expected:
            return
        expected = count(self._endpoint, self._unit.count_distinct())
        if fetched == expected:
            return
        for page in self.pages():
            page.unlink()
        fetched = self._fetch(expected, progress, ordered=True)
        if fetched != expected:
            raise EndpointError(
                f"{self._endpoint.name} gave {fetched:,} of the {plural(expected, 'triple')} that it counts "
                f"for {self._unit.name}; nothing was saved, because an estimate from a part would be wrong"
            )

    def pages(self) -> list[Path]:
        return sorted(self._folder.glob(f"{self._stem}-*.nt"))

    def _fetch(self, expected: int, progress: Callable[[int], None], *, ordered: bool) -> int:
        """Fetch what is missing; return how many distinct triples there are, invalid ones included."""
        seen = array("q")
        self.skipped = self.rewritten = 0

        def take(triples: list[Triple], skipped: int) -> int:
            seen.extend(map(hash, triples))
            self.skipped += skipped
            self.rewritten += sum(o.endswith(_REWRITTEN) for _, _, o in triples)
            return len(triples) + skipped

        offset = sum(take(*_read_page(page)) for page in self.pages())
        size = PAGE
        while offset < expected:
            progress(offset)
            try:
                answer = self._endpoint.select(
                    self._unit.page(size, offset, ordered=ordered), self._unit.variables
                )
            except IncompleteError:
                if size <= _SMALLEST_PAGE:
                    raise
                size = max(size // 4, _SMALLEST_PAGE)
                continue
            if not answer.rows and not answer.skipped:
                break
            triples = self._triples(answer, offset)
            _write_page(self._folder / f"{self._stem}-{offset:012d}.nt", triples, answer.skipped)
            got = take(triples, answer.skipped)
            offset += got
            if got < size:
                size = max(got, _SMALLEST_PAGE)
        progress(offset)
        return len(np.unique(np.frombuffer(seen, dtype=np.int64))) + self.skipped if offset else 0

    def _triples(self, answer: Answer, offset: int) -> list[Triple]:
        variables = self._unit.variables
        at = [variables.index(t[1:]) if t.startswith("?") else -1 for t in self._unit.template]
        triples = []
        for row in answer.rows:
            s, p, o = (self._term(row, i, t, offset) for i, t in zip(at, self._unit.template, strict=True))
            if s.startswith('"') or not p.startswith("<"):
                raise InputError(
                    f"{self._unit.name} gives {printable(f'{s} {p} {o}', 200)}, which is not a triple: "
                    "the subject must be an IRI or blank node and the predicate an IRI"
                )
            triples.append((s, p, o))
        return triples

    def _term(self, row: Row, i: int, constant: str, offset: int) -> str:
        if i < 0:
            return constant
        term = row[i]
        if term is None:
            raise InputError(
                f"{self._unit.name} leaves ?{self._unit.variables[i]} unbound in some rows; bind it in all"
            )
        if _RENUMBERED.match(term):
            self.renumbered = True
            return f"{term}p{self._stem}x{offset}"
        return term


def _write_page(path: Path, triples: list[Triple], skipped: int) -> None:
    partial = path.with_suffix(".partial")
    with partial.open("w", encoding="utf-8") as file:
        file.write(f"# {skipped}\n")
        file.writelines(f"{s} {p} {o} .\n" for s, p, o in triples)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(path)


def _read_page(path: Path) -> tuple[list[Triple], int]:
    with path.open(encoding="utf-8", newline="\n") as file:
        skipped = int(file.readline()[2:])
        triples = []
        for line in file:
            s, p, o = line.split(" ", 2)
            triples.append((s, p, o[:-3]))
    return triples, skipped

"""Pull triples from an endpoint: page by page, verified by COUNT, resumable.

Servers cut results short in many ways, some silently. Therefore the triples are counted first and fetched in
units (a large predicate, or several small ones), and each unit's distinct triples are compared with its
count. This makes the cheap way safe: pages by OFFSET without ORDER BY are complete whenever the numbers
agree; where they do not, the unit is fetched again in order. Each page is a file that is written whole or
not at all, and an interrupted pull resumes after the last page.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from rdf_kgeval.beliefs.blank_nodes import Quad
from rdf_kgeval.beliefs.table import Role, Triple
from rdf_kgeval.common.progress import StepProgress
from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.errors import EndpointError, IncompleteError, InputError
from rdf_kgeval.sources.endpoint.client import Endpoint, SelectResult
from rdf_kgeval.sources.endpoint.counts import count
from rdf_kgeval.sources.endpoint.quirks import localise, localise_row, reads_every_graph, store_name
from rdf_kgeval.sources.endpoint.results import Row
from rdf_kgeval.sources.pull_pages import Page, Tally, read_page, write_page
from rdf_kgeval.sources.pull_plan import PAGE, Plan, Unit, make_plan
from rdf_kgeval.sources.scope import Scope

SAMPLE = 50
"""Rows of each unit to compare with the store when a pull resumes."""
_SMALLEST_PAGE = 100


@dataclass(frozen=True, kw_only=True)
class Pulled:
    """The pages of triples on disk that a pull fetched, and notes about them."""

    pages: list[tuple[Path, Role]]
    notes: list[str]
    invalid: int
    """The number of triples that are not valid RDF and were left out."""

    def quads(self, graph: str) -> Iterator[tuple[Role, Iterator[Quad]]]:
        """Yield the triples page by page, with the role of the page."""
        for path, role in self.pages:
            yield role, ((s, p, o, graph) for s, p, o in read_page(path).triples)


def pull(
    endpoint: Endpoint,
    scope: Scope,
    folder: Path,
    decorations: Sequence[str],
    progress: StepProgress,
    lang: str = "en",
) -> Pulled:
    """Fetch all triples of a scope into pages below `folder`, resuming an interrupted pull.

    Args:
        endpoint: where to ask.
        scope: which triples are beliefs.
        folder: keeps the pages; made if absent.
        decorations: label properties; with a scope, the labels, types and descriptions of its entities are
            fetched too.
        progress: called with the number of triples pulled so far, and of all triples.
        lang: descriptions are fetched in this language, in English and without a language.
    """
    plan = make_plan(endpoint, scope, decorations, lang)
    fetches = [_Fetch(endpoint, unit, folder, f"{n:05d}") for n, unit in enumerate(plan.units)]
    _open_folder(folder, endpoint, plan, fetches)
    total = sum(unit.rows for unit in plan.units)
    done = 0
    tallies = []
    for unit, fetch in zip(plan.units, fetches, strict=True):
        tallies.append(fetch.run(partial(_report, progress, done, total)))
        done += unit.rows
    if plan != make_plan(endpoint, scope, decorations, lang):
        shutil.rmtree(folder)
        raise EndpointError(f"{endpoint.name} changed while it was being read; run the command again")
    invalid = plan.left_out + sum(len(tally.skipped) for tally in tallies)
    return Pulled(
        pages=[(page, fetch.unit.role) for fetch in fetches for page in fetch.pages()],
        notes=_notes(endpoint, scope, plan, tallies, invalid),
        invalid=invalid,
    )


def _report(progress: StepProgress, before: int, total: int, rows: int) -> None:
    progress(before + rows, total)


def _notes(endpoint: Endpoint, scope: Scope, plan: Plan, tallies: list[Tally], invalid: int) -> list[str]:
    notes = []
    rewritten = sum(tally.rewritten for tally in tallies)
    store = store_name(endpoint.server)
    if plan.absent:
        names = ", ".join(map(printable, plan.absent))
        notes.append(f"no triple there has the predicate {names}; check --predicate")
    if invalid:
        notes.append(f"left out {plural(invalid, 'triple')} with an IRI or a term that is not valid RDF")
    if any(tally.renumbered for tally in tallies):
        notes.append("this store renumbers blank nodes in every answer: one node may appear as several")
    if rewritten:
        notes.append(
            f"{plural(rewritten, 'literal')} may be spelt otherwise than when loaded: {store} may rewrite "
            "numbers, dates, durations, booleans, binary data, XML and geometries, and round or replace "
            "values that it cannot hold, so the ids of these beliefs may differ from those of the source"
        )
    if reads_every_graph(store) and scope.graph is None and scope.query is None:
        notes.append(
            "Virtuoso answers from all of its graphs, its own system graphs included; name yours with --graph"
        )
    return notes


def _open_folder(folder: Path, endpoint: Endpoint, plan: Plan, fetches: "list[_Fetch]") -> None:
    """Keep the pages of an interrupted pull of the same triples; delete any others."""
    text = json.dumps({"endpoint": endpoint.name, "plan": asdict(plan)}, indent=1)
    saved = folder / "plan.json"
    same_counts = saved.exists() and saved.read_text(encoding="utf-8") == text
    if same_counts and all(fetch.is_current() for fetch in fetches):
        return
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    saved.write_text(text, encoding="utf-8")


class _Fetch:
    """Fetch one unit by plain pages; where these cannot be verified, by ordered ones."""

    def __init__(self, endpoint: Endpoint, unit: Unit, folder: Path, stem: str) -> None:
        self.unit = unit
        self._endpoint = endpoint
        self._folder = folder
        self._stem = stem

    def run(self, progress: Callable[[int], None]) -> Tally:
        """Fetch the missing pages, and verify the unit."""
        if not self.pages(ordered=True):
            tally = self._fetch(self.unit.rows, progress, ordered=False)
            if not tally.is_ambiguous and (
                tally.distinct == self.unit.rows or tally.distinct == self._count()
            ):
                return tally
            self._remove()
        expected = self._count()
        tally = self._fetch(expected, progress, ordered=True)
        got = tally.distinct
        if got == expected and tally.is_ambiguous:
            # A renumbered row that came twice hides one that did not, so the named rows are counted alone.
            got, expected = tally.named, self._count(named=True)
        if got == expected:
            return tally
        self._remove()
        raise EndpointError(
            f"{self._endpoint.name} gave {got:,} of the {plural(expected, 'triple')} that it counts for "
            f"{self.unit.name}; these were dropped, because an estimate from a part would be wrong"
        )

    def pages(self, *, ordered: bool | None = None) -> list[Path]:
        """List the saved pages: all, the ordered ones, or the plain ones."""
        kind = {None: "?", True: "o", False: "u"}[ordered]
        return sorted(self._folder.glob(f"{self._stem}{kind}-*.nt"))

    def is_current(self) -> bool:
        """Return whether the store still has a sample of the saved rows."""
        pages = self.pages()
        if not pages:
            return True
        saved, sample = Tally(), Tally()
        for page in pages:
            saved.add(read_page(page))
        kind, offset = pages[-1].stem.removeprefix(self._stem).split("-")
        sample.add(self._ask(SAMPLE, int(offset), ordered=kind == "o"))
        return sample.rows > 0 and saved.has_named_rows_of(sample)

    def _remove(self) -> None:
        for page in self.pages():
            page.unlink()

    def _count(self, *, named: bool = False) -> int:
        return count(self._endpoint, self.unit.count_distinct(named=named))

    def _fetch(self, expected: int, progress: Callable[[int], None], *, ordered: bool) -> Tally:
        """Fetch the missing pages, and tally all."""
        tally = Tally()
        for page in self.pages(ordered=ordered):
            tally.add(read_page(page))
        size = PAGE
        while tally.rows < expected and (ordered or not tally.is_ambiguous):
            progress(tally.rows)
            try:
                fetched = self._ask(size, tally.rows, ordered=ordered)
            except IncompleteError:
                if size <= _SMALLEST_PAGE:
                    raise
                size = max(size // 4, _SMALLEST_PAGE)
                continue
            if not len(fetched):
                break
            write_page(self._path(tally.rows, ordered=ordered), fetched)
            tally.add(fetched)
            size = min(size, max(len(fetched), _SMALLEST_PAGE))
        progress(tally.rows)
        return tally

    def _path(self, offset: int, *, ordered: bool) -> Path:
        return self._folder / f"{self._stem}{'o' if ordered else 'u'}-{offset:012d}.nt"

    def _ask(self, size: int, offset: int, *, ordered: bool) -> Page:
        answer = self._endpoint.select(self.unit.page(size, offset, ordered=ordered), self.unit.variables)
        place = f"{self._stem}{'o' if ordered else 'u'}x{offset}"
        skipped = [localise_row(row, place) for row in answer.skipped]
        return Page(self._triples(answer, place), skipped)

    def _triples(self, answer: SelectResult, place: str) -> list[Triple]:
        variables = self.unit.variables
        at = [variables.index(t[1:]) if t.startswith("?") else -1 for t in self.unit.template]
        triples = []
        for row in answer.rows:
            s, p, o = (self._term(row, i, t, place) for i, t in zip(at, self.unit.template, strict=True))
            if s.startswith(('"', "<<")) or not p.startswith("<") or p.startswith("<<"):
                raise InputError(
                    f"{self.unit.name} gives {printable(f'{s} {p} {o}', 200)}, which is not a triple: "
                    "the subject must be an IRI or blank node and the predicate an IRI"
                )
            triples.append((s, p, o))
        return triples

    def _term(self, row: Row, i: int, constant: str, place: str) -> str:
        if i < 0:
            return constant
        term = row[i]
        if term is None:
            raise InputError(
                f"{self.unit.name} leaves ?{self.unit.variables[i]} unbound in some rows; bind it in all"
            )
        return localise(term, place)

"""Evaluation in place: the beliefs stay at the endpoint, and only a sample and its neighbourhood are fetched.

Everything that is fetched goes to the draw log, in the order of the requests; an interrupted draw resumes
after the last record. The beliefs are built from that log alone.

`DRAWERS` lists the ways to draw a sample.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from rdf_kgeval.beliefs.accounts import BLANK_NODES, INVALID, SCHEMA
from rdf_kgeval.beliefs.prefixes import Prefixes
from rdf_kgeval.beliefs.sampling_frame import LARGE
from rdf_kgeval.beliefs.table import Beliefs
from rdf_kgeval.beliefs.terms import iri
from rdf_kgeval.common.progress import Progress
from rdf_kgeval.common.registry import Entry, Registry
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import EndpointError, InputError
from rdf_kgeval.namespaces import RDF_TYPE
from rdf_kgeval.sources.draws.census import Census, count_triples, take_census
from rdf_kgeval.sources.draws.log import (
    CensusRecord,
    ChangeRecord,
    DrawLog,
    DrawRecord,
    beliefs_of,
    census_of,
    describe_change,
    drawn_triples,
    notes_of,
    reaches,
)
from rdf_kgeval.sources.draws.neighbourhood import Followed, Tie, fetch_around, frontier
from rdf_kgeval.sources.draws.pool import FULL, Pool
from rdf_kgeval.sources.endpoint.client import Endpoint
from rdf_kgeval.sources.load import InPlace
from rdf_kgeval.sources.scope import Scope
from rdf_kgeval.sources.unjudged import NOTHING_ELSE, describe, reason_of

LEAST = 30
"""Triples to draw of each stratum at least."""
GROWTH = 3
"""Factor by which each further draw extends the range of places."""
_MOST_PREDICATES = 100
"""Predicates to name in one query."""


class Drawer(Protocol):
    """A way to draw from a pool, made from an endpoint, a pool and its census.

    Every triple has a place, a whole number below `FULL`, uniformly at random and independently of the
    others; the same salt gives the same places.
    """

    def draw(self, predicates: Sequence[str], low: int, high: int) -> DrawRecord:
        """Fetch all triples of these predicates with places from `low` to before `high`.

        Raises:
            EndpointError: the store does not return exactly these.
        """


@dataclass(frozen=True)
class DrawerEntry(Entry):
    """A way to draw; its code is called with an endpoint, a pool and a `CensusRecord`."""

    suits: Callable[[Endpoint], bool]
    """Whether a store can be drawn from in this way."""


DRAWERS = Registry(
    "drawer",
    DrawerEntry(
        "digest",
        "sources.draws.digest:DigestDrawer",
        "FILTER on the MD5 of each triple and a salt; any SPARQL 1.1 store can do it",
        lambda _: True,
    ),
)
"""The first that suits the store is taken; the last suits every store."""


def open_drawer(endpoint: Endpoint, pool: Pool, census: CensusRecord) -> Drawer:
    """Make the drawer that suits a store."""
    entry = next(entry for entry in DRAWERS.values() if entry.suits(endpoint))
    drawer: Drawer = entry.load()(endpoint, pool, census)
    return drawer


def first_reaches(sizes: Mapping[str, int], reserve: int) -> dict[str, int]:
    """Plan the first draw: by predicate, the place to draw up to.

    Small predicates share a stratum, and therefore one place.
    """
    total = sum(sizes.values())
    small = [n for n in sizes.values() if n < LARGE * total]
    rest = _reach(sum(small), reserve * sum(small) / total)
    return {p: rest if n < LARGE * total else _reach(n, reserve * n / total) for p, n in sizes.items()}


def next_reaches(reach: Mapping[str, int], short: Iterable[str], sizes: Mapping[str, int]) -> dict[str, int]:
    """Plan a further draw of the predicates that are used up: by predicate, the place to draw up to."""
    return {p: min(FULL, max(GROWTH * reach.get(p, 0), _reach(sizes[p], 1.0))) for p in short}


def _reach(size: int, expected: float) -> int:
    wanted = max(expected, LEAST)
    share = (wanted + 3 * math.sqrt(wanted)) / max(size, 1)
    return FULL if share >= 1 else math.ceil(share * FULL)


def units(
    reach: Mapping[str, int], goal: Mapping[str, int], sizes: Mapping[str, int]
) -> Iterator[tuple[list[str], int, int]]:
    """Divide a draw into queries: one for each large predicate, one for small ones with the same range."""
    total = sum(sizes.values())
    small: dict[tuple[int, int], list[str]] = {}
    for predicate, high in goal.items():
        low = reach.get(predicate, 0)
        if low >= high:
            continue
        if sizes[predicate] >= LARGE * total:
            yield [predicate], low, high
        else:
            small.setdefault((low, high), []).append(predicate)
    for (low, high), predicates in small.items():
        for i in range(0, len(predicates), _MOST_PREDICATES):
            yield predicates[i : i + _MOST_PREDICATES], low, high


class InPlaceSampler:
    """Sample an endpoint into a draw log.

    Args:
        log: where everything fetched is written.
        endpoint: where to ask.
        scope: which triples are beliefs.
        options: how to draw.
        rules: their atoms are fetched around the beliefs.
        decorations: label properties.
        progress: called as the work goes on.
    """

    def __init__(
        self,
        log: DrawLog,
        endpoint: Endpoint,
        scope: Scope,
        options: InPlace,
        rules: Iterable[Tie],
        decorations: Sequence[str],
        progress: Progress,
    ) -> None:
        self._log = log
        self._endpoint = endpoint
        self._pool = Pool.of(scope)
        self._graph = scope.graph or ""
        self._options = options
        self._decorations = decorations
        self._followed = Followed.of(rules, decorations)
        self._progress = progress

    def begin(self, context: Beliefs, context_read: int = 0) -> None:
        """Count the population and draw the first reserve, or resume an interrupted draw.

        Raises:
            EndpointError: the endpoint fails, or has changed meanwhile.
        """
        population = self._census(context, context_read)
        self._draw(population, first_reaches(population.sizes, self._options.reserve))
        if population.triples and population.triples != count_triples(self._endpoint, self._pool):
            raise ChangedError(f"{self._endpoint.name} changed while it was being drawn from")

    def extend(self, short: Iterable[str]) -> None:
        """Draw more of the predicates that are used up."""
        population = census_of(self._log.records)
        assert population is not None  # noqa: S101
        self.notice_change()
        self._draw(population, next_reaches(reaches(self._log.records), short, population.sizes))

    def notice_change(self) -> str | None:
        """Count again; log a change of the store and return a sentence that describes it."""
        records = self._log.records
        population = census_of(records)
        if population is None or not population.triples:
            return None
        self._progress("counting", 0, None)
        found = ChangeRecord(triples=count_triples(self._endpoint, self._pool))
        last = [record for record in records if isinstance(record, ChangeRecord)][-1:]
        if found.triples == (last[0].triples if last else population.triples):
            return None
        self._log.append(found)
        return describe_change(population, found)

    def _census(self, context: Beliefs, context_read: int) -> CensusRecord:
        population = census_of(self._log.records)
        if population is None:
            self._progress("counting", 0, None)
            census, left_out, notes = self._take_census(context.prefixes)
            population = CensusRecord(
                sizes=census.sizes,
                triples=census.triples if census.exact else {},
                exact=census.exact,
                salt=self._options.salt,
                graph=self._graph,
                plain=self._pool.plain,
                notes=[*census.notes, *notes],
                context=[[int(context.role[row]), *quad] for row, quad in context.quads()],
                context_read=context_read,
                left_out=left_out,
                judged=self._pool.judged,
            )
            self._log.append(population)
        self._pool = replace(self._pool, judged=population.judged)
        return population

    def _take_census(self, prefixes: Prefixes) -> tuple[Census, dict[str, int], list[str]]:
        """Count; leave out what nobody can judge, unless the user names predicates or there is nothing else.

        Returns:
            The census of what is evaluated, the triples that are left out by account, and notes.
        """
        notes = []
        self._pool = replace(self._pool, judged=self._pool.plain and not self._pool.predicates)
        census = take_census(self._endpoint, self._pool)
        left_out = Counter({INVALID: census.invalid})
        if self._pool.judged:
            reasons = {p: reason_of(iri(p), self._decorations) for p in census.sizes}
            if all(reasons.values()):
                self._pool = replace(self._pool, judged=False)
                census = take_census(self._endpoint, self._pool)
                notes.append(NOTHING_ELSE)
            else:
                unjudged = {p: n for p, n in census.sizes.items() if reasons[p]}
                for predicate, size in unjudged.items():
                    left_out[reasons[predicate]] += size
                left_out[SCHEMA] += census.schema_types
                if census.schema_types:
                    unjudged[f"<{RDF_TYPE}>"] = census.schema_types
                by_size = sorted(unjudged.items(), key=lambda item: (-item[1], item[0]))
                if by_size:
                    notes.append(describe({iri(p): n for p, n in by_size}, prefixes))
        if census.exact and census.triples:
            named = sum(census.sizes.values()) + census.schema_types
            left_out[BLANK_NODES] = sum(census.triples.values()) - named
        judged = {p: n for p, n in census.sizes.items() if not self._pool.judged or not reasons[p]}
        return replace(census, sizes=judged), dict(+left_out), notes

    def _draw(self, population: CensusRecord, goal: Mapping[str, int]) -> None:
        drawer = open_drawer(self._endpoint, self._pool, population)
        todo = list(units(reaches(self._log.records), goal, population.sizes))
        with ThreadPoolExecutor(self._options.parallel, thread_name_prefix="draw") as threads:
            for done, draw in enumerate(threads.map(lambda unit: drawer.draw(*unit), todo)):
                self._log.append(draw)
                self._progress("drawing", done + 1, len(todo))
        if not drawn_triples(self._log.records):
            raise InputError(f"{self._endpoint.name} gave no triple to ask about; choose a wider scope")
        for hop in range(1, self._options.hops + 1):
            entities = frontier(self._log.records, hop)
            for around in fetch_around(
                self._endpoint,
                self._pool,
                self._followed,
                entities,
                hop,
                parallel=self._options.parallel,
                progress=lambda done, total: self._progress("looking around", done, total),
            ):
                self._log.append(around)

    def beliefs(self) -> Beliefs:
        """Build the beliefs that were fetched."""
        return beliefs_of(self._log.records)

    def notes(self) -> list[str]:
        """List notes on the draws for the user."""
        return notes_of(self._log.records)


class ChangedError(EndpointError):
    """The store changed between two counts, so that the draws are useless."""


def check_in_place(scope: Scope, files: Sequence[Path], mine: bool) -> None:
    """Refuse sources and options that an evaluation in place cannot use."""
    if files:
        raise InputError(
            "with --in-place the beliefs are those of the endpoint; leave "
            f"{printable(str(files[0]))} out, or give it with --context"
        )
    if mine:
        raise InputError(
            "rules cannot be mined from a sample; mine them from a dump or a part of the graph with kgeval "
            "mine, and give them with --rules"
        )
    Pool.of(scope)

"""Evaluation in place: the beliefs stay at the endpoint, and only what is asked about comes here.

Everything that came is in the draw log, in the order in which it was asked for; a drawing that was stopped
goes on after the last record. The beliefs at hand are made from that log alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rdf_kgeval.beliefs.table import Beliefs
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import EndpointError, InputError
from rdf_kgeval.sources.draws.census import count_triples, take_census
from rdf_kgeval.sources.draws.drawing import Drawer, first_reaches, next_reaches, units
from rdf_kgeval.sources.draws.log import (
    Changed,
    Counted,
    DrawLog,
    beliefs_of,
    counted,
    describe_change,
    drawn_triples,
    notes_of,
    reaches,
)
from rdf_kgeval.sources.draws.neighbourhood import Tie, Touch, fetch_around, frontier
from rdf_kgeval.sources.draws.pool import Pool
from rdf_kgeval.sources.endpoint.client import Endpoint
from rdf_kgeval.sources.files import Progress
from rdf_kgeval.sources.load import InPlace
from rdf_kgeval.sources.scope import Scope


class Field:
    """An endpoint to draw from, and the log of what was drawn.

    Args:
        log: takes what comes.
        endpoint: where to ask.
        scope: which triples are beliefs.
        options: how to draw.
        rules: whose atoms are to be fetched around the beliefs.
        decorations: label properties.
        progress: told of the work.
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
        self._touch = Touch.of(rules, decorations)
        self._progress = progress

    def begin(self, context: Beliefs) -> None:
        """Count the population and draw the first reserve, as far as that was not done before.

        Raises:
            EndpointError: the endpoint fails, or has changed meanwhile.
        """
        population = self._counted(context)
        self._draw(population, first_reaches(population.sizes, self._options.reserve))
        if population.triples and population.triples != count_triples(self._endpoint, self._pool):
            raise ChangedError(f"{self._endpoint.name} changed while it was being drawn from")

    def extend(self, short: Iterable[str]) -> None:
        """Draw more of the predicates that are used up."""
        population = counted(self._log.records)
        assert population is not None  # noqa: S101
        self.notice_change()
        self._draw(population, next_reaches(reaches(self._log.records), short, population.sizes))

    def notice_change(self) -> str | None:
        """Count again and log a change of the store; what it means, in a sentence."""
        records = self._log.records
        population = counted(records)
        if population is None or not population.triples:
            return None
        self._progress("counting", 0, None)
        found = Changed(triples=count_triples(self._endpoint, self._pool))
        last = [record for record in records if isinstance(record, Changed)][-1:]
        if found.triples == (last[0].triples if last else population.triples):
            return None
        self._log.append(found)
        return describe_change(population, found)

    def _counted(self, context: Beliefs) -> Counted:
        population = counted(self._log.records)
        if population is None:
            self._progress("counting", 0, None)
            census = take_census(self._endpoint, self._pool)
            population = Counted(
                sizes=census.sizes,
                triples=census.triples if census.exact else {},
                exact=census.exact,
                salt=self._options.salt,
                graph=self._graph,
                plain=self._pool.plain,
                notes=census.notes,
                context=[[int(context.role[row]), *quad] for row, quad in context.quads()],
            )
            self._log.append(population)
        return population

    def _draw(self, population: Counted, goal: Mapping[str, int]) -> None:
        drawer = Drawer(self._endpoint, self._pool, population.salt, population.sizes, exact=population.exact)
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
                self._touch,
                entities,
                hop,
                parallel=self._options.parallel,
                progress=lambda done, total: self._progress("looking around", done, total),
            ):
                self._log.append(around)

    def beliefs(self) -> Beliefs:
        """The beliefs at hand."""
        return beliefs_of(self._log.records)

    def notes(self) -> list[str]:
        """What the user should know."""
        return notes_of(self._log.records)


class ChangedError(EndpointError):
    """The store changed between two counts; what was drawn is of no use."""


def check_fit(scope: Scope, files: Sequence[Path], mine: bool) -> None:
    """Raise an error for what cannot be had in place."""
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

"""Open run directories, to look at and to go on with."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rdf_kgeval.beliefs.evidence import Passages, read_passages
from rdf_kgeval.beliefs.names import Names
from rdf_kgeval.beliefs.prefixes import Prefixes
from rdf_kgeval.beliefs.table import Beliefs, Role
from rdf_kgeval.common.disk import read_plain, read_text, sha256_of, write_text
from rdf_kgeval.common.memory import Space
from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.coupling.graph import CouplingGraph
from rdf_kgeval.engines.engine import LOCAL, Engine
from rdf_kgeval.errors import InputError, RunError
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.runs.config import RunConfig, check_digests, read_config, write_config
from rdf_kgeval.runs.layout import RunLayout
from rdf_kgeval.sources.load import Sources
from rdf_kgeval.verdicts.log import LogRecord, VerdictLog, belief_of


@dataclass(frozen=True, kw_only=True)
class Run:
    """An opened run directory."""

    folder: Path
    config: RunConfig
    graph: CouplingGraph
    engine: Engine = LOCAL
    """What solves its models."""

    @property
    def beliefs(self) -> Beliefs:
        """The beliefs that the graph couples."""
        return self.graph.beliefs

    @property
    def in_place(self) -> bool:
        """Whether the beliefs stay at the endpoint."""
        return self.config.in_place is not None

    @property
    def layout(self) -> RunLayout:
        """The files of the run directory."""
        return RunLayout(self.folder)

    def check_verdicts_exist(self) -> None:
        """Raise an error if there is no log of verdicts: every run begins with an empty one."""
        if not os.path.lexists(self.layout.verdicts):
            raise RunError(
                f"{printable(str(self.layout.verdicts))} is missing, and with it what people said; restore "
                "it from a copy, or make an empty file of that name to start anew"
            )

    def check_own(self, records: Iterable[LogRecord]) -> None:
        """Raise an error if a record is about a belief that the run does not evaluate."""
        for number, belief in enumerate(map(belief_of, records), start=1):
            try:
                known = len(belief) == 64 and self.beliefs.role[self.beliefs.row(belief)] == Role.BELIEF
            except InputError:
                known = False
            if not known:
                raise RunError(
                    f"{printable(str(self.layout.verdicts))}, line {number} is on a belief that this run "
                    "does not evaluate; restore the file from a copy, or move it to the run that it belongs "
                    "to"
                )

    def exported(self) -> list[str]:
        """Return the ids of the tasks that were given to other tools.

        Raises:
            RunError: their file is damaged.
        """
        path = self.layout.exported
        try:
            return read_plain(path).decode().split() if os.path.lexists(path) else []
        except (OSError, UnicodeDecodeError) as error:
            raise RunError(
                f"{printable(str(path))} is damaged; restore it from a copy, or remove it, and export anew"
            ) from error

    def add_exported(self, tasks: Iterable[str]) -> None:
        """Keep the ids of tasks that are given to another tool."""
        every = sorted({*self.exported(), *tasks})
        write_text(self.layout.exported, "".join(f"{task}\n" for task in every))

    def check_sources(self, sources: Sources) -> None:
        """Raise an error if these are not the sources that the run was made from."""
        files = [
            (role, sha256_of(path))
            for role, paths in sources.by_role().items()
            for path in paths
            if path.is_file()
        ]
        endpoint = sources.endpoint.name if sources.endpoint else None
        if (
            files != [(file.role, file.sha256) for file in self.config.files]
            or endpoint != self.config.endpoint
            or (sources.in_place is not None) != self.in_place
        ):
            raise RunError(
                f"{printable(str(self.folder))} was made from other sources; choose another run "
                "directory, or name no sources to go on with it"
            )

    def settings(self, **options: Any) -> Settings:
        """Return how the run is evaluated, with what the user asks for now in place of what it says."""
        settings = self.config.settings.changed(**options)
        if settings.design is not None:
            raise InputError(
                "a run goes on by the name of its method, so a design of your own works in memory only; give "
                "evaluate what couple returns, without run="
            )
        return settings

    @cached_property
    def names(self) -> Names:
        """Names for people, as the run's owner wants them."""
        chosen = self.config.labels
        return Names(beliefs=self.beliefs, properties=chosen.properties, lang=chosen.lang)

    def passages(self) -> Passages:
        """Return the evidence that the run's owner gave in a file."""
        return self._passages

    @cached_property
    def _passages(self) -> Passages:
        path = self.layout.evidence
        return read_passages(path, self.beliefs.prefixes) if os.path.lexists(path) else {}

    def keep_evidence(self, file: Path) -> str:
        """Keep a file of evidence in place of one that is there; return what it is about, in a sentence.

        Raises:
            InputError: it is not what `read_passages` reads, or cannot be written.
        """
        passages = read_passages(file, self.beliefs.prefixes)
        write_text(self.layout.evidence, read_text(file))
        strange = sum(self.beliefs.find(*triple) is None for triple in passages)
        name = printable(str(file))
        more = f"; {plural(strange, 'triple')} of {name} not found in the graph" if strange else ""
        return f"evidence for {plural(len(passages) - strange, 'triple')}{more}"


def open_run(folder: Path, engine: Engine = LOCAL) -> Run:
    """Open a run directory that `pipeline.prepare` made, with an engine to solve its models.

    Raises:
        RunError: it is none, or a file of it is missing or was changed.
    """
    config, layout = read_config(folder), RunLayout(folder)
    check_digests(folder, config)
    prefixes = Prefixes(config.prefixes or ())
    if config.in_place:
        from rdf_kgeval.runs.drawn_graph import load_graph, of_draws  # they need compiled kernels

        graph = load_graph(layout, config.in_place.max_groundings, prefixes)
        config = of_draws(config, layout, graph.beliefs)
    else:
        space = Space(config.memory_limit, folder)
        graph = CouplingGraph.load(layout.coupling, Beliefs.load(layout.beliefs, prefixes), space)
    return Run(folder=folder, config=config, graph=graph, engine=engine)


@contextmanager
def open_log(run: Run, options: Mapping[str, Any]) -> Iterator[tuple[Run, VerdictLog]]:
    """Open the run's verdict log to append to, alone, and keep the settings that are asked for now.

    Args:
        run: an opened run directory.
        options: fields of `Settings` as a user gives them; with answers, only the budget may change.
    """
    run.check_verdicts_exist()
    with VerdictLog(run.layout.verdicts) as log:
        kept = read_config(run.folder).evaluation  # others may have written it since the run was opened
        if kept != run.config.evaluation:
            run = replace(run, config=replace(run.config, evaluation=kept))
        settings = run.settings(**options)
        started = run.settings()
        if log.records and settings.fixed() != started.fixed():
            raise RunError(
                f"{printable(str(run.folder))} has verdicts that were asked for with {started.described()}; "
                "go on without other options, or make another run"
            )
        drawn = run.config.in_place
        if drawn and settings.seed != drawn.seed:
            raise RunError(
                f"the sample of {printable(str(run.folder))} was drawn with the seed "
                f"{drawn.seed}; go on without --seed, or make another run"
            )
        if run.config.evaluation != settings.to_json():
            run = replace(run, config=replace(run.config, evaluation=settings.to_json()))
            write_config(run.folder, run.config)
        yield run, log

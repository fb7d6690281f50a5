"""Run directories are made whole or not at all.

They are put together beside their final place, in RUN.partial, which a stopped pull leaves behind so that it
can go on.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rdf_kgeval.beliefs.table import Beliefs
from rdf_kgeval.common.disk import sha256_of, sync
from rdf_kgeval.common.memory import RAM, Space
from rdf_kgeval.common.progress import Progress
from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.coupling.graph import CouplingGraph, couple
from rdf_kgeval.coupling.grounding import MAX_GROUNDINGS
from rdf_kgeval.engines.engine import LOCAL, Engine
from rdf_kgeval.errors import KgevalError, RunError, TooManyGroundings
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.rules.rule import Rule
from rdf_kgeval.runs.config import (
    ONTOLOGY,
    InPlaceConfig,
    InputFile,
    NameConfig,
    RunConfig,
    ScopeConfig,
    digests,
    write_config,
)
from rdf_kgeval.runs.discovery import propose_rules
from rdf_kgeval.runs.drawing import draw_first
from rdf_kgeval.runs.drawn_graph import save_graph
from rdf_kgeval.runs.layout import RunLayout
from rdf_kgeval.sources.load import Loaded, Sources, load

if TYPE_CHECKING:
    from rdf_kgeval.rules.mining.options import MiningOptions


@dataclass(frozen=True, kw_only=True)
class Coupling:
    """What to couple the beliefs by."""

    ontologies: Sequence[Path] = ()
    rules: Sequence[Path] = ()
    given: Sequence[Rule] = ()
    """Rules that are in no file."""
    follow_imports: bool = False
    max_groundings: int = MAX_GROUNDINGS
    mine: "MiningOptions | None" = None
    """What to mine from the beliefs themselves, beside the rules of the files."""
    discover: bool = False
    """Take what the beliefs say of themselves, and what can be mined from them quickly."""
    engine: Engine = LOCAL
    """What grounds the rules."""
    graph: CouplingGraph | None = None
    """What the beliefs are coupled to already."""

    def read(self) -> list[Rule]:
        """Read all rules, of the ontologies first."""
        from rdf_kgeval.rules.dialects import read_rules
        from rdf_kgeval.rules.ontology import read_ontology  # with rdflib, which an opened run does not need

        ontology = (
            read_ontology(*self.ontologies, follow_imports=self.follow_imports) if self.ontologies else []
        )
        return [*ontology, *(read_rules(*self.rules) if self.rules else []), *self.given]


@contextmanager
def new_run(folder: Path, memory_limit: int | None = None) -> Iterator["Draft"]:
    """Make a new run directory; it is there when the draft is saved, whole or not at all.

    Raises:
        RunError: there is something in its place, or it cannot be written.
    """
    if folder.exists():
        raise RunError(f"{printable(str(folder))} already exists; choose another name or remove it")
    with _workshop(folder) as partial:
        yield Draft(folder, partial, memory_limit)


class Draft:
    """A run directory in the making: read, couple, save."""

    loaded: Loaded
    graph: CouplingGraph

    def __init__(self, folder: Path, partial: Path, memory_limit: int | None) -> None:
        self._folder = folder
        self._layout = RunLayout(partial)
        self._memory_limit = memory_limit
        self._space = Space(memory_limit, partial)

    def read(self, sources: Sources, rules: Sequence[Rule], coupling: Coupling, progress: Progress) -> None:
        """Read the beliefs, or draw the first of them where they stay at an endpoint."""
        if sources.in_place:
            mine = coupling.mine is not None
            self.loaded = draw_first(self._layout, sources, rules, mine=mine, progress=progress)
        else:
            self.loaded = load(sources, self._layout.pages, progress, self._space)

    def couple(self, rules: Sequence[Rule], coupling: Coupling, progress: Progress) -> None:
        """Couple the beliefs by the rules given and those found in the beliefs themselves."""
        self.graph, notes = _couple(self.loaded.beliefs, [*rules], coupling, progress, self._space)
        self._note(*notes)

    def save(
        self,
        coupling: Coupling,
        lang: str,
        settings: Settings | None = None,
        options: Mapping[str, object] | None = None,
    ) -> None:
        """Write everything and put the run in its place."""
        layout, sources = self._layout, self.loaded.sources
        partial = layout.folder
        if sources.in_place:
            save_graph(layout, self.graph)
        else:
            for part in layout.parts:
                shutil.rmtree(part, ignore_errors=True)
            self.loaded.beliefs.save(layout.beliefs)
            self.graph.save(layout.coupling)
        shutil.rmtree(layout.pages, ignore_errors=True)
        if self._space.note:
            self._note(self._space.note)
        config = replace(
            _config(coupling, self.loaded, lang),
            memory_limit=self._memory_limit,
            sha256={} if sources.in_place else digests(partial),
            options=None if options is None else dict(options),
        )
        if settings is not None:
            config = replace(config, evaluation=settings.to_json())
        write_config(partial, config)
        layout.verdicts.touch()
        layout.lock.unlink()
        for path in (*partial.rglob("*"), partial):
            sync(path)
        partial.rename(self._folder)
        sync(self._folder.parent)

    def _note(self, *notes: str) -> None:
        self.loaded = replace(self.loaded, notes=[*self.loaded.notes, *notes])


def _couple(
    beliefs: Beliefs, rules: list[Rule], coupling: Coupling, progress: Progress, space: Space = RAM
) -> tuple[CouplingGraph, Sequence[str]]:
    """Couple by the rules given and those found in the beliefs; of the latter, by as many as will do."""
    if coupling.graph is not None:
        return coupling.graph, ()
    notes: Sequence[str] = ()
    if coupling.mine is not None:
        from rdf_kgeval.rules.mining.mine import mine

        mined = mine(beliefs, coupling.mine, known=rules, progress=progress)
        rules = [*rules, *mined]
        notes = [f"{plural(len(mined), 'rule')} mined from the beliefs; kgeval show --rules lists them"]
    elif coupling.discover:
        rules, notes = propose_rules(beliefs, progress)
    progress("coupling", 0, None)
    while True:
        try:
            with coupling.engine.tables(space) as tables:
                most = coupling.max_groundings
                return couple(beliefs, rules, max_groundings=most, space=space, tables=tables), notes
        except TooManyGroundings:
            if not coupling.discover or not rules:
                raise
            rules = rules[: len(rules) // 2]  # the surest come first
            notes = [*notes, f"these rules have too many groundings; the surest {len(rules):,} are used"]


def _config(coupling: Coupling, loaded: Loaded, lang: str) -> RunConfig:
    sources = loaded.sources
    scope, endpoint, drawn = sources.scope, sources.endpoint, sources.in_place
    in_place = None
    if drawn and endpoint:
        in_place = InPlaceConfig(
            **asdict(drawn),
            timeout=endpoint.retry.timeout,
            rate=endpoint.retry.rate,
            max_groundings=coupling.max_groundings,
        )
    return RunConfig(
        files=tuple(
            InputFile(path=printable(str(path)), role=role, sha256=loaded.digests[str(path)])
            for role, paths in sources.by_role().items()
            for path in paths
        ),
        ontologies=tuple(
            InputFile(path=printable(str(path)), role=ONTOLOGY, sha256=sha256_of(path))
            for path in coupling.ontologies
        ),
        rules=tuple(printable(str(path)) for path in coupling.rules),
        mine=asdict(coupling.mine) if coupling.mine else None,
        discover=coupling.discover,
        endpoint=endpoint.name if endpoint else None,
        scope=ScopeConfig(
            predicates=tuple(scope.predicates),
            graph=scope.graph,
            query=scope.query.text if scope.query else None,
        ),
        labels=NameConfig(properties=tuple(sources.label_properties), lang=lang),
        notes=tuple(loaded.notes),
        accounts=loaded.beliefs.accounts,
        in_place=in_place,
        evaluation={"seed": drawn.seed} if drawn else None,
        prefixes=loaded.beliefs.prefixes.declared,
    )


@contextmanager
def _workshop(folder: Path) -> Iterator[Path]:
    """Open a directory beside the final one, for one process at a time; keep what a stopped pull fetched."""
    layout = RunLayout(folder).unfinished
    partial = layout.folder
    lock = _lock(layout, folder)
    try:
        yield partial
    except (KgevalError, KeyboardInterrupt, OSError) as stop:
        error = stop
        if isinstance(stop, OSError):
            reason = stop.strerror or printable(str(stop))
            error = RunError(f"{printable(str(folder))} cannot be written: {reason}")
        if not any(layout.pages.glob("*.nt")) and not _has_draws(layout):
            _clear(layout)
        elif isinstance(error, KgevalError):
            error = type(error)(f"{error} (what was fetched is kept: the same command goes on from there)")
        raise error from stop
    finally:
        os.close(lock)


def _lock(layout: RunLayout, folder: Path) -> int:
    """Make the workshop, or take the one that an earlier kgeval left; nobody else's directory is touched."""
    partial = layout.folder
    try:
        if partial.exists() and not layout.lock.exists():
            raise RunError(
                f"{printable(str(partial))} is in the way and is not a stopped kgeval's; move it or choose "
                "another run directory"
            )
        partial.mkdir(exist_ok=True)
        lock = os.open(layout.lock, os.O_CREAT | os.O_RDWR, 0o644)
    except OSError as error:
        raise RunError(f"{printable(str(folder))} cannot be made: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise RunError(f"another kgeval is making {printable(str(folder))}; wait for it to end") from error
    return lock


def _has_draws(layout: RunLayout) -> bool:
    return layout.draws.exists() and layout.draws.stat().st_size > 0


def _clear(layout: RunLayout) -> None:
    """Remove what kgeval made, and the directory if nothing else is in it."""
    for folder in (layout.pages, *layout.parts):
        shutil.rmtree(folder, ignore_errors=True)
    drawn = (layout.draws, layout.drawn_rules, layout.draw_plan)
    for file in (layout.config, *drawn, layout.verdicts, layout.lock):
        file.unlink(missing_ok=True)
    with suppress(OSError):
        layout.folder.rmdir()

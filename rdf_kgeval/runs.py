"""Run directories: made whole or not at all, and opened again.

A run directory holds `config.json` (what it was made from, without credentials), `beliefs/`, and `coupling/`
with the rules and the coupling graph. It is put together beside its final place, in RUN.partial, which a
stopped pull leaves behind so that it can go on.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from rdf_kgeval.beliefs import Beliefs, Role
from rdf_kgeval.coupling import CouplingGraph, couple
from rdf_kgeval.discovery import propose_rules, propose_scope
from rdf_kgeval.drawlog import notes_of, read_draws
from rdf_kgeval.drawnruns import DRAWN, draw_more, draw_run, load_graph, notice_change, save_graph
from rdf_kgeval.endpoint import Endpoint
from rdf_kgeval.engine import LOCAL, Engine
from rdf_kgeval.errors import EndpointError, InputError, KgevalError, RunError
from rdf_kgeval.fieldtypes import checked
from rdf_kgeval.files import Progress
from rdf_kgeval.grounding import MAX_GROUNDINGS
from rdf_kgeval.inplace import LOG
from rdf_kgeval.labels import Labels
from rdf_kgeval.rule import Rule
from rdf_kgeval.runconfig import FORMAT, check_digests, digest_of, digests, read_config, sync, write_config
from rdf_kgeval.sources import Loaded, Sources, load
from rdf_kgeval.space import RAM, Space
from rdf_kgeval.text import plural, printable
from rdf_kgeval.verdicts import Record, VerdictLog, belief_of, read_log

if TYPE_CHECKING:
    from rdf_kgeval.evaluation import Evaluation
    from rdf_kgeval.miningindex import MiningOptions
    from rdf_kgeval.settings import Settings

_LOCK = ".kgeval-lock"
_VERDICTS = "verdicts.jsonl"


@dataclass(frozen=True, kw_only=True)
class Run:
    """An opened run directory."""

    folder: Path
    config: dict[str, Any]
    graph: CouplingGraph
    engine: Engine = LOCAL
    """What solves its models."""

    @property
    def beliefs(self) -> Beliefs:
        """The beliefs that the graph couples."""
        return self.graph.beliefs

    def row(self, belief: str) -> int:
        """The row that a user names: by its id, the beginning of it, or its triple in N-Triples."""
        if not belief.lstrip().startswith(("<", "_:")):
            return self.beliefs.row(belief)
        try:
            line = belief.strip().removesuffix(".") + " ."
            (quad,) = ox.parse(line.encode(), format=ox.RdfFormat.N_TRIPLES)
        except (SyntaxError, ValueError) as error:
            raise InputError(f"{printable(belief, 200)!r} is not one triple in N-Triples") from error
        row = self.beliefs.find(str(quad.subject), str(quad.predicate), str(quad.object))
        if row is None:
            raise InputError(f"{printable(belief, 200)} is not in the run {printable(str(self.folder))}")
        return row

    @property
    def in_place(self) -> bool:
        """Whether the beliefs stay at the endpoint."""
        return bool(self.config.get("in_place"))

    @property
    def verdict_log(self) -> Path:
        """Where the verdicts are."""
        return self.folder / _VERDICTS

    def refuse_lost_verdicts(self) -> None:
        """Raise an error if there is no log of verdicts: every run begins with an empty one."""
        if not os.path.lexists(self.verdict_log):
            raise RunError(
                f"{printable(str(self.verdict_log))} is missing, and with it what people said; restore it "
                "from a copy, or make an empty file of that name to start anew"
            )

    def refuse_foreign(self, records: Iterable[Record]) -> None:
        """Raise an error if a record is about a belief that the run does not evaluate."""
        for number, belief in enumerate(map(belief_of, records), start=1):
            try:
                known = len(belief) == 64 and self.beliefs.role[self.beliefs.row(belief)] == Role.BELIEF
            except InputError:
                known = False
            if not known:
                raise RunError(
                    f"{printable(str(self.verdict_log))}, line {number} is on a belief that this run does "
                    "not evaluate; restore the file from a copy, or move it to the run that it belongs to"
                )

    def in_words(self, atom: int) -> str:
        """An atom of the graph as people read it, safe to show."""
        return printable(self.labels.in_words(self.graph.triple(atom)), 200)

    def refuse_others(self, sources: Sources) -> None:
        """Raise an error if these are not the sources that the run was made from."""
        files = [
            (role, digest_of(path))
            for role, paths in _by_role(sources).items()
            for path in paths
            if path.is_file()
        ]
        endpoint = sources.endpoint.name if sources.endpoint else None
        if (
            files != [(file["role"], file["sha256"]) for file in self.config["files"]]
            or endpoint != self.config["endpoint"]
            or (sources.in_place is not None) != self.in_place
        ):
            raise RunError(
                f"{printable(str(self.folder))} was made from other sources; choose another --run, or name "
                "no sources to go on with it"
            )

    def settings(self, **options: Any) -> "Settings":
        """How the run is evaluated, with what the user asks for now in place of what it says."""
        from rdf_kgeval.settings import Settings  # commands that evaluate nothing need no compiled kernels

        try:
            kept = checked(Settings(**self.config.get("evaluation", {})))
        except (TypeError, InputError) as error:
            raise RunError(
                f"{printable(str(self.folder))}/config.json has settings that this kgeval does not know"
            ) from error
        return kept.changed(**options)

    @cached_property
    def labels(self) -> Labels:
        """Labels as the run's owner wants them."""
        chosen = self.config["labels"]
        return Labels(beliefs=self.beliefs, properties=chosen["properties"], lang=chosen["lang"])


@dataclass(frozen=True, kw_only=True)
class Coupling:
    """What to couple the beliefs by."""

    ontologies: Sequence[Path] = ()
    rules: Sequence[Path] = ()
    follow_imports: bool = False
    max_groundings: int = MAX_GROUNDINGS
    mine: "MiningOptions | None" = None
    """What to mine from the beliefs themselves, beside the rules of the files."""
    discover: bool = False
    """Take what the beliefs say of themselves, and what can be mined from them quickly."""
    engine: Engine = LOCAL
    """What grounds the rules."""

    def read(self) -> list[Rule]:
        """All rules, of the ontologies first."""
        from rdf_kgeval.ontology import read_ontology  # with rdflib, which an opened run does not need
        from rdf_kgeval.rules import read_rules

        ontology = (
            read_ontology(*self.ontologies, follow_imports=self.follow_imports) if self.ontologies else []
        )
        return [*ontology, *(read_rules(*self.rules) if self.rules else [])]


def create_run(
    folder: Path,
    sources: Sources,
    coupling: Coupling,
    lang: str,
    progress: Progress,
    repeatable: Mapping[str, Any] | None = None,
    memory_limit: int | None = None,
) -> Loaded:
    """Read the sources into a new run directory and couple the beliefs.

    Args:
        folder: the run directory to make.
        sources: what to read.
        coupling: by what to couple it.
        lang: the language of labels for people.
        progress: called as it goes on.
        repeatable: further entries of `config.json`: what is needed to do it again.
        memory_limit: in bytes; it is the run's, and holds for all that is done with it later.
    """
    if folder.exists():
        raise RunError(f"{printable(str(folder))} already exists; choose another name or remove it")
    rules = coupling.read()
    with _workshop(folder) as partial:
        space = Space(memory_limit, partial)
        if sources.in_place:
            loaded = draw_run(partial, sources, rules, mine=coupling.mine is not None, progress=progress)
        else:
            loaded = load(sources, partial / "pages", progress, space)
        if sources.propose_scope and not sources.scope.predicates and sources.scope.query is None:
            beliefs, notes = propose_scope(loaded.beliefs, sources.label_properties)
            loaded = replace(loaded, beliefs=beliefs, notes=[*loaded.notes, *notes])
        graph, notes = _couple(loaded.beliefs, rules, coupling, progress, space)
        loaded = replace(loaded, notes=[*loaded.notes, *notes])
        if sources.in_place:
            save_graph(partial, graph)
        else:
            for name in ("beliefs", "coupling"):
                shutil.rmtree(partial / name, ignore_errors=True)
            loaded.beliefs.save(partial / "beliefs")
            graph.save(partial / "coupling")
        shutil.rmtree(partial / "pages", ignore_errors=True)
        if space.note:
            loaded = replace(loaded, notes=[*loaded.notes, space.note])
        lasting = {} if sources.in_place else digests(partial)
        made = {"memory_limit": memory_limit, "sha256": lasting, **(repeatable or {})}
        write_config(partial, {**_config(sources, coupling, loaded, lang), **made})
        (partial / _VERDICTS).touch()
        (partial / _LOCK).unlink()
        for path in (*partial.rglob("*"), partial):
            sync(path)
        partial.rename(folder)
        sync(folder.parent)
    return loaded


def _couple(
    beliefs: Beliefs, rules: list[Rule], coupling: Coupling, progress: Progress, space: Space = RAM
) -> tuple[CouplingGraph, Sequence[str]]:
    """Couple by the rules given and those found in the beliefs; of the latter, by as many as will do."""
    notes: Sequence[str] = ()
    if coupling.mine is not None:
        from rdf_kgeval.mining import mine

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
        except InputError:
            if not coupling.discover or not rules:
                raise
            rules = rules[: len(rules) // 2]  # the surest come first
            notes = [*notes, f"these rules have too many groundings; the surest {len(rules):,} are used"]


def open_run(folder: Path, engine: Engine = LOCAL) -> Run:
    """Open a run directory that `create_run` made, with an engine to solve its models.

    Raises:
        RunError: it is none, or a file of it is missing or was changed.
    """
    config = read_config(folder)
    check_digests(folder, config)
    if config.get("in_place"):
        graph = load_graph(folder, config)
        config["notes"] = notes_of(read_draws(folder / LOG))
    else:
        space = Space(config["memory_limit"], folder)
        graph = CouplingGraph.load(folder / "coupling", Beliefs.load(folder / "beliefs"), space)
    return Run(folder=folder, config=config, graph=graph, engine=engine)


def read_evaluation(run: Run) -> "Evaluation":
    """What is known in a run, to look at only."""
    run.refuse_lost_verdicts()
    return new_evaluation(run, read_log(run.verdict_log))


@contextmanager
def open_evaluation(run: Run, options: Mapping[str, Any], threads: int = 1) -> Iterator["Evaluation"]:
    """Go on with a run, alone; what is recorded is on disk before it counts.

    Args:
        run: an opened run directory.
        options: fields of `Settings` as a user gives them; with verdicts, only the budget may change.
        threads: how many threads may look ahead.
    """
    with open_log(run, options) as log:
        yield new_evaluation(run, log.records, threads, append=log.append)


@contextmanager
def open_log(run: Run, options: Mapping[str, Any]) -> Iterator[VerdictLog]:
    """The run's verdict log to append to, alone; the run's settings change as in `open_evaluation`."""
    run.refuse_lost_verdicts()
    with VerdictLog(run.verdict_log) as log:
        settings = run.settings(**options)
        started = run.settings()
        if log.records and settings.fixed() != started.fixed():
            raise RunError(
                f"{printable(str(run.folder))} has verdicts that were asked for with {started.described()}; "
                "go on without other options, or make another run"
            )
        if run.in_place and settings.seed != run.config["in_place"]["seed"]:
            raise RunError(
                f"the sample of {printable(str(run.folder))} was drawn with the seed "
                f"{run.config['in_place']['seed']}; go on without --seed, or make another run"
            )
        if run.config.get("evaluation") != settings.to_json():
            run.config["evaluation"] = settings.to_json()
            write_config(run.folder, run.config)
        yield log


def new_evaluation(
    run: Run, records: Iterable[Record], threads: int = 1, append: Callable[..., None] | None = None
) -> "Evaluation":
    """What follows from records; without `append`, what it is told to record is not written."""
    from rdf_kgeval.evaluation import Evaluation

    records = tuple(records)
    run.refuse_foreign(records)
    return Evaluation(
        run.graph,
        run.settings(),
        records,
        append=append,
        names=run.labels,
        threads=threads,
        solve=run.engine.solve,
    )


def draw_further(run: Run, short: Iterable[str], endpoint: Endpoint | None, progress: Progress) -> Run:
    """The run with more of the predicates that are used up.

    Raises:
        EndpointError: the endpoint fails; all verdicts and draws are kept.
    """
    try:
        draw_more(run.folder, run.config, short, endpoint, progress)
    except EndpointError as error:
        raise type(error)(
            f"{error} (the sample is used up and more must be drawn; all answers are kept: the same command "
            "goes on from here)"
        ) from error
    return open_run(run.folder)


def look_for_changes(run: Run, endpoint: Endpoint | None, progress: Progress) -> str | None:
    """What users must know of the store since it was counted, in a sentence."""
    if not run.in_place:
        return None
    try:
        return notice_change(run.folder, run.config, endpoint, progress)
    except EndpointError as error:
        return f"whether the store has changed since it was counted is not known: {error}"


def _config(sources: Sources, coupling: Coupling, loaded: Loaded, lang: str) -> dict[str, Any]:
    scope = sources.scope
    in_place: dict[str, Any] = {}
    if sources.in_place and sources.endpoint:
        patience = sources.endpoint.patience
        options = asdict(sources.in_place)
        waiting = {"timeout": patience.timeout, "rate": patience.rate}
        in_place = {
            "in_place": {**options, **waiting, "max_groundings": coupling.max_groundings},
            "evaluation": {"seed": sources.in_place.seed},
        }
    return {
        **in_place,
        "version": FORMAT,
        "files": [
            {"path": printable(str(path)), "role": role, "sha256": loaded.digests[str(path)]}
            for role, paths in _by_role(sources).items()
            for path in paths
        ],
        "ontologies": [
            {"path": printable(str(path)), "sha256": digest_of(path)} for path in coupling.ontologies
        ],
        "rules": [printable(str(path)) for path in coupling.rules],
        "mine": asdict(coupling.mine) if coupling.mine else None,
        "discover": coupling.discover,
        "endpoint": sources.endpoint.name if sources.endpoint else None,
        "scope": {
            "predicates": list(scope.predicates),
            "graph": scope.graph,
            "query": scope.query.text if scope.query else None,
        },
        "labels": {"properties": list(sources.label_properties), "lang": lang},
        "notes": list(loaded.notes),
    }


def _by_role(sources: Sources) -> dict[str, Sequence[Path]]:
    return {"belief": sources.files, "context": sources.context, "context_unknown": sources.context_unknown}


@contextmanager
def _workshop(folder: Path) -> Iterator[Path]:
    """A directory beside the final one, for one process at a time; what a stopped pull fetched stays."""
    partial = folder.with_name(folder.name + ".partial")
    lock = _lock(partial, folder)
    try:
        yield partial
    except (KgevalError, KeyboardInterrupt, OSError) as stop:
        error = stop
        if isinstance(stop, OSError):
            reason = stop.strerror or printable(str(stop))
            error = RunError(f"{printable(str(folder))} cannot be written: {reason}")
        if not any(partial.glob("pages/*.nt")) and not _has_draws(partial):
            _clear(partial)
        elif isinstance(error, KgevalError):
            error = type(error)(f"{error} (what was fetched is kept: the same command goes on from there)")
        raise error from stop
    finally:
        os.close(lock)


def _lock(partial: Path, folder: Path) -> int:
    """Make the workshop, or take the one that an earlier kgeval left; nobody else's directory is touched."""
    try:
        if partial.exists() and not (partial / _LOCK).exists():
            raise RunError(
                f"{printable(str(partial))} is in the way and is not a stopped kgeval's; move it or choose "
                "another run directory"
            )
        partial.mkdir(exist_ok=True)
        lock = os.open(partial / _LOCK, os.O_CREAT | os.O_RDWR, 0o644)
    except OSError as error:
        raise RunError(f"{printable(str(folder))} cannot be made: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise RunError(f"another kgeval is making {printable(str(folder))}; wait for it to end") from error
    return lock


def _has_draws(partial: Path) -> bool:
    log = partial / LOG
    return log.exists() and log.stat().st_size > 0


def _clear(partial: Path) -> None:
    """Remove what kgeval made, and the directory if nothing else is in it."""
    for name in ("pages", "beliefs", "coupling"):
        shutil.rmtree(partial / name, ignore_errors=True)
    for name in ("config.json", *DRAWN, _VERDICTS, _LOCK):
        (partial / name).unlink(missing_ok=True)
    with suppress(OSError):
        partial.rmdir()

"""The whole method, as the paper's Algorithm 1 reads: prepare, ask, estimate, publish.

`prepare` reads beliefs, chooses what to evaluate, couples it by rules and saves all of it as a run.
`ask` picks beliefs, has somebody judge them and infers what follows, until it is known well enough.
`Evaluation` is what is then known: the accuracy with its interval, labels, and their explanations.
`publish` writes it as linked data and as a report.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from rdf_kgeval.common.progress import Show, shown, unseen
from rdf_kgeval.common.text import printable
from rdf_kgeval.coupling.graph import CouplingGraph
from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.consult import consult_shown
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.publishing.view import View, check_paths
from rdf_kgeval.runs.inputs import Inputs, Options, Rules, spell_out
from rdf_kgeval.runs.run import Run, open_log, open_run
from rdf_kgeval.verdicts.log import LogRecord, read_log
from rdf_kgeval.verdicts.oracles import AnswerFunction, Oracle, as_oracle

if TYPE_CHECKING:
    from rdf_kgeval.publishing.rdf import RecordOptions
    from rdf_kgeval.runs.create import Coupling
    from rdf_kgeval.sources.endpoint.client import Endpoint
    from rdf_kgeval.sources.load import Sources

Consult = Callable[["Evaluation"], bool]
"""Asks until the evaluation stops (true) or nobody answers any more (false)."""


@spell_out
def evaluate(
    source: Any = None,
    oracle: Oracle | AnswerFunction | None = None,
    *,
    rules: Rules = (),
    ontology: Any = (),
    run: str | Path | None = None,
    threads: int = 1,
    endpoint: "Endpoint | None" = None,
    **options: Unpack[Options],
) -> "Evaluation":
    """Evaluate a graph from the first question to the accuracy.

    Without rules or ontology, it takes the axioms that the graph states about itself and quickly mines rules
    from it, as `kgeval evaluate` does; `mine=False` does without.

    Args:
        source: a file or several, an rdflib Graph, beliefs, a coupling graph, the URL of an endpoint or of a
            file, or a run, which keeps every answer and is gone on with.
        oracle: a function of a `Question` that returns True, False, an `Answer`, or None to skip it; or an
            object such as `GoldOracle("gold.csv")`.
        rules: rules, files and folders of rules, or a list of such.
        ontology: files of RDFS or OWL, an rdflib Graph, or rules.
        run: the run directory to make, or to go on with; then source, rules and options must be those that it
            was made with, or be left out.
        threads: how many threads may look ahead.
        endpoint: where a run in place draws, if not at the address that it keeps.
        **options: what to read, as in `Inputs`, and how to ask and estimate, as in `Settings`.
    """
    asked = as_oracle(oracle)
    inputs, method = Inputs.of(source, rules, ontology, run, options)
    endpoint = endpoint or inputs.endpoint
    graph = inputs.opened() or prepare(**inputs.preparation(method.get("seed", 0)), show=shown)
    evaluation = ask(graph, lambda e: consult_shown(e, asked, shown), method, threads, endpoint, shown)
    evaluation.inputs = inputs
    return evaluation


def prepare(
    folder: Path,
    sources: "Sources",
    coupling: "Coupling",
    *,
    lang: str = "en",
    memory_limit: int | None = None,
    settings: Settings | None = None,
    options: Mapping[str, object] | None = None,
    show: Show = unseen,
) -> Run:
    """Read beliefs and rules, couple them, and save all as a new run.

    Args:
        folder: the run directory to make.
        sources: what to read, and which of it to evaluate.
        coupling: by which rules to couple it.
        lang: the language of names for people.
        memory_limit: in bytes, also for what is done with the run later.
        settings: how to evaluate the run, if not as usual.
        options: options of the command line, kept to do it again.
        show: shows progress.
    """
    from rdf_kgeval.runs.create import new_run

    rules = coupling.read()
    with new_run(folder, memory_limit) as draft, show() as progress:
        draft.read(sources, rules, coupling, progress)
        draft.couple(rules, coupling, progress)
        draft.save(coupling, lang, settings, options)
    return open_run(folder, coupling.engine)


def ask(
    graph: CouplingGraph | Run,
    consult: Consult,
    options: Mapping[str, Any] | None = None,
    threads: int = 1,
    endpoint: "Endpoint | None" = None,
    show: Show = unseen,
) -> "Evaluation":
    """Have somebody asked until it is known well enough, or nobody answers any more.

    Where a sample in place is used up, more is drawn; at the end, the store is counted again.

    Args:
        graph: from `couple`, or a run, whose log takes every answer before it counts.
        consult: asks.
        options: fields of `Settings` as a user gives them; with answers, only the budget may change.
        threads: how many threads may look ahead.
        endpoint: where a run in place draws, if not at the address that it keeps.
        show: shows progress while drawing.
    """
    if not graph.beliefs.n_beliefs:
        lacking = f"{printable(str(graph.folder))} has" if isinstance(graph, Run) else "there is"
        raise InputError(f"{lacking} no belief to evaluate; choose a wider scope")
    while True:
        with open_evaluation(graph, options, threads) as evaluation:
            finished = consult(evaluation)
        run = evaluation.run
        if run is None or not run.in_place or not finished:
            return evaluation
        from rdf_kgeval.runs.drawing import draw_more, look_for_changes

        with show() as progress:
            if not evaluation.short:
                evaluation.change = look_for_changes(run, endpoint, progress)
                return evaluation
            graph = draw_more(run, evaluation.short, endpoint, progress)


@contextmanager
def open_evaluation(
    graph: CouplingGraph | Run, options: Mapping[str, Any] | None = None, threads: int = 1
) -> Iterator["Evaluation"]:
    """Open an evaluation to go on with, alone; what is recorded in a run is on disk before it counts."""
    if isinstance(graph, CouplingGraph):
        yield Evaluation(graph, Settings().changed(**(options or {})), threads=threads)
    else:
        with open_log(graph, options or {}) as (run, log):
            yield evaluation_of(run, log.records, threads, log.append)


def read_evaluation(run: Run) -> "Evaluation":
    """Open the evaluation of a run to look at only."""
    run.check_verdicts_exist()
    return evaluation_of(run, read_log(run.layout.verdicts))


def evaluation_of(
    run: Run, records: Sequence[LogRecord] = (), threads: int = 1, append: Callable[..., None] | None = None
) -> "Evaluation":
    """Evaluate a run from records of a log; without `append`, what it records is not written."""
    run.check_own(records)
    kept: dict[str, Any] = {"names": run.names, "passages": run.passages, "solve": run.engine.solve}
    evaluation = Evaluation(run.graph, run.settings(), records, append=append, threads=threads, **kept)
    evaluation.run, evaluation.origin = run, run.config
    return evaluation


def publish(
    evaluation: "Evaluation",
    record: Path | None = None,
    report: Path | None = None,
    options: "RecordOptions | None" = None,
    show: Show = unseen,
    **reporting: Any,
) -> None:
    """Write an evaluation to a file as linked data, to another as a report, or to both."""
    check_paths(record, report, reporting.get("format_"))
    with show() as progress:
        if record is not None:
            evaluation.publish(record, options, progress)
        if report is not None:
            evaluation.report(report, progress=progress, **reporting)


class Evaluation(View):
    """What people said so far, what follows from it, and what can be made of it."""

    run: Run | None = None
    """The run directory, where there is one."""
    inputs: Inputs | None = None
    """What `evaluate` was given; a temporary run directory goes with it."""

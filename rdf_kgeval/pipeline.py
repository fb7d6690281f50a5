"""The whole method, as the paper's Algorithm 1 reads: prepare, ask, estimate, publish.

`prepare` reads beliefs, chooses what to evaluate, couples it by rules and saves all of it as a run.
`ask` picks beliefs, has somebody judge them and infers what follows, until it is known well enough.
`Evaluation` is what is then known: the accuracy with its interval, labels, and their explanations.
`publish` writes it as linked data and as a report.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdf_kgeval.common.progress import Show, unseen
from rdf_kgeval.common.text import printable
from rdf_kgeval.coupling.graph import CouplingGraph
from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.consult import consult
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.evaluation.state import State
from rdf_kgeval.runs.run import Run, open_log, open_run
from rdf_kgeval.verdicts.log import LogRecord, read_log
from rdf_kgeval.verdicts.oracles import AnswerFunction, Oracle, as_oracle

if TYPE_CHECKING:
    import pandas

    from rdf_kgeval.beliefs.accounts import Accounts
    from rdf_kgeval.publishing.rdf import RecordOptions
    from rdf_kgeval.runs.create import Coupling
    from rdf_kgeval.sources.endpoint.client import Endpoint
    from rdf_kgeval.sources.load import Sources

Consult = Callable[["Evaluation"], bool]
"""Asks until the evaluation stops (true) or nobody answers any more (false)."""


def evaluate(
    graph: CouplingGraph | Run,
    oracle: Oracle | AnswerFunction,
    *,
    threads: int = 1,
    endpoint: "Endpoint | None" = None,
    **options: Any,
) -> "Evaluation":
    """Evaluate a graph from the first question to the last.

    Args:
        graph: from `couple`, or a run, which keeps every answer and is gone on with.
        oracle: answers the questions, such as `GoldOracle("gold.csv")`, or a function of a question that
            returns a boolean, an `Answer`, or None to skip it.
        threads: how many threads may look ahead.
        endpoint: where a run in place draws, if not at the address that it keeps.
        **options: fields of `Settings`, such as `policy`, `budget` and `seed`.
    """
    asked = as_oracle(oracle)
    return ask(graph, lambda evaluation: consult(evaluation, asked), options, threads, endpoint)


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
        memory_limit: in bytes; it holds for everything that is done with the run later.
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
    solve = run.engine.solve
    evaluation = Evaluation(
        run.graph,
        run.settings(),
        records,
        append=append,
        names=run.names,
        passages=run.passages,
        threads=threads,
        solve=solve,
    )
    evaluation.run = run
    return evaluation


def publish(
    evaluation: "Evaluation",
    record: Path | None = None,
    report: Path | None = None,
    options: "RecordOptions | None" = None,
    show: Show = unseen,
    **reporting: Any,
) -> None:
    """Write an evaluation as linked data and as a report.

    Args:
        evaluation: what to write.
        record: the file of the linked data; its suffix says in which format.
        report: the file of the report.
        options: what of it becomes linked data, and under which names.
        show: shows progress.
        **reporting: the report's format and thresholds, as `write_report` takes them.
    """
    from rdf_kgeval.publishing.outputs import output_of, write_report
    from rdf_kgeval.publishing.rdf import format_of
    from rdf_kgeval.publishing.rdf import publish as write_record

    if record is not None:
        format_of(record)
    if report is not None:
        output_of(report, reporting.get("format_"))
    origin = evaluation.run.config if evaluation.run else None
    with show() as progress:
        if record is not None:
            write_record(evaluation, record, options, origin, progress)
        if report is not None:
            write_report(evaluation, report, origin, progress, **reporting)


class Evaluation(State):
    """What people said so far, what follows from it, and what can be made of it."""

    run: Run | None = None
    """The run directory, where there is one."""
    change: str | None = None
    """What became of the store since the sample was drawn, in a sentence."""

    @property
    def accounts(self) -> "Accounts | None":
        """What became of every triple read; None where it is not known, as in runs of older versions."""
        return self.run.config.accounts if self.run else self.graph.beliefs.accounts

    def report(self, path: str | Path, format_: str | None = None) -> None:
        """Write a report for people; the ending says in which format: .html, .md, .xml (JUnit) or .csv."""
        publish(self, report=Path(path), format_=format_)

    def publish(self, path: str | Path, options: "RecordOptions | None" = None) -> None:
        """Write linked data; the suffix says in which format."""
        publish(self, record=Path(path), options=options)

    def to_pandas(self) -> "pandas.DataFrame":
        """Return a table of all labels, as `kgeval labels` lists them."""
        from rdf_kgeval.publishing.labels import to_pandas

        return to_pandas(self)

    def _repr_html_(self) -> str:
        from rdf_kgeval.publishing.report.page import notebook

        return notebook(self, self.run.config if self.run else None)

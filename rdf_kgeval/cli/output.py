"""Give results out: at the terminal, in files, and to the user's store."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rdf_kgeval.cli.options import OutputOptions
from rdf_kgeval.cli.terminal import complain, print_json, progress_bar, say
from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.result import missed_thresholds

if TYPE_CHECKING:
    from rdf_kgeval.evaluation.result import Result
    from rdf_kgeval.evaluation.state import State
    from rdf_kgeval.pipeline import Evaluation
    from rdf_kgeval.publishing.rdf import RecordOptions
    from rdf_kgeval.runs.run import Run


def report(evaluation: "Evaluation", as_json: bool, seconds: float, *, by_predicate: bool = True) -> None:
    """Print the result."""
    from rich.console import Console

    result = evaluation.result()
    if as_json:
        print_json({**result.to_json(), **accounts_json(evaluation), "seconds": seconds})
        return
    Console().print(sentence(result), highlight=False, soft_wrap=True)
    if by_predicate:
        print_groups("predicate", {name: group.to_json() for name, group in result.by_predicate.items()})


def accounts_json(evaluation: "Evaluation") -> dict[str, Any]:
    """Return what became of every triple read, as `--json` prints it; nothing for runs of older versions."""
    accounts = evaluation.accounts
    return accounts.to_json() if accounts else {}


def print_groups(title: str, groups: dict[str, dict[str, Any]]) -> None:
    """Print a table of estimates, a row for each group."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    counts = [
        column for column in ("beliefs", "asked", "inferred") if column in next(iter(groups.values()), {})
    ]
    table = Table(box=None, header_style="bold")
    table.add_column(title, overflow="fold")
    for column in (*counts, "accuracy", "interval"):
        table.add_column(column, justify="right")
    for name, entry in groups.items():
        accuracy = "unknown" if entry["accuracy"] is None else f"{entry['accuracy']:.1%}"
        interval = "{:.1%} to {:.1%}".format(*entry["interval"]) if entry["interval"] else ""
        cells = (f"{entry[column]:,}" for column in counts)
        table.add_row(Text(printable(name, 100)), *cells, accuracy, interval)
    Console().print(table)


def sentence(result: "Result") -> str:
    """Put a result into words."""
    asked, beliefs = result.asked, plural(result.beliefs, "belief")
    known = f"{asked:,} of {beliefs} asked, {result.inferred:,} inferred"
    if result.accuracy is None:
        return f"accuracy unknown: {known}"
    if result.interval is None:
        from rdf_kgeval.evaluation.methods import METHODS

        none = not METHODS[result.method].interval
        why = "which carries no interval" if none else "whose interval is given when asking stops"
        return f"accuracy {result.accuracy:.1%} by {result.method}, {why}: {known}"
    low, high = result.interval
    sure = f"between {low:.1%} and {high:.1%} ({result.level:.4g} level)"
    return f"accuracy {result.accuracy:.1%}, {sure}: {known}"


def check(evaluation: "State", min_accuracy: float | None, max_margin: float | None) -> None:
    """Exit with code 3 if a threshold of the user is missed."""
    missed = missed_thresholds(evaluation.accuracy, evaluation.interval, min_accuracy, max_margin)
    if missed:
        complain(f"kgeval: {' and '.join(missed)}")
        raise typer.Exit(3)


def check_output(output: OutputOptions, *, has_store: bool) -> None:
    """Raise an error for output that could not be written, before anything takes time."""
    from rdf_kgeval.beliefs.terms import iri_term

    if output.publish is not None:
        from rdf_kgeval.publishing.rdf import format_of

        format_of(output.publish)
    for path in (output.publish, output.report):
        if path is not None and not path.parent.is_dir():
            raise InputError(f"{printable(str(path))} cannot be written: its folder does not exist")
    if output.write_back is not None:
        iri_term(output.write_back)
        if not (has_store or output.update_endpoint):
            raise InputError("--write-back needs a store; name it with --endpoint or --update-endpoint")


def deliver(run: "Run", evaluation: "Evaluation", output: OutputOptions, endpoint: str | None = None) -> None:
    """Publish, write back and report, as far as asked for."""
    if output.publish is not None:
        publish_to(evaluation, output.publish)
    if output.write_back is not None:
        write_back_to(run, evaluation, output.write_back, endpoint, output.update_endpoint)
    if output.report is not None:
        report_to(evaluation, output.report)


def publish_to(evaluation: "Evaluation", path: Path, options: "RecordOptions | None" = None) -> None:
    """Write the record to a file."""
    from rdf_kgeval.pipeline import publish

    publish(evaluation, record=path, options=options, show=progress_bar)
    say(f"record: {printable(str(path))}")


def write_back_to(
    run: "Run",
    evaluation: "State",
    graph: str,
    endpoint: str | None,
    update_endpoint: str | None,
    options: "RecordOptions | None" = None,
) -> None:
    """Write the record to a graph of the store named, or else of the one that the beliefs are from."""
    from dataclasses import replace

    from rdf_kgeval.beliefs.terms import iri_term
    from rdf_kgeval.common.http.credentials import is_redacted
    from rdf_kgeval.publishing.rdf import RecordOptions, make_record
    from rdf_kgeval.publishing.writeback import Target

    own = run.config.endpoint
    query = endpoint or (own if own and not is_redacted(own) else None) or update_endpoint
    term = iri_term(graph)
    if run.config.scope.graph in (graph, term[1:-1], term):
        raise InputError(f"the graph {term} is the one evaluated; choose another for the record")
    if query is None:
        raise InputError("--write-back needs a store; name it with --endpoint or --update-endpoint")
    record = make_record(evaluation, replace(options or RecordOptions(), graph=term), run.config, quads=False)
    with progress_bar() as progress:
        triples = Target(term, query, update_endpoint).write(record, progress)
    say(f"{plural(triples, 'triple')} written to the graph {term}")


def report_to(evaluation: "Evaluation", path: Path, format_: str = "html", **thresholds: Any) -> None:
    """Write the report to a file."""
    from rdf_kgeval.pipeline import publish

    publish(evaluation, report=path, show=progress_bar, format_=format_, **thresholds)
    say(f"report: {printable(str(path))}")

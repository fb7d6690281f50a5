"""Give results out: at the terminal, in files, and to the user's store."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rdf_kgeval.cli.options import OutputOptions
from rdf_kgeval.cli.tables import print_table, print_text
from rdf_kgeval.cli.terminal import complain, print_json, progress_bar, say
from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.result import missed_thresholds
from rdf_kgeval.publishing.outputs import output_of

if TYPE_CHECKING:
    from rdf_kgeval.beliefs.prefixes import Prefixes
    from rdf_kgeval.evaluation.result import Result
    from rdf_kgeval.evaluation.state import State
    from rdf_kgeval.pipeline import Evaluation
    from rdf_kgeval.publishing.rdf import Annotations, RecordOptions
    from rdf_kgeval.runs.run import Run


def print_result(
    evaluation: "Evaluation", as_json: bool, seconds: float, *, by_predicate: bool = True
) -> None:
    """Print the estimates of predicates and, last, where one looks, the result."""
    result = evaluation.result()
    if as_json:
        print_json({**result.to_json(), **accounts_json(evaluation), "seconds": seconds})
        return
    if by_predicate:
        groups = {name: group.to_json() for name, group in result.by_predicate.items()}
        print_groups("predicate", groups, evaluation.graph.beliefs.prefixes)
    print_text(sentence(result))


def accounts_json(evaluation: "Evaluation") -> dict[str, Any]:
    """Return what became of every triple read, as `--json` prints it; nothing for runs of older versions."""
    accounts = evaluation.accounts
    return accounts.to_json() if accounts else {}


def print_groups(title: str, groups: dict[str, dict[str, Any]], prefixes: "Prefixes") -> None:
    """Print a table of estimates, a row for each group, those with most beliefs first."""
    counts = [
        column for column in ("beliefs", "asked", "inferred") if column in next(iter(groups.values()), {})
    ]
    rows = []
    for name, entry in sorted(groups.items(), key=lambda item: -item[1]["beliefs"]):
        accuracy = "unknown" if entry["accuracy"] is None else f"{entry['accuracy']:.1%}"
        interval = "{:.1%} to {:.1%}".format(*entry["interval"]) if entry["interval"] else ""
        cells = (f"{entry[column]:,}" for column in counts)
        rows.append([printable(prefixes.shorten(name)), *cells, accuracy, interval])
    print_table([title, *counts, "accuracy", "interval"], rows, lists_all="the report, or --json")


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


def check_folder(path: Path | None) -> None:
    """Raise an error for a file whose folder does not exist, before anything takes time."""
    if path is not None and not path.parent.is_dir():
        raise InputError(f"{printable(str(path))} cannot be written: its folder does not exist")


def check_output(output: OutputOptions, *, has_store: bool, report_format: str | None = None) -> None:
    """Raise an error for output that could not be written, before anything takes time."""
    from rdf_kgeval.beliefs.terms import iri_term

    chosen_annotations(output.annotations)
    if output.publish is not None:
        from rdf_kgeval.publishing.rdf import format_of

        format_of(output.publish)
    if output.report is not None:
        output_of(output.report, report_format)
    for path in (output.publish, output.report):
        check_folder(path)
    if output.write_back is not None:
        iri_term(output.write_back)
        if not (has_store or output.update_endpoint):
            raise InputError("--write-back needs a store; name it with --endpoint or --update-endpoint")


def deliver(
    run: "Run",
    evaluation: "Evaluation",
    output: OutputOptions,
    endpoint: str | None = None,
    **thresholds: Any,
) -> None:
    """Publish, write back and report, as far as asked for; the report knows the thresholds of the user."""
    from rdf_kgeval.publishing.rdf import RecordOptions

    options = RecordOptions(annotations=chosen_annotations(output.annotations))
    if output.publish is not None:
        publish_to(evaluation, output.publish, options)
    if output.write_back is not None:
        write_back_to(run, evaluation, output.write_back, endpoint, output.update_endpoint, options)
    if output.report is not None:
        report_to(evaluation, output.report, **thresholds)


def chosen_annotations(name: str) -> "Annotations":
    """Return which beliefs the user wants annotated."""
    from rdf_kgeval.publishing.record import Annotations

    if name not in tuple(Annotations):
        raise typer.BadParameter(f"annotations are {', '.join(Annotations)}")
    return Annotations(name)


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
    term = iri_term(run.beliefs.prefixes.expand(graph))
    if run.config.scope.graph in (term[1:-1], term):
        raise InputError(f"the graph {term} is the one evaluated; choose another for the record")
    if query is None:
        raise InputError("--write-back needs a store; name it with --endpoint or --update-endpoint")
    record = make_record(evaluation, replace(options or RecordOptions(), graph=term), run.config, quads=False)
    with progress_bar() as progress:
        triples = Target(term, query, update_endpoint).write(record, progress)
    say(f"{plural(triples, 'triple')} written to the graph {term}")


def report_to(evaluation: "Evaluation", path: Path, format_: str | None = None, **thresholds: Any) -> None:
    """Write the report to a file."""
    from rdf_kgeval.pipeline import publish

    publish(evaluation, report=path, show=progress_bar, format_=format_, **thresholds)
    say(f"report: {printable(str(path))}")

"""What came out of an evaluation, told at the terminal."""

from typing import TYPE_CHECKING, Any

import typer

from rdf_kgeval.cli.terminal import print_json, say
from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.evaluation.result import missed_thresholds

if TYPE_CHECKING:
    from rdf_kgeval.evaluation.result import Result
    from rdf_kgeval.evaluation.state import State


def report(evaluation: "State", as_json: bool, seconds: float, *, by_predicate: bool = True) -> None:
    """Print the result."""
    from rich.console import Console

    result = evaluation.result()
    if as_json:
        print_json({**result.to_json(), "seconds": seconds})
        return
    Console().print(sentence(result), highlight=False, soft_wrap=True)
    if by_predicate:
        print_groups("predicate", {name: group.to_json() for name, group in result.by_predicate.items()})


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
    """Exit code 3 where a threshold that the user set is missed."""
    missed = missed_thresholds(evaluation.accuracy, evaluation.interval, min_accuracy, max_margin)
    if missed:
        say(f"kgeval: {' and '.join(missed)}")
        raise typer.Exit(3)

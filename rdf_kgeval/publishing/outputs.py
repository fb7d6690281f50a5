"""Write reports. A new format is a module with a function, and a line here."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rdf_kgeval.common.disk import by_ending, write_text
from rdf_kgeval.common.registry import Entry, Registry

if TYPE_CHECKING:
    from rdf_kgeval.common.progress import Progress
    from rdf_kgeval.evaluation.state import State
    from rdf_kgeval.publishing.report.content import Report
    from rdf_kgeval.runs.config import RunConfig

Output = Callable[["Report"], str]
"""Writes a report; the same report gives the same text, and no text of a graph becomes markup."""


@dataclass(frozen=True)
class OutputFormat(Entry):
    """A format of reports, and the ending of its files; its code is an `Output`."""

    ending: str


OUTPUTS = Registry(
    "output format",
    OutputFormat("html", "publishing.report.page:page", "a page", ".html"),
    OutputFormat("markdown", "publishing.report.markdown:markdown", "text", ".md"),
    OutputFormat("junit", "publishing.report.junit:junit", "JUnit XML for CI", ".xml"),
    OutputFormat("csv", "publishing.report.table:table", "a table of the predicates", ".csv"),
)


def output_of(path: Path, format_: str | None = None) -> OutputFormat:
    """Return the format that a user names, or else the one that the file's ending asks for.

    Raises:
        InputError: there is no such format, or no format has this ending.
    """
    if format_ is not None:
        return OUTPUTS.choose(format_)
    return by_ending(path, {output.ending: output for output in OUTPUTS.values()})


def write_report(
    evaluation: "State",
    path: Path,
    origin: "RunConfig | None" = None,
    progress: "Progress" = lambda *_: None,
    *,
    format_: str | None = None,
    **thresholds: float | None,
) -> None:
    """Write a report to a file, whole or not at all.

    Args:
        evaluation: what to report on.
        path: the file.
        origin: what the run was made from.
        progress: called while it takes time.
        format_: one of `OUTPUTS`; by default the file's ending says which.
        **thresholds: `min_accuracy` and `max_margin` that the user accepts.

    Raises:
        InputError: no format is called so or has this ending, or the file cannot be written.
    """
    from rdf_kgeval.publishing.report.content import gather

    output: Output = output_of(path, format_).load()
    write_text(path, output(gather(evaluation, origin, progress, **thresholds)))

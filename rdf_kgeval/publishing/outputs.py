"""Write reports. A new format is a module with a function, and a line here."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rdf_kgeval.common.disk import write_text
from rdf_kgeval.common.registry import Entry, Registry

if TYPE_CHECKING:
    from rdf_kgeval.common.progress import Progress
    from rdf_kgeval.evaluation.state import State
    from rdf_kgeval.publishing.report.content import Report
    from rdf_kgeval.runs.config import RunConfig

Output = Callable[["Report"], str]
"""Writes a report; the same report gives the same text, and no text of a graph becomes markup."""

OUTPUTS = Registry(
    "output format",
    Entry("html", "publishing.report.page:page", "a page"),
    Entry("markdown", "publishing.report.markdown:markdown", "text"),
    Entry("junit", "publishing.report.junit:junit", "XML for CI"),
)


def write_report(
    evaluation: "State",
    path: Path,
    origin: "RunConfig | None" = None,
    progress: "Progress" = lambda *_: None,
    *,
    format_: str = "html",
    **thresholds: float | None,
) -> None:
    """Write a report to a file, whole or not at all.

    Args:
        evaluation: what to report on.
        path: the file.
        origin: what the run was made from.
        progress: called while it takes time.
        format_: one of `OUTPUTS`.
        **thresholds: `min_accuracy` and `max_margin` that the user accepts.

    Raises:
        InputError: there is no such format, or the file cannot be written.
    """
    from rdf_kgeval.publishing.report.content import gather

    output: Output = OUTPUTS.choose(format_).load()
    write_text(path, output(gather(evaluation, origin, progress, **thresholds)))

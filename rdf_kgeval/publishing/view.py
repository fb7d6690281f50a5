"""An evaluation as users of Python see it: in a line, in a notebook, as a table, a report and linked data."""

from pathlib import Path
from typing import TYPE_CHECKING

from rdf_kgeval.common.progress import Progress
from rdf_kgeval.evaluation.state import State

if TYPE_CHECKING:
    import pandas

    from rdf_kgeval.beliefs.accounts import Accounts
    from rdf_kgeval.publishing.rdf import RecordOptions
    from rdf_kgeval.runs.config import RunConfig


class View(State):
    """The state of an evaluation, to be looked at and written down."""

    origin: "RunConfig | None" = None
    """What was evaluated, where it is known."""
    change: str | None = None
    """What became of the store since the sample was drawn, in a sentence."""

    def __repr__(self) -> str:
        from rdf_kgeval.publishing.report.content import headline

        return f"<Evaluation of {headline(self, self.origin)}>"

    def _repr_html_(self) -> str:
        from rdf_kgeval.publishing.report.page import notebook

        return notebook(self, self.origin, self.notes)

    @property
    def accounts(self) -> "Accounts | None":
        """What became of every triple read; None where it is not known, as in runs of older versions."""
        return self.origin.accounts if self.origin else self.graph.beliefs.accounts

    @property
    def notes(self) -> list[str]:
        """Return what to know of the sources, the method and the store, in sentences."""
        kept = self.origin.notes if self.origin else ()
        return [*kept, *(note for note in (self.note, self.change) if note)]

    def to_pandas(self) -> "pandas.DataFrame":
        """Return a table of all labels, as `kgeval labels` lists them."""
        from rdf_kgeval.publishing.labels import to_pandas

        return to_pandas(self)

    def report(
        self,
        path: str | Path,
        format_: str | None = None,
        *,
        progress: Progress = lambda *_: None,
        **thresholds: float | None,
    ) -> None:
        """Write a report for people.

        Args:
            path: the file.
            format_: html, markdown, junit or csv, where the ending (.html, .md, .xml, .csv) does not say it.
            progress: called while it takes time.
            **thresholds: `min_accuracy` and `max_margin`, which you accept.
        """
        from rdf_kgeval.publishing.outputs import write_report

        write_report(self, Path(path), self.origin, progress, format_=format_, **thresholds)

    def publish(
        self,
        path: str | Path,
        options: "RecordOptions | None" = None,
        progress: Progress = lambda *_: None,
    ) -> None:
        """Write linked data.

        Args:
            path: the file; its ending says in which format.
            options: what becomes linked data, and under which names.
            progress: called while it takes time.
        """
        from rdf_kgeval.publishing.rdf import write_record

        write_record(self, Path(path), options, self.origin, progress)


def check_paths(record: Path | None, report: Path | None, format_: str | None = None) -> None:
    """Refuse files whose endings name no format, before anything is written.

    Raises:
        InputError: one does.
    """
    from rdf_kgeval.publishing.outputs import output_of
    from rdf_kgeval.publishing.rdf import format_of

    if record is not None:
        format_of(record)
    if report is not None:
        output_of(report, format_)

"""List the labels of beliefs, with soft truth and reason, a row each."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.state import State
from rdf_kgeval.inference.explanation import explain, reason

if TYPE_CHECKING:
    import pandas

COLUMNS = (
    "id", "subject", "predicate", "object", "label", "truth", "source", "reason",
    "sentence", "annotator", "time", "note", "evidence",
)  # fmt: skip
"""`source` says whether people said it; `evidence` is the page that they named."""


def label_rows(evaluation: State, *, wrong: bool = False) -> Iterator[dict[str, Any]]:
    """Describe each belief that has a label, by column.

    Args:
        evaluation: labels the beliefs.
        wrong: leave out what is true.
    """
    beliefs, inference = evaluation.graph.beliefs, evaluation.inference
    for position, (row, label) in enumerate(
        zip(beliefs.rows.tolist(), inference.label().tolist(), strict=True)
    ):
        if label == 0 or (label == 1 and not wrong):
            human = row in inference.verdicts
            said = list(evaluation.opinions_on(position).values())
            why = "" if human else reason(explain(inference, row, most=1), evaluation.in_words)
            values = (
                beliefs.id(row),
                *beliefs.triple(row),
                label,
                round(float(inference.x[row]), 4),
                "human" if human else "inferred",
                why,
                evaluation.in_words(row),
                _joined(verdict.annotator for verdict in said),
                max((verdict.time for verdict in said), default=""),
                _joined(verdict.note for verdict in said),
                _joined(verdict.source for verdict in said),
            )
            yield dict(zip(COLUMNS, values, strict=True))


def _joined(texts: Iterable[str | None]) -> str:
    return "; ".join(filter(None, texts))


def to_pandas(evaluation: State) -> "pandas.DataFrame":
    """Return the rows of all labels as a table.

    Raises:
        InputError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise InputError("a table needs pandas, which is not installed; pip install pandas") from error
    return pandas.DataFrame(list(label_rows(evaluation)), columns=list(COLUMNS))

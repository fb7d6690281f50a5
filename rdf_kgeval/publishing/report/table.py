"""The report as CSV, for spreadsheets and programs."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rdf_kgeval.common.text import printable
from rdf_kgeval.evaluation.result import GroupResult, Result
from rdf_kgeval.publishing.report.content import Report


def table(report: Report) -> str:
    """Write a row for the whole graph, which has no predicate, and one for each predicate."""
    result = report.result
    rows = [_row("", "the whole graph", result)]
    rows += [_row(p, report.predicates[p], entry) for p, entry in result.by_predicate.items()]
    return to_csv(list(rows[0]), rows)


def _row(predicate: str, name: str, entry: GroupResult | Result) -> dict[str, Any]:
    lower, upper = entry.interval or (None, None)
    return {
        "predicate": predicate,
        "name": name,
        "beliefs": entry.beliefs,
        "asked": entry.asked,
        "inferred": entry.inferred,
        "accuracy": entry.accuracy,
        "lower": lower,
        "upper": upper,
    }


def to_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Write rows as CSV; no text in it becomes a formula of a spreadsheet."""
    file = io.StringIO()
    writer = csv.DictWriter(file, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: _cell(v) if isinstance(v, str) else v for k, v in row.items()} for row in rows)
    return file.getvalue()


def _cell(text: str) -> str:
    shown = printable(text)
    return f"'{shown}" if shown.lstrip()[:1] in ("=", "+", "-", "@") else shown

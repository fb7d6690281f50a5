"""A comparison of methods, as a page, as text and as CSV."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from rdf_kgeval.common.text import plural
from rdf_kgeval.evaluation.simulation import MethodSummary, Trial
from rdf_kgeval.publishing.report.charts import COLOURS, Curve, boxes, curves, grouped_bars
from rdf_kgeval.publishing.report.table import to_csv
from rdf_kgeval.publishing.report.templates import render

_ERRORS = {"delta_overall": "Delta overall", "delta_predicate": "Delta predicate"}


class _Plot(NamedTuple):
    caption: str
    chart: Markup
    legend: Mapping[int, str]
    """What each colour stands for."""


def comparison_page(trials: Sequence[Trial], rows: Sequence[MethodSummary], accuracy: float) -> str:
    """Write an HTML page that compares methods: estimates, inferred beliefs, errors and verdicts asked.

    Args:
        trials: every run.
        rows: what `evaluation.simulation.summarise` makes of them.
        accuracy: the gold accuracy.
    """
    names = [row.method for row in rows]
    by_method = {name: [trial for trial in trials if trial.method == name] for name in names}
    errors = {
        name: [(100 * getattr(row, key), 100 * _deviation(by_method[name], key)) for key in _ERRORS]
        for name, row in zip(names, rows, strict=True)
    }
    asked = {name: [trial.asked for trial in found] for name, found in by_method.items()}
    plots = [
        _against_verdicts("Estimate", "estimated accuracy", means(trials, "accuracy"), names, gold=accuracy),
        _against_verdicts("Beliefs inferred", "beliefs inferred", means(trials, "inferred"), names),
        _Plot(
            "Error of the estimate, mean and standard deviation over the seeds",
            grouped_bars(errors, "percentage points"),
            dict(enumerate(_ERRORS.values())),
        ),
        _Plot("Verdicts to the stop", boxes(asked, "verdicts to the stop"), {}),
    ]
    cells = [[_cell(value) for value in row.to_json().values()] for row in rows]
    return render(
        "comparison.html.j2",
        runs=len(trials),
        accuracy=accuracy,
        plots=plots,
        colours=COLOURS,
        head=[key.replace("_", " ") for key in rows[0].to_json()],
        rows=cells,
    )


def comparison_text(trials: Sequence[Trial], rows: Sequence[MethodSummary], accuracy: float) -> str:
    """Write the table of the comparison in GitHub's Markdown, with arguments as for the page."""
    head = [key.replace("_", " ") for key in rows[0].to_json()]
    lines = [head, ["---"] * len(head), *([_cell(value) for value in row.to_json().values()] for row in rows)]
    title = f"# Methods compared: {plural(len(trials), 'run')}, gold accuracy {accuracy:.1%}"
    return "\n".join([title, "", *(f"| {' | '.join(cells)} |" for cells in lines)]) + "\n"


def comparison_table(_trials: Sequence[Trial], rows: Sequence[MethodSummary], _accuracy: float) -> str:
    """Write the table of the comparison as CSV, with arguments as for the page."""
    return to_csv(list(rows[0].to_json()), (row.to_json() for row in rows))


COMPARISONS = {".html": comparison_page, ".md": comparison_text, ".csv": comparison_table}
"""What writes a comparison, by the ending of its file."""


def means(trials: Sequence[Trial], field: str) -> dict[str, Curve]:
    """Average a field of the histories, by method and number of verdicts.

    Only where at least half of the runs were still going on.
    """
    found = {}
    for method in dict.fromkeys(trial.method for trial in trials):
        runs = [t.history for t in trials if t.method == method and t.history]
        values: dict[int, list[float]] = {}
        for run in runs:
            for point in run:
                value = getattr(point, field)
                if value is not None:
                    values.setdefault(point.asked, []).append(value)
        asked = sorted(n for n, seen in values.items() if 2 * len(seen) >= len(runs))
        if asked:
            mean = [float(np.mean(values[n])) for n in asked]
            found[method] = Curve(asked, mean, [float(np.std(values[n])) for n in asked])
    return found


def _against_verdicts(
    what: str, axis: str, found: Mapping[str, Curve], names: Sequence[str], gold: float | None = None
) -> _Plot:
    legend = {number: name for number, name in enumerate(names) if name in found}
    chart = curves({number: found[name] for number, name in legend.items()}, axis, across=gold)
    dashed = " (dashed: gold)" if gold is not None else ""
    return _Plot(f"{what} against the number of verdicts{dashed}", chart, legend)


def _deviation(trials: Sequence[Trial], field: str) -> float:
    return float(np.std([getattr(trial, field) for trial in trials]))


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)

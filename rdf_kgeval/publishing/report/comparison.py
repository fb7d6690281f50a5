"""Plots, as SVG that stands in a page by itself."""

import html
import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.simulation import Trial

try:
    from matplotlib import rc_context
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ImportError as error:
    raise InputError("plots need matplotlib; install it with pip install 'rdf-kgeval[report]'") from error

_STYLE = {
    "svg.hashsalt": "kgeval",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
}


def figure(draw: Callable[[Axes], None], size: tuple[float, float] = (6.4, 4.0)) -> str:
    """What `draw` draws, as an SVG element; the same input gives the same bytes."""
    with rc_context(_STYLE):  # type: ignore[arg-type]  # the keys are too many to name as literals
        drawing = Figure(figsize=size, layout="constrained")
        draw(drawing.subplots())
        out = io.StringIO()
        drawing.savefig(out, format="svg", metadata={"Date": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def curves(trials: Sequence[Trial], field: str, scale: float = 1.0) -> dict[str, tuple[Any, Any, Any]]:
    """By method: numbers of verdicts, and mean and standard deviation of a field of the history there.

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
                    values.setdefault(point.asked, []).append(value * scale)
        asked = sorted(n for n, seen in values.items() if 2 * len(seen) >= len(runs))
        if asked:
            mean = np.array([np.mean(values[n]) for n in asked])
            spread = np.array([np.std(values[n]) for n in asked])
            found[method] = (np.array(asked), mean, spread)
    return found


def draw_curves(axes: Axes, found: dict[str, tuple[Any, Any, Any]], ylabel: str) -> None:
    """Mean and spread against the number of verdicts."""
    for method, (asked, mean, spread) in found.items():
        (line,) = axes.plot(asked, mean, label=method)
        axes.fill_between(asked, mean - spread, mean + spread, alpha=0.15, color=line.get_color(), lw=0)
    axes.set_xlabel("verdicts")
    axes.set_ylabel(ylabel)
    axes.legend(frameon=False)


def _bars(
    axes: Axes, rows: Sequence[dict[str, Any]], spread: dict[str, list[float]], keys: list[str]
) -> None:
    width = 0.8 / len(keys)
    places = np.arange(len(rows))
    for k, key in enumerate(keys):
        heights = [100 * row[key] for row in rows]
        errors = [100 * spread[f"{row['method']} {key}"][0] for row in rows]
        axes.bar(
            places + (k - (len(keys) - 1) / 2) * width, heights, width, yerr=errors, label=key, capsize=3
        )
    axes.set_xticks(places, [row["method"].replace("/", "/\n") for row in rows])
    axes.set_ylabel("percentage points")
    axes.legend([f"Delta {key.removeprefix('delta_')}" for key in keys], frameon=False)


def comparison_page(trials: Sequence[Trial], rows: Sequence[dict[str, Any]], accuracy: float) -> str:
    """An HTML page that compares methods: estimates, what was inferred, errors and verdicts asked."""
    keys = ["delta_overall", "delta_predicate"]
    spread = {
        f"{row['method']} {key}": [
            float(np.std([getattr(t, key) for t in trials if t.method == row["method"]]))
        ]
        for row in rows
        for key in keys
    }

    def estimates(axes: Axes) -> None:
        draw_curves(axes, curves(trials, "accuracy"), "estimated accuracy")
        axes.axhline(accuracy, color="black", lw=1, ls="--")

    def asked(axes: Axes) -> None:
        axes.boxplot(
            [[t.asked for t in trials if t.method == row["method"]] for row in rows],
            tick_labels=[row["method"].replace("/", "/\n") for row in rows],
        )
        axes.set_ylabel("verdicts to the stop")

    plots = {
        "Estimate against the number of verdicts (dashed: gold)": figure(estimates),
        "Beliefs inferred against the number of verdicts": figure(
            lambda axes: draw_curves(axes, curves(trials, "inferred"), "beliefs inferred")
        ),
        "Error of the estimate, mean and standard deviation over the seeds": figure(
            lambda axes: _bars(axes, rows, spread, keys)
        ),
        "Verdicts to the stop": figure(asked),
    }
    body = "".join(
        f"<figure><figcaption>{html.escape(caption)}</figcaption>{svg}</figure>"
        for caption, svg in plots.items()
    )
    head = "".join(f"<th>{html.escape(key.replace('_', ' '))}</th>" for key in rows[0])
    lines = "".join(
        "<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row.values()) + "</tr>" for row in rows
    )
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        "<title>Methods compared</title><style>body{font:16px sans-serif;margin:2em auto;max-width:72em;"
        "padding:0 1em}figure{display:inline-block;width:46%;min-width:22em;margin:1em 1em 1em 0}"
        "figcaption{font-weight:600}"
        "svg{max-width:100%;height:auto}table{border-collapse:collapse;display:block;overflow-x:auto}"
        "td,th{padding:.3em .7em;text-align:right}td:first-child,th:first-child{text-align:left}</style>"
        f"<h1>Methods compared</h1><p>{len(trials)} runs; gold accuracy {accuracy:.2%}.</p>{body}"
        f"<table><tr>{head}</tr>{lines}</table></html>\n"
    )


def _cell(value: object) -> str:
    return "" if value is None else html.escape(f"{value:.4g}" if isinstance(value, float) else str(value))

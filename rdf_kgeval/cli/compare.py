"""Try methods out before asking: what each would cost, and how they compare: `plan`, `compare`."""

import os
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from rdf_kgeval.cli.help import COMPUTING, METHOD, OUTPUT
from rdf_kgeval.cli.options import AsJson, Chosen, Config, RunArgument, SourceOptions, takes
from rdf_kgeval.cli.terminal import print_json, progress_bar
from rdf_kgeval.common.disk import write_text
from rdf_kgeval.evaluation.settings import Settings, methods_of


@takes(Settings, fresh=("margin", "level"))
def plan(
    run: RunArgument,
    *,
    expect: Annotated[
        float,
        typer.Option(
            min=0.01, max=0.99, metavar="A", help="The accuracy that you expect.", rich_help_panel=METHOD
        ),
    ] = 0.9,
    as_json: AsJson = False,
    method: Chosen,
) -> None:
    """Say how many verdicts and hours an evaluation will take, by method, before it starts.

    Each method is run on the graph with labels that are true by chance at the accuracy you expect.

    Example:
      kgeval plan run --margin 0.03 --expect 0.95
    """
    from rich.console import Console
    from rich.table import Table

    from rdf_kgeval.evaluation.methods import METHODS
    from rdf_kgeval.evaluation.policies import ALL_CANDIDATES
    from rdf_kgeval.evaluation.simulation import expected_costs
    from rdf_kgeval.runs.run import open_run

    graph = open_run(run).graph
    names = [
        name
        for name, method in METHODS.items()
        if method.planned and (graph.n_beliefs <= ALL_CANDIDATES or method.interval)
    ]
    methods = methods_of(",".join(names), budget=None, **method)
    with progress_bar() as progress:
        rows = expected_costs(graph, methods, expect, told=lambda i, n: progress("simulation", i, n))
    if as_json:
        print_json({"rows": rows})
        return
    table = Table(box=None, header_style="bold")
    table.add_column("method")
    for column in ("verdicts", "hours", "margin"):
        table.add_column(column, justify="right")
    for row in rows:
        verdicts = f"{row['verdicts']:.0f} ± {row['verdicts_sd']:.0f}"
        reached = "no interval" if row["margin"] is None else f"{row['margin']:.3f}"
        table.add_row(row["method"], verdicts, f"{row['hours']:.1f}", reached)
    Console().print(table)


@takes(Settings, SourceOptions, fresh=("margin", "level", "seed_size", "candidates"))
def compare(
    *,
    oracle: Annotated[
        Path,
        typer.Option(
            metavar="GOLD.csv",
            help="The labels of all beliefs, which answer the questions.",
            rich_help_panel=METHOD,
        ),
    ],
    methods: Annotated[
        str,
        typer.Option(
            metavar="POLICY/ESTIMATOR,...",
            help="The methods to compare, such as random/mean.",
            rich_help_panel=METHOD,
        ),
    ] = "default,srs/wilson,greedy/inferable",
    seeds: Annotated[
        int, typer.Option(min=1, metavar="N", help="How often to run each.", rich_help_panel=METHOD)
    ] = 30,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="N|TIME",
            help="Spend exactly this, instead of stopping by the method's rule.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    processes: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many runs at once.", rich_help_panel=COMPUTING)
    ] = (os.cpu_count() or 1),
    report: Annotated[
        Path | None, typer.Option(metavar="F.html", help="Write the plots here.", rich_help_panel=OUTPUT)
    ] = None,
    as_json: AsJson = False,
    config: Config = None,
    method: Chosen,
    options: SourceOptions,
) -> None:
    """Compare methods on a graph whose labels are known, over many seeds.

    Example:
      kgeval compare kg.nt --rules rules --oracle gold.csv --methods greedy/inferable,random/mean --seeds 30
    """
    from rdf_kgeval.engines.engine import LOCAL
    from rdf_kgeval.evaluation.simulation import compare as run_all
    from rdf_kgeval.evaluation.simulation import gold_labels, summarise
    from rdf_kgeval.runs.run import open_run
    from rdf_kgeval.verdicts.gold import read_gold

    chosen = methods_of(methods, budget=budget, **method)
    with tempfile.TemporaryDirectory(prefix="kgeval-") as name:
        folder = Path(name) / "run"
        options.prepare(folder, LOCAL)
        graph = open_run(folder).graph
        gold = gold_labels(graph, read_gold(oracle), str(oracle))
        with progress_bar() as progress:
            trials = run_all(
                graph, gold, chosen, seeds, processes=processes, told=lambda i, n: progress("runs", i, n)
            )
    rows = summarise(trials)
    if report is not None:
        from rdf_kgeval.publishing.report.comparison import comparison_page

        write_text(report, comparison_page(trials, rows, float(gold.mean())))
    if as_json:
        print_json({"rows": rows})
    else:
        _print_rows(rows)


def _print_rows(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    table.add_column("method")
    columns = {
        "asked": "{:.1f}", "asked_sd": "{:.1f}", "accuracy": "{:.2%}", "delta_overall": "{:.2%}",
        "delta_predicate": "{:.2%}", "coverage": "{:.1%}", "inferred": "{:.1f}", "label_accuracy": "{:.2%}",
        "cost_hours": "{:.2f}", "seconds": "{:.2f}",
    }  # fmt: skip
    for column in columns:
        table.add_column(column.replace("_", " "), justify="right")
    for row in rows:
        cells = ("" if row[c] is None else form.format(row[c]) for c, form in columns.items())
        table.add_row(row["method"], *cells)
    Console(width=max(150, Console().width)).print(table)

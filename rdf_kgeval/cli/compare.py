"""Try methods out before asking: what each would cost, and how they compare: `plan`, `compare`."""

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rdf_kgeval.cli.help import COMPUTING, METHOD, OUTPUT
from rdf_kgeval.cli.options import AsJson, Chosen, Config, RunArgument, SourceOptions, share, takes
from rdf_kgeval.cli.output import check_folder
from rdf_kgeval.cli.tables import print_table, print_text, table_lines, width
from rdf_kgeval.cli.terminal import print_json, progress_bar
from rdf_kgeval.common.disk import write_text
from rdf_kgeval.common.text import plural
from rdf_kgeval.evaluation.settings import Settings, methods_of

if TYPE_CHECKING:
    from rdf_kgeval.evaluation.simulation import MethodSummary
    from rdf_kgeval.evaluation.state import State


@takes(Settings, only=("margin", "level"))
def plan(
    run: RunArgument,
    *,
    expect: Annotated[
        float | None,
        typer.Option(
            parser=share,
            metavar="A",
            help="The accuracy that you expect: 0.95 or 95%.",
            show_default="what the answers of the run say, else 0.9",
            rich_help_panel=METHOD,
        ),
    ] = None,
    as_json: AsJson = False,
    method: Chosen,
) -> None:
    """Say how many answers and hours an evaluation takes, by method; in a run with answers, how many more.

    Each method is run on the graph with labels that are true by chance at the accuracy you expect.

    Example:
      kgeval plan run --margin 0.03 --expect 0.95
    """
    from rdf_kgeval.evaluation.methods import METHODS
    from rdf_kgeval.evaluation.policies import ALL_CANDIDATES
    from rdf_kgeval.evaluation.simulation import expected_costs
    from rdf_kgeval.pipeline import read_evaluation
    from rdf_kgeval.runs.run import open_run

    evaluation = read_evaluation(open_run(run))
    graph, settings, asked = evaluation.graph, evaluation.settings, len(evaluation.asked)
    if expect is None:
        expect = 0.9 if evaluation.accuracy is None else evaluation.accuracy
    chosen = {"margin": settings.margin or Settings().margin, "level": settings.level, **method}
    names = [
        name
        for name, method in METHODS.items()
        if (method.planned or (asked and name == settings.method))
        and (graph.n_beliefs <= ALL_CANDIDATES or method.interval)
    ]
    methods = methods_of(",".join(names), budget=None, **chosen)
    with progress_bar() as progress:
        expect = min(max(expect, 0.01), 0.99)
        rows = expected_costs(graph, methods, expect, on_trial=lambda i, n: progress("simulation", i, n))
    more = None
    if asked:
        own = next(row for row in rows if row.method == settings.method)
        more = _more(evaluation, own.verdicts, chosen["margin"])
    if as_json:
        entries = [row.to_json() | ({"more": more} if asked and row is own else {}) for row in rows]
        print_json({"asked": asked, "more": more, "rows": entries})
        return
    lines = []
    for row in rows:
        verdicts = f"{row.verdicts:.0f} ± {row.verdicts_sd:.0f}"
        reached = "no interval" if row.margin is None else f"{row.margin:.3f}"
        lines.append((row.method, verdicts, f"{row.hours:.1f}", reached))
    print_table(("method", "verdicts", "hours", "margin"), lines, lists_all="--json")
    if more is not None:
        left = f"about {more:,} more" if more else "no more"
        print_text(f"{plural(asked, 'belief')} asked so far; {settings.method} needs {left}")


def _more(evaluation: "State", verdicts: float, margin: float) -> int:
    """Estimate how many more beliefs must be asked about; none where there is nothing more to reach."""
    interval, asked = evaluation.interval, len(evaluation.asked)
    if evaluation.stopped not in (None, "budget", "margin"):
        return 0
    if interval is not None and (interval[1] - interval[0]) / 2 <= margin:
        return 0
    return min(evaluation.graph.n_beliefs - asked, max(1, round(verdicts) - asked))


@takes(Settings, SourceOptions, only=("margin", "level", "seed_size", "candidates"), fresh=True)
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
        Path | None,
        typer.Option(
            metavar="F.html",
            help="Write the plots here; .md and .csv get the table alone.",
            rich_help_panel=OUTPUT,
        ),
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

    if report is not None:
        from rdf_kgeval.common.disk import by_ending
        from rdf_kgeval.publishing.report.comparison import COMPARISONS

        check_folder(report)
        write = by_ending(report, COMPARISONS)
    chosen = methods_of(methods, budget=budget, **method)
    read_gold(oracle)
    with tempfile.TemporaryDirectory(prefix="kgeval-") as name:
        folder = Path(name) / "run"
        options.prepare(folder, LOCAL)
        graph = open_run(folder).graph
        gold = gold_labels(graph, read_gold(oracle, graph.beliefs.prefixes), str(oracle))
        with progress_bar() as progress:
            trials = run_all(
                graph, gold, chosen, seeds, processes=processes, on_trial=lambda i, n: progress("runs", i, n)
            )
    rows = summarise(trials)
    if report is not None:
        write_text(report, write(trials, rows, float(gold.mean())))
    if as_json:
        print_json({"rows": [row.to_json() for row in rows]})
    else:
        _print_rows(rows)


def _print_rows(rows: "list[MethodSummary]") -> None:
    columns = {
        "asked": "{:.1f}", "asked_sd": "{:.1f}", "accuracy": "{:.2%}", "delta_overall": "{:.2%}",
        "delta_predicate": "{:.2%}", "coverage": "{:.1%}", "inferred": "{:.1f}", "label_accuracy": "{:.2%}",
        "cost_hours": "{:.2f}",
    }  # fmt: skip
    lines = [
        (row["method"], *("" if row[c] is None else form.format(row[c]) for c, form in columns.items()))
        for row in (summary.to_json() for summary in rows)
    ]
    header = ("method", *(column.replace("_", " ") for column in columns))
    for line in table_lines(header, lines, width()):
        typer.echo(line)

"""The commands that try methods out: what they would cost, how they compare, and the example."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from rdf_kgeval.cli.evaluate import AsJson, Config, RunArgument, make_run
from rdf_kgeval.cli.options import SourceOptions, takes
from rdf_kgeval.cli.results import sentence
from rdf_kgeval.cli.terminal import print_json, progress_bar, say, write_whole
from rdf_kgeval.common.text import plural


def plan(
    run: RunArgument,
    margin: Annotated[float, typer.Option(metavar="M", help="The half-width to reach.")] = 0.05,
    level: Annotated[float, typer.Option(metavar="L", help="Confidence of the interval.")] = 0.95,
    expect: Annotated[
        float, typer.Option(min=0.01, max=0.99, metavar="A", help="The accuracy that you expect.")
    ] = 0.9,
    as_json: AsJson = False,
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
    from rdf_kgeval.evaluation.settings import methods_of
    from rdf_kgeval.evaluation.simulation import plan as simulate_all
    from rdf_kgeval.runs.run import open_run

    graph = open_run(run).graph
    names = [
        name
        for name, method in METHODS.items()
        if method.planned and (graph.n_beliefs <= ALL_CANDIDATES or method.interval)
    ]
    methods = methods_of(",".join(names), budget=None, margin=margin, level=level)
    with progress_bar() as progress:
        rows = simulate_all(graph, methods, expect, told=lambda i, n: progress("simulation", i, n))
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


def demo() -> None:
    """Evaluate the eight beliefs of the paper's motivating example, with every question and every reason."""
    from rdf_kgeval.beliefs.names import Names
    from rdf_kgeval.cli.resources import resource
    from rdf_kgeval.coupling.graph import couple
    from rdf_kgeval.evaluation.settings import Settings
    from rdf_kgeval.evaluation.state import State
    from rdf_kgeval.inference.explanation import explain, reason
    from rdf_kgeval.rules.dialects import read_rules
    from rdf_kgeval.rules.ontology import read_ontology
    from rdf_kgeval.sources.load import read_beliefs
    from rdf_kgeval.verdicts.log import Answer
    from rdf_kgeval.verdicts.oracles import GoldOracle

    folder = resource("examples/motivating")
    rules = read_ontology(folder / "ontology.ttl") + read_rules(folder / "rules")
    graph = couple(read_beliefs(folder / "kg.ttl"), rules)
    oracle = GoldOracle(folder / "gold.csv")
    words = Names(beliefs=graph.beliefs)
    evaluation = State(graph, Settings().changed(policy="greedy", seed_size=0))
    say(f"{plural(graph.n_beliefs, 'belief')}, tied together by {plural(graph.n_constraints, 'constraint')}.")
    known: set[int] = set()
    while requests := evaluation.next():
        position = requests[0].position
        question = evaluation.question(position)
        answer = Answer(oracle.ask(question))
        evaluation.answer(requests[0], answer, oracle.annotator)
        typer.echo(f"\nasked: {question.sentence}? {answer}")
        known.add(position)
        inference = evaluation.inference
        for other, label in enumerate(inference.label().tolist()):
            if label >= 0 and other not in known:
                known.add(other)
                row = int(graph.beliefs.rows[other])
                why = reason(explain(inference, row, most=1), lambda atom: words.in_words(graph.triple(atom)))
                typer.echo(f"  so it is {'true' if label else 'false'} that {words.sentence(row)}: {why}")
    typer.echo(f"\n{sentence(evaluation.result())}")


@takes(SourceOptions)
def compare(
    *,
    oracle: Annotated[
        Path, typer.Option(metavar="GOLD.csv", help="The labels of all beliefs, which answer the questions.")
    ],
    methods: Annotated[
        str,
        typer.Option(metavar="POLICY/ESTIMATOR,...", help="The methods to compare, such as random/mean."),
    ] = "default,srs/wilson,greedy/inferable",
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="How often to run each.")] = 30,
    budget: Annotated[
        str | None,
        typer.Option(metavar="N|TIME", help="Spend exactly this, instead of stopping by the method's rule."),
    ] = None,
    margin: Annotated[float, typer.Option(metavar="M", help="Half-width at which to stop.")] = 0.05,
    level: Annotated[float, typer.Option(metavar="L", help="Confidence of the intervals.")] = 0.95,
    seed_size: Annotated[int, typer.Option(metavar="N", help="Beliefs to ask at random first.")] = 50,
    candidates: Annotated[
        int | None, typer.Option(metavar="K", help="Greedy control looks only at so many candidates.")
    ] = None,
    processes: Annotated[int, typer.Option(min=1, metavar="N", help="How many runs at once.")] = (
        os.cpu_count() or 1
    ),
    report: Annotated[Path | None, typer.Option(metavar="F.html", help="Write the plots here.")] = None,
    as_json: AsJson = False,
    config: Config = None,
    options: SourceOptions,
) -> None:
    """Compare methods on a graph whose labels are known, over many seeds.

    Example:
      kgeval compare kg.nt --rules rules --oracle gold.csv --methods greedy/inferable,random/mean --seeds 30
    """
    from rdf_kgeval.engines.engine import LOCAL
    from rdf_kgeval.evaluation.settings import methods_of
    from rdf_kgeval.evaluation.simulation import compare as run_all
    from rdf_kgeval.evaluation.simulation import gold_labels, summarise
    from rdf_kgeval.runs.run import open_run
    from rdf_kgeval.verdicts.oracles import read_gold

    chosen = methods_of(
        methods, budget=budget, margin=margin, level=level, seed_size=seed_size, candidates=candidates
    )
    with tempfile.TemporaryDirectory(prefix="kgeval-") as name:
        folder = Path(name) / "run"
        make_run(folder, options, LOCAL)
        graph = open_run(folder).graph
        gold = gold_labels(graph, read_gold(oracle), str(oracle))
        with progress_bar() as progress:
            trials = run_all(
                graph, gold, chosen, seeds, processes=processes, told=lambda i, n: progress("runs", i, n)
            )
    rows = summarise(trials)
    if report is not None:
        from rdf_kgeval.publishing.report.comparison import comparison_page

        write_whole(report, comparison_page(trials, rows, float(gold.mean())))
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


COMMANDS: tuple[Callable[..., None], ...] = (plan, compare, demo)

"""Ask, and estimate the accuracy from the answers: `evaluate`, `ask`, `estimate`."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from rdf_kgeval.cli.help import OUTPUT
from rdf_kgeval.cli.options import (
    AsJson,
    Chosen,
    Config,
    EngineOptions,
    MaxMargin,
    MinAccuracy,
    OutputOptions,
    RunArgument,
    SourceOptions,
    takes,
)
from rdf_kgeval.cli.oracle import (
    Annotator,
    Annotators,
    Evidence,
    OracleOption,
    answers,
    ask_all,
    check_evidence,
    only,
    pages,
    serves_pages,
)
from rdf_kgeval.cli.output import accounts_json, check, check_output, deliver, print_groups, print_result
from rdf_kgeval.cli.terminal import print_json, say
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.verdicts.oracles import choose_oracle, is_interactive

DEFAULT_RUN = Path("kgeval-run")
"""Run directory for the answers of people who named none."""


@takes(Settings, SourceOptions, EngineOptions, OutputOptions)
def evaluate(
    *,
    oracle: OracleOption,
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Keep everything here, and go on from what is there.", rich_help_panel=OUTPUT
        ),
    ] = None,
    annotator: Annotators = None,
    evidence: Evidence = None,
    min_accuracy: MinAccuracy = None,
    max_margin: MaxMargin = None,
    as_json: AsJson = False,
    config: Config = None,
    method: Chosen,
    options: SourceOptions,
    computing: EngineOptions,
    output: OutputOptions,
) -> None:
    """Evaluate a graph from the first question to the accuracy.

    Without an ontology or rules, it mines some from the graph itself.

    Examples:
      kgeval evaluate --endpoint http://localhost:7878/query --oracle web

      kgeval evaluate kg.ttl --ontology onto.ttl --rules rules --oracle prompt --run run

      kgeval evaluate kg.nt --rules rules --oracle gold.csv --policy greedy --budget 140 --json

      kgeval evaluate --config kgeval.toml --seed 2
    """
    from rdf_kgeval.runs.run import open_run

    begin = time.perf_counter()
    check_output(output, has_store=bool(options.endpoint) or (run is not None and run.exists()))
    engine = computing.chosen()
    check_evidence(evidence)
    people = serves_pages(oracle)
    if people:
        consult = pages(browse=True, annotators=annotator or ["me"], port=0, until_stopped=True)
    else:
        chosen = choose_oracle(oracle, only(annotator))
        consult, people = answers(chosen), is_interactive(chosen)
    with _folder(run, people=people) as folder:
        with engine:  # an engine that cannot start fails before anybody answers
            if folder.exists():
                opened = open_run(folder, engine)
                if options.given:
                    opened.check_sources(options.sources())
            else:
                settings = Settings().changed(**method)  # wrong options are said before anything is read
                if options.in_place:
                    settings.chosen.check_in_place()
                opened = options.prepare(folder, engine, method, discover=True)
        if evidence is not None:
            say(opened.keep_evidence(evidence))
        endpoint = options.sources().endpoint if options.in_place else None
        evaluation = ask_all(opened, consult, method, endpoint)
        print_result(evaluation, as_json, time.perf_counter() - begin)
        deliver(
            evaluation.run or opened,
            evaluation,
            output,
            options.endpoint,
            min_accuracy=min_accuracy,
            max_margin=max_margin,
        )
    check(evaluation, min_accuracy, max_margin)


@contextmanager
def _folder(run: Path | None, *, people: bool) -> Iterator[Path]:
    """Open the run directory: the one named; else one that stays for people, and is removed for a program."""
    if run is not None:
        yield run
    elif people:
        say(f"answers are kept in {DEFAULT_RUN}; --run names another place")
        yield DEFAULT_RUN
    else:
        with tempfile.TemporaryDirectory(prefix="kgeval-") as folder:
            yield Path(folder) / "run"


@takes(Settings)
def ask(
    run: RunArgument,
    *,
    oracle: OracleOption = "prompt",
    annotator: Annotator = "me",
    evidence: Evidence = None,
    as_json: AsJson = False,
    method: Chosen,
) -> None:
    """Ask about the beliefs of a run until it is known well enough; go on where it stopped.

    Every answer is on disk before the next question.

    Example:
      kgeval ask run --policy greedy --budget 140
    """
    from rdf_kgeval.runs.run import open_run

    begin = time.perf_counter()
    if serves_pages(oracle):
        raise InputError("the web page is for several people at once; use kgeval serve RUN")
    consult = answers(choose_oracle(oracle, annotator))
    opened = open_run(run)
    if evidence is not None:
        say(opened.keep_evidence(evidence))
    evaluation = ask_all(opened, consult, method)
    print_result(evaluation, as_json, time.perf_counter() - begin)


def estimate(
    run: RunArgument,
    by: Annotated[
        str | None, typer.Option(metavar="predicate|class", help="Also for each predicate or class.")
    ] = None,
    scope: Annotated[
        Path | None,
        typer.Option(metavar="F.rq", help="Only of what this SELECT ?s ?p ?o or CONSTRUCT returns."),
    ] = None,
    min_accuracy: MinAccuracy = None,
    max_margin: MaxMargin = None,
    as_json: AsJson = False,
) -> None:
    """Say how accurate the graph is, from the verdicts of a run.

    Example:
      kgeval estimate run --by predicate
    """
    from rdf_kgeval.pipeline import read_evaluation
    from rdf_kgeval.runs.run import open_run
    from rdf_kgeval.sources.scope import read_scope_query, rows_of_query

    if by not in (None, "predicate", "class"):
        raise typer.BadParameter("estimates are by predicate or by class")
    begin = time.perf_counter()
    opened = open_run(run)
    query = read_scope_query(scope, opened.beliefs.prefixes) if scope is not None else None
    evaluation = read_evaluation(opened)
    if query is not None:
        part = evaluation.estimate_of(rows_of_query(opened.beliefs, query))
        if not part["beliefs"]:
            raise InputError(f"{printable(str(scope))} names no belief of {printable(str(run))}")
        if as_json:
            print_json(part)
        else:
            print_groups("scope", {str(scope): part}, opened.beliefs.prefixes)
        return
    if by == "class":
        classes = evaluation.by_class()
        if as_json:
            seconds = time.perf_counter() - begin
            known = {**evaluation.to_json(), **accounts_json(evaluation)}
            print_json({**known, "seconds": seconds, "by_class": classes})
        else:
            print_groups("class", classes, opened.beliefs.prefixes)
            print_result(evaluation, as_json, 0.0, by_predicate=False)
    else:
        print_result(evaluation, as_json, time.perf_counter() - begin, by_predicate=by is not None)
    check(evaluation, min_accuracy, max_margin)

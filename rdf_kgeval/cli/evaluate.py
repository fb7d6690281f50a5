"""The commands that ask and estimate."""

import inspect
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rdf_kgeval.cli.deliver import check_output, deliver
from rdf_kgeval.cli.options import EngineOptions, MethodOptions, OutputOptions, SourceOptions, takes
from rdf_kgeval.cli.results import check, print_groups, report
from rdf_kgeval.cli.terminal import open_browser, print_json, progress_bar, say
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError

if TYPE_CHECKING:
    from rdf_kgeval.engines.engine import Engine
    from rdf_kgeval.pipeline import Consult, Evaluation
    from rdf_kgeval.runs.run import Run
    from rdf_kgeval.sources.endpoint.client import Endpoint
    from rdf_kgeval.verdicts.oracles import Oracle

DEFAULT_RUN = Path("kgeval-run")
"""Where the answers of people are kept who named no run directory."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RunArgument = Annotated[Path, typer.Argument(help="A run directory.")]
OracleOption = Annotated[
    str,
    typer.Option(
        "--oracle",
        metavar="GOLD.csv|prompt|web",
        help="Who answers: a file with labels, you here, or people on a web page.",
    ),
]
Annotator = Annotated[str, typer.Option(metavar="NAME", help="Under which name to log your answers.")]
Annotators = Annotated[
    list[str] | None,
    typer.Option("--annotator", metavar="NAME", help="Who answers; on the web page several (repeatable)."),
]
MinAccuracy = Annotated[
    float | None,
    typer.Option(min=0, max=1, metavar="A", help="Exit with code 3 if the accuracy is below this."),
]
MaxMargin = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        metavar="M",
        help="Exit with code 3 if the interval is wider than twice this, or missing.",
    ),
]


def _configure(context: typer.Context, path: Path | None) -> Path | None:
    """Let a file say what the command line does not."""
    if path is not None:
        from rdf_kgeval.cli.config_file import read_config

        context.default_map = read_config(path, inspect.signature(evaluate).parameters)
    return path


Config = Annotated[
    Path | None,
    typer.Option(
        metavar="kgeval.toml",
        help="Take options from this file; those of the command line win.",
        is_eager=True,
        callback=_configure,
    ),
]


def make_run(
    folder: Path,
    options: SourceOptions,
    engine: "Engine",
    method: MethodOptions | None = None,
    *,
    discover: bool = False,
) -> "Run":
    """Read the sources into a new run directory, and say what users should know of them."""
    from rdf_kgeval.pipeline import prepare

    repeatable: dict[str, object] = options.chosen()
    settings = None
    if method is not None and (chosen := method.chosen()):
        from rdf_kgeval.evaluation.settings import Settings

        settings = Settings().changed(**chosen)
    discover = discover and not options.in_place
    sources = options.sources(propose_scope=discover, seed=method.seed or 0 if method else 0)
    coupling = options.coupling(engine, discover=discover)
    if sources.endpoint is not None:
        repeatable["endpoint"] = sources.endpoint.name
    try:
        made = prepare(
            folder,
            sources,
            coupling,
            lang=options.lang,
            memory_limit=options.memory,
            settings=settings,
            options=repeatable,
            show=progress_bar,
        )
    except KeyboardInterrupt:
        say("kgeval: stopped; the same command goes on from what was fetched")
        raise typer.Exit(130) from None
    for note in made.config.notes:
        say(f"note: {note}")
    return made


@takes(MethodOptions, SourceOptions, EngineOptions, OutputOptions)
def evaluate(
    *,
    oracle: OracleOption,
    run: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep everything here, and go on from what is there.")
    ] = None,
    annotator: Annotators = None,
    min_accuracy: MinAccuracy = None,
    max_margin: MaxMargin = None,
    as_json: AsJson = False,
    config: Config = None,
    method: MethodOptions,
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
    with _folder(run, oracle) as folder:
        with engine:  # one that cannot start is found out before anybody answers
            if folder.exists():
                opened = open_run(folder, engine)
                if options.given:
                    opened.check_sources(options.sources())
            else:
                if options.in_place:
                    refuse_in_place(method)
                opened = make_run(folder, options, engine, method, discover=True)
        if oracle == "web":
            consult = pages(browse=True, annotators=annotator or ["me"], port=0, until_stopped=True)
        else:
            consult = answers(oracle, _only(annotator))
        endpoint = options.sources().endpoint if options.in_place else None
        evaluation = ask_all(opened, consult, method, endpoint)
        report(evaluation, as_json, time.perf_counter() - begin)
        deliver(evaluation.run or opened, evaluation, output, options.endpoint)
    check(evaluation, min_accuracy, max_margin)


@contextmanager
def _folder(run: Path | None, oracle: str) -> Iterator[Path]:
    """The run directory: the one named; else for people one that stays, for a file one that does not."""
    if run is not None:
        yield run
    elif oracle in ("prompt", "web"):
        say(f"answers are kept in {DEFAULT_RUN}; --run names another place")
        yield DEFAULT_RUN
    else:
        with tempfile.TemporaryDirectory(prefix="kgeval-") as folder:
            yield Path(folder) / "run"


@takes(MethodOptions)
def ask(
    run: RunArgument,
    *,
    oracle: OracleOption = "prompt",
    annotator: Annotator = "me",
    as_json: AsJson = False,
    method: MethodOptions,
) -> None:
    """Ask about the beliefs of a run until it is known well enough; go on where it stopped.

    Every answer is on disk before the next question.

    Example:
      kgeval ask run --policy greedy --budget 140
    """
    from rdf_kgeval.runs.run import open_run

    begin = time.perf_counter()
    evaluation = ask_all(open_run(run), answers(oracle, annotator), method)
    report(evaluation, as_json, time.perf_counter() - begin)


def refuse_in_place(method: MethodOptions) -> None:
    """Raise an error for a method that must see all beliefs."""
    from rdf_kgeval.evaluation.methods import METHODS
    from rdf_kgeval.evaluation.settings import Settings

    METHODS[Settings().changed(**method.chosen()).method].check_in_place()


def ask_all(
    opened: "Run", consult: "Consult", method: MethodOptions, endpoint: "Endpoint | None" = None
) -> "Evaluation":
    """Ask until the evaluation stops, and say whether the store has changed meanwhile."""
    from rdf_kgeval.pipeline import ask

    evaluation = ask(opened, consult, method.chosen(), os.cpu_count() or 1, endpoint, progress_bar)
    if evaluation.change:
        say(f"note: {evaluation.change}")
    return evaluation


def answers(oracle: str, annotator: str) -> "Consult":
    """Make a consult of a file with labels, or of the person at this terminal."""
    from rdf_kgeval.evaluation.consult import consult

    answering, people = _oracle(oracle, annotator), oracle == "prompt"
    told: set[str] = set()

    def ask_oracle(evaluation: "Evaluation") -> bool:
        _tell_notes(evaluation, told, people=people)
        try:
            if people:
                return consult(evaluation, answering, told=lambda _: say("noted"))
            with progress_bar() as progress:
                return consult(
                    evaluation,
                    answering,
                    told=lambda e: progress("verdicts", e.n_verdicts, e.settings.budget),
                )
        except KeyboardInterrupt:
            say("\nkgeval: stopped; every answer is kept, and kgeval ask goes on from here")
            raise typer.Exit(130) from None

    return ask_oracle


def pages(*, browse: bool = False, **serving: Any) -> "Consult":
    """Make a consult of web pages, and tell people their links."""
    from rdf_kgeval.web.server import Pages, Serving

    told: set[str] = set()

    def tell(evaluation: "Evaluation", links: Mapping[str, str]) -> None:
        for name, link in links.items():
            say(f"{printable(name) or 'dashboard'}: {link}")
        _tell_notes(evaluation, told, people=True)
        say("Ctrl-C stops; every answer is kept")
        if browse:
            open_browser(next(iter(links.values())))

    return Pages(Serving(**serving), tell)


def _only(names: list[str] | None) -> str:
    if names and len(names) > 1:
        raise typer.BadParameter("several annotators need a page each: use --oracle web")
    return names[0] if names else "me"


def _tell_notes(evaluation: "Evaluation", told: set[str], *, people: bool) -> None:
    """Say once what users must know before anybody answers."""
    notes = []
    if evaluation.stopped:
        notes.append(f"nothing to ask: {evaluation.stopped}")
    if evaluation.note:
        notes.append(f"note: {evaluation.note}")
    settings = evaluation.settings
    if people and evaluation.sampled and not settings.error_rate and not settings.several:
        notes.append("note: every answer is taken as right; --error-rate 0.05 allows for errors")
    for note in notes:
        if note not in told:
            say(note)
    told.update(notes)


def _oracle(name: str, annotator: str) -> "Oracle":
    from rdf_kgeval.verdicts.oracles import GoldOracle, PromptOracle

    if name == "web":
        raise InputError("the web page is for several people at once; use kgeval serve RUN")
    return PromptOracle(annotator) if name == "prompt" else GoldOracle(Path(name))


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
    evaluation = read_evaluation(opened)
    if scope is not None:
        part = evaluation.estimate_of(rows_of_query(opened.beliefs, read_scope_query(scope)))
        if not part["beliefs"]:
            raise InputError(f"{printable(str(scope))} names no belief of {printable(str(run))}")
        if as_json:
            print_json(part)
        else:
            print_groups("scope", {str(scope): part})
        return
    if by == "class":
        classes = evaluation.by_class()
        if as_json:
            print_json({**evaluation.to_json(), "seconds": time.perf_counter() - begin, "by_class": classes})
        else:
            report(evaluation, as_json, 0.0, by_predicate=False)
            print_groups("class", classes)
    else:
        report(evaluation, as_json, time.perf_counter() - begin, by_predicate=by is not None)
    check(evaluation, min_accuracy, max_margin)


COMMANDS: tuple[Callable[..., None], ...] = (evaluate, ask, estimate)

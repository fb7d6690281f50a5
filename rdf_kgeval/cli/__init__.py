"""The command kgeval: options in, text or JSON out."""

import io
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rdf_kgeval.cli import annotate as people
from rdf_kgeval.cli import compare as comparisons
from rdf_kgeval.cli import evaluate as commands
from rdf_kgeval.cli import infer as inferring
from rdf_kgeval.cli import publish as publishing
from rdf_kgeval.cli.evaluate import Config, make_run
from rdf_kgeval.cli.options import EngineOptions, MethodOptions, SourceOptions, takes
from rdf_kgeval.cli.terminal import print_json, progress_bar, say
from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.errors import InputError, KgevalError

if TYPE_CHECKING:
    from rdf_kgeval.runs.run import Run

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="How much of this knowledge graph is true?",
)


@app.callback()
def _callback() -> None:
    pass


@app.command()
@takes(SourceOptions, MethodOptions, EngineOptions)
def init(
    run: Annotated[Path, typer.Argument(help="The run directory to make.")],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
    config: Config = None,
    options: SourceOptions,
    method: MethodOptions,
    computing: EngineOptions,
) -> None:
    """Bring a graph's beliefs into a new run directory and couple them by rules.

    What you say here about the evaluation, such as --margin, is kept for the commands that follow.

    Credentials for the endpoint come from the environment: KGEVAL_USER and KGEVAL_PASSWORD (with
    KGEVAL_AUTH=digest for Digest), KGEVAL_TOKEN, or netrc.

    Examples:
      kgeval init run kg.ttl --ontology onto.ttl --rules queries/rules

      kgeval init run --endpoint http://localhost:7878/query --predicate http://example.org/bornIn

      kgeval init run --endpoint http://localhost:7878/query --in-place
    """
    from rdf_kgeval.runs.run import open_run

    engine = computing.chosen()
    with engine:
        make_run(run, options, engine, method)
    summary = _summary(open_run(run))
    if as_json:
        print_json(summary)
    else:
        say(f"{_headline(summary)}: {printable(str(run))}")


@app.command()
def show(
    run: Annotated[Path, typer.Argument(help="A run directory.")],
    rules: Annotated[bool, typer.Option("--rules", help="Show all rules with their measures.")] = False,
    config: Annotated[
        bool, typer.Option("--config", help="Print a configuration file that repeats the run.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what a run directory holds: beliefs by predicate and class, context, memory."""
    from rdf_kgeval.runs.run import open_run

    opened = open_run(run)
    if config:
        from rdf_kgeval.cli.config_file import repeat_config

        typer.echo(repeat_config(opened.config), nl=False)
        return
    summary = _summary(opened)
    if as_json:
        print_json(summary)
        return
    if rules:
        _print_rules(summary["rules"])
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    context = summary["context"]
    console.print(f"{_headline(summary)}; {summary['bytes'] / 1e6:,.1f} MB", highlight=False)
    if summary["at_hand"] < summary["beliefs"]:
        console.print(
            f"drawn, or beside what was drawn: {plural(summary['at_hand'], 'belief')}", highlight=False
        )
    console.print(
        f"context: {context['given']:,} given, {context['unknown']:,} unknown, "
        f"{context['background']:,} out of scope",
        highlight=False,
    )
    tables = (
        ("predicate", "beliefs", summary["by_predicate"]),
        ("class", "instances", summary["by_class"]),
        ("rule", "groundings", {rule["id"]: rule["groundings"] for rule in summary["rules"]}),
    )
    for title, unit, counts in tables:
        table = Table(box=None, header_style="bold")
        table.add_column(title)
        table.add_column(unit, justify="right")
        for name, count in list(counts.items())[:30]:
            table.add_row(Text(printable(name, 100)), f"{count:,}")
        if len(counts) > 30:
            table.add_row(f"... and {len(counts) - 30:,} more (--json lists all)", "")
        if counts:
            console.print(table)
    if summary["constraints"]:
        sizes = summary["component_sizes"]
        console.print(
            f"{plural(summary['components'], 'component')}, the largest of {plural(sizes[0], 'belief')}; "
            f"{plural(summary['uncoupled'], 'belief')} that no rule touches",
            highlight=False,
        )
    for row in opened.beliefs.rows[:3]:
        console.print(Text(f"e.g. {printable(opened.names.sentence(row), 200)}"))


def _print_rules(rules: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        console.width = 1000  # what is piped on is not folded
    table = Table(box=None, header_style="bold")
    for title in ("confidence", "support", "head\ncoverage", "standard\nconfidence", "groundings"):
        table.add_column(title, justify="right")
    table.add_column("rule", overflow="fold")
    for rule in rules:
        measures = rule["measures"] or {}
        shares = (measures.get(name) for name in ("head_coverage", "standard_confidence"))
        strength = f"weight {rule['weight']:g}" if rule["confidence"] is None else f"{rule['confidence']:.3f}"
        table.add_row(
            "" if rule["confidence"] is rule["weight"] is None else strength,
            f"{measures['support']:,}" if measures else "",
            *("" if share is None else f"{share:.3f}" for share in shares),
            f"{rule['groundings']:,}",
            Text(printable(rule["summary"] or rule["id"], 300)),
        )
    console.print(table)


@app.command()
def mine(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE...]", help="RDF files, or a run directory; - is standard input."),
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="The folder to make, or a .ttl file.")
    ] = Path("rules"),
    endpoint: Annotated[str | None, typer.Option(metavar="URL", help="SPARQL endpoint to pull from.")] = None,
    graph: Annotated[str | None, typer.Option(metavar="IRI", help="Only this named graph.")] = None,
    context: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Triples taken as true (repeatable).")
    ] = None,
    context_unknown: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Triples that may be true but are not evaluated (repeatable)."),
    ] = None,
    ontology: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Ontology whose rules need not be found again (repeatable)."),
    ] = None,
    max_length: Annotated[int, typer.Option(min=0, max=3, help="Longest path.")] = 3,
    min_support: Annotated[int, typer.Option(min=1, metavar="N", help="Least support.")] = 10,
    min_head_coverage: Annotated[float, typer.Option(min=0, max=1, help="Least head coverage.")] = 0.01,
    min_confidence: Annotated[
        float, typer.Option(min=0, max=1, metavar="C", help="Least PCA confidence.")
    ] = 0.5,
    constants: Annotated[bool, typer.Option(help="Look for rules with constants.")] = True,
    types: Annotated[bool, typer.Option(help="Look for type signatures.")] = True,
    max_per_head: Annotated[int, typer.Option(min=1, metavar="N", help="Most rules for a predicate.")] = 50,
    max_walks: Annotated[
        float, typer.Option(min=1, metavar="N", help="Leave out the costliest paths past so many walks.")
    ] = 2e9,
    format_: Annotated[str, typer.Option("--format", metavar="rq|shacl", help="What to write.")] = "rq",
    input_format: Annotated[
        str | None, typer.Option(metavar="EXT", help="Format of the files: ttl, nt, nq, trig, ...")
    ] = None,
) -> None:
    """Learn rules from a graph and write them as files to review, edit and use with --rules.

    Examples:
      kgeval mine kg.ttl -o rules

      kgeval mine --endpoint http://localhost:7878/query --format shacl -o rules.ttl
    """
    from rdf_kgeval.rules.mining.mine import mine as mine_rules
    from rdf_kgeval.rules.mining.options import MiningOptions
    from rdf_kgeval.rules.ontology import read_ontology
    from rdf_kgeval.rules.write import refuse_taken, write_shacl, write_templates
    from rdf_kgeval.runs.run import open_run
    from rdf_kgeval.sources.endpoint.client import Endpoint
    from rdf_kgeval.sources.load import Sources, load
    from rdf_kgeval.sources.scope import Scope

    if not files and not endpoint:
        raise typer.BadParameter("give a FILE, a run directory, - for standard input, or --endpoint URL")
    if format_ not in ("rq", "shacl"):
        raise typer.BadParameter("give --format rq or --format shacl")
    options = MiningOptions(
        max_length=max_length,
        constants=constants,
        types=types,
        min_support=min_support,
        min_head_coverage=min_head_coverage,
        min_confidence=min_confidence,
        max_per_head=max_per_head,
        max_walks=max_walks,
    )
    refuse_taken(output)
    known = read_ontology(*ontology) if ontology else []
    with progress_bar() as progress, tempfile.TemporaryDirectory(prefix="kgeval-") as pages:
        if files and len(files) == 1 and files[0].is_dir():
            beliefs = open_run(files[0]).beliefs
        else:
            sources = Sources(
                files=files or [],
                endpoint=Endpoint(endpoint) if endpoint else None,
                context=context or [],
                context_unknown=context_unknown or [],
                scope=Scope.of(predicates=[], graph=graph, scope=None),
                format=input_format,
            )
            beliefs = load(sources, Path(pages) / "pages", progress).beliefs
        mined = mine_rules(beliefs, options, known=known, progress=progress)
    if not mined:
        raise InputError(
            f"no rule has a support of {min_support}, a head coverage of {min_head_coverage:g} and a "
            f"confidence of {min_confidence:g} in this graph of {plural(len(beliefs), 'triple')}; lower "
            "--min-support, --min-head-coverage or --min-confidence"
        )
    (write_templates if format_ == "rq" else write_shacl)(mined, output)
    say(f"{plural(len(mined), 'rule')}: {printable(str(output))}")


def _headline(summary: dict[str, Any]) -> str:
    beliefs, predicates = plural(summary["beliefs"], "belief"), plural(summary["predicates"], "predicate")
    return f"{beliefs} in {predicates}, {plural(summary['constraints'], 'constraint')}"


def _summary(run: "Run") -> dict[str, Any]:
    from rdf_kgeval.beliefs.table import Role

    beliefs, graph = run.beliefs, run.graph
    by_predicate = beliefs.population()
    return {
        "beliefs": beliefs.n_population,
        "at_hand": beliefs.n_beliefs,
        "predicates": len(by_predicate),
        "constraints": graph.n_constraints,
        "components": graph.n_components,
        "component_sizes": sorted(graph.component_sizes().tolist(), reverse=True),
        "uncoupled": len(graph.uncoupled()),
        "latent": len(graph.latent),
        "context": {
            role.name.lower(): int((beliefs.role == role).sum())
            for role in (Role.GIVEN, Role.UNKNOWN, Role.BACKGROUND)
        },
        "terms": len(beliefs.terms),
        "bytes": beliefs.nbytes,
        "by_predicate": by_predicate,
        "by_class": beliefs.by_class(),
        "rules": [
            {
                "id": rule.id,
                "summary": rule.summary,
                "confidence": rule.confidence,
                "weight": rule.weight,
                "groundings": int(n),
                "measures": asdict(rule.measures) if rule.measures else None,
            }
            for rule, n in zip(graph.rules, graph.groundings, strict=True)
        ],
        "notes": list(run.config.notes),
    }


for command in (
    *commands.COMMANDS,
    *inferring.COMMANDS,
    *people.COMMANDS,
    *comparisons.COMMANDS,
    *publishing.COMMANDS,
):
    app.command()(command)


def main() -> None:
    """Run the command; our own errors are one sentence and exit code 1."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except KgevalError as error:
        say(f"kgeval: {error}")
        sys.exit(1)

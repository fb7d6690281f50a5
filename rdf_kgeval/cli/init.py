"""Make a run directory, and show what one holds: `init`, `show`."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rdf_kgeval.cli.options import (
    AsJson,
    Chosen,
    Config,
    EngineOptions,
    RunArgument,
    SourceOptions,
    takes,
)
from rdf_kgeval.cli.oracle import Evidence, check_evidence
from rdf_kgeval.cli.tables import print_table, print_text, table_lines, width
from rdf_kgeval.cli.terminal import print_json, say
from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.evaluation.settings import Settings

if TYPE_CHECKING:
    from rdf_kgeval.runs.run import Run


@takes(SourceOptions, Settings, EngineOptions)
def init(
    run: Annotated[Path, typer.Argument(help="The run directory to make.")],
    *,
    evidence: Evidence = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
    config: Config = None,
    options: SourceOptions,
    method: Chosen,
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

    check_evidence(evidence)
    engine = computing.chosen()
    with engine:
        options.prepare(run, engine, method)
    opened = open_run(run)
    if evidence is not None:
        say(opened.keep_evidence(evidence))
    summary = _summary(opened)
    if as_json:
        print_json(summary)
    else:
        say(f"{_headline(summary)}: {printable(str(run))}")


def show(
    run: RunArgument,
    rules: Annotated[bool, typer.Option("--rules", help="Show all rules with their measures.")] = False,
    config: Annotated[
        bool, typer.Option("--config", help="Print a configuration file that repeats the run.")
    ] = False,
    as_json: AsJson = False,
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
    short = opened.beliefs.prefixes.shorten
    context = summary["context"]
    tables = (
        ("rule", "groundings", {rule["id"]: rule["groundings"] for rule in summary["rules"]}),
        ("class", "instances", summary["by_class"]),
        ("predicate", "beliefs", summary["by_predicate"]),
    )
    for title, unit, counts in tables:
        rows = [(printable(short(name)), f"{count:,}") for name, count in counts.items()]
        if rows:
            print_table([title, unit], rows, lists_all="--json")
    for row in opened.beliefs.rows[:3]:
        print_text(f"e.g. {printable(opened.names.sentence(row), 200)}")
    if summary["constraints"]:
        sizes = summary["component_sizes"]
        print_text(
            f"{plural(summary['components'], 'component')}, the largest of {plural(sizes[0], 'belief')}; "
            f"{plural(summary['uncoupled'], 'belief')} that no rule touches"
        )
    accounts = opened.config.accounts
    lines = (
        accounts.lines()
        if accounts
        else [
            f"context: {context['given']:,} given, {context['unknown']:,} unknown, "
            f"{context['background']:,} out of scope"
        ]
    )
    for line in lines:
        print_text(line)
    if summary["at_hand"] < summary["beliefs"]:
        print_text(f"drawn, or beside what was drawn: {plural(summary['at_hand'], 'belief')}")
    print_text(f"{_headline(summary)}; {summary['bytes'] / 1e6:,.1f} MB")


def _print_rules(rules: list[dict[str, Any]]) -> None:
    rows = []
    for rule in rules:
        measures = rule["measures"] or {}
        shares = (measures.get(name) for name in ("head_coverage", "standard_confidence"))
        strength = f"weight {rule['weight']:g}" if rule["confidence"] is None else f"{rule['confidence']:.3f}"
        cells = (
            "" if rule["confidence"] is rule["weight"] is None else strength,
            f"{measures['support']:,}" if measures else "",
            *("" if share is None else f"{share:.3f}" for share in shares),
            f"{rule['groundings']:,}",
        )
        rows.append((printable(rule["summary"] or rule["id"]), *cells))
    header = ("rule", "confidence", "support", "head coverage", "standard confidence", "groundings")
    for line in table_lines(header, rows, width()):
        typer.echo(line)


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
        **(run.config.accounts.to_json() if run.config.accounts else {}),
    }

"""Publish results as linked data and as a report: `publish`, `report`."""

from pathlib import Path
from typing import Annotated

import typer

from rdf_kgeval.cli.options import (
    RECORD_ENDINGS,
    AnnotationsOption,
    MaxMargin,
    MinAccuracy,
    OutputOptions,
    RunArgument,
)
from rdf_kgeval.cli.output import (
    check,
    check_output,
    chosen_annotations,
    publish_to,
    report_to,
    write_back_to,
)
from rdf_kgeval.publishing.outputs import OUTPUTS

_ENDINGS = ", ".join(f"{output.ending} is {output.sentence}" for output in OUTPUTS.values())


def publish(
    run: RunArgument,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="F.trig", help=f"Write it here: {RECORD_ENDINGS}."),
    ] = None,
    write_back: Annotated[
        str | None, typer.Option(metavar="GRAPH-IRI", help="Write it to this graph of a store.")
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option(metavar="URL", help="The store; by default where the beliefs are from.")
    ] = None,
    update_endpoint: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the store takes updates, if elsewhere.")
    ] = None,
    annotations: AnnotationsOption = "known",
    form: Annotated[
        str,
        typer.Option(
            metavar="reification|named-graphs|triple-terms", help="How annotations name their statements."
        ),
    ] = "reification",
    base: Annotated[
        str | None,
        typer.Option(metavar="IRI", help="What the record's names start with; by default they are UUIDs."),
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(metavar="IRI", help="The name of the evaluated dataset.")
    ] = None,
    license_: Annotated[
        str | None, typer.Option("--license", metavar="IRI", help="The licence of the record.")
    ] = None,
    name_annotators: Annotated[
        bool, typer.Option("--name-annotators", help="Publish the annotators' names.")
    ] = False,
) -> None:
    """Publish the evaluation as linked data: measurements (DQV), provenance (PROV), annotated beliefs.

    Writing back replaces the named graph as a whole, and only that. Credentials come from the environment:
    KGEVAL_USER and KGEVAL_PASSWORD (with KGEVAL_AUTH=digest for Digest), KGEVAL_TOKEN, or netrc.

    Examples:
      kgeval publish run -o evaluation.trig

      kgeval publish run --write-back http://example.org/evaluation --endpoint http://localhost:8890/sparql-auth
    """
    from rdf_kgeval.beliefs.terms import iri_term
    from rdf_kgeval.pipeline import read_evaluation
    from rdf_kgeval.publishing.rdf import Form, RecordOptions
    from rdf_kgeval.runs.run import open_run

    if output is None and write_back is None:
        raise typer.BadParameter("give --output FILE, --write-back GRAPH-IRI, or both")
    if form not in tuple(Form):
        raise typer.BadParameter(f"the form is one of {', '.join(Form)}")
    opened = open_run(run)
    expand = opened.beliefs.prefixes.expand
    options = RecordOptions(
        annotations=chosen_annotations(annotations),
        form=Form(form),
        base=base,
        dataset=expand(dataset) if dataset else None,
        license=iri_term(expand(license_)) if license_ else None,
        name_annotators=name_annotators,
    )
    check_output(
        OutputOptions(publish=output, write_back=write_back, update_endpoint=update_endpoint),
        has_store=bool(endpoint or opened.config.endpoint),
    )
    evaluation = read_evaluation(opened)
    if output is not None:
        publish_to(evaluation, output, options)
    if write_back is not None:
        write_back_to(opened, evaluation, write_back, endpoint, update_endpoint, options)


def report(
    run: RunArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="F.html", help=f"Write it here: {_ENDINGS}.")
    ],
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="|".join(OUTPUTS), hidden=True, help="Instead of the ending."),
    ] = None,
    min_accuracy: MinAccuracy = None,
    max_margin: MaxMargin = None,
) -> None:
    """Write a report: accuracy, how it was obtained, predicates, suspicious beliefs, rules, provenance.

    Examples:
      kgeval report run -o report.html

      kgeval report run -o report.xml --min-accuracy 0.9
    """
    from rdf_kgeval.pipeline import read_evaluation
    from rdf_kgeval.runs.run import open_run

    if format_ is not None and format_ not in OUTPUTS:
        *names, last = OUTPUTS
        raise typer.BadParameter(f"the format is {', '.join(names)} or {last}")
    check_output(OutputOptions(report=output), has_store=False, report_format=format_)
    opened = open_run(run)
    evaluation = read_evaluation(opened)
    report_to(evaluation, output, format_, min_accuracy=min_accuracy, max_margin=max_margin)
    check(evaluation, min_accuracy, max_margin)

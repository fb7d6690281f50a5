"""Infer labels from the verdicts, and say why: `infer`, `explain`, `labels`."""

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rdf_kgeval.cli.options import AsJson, EngineOptions, RunArgument, takes
from rdf_kgeval.cli.tables import MOST, print_text
from rdf_kgeval.cli.terminal import print_json
from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.errors import InputError

if TYPE_CHECKING:
    from rdf_kgeval.evaluation.state import State

VerdictsFile = Annotated[
    Path | None,
    typer.Option(
        metavar="CSV", help="More verdicts: a file with the columns subject,predicate,object,label."
    ),
]
Learn = Annotated[
    bool,
    typer.Option("--update-confidences", help="Learn from the verdicts how far each rule is to be trusted."),
]


@takes(EngineOptions)
def infer(
    run: RunArgument,
    *,
    verdicts: VerdictsFile = None,
    update_confidences: Learn = False,
    as_json: AsJson = False,
    computing: EngineOptions,
) -> None:
    """Infer from the run's verdicts which other beliefs are true and which are false."""
    from rdf_kgeval.beliefs.table import Role

    evaluation, more = _read(run, verdicts, computing)
    inference, beliefs = evaluation.infer(more, relearn=update_confidences), evaluation.graph.beliefs
    label = inference.label()
    asked = int((beliefs.role[list(inference.verdicts)] == Role.BELIEF).sum())
    counts = {
        name: int((label == value).sum()) for name, value in (("true", 1), ("false", 0), ("unknown", -1))
    }
    result = {
        "beliefs": beliefs.n_beliefs,
        "asked": asked,
        "inferred": counts["true"] + counts["false"] - asked,
        **counts,
        "objective": inference.objective,
        "residual": inference.solution.residual,
        "iterations": inference.solution.iterations,
    }
    if as_json:
        print_json(result)
    else:
        typer.echo(
            f"{plural(asked, 'verdict')} and {result['inferred']:,} inferred of "
            f"{plural(len(label), 'belief')}: "
            f"{counts['true']:,} true, {counts['false']:,} false, {counts['unknown']:,} unknown"
        )


def explain(
    run: RunArgument,
    belief: Annotated[
        str,
        typer.Argument(
            metavar="BELIEF",
            help="Words of its names such as 'Cochabamba country', its triple in N-Triples or CURIEs, "
            "its id, or the beginning of that.",
        ),
    ],
    verdicts: VerdictsFile = None,
    update_confidences: Learn = False,
) -> None:
    """Say why a belief is held to be true or false; where several have the names given, list them.

    Examples:
      kgeval explain run "Cochabamba country"

      kgeval explain run "ex:Cochabamba ex:country ex:Bolivia"
    """
    evaluation, more = _read(run, verdicts)
    rows = evaluation.find(belief)
    if len(rows) > 1:
        for row in rows[:MOST]:
            print_text(f"{evaluation.graph.beliefs.id(row)[:12]}  {evaluation.in_words(row)}")
        left = f"; the first {MOST} are listed" if len(rows) > MOST else ""
        raise InputError(
            f"{len(rows):,} beliefs have names like {printable(belief, 200)!r}{left}: add words, or give the "
            "id of one"
        )
    identity = evaluation.graph.beliefs.id(rows[0])
    typer.echo(evaluation.explain(identity, more=more, relearn=update_confidences))


def _read(
    run: Path,
    verdicts: Path | None,
    computing: EngineOptions = EngineOptions(),  # noqa: B008, it is frozen
) -> tuple["State", dict[int, float]]:
    """Open the evaluation of a run, and read further verdicts, by row."""
    from rdf_kgeval.pipeline import read_evaluation
    from rdf_kgeval.runs.run import open_run
    from rdf_kgeval.verdicts.gold import read_gold

    if verdicts:
        read_gold(verdicts)
    opened = open_run(run, computing.chosen())
    more: dict[int, float] = {}
    said = read_gold(verdicts, opened.beliefs.prefixes) if verdicts else {}
    for triple, answer in said.items():
        row = opened.beliefs.find(*triple)
        if row is None:
            raise InputError(f"{printable(' '.join(triple), 200)} of {verdicts} is not in the run {run}")
        more[row] = float(answer)
    return read_evaluation(opened), more


def labels(
    run: RunArgument,
    wrong: Annotated[bool, typer.Option("--wrong", help="Only what is false.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the labels of beliefs, asked or inferred, with soft truth and reason, as CSV.

    Example:
      kgeval labels run --wrong > to-repair.csv
    """
    from rdf_kgeval.pipeline import read_evaluation
    from rdf_kgeval.publishing.labels import COLUMNS, label_rows
    from rdf_kgeval.runs.run import open_run

    rows = label_rows(read_evaluation(open_run(run)), wrong=wrong)
    if as_json:
        typer.echo("[")
        for number, row in enumerate(rows):
            typer.echo(("," if number else "") + json.dumps(row, ensure_ascii=False))
        typer.echo("]")
        return
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)

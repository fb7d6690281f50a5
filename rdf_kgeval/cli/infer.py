"""Infer labels from the verdicts, and say why: `infer`, `explain`, `labels`."""

import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rdf_kgeval.cli.options import AsJson, EngineOptions, RunArgument, takes
from rdf_kgeval.cli.terminal import print_json
from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.errors import InputError

if TYPE_CHECKING:
    from rdf_kgeval.evaluation.state import State
    from rdf_kgeval.inference.infer import Inference
    from rdf_kgeval.runs.run import Run

Verdicts = Annotated[
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
    verdicts: Verdicts = None,
    update_confidences: Learn = False,
    as_json: AsJson = False,
    computing: EngineOptions,
) -> None:
    """Infer from the run's verdicts which other beliefs are true and which are false."""
    from rdf_kgeval.beliefs.table import Role

    opened, inference = _infer(run, verdicts, update_confidences, computing)
    label = inference.label()
    asked = int((opened.beliefs.role[list(inference.verdicts)] == Role.BELIEF).sum())
    counts = {
        name: int((label == value).sum()) for name, value in (("true", 1), ("false", 0), ("unknown", -1))
    }
    result = {
        "beliefs": opened.beliefs.n_beliefs,
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
        str, typer.Argument(help="A belief's id or its beginning, or its triple in N-Triples.")
    ],
    verdicts: Verdicts = None,
    update_confidences: Learn = False,
) -> None:
    """Say why a belief is held to be true or false."""
    from rdf_kgeval.inference.explanation import describe
    from rdf_kgeval.inference.explanation import explain as explain_atom

    opened, inference = _infer(run, verdicts, update_confidences)
    row = opened.row(belief)
    for line in describe(explain_atom(inference, row), opened.in_words):
        typer.echo(line)


def _infer(
    run: Path,
    verdicts: Path | None,
    update_confidences: bool,
    computing: EngineOptions = EngineOptions(),  # noqa: B008, it is frozen
) -> tuple["Run", "Inference"]:
    from rdf_kgeval.pipeline import read_evaluation
    from rdf_kgeval.runs.run import open_run
    from rdf_kgeval.verdicts.oracles import read_gold

    opened = open_run(run, computing.chosen())
    more: dict[int, float] = {}
    for triple, answer in (read_gold(verdicts) if verdicts else {}).items():
        row = opened.beliefs.find(*triple)
        if row is None:
            raise InputError(f"{printable(' '.join(triple), 200)} of {verdicts} is not in the run {run}")
        more[row] = float(answer)
    return opened, read_evaluation(opened).infer(more, relearn=update_confidences)


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
    from rdf_kgeval.runs.run import open_run

    opened = open_run(run)
    rows = _label_rows(opened, read_evaluation(opened), wrong)
    if as_json:
        typer.echo("[")
        for number, row in enumerate(rows):
            typer.echo(("," if number else "") + json.dumps(row, ensure_ascii=False))
        typer.echo("]")
        return
    writer = csv.DictWriter(sys.stdout, _LABEL_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


_LABEL_COLUMNS = ("id", "subject", "predicate", "object", "label", "truth", "source", "reason")


def _label_rows(opened: "Run", evaluation: "State", wrong: bool) -> Iterator[dict[str, Any]]:
    from rdf_kgeval.inference.explanation import explain, reason

    inference = evaluation.inference
    for row, label in zip(opened.beliefs.rows.tolist(), inference.label().tolist(), strict=True):
        if label == 0 or (label == 1 and not wrong):
            human = row in inference.verdicts
            told = "" if human else reason(explain(inference, row, most=1), opened.in_words)
            s, p, o = opened.beliefs.triple(row)
            yield {
                "id": opened.beliefs.id(row),
                "subject": s,
                "predicate": p,
                "object": o,
                "label": label,
                "truth": round(float(inference.x[row]), 4),
                "source": "human" if human else "inferred",
                "reason": told,
            }

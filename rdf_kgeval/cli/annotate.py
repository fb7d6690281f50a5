"""Bring people in, by web pages or by other tools: `serve`, `export`, `import`."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rdf_kgeval.cli.help import OUTPUT, PEOPLE
from rdf_kgeval.cli.options import AsJson, Chosen, RunArgument, takes
from rdf_kgeval.cli.oracle import Evidence, ask_all, nothing_to_ask, pages
from rdf_kgeval.cli.output import check_folder, print_result
from rdf_kgeval.cli.terminal import say
from rdf_kgeval.common.disk import write_text
from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.runs.layout import RunLayout

if TYPE_CHECKING:
    from rdf_kgeval.evaluation.state import State
    from rdf_kgeval.verdicts.log import Verdict


@takes(Settings)
def serve(
    run: RunArgument,
    *,
    annotator: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Somebody who answers (repeatable).", rich_help_panel=PEOPLE),
    ] = None,
    expert: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Somebody who decides what others could not (repeatable).",
            rich_help_panel=PEOPLE,
        ),
    ] = None,
    guidelines: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="What annotators should know; kept in the run.", rich_help_panel=PEOPLE
        ),
    ] = None,
    evidence: Evidence = None,
    host: Annotated[
        str, typer.Option(metavar="HOST", help="Where to listen.", rich_help_panel=PEOPLE)
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="On which port; 0 takes a free one.", rich_help_panel=PEOPLE)
    ] = 8000,
    as_json: AsJson = False,
    method: Chosen,
) -> None:
    """Let people judge beliefs on a web page, each by a personal link, until you press Ctrl-C.

    Everybody with a link can answer under that name: send links as you would send passwords.

    Examples:
      kgeval serve run --annotator alice --annotator bob --expert carol --guidelines guidelines.md

      kgeval serve run --annotator alice --annotator bob --redundancy 2
    """
    from rdf_kgeval.runs.run import open_run

    begin = time.perf_counter()
    if guidelines is not None and not guidelines.is_file():
        raise InputError(f"there is no file {printable(str(guidelines))}")
    opened = open_run(run)
    if guidelines is not None:
        from rdf_kgeval.web.server import read_guidelines

        write_text(RunLayout(run).guidelines, read_guidelines(guidelines))
    if evidence is not None:
        say(opened.keep_evidence(evidence))
    consult = pages(annotators=annotator or ["me"], experts=expert or (), host=host, port=port)
    evaluation = ask_all(opened, consult, method)
    print_result(evaluation, as_json, time.perf_counter() - begin)


@takes(Settings)
def export(
    run: RunArgument,
    *,
    to: Annotated[
        str, typer.Option(metavar="mturk|labelstudio|csv", help="For which tool.", rich_help_panel=OUTPUT)
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Where to, if not to standard output.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    tasks: Annotated[
        int, typer.Option(min=1, metavar="N", help="At most so many beliefs.", rich_help_panel=OUTPUT)
    ] = 100,
    method: Chosen,
) -> None:
    """Write the beliefs to ask next as tasks for another tool.

    Example:
      kgeval export run --to mturk -o tasks.csv
    """
    from rdf_kgeval.evaluation.exchange import FORMATS, task_rows
    from rdf_kgeval.pipeline import open_evaluation
    from rdf_kgeval.runs.run import open_run

    if to not in FORMATS:
        raise typer.BadParameter(f"tasks are for {', '.join(FORMATS)}")
    check_folder(output)
    opened = open_run(run)
    with open_evaluation(opened, method) as evaluation:
        requests = evaluation.next(tasks)
        if not requests:
            raise InputError(nothing_to_ask(evaluation))
        rows = list(task_rows(evaluation, requests))
        opened.add_exported(row["task"] for row in rows)
        text = FORMATS[to](rows)
        left = evaluation.graph.n_beliefs - len(evaluation.asked) - len(rows)
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_text(output, text)
    say(f"{plural(len(rows), 'task')}")
    if left and len(rows) < tasks:
        say("note: what is asked after these depends on the answers; import them, then export again")


def import_(
    run: RunArgument,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|RUN",
            help="Results (MTurk CSV, Label Studio JSON, or task,worker,label), or another run on the "
            "same graph.",
        ),
    ],
) -> None:
    """Take the results of another tool, or the answers of another run, in as verdicts; known ones count once.

    Examples:
      kgeval import run Batch_1234_results.csv

      kgeval import run colleague-run
    """
    from rdf_kgeval.evaluation.exchange import read_results, take_answers, to_verdicts
    from rdf_kgeval.pipeline import open_evaluation
    from rdf_kgeval.runs.run import open_run
    from rdf_kgeval.verdicts.log import read_log, standing

    opened = open_run(run)
    if file.is_dir():
        other = open_run(file)
        other.check_verdicts_exist()
        answers = standing(read_log(other.layout.verdicts))
        with open_evaluation(opened, {}) as evaluation:
            taken = take_answers(evaluation, answers)
            evaluation.record(*taken.verdicts)
            several = _is_majority(evaluation, taken.verdicts)
        _tell_taken(taken.verdicts, taken.known)
        if taken.strange:
            name = printable(str(file))
            say(f"note: left out: {plural(taken.strange, 'belief')} of {name}, not evaluated in this run")
        if taken.differing:
            say(
                f"note: left out: {plural(taken.differing, 'answer')} of an annotator who says otherwise in "
                "this run, which stands"
            )
    else:
        results = read_results(file)
        with open_evaluation(opened, {}) as evaluation:
            imported = to_verdicts(evaluation, results, opened.exported())
            evaluation.record(*imported.verdicts)
            several = _is_majority(evaluation, imported.verdicts)
        _tell_taken(imported.verdicts, imported.known)
    if several:
        say(
            "note: the majority of several answers is taken as right; in a run with --redundancy, annotators "
            "are weighed and their errors allowed for"
        )


def _is_majority(evaluation: "State", verdicts: Sequence["Verdict"]) -> bool:
    return len(verdicts) > len({v.belief for v in verdicts}) and not evaluation.settings.several


def _tell_taken(verdicts: Sequence["Verdict"], known: int) -> None:
    names = len({verdict.annotator for verdict in verdicts})
    beliefs = len({verdict.belief for verdict in verdicts})
    say(
        f"{plural(len(verdicts), 'answer')} by {plural(names, 'annotator')} on "
        f"{plural(beliefs, 'belief')}; {known:,} were there before"
    )


import_.__name__ = "import"

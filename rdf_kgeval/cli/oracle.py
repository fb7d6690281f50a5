"""Choose who answers, by the option --oracle, and ask them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rdf_kgeval.cli.help import PEOPLE
from rdf_kgeval.cli.options import Chosen
from rdf_kgeval.cli.terminal import complain, open_browser, progress_bar, say
from rdf_kgeval.common.text import printable
from rdf_kgeval.verdicts.oracles import GOLD, ORACLES, is_interactive

if TYPE_CHECKING:
    from rdf_kgeval.evaluation.state import State
    from rdf_kgeval.pipeline import Consult, Evaluation
    from rdf_kgeval.runs.run import Run
    from rdf_kgeval.sources.endpoint.client import Endpoint
    from rdf_kgeval.verdicts.oracles import Oracle

_SENTENCES = ", ".join(entry.sentence for entry in (GOLD, *ORACLES.values()))
OracleOption = Annotated[
    str,
    typer.Option(
        "--oracle",
        metavar="|".join((GOLD.name, *ORACLES, "MODULE:NAME")),
        help=f"Who answers: {_SENTENCES}, or your own code.",
        rich_help_panel=PEOPLE,
    ),
]
Evidence = Annotated[
    Path | None,
    typer.Option(
        metavar="F.csv",
        help="Passages to show under the questions: subject,predicate,object,text,url.",
        rich_help_panel=PEOPLE,
    ),
]
Annotator = Annotated[
    str, typer.Option(metavar="NAME", help="Under which name to log your answers.", rich_help_panel=PEOPLE)
]
Annotators = Annotated[
    list[str] | None,
    typer.Option(
        "--annotator",
        metavar="NAME",
        help="Who answers; on the web page several (repeatable).",
        rich_help_panel=PEOPLE,
    ),
]


def check_evidence(file: Path | None) -> None:
    """Read a file of evidence before anything else is done, so that what is wrong in it is said at once."""
    if file is not None:
        from rdf_kgeval.beliefs.evidence import read_passages

        read_passages(file)


def ask_all(
    opened: "Run", consult: "Consult", method: Chosen, endpoint: "Endpoint | None" = None
) -> "Evaluation":
    """Ask until the evaluation stops, and report a change of the store."""
    from rdf_kgeval.pipeline import ask

    evaluation = ask(opened, consult, method, os.cpu_count() or 1, endpoint, progress_bar)
    if evaluation.change:
        say(f"note: {evaluation.change}")
    return evaluation


def answers(oracle: "Oracle") -> "Consult":
    """Make a `Consult` that asks an oracle and shows progress."""
    from rdf_kgeval.evaluation.consult import consult, consult_shown

    people = is_interactive(oracle)
    said_before: set[str] = set()

    def ask_oracle(evaluation: "Evaluation") -> bool:
        _tell_notes(evaluation, said_before, people=people)
        try:
            if people:
                return consult(evaluation, oracle, on_answer=lambda _: say("noted"))
            return consult_shown(evaluation, oracle, progress_bar)
        except KeyboardInterrupt:
            complain("\nkgeval: stopped; every answer is kept, and kgeval ask goes on from here")
            raise typer.Exit(130) from None

    return ask_oracle


def pages(*, browse: bool = False, **serving: Any) -> "Consult":
    """Make a `Consult` that serves web pages and prints their links."""
    from rdf_kgeval.web.server import Pages, Serving

    said_before: set[str] = set()

    def tell(evaluation: "Evaluation", links: Mapping[str, str]) -> None:
        for name, link in links.items():
            complain(f"{printable(name) or 'dashboard'}: {link}")
        _tell_notes(evaluation, said_before, people=True)
        say("Ctrl-C stops; every answer is kept")
        if browse:
            open_browser(next(iter(links.values())))

    return Pages(Serving(**serving), tell)


def serves_pages(oracle: str) -> bool:
    """Return whether a name means pages for several people."""
    return oracle in ORACLES and ORACLES[oracle].pages


def only(names: list[str] | None) -> str:
    """Return the name under which answers at the terminal are logged."""
    if names and len(names) > 1:
        raise typer.BadParameter("several annotators need a page each: use --oracle web")
    return names[0] if names else "me"


def nothing_to_ask(evaluation: "State") -> str:
    """Say in a sentence why there is nothing to ask, and how to go on."""
    settings, stopped = evaluation.settings, str(evaluation.stopped)
    if stopped == "budget":
        spent, more = settings.budgets()
        return f"The budget of {spent} is spent. Go on with --budget {more}."
    reasons = {
        "margin": f"the margin of {settings.margin} is reached",
        "converged": "the estimate no longer moves",
    }
    return f"nothing to ask: {reasons.get(stopped, stopped)}"


def _tell_notes(evaluation: "Evaluation", said_before: set[str], *, people: bool) -> None:
    """Print each note for users once, before anybody answers."""
    notes = []
    if evaluation.stopped:
        notes.append(nothing_to_ask(evaluation))
    if evaluation.note:
        notes.append(f"note: {evaluation.note}")
    settings = evaluation.settings
    if people and evaluation.sampled and not settings.error_rate and not settings.several:
        notes.append("note: every answer is taken as right; --error-rate 0.05 allows for errors")
    for note in notes:
        if note not in said_before:
            say(note)
    said_before.update(notes)

"""Who answers: the option --oracle, and a `Consult` made of what it names."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rdf_kgeval.cli.options import Chosen
from rdf_kgeval.cli.terminal import open_browser, progress_bar, say
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.settings import Settings

if TYPE_CHECKING:
    from rdf_kgeval.pipeline import Consult, Evaluation
    from rdf_kgeval.runs.run import Run
    from rdf_kgeval.sources.endpoint.client import Endpoint
    from rdf_kgeval.verdicts.oracles import Oracle

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


def refuse_in_place(method: Chosen) -> None:
    """Raise an error for a method that must see all beliefs."""
    from rdf_kgeval.evaluation.methods import METHODS

    METHODS[Settings().changed(**method).method].check_in_place()


def ask_all(
    opened: "Run", consult: "Consult", method: Chosen, endpoint: "Endpoint | None" = None
) -> "Evaluation":
    """Ask until the evaluation stops, and say whether the store has changed meanwhile."""
    from rdf_kgeval.pipeline import ask

    evaluation = ask(opened, consult, method, os.cpu_count() or 1, endpoint, progress_bar)
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


def only(names: list[str] | None) -> str:
    """Return the one name that a terminal can log answers under."""
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

"""The command kgeval: options in, text or JSON out.

Modules, in reading order; no module with commands imports another one:
    evaluate: `evaluate`, `ask`, `estimate`.
    init: `init`, `show`.
    mine: `mine`.
    infer: `infer`, `explain`, `labels`.
    annotate: `serve`, `export`, `import`.
    compare: `plan`, `compare`.
    publish: `publish`, `report`.
    demo: `demo`.
    help: the text of --help.
    options: options that several commands share, and those made from `Settings`.
    oracle: the option --oracle, and asking whom it names.
    config_file: options from a file.
    tables: tables and text that fit the terminal.
    output: results at the terminal, in files and in the user's store.
    terminal: messages, progress and JSON.
"""

import io
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from rdf_kgeval.cli import annotate, compare, demo, evaluate, infer, init, mine, publish
from rdf_kgeval.cli.help import Command, Group
from rdf_kgeval.cli.options import hushed
from rdf_kgeval.cli.terminal import complain, progress_bar
from rdf_kgeval.common import jit
from rdf_kgeval.errors import KgevalError

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="How much of this knowledge graph is true?",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from rdf_kgeval import __version__

        typer.echo(f"kgeval {__version__}")
        raise typer.Exit


@app.callback()
def _callback(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


COMMANDS: dict[str, tuple[Callable[..., None], ...]] = {
    "From start to end": (evaluate.evaluate, demo.demo),
    "Prepare": (init.init, init.show, mine.mine, compare.plan, compare.compare),
    "Ask": (evaluate.ask, annotate.serve, annotate.export, annotate.import_),
    "See what is known": (evaluate.estimate, infer.infer, infer.explain, infer.labels),
    "Hand on": (publish.publish, publish.report),
}
for title, commands in COMMANDS.items():
    for command in commands:
        app.command(cls=Command, rich_help_panel=title)(hushed(command))


def main() -> None:
    """Run the command; exit with one sentence and code 1 on an error of the package."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    jit.show = progress_bar
    try:
        app()
    except KgevalError as error:
        complain(f"kgeval: {error}")
        sys.exit(1)

"""The command kgeval: options in, text or JSON out."""

import io
import sys

import typer

from rdf_kgeval.cli import annotate, compare, demo, evaluate, infer, init, mine, publish
from rdf_kgeval.cli.terminal import say
from rdf_kgeval.errors import KgevalError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="How much of this knowledge graph is true?",
)


@app.callback()
def _callback() -> None:
    pass


for command in (
    init.init,
    init.show,
    mine.mine,
    evaluate.evaluate,
    evaluate.ask,
    evaluate.estimate,
    infer.infer,
    infer.explain,
    annotate.serve,
    annotate.export,
    annotate.import_,
    compare.plan,
    compare.compare,
    demo.demo,
    infer.labels,
    publish.publish,
    publish.report,
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

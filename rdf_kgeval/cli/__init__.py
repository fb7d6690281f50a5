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
    options: options that several commands share, and those made from `Settings`.
    oracle: the option --oracle, and asking whom it names.
    config_file: options from a file.
    output: results at the terminal, in files and in the user's store.
    terminal: messages, progress and JSON.
"""

import io
import sys

import typer

from rdf_kgeval.cli import annotate, compare, demo, evaluate, infer, init, mine, publish
from rdf_kgeval.cli.terminal import progress_bar, say
from rdf_kgeval.common import jit
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
    """Run the command; exit with one sentence and code 1 on an error of the package."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    jit.show = progress_bar
    try:
        app()
    except KgevalError as error:
        say(f"kgeval: {error}")
        sys.exit(1)

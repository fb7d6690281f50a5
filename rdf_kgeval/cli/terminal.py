"""What commands say: data to standard output, messages and progress to standard error."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rdf_kgeval.common.progress import Progress


def print_json(value: object) -> None:
    """Data, for programs."""
    typer.echo(json.dumps(value, indent=2))


def say(message: str) -> None:
    """A message, for people."""
    typer.echo(message, err=True)


def open_browser(link: str) -> None:
    """Open a page for somebody who sits at this machine, and for nobody else."""
    has_display = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if has_display and sys.stdin.isatty() and sys.stderr.isatty():
        import threading
        import webbrowser

        # Some browsers return only when they are closed.
        threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()


@contextmanager
def progress_bar() -> Iterator["Progress"]:
    """A progress bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def report(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(escape(what), total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield report

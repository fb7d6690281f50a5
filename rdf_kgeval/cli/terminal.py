"""Print data to standard output, messages and progress to standard error."""

import json
import os
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import typer

from rdf_kgeval.common.progress import Progress, shown, unseen

if TYPE_CHECKING:
    from rdf_kgeval.beliefs.accounts import Accounts


def print_json(value: object) -> None:
    """Print data for programs."""
    typer.echo(json.dumps(value, indent=2))


_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


def hush(quiet: bool) -> None:
    """Take or leave out notes and progress from now on."""
    _quiet.set(quiet)


def say(message: str) -> None:
    """Print a message for people, unless they asked for quiet."""
    if not _quiet.get():
        complain(message)


def complain(message: str) -> None:
    """Print what people must read even with --quiet."""
    typer.echo(message, err=True)


def say_loaded(accounts: "Accounts | None", notes: Iterable[str]) -> None:
    """Say what became of the triples read, unless all are beliefs, and what else users must know of them."""
    for line in accounts.lines() if accounts and not accounts.all_beliefs else ():
        say(line)
    for note in notes:
        say(f"note: {note}")


def open_browser(link: str) -> None:
    """Open a page in the browser if somebody sits at this machine."""
    has_display = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if has_display and sys.stdin.isatty() and sys.stderr.isatty():
        import threading
        import webbrowser

        # Some browsers return only when they are closed.
        threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()


def progress_bar() -> AbstractContextManager[Progress]:
    """Show a progress bar on a terminal, nothing elsewhere or with --quiet."""
    return unseen() if _quiet.get() else shown()

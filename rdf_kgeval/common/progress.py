"""Progress: the callbacks by which long work reports how far it is, and who shows it."""

import html
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

Progress = Callable[[str, int, int | None], None]
"""Called with the name of the work, the amount done, and the total (None where it is unknown)."""
StepProgress = Callable[[int, int], None]
"""Called with the amount done and the total, of work that the caller names."""
Show = Callable[[], AbstractContextManager[Progress]]
"""Shows progress while long work goes on."""

SOON = 0.5
"""Seconds after which work in a notebook is long."""
_STEP = 0.1
"""Seconds between two pictures of a bar in a notebook."""


def unseen() -> AbstractContextManager[Progress]:
    """Show nothing."""
    return nullcontext(lambda *_: None)


def shown() -> AbstractContextManager[Progress]:
    """Show bars on a terminal and in a notebook, and nothing elsewhere."""
    if _is_notebook():
        return _bar_in_notebook()
    return _bars_on_terminal() if sys.stderr.isatty() else unseen()


@contextmanager
def _bars_on_terminal() -> Iterator[Progress]:
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


def _is_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


@contextmanager
def _bar_in_notebook() -> Iterator[Progress]:
    """Show one bar, which needs no widgets, once the work turns out to be long; remove it at the end."""
    from IPython.display import display

    show: Callable[..., Any] = display
    bars: list[Any] = []
    due = time.monotonic() + SOON

    def report(what: str, done: int, total: int | None) -> None:
        nonlocal due
        if time.monotonic() < due:
            return
        due = time.monotonic() + _STEP
        text = f"{what}: {done:,}" + (f" of {total:,}" if total else "")
        bar = f'<progress value="{done}" max="{total}"></progress> ' if total else ""
        data = {"text/plain": text, "text/html": bar + html.escape(text)}
        if bars:
            bars[0].update(data, raw=True)
        else:
            bars.append(show(data, raw=True, display_id=True))

    try:
        yield report
    finally:
        for one in bars:
            one.update({"text/plain": ""}, raw=True)

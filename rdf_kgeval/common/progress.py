"""Progress: the callbacks by which long work reports how far it is."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

Progress = Callable[[str, int, int | None], None]
"""Called with the name of the work, the amount done, and the total (None where it is unknown)."""
StepProgress = Callable[[int, int], None]
"""Called with the amount done and the total, of work that the caller names."""
Show = Callable[[], AbstractContextManager[Progress]]
"""Shows progress while long work goes on."""


def unseen() -> AbstractContextManager[Progress]:
    """Show nothing."""
    return nullcontext(lambda *_: None)

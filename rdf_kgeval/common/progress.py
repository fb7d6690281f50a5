"""Progress: the callbacks by which long work reports how far it is."""

from collections.abc import Callable

Progress = Callable[[str, int, int | None], None]
"""Called with the name of the work, the amount done, and the total (None where it is unknown)."""
StepProgress = Callable[[int, int], None]
"""Called with the amount done and the total, of work that the caller names."""

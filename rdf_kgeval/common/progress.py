"""Progress: how far a long task is, for whoever shows it."""

from collections.abc import Callable

Progress = Callable[[str, int, int | None], None]
"""Takes what is being done, how far it is, and how far it goes (None where that is unknown)."""

"""What an evaluation came to."""

from collections.abc import Sequence


def missed_thresholds(
    accuracy: float | None,
    interval: Sequence[float] | None,
    min_accuracy: float | None = None,
    max_margin: float | None = None,
) -> list[str]:
    """Say which of a user's thresholds a result misses; one that is not a number is missed by all.

    >>> missed_thresholds(0.8, (0.7, 0.9), min_accuracy=0.9, max_margin=0.1)
    ['the accuracy is below 0.9']
    """
    missed = []
    if min_accuracy is not None and (accuracy is None or not accuracy >= min_accuracy):
        missed.append(f"the accuracy is below {min_accuracy:g}")
    if max_margin is not None and (
        interval is None or not interval[1] - interval[0] <= 2 * max_margin + 1e-9
    ):
        missed.append(f"the margin is above {max_margin:g}" if interval else "there is no interval")
    return missed

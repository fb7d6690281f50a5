"""Results of an evaluation, for the graph and for each predicate."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class GroupResult:
    """What is known about a group of beliefs, such as those of a predicate."""

    beliefs: int
    asked: int
    inferred: int
    accuracy: float | None
    """None before anything is known."""
    interval: tuple[float, float] | None
    """None where the method gives none, or not yet."""

    @property
    def known(self) -> bool:
        """Whether a belief of the group is asked or inferred."""
        return self.asked + self.inferred > 0

    def to_json(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of an evaluation; `kgeval evaluate --json` prints it."""

    accuracy: float | None
    """None before anything is known."""
    interval: tuple[float, float] | None
    """None where the method gives none, or not yet."""
    level: float
    margin: float | None
    beliefs: int
    asked: int
    inferred: int
    policy: str
    estimator: str
    seed: int
    stopped: str | None
    """Why there is no more to ask; None while there is."""
    by_predicate: Mapping[str, GroupResult]
    """By IRI, most beliefs first."""

    @property
    def method(self) -> str:
        """The policy and the estimator, as one name."""
        return f"{self.policy}/{self.estimator}"

    def to_json(self) -> dict[str, Any]:
        """Return the fields by name, as `--json` prints them without the seconds that it took."""
        return asdict(self)


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

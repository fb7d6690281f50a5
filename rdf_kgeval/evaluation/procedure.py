"""Define procedures, which choose what to ask: a policy or a sampling design at work."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from rdf_kgeval.common.progress import StepProgress
from rdf_kgeval.common.types import Float64s, Int32s
from rdf_kgeval.coupling.graph import Thetas
from rdf_kgeval.estimation.design import Estimate
from rdf_kgeval.verdicts.ledger import Finding
from rdf_kgeval.verdicts.log import Drawn, Verdict


def spread(count: int, most: int | None) -> list[int]:
    """Choose up to `most` of the numbers 1 to `count`, evenly spread, the last one among them.

    >>> spread(10, 3)
    [4, 7, 10]
    """
    if most is None or count <= most:
        return list(range(1, count + 1))
    return [-(-count * i // most) for i in range(1, most + 1)]


@dataclass(frozen=True)
class Request:
    """A belief to ask, by position, and how it was drawn."""

    position: int
    drawn: Drawn
    probability: float | None = None
    workers: int = 1
    """Number of annotators to show it to."""

    @classmethod
    def of(cls, verdict: Verdict, position: int, redundancy: int) -> "Request":
        """Return the request that a verdict answers.

        Args:
            verdict: an answer on the belief.
            position: the belief's.
            redundancy: annotators for each belief, where the verdict does not say.
        """
        return cls(position, verdict.drawn, verdict.probability, verdict.workers or redundancy)


@dataclass(frozen=True)
class Point:
    """The state of an evaluation after a verdict."""

    asked: int
    accuracy: float | None
    """None while nothing is known."""
    inferred: int | None
    """Labelled without having been asked; None where inference waits for the end."""


class Procedure(Protocol):
    """A pure function of the verdicts that it took, in their order."""

    def history(self, most: int | None = None) -> list[Point]:
        """List a point for each verdict; of more than `most`, evenly spread ones."""
        ...

    @property
    def note(self) -> str | None:
        """Return a note for users, in a sentence."""
        ...

    @property
    def short(self) -> tuple[str, ...]:
        """Return the predicates of which more must be drawn before there is more to ask."""
        ...

    @property
    def thetas(self) -> Thetas:
        """Return each rule's weights, learned from the verdicts."""
        ...

    def next(self, k: int, without: Collection[int], progress: StepProgress | None = None) -> list[Request]:
        """Choose up to k beliefs to ask, none of them in `without`."""
        ...

    def take(self, position: int, found: Finding) -> None:
        """Take the finding on a belief that had none before."""
        ...

    def retake(self, position: int, found: Finding | None) -> bool:
        """Take another finding on a belief that had one, or the loss of it.

        Returns:
            Whether it could be done; else all verdicts have to be taken again from the beginning.
        """
        ...

    def expected(self) -> Float64s | None:
        """Return by position how many beliefs are expected to follow from an answer, 0 if not to be asked.

        None where nobody looks ahead.
        """
        ...

    def stopped(self) -> str | None:
        """Return why there is no more to ask; None while there is."""
        ...

    def estimate(self, *, final: bool) -> Estimate:
        """Estimate the accuracy; before the end, with an interval only if it may be looked at."""
        ...

    def estimate_groups(self, group: Int32s, *, final: bool) -> list[Estimate]:
        """Estimate each group of beliefs, numbered from 0; -1 marks beliefs in no group."""
        ...

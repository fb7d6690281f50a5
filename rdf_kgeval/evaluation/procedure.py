"""What asks: a policy at work, or a sampling design."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from rdf_kgeval.common.types import Float64s, Int32s
from rdf_kgeval.coupling.graph import Thetas
from rdf_kgeval.estimation.design import Estimate
from rdf_kgeval.inference.lookahead import Advance
from rdf_kgeval.verdicts.ledger import Finding
from rdf_kgeval.verdicts.log import Drawn


def spread(count: int, most: int | None) -> list[int]:
    """Up to `most` of the numbers 1 to `count`, evenly spread and with the last one.

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
    """How many annotators to show it to."""


@dataclass(frozen=True)
class Point:
    """Where an evaluation stood after a verdict."""

    asked: int
    accuracy: float | None
    """None while nothing is known."""
    inferred: int | None
    """Labelled without having been asked; None where inference waits for the end."""


class Procedure(Protocol):
    """A pure function of the verdicts that it took, in their order."""

    def history(self, most: int | None = None) -> list[Point]:
        """Where it stood after each verdict; where there are more than `most`, evenly spread ones."""
        ...

    @property
    def note(self) -> str | None:
        """What users must be told, in a sentence."""
        ...

    @property
    def short(self) -> tuple[str, ...]:
        """Predicates of which more must be drawn from the population before there is more to ask."""
        ...

    @property
    def thetas(self) -> Thetas:
        """Each rule's weights, as the verdicts left them."""
        ...

    def next(self, k: int, without: Collection[int], progress: Advance | None = None) -> list[Request]:
        """Up to k beliefs to ask, none of which is in `without`."""
        ...

    def take(self, position: int, found: Finding) -> None:
        """What people say of a belief that was not asked before."""
        ...

    def retake(self, position: int, found: Finding | None) -> bool:
        """Other answers on a belief that was asked before, or none any more.

        Returns:
            Whether it could be done; else all verdicts have to be taken again from the beginning.
        """
        ...

    def expected(self) -> Float64s | None:
        """By position, how many beliefs an answer is expected to tell about, 0 where it is not to be asked.

        None where nobody looks ahead.
        """
        ...

    def stopped(self) -> str | None:
        """Why there is no more to ask; None while there is."""
        ...

    def estimate(self, *, final: bool) -> Estimate:
        """The accuracy of all beliefs; before the end, only with an interval that may be looked at."""
        ...

    def estimate_groups(self, group: Int32s, *, final: bool) -> list[Estimate]:
        """The accuracy of each group of beliefs, numbered from 0; -1 marks what is in none."""
        ...

"""What asks: a policy at work, or a sampling design."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from rdf_kgeval.beliefs import Ints
from rdf_kgeval.coupling import Thetas
from rdf_kgeval.inference.live import Progress
from rdf_kgeval.verdicts import Drawn


@dataclass(frozen=True)
class Request:
    """A belief to ask, by position, and how it was drawn."""

    position: int
    drawn: Drawn
    probability: float | None = None


@dataclass(frozen=True)
class Point:
    """Where an evaluation stood after a verdict."""

    asked: int
    accuracy: float | None
    """None while nothing is known."""
    inferred: int | None
    """Labelled without having been asked; None where inference waits for the end."""


class Estimated(NamedTuple):
    """An accuracy, if anything is known of it, and its interval, if one can be stood for."""

    accuracy: float | None
    interval: tuple[float, float] | None


class Procedure(Protocol):
    """A pure function of the verdicts that it took, in their order."""

    history: list[Point]

    @property
    def note(self) -> str | None:
        """What users must be told, in a sentence."""
        ...

    @property
    def thetas(self) -> Thetas:
        """Each rule's weights, as the verdicts left them."""
        ...

    def next(self, k: int, without: Collection[int], progress: Progress | None = None) -> list[Request]:
        """Up to k beliefs to ask, none of which is in `without`."""
        ...

    def take(self, position: int, outcome: int, drawn: Drawn) -> None:
        """What people say of a belief that was not asked before."""
        ...

    def stopped(self) -> str | None:
        """Why there is no more to ask; None while there is."""
        ...

    def estimate(self, *, final: bool) -> Estimated:
        """The accuracy of all beliefs; before the end, only with an interval that may be looked at."""
        ...

    def estimate_groups(self, group: Ints, *, final: bool) -> list[Estimated]:
        """The accuracy of each group of beliefs, numbered from 0; -1 marks what is in none."""
        ...

"""Describe what the desk keeps: people, open beliefs, and the status of the evaluation."""

from dataclasses import dataclass, field
from typing import NamedTuple

from rdf_kgeval.estimation.design import Estimate
from rdf_kgeval.evaluation.procedure import Request
from rdf_kgeval.evaluation.state import Goal
from rdf_kgeval.verdicts.log import Verdict
from rdf_kgeval.web.cards import Card


@dataclass(eq=False)
class Person:
    """An annotator or expert with a link."""

    name: str
    expert: bool = False
    turn: int = 0
    """Records of this person in the log; what comes from a page of another turn is stale."""
    asked: "OpenBelief | None" = None
    since: float = 0.0
    answered: dict[str, Verdict] = field(default_factory=dict)
    """By belief, the answers that were not retracted, the last one last."""
    skipped: set[int] = field(default_factory=set)
    writing: bool = False


@dataclass(eq=False)
class OpenBelief:
    """A belief that is to be judged."""

    request: Request
    card: Card
    said: set[str] = field(default_factory=set)
    """Who judged it."""
    held: set[str] = field(default_factory=set)
    """Who looks at it."""

    @property
    def begun(self) -> bool:
        """Return whether anybody judged it or looks at it."""
        return bool(self.said or self.held)

    @property
    def missing(self) -> int:
        """Count the answers to come."""
        return max(self.request.workers - len(self.said), 0)


@dataclass(frozen=True, kw_only=True)
class Status:
    """The state of the evaluation, as people may see it."""

    goal: Goal | None = None
    """The number of answers at which it will stop, where that can be foreseen."""
    estimate: Estimate | None = None
    level: float = 0.95
    stopped: str | None = None
    sampled: bool = False
    """Whether the method ends with an interval."""
    starved: bool = False
    """Whether a sample in place is used up, so that there is nothing to show before more is drawn."""


class Thought(NamedTuple):
    """The result of thinking."""

    fresh: list[OpenBelief]
    undecided: list[OpenBelief]
    status: Status

"""What lies on the desk: people, beliefs that are open, and how far the evaluation is."""

from dataclasses import dataclass, field
from typing import NamedTuple

from rdf_kgeval.estimation.design import Estimate
from rdf_kgeval.evaluation.procedure import Request
from rdf_kgeval.verdicts.log import Verdict
from rdf_kgeval.web.cards import Card


@dataclass(eq=False)
class Person:
    """Somebody with a link."""

    name: str
    expert: bool = False
    turn: int = 0
    """Records of this person in the log; what comes from a page of another turn is stale."""
    asked: "Open | None" = None
    since: float = 0.0
    answered: dict[str, Verdict] = field(default_factory=dict)
    """By belief, the standing answers, the last one last."""
    skipped: set[int] = field(default_factory=set)
    writing: bool = False


@dataclass(eq=False)
class Open:
    """A belief that is to be judged."""

    request: Request
    card: Card
    said: set[str] = field(default_factory=set)
    """Who judged it."""
    held: set[str] = field(default_factory=set)
    """Who looks at it."""

    @property
    def begun(self) -> bool:
        """Whether anybody has to do with it."""
        return bool(self.said or self.held)

    @property
    def missing(self) -> int:
        """How many answers are to come."""
        return max(self.request.workers - len(self.said), 0)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How far the evaluation is, as people may see it."""

    verdicts: int = 0
    budget: int | None = None
    estimate: Estimate | None = None
    level: float = 0.95
    stopped: str | None = None
    sampled: bool = False
    """Whether an interval is to be had at the end."""
    starved: bool = False
    """Whether a sample in place is used up, so that there is nothing to show before more is drawn."""


class Thought(NamedTuple):
    """What thinking came to."""

    fresh: list[Open]
    undecided: list[Open]
    standing: Standing

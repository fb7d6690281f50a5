"""Settings of an evaluation: which method, with what budget, from what seed."""

import re
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.methods import DEFAULT, METHODS, estimators_of
from rdf_kgeval.verdicts.aggregation import AGGREGATORS

if TYPE_CHECKING:
    from rdf_kgeval.estimation.design import DesignOptions

MOST_WORKERS = 1000
SEED_SIZE = 50
"""Beliefs asked at random before control takes over, as in the paper."""


@dataclass(frozen=True)
class Option:
    """Describes how users give a field of `Settings`."""

    metavar: str | None
    """Stands for its value in help; None for a flag."""
    help: str
    """Says what it does."""
    parsed: bool
    """Whether `Settings.changed` makes the value from a text."""


def _option(default: Any, metavar: str | None, help_: str, *, parsed: bool = False) -> Any:
    return field(default=default, metadata={"option": Option(metavar, help_, parsed)})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Say how to evaluate; fixed by the first verdict of a run, but for the budget.

    A field with an `Option` is an option of the command line and a key of the configuration file.
    """

    policy: str = _option(
        DEFAULT.partition("/")[0], "P", "Which beliefs to ask: stratified (default), srs, greedy, ..."
    )
    estimator: str = _option(DEFAULT.partition("/")[2], "E", "How to estimate; each policy has its own.")
    seed: int = _option(0, "N", "Seed of everything random.")
    budget: int | None = _option(None, "N|TIME", "Verdicts such as 140, or time such as 2h.", parsed=True)
    """Verdicts, the seed set included."""
    seconds: float | None = None
    """Time of annotators, by the costs of identifying entities and verifying triples."""
    margin: float | None = _option(0.05, "M", "Stop at this half-width of the interval.")
    """Half the width of the interval to reach; None to go on to the end of the budget."""
    level: float = _option(0.95, "L", "Confidence of the interval.")
    strict: bool = _option(False, None, "Promise the level at every accuracy, not on average.")
    objective: str = _option("overall", "overall|predicate", "What the sample is to tell about best.")
    """What the sample serves: the accuracy of the graph (overall) or of each predicate (predicate)."""
    error_rate: float = _option(0.0, "E", "Known share of wrong verdicts.")
    redundancy: int = _option(
        1, "N|paper", "Annotators for each belief: a number, or as the paper allots.", parsed=True
    )
    """Annotators who are asked about each belief; with several, their answers are weighed."""
    allocate: bool = False
    """Ask more annotators about beliefs from which more follows, as the paper does within a budget."""
    votes: str = _option(
        next(iter(AGGREGATORS)),
        "|".join(AGGREGATORS),
        "How several answers on a belief are put together: "
        + "; ".join(f"{name}, {entry.sentence}" for name, entry in AGGREGATORS.items())
        + ".",
    )
    seed_size: int = _option(SEED_SIZE, "N", "Beliefs to ask at random before control takes over.")
    candidates: int | None = _option(None, "K", "Greedy control looks only at so many candidates.")
    converge: bool = True
    """Stop when the last estimates hardly differ, for methods without an interval."""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            known = {method.partition("/")[0] for method in METHODS}
            if self.policy not in known:
                raise InputError(
                    f"there is no policy {printable(self.policy, 40)!r}; choose one of "
                    f"{', '.join(dict.fromkeys(method.partition('/')[0] for method in METHODS))}"
                )
            fitting = " or ".join(estimators_of(self.policy))
            raise InputError(
                f"the policy {self.policy} goes with the estimator {fitting}, "
                f"not {printable(self.estimator, 40)!r}"
            )
        if self.candidates is not None and self.policy != "greedy":
            raise InputError(f"candidates are greedy control's; the policy {self.policy} has none")
        if self.seed < 0 or self.seed_size < 0:
            raise InputError("the seed and the size of the seed set cannot be negative")
        if (self.budget is not None and self.budget < 1) or (self.seconds is not None and self.seconds <= 0):
            raise InputError("the budget must be at least one verdict, or some time such as 2h")
        if not 1 <= self.redundancy <= MOST_WORKERS:
            raise InputError(
                f"a belief can be shown to 1 to {MOST_WORKERS} annotators, not to {self.redundancy}"
            )
        AGGREGATORS.choose(self.votes)
        if self.allocate and (self.policy != "greedy" or self.budget is None):
            raise InputError(
                "the paper's redundancy follows from what greedy control expects to infer within a budget of "
                "verdicts; add --policy greedy and --budget 140, or give a number"
            )
        self.design_options()

    def design_options(self) -> "DesignOptions":
        """Return what a sampling design takes of these.

        Raises:
            InputError: one is out of range.
        """
        from rdf_kgeval.estimation.design import DesignOptions, ErrorRates

        return DesignOptions(
            margin=self.margin,
            level=self.level,
            seed=self.seed,
            strict=self.strict,
            objective=self.objective,
            error=ErrorRates(self.error_rate, self.error_rate),
        )

    def changed(self, **options: Any) -> "Settings":
        """Return settings with options as users give them, such as the budget 2h or the redundancy paper."""
        unknown = options.keys() - {one.name for one in fields(self)}
        if unknown:
            raise InputError(f"there is no option {printable(min(unknown), 40)!r} of an evaluation")
        if isinstance(options.get("budget"), str):
            options = {**options, "budget": None, "seconds": None, **parse_budget(options["budget"])}
        if isinstance(options.get("redundancy"), str):
            options = {**options, **parse_redundancy(options["redundancy"])}
        policy, estimator = options.get("policy"), options.get("estimator")
        if policy is not None and policy != self.policy:
            options = {
                "estimator": next(iter(estimators_of(policy)), self.estimator),
                "candidates": None,
                **options,
            }
        elif policy is None and estimator is not None and estimator not in estimators_of(self.policy):
            fitting = [method for method in METHODS if method.endswith(f"/{estimator}")]
            options = {"policy": fitting[0].partition("/")[0] if fitting else self.policy, **options}
        return replace(self, **options)

    def fixed(self) -> dict[str, Any]:
        """Return what may not change once there are verdicts."""
        return {k: v for k, v in self.to_json().items() if k not in ("budget", "seconds", "converge")}

    def described(self) -> str:
        """Describe in words what differs from the defaults."""
        usual = Settings().to_json()
        own = {k: v for k, v in self.fixed().items() if v != usual[k]}
        return ", ".join(f"{k} {v}" for k, v in {"policy": self.policy, **own}.items())

    @property
    def several(self) -> bool:
        """Return whether beliefs are shown to several annotators, whose answers are weighed."""
        return self.redundancy > 1 or self.allocate

    @property
    def method(self) -> str:
        """Return the name of the method, `policy/estimator`."""
        return f"{self.policy}/{self.estimator}"

    def to_json(self) -> dict[str, Any]:
        """Return the fields as `config.json` keeps them."""
        return asdict(self)


def methods_of(text: str, *, budget: str | None, **options: Any) -> list[Settings]:
    """Return settings for methods as a user names them, such as "greedy/inferable,random/mean".

    A budget is spent to the last verdict, so that methods are compared at equal cost.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names or len(set(names)) < len(names):
        raise InputError(f"the methods {printable(text, 100)!r} are none, or one is named twice")
    found = []
    for name in names:
        policy, _, estimator = name.partition("/")
        if name == "default":
            policy, _, estimator = DEFAULT.partition("/")
        chosen = dict(options, policy=policy)
        if estimator:
            chosen["estimator"] = estimator
        if policy != "greedy":
            chosen["candidates"] = None
        if budget is not None:
            chosen.update(budget=budget, margin=None, converge=False)
        found.append(Settings().changed(**chosen))
    return found


def parse_budget(text: str) -> dict[str, float]:
    """Parse a budget: verdicts such as 140, or time such as 2h, 90m or 45s.

    >>> parse_budget("140"), parse_budget("1.5h")
    ({'budget': 140}, {'seconds': 5400.0})
    """
    if re.fullmatch("[1-9][0-9]{0,8}", text):
        return {"budget": int(text)}
    match = re.fullmatch(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)([hms])", text)
    if match and float(match[1]) > 0:
        return {"seconds": float(match[1]) * {"h": 3600, "m": 60, "s": 1}[match[2]]}
    raise InputError(
        f"the budget {printable(text, 40)!r} is neither a number of verdicts such as 140 nor a time such as "
        "2h"
    )


def parse_redundancy(text: str) -> dict[str, Any]:
    """Parse how many annotators see a belief: a number, or "paper".

    >>> parse_redundancy("3"), parse_redundancy("paper")
    ({'redundancy': 3, 'allocate': False}, {'redundancy': 1, 'allocate': True})
    """
    if text == "paper":
        return {"redundancy": 1, "allocate": True}
    if re.fullmatch("[1-9][0-9]{0,3}", text):
        return {"redundancy": int(text), "allocate": False}
    raise InputError(
        f"the redundancy {printable(text, 40)!r} is neither a number such as 3 nor the word paper"
    )

"""Settings of an evaluation: its method, budget, seed, and how users give them."""

import re
from dataclasses import asdict, dataclass, field, fields, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict

from rdf_kgeval.common.arguments import check_fields
from rdf_kgeval.common.registry import suggest
from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.methods import DEFAULT, METHODS, Method, estimators_of, own_method
from rdf_kgeval.verdicts.aggregation import AGGREGATORS

if TYPE_CHECKING:
    from rdf_kgeval.estimation.design import DesignOptions

MOST_WORKERS = 1000
SEED_SIZE = 50
"""Beliefs asked at random before control takes over, as in the paper."""


@dataclass(frozen=True)
class Option:
    """Describe how users give a field of `Settings`."""

    metavar: str | None
    """Placeholder for its value in help; None for a flag."""
    help: str
    """Sentence for help and docs."""
    parsed: bool
    """Whether users give a text that `Settings.changed` parses."""
    share: bool
    """Whether it is a share, which users may write as a percentage."""
    people: bool
    """Whether it is about those who answer rather than about the method."""


def _option(
    default: Any,
    metavar: str | None,
    help_: str,
    *,
    parsed: bool = False,
    share: bool = False,
    people: bool = False,
) -> Any:
    return field(default=default, metadata={"option": Option(metavar, help_, parsed, share, people)})


_POLICIES = tuple(dict.fromkeys(method.policy for method in METHODS.values()))
_ESTIMATORS = tuple(dict.fromkeys(method.estimator for method in METHODS.values()))


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Choose how to evaluate; fixed by the first verdict of a run, except the budget.

    A field with an `Option` is an option of the command line and a key of the configuration file.
    """

    policy: str = _option(
        DEFAULT.partition("/")[0], "P", f"Choose which beliefs to ask about: {', '.join(_POLICIES)}."
    )
    estimator: str = _option(
        DEFAULT.partition("/")[2], "E", f"How to estimate, each policy by its own: {', '.join(_ESTIMATORS)}."
    )
    seed: int = _option(0, "N", "Seed of everything random.")
    budget: int | None = _option(
        None, "N|TIME", "Stop after so many answers, such as 140, or so much time, such as 2h.", parsed=True
    )
    """Verdicts, the seed set included."""
    seconds: float | None = None
    """Time of annotators, by the costs of identifying entities and verifying triples."""
    margin: float | None = _option(
        0.05, "M", "Stop at this half-width of the interval: 0.05 or 5%.", share=True
    )
    """Half the width of the interval to reach; None to go on to the end of the budget."""
    level: float = _option(0.95, "L", "Confidence of the interval: 0.95 or 95%.", share=True)
    strict: bool = _option(False, None, "Promise the level at every accuracy, not on average.")
    objective: str = _option(
        "overall", "overall|predicate", "Optimise the interval of the whole graph, or of each predicate."
    )
    """Accuracy to estimate best: of the graph (overall) or of each predicate (predicate)."""
    error_rate: float = _option(
        0.0, "E", "Known share of wrong answers: 0.05 or 5%.", share=True, people=True
    )
    redundancy: int = _option(
        1,
        "N|paper",
        "Annotators for each belief: a number, or as the paper allots.",
        parsed=True,
        people=True,
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
        people=True,
    )
    seed_size: int = _option(SEED_SIZE, "N", "Beliefs to ask at random before control takes over.")
    candidates: int | None = _option(None, "K", "Greedy control looks only at so many candidates.")
    converge: bool = True
    """Stop when the last estimates hardly differ, for methods without an interval."""
    design: object = None
    """Method of one's own in place of policy and estimator: a function of a `Population` and `DesignOptions`
    that returns a `Design`, or a `Policy`; in Python, in memory only."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.design is not None and f"{self.policy}/{self.estimator}" != DEFAULT:
            raise InputError("a design of your own takes the place of policy and estimator; leave them out")
        if self.design is not None:
            own_method(self.design)
        if f"{self.policy}/{self.estimator}" not in METHODS:
            known = list(dict.fromkeys(method.partition("/")[0] for method in METHODS))
            if self.policy not in known:
                raise InputError(
                    f"there is no policy {printable(self.policy, 40)!r}; {suggest(self.policy, known)}"
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
        """Return the options of a sampling design.

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
        names = [one.name for one in fields(self)]
        unknown = options.keys() - set(names)
        if unknown:
            first = min(unknown)
            raise InputError(
                f"there is no option {printable(first, 40)!r} of an evaluation; {suggest(first, names)}"
            )
        options = {k: v.item() if hasattr(v, "dtype") else v for k, v in options.items()}  # numpy's numbers
        shares = {one.name for one in fields(self) if one.metadata and one.metadata["option"].share}
        options |= {k: parse_share(v) for k, v in options.items() if k in shares and isinstance(v, str)}
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

    def options(self) -> dict[str, Any]:
        """Return the options from which `changed` makes these settings again, as users write them."""
        values = {one.name: getattr(self, one.name) for one in fields(self) if "option" in one.metadata}
        if self.seconds is not None:
            values["budget"] = _time(self.seconds)
        if self.allocate:
            values["redundancy"] = "paper"
        return {name: value for name, value in values.items() if value is not None}

    def budgets(self) -> tuple[str, str]:
        """Describe the budget in words, and a larger one as a user gives it."""
        if self.budget is not None:
            return plural(self.budget, "answer"), str(self.budget + max(10, self.budget // 2))
        spent = self.seconds or 0.0
        return _time(spent), _time(1.5 * spent)

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

    @cached_property
    def chosen(self) -> Method:
        """Return the method."""
        if self.design is not None:
            return own_method(self.design)
        return METHODS[f"{self.policy}/{self.estimator}"]

    @property
    def method(self) -> str:
        """Return the name of the method, `policy/estimator`."""
        return self.chosen.name

    def to_json(self) -> dict[str, Any]:
        """Return the fields as `config.json` keeps them."""
        return asdict(replace(self, design=None), dict_factory=_without_design)


class MethodOptions(TypedDict, total=False):
    """The fields of `Settings` as `changed` takes them, for those who check types."""

    policy: str
    estimator: str
    seed: int
    budget: int | str | None
    seconds: float | None
    margin: float | str | None
    level: float | str
    strict: bool
    objective: str
    error_rate: float | str
    redundancy: int | str
    allocate: bool
    votes: str
    seed_size: int
    candidates: int | None
    converge: bool
    design: object


def _without_design(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in entries if name != "design"}


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


def _time(seconds: float) -> str:
    """Write a time as a budget, exactly where three decimals are enough."""
    for unit, size in (("h", 3600), ("m", 60), ("s", 1)):
        number = f"{seconds / size:.3f}".rstrip("0").rstrip(".")
        if float(number) * size == seconds:
            return number + unit
    return f"{seconds:.3f}s"


def parse_share(text: str) -> float:
    """Parse a share, such as 0.05 or 5%.

    >>> parse_share("0.05"), parse_share("5%")
    (0.05, 0.05)
    """
    number, percent, rest = text.strip().partition("%")
    try:
        value = Decimal(number) / (100 if percent else 1)
    except InvalidOperation:
        value = Decimal("nan")
    if rest or not value.is_finite() or not 0 <= value <= 1:
        meant = value if value.is_finite() and 1 < value <= 100 and not rest else Decimal(5)
        raise InputError(f"{printable(text, 40)}: write it as a share, such as {meant / 100}, or as {meant}%")
    return float(value)


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

"""Name the methods, `policy/estimator`: a sampling design with its estimator, or a policy of the paper.

A new method is a new file and a line here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rdf_kgeval.common.registry import Entry, Registry
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError

if TYPE_CHECKING:
    from rdf_kgeval.estimation.design import Design, DesignOptions
    from rdf_kgeval.estimation.population import Population

DEFAULT = "stratified/bayes"
"""The method where the user names none."""


@dataclass(frozen=True, kw_only=True)
class Method(Entry):
    """A way to choose what to ask, and to estimate from the answers.

    The sentence completes "people were asked about ...".
    """

    interval: bool = False
    """Whether it is a sampling design, which ends with an interval."""
    strict: bool = False
    """Whether it can promise the level at every accuracy."""
    in_place: bool = False
    """Whether it works with a loaded part of the beliefs."""
    needs_truth: bool = False
    """Whether it starts from the soft truths of inference."""
    steers: bool = False
    """Whether its draws follow the objective."""
    planned: bool = False
    """Whether `kgeval plan` compares it."""
    overconfident: bool = False
    """Whether its intervals hold the truth less often than they say; see benchmarks/COVERAGE.md."""

    @property
    def policy(self) -> str:
        """Return the first half of the name."""
        return self.name.partition("/")[0]

    @property
    def estimator(self) -> str:
        """Return the second half of the name."""
        return self.name.partition("/")[2]

    def design(self, population: "Population", options: "DesignOptions") -> "Design":
        """Make the sampling design.

        Raises:
            InputError: the options ask for more than the method can promise.
        """
        if options.strict and not self.strict:
            raise InputError(
                f"{self.name} cannot promise the level at every accuracy; leave strict out or use "
                f"{_able(lambda method: method.strict)}"
            )
        if options.objective != "overall" and not self.steers:
            raise InputError(
                f"{self.name} does not steer its draws by objective; use "
                f"{_able(lambda method: method.steers)} for that"
            )
        if options.strict and options.objective == "predicate":
            raise InputError(
                f"{self.name} is strict for the objective overall only; leave one of the two out"
            )
        if population.reserve is not None:
            self.check_in_place()
        design: Design = self.load()(population, options)
        return design

    def check_in_place(self) -> None:
        """Raise an error if a sampling design needs the whole population."""
        if self.interval and not self.in_place:
            raise InputError(
                f"{self.name} must see all beliefs, which stay at the endpoint with --in-place; use "
                f"{_able(lambda method: method.in_place)}"
            )


@dataclass(frozen=True, kw_only=True)
class OwnMethod(Method):
    """A method that a Python user hands over as an object; it has no line in `METHODS`."""

    code: Any

    def load(self) -> Any:
        """Return the object."""
        return self.code


def own_method(given: Any) -> OwnMethod:
    """Make a method of a policy, or of a function of `Population` and `DesignOptions` that returns a design.

    Raises:
        InputError: it is neither.
    """
    is_policy = hasattr(given, "pick") and hasattr(given, "labelling")
    if isinstance(given, type) or not (is_policy or callable(given)):
        raise InputError(
            f"design takes a function of a population and its options, or a policy, not "
            f"{printable(repr(given), 60)}; name one of the package's own by policy and estimator"
        )
    name = getattr(given, "__name__", type(given).__name__)
    sentence = "the beliefs that a method of the user's own chose"
    return OwnMethod(name=f"own/{name}", target="", sentence=sentence, interval=not is_policy, code=given)


def _able(promise: Callable[[Method], bool]) -> str:
    return ", ".join(name for name, method in METHODS.items() if promise(method))


_SRS = "a simple random sample of the beliefs"
_TWCS = "a random sample of subjects, and of up to three beliefs of each"
_DEGREE = "the beliefs that most rules touch, after some random ones"
# fmt: off
METHODS = Registry(
    "method",
    Method("stratified/bayes", "estimation.stratified:stratified_bayes",
           "a random sample of the beliefs, drawn predicate by predicate in proportion to what each can "
           "still teach", interval=True, strict=True, in_place=True, steers=True, planned=True),
    Method("srs/wilson", "estimation.srs:srs_wilson", _SRS, interval=True, in_place=True, planned=True),
    Method("srs/ahpd", "estimation.srs:srs_ahpd", _SRS, interval=True, in_place=True, overconfident=True),
    Method("srs/fixed-width", "estimation.srs:srs_fixed_width", _SRS,
           interval=True, strict=True, in_place=True),
    Method("twcs/wilson", "estimation.twcs:twcs_wilson", _TWCS, interval=True, overconfident=True),
    Method("twcs/ahpd", "estimation.twcs:twcs_ahpd", _TWCS, interval=True, overconfident=True),
    Method("assisted/difference", "estimation.assisted:assisted_difference",
           "a random sample of the beliefs, with inference to tell where it is worth looking",
           interval=True, needs_truth=True),
    Method("anytime/betting", "estimation.srs:anytime_betting",
           "a random sample of the beliefs, with an interval that holds whenever one looks",
           interval=True, strict=True, in_place=True, planned=True),
    Method("greedy/inferable", "evaluation.policies:GREEDY",
           "the beliefs from which most others were expected to follow, after some random ones",
           planned=True),
    Method("random/mean", "evaluation.policies:RANDOM", "beliefs at random"),
    Method("max-degree/mean", "evaluation.policies:MAX_DEGREE", _DEGREE),
    Method("cascade/inferable", "evaluation.policies:CASCADE",
           "beliefs whose answer spreads furthest along the rules, after some random ones"),
    Method("random+inference/inferable", "evaluation.policies:RANDOM_INFERENCE",
           "beliefs at random, and inferred others from them"),
    Method("max-degree+inference/inferable", "evaluation.policies:MAX_DEGREE_INFERENCE", _DEGREE),
)
"""Every method; the first of a policy is its default."""
# fmt: on


def estimators_of(policy: str) -> list[str]:
    """List the estimators that go with a policy, its default first."""
    return [method.estimator for method in METHODS.values() if method.policy == policy]

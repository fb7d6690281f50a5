"""The sampling designs by name: `policy/estimator`."""

from collections.abc import Callable
from dataclasses import dataclass

from rdf_kgeval.errors import InputError
from rdf_kgeval.estimation import assisted, srs, stratified, twcs
from rdf_kgeval.estimation.design import Design, Error, Options, Population

DEFAULT = "stratified/bayes"
"""What is used where the user names no method."""


@dataclass(frozen=True)
class Factory:
    """Makes a design from a population and options."""

    name: str
    build: Callable[[Population, Options], Design]
    strict: bool
    """Whether the method can promise the level at every accuracy."""
    in_place: bool
    """Whether a reserve is enough, in place of the whole population."""

    def __call__(
        self,
        population: Population,
        *,
        margin: float | None = 0.05,
        level: float = 0.95,
        seed: int = 0,
        strict: bool = False,
        objective: str = "overall",
        error: float | Error = 0.0,
    ) -> Design:
        """Make the design; for what the options mean see `Options`.

        Raises:
            InputError: an option is out of range, or more than the method can promise.
        """
        if strict and not self.strict:
            able = ", ".join(name for name, factory in DESIGNS.items() if factory.strict)
            raise InputError(
                f"{self.name} cannot promise the level at every accuracy; leave strict out or use {able}"
            )
        if objective != "overall" and self.name != DEFAULT:
            raise InputError(f"{self.name} does not steer its draws by objective; use {DEFAULT} for that")
        if strict and objective == "predicate":
            raise InputError(
                f"{self.name} is strict for the objective overall only; leave one of the two out"
            )
        if population.reserve is not None:
            self.refuse_in_place()
        if not isinstance(error, Error):
            error = Error(error, error)
        options = Options(
            margin=margin, level=level, seed=seed, strict=strict, objective=objective, error=error
        )
        return self.build(population, options)

    def refuse_in_place(self) -> None:
        """Raise an error if the method needs the whole population at hand."""
        if not self.in_place:
            able = ", ".join(name for name, factory in DESIGNS.items() if factory.in_place)
            raise InputError(
                f"{self.name} must see all beliefs, which stay at the endpoint with --in-place; use {able}"
            )


DESIGNS = {
    name: Factory(name, build, strict, in_place)
    for name, build, strict, in_place in (
        ("stratified/bayes", stratified.bayes, True, True),
        ("srs/wilson", srs.wilson, False, True),
        ("srs/ahpd", srs.ahpd, False, True),
        ("srs/fixed-width", srs.fixed_width, True, True),
        ("twcs/wilson", twcs.wilson, False, False),
        ("twcs/ahpd", twcs.ahpd, False, False),
        ("assisted/difference", assisted.difference, False, False),
        ("anytime/betting", srs.betting, True, True),
    )
}
"""Every design with its estimator."""

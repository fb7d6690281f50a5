"""Sampling designs, made as a method makes them."""

from typing import Any

from rdf_kgeval.estimation.design import Design, DesignOptions, ErrorRates
from rdf_kgeval.estimation.population import Population
from rdf_kgeval.evaluation.methods import METHODS

DESIGNS = [name for name, method in METHODS.items() if method.interval]


def design_of(name: str, population: Population, *, error: float = 0.0, **options: Any) -> Design:
    return METHODS[name].design(population, DesignOptions(error=ErrorRates(error, error), **options))

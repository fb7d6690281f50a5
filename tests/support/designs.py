"""Sampling designs, made as a method makes them."""

from typing import Any

from rdf_kgeval.estimation.design import Design
from rdf_kgeval.estimation.population import Population
from rdf_kgeval.evaluation.methods import METHODS
from rdf_kgeval.evaluation.settings import Settings

DESIGNS = [name for name, method in METHODS.items() if method.interval]


def design_of(name: str, population: Population, *, error: float = 0.0, **options: Any) -> Design:
    return METHODS[name].design(population, Settings(error_rate=error, **options).design_options())

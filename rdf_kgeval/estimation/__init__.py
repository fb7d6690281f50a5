"""Estimation: sampling designs beside their estimators."""

from rdf_kgeval.estimation.design import Design, Draw, Estimate, Population
from rdf_kgeval.estimation.designs import DEFAULT, DESIGNS

__all__ = [
    "DEFAULT",
    "DESIGNS",
    "Design",
    "Draw",
    "Estimate",
    "Population",
]

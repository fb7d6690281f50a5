"""Estimation: sampling designs beside their estimators."""

from rdf_kgeval.estimation.design import (
    AMBIGUOUS,
    FALSE,
    NOT_ASKED,
    TRUE,
    Design,
    Draw,
    Estimate,
    Population,
)
from rdf_kgeval.estimation.designs import DEFAULT, DESIGNS

__all__ = [
    "AMBIGUOUS",
    "DEFAULT",
    "DESIGNS",
    "FALSE",
    "NOT_ASKED",
    "TRUE",
    "Design",
    "Draw",
    "Estimate",
    "Population",
]

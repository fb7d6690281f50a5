"""One case for each axiom and rule feature: given these triples and rules, then exactly these constraints.

`given.ttl` holds the beliefs, `context.ttl` and `unknown.ttl` context, `ontology.ttl`, `*.rq` and
`shapes.ttl` the rules. `then.ttl` writes out the constraints: body, head, and the rules that they stand for.
"""

from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib

from rdf_kgeval.beliefs.builder import BeliefsBuilder
from rdf_kgeval.beliefs.table import Role
from rdf_kgeval.coupling.graph import CouplingGraph, couple
from rdf_kgeval.coupling.tables import Tables
from rdf_kgeval.rules.axioms import AXIOMS
from rdf_kgeval.rules.dialects import read_rules
from rdf_kgeval.rules.ontology import read_ontology
from rdf_kgeval.rules.rule import Rule
from tests.support.rulecases import constraints_of, expected_of, in_order

CASES = sorted(p for p in (Path(__file__).parent / "cases").iterdir() if p.is_dir())


def build(case: Path, tables: Tables | None = None) -> CouplingGraph:
    builder = BeliefsBuilder()
    for name, role in (("given", Role.BELIEF), ("context", Role.GIVEN), ("unknown", Role.UNKNOWN)):
        if (case / f"{name}.ttl").exists():
            builder.add_parsed(ox.parse(path=case / f"{name}.ttl"), role)
    rules: list[Rule] = []
    files = [*sorted(case.glob("*.rq")), *case.glob("shapes.ttl")]
    if files:
        rules += read_rules(*files)
    if (case / "ontology.ttl").exists():
        rules += read_ontology(case / "ontology.ttl")
    return couple(builder.build(), rules, tables=tables)


def test_every_kind_of_axiom_has_a_case() -> None:
    used = {
        term
        for case in CASES
        if (case / "ontology.ttl").exists()
        for triple in rdflib.Graph().parse(case / "ontology.ttl")
        for term in triple
    }
    assert set(AXIOMS) <= used


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rule(case: Path) -> None:
    assert in_order(constraints_of(build(case))) == in_order(expected_of(case / "then.ttl"))

"""What the tests of the engine spark share: graphs to ground and solve on both engines."""

import random
from collections.abc import Sequence

import numpy as np

from rdf_kgeval.beliefs.builder import BeliefsBuilder
from rdf_kgeval.beliefs.table import Beliefs, Role
from rdf_kgeval.coupling.graph import CouplingGraph, couple
from rdf_kgeval.engines.engine import Engine
from rdf_kgeval.inference.infer import infer
from rdf_kgeval.rules.rule import Rule

ARRAYS = ("start", "atom", "sign", "offset", "rule_start", "rule", "count", "latent")
BLOCK, DEGREE = 16, 6
GROUNDINGS = 3 * BLOCK * DEGREE + 3 * BLOCK * DEGREE**2 + BLOCK * DEGREE**3
"""Of one block."""
CHAINS = [("p1",), ("p2",), ("p3",), ("p1", "p2"), ("p2", "p3"), ("p1", "p3"), ("p1", "p2", "p3")]


def blocks(groundings: int) -> tuple[Beliefs, list[Rule]]:
    """Blocks of entities with three relations, all of whose paths conclude a fourth."""
    rng = np.random.default_rng(1)
    builder = BeliefsBuilder()
    for block in range(round(groundings / GROUNDINGS)):
        names = [f"<http://e/{block}-{i}>" for i in range(BLOCK)]
        triples = [(s, "<http://e/q>", o, "") for s in names for o in names]
        for s in names:
            for p in ("p1", "p2", "p3"):
                triples += [
                    (s, f"<http://e/{p}>", names[o], "") for o in rng.permutation(BLOCK)[:DEGREE].tolist()
                ]
        builder.add(triples, Role.BELIEF)
    rules = [
        Rule(
            id="-".join(chain),
            body=tuple((f"?x{i}", f"<http://e/{p}>", f"?x{i + 1}") for i, p in enumerate(chain)),
            head=("?x0", "<http://e/q>", f"?x{len(chain)}"),
            confidence=0.9,
        )
        for chain in CHAINS
    ]
    return builder.build(), rules


def grounded_alike(engine: Engine, beliefs: Beliefs, rules: Sequence[Rule]) -> CouplingGraph:
    """The coupling graph, which both engines make the same."""
    here = couple(beliefs, rules)
    with engine.tables() as tables:
        there = couple(beliefs, rules, tables=tables)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(here, name), getattr(there, name), name)
    return here


def solved_alike(engine: Engine, graph: CouplingGraph, seed: int, share: float) -> None:
    """Both engines infer the same from random verdicts on a share of the beliefs."""
    rng = random.Random(seed)
    rows = graph.beliefs.rows.tolist()
    asked = rng.sample(rows, min(len(rows), round(share * len(rows)) + 1))
    verdicts = {graph.beliefs.id(row): rng.choice([0.0, 1.0, 1.0, 0.7]) for row in asked}
    here, there = infer(graph, verdicts), infer(graph, verdicts, solve=engine.solve)
    np.testing.assert_allclose(there.x, here.x, rtol=0, atol=1e-6)
    np.testing.assert_allclose(there.objective, here.objective, rtol=1e-9, atol=1e-9)
    assert there.solution.iterations == here.solution.iterations

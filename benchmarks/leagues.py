"""A knowledge graph of sports leagues of any size, with rules that couple it as mined rules do.

Each league has teams, each team has players; what follows along the rules is asserted, and a share of all objects
is wrong. Hubs (a league's sport) tie a whole league together.
"""

import numpy as np

import rdf_kgeval as kgeval
from rdf_kgeval.beliefs.builder import BeliefsBuilder
from rdf_kgeval.beliefs.table import Role
from rdf_kgeval.coupling.graph import CouplingGraph
from rdf_kgeval.evaluation.simulation import Gold

PLAYERS, TEAMS = 15, 20
"""Players of a team, teams of a league."""


def _pattern(text: str) -> tuple[str, str, str]:
    s, p, o = text.split()
    return s, f"<x:{p}>", o


def _rule(name: str, body: list[str], head: str, confidence: float) -> kgeval.Rule:
    return kgeval.Rule(id=name, body=tuple(map(_pattern, body)), head=_pattern(head), confidence=confidence)


RULES = [
    _rule("league", ["?x playsFor ?t", "?t inLeague ?l"], "?x playsIn ?l", 0.95),
    _rule("team-league", ["?x playsFor ?t", "?x playsIn ?l"], "?t inLeague ?l", 0.85),
    _rule("sport", ["?x playsIn ?l", "?l sport ?s"], "?x plays ?s", 0.95),
    _rule("city", ["?t home ?h", "?h inCity ?c"], "?t inCity ?c", 0.9),
    _rule("stadium", ["?t home ?h", "?t inCity ?c"], "?h inCity ?c", 0.9),
    _rule("captain", ["?x leads ?t"], "?x playsFor ?t", 0.97),
    _rule("team-mates", ["?x playsFor ?t", "?y playsFor ?t", "?y plays ?s"], "?x plays ?s", 0.9),
    _rule("league-sport", ["?x playsIn ?l", "?x plays ?s"], "?l sport ?s", 0.7),
    _rule("captain-league", ["?x leads ?t", "?x playsIn ?l"], "?t inLeague ?l", 0.9),
]


def generate(beliefs: int, *, accuracy: float = 0.9, seed: int = 0) -> tuple[CouplingGraph, Gold]:
    """About so many beliefs, their coupling graph and which of them are true."""
    rng = np.random.default_rng(seed)
    per_league = TEAMS * (3 * PLAYERS + 5) + 1
    true: list[tuple[str, str, str]] = []
    for i in range(max(1, beliefs // per_league)):
        true.append((f"l{i}", "sport", f"s{i % 7}"))
        for j in range(TEAMS):
            t = f"t{i}.{j}"
            city = f"c{int(rng.integers(50))}"
            true += [
                (t, "inLeague", f"l{i}"),
                (t, "home", f"h{i}.{j}"),
                (f"h{i}.{j}", "inCity", city),
                (t, "inCity", city),
            ]
            true.append((f"p{t}.0", "leads", t))
            for k in range(PLAYERS):
                x = f"p{t}.{k}"
                true += [(x, "playsFor", t), (x, "playsIn", f"l{i}"), (x, "plays", f"s{i % 7}")]
    wrong = rng.random(len(true)) > accuracy
    builder = BeliefsBuilder()
    rows, label = [], {}
    for (s, p, o), bad in zip(true, wrong, strict=True):
        other = true[int(rng.integers(len(true)))]
        o = other[2] if bad and other[1] == p and other[2] != o else o
        triple = (f"<x:{s}>", f"<x:{p}>", f"<x:{o}>")
        rows.append((*triple, ""))
        label[triple] = not (bad and other[1] == p and other[2] != o)
    # A wrong belief need not name another object: half of the errors are assertions that were never true.
    for triple in rng.permutation(len(rows))[: int(0.5 * (1 - accuracy) * len(rows))]:
        label[rows[int(triple)][:3]] = False
    builder.add(rows, Role.BELIEF)
    built = builder.build()
    graph = kgeval.couple(built, RULES)
    gold = np.array([label[built.triple(int(row))] for row in built.rows])
    return graph, gold

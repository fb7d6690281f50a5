"""The coupling graph: the paper's example, its arrays, and that the same input gives the same bytes."""

import csv
import json
import random
from pathlib import Path

import numpy as np
import pyoxigraph as ox
import pytest

from rdf_kgeval.beliefs.builder import BeliefsBuilder
from rdf_kgeval.beliefs.table import Beliefs, Role
from rdf_kgeval.coupling.graph import CouplingGraph, couple
from rdf_kgeval.errors import InputError, RunError
from rdf_kgeval.rules.dialects import read_rules
from rdf_kgeval.rules.ontology import read_ontology
from rdf_kgeval.rules.rule import Rule
from tests.support.rulecases import beliefs_of, constraints_of

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/motivating"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


def iri(name: str) -> str:
    return f"<http://example.org/{name}>"


def motivating() -> CouplingGraph:
    builder = BeliefsBuilder()
    builder.add_parsed(ox.parse(path=EXAMPLE / "kg.ttl"), Role.BELIEF)
    return couple(builder.build(), read_rules(EXAMPLE / "rules") + read_ontology(EXAMPLE / "ontology.ttl"))


def test_motivating_example_has_eight_beliefs_and_eight_constraints() -> None:
    graph = motivating()
    assert (graph.n_beliefs, graph.n_constraints, graph.n_components) == (8, 8, 1)
    assert len(graph.latent) == 0
    assert len(graph.uncoupled()) == 0

    def triple(s: str, p: str, o: str) -> tuple[str, str, str]:
        return iri(s), TYPE if p == "a" else iri(p), iri(o)

    home = triple("JoeLouisArena", "homeStadiumOf", "RedWings")
    city = triple("RedWings", "homeCity", "Detroit")
    located = triple("JoeLouisArena", "stadiumLocatedInCity", "Detroit")
    state = triple("Detroit", "cityInState", "TajMahal")
    expected = [
        ({home}, triple("JoeLouisArena", "a", "Stadium")),
        ({home}, triple("RedWings", "a", "SportsTeam")),
        ({city}, triple("RedWings", "a", "SportsTeam")),
        ({city}, triple("Detroit", "a", "City")),
        ({home, city}, located),
        ({located}, triple("Detroit", "a", "City")),
        ({state}, triple("Detroit", "a", "City")),
        ({state}, triple("TajMahal", "a", "State")),
    ]
    found = [(set(body), head) for body, head, _ in constraints_of(graph)]
    assert sorted(map(repr, [(sorted(b), h) for b, h in found])) == sorted(
        map(repr, [(sorted(b), h) for b, h in expected])
    )


def test_motivating_example_with_all_example_rules_is_the_same() -> None:
    builder = BeliefsBuilder()
    builder.add_parsed(ox.parse(path=EXAMPLE / "kg.ttl"), Role.BELIEF)
    rules = read_rules(ROOT / "queries/rules") + read_ontology(ROOT / "ontologies/sports.ttl")
    assert couple(builder.build(), rules).n_constraints == 8


def test_motivating_gold_is_about_its_beliefs_and_three_quarters_true() -> None:
    graph = motivating()
    with (EXAMPLE / "gold.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [*rows[0]] == ["subject", "predicate", "object", "label"]
    found = {graph.beliefs.find(*(f"<{row[k]}>" for k in ("subject", "predicate", "object"))) for row in rows}
    assert found == set(range(8))
    assert sum(int(row["label"]) for row in rows) / len(rows) == 0.75


def mixed() -> tuple[Beliefs, list[Rule]]:
    rng = random.Random(4)
    text = "".join(f":e{rng.randrange(30)} :p{rng.randrange(4)} :e{rng.randrange(30)} ." for _ in range(300))
    given = "".join(f":e{rng.randrange(30)} :p{rng.randrange(4)} :e{rng.randrange(30)} ." for _ in range(40))
    rules = [
        Rule(id=f"{a}{b}{c}", body=(("?x", iri(a), "?y"), ("?y", iri(b), "?z")), head=("?x", iri(c), "?z"))
        for a, b, c in (("p0", "p1", "p2"), ("p1", "p1", "p1"), ("p0", "p1", "p3"))
    ]
    rules.append(Rule(id="type", body=(("?x", iri("p0"), "?y"),), head=("?x", TYPE, iri("T")), latent=True))
    rules.append(
        Rule(id="no", body=(("?x", iri("p3"), "?y"), ("?y", iri("p3"), "?x")), head=None, weight=0.5)
    )
    return beliefs_of(text, given=given), rules


ARRAYS = (
    "start", "atom", "sign", "offset", "rule_start", "rule", "count", "atom_start", "constraint",
    "constraint_sign", "latent",
)  # fmt: skip


def test_transpose_says_the_same() -> None:
    graph = couple(*mixed())
    assert graph.n_constraints > 100
    pairs = {
        (j, int(a), int(s))
        for j in range(graph.n_constraints)
        for a, s in zip(
            graph.atom[graph.start[j] : graph.start[j + 1]],
            graph.sign[graph.start[j] : graph.start[j + 1]],
            strict=True,
        )
    }
    turned = {
        (int(j), i, int(s))
        for i in range(graph.n_atoms)
        for j, s in zip(
            graph.constraint[graph.atom_start[i] : graph.atom_start[i + 1]],
            graph.constraint_sign[graph.atom_start[i] : graph.atom_start[i + 1]],
            strict=True,
        )
    }
    assert pairs == turned
    assert len(pairs) == len(graph.atom)
    assert graph.degree.sum() == len(graph.atom)


def test_arrays_are_read_only() -> None:
    graph = couple(*mixed())
    for name in ARRAYS:
        assert not getattr(graph, name).flags.writeable, name


def test_given_atoms_occur_in_no_constraint() -> None:
    graph = couple(*mixed())
    given = np.flatnonzero(graph.beliefs.role == Role.GIVEN)
    assert len(given)
    assert not np.isin(graph.atom, given).any()


def test_weights_sum_over_rules_and_counts() -> None:
    graph = couple(*mixed())
    doubled = graph.weights(2 * graph.theta)
    assert np.allclose(doubled, 2 * graph.weights())
    by_hand = [
        sum(
            graph.rules[r].theta * n
            for r, n in zip(
                graph.rule[graph.rule_start[j] : graph.rule_start[j + 1]],
                graph.count[graph.rule_start[j] : graph.rule_start[j + 1]],
                strict=True,
            )
        )
        for j in range(graph.n_constraints)
    ]
    assert np.allclose(graph.weights(), by_hand)
    assert (graph.count > 1).any(), "some constraints differ only in given atoms"


def test_components() -> None:
    beliefs = beliefs_of(":a :p :b . :a :q :b . :c :p :d . :c :q :d . :d :q :e . :x :r :y .")
    rule = Rule(id="r", body=(("?x", iri("p"), "?y"),), head=("?x", iri("q"), "?y"))
    graph = couple(beliefs, [rule])
    assert graph.n_components == 2
    assert graph.component.tolist() == [0, 0, 1, 1, -1, -1]
    assert graph.component_sizes().tolist() == [2, 2]
    assert [beliefs.triple(int(row))[1] for row in graph.uncoupled()] == [iri("q"), iri("r")]
    assert graph.groundings.tolist() == [2]


def test_no_rules_and_no_beliefs() -> None:
    for beliefs, rules in ((beliefs_of(":a :p :b ."), []), (beliefs_of(""), mixed()[1])):
        graph = couple(beliefs, rules)
        assert (graph.n_constraints, graph.n_components, len(graph.weights())) == (0, 0, 0)
        assert len(graph.uncoupled()) == graph.n_beliefs


def test_same_bytes_whatever_the_order_and_the_threads() -> None:
    beliefs, rules = mixed()
    lines = [f"{beliefs.line(i)}" for i in range(len(beliefs))]
    builder = BeliefsBuilder()
    order = list(range(len(lines)))
    random.Random(1).shuffle(order)
    for i in order:
        builder.add_parsed(
            ox.parse(input=(lines[i] + "\n").encode(), format=ox.RdfFormat.N_TRIPLES),
            Role(int(beliefs.role[i])),
        )
    one, two = couple(beliefs, rules, threads=1), couple(builder.build(), rules, threads=2)
    for name in ARRAYS:
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes(), name


def test_saved_and_loaded(tmp_path: Path) -> None:
    graph = couple(*mixed())
    graph.save(tmp_path / "graph")
    loaded = CouplingGraph.load(tmp_path / "graph", graph.beliefs)
    for name in ARRAYS:
        assert np.array_equal(getattr(graph, name), getattr(loaded, name)), name
        assert not getattr(loaded, name).flags.writeable
    assert loaded.rules == graph.rules
    assert [loaded.triple(i) for i in range(loaded.n_atoms)] == [
        graph.triple(i) for i in range(graph.n_atoms)
    ]
    assert isinstance(loaded.atom.base, np.memmap) or isinstance(loaded.atom, np.memmap)


@pytest.mark.parametrize("damage", ["missing", "torn", "rules", "other beliefs"])
def test_a_damaged_graph_is_refused(tmp_path: Path, damage: str) -> None:
    graph = couple(*mixed())
    folder = tmp_path / "graph"
    graph.save(folder)
    beliefs = graph.beliefs
    if damage == "missing":
        (folder / "atom.npy").unlink()
    elif damage == "torn":
        (folder / "atom.npy").write_bytes((folder / "atom.npy").read_bytes()[:50])
    elif damage == "rules":
        (folder / "rules.json").write_text(json.dumps({"rules": [{"id": "x"}], "extra": []}))
    else:
        beliefs = beliefs_of(":a :p :b .")
    with pytest.raises(RunError, match="kgeval init"):
        CouplingGraph.load(folder, beliefs)


def test_two_rules_with_one_id_are_refused() -> None:
    beliefs, rules = mixed()
    with pytest.raises(InputError, match="two rules have the id"):
        couple(beliefs, [*rules, rules[0]])


def test_latent_atoms_come_after_the_rows_in_order() -> None:
    graph = couple(*mixed())
    triples = [graph.triple(i) for i in range(len(graph.beliefs), graph.n_atoms)]
    assert triples
    assert triples == sorted(triples)
    assert all(t[1] == TYPE for t in triples)

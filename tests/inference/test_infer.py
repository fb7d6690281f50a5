import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

import rdf_kgeval as kgeval
from rdf_kgeval.beliefs.builder import BeliefsBuilder
from rdf_kgeval.beliefs.names import Names
from rdf_kgeval.beliefs.table import Beliefs, Role
from rdf_kgeval.coupling.graph import CouplingGraph, Thetas, couple
from rdf_kgeval.errors import InputError
from rdf_kgeval.inference.explanation import describe, explain
from rdf_kgeval.inference.infer import infer_rows, label, normalise_class_mass, solve_reached
from rdf_kgeval.inference.rule_weights import Track, track_rules, updated_thetas
from rdf_kgeval.inference.solver.solve import SolverOptions
from rdf_kgeval.rules.rule import Rule, theta

EXAMPLE = Path(__file__).parents[2] / "examples" / "motivating"
NAMES = "abcdefgh"


def atoms(n: int, role: Role = Role.BELIEF) -> Beliefs:
    """Beliefs whose rows are numbered as their names: the row i is <x:name> <x:is> <x:so>."""
    builder = BeliefsBuilder()
    builder.add([(f"<x:{NAMES[i]}>", "<x:is>", "<x:so>", "") for i in range(n)], role)
    return builder.build()


def clause(*body: int, head: int | None = None, **strength: float) -> Rule:
    def pattern(i: int) -> tuple[str, str, str]:
        return f"<x:{NAMES[i]}>", "<x:is>", "<x:so>"

    return Rule(
        id=f"{body}->{head} {strength}",
        body=tuple(map(pattern, body)),
        head=None if head is None else pattern(head),
        **strength,  # type: ignore[arg-type]
    )


def infer(graph: CouplingGraph, verdicts: dict[int, float], update_confidences: bool = False) -> np.ndarray:
    thetas = updated_thetas(graph, verdicts) if update_confidences else graph.thetas
    return infer_rows(graph, verdicts, thetas).x


@given(st.floats(0.5, 0.999))
def test_a_lone_rule_gives_its_head_its_confidence(c: float) -> None:
    graph = couple(atoms(2), [clause(0, head=1, confidence=c)])
    assert infer(graph, {0: 1.0})[1] == pytest.approx(c, abs=1e-6)


def test_only_rules_trusted_at_tau_infer_alone_and_weaker_ones_together() -> None:
    one = couple(atoms(3), [clause(0, head=2, confidence=0.8)])
    assert label(infer(one, {0: 1.0}))[2] == 1
    weak = [clause(0, head=2, confidence=0.75), clause(1, head=2, confidence=0.75)]
    both = couple(atoms(3), weak)
    assert label(infer(both, {0: 1.0}))[2] == -1
    assert label(infer(both, {0: 1.0, 1: 1.0}))[2] == 1


_atom = st.integers(0, len(NAMES) - 1)
_clauses = st.lists(
    st.tuples(
        st.sets(_atom, min_size=1, max_size=3),
        st.one_of(st.none(), _atom),
        st.sampled_from([0.6, 0.9, 0.99]),
    ).filter(lambda parts: parts[1] not in parts[0]),
    max_size=12,
    unique_by=lambda parts: (frozenset(parts[0]), parts[1:]),
).map(lambda found: [clause(*sorted(body), head=head, confidence=c) for body, head, c in found])


@settings(max_examples=300)
@given(
    _clauses,
    st.dictionaries(_atom, st.sampled_from([0.0, 1.0, 0.3, 0.95]), max_size=3),
    st.sets(_atom, max_size=2),
)
def test_what_the_verdicts_reach_is_the_minimum_of_the_whole(
    rules: list[Rule], verdicts: dict[int, float], given_: set[int]
) -> None:
    beliefs = atoms(len(NAMES))
    role = beliefs.role.copy()
    role[list(given_)] = Role.GIVEN
    graph = couple(beliefs.with_roles(role), rules)
    told = {row: q for row, q in verdicts.items() if row not in given_}
    thetas = updated_thetas(graph, told)
    whole = infer_rows(graph, told, thetas)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rdf_kgeval.inference.infer.MANY", 2.0)
        posed, solution = solve_reached(graph, told, thetas, SolverOptions())
    assert posed.spread(solution.x) == pytest.approx(whole.x, abs=1e-6)
    assert solution.objective == pytest.approx(whole.objective, abs=1e-9)


@pytest.fixture(scope="module")
def example() -> CouplingGraph:
    rules = kgeval.read_ontology(EXAMPLE / "ontology.ttl") + kgeval.read_rules(EXAMPLE / "rules")
    return kgeval.couple(kgeval.read_beliefs(EXAMPLE / "kg.ttl"), rules)


def row(graph: CouplingGraph, s: str, p: str, o: str) -> int:
    ex = "http://example.org/"
    predicate = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type" if p == "a" else ex + p
    found = graph.beliefs.find(f"<{ex}{s}>", f"<{predicate}>", f"<{ex}{o}>")
    assert found is not None
    return found


def gold(graph: CouplingGraph) -> dict[int, int]:
    with (EXAMPLE / "gold.csv").open() as file:
        rows = list(csv.DictReader(file))
    found = {graph.beliefs.find(*(f"<{r[c]}>" for c in ("subject", "predicate", "object"))): r for r in rows}
    return {key: int(r["label"]) for key, r in found.items() if key is not None}


def test_three_verdicts_infer_all_eight_and_75_percent(example: CouplingGraph) -> None:
    truth = gold(example)
    asked = [
        row(example, "JoeLouisArena", "homeStadiumOf", "RedWings"),
        row(example, "RedWings", "homeCity", "Detroit"),
        row(example, "TajMahal", "a", "State"),
    ]
    inference = kgeval.infer(example, {example.beliefs.id(r): bool(truth[r]) for r in asked})
    labels = inference.labels()
    assert labels == {example.beliefs.id(r): bool(truth[r]) for r in range(8)}
    assert sum(labels.values()) / len(labels) == 0.75


def test_falsity_travels_backwards_and_truth_does_not(example: CouplingGraph) -> None:
    state, in_state = (
        row(example, "TajMahal", "a", "State"),
        row(example, "Detroit", "cityInState", "TajMahal"),
    )
    assert label(infer(example, {state: 0.0}))[in_state] == 0
    assert infer(example, {state: 1.0})[in_state] == pytest.approx(0.5)


@given(st.floats(0.01, 0.99))
def test_an_uncertain_verdict_alone_ends_at_its_probability(q: float) -> None:
    graph = couple(atoms(2), [clause(0, head=1, confidence=0.9)])
    assert infer(couple(atoms(1), []), {0: q})[0] == pytest.approx(q)
    assert infer(graph, {0: q, 1: 1.0})[0] == pytest.approx(q, abs=1e-6)


def test_an_uncertain_verdict_gives_way_and_a_sure_one_does_not() -> None:
    graph = couple(atoms(2), [clause(0, head=1, confidence=0.99)])
    sure, unsure = infer(graph, {0: 1.0, 1: 0.0}), infer(graph, {0: 0.9, 1: 0.0})
    assert sure[0] == 1.0
    assert unsure[0] < 0.5
    nearly = infer(graph, {0: 1.0, 1: 1e-9})
    assert nearly[1] == pytest.approx(0.0, abs=1e-3)


clauses = st.lists(
    st.builds(
        lambda body, head, c: clause(*sorted(body), head=None if head in body else head, confidence=c),
        st.sets(st.integers(0, 5), min_size=1, max_size=3),
        st.one_of(st.none(), st.integers(0, 5)),
        st.sampled_from([0.55, 0.7, 0.9, 0.99]),
    ),
    max_size=10,
    unique_by=lambda rule: rule.id,
)
verdict_sets = st.dictionaries(st.integers(0, 5), st.sampled_from([0.0, 1.0, 0.2, 0.9]), max_size=4)


def objective(x: np.ndarray, rules: list[Rule], verdicts: dict[int, float]) -> float:
    """The objective as the design writes it, from the rules alone."""
    number = {f"<x:{name}>": i for i, name in enumerate(NAMES)}
    total = 0.0
    for rule in rules:
        body = sum(x[number[s]] for s, _, _ in rule.body) - (len(rule.body) - 1)
        hinge = body - (x[number[rule.head[0]]] if rule.head else 0.0)
        total += rule.theta * max(0.0, hinge) ** 2
    for i, value in enumerate(x):
        q = verdicts.get(i, 0.5)
        if q not in (0.0, 1.0):
            total += 0.05 / (4 * q * (1 - q)) * (value - q) ** 2
    return total


@given(clauses, verdict_sets)
def test_the_minimum_is_that_of_the_design_s_objective(rules: list[Rule], verdicts: dict[int, float]) -> None:
    x = infer(couple(atoms(6), rules), verdicts)
    bounds = [(verdicts[i],) * 2 if verdicts.get(i) in (0.0, 1.0) else (0.0, 1.0) for i in range(6)]
    start = np.array([verdicts.get(i, 0.5) for i in range(6)])
    witness = optimize.minimize(
        objective,
        start,
        (rules, verdicts),
        method="L-BFGS-B",
        bounds=bounds,
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    assert objective(x, rules, verdicts) <= witness.fun + 1e-8
    assert np.abs(x - witness.x).max() < 1e-3


def test_given_context_is_substituted() -> None:
    builder = BeliefsBuilder()
    builder.add([("<x:a>", "<x:is>", "<x:so>", "")], Role.GIVEN)
    builder.add([("<x:b>", "<x:is>", "<x:so>", "")], Role.BELIEF)
    x = infer(couple(builder.build(), [clause(0, head=1, confidence=0.9)]), {})
    assert x == pytest.approx([1.0, 0.9], abs=1e-6)


def test_the_update_counts_both_directions() -> None:
    rule = Rule(id="r", body=(("?x", "<x:p>", "?y"),), head=("?x", "<x:q>", "?y"), confidence=0.9)
    builder = BeliefsBuilder()
    builder.add([(f"<x:{i}>", f"<x:{p}>", "<x:o>", "") for i in range(4) for p in "pq"], Role.BELIEF)
    beliefs = builder.build()
    graph = couple(beliefs, [rule])

    def at(i: int, p: str) -> int:
        found = beliefs.find(f"<x:{i}>", f"<x:{p}>", "<x:o>")
        assert found is not None
        return found

    verdicts = {
        at(0, "p"): 1.0,
        at(0, "q"): 1.0,  # the rule held forwards
        at(1, "p"): 1.0,
        at(1, "q"): 0.0,  # it failed, in both directions
        at(2, "p"): 0.0,
        at(2, "q"): 0.0,  # it held backwards
        at(3, "p"): 1.0,
        at(3, "q"): 0.4,  # not sure, so it does not count
    }
    (track,) = track_rules(graph, verdicts)
    assert track == Track(forward=2, forward_held=1, backward=2, backward_held=1)
    accuracy = 5 / 9  # four of seven sure verdicts are true, by the rule of succession
    prior = 1 - (1 - 11 / 14) * accuracy / (1 - accuracy)
    assert track.confidence(rule, accuracy) == pytest.approx((10 / 12, (10 * prior + 1) / 12))
    thetas = updated_thetas(graph, verdicts)
    assert thetas.forward == pytest.approx([theta(10 / 12)])
    assert thetas.backward == pytest.approx([theta((10 * prior + 1) / 12)])


def test_an_axiom_is_right_or_wrong_as_a_whole_and_a_rule_fails_now_and_then() -> None:
    rule, axiom = clause(0, head=1, confidence=0.99), replace(clause(0, head=1, confidence=0.99), axiom=True)
    unseen = Track(0, 0, 0, 0)
    assert unseen.confidence(axiom, 0.9) == pytest.approx((0.99, 0.99))
    forward, backward = unseen.confidence(rule, 0.9)
    assert forward == pytest.approx(0.99)
    assert backward < 0.5  # of ten cases one may have failed, which explains most of the tenth that is false
    assert unseen.confidence(rule, 0.5)[1] > 0.8


def test_groundings_that_share_a_head_count_once() -> None:
    rule = Rule(id="r", body=(("?x", "<x:p>", "?z"),), head=("?x", "<x:q>", "<x:o>"), confidence=0.9)
    builder = BeliefsBuilder()
    builder.add([("<x:a>", "<x:p>", f"<x:{i}>", "") for i in range(8)], Role.BELIEF)
    builder.add([("<x:a>", "<x:q>", "<x:o>", "")], Role.BELIEF)
    beliefs = builder.build()
    verdicts = {r: float(r < 6) for r in range(9)}  # six true bodies, two false ones, a false head
    assert "<x:q>" in beliefs.line(8)
    assert track_rules(couple(beliefs, [rule]), verdicts) == [Track(1, 0, 1, 2 / 8)]


def test_where_people_said_that_a_head_is_false_the_backward_weight_counts() -> None:
    graph = couple(atoms(3), [clause(0, head=1, weight=1.0), clause(1, head=2, weight=1.0)])
    thetas = Thetas(np.array([1.0, 1.0]), np.array([0.0, 0.0]))
    x = infer_rows(graph, {1: 0.0}, thetas).x
    assert x == pytest.approx([0.5, 0.0, 0.5], abs=1e-6)
    assert infer_rows(graph, {0: 1.0}, thetas).x[1] > 0.9
    backwards = Thetas(np.array([1.0, 1.0]), np.array([0.2, 0.2]))
    assert infer_rows(graph, {1: 0.0}, backwards).x[0] == pytest.approx(0.5 * 0.05 / 0.25, abs=1e-6)


def test_the_update_of_a_denial_and_of_a_weight() -> None:
    denial, by_hand = clause(0, 1, confidence=0.99), clause(0, head=2, weight=0.7)
    graph = couple(atoms(3), [denial, by_hand])
    both_true = {0: 1.0, 1: 1.0, 2: 0.0}
    assert track_rules(graph, both_true) == [Track(1, 0, 0, 0), Track(1, 0, 1, 0)]
    assert track_rules(graph, {0: 1.0, 1: 0.0})[0] == Track(1, 1, 0, 0)
    assert track_rules(graph, {0: 0.0, 1: 0.0})[0] == Track(0, 0, 0, 0)
    thetas = updated_thetas(graph, both_true)
    assert thetas.forward == pytest.approx([theta(9.9 / 11), 0.7])
    assert thetas.backward[1] == pytest.approx(0.7)


def test_a_bad_rule_is_found_out() -> None:
    rule = Rule(id="r", body=(("?x", "<x:p>", "?y"),), head=("?x", "<x:q>", "?y"), confidence=0.95)
    builder = BeliefsBuilder()
    builder.add([(f"<x:{i}>", f"<x:{p}>", "<x:o>", "") for i in range(20) for p in "pq"], Role.BELIEF)
    beliefs = builder.build()
    graph = couple(beliefs, [rule])
    verdicts = {r: float("<x:p>" in beliefs.line(r)) for r in range(38)}
    assert "<x:p>" in beliefs.line(38)
    assert label(infer(graph, {**verdicts, 38: 1.0}))[39] == 1
    assert label(infer(graph, {**verdicts, 38: 1.0}, update_confidences=True))[39] == -1


def test_class_mass_normalisation_moves_what_is_inferred_and_nothing_else() -> None:
    x = np.array([1.0, 0.0, 0.9, 0.2, 0.5, 0.54])
    moved = normalise_class_mass(x, accuracy=0.9, inferred=0.6, asked=np.array([0, 1]))
    assert moved[[0, 1, 4, 5]].tolist() == [1.0, 0.0, 0.5, 0.54]
    for before, after in ((0.9, moved[2]), (0.2, moved[3])):
        odds = before / (1 - before) * (0.9 / 0.6) / (0.1 / 0.4)
        assert after == pytest.approx(odds / (1 + odds))
    assert normalise_class_mass(x, 1.0, 0.6, np.array([0])) is x


def test_degenerate_input_gives_a_defined_result() -> None:
    assert len(infer(couple(atoms(0), []), {})) == 0
    assert infer(couple(atoms(3), []), {1: 0.0}).tolist() == [0.5, 0.0, 0.5]
    ring = [clause(i, head=(i + 1) % 3, weight=w) for i, w in enumerate((0.0, 1e9, 1.0))]
    assert np.isfinite(infer(couple(atoms(3), ring), {0: 1.0})).all()
    contradiction = couple(atoms(2), [clause(0, head=1, confidence=0.99)])
    inference = infer_rows(contradiction, {0: 1.0, 1: 0.0}, contradiction.thetas)
    assert inference.x.tolist() == [1.0, 0.0]
    assert inference.objective == pytest.approx(theta(0.99))


def test_bad_arguments_are_one_sentence(example: CouplingGraph) -> None:
    with pytest.raises(InputError, match="no belief has an id"):
        kgeval.infer(example, {"0" * 64: True})
    with pytest.raises(InputError, match="probability between"):
        infer(example, {0: 1.5})
    with pytest.raises(InputError, match="no belief in row 99"):
        infer(example, {99: 1.0})
    with pytest.raises(InputError, match="tau"):
        kgeval.infer(example).labels(tau=0.5)


def test_an_explanation_reaches_back_to_the_verdicts(example: CouplingGraph) -> None:
    stadium, home = (
        row(example, "JoeLouisArena", "homeStadiumOf", "RedWings"),
        row(example, "RedWings", "homeCity", "Detroit"),
    )
    inference = infer_rows(example, {stadium: 1.0, home: 1.0}, example.thetas)
    target = row(example, "JoeLouisArena", "stadiumLocatedInCity", "Detroit")
    explanation = explain(inference, target)
    assert {other.atom for other in explanation.walk()} == {target, stadium, home}
    (reason,) = explanation.reasons
    assert reason.share == 1.0
    words = describe(explanation, Names(beliefs=example.beliefs).sentence)
    assert words[0].endswith("true (0.90), because")
    assert 'you said true: "Red Wings (Sports Team) home city Detroit (City)"' in words[1]
    assert 'the rule "A stadium is in the home city of the team that plays there." holds' in words[1]
    assert describe(explain(inference, home), str) == [f"{home}: you said true"]
    lonely = row(example, "TajMahal", "a", "State")
    assert describe(explain(inference, lonely), str) == [
        f"{lonely}: unknown: no answer so far says anything about it"
    ]


def test_an_explanation_of_a_chain_and_of_a_ring_ends() -> None:
    rules = [clause(i, head=(i + 1) % 5, confidence=0.99) for i in range(5)]
    graph = couple(atoms(5), rules)
    inference = infer_rows(graph, {0: 1.0}, graph.thetas)
    explanation = explain(inference, 2)
    assert [other.atom for other in explanation.walk()] == [2, 1, 0]
    lines = describe(explanation, lambda atom: NAMES[atom])
    assert [line.count("  ") for line in lines] == [0, 1, 2]
    graph = couple(atoms(5), rules)
    ring = infer_rows(graph, {}, graph.thetas)
    assert all(explain(ring, i).reasons == () for i in range(5))


@given(clauses, verdict_sets)
def test_every_inferred_label_is_explained(rules: list[Rule], verdicts: dict[int, float]) -> None:
    graph = couple(atoms(6), rules)
    inference = infer_rows(graph, verdicts, graph.thetas)
    for atom, found in enumerate(label(inference.x)):
        if found >= 0 and atom not in verdicts:
            explanation = explain(inference, atom)
            assert explanation.reasons
            chain = list(explanation.walk())
            told = [other.atom for other in chain if other.reasons]
            assert len(told) == len(set(told))
            # Denials alone can push too, without any verdict.
            assert any(o.verdict is not None for o in chain) or any(r.head is None for r in rules)

"""Policies: what they pick, checked against brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdf_kgeval.beliefs.builder import BeliefsBuilder
from rdf_kgeval.beliefs.table import Role
from rdf_kgeval.coupling.graph import CouplingGraph, Thetas, couple
from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.policies import MAX_DEGREE, RANDOM, Contagion, Greedy, View, shortlist
from rdf_kgeval.inference.infer import SLACK, TAU, infer_rows
from rdf_kgeval.inference.lookahead import Lookahead
from rdf_kgeval.rules.rule import Rule


def pattern(i: int) -> tuple[str, str, str]:
    return f"<x:{i:02}>", "<x:is>", "<x:so>"


@st.composite
def graphs(draw: st.DrawFn, most: int = 9) -> CouplingGraph:
    """Random clauses over a few beliefs; some of what they name is background, which is never counted."""
    n = draw(st.integers(2, most))
    background = draw(st.sets(st.integers(0, n - 1), max_size=1)) if n > 3 else set()
    builder = BeliefsBuilder()
    for i in range(n):
        builder.add([(*pattern(i), "")], Role.BACKGROUND if i in background else Role.BELIEF)
    rules = []
    for j in range(draw(st.integers(1, 2 * n))):
        body = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=2, unique=True))
        head = draw(st.none() | st.integers(0, n - 1).filter(lambda i, body=body: i not in body))
        if head is None and len(body) == 1:
            continue
        confidence = draw(st.sampled_from([0.6, 0.75, 0.8, 0.9, 0.99]))
        rules.append(
            Rule(
                id=f"r{j}",
                body=tuple(map(pattern, body)),
                head=None if head is None else pattern(head),
                confidence=confidence,
            )
        )
    return couple(builder.build(), rules)


def expected(
    graph: CouplingGraph, known: dict[int, float], thetas: Thetas, position: int, pi: float
) -> float:
    row = int(graph.beliefs.rows[position])
    sizes = [
        int((infer_rows(graph, {**known, row: value}, thetas).label() >= 0).sum()) for value in (0.0, 1.0)
    ]
    return pi * sizes[1] + (1 - pi) * sizes[0]


def view_of(graph: CouplingGraph, live: Lookahead, asked: list[int], accuracy: float) -> View:
    open_ = np.ones(graph.n_beliefs, np.bool_)
    open_[asked] = False
    order = np.arange(graph.n_beliefs, dtype=np.int32)
    return View(graph=graph, open=open_, label=live.label(), order=order, accuracy=accuracy, live=live)


@settings(max_examples=150)
@given(
    graphs(), st.lists(st.booleans(), min_size=9, max_size=9), st.sampled_from([0.5, 0.7, 0.95]), st.data()
)
def test_greedy_picks_what_brute_force_picks(
    graph: CouplingGraph, truth: list[bool], accuracy: float, data: st.DataObject
) -> None:
    backward = np.array([data.draw(st.sampled_from([0.0, 0.5, 1.0])) for _ in graph.rules]) * graph.theta
    thetas = Thetas(graph.theta, backward)
    live = Lookahead(graph, {}, thetas)
    beliefs = graph.beliefs
    known: dict[int, float] = {}
    asked: list[int] = []
    for _ in range(graph.n_beliefs):
        x = infer_rows(graph, known, thetas).x[beliefs.rows]
        assert live.x == pytest.approx(x, abs=1e-5)
        if np.min(np.abs(np.concatenate([x - TAU, x - 1 + TAU]))) < 2 * SLACK and len(asked):
            return  # at the very threshold two exact solvers may differ
        view = view_of(graph, live, asked, accuracy)
        (pick,) = Greedy().pick(view, 1)
        sizes = {
            i: expected(graph, known, thetas, i, float(x[i]) if view.label[i] >= 0 else accuracy)
            for i in np.flatnonzero(view.open).tolist()
        }
        best = max(sizes.values())
        tied = [i for i, size in sizes.items() if size > best - 1e-4]
        assert pick in tied
        if all(abs(sizes[i] - best) < 1e-6 for i in tied):
            assert pick == min(tied, key=lambda i: beliefs.id(int(beliefs.rows[i])))
        asked.append(pick)
        known[int(beliefs.rows[pick])] = float(truth[pick])
        live.take(pick, float(truth[pick]))


@given(graphs(), st.integers(1, 5))
def test_a_batch_starts_with_the_best_and_repeats_nothing(graph: CouplingGraph, k: int) -> None:
    live = Lookahead(graph, {}, graph.thetas)
    view = view_of(graph, live, [], 0.8)
    batch = Greedy().pick(view, k)
    assert batch[:1] == Greedy().pick(view, 1)
    assert len(set(batch)) == len(batch) == min(k, graph.n_beliefs)


def chain(n: int, confidence: float = 0.999) -> CouplingGraph:
    """0 -> 1 -> 2 ... and, apart from it, two beliefs that nothing touches."""
    builder = BeliefsBuilder()
    builder.add([(*pattern(i), "") for i in range(n + 2)], Role.BELIEF)
    rules = [
        Rule(id=f"r{i}", body=(pattern(i),), head=pattern(i + 1), confidence=confidence) for i in range(n - 1)
    ]
    return couple(builder.build(), rules)


def test_a_batch_goes_apart_before_it_crowds_together() -> None:
    graph = chain(6)
    live = Lookahead(graph, {}, graph.thetas)
    batch = Greedy().pick(view_of(graph, live, [], 1.0), 3)
    assert batch[0] == 0  # the whole chain follows from its start
    assert sorted(batch[1:]) == [6, 7]  # what depends on it waits


def test_the_shortlist_is_by_unfulfilled_constraints() -> None:
    graph = chain(6)
    live = Lookahead(graph, {0: 1.0}, graph.thetas)
    label = live.label()
    view = view_of(graph, live, [0], 0.9)
    known = set(np.flatnonzero(label >= 0).tolist())
    unfulfilled = dict.fromkeys(range(8), 0)
    for i in range(5):
        if not {i, i + 1} <= known:
            unfulfilled[i] += 1
            unfulfilled[i + 1] += 1
    ids = {i: graph.beliefs.id(i) for i in range(8)}
    order = sorted((i for i in range(8) if i not in known), key=lambda i: (-unfulfilled[i], ids[i]))
    assert shortlist(view, 3).tolist() == order[:3]
    assert set(Greedy(candidates=2).pick(view, 1)) <= set(order[:2])


def test_the_baselines_pick_in_their_order() -> None:
    graph = chain(5)
    live = Lookahead(graph, {}, graph.thetas)
    view = view_of(graph, live, [2], 0.9)
    ids = [graph.beliefs.id(i) for i in range(7)]
    middle = sorted((1, 3), key=lambda i: ids[i])  # two constraints each; 2 is asked
    ends = sorted((0, 4), key=lambda i: ids[i])
    alone = sorted((5, 6), key=lambda i: ids[i])
    assert MAX_DEGREE.pick(view, 9) == middle + ends + alone
    assert RANDOM.pick(view, 3) == [0, 1, 3]


def test_contagion_reaches_neighbours_and_no_further() -> None:
    graph = chain(6, confidence=0.6)
    seen = set()
    for seed in range(40):
        spread = Contagion(graph, seed)
        spread.take(2, 0.0)
        label = spread.label()
        assert label[2] == 0
        assert set(np.flatnonzero(label >= 0)) <= {1, 2, 3}
        again = Contagion(graph, seed)
        again.take(2, 0.0)
        assert again.label().tolist() == label.tolist()
        seen.add(tuple(label.tolist()))
        spread.take(1, 1.0)
        assert spread.label()[1] == 1  # what was said wins over what was caught
    assert len(seen) > 1


def test_no_candidates_is_refused() -> None:
    with pytest.raises(InputError, match="at least one candidate"):
        Greedy(candidates=0)

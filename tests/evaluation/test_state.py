"""The loop: asking, recording, stopping, resuming."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdf_kgeval as kgeval
from rdf_kgeval.coupling.graph import CouplingGraph
from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.consult import consult
from rdf_kgeval.evaluation.settings import Settings, parse_budget
from rdf_kgeval.pipeline import Evaluation
from rdf_kgeval.verdicts.gold import GoldOracle
from rdf_kgeval.verdicts.log import Answer, Drawn, LogRecord, Retraction, Verdict
from rdf_kgeval.verdicts.oracles import Question, Wish
from tests.evaluation.test_policies import chain, graphs

DESIGNED = ("stratified", "srs", "twcs", "anytime", "assisted")
EXAMPLE = Path(__file__).parents[2] / "examples" / "motivating"
GREEDY = Settings(policy="greedy", estimator="inferable")
POLICIES = ("greedy", "random", "max-degree", "cascade", "random+inference", "max-degree+inference")


@pytest.fixture(scope="module")
def example() -> CouplingGraph:
    rules = kgeval.read_rules(EXAMPLE / "rules") + kgeval.read_ontology(EXAMPLE / "ontology.ttl")
    return kgeval.couple(kgeval.read_beliefs(EXAMPLE / "kg.ttl"), rules)


def test_the_motivating_example_is_75_percent_true(example: CouplingGraph) -> None:
    gold = GoldOracle(EXAMPLE / "gold.csv")
    evaluation = kgeval.evaluate(example, oracle=gold, policy="greedy", seed_size=0)
    assert evaluation.accuracy == 0.75
    assert evaluation.stopped == "everything inferred"
    assert len(evaluation.asked) < 8
    assert evaluation.interval is None
    labels = evaluation.labels()
    assert {example.beliefs.triple(example.beliefs.row(i)): v for i, v in labels.items()} == gold.labels
    assert evaluation.by_predicate()["http://example.org/cityInState"]["accuracy"] == 0.0


def state(evaluation: Evaluation) -> list[Any]:
    return [
        evaluation.stopped,
        evaluation.accuracy,
        evaluation.next(3),
        evaluation.history,
        evaluation.label().tolist(),
        evaluation.by_predicate(),
    ]


@settings(max_examples=60)
@given(graphs(), st.sampled_from((*POLICIES, *DESIGNED)), st.integers(0, 3), st.data())
def test_replaying_the_log_gives_the_same_state(
    graph: CouplingGraph, policy: str, seed_size: int, data: st.DataObject
) -> None:
    log: list[LogRecord] = []
    how = GREEDY.changed(
        policy=policy,
        seed=3,
        seed_size=seed_size,
        converge=False,
        redundancy=data.draw(st.integers(1, 2)),
        votes=data.draw(st.sampled_from(["dawid-skene", "majority"])),
    )
    evaluation = Evaluation(graph, how, append=lambda *records: log.extend(records))
    for _ in range(data.draw(st.integers(0, 8))):
        annotator = data.draw(st.sampled_from(["ann", "bob"]))
        requests = evaluation.next(2, evaluation.waiting(annotator))
        if not requests or data.draw(st.integers(0, 4)) == 0:
            evaluation.undo(annotator)
            continue
        request = data.draw(st.sampled_from(requests))
        evaluation.answer(request, data.draw(st.sampled_from(list(Answer))), annotator)
    assert state(Evaluation(graph, how, log)) == state(evaluation)


def test_every_policy_runs_to_the_end_and_asks_nothing_twice(example: CouplingGraph) -> None:
    gold = GoldOracle(EXAMPLE / "gold.csv")
    for policy in POLICIES:
        log: list[LogRecord] = []
        evaluation = Evaluation(
            example, GREEDY.changed(policy=policy, seed_size=2, converge=False), append=log.append
        )
        assert consult(evaluation, gold)
        assert evaluation.stopped == "everything inferred", policy
        beliefs = [record.belief for record in log if isinstance(record, Verdict)]
        assert len(set(beliefs)) == len(beliefs)
        assert [record.drawn for record in log if isinstance(record, Verdict)][:3] == [
            Drawn.SEED,
            Drawn.SEED,
            Drawn.CONTROL,
        ]
        if policy in ("random", "max-degree"):
            assert evaluation.accuracy == 0.75
            assert len(beliefs) == 8


class Script:
    """An oracle that says what it is told to say, then quits."""

    annotator = "script"

    def __init__(self, *answers: Answer | Wish) -> None:
        self._answers: Iterator[Answer | Wish] = iter(answers)
        self.asked: list[str] = []

    def ask(self, question: Question) -> Answer | Wish:
        self.asked.append(question.triple[0])
        return next(self._answers, Wish.QUIT)


def test_skip_undo_and_quit() -> None:
    graph = chain(3)
    how = GREEDY.changed(policy="random", seed_size=3)
    evaluation = Evaluation(graph, how)
    script = Script(Wish.SKIP, Answer.TRUE, Wish.UNDO, Answer.FALSE)
    assert not consult(evaluation, script)
    skipped, told, next_, again, last = script.asked
    assert len({skipped, told, next_}) == 3
    assert (again, last) == (told, next_)
    assert evaluation.n_verdicts == 1
    assert evaluation.accuracy == 0.0


def test_undo_with_nothing_said_does_nothing_and_a_retraction_of_nothing_is_refused() -> None:
    graph = chain(3)
    evaluation = Evaluation(graph, GREEDY)
    assert not evaluation.undo("me")
    belief = evaluation.belief(0)
    with pytest.raises(InputError, match="has said nothing"):
        evaluation.record(Retraction(retract=belief, annotator="me", time="now"))


def test_ambiguous_answers_use_budget_but_teach_nothing() -> None:
    graph = chain(4)
    evaluation = Evaluation(graph, GREEDY.changed(policy="greedy", seed_size=0, budget=1))
    (request,) = evaluation.next()
    evaluation.answer(request, Answer.AMBIGUOUS, "me")
    assert evaluation.stopped == "budget"
    assert evaluation.accuracy is None
    assert evaluation.labels() == {}
    more = Evaluation(graph, GREEDY.changed(policy="greedy", seed_size=0), [])
    more.answer(request, Answer.AMBIGUOUS, "me")
    others = [r.position for r in more.next(9)]
    assert others
    assert request.position not in others


def test_annotators_who_differ_leave_a_belief_open_to_doubt() -> None:
    graph = chain(3)
    evaluation = Evaluation(graph, GREEDY.changed(policy="random", seed_size=0))
    (request,) = evaluation.next()
    evaluation.answer(request, Answer.TRUE, "ann")
    assert evaluation.accuracy == 1.0
    evaluation.answer(request, Answer.TRUE, "bob")
    assert evaluation.n_verdicts == 2
    evaluation.answer(request, Answer.FALSE, "bob")
    assert evaluation.accuracy is None
    evaluation.undo("bob")
    assert evaluation.accuracy == 1.0


def test_the_budget_in_time_counts_entities_once() -> None:
    graph = chain(3)  # five beliefs, each with a subject of its own
    evaluation = Evaluation(graph, GREEDY.changed(policy="random", seed_size=5, seconds=140.0))
    while requests := evaluation.next():
        evaluation.answer(requests[0], Answer.TRUE, "me")
    assert evaluation.stopped == "budget"
    assert len(evaluation.asked) == 2
    assert evaluation.cost == 2 * (45 + 25)


def test_it_stops_when_the_estimate_settles() -> None:
    graph = chain(40)
    evaluation = Evaluation(graph, GREEDY.changed(policy="random", seed_size=5))
    while requests := evaluation.next():
        evaluation.answer(requests[0], Answer.TRUE, "me")
    assert evaluation.stopped == "converged"
    assert len(evaluation.asked) == 5 + 9  # the end of the seed set is the first of ten equal estimates
    patient = Evaluation(graph, GREEDY.changed(policy="random", seed_size=5, converge=False))
    while requests := patient.next():
        patient.answer(requests[0], Answer.TRUE, "me")
    assert len(patient.asked) == graph.n_beliefs


def test_beliefs_that_somebody_looks_at_are_left_out() -> None:
    graph = chain(6)
    for policy in POLICIES:
        evaluation = Evaluation(graph, GREEDY.changed(policy=policy, seed_size=0))
        first = evaluation.next(2)
        taken = [request.position for request in first]
        assert not set(taken) & {r.position for r in evaluation.next(5, without=taken)}


@pytest.mark.parametrize(
    ("text", "budget"), [("140", {"budget": 140}), ("2h", {"seconds": 7200.0}), ("0.5m", {"seconds": 30.0})]
)
def test_budgets(text: str, budget: dict[str, float]) -> None:
    assert parse_budget(text) == budget


@given(st.text(max_size=12))
def test_a_budget_is_understood_or_refused(text: str) -> None:
    if re.fullmatch(r"[1-9][0-9]{0,8}|(?=.*[1-9])[0-9]{1,6}(\.[0-9]{1,3})?[hms]", text, re.ASCII):
        assert next(iter(parse_budget(text).values())) > 0
    else:
        with pytest.raises(InputError, match="2h"):
            parse_budget(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": "best"}, "choose one of stratified, srs"),
        ({"policy": "greedy", "estimator": "mean"}, "goes with the estimator inferable"),
        ({"policy": "random", "candidates": 3}, "candidates are greedy control's"),
        ({"seed": -1}, "cannot be negative"),
        ({"budget": 0}, "at least one verdict"),
        ({"budget": "soon"}, "neither a number of verdicts"),
        ({"margin": 0.0}, "margin 0 is not between"),
        ({"level": 0.4}, "level 0.4 is not between"),
        ({"colour": 1}, "no option 'colour'"),
    ],
)
def test_bad_settings_are_one_sentence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GREEDY.changed(**options)


def test_a_verdict_on_something_else_is_refused(example: CouplingGraph) -> None:
    evaluation = Evaluation(example, GREEDY)
    verdict = Verdict(belief="0" * 64, answer=Answer.TRUE, annotator="me", time="now")
    with pytest.raises(InputError, match="no belief has an id"):
        evaluation.record(verdict)


def test_gold_that_lacks_an_asked_belief_is_one_sentence(example: CouplingGraph, tmp_path: Path) -> None:
    gold = tmp_path / "gold.csv"
    gold.write_text("subject,predicate,object,label\nhttp://x/a,http://x/b,http://x/c,1\n")
    with pytest.raises(InputError, match=r"gold\.csv has no label for <http://example.org/"):
        kgeval.evaluate(example, oracle=GoldOracle(gold), policy="greedy")


def test_the_same_seed_asks_the_same_and_another_seed_does_not() -> None:
    graph = chain(30)

    def first(seed: int) -> list[int]:
        return [r.position for r in Evaluation(graph, replace(GREEDY, seed=seed)).next(10)]

    assert first(1) == first(1) != first(2)
    assert np.all(np.array(first(1)) < graph.n_beliefs)


def test_a_sample_reports_an_interval_at_the_stop_and_none_before() -> None:
    graph = chain(400)
    evaluation = Evaluation(graph, Settings(seed=5))
    while requests := evaluation.next():
        assert evaluation.interval is None
        assert requests[0].drawn is Drawn.SAMPLE
        assert requests[0].probability is not None
        evaluation.answer(requests[0], Answer.FALSE if requests[0].position % 9 == 0 else Answer.TRUE, "me")
    assert evaluation.stopped == "margin"
    low, high = evaluation.interval or (0.0, 0.0)
    assert low < 8 / 9 < high
    assert high - low <= 0.1 + 1e-9
    (entry,) = evaluation.by_predicate().values()
    assert entry["interval"] is not None


def test_what_was_known_before_sampling_is_a_certainty_stratum() -> None:
    graph = chain(30)
    known = [
        Verdict(
            belief=graph.beliefs.id(int(row)),
            answer=Answer.TRUE,
            annotator="me",
            time="now",
            drawn=Drawn.CONTROL,
        )
        for row in graph.beliefs.rows[:20]
    ]
    evaluation = Evaluation(graph, Settings(policy="srs", estimator="wilson", margin=0.01), known)
    asked = set()
    while requests := evaluation.next():
        asked.add(requests[0].position)
        evaluation.answer(requests[0], Answer.FALSE, "me")
    assert asked == set(range(20, graph.n_beliefs))
    assert evaluation.accuracy == pytest.approx(20 / 32)

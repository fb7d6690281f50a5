"""Several answers on a belief: when they suffice, what they come to, and what follows from them."""

import random
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import rdf_kgeval as kgeval
from rdf_kgeval.coupling.graph import CouplingGraph
from rdf_kgeval.evaluation.consult import consult
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.pipeline import Evaluation
from rdf_kgeval.verdicts.log import AMBIGUOUS, FALSE, TRUE, Answer
from rdf_kgeval.verdicts.oracles import Question, Wish
from tests.evaluation.test_policies import chain

T, F, A = Answer.TRUE, Answer.FALSE, Answer.AMBIGUOUS
SRS = Settings(policy="srs", estimator="wilson")


def say(evaluation: Evaluation, position: int, answers: Iterable[Answer], expert: bool = False) -> None:
    (request,) = [r for r in evaluation.next(99) if r.position == position] or [None]
    for name, answer in zip("abcdefgh", answers, strict=False):
        evaluation.record(evaluation.verdict(request, answer, "carol" if expert else name, expert=expert))


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        ([T, T, F], TRUE),
        ([F, F, T], FALSE),
        ([T, F, A], AMBIGUOUS),
        ([A, A, A], AMBIGUOUS),
        ([A, A, T], TRUE),
    ],
)
@pytest.mark.parametrize("votes", ["majority", "dawid-skene"])
def test_what_three_answers_come_to(answers: list[Answer], outcome: int, votes: str) -> None:
    evaluation = Evaluation(chain(3), SRS.changed(redundancy=3, votes=votes))
    position = evaluation.next()[0].position
    say(evaluation, position, answers[:2])
    assert not evaluation.findings
    evaluation = Evaluation(chain(3), SRS.changed(redundancy=3, votes=votes))
    say(evaluation, position, answers)
    assert evaluation.findings[position].outcome == outcome


def test_an_expert_decides_and_is_taken_as_sure() -> None:
    evaluation = Evaluation(chain(3), SRS.changed(redundancy=2))
    request = evaluation.next()[0]
    for name, answer in (("ann", T), ("bob", F)):
        evaluation.answer(request, answer, name)
    assert evaluation.findings[request.position].outcome == AMBIGUOUS
    evaluation.record(evaluation.verdict(request, F, "carol", expert=True))
    assert evaluation.findings[request.position][:2] == (FALSE, 0.0)


def test_weighed_answers_reach_inference_as_probabilities() -> None:
    graph = chain(3)
    sure, weighed = Evaluation(graph, SRS), Evaluation(graph, SRS.changed(redundancy=2))
    for evaluation in (sure, weighed):
        request = evaluation.next()[0]
        for name in ("ann", "bob")[: request.workers]:
            evaluation.answer(request, T, name)
    row = int(graph.beliefs.rows[request.position])
    assert sure.known() == {row: 1.0}
    assert 0.8 < weighed.known()[row] < 1.0
    assert sure.inference.x[row] == 1.0
    assert 0.5 < weighed.inference.x[row] < 1.0


def noisy(graph: CouplingGraph, seed: int, accuracy: float, how: Settings) -> tuple[Evaluation, float]:
    """An evaluation by eight annotators who err, and the gold accuracy."""
    rng = np.random.default_rng(seed)
    truth = rng.random(graph.n_beliefs) < accuracy
    sensitivity, specificity = rng.uniform(0.75, 0.95, 8), rng.uniform(0.75, 0.95, 8)
    evaluation = Evaluation(graph, how.changed(seed=seed))
    while requests := evaluation.next(50):
        records = []
        for request in requests:
            true = truth[request.position]
            for w in rng.choice(8, request.workers, replace=False):
                right = rng.random() < (sensitivity[w] if true else specificity[w])
                answer = T if true == right else F
                records.append(evaluation.verdict(request, answer, f"w{w}"))
        evaluation.record(*records)
    return evaluation, float(truth.mean())


def test_the_estimate_allows_for_annotators_who_err() -> None:
    graph = chain(1500)
    how = SRS.changed(redundancy=3, budget=1200, margin=None)
    off, naive = [], []
    for seed in range(15):
        evaluation, truth = noisy(graph, seed, 0.9, how)
        labels = [found.outcome for found in evaluation.findings.values() if found.outcome != AMBIGUOUS]
        off.append((evaluation.accuracy or 0.0) - truth)
        naive.append(float(np.mean(labels)) - truth)
        assert evaluation.interval
        assert "taken as known" in (evaluation.note or "")
    assert np.mean(naive) < -0.02  # of many true beliefs, more are called false than of few false ones true
    assert np.mean(np.abs(off)) < 0.7 * np.mean(np.abs(naive))


def test_a_belief_that_is_out_keeps_its_part_of_the_budget() -> None:
    for how in (SRS.changed(budget=5), SRS.changed(redundancy=2, budget=10)):
        evaluation = Evaluation(chain(30), how)
        out = {request.position: request.workers for request in evaluation.next(3)}
        rest = evaluation.next(99, out)
        assert len(rest) == 2
        for request in rest:
            for name in ("ann", "bob")[: request.workers]:
                evaluation.answer(request, T, name)
        assert evaluation.next(99, out) == []
        assert evaluation.stopped is None
        assert {request.position for request in evaluation.next(99)} == out.keys()


def test_a_budget_in_time_ends_only_when_everything_that_is_out_is_in() -> None:
    evaluation = Evaluation(chain(30), SRS.changed(budget="350s"))
    out: list[int] = []
    while requests := evaluation.next(1, out):
        out.append(requests[0].position)
    for position in out:
        assert evaluation.stopped is None
        (request,) = [r for r in evaluation.next(99) if r.position == position]
        evaluation.answer(request, T, "me")
    assert evaluation.stopped == "budget"


class Skipper:
    """Skips the hard ones as long as that is possible."""

    annotator = "me"

    def __init__(self) -> None:
        self.skips = 0

    def ask(self, question: Question) -> Answer | Wish:
        if question.triple[0].endswith(("3>", "7>")) and self.skips < 50:
            self.skips += 1
            return Wish.SKIP
        return T


def test_skipped_beliefs_stay_in_the_sample() -> None:
    evaluation = Evaluation(chain(60), SRS.changed(budget=20, margin=None))
    order = [request.position for request in evaluation.next(20)]
    consult(evaluation, Skipper())
    assert sorted(evaluation.asked.tolist()) == sorted(order)


@pytest.mark.parametrize("policy", ["srs", "stratified", "twcs", "assisted", "random", "greedy"])
def test_it_does_not_matter_who_answers_first(policy: str) -> None:
    """Several annotators with easy and hard beliefs, in any order of arrival: same sample, same estimate."""
    graph = chain(200)
    truth = np.random.default_rng(1).random(graph.n_beliefs) < 0.8
    found = []
    for seed in range(4):
        rng = random.Random(seed)
        how = Settings().changed(policy=policy, seed=2, seed_size=40, budget=40, margin=None)
        evaluation = Evaluation(graph, how)
        out = {}
        while True:
            for request in evaluation.next(6 - len(out), list(out)):
                out[request.position] = request
            if not out:
                break
            position = rng.choice(sorted(out)) if seed else next(iter(out))
            evaluation.answer(out.pop(position), T if truth[position] else F, "me")
        found.append((sorted(evaluation.asked.tolist()), evaluation.accuracy, evaluation.interval))
    assert all(other == found[0] for other in found)


def test_the_seed_set_is_the_same_whoever_answers_first() -> None:
    evaluation = Evaluation(chain(30), Settings().changed(policy="greedy", seed_size=5))
    first = [request.position for request in evaluation.next(99)]
    assert len(first) == 5
    assert evaluation.next(1, first) == []  # not a sixth in place of one that is out


def test_the_papers_allocation_asks_more_about_what_tells_more_and_keeps_to_the_budget() -> None:
    example = Path(__file__).parents[2] / "examples" / "motivating"
    rules = kgeval.read_rules(example / "rules") + kgeval.read_ontology(example / "ontology.ttl")
    graph = kgeval.couple(kgeval.read_beliefs(example / "kg.ttl"), rules)
    how = Settings().changed(policy="greedy", budget="20", redundancy="paper", seed_size=0)
    evaluation = Evaluation(graph, how)
    workers = []
    while requests := evaluation.next():
        workers.append(requests[0].workers)
        for number in range(requests[0].workers):
            evaluation.answer(requests[0], T, f"w{number}")
    assert sum(workers) == evaluation.n_verdicts <= 20
    assert workers[0] == max(workers) > 1


def test_annotators_and_their_agreement() -> None:
    evaluation = Evaluation(chain(30), SRS.changed(redundancy=2))
    for i, request in enumerate(evaluation.next(20)):
        evaluation.answer(request, T if i % 2 else F, "ann")
        evaluation.answer(request, (T if i % 2 else F) if i else A, "bob")
    people = evaluation.annotators()
    assert people["ann"]["answers"] == people["bob"]["answers"] == 20
    assert people["bob"]["ambiguous"] == 1
    assert (people["ann"]["accuracy"] or 0) > 0.85
    assert evaluation.agreement == pytest.approx(0.9, abs=0.05)
    alone = Evaluation(chain(30), SRS)
    alone.answer(alone.next()[0], T, "ann")
    assert alone.agreement is None
    assert alone.annotators()["ann"]["accuracy"] is None

"""Several annotators: allocation, aggregation, agreement."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdf_kgeval.common.types import Int64s
from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.verdicts.votes import (
    Votes,
    agreement,
    allocate,
    dawid_skene,
    majority,
    majority_vote,
)

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


def simulated(seed: int, tasks: int = 300, workers: int = 12, each: int = 5) -> tuple[Votes, "np.ndarray"]:
    """Votes of workers whose accuracies lie between 0.6 and 0.95, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.random(tasks) < 0.7
    accuracy = rng.uniform(0.6, 0.95, workers)
    task = np.repeat(np.arange(tasks), each)
    worker = np.concatenate([rng.choice(workers, each, replace=False) for _ in range(tasks)])
    right = rng.random(len(task)) < accuracy[worker]
    return Votes(task, worker, (truth[task] == right).astype(float)), truth


def right(found: "np.ndarray", truth: "np.ndarray") -> float:
    return float((found == truth).mean())


def test_dawid_skene_is_at_least_as_accurate_as_the_majority_over_30_seeds() -> None:
    weighed, counted = [], []
    for seed in range(30):
        votes, truth = simulated(seed)
        weighed.append(right(dawid_skene(votes).posterior > 0.5, truth))
        share = np.bincount(votes.task, votes.true) / np.bincount(votes.task)
        counted.append(right(np.array([majority(int(5 * s + 0.5), 5) for s in share]) == 1, truth))
    gain = np.array(weighed) - np.array(counted)
    assert gain.mean() - 2 * gain.std(ddof=1) / math.sqrt(30) > 0
    assert np.mean(weighed) > 0.93


def naive_dawid_skene(votes: Votes, right: float, wrong: float) -> tuple[list[float], list[list[float]]]:
    """The same model written out task by task and worker by worker, from the paper's formulas."""
    tasks, workers = range(votes.n_tasks), range(votes.n_workers)
    said = [[] for _ in tasks]
    for t, w, y in zip(votes.task.tolist(), votes.worker.tolist(), votes.true.tolist(), strict=True):
        said[t].append((w, int(y)))
    p = [(sum(y for _, y in s) + 0.5) / (len(s) + 1) for s in said]
    for _ in range(2000):
        share = (sum(p) + 1) / (len(p) + 2)
        rate = [[0.0, 0.0] for _ in workers]  # on false tasks, on true tasks
        for w in workers:
            for truth in (0, 1):
                hit, total = right, right + wrong
                for t in tasks:
                    for v, y in said[t]:
                        if v == w:
                            weight = p[t] if truth else 1 - p[t]
                            hit += weight * (y == truth)
                            total += weight
                rate[w][truth] = hit / total
        new = []
        for t in tasks:
            yes, no = share, 1 - share
            for w, y in said[t]:
                yes *= rate[w][1] if y else 1 - rate[w][1]
                no *= 1 - rate[w][0] if y else rate[w][0]
            new.append(yes / (yes + no))
        change = max(abs(a - b) for a, b in zip(p, new, strict=True))
        p = new
        if change < 1e-9:
            break
    return p, rate


def test_dawid_skene_agrees_with_a_naive_one() -> None:
    votes, _ = simulated(3, tasks=40, workers=5, each=3)
    found = dawid_skene(votes)
    p, rate = naive_dawid_skene(votes, 8.0, 2.0)
    assert found.posterior == pytest.approx(p, abs=1e-4)
    assert found.sensitivity == pytest.approx([r[1] for r in rate], abs=1e-4)
    assert found.specificity == pytest.approx([r[0] for r in rate], abs=1e-4)


def test_dawid_skene_finds_out_who_is_good_and_who_says_true_to_everything() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(400) < 0.6
    task = np.repeat(np.arange(400), 4)
    worker = np.tile(np.arange(4), 400)
    accuracy = np.array([0.95, 0.9, 0.75, 0.0])
    said = np.where(worker == 3, 1.0, (truth[task] == (rng.random(1600) < accuracy[worker])).astype(float))
    found = dawid_skene(Votes(task, worker, said))
    assert found.accuracy[:3] == pytest.approx(accuracy[:3], abs=0.05)
    assert found.sensitivity[3] > 0.97
    assert found.specificity[3] < 0.05
    assert found.share == pytest.approx(truth.mean(), abs=0.03)


def test_a_tie_decides_nothing_and_one_vote_more_does() -> None:
    task, worker = np.array([0, 0, 1, 1, 2, 2, 2]), np.array([0, 1, 0, 1, 0, 1, 2])
    votes = Votes(task, worker, np.array([1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0]))
    for aggregate in (majority_vote, dawid_skene):
        found = aggregate(votes)
        assert found.decided.tolist() == [False, True, True]
        assert found.truth[1] > found.truth[2] > 0.5


def test_votes_of_nobody_come_to_nothing() -> None:
    none = Votes(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    assert len(dawid_skene(none).truth) == len(majority_vote(none).truth) == 0


@given(st.integers(1, 50).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_papers_majority(case: tuple[int, int]) -> None:
    true, votes = case
    assert majority(true, votes) == (1 if 2 * true >= votes else 0)


def naive_alpha(task: Int64s, value: Int64s) -> float | None:
    """Krippendorff's alpha from observed and expected disagreement over pairs of values."""
    units = [value[task == t].tolist() for t in np.unique(task)]
    units = [u for u in units if len(u) > 1]
    values = [v for u in units for v in u]
    if len(set(values)) < 2:
        return None
    observed = sum(
        sum(a != b for i, a in enumerate(u) for j, b in enumerate(u) if i != j) / (len(u) - 1) for u in units
    ) / len(values)
    expected = sum(a != b for i, a in enumerate(values) for j, b in enumerate(values) if i != j) / (
        len(values) * (len(values) - 1)
    )
    return 1 - observed / expected


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), max_size=30))
def test_agreement_is_krippendorffs(answers: list[tuple[int, int]]) -> None:
    task, value = (np.array([a[i] for a in answers], np.int64) for i in (0, 1))
    expected = naive_alpha(task, value)
    found = agreement(task, value)
    assert found == (None if expected is None else pytest.approx(expected))


def test_agreement_of_krippendorffs_own_example() -> None:
    """Two observers, ten units, binary data (Krippendorff 2011, part A): alpha is 0.095."""
    first, second = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    value = np.array(first + second)
    assert agreement(np.tile(np.arange(10), 2), value) == pytest.approx(0.095, abs=5e-4)


@given(
    st.floats(1, 500),
    st.lists(st.floats(0, 1000), min_size=1, max_size=60),
    st.floats(0.1, 5),
)
def test_the_allocation_never_exceeds_the_budget(budget: float, sizes: list[float], cost: float) -> None:
    left = budget
    for t, size in enumerate(sizes):
        seen = sizes[: t + 1]
        workers = allocate(
            budget=budget, left=left, size=size, average=float(np.mean(seen)), largest=max(seen), cost=cost
        )
        assert workers >= (1 if left >= cost else 0)
        left -= workers * cost
        assert left >= -1e-9
    assert budget - left <= budget + 1e-9


def test_the_allocation_is_the_papers() -> None:
    assert allocate(budget=100, left=100, size=20, average=5, largest=20) == 25
    assert allocate(budget=100, left=100, size=10, average=5, largest=20) == 12
    assert allocate(budget=100, left=100, size=10, average=5, largest=20, cost=2) == 6
    assert allocate(budget=100, left=3, size=20, average=5, largest=20) == 3
    assert allocate(budget=100, left=100, size=0, average=5, largest=20) == 1
    assert allocate(budget=100, left=0, size=20, average=5, largest=20) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"redundancy": "0"}, "neither a number such as 3 nor the word paper"),
        ({"redundancy": "some"}, "neither a number such as 3 nor the word paper"),
        ({"redundancy": "paper"}, "add --policy greedy and --budget"),
        ({"votes": "majorty"}, "did you mean majority?"),
        ({"redundancy": 2000}, "1 to 1000 annotators"),
    ],
)
def test_bad_options_are_one_sentence(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Settings().changed(**options)

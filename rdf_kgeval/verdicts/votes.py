"""Aggregate the votes of several annotators: labels, how far to trust each annotator, how many to ask.

Labels are odds that follow from the votes alone, whatever the share of true beliefs is: even odds are a tie,
and a label that depends on how many other beliefs are true would confirm the estimate that it serves.
"""

import math
from dataclasses import dataclass

import numpy as np

from rdf_kgeval.common.types import Bools, Float64s, Int64s

RIGHT, WRONG = 8.0, 2.0
"""Pseudo-counts of each annotator's right and wrong answers."""
TIE = math.log(1.1)
"""Log-odds from which on weighed votes decide: eleven to ten."""
STEPS, TOLERANCE = 500, 1e-7
"""Most steps of expectation maximisation, and the change of a probability below which it ends."""


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes of workers on tasks, both numbered from 0."""

    task: Int64s
    worker: Int64s
    true: Float64s
    """1 where the answer was true, 0 where it was false."""

    @property
    def n_tasks(self) -> int:
        """Return the number of tasks."""
        return int(self.task.max(initial=-1)) + 1

    @property
    def n_workers(self) -> int:
        """Return the number of workers."""
        return int(self.worker.max(initial=-1)) + 1


@dataclass(frozen=True, eq=False)
class Aggregate:
    """Labels of tasks, and rates of workers."""

    odds: Float64s
    """For each task, the logarithm of how much likelier its votes are if it is true than if it is false."""
    decided: Bools
    """For each task, whether its votes decide it; ties do not."""
    share: float
    """The share of true tasks."""
    sensitivity: Float64s
    """For each worker, the share of true tasks called true."""
    specificity: Float64s
    """For each worker, the share of false tasks called false."""

    @property
    def truth(self) -> Float64s:
        """Return each task's probability of being true if true and false were as likely before."""
        return _sigmoid(self.odds)

    @property
    def posterior(self) -> Float64s:
        """Return each task's probability of being true, given the share of true tasks."""
        return _sigmoid(self.odds + _logit(self.share))

    @property
    def accuracy(self) -> Float64s:
        """Return the share of tasks that each worker judged rightly."""
        return self.share * self.sensitivity + (1 - self.share) * self.specificity


def majority(true: int, votes: int) -> int:
    """Return the paper's majority vote, `floor(true / votes - 1/2) + 1`; a tie counts as true.

    >>> majority(1, 3), majority(2, 3), majority(1, 2)
    (0, 1, 1)
    """
    return math.floor(true / votes - 0.5) + 1


def majority_vote(votes: Votes) -> Aggregate:
    """Count votes; how sure a majority is follows from how often two annotators agree.

    All annotators are taken as equally good: two who are right with probability a agree with probability
    `a^2 + (1 - a)^2`.
    """
    count = np.bincount(votes.task, minlength=votes.n_tasks)
    true = np.bincount(votes.task, votes.true, votes.n_tasks)
    false = count - true
    usual = RIGHT / (RIGHT + WRONG)
    agreeing = (true * (true - 1) + false * (false - 1)).sum() / 2
    pairs = (count * (count - 1)).sum() / 2
    strength = RIGHT + WRONG
    rate = (agreeing + strength * (usual**2 + (1 - usual) ** 2)) / (pairs + strength)
    accuracy = (1 + math.sqrt(max(2 * rate - 1, 1e-4))) / 2
    each = np.full(votes.n_workers, accuracy)
    odds = (true - false) * _logit(accuracy)
    share = 0.5
    for _ in range(STEPS if len(odds) else 0):
        before, share = share, float((_sigmoid(odds + _logit(share)).sum() + 1.0) / (len(odds) + 2.0))
        if abs(share - before) < TOLERANCE:
            break
    return Aggregate(odds, true != false, share, each, each)


def dawid_skene(votes: Votes) -> Aggregate:
    """Weigh annotators by how often they are right, which follows from whom they agree with.

    Dawid and Skene (Applied Statistics 1979), by expectation maximisation from the majority vote. Each
    annotator has one rate on true and one on false tasks, with `RIGHT` and `WRONG` as pseudo-counts, so that
    few votes make nobody infallible.
    """
    task, worker, true = votes.task, votes.worker, votes.true
    n, m = votes.n_tasks, votes.n_workers
    count = np.bincount(task, minlength=n)
    voted = count > 0
    probability = (np.bincount(task, true, n) + 0.5) / (count + 1.0)
    odds: Float64s = np.zeros(n)
    share, before = 0.5, np.zeros(n)
    sensitivity = specificity = np.full(m, RIGHT / (RIGHT + WRONG))
    for _ in range(STEPS):
        if not voted.any() or float(np.abs(probability - before).max()) < TOLERANCE:
            break
        before = probability
        share = float((probability[voted].sum() + 1.0) / (voted.sum() + 2.0))
        on_true, on_false = probability[task], 1.0 - probability[task]
        sensitivity = _rate(worker, on_true * true, on_true, m)
        specificity = _rate(worker, on_false * (1.0 - true), on_false, m)
        says_true = np.log(sensitivity / (1.0 - specificity))
        says_false = np.log((1.0 - sensitivity) / specificity)
        odds = np.bincount(task, np.where(true > 0, says_true[worker], says_false[worker]), n).astype(float)
        probability = _sigmoid(odds + _logit(share))
    return Aggregate(odds, np.abs(odds) >= TIE, share, sensitivity, specificity)


def _rate(worker: Int64s, right: Float64s, all_: Float64s, m: int) -> Float64s:
    rate: Float64s = (np.bincount(worker, right, m) + RIGHT) / (np.bincount(worker, all_, m) + RIGHT + WRONG)
    return rate


def agreement(task: Int64s, value: Int64s) -> float | None:
    """Compute Krippendorff's alpha for nominal values: 1 where all agree, 0 where they agree as by chance.

    It is undefined, None, where no task has two values or all values are the same.

    Args:
        task: the task of each answer, numbered from 0.
        value: the value of each answer, numbered from 0.
    """
    counts = np.zeros((int(task.max(initial=-1)) + 1, int(value.max(initial=-1)) + 1))
    np.add.at(counts, (task, value), 1.0)
    counts = counts[counts.sum(axis=1) >= 2]
    size = counts.sum(axis=1)
    total = counts.sum(axis=0)
    expected = total.sum() ** 2 - (total**2).sum()
    if not expected:
        return None
    differing = ((size**2 - (counts**2).sum(axis=1)) / (size - 1)).sum()
    return float(1.0 - (total.sum() - 1) * differing / expected)


def allocate(
    *, budget: float, left: float, size: float, average: float, largest: float, cost: float = 1.0
) -> int:
    """Choose how many annotators judge a belief: the paper's `floor(B * i_t * (1 - gamma) / (c * i_max))`.

    The more beliefs follow from this one, the surer it should be. gamma, by which the sizes shrink from one
    belief to the next, is estimated as 1 - average / largest; the paper's own estimate has the fraction the
    other way round and is negative. Its sum over the beliefs stays within the budget only if the sizes really
    shrink at this rate, hence the result never exceeds the rest of the budget; and at least one annotator
    judges each belief.

    Args:
        budget: the whole budget (the paper's B).
        left: the rest of it.
        size: the expected number of beliefs that follow from this one (i_t).
        average: the mean of that number over the beliefs that may be asked.
        largest: the largest of that number so far (i_max).
        cost: the cost of one answer (c).
    """
    affordable = math.floor(left / cost)
    if largest <= 0:
        return min(1, affordable)
    wanted = math.floor(budget * min(size / largest, 1.0) * min(average / largest, 1.0) / cost)
    return min(max(wanted, 1), affordable)


def _logit(p: float) -> float:
    return math.log(p / (1.0 - p))


def _sigmoid(x: Float64s) -> Float64s:
    found: Float64s = 1.0 / (1.0 + np.exp(-np.clip(x, -700.0, 700.0)))
    return found

"""Annotators who err: majority vote beside Dawid-Skene, and where the paper's error bound holds; writes CROWD.md.

python benchmarks/crowd.py
"""

import math
from pathlib import Path

import numpy as np

from rdf_kgeval.verdicts.votes import Votes, allocate, dawid_skene, majority, majority_vote

SEEDS = 30


def simulate(
    seed: int, share: float, each: int, tasks: int = 300, workers: int = 12
) -> tuple[Votes, np.ndarray]:
    """Workers with accuracies between 0.6 and 0.95."""
    rng = np.random.default_rng(seed)
    truth = rng.random(tasks) < share
    accuracy = rng.uniform(0.6, 0.95, workers)
    task = np.repeat(np.arange(tasks), each)
    worker = np.concatenate([rng.choice(workers, each, replace=False) for _ in range(tasks)])
    right = rng.random(len(task)) < accuracy[worker]
    return Votes(task, worker, (truth[task] == right).astype(float)), truth


def aggregation() -> list[str]:
    lines = [
        "| share of true | answers each | majority | Dawid-Skene | share by majority | share by Dawid-Skene |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for share in (0.5, 0.7, 0.9):
        for each in (3, 5):
            rows = []
            for seed in range(SEEDS):
                votes, truth = simulate(seed, share, each)
                count = np.bincount(votes.task, votes.true)
                counted = np.array([majority(int(k), each) for k in count]) == 1
                weighed, common = dawid_skene(votes), majority_vote(votes)
                rows.append(
                    [
                        (counted == truth).mean(),
                        ((weighed.posterior > 0.5) == truth).mean(),
                        abs(common.posterior.mean() - truth.mean()),
                        abs(weighed.posterior.mean() - truth.mean()),
                    ]
                )
            mean, spread = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1)
            cells = [f"{m:.3f} ± {s:.3f}" for m, s in zip(mean, spread, strict=True)]
            lines.append(f"| {share} | {each} | {' | '.join(cells)} |")
    return lines


def error_bound(workers: int, margin: float) -> float:
    """The paper's bound on the chance that a majority errs, `2 exp(-2 w e^2)`.

    Args:
        workers: annotators who answer independently (w).
        margin: by how much each is right more often than half the time (e).
    """
    return 2.0 * math.exp(-2.0 * workers * margin * margin)


def wrong(rng: np.random.Generator, workers: int, chance: np.ndarray) -> float:
    """How often a majority errs, with each task's own chance that an answer is right; half are true."""
    truth = np.arange(len(chance)) % 2
    true = rng.binomial(workers, np.where(truth == 1, chance, 1 - chance))
    return float(np.mean([majority(int(k), workers) != t for k, t in zip(true, truth, strict=True)]))


def bound() -> list[str]:
    rng = np.random.default_rng(0)
    n = 20_000
    cases = {
        "independent, 0.6 each": np.full(n, 0.6),
        "independent, 0.75 each": np.full(n, 0.75),
        "independent, 0.9 each": np.full(n, 0.9),
        "0.75 on average, every tenth belief misleads (0.3)": np.where(np.arange(n) // 2 % 10 == 0, 0.3, 0.8),
        "0.75, all copy one another in every fifth belief": None,
    }
    lines = [
        "| annotators | w | error of the majority | bound | holds |",
        "| --- | ---: | ---: | ---: | --- |",
    ]
    for name, chance in cases.items():
        for workers in (1, 5, 15, 45):
            if chance is None:
                alone = wrong(rng, 1, np.full(n, 0.75))
                found = 0.2 * alone + 0.8 * wrong(rng, workers, np.full(n, 0.75))
                margin = 0.25
            else:
                found, margin = wrong(rng, workers, chance), float(chance.mean()) - 0.5
            limit = error_bound(workers, margin)
            says = "no" if found > limit else "yes" if limit < 1 else "says nothing"
            lines.append(f"| {name} | {workers} | {found:.4f} | {min(limit, 2.0):.4f} | {says} |")
    return lines


def budget() -> list[str]:
    """What the formula would spend without the cap, by how the sizes of the inferable sets shrink."""
    lines = ["| sizes | formula alone, share of the budget | with the cap |", "| --- | ---: | ---: |"]
    for name, sizes in {
        "shrink by 0.8 each time": [100 * 0.8**t for t in range(40)],
        "shrink by 0.95 each time": [100 * 0.95**t for t in range(40)],
        "all the same": [5.0] * 40,
        "one large, the rest 1": [100.0] + [1.0] * 39,
    }.items():
        total, left, free = 1000.0, 1000.0, 0
        average, largest = float(np.mean(sizes)), max(sizes)
        for size in sizes:
            free += math.floor(total * size * (average / largest) / largest)
            left -= allocate(budget=total, left=left, size=size, average=average, largest=largest)
        lines.append(f"| {name} | {free / total:.2f} | {(total - left) / total:.2f} |")
    return lines


def main() -> None:
    text = [
        "# Annotators who err",
        "",
        f"Written by `python benchmarks/crowd.py`: means and standard deviations over {SEEDS} seeds.",
        "",
        "## Aggregation",
        "",
        "300 beliefs, 12 annotators whose accuracies lie between 0.6 and 0.95. The share of labels that are right, "
        "and how far the estimated share of true beliefs is off.",
        "",
        *aggregation(),
        "",
        "## The paper's error bound",
        "",
        "The chance that a majority of w annotators errs is at most 2 exp(-2 w e^2), where each is right with "
        "probability 1/2 + e. It holds where annotators are independent and e is the margin on the very belief; "
        "with few annotators it is above 1 and says nothing. It fails where e is an average over beliefs some of "
        "which mislead most people, and where annotators copy one another: more of them then help little.",
        "",
        *bound(),
        "",
        "## The paper's budget",
        "",
        "The allocation with the guess 1 - average / largest for gamma, a budget of 1,000 answers and 40 beliefs. "
        "The formula alone keeps to the budget here only where the sizes shrink fast enough; the cap always does.",
        "",
        *budget(),
    ]
    (Path(__file__).parent / "CROWD.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()

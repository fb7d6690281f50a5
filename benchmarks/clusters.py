"""Compiled runs of `twcs/wilson` and `twcs/ahpd` on synthetic populations."""

import math

import numpy as np
from compiled import compiled, compiled_copies
from sweep import averages, best_start, latents, threshold

from rdf_kgeval.estimation import twcs
from rdf_kgeval.estimation.intervals import PRIORS, quantile
from rdf_kgeval.estimation.srs import MINIMUM
from rdf_kgeval.estimation.twcs import SECOND_STAGE

(effective_size,) = compiled_copies(twcs.effective_size)
WILSON, AHPD = 0, 1
AT_ONCE = 64
"""Clusters are drawn so many at a time."""
STEPS = 400
CLOSE = 0.25
"""How far, relatively, a size may be from the tabulated one and still be looked at closely."""


@compiled
def beta_share(a, b, x):
    """The share of Beta(a, b) below x, by the continued fraction 8.17.22 of the DLMF, from its end.

    It converges quickly left of the mean; on the right the share above is found instead.
    """
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_share(b, a, 1 - x)
    value = 1.0
    for m in range(30 + int(2 * math.sqrt(a + b)), 0, -1):
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        value = 1 + even / (1 + odd / value)
    first = -(a + b) * x / (a + 1)
    logarithm = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(logarithm) / a / (1 + first / value)


@compiled
def held(a, b, width):
    """The largest share of Beta(a, b) in an interval of this width, and where that starts."""
    if width >= 1.0:
        return 1.0, 0.0
    start = best_start(a, b, width)
    return beta_share(a, b, start + width) - beta_share(a, b, start), start


@compiled
def ahpd(n, k, level):
    """The narrowest HPD interval among the priors."""
    best_low, best_high = 0.0, 1.0
    for c in PRIORS:
        a, b = k + c, max(n - k, 0.0) + c
        low, high = 0.0, best_high - best_low
        if held(a, b, high)[0] < level:
            continue
        for _ in range(20):
            width = (low + high) / 2
            if held(a, b, width)[0] >= level:
                high = width
            else:
                low = width
        best_low = held(a, b, high)[1]
        best_high = best_low + high
    return best_low, best_high


@compiled
def narrow(n, k, level, margin):
    """Whether the narrowest HPD interval is at most twice the margin wide."""
    most = 0.0
    for c in PRIORS:
        most = max(most, held(k + c, max(n - k, 0.0) + c, 2 * margin)[0])
    return most >= level


@compiled
def wilson(n, k, z):
    """Wilson's interval."""
    centre = (k + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * math.sqrt(max(k * (n - k), 0.0) / n + z * z / 4)
    return max(0.0, centre - half), min(1.0, centre + half)


@compiled
def least_sizes(level, margin):
    """For shares 0 to 1 in equal steps, the size from which on adaptive HPD is narrow, roughly."""
    sizes = np.empty(STEPS + 1)
    for i in range(STEPS + 1):
        low, high = 1.0, 3.0 / margin**2
        while high / low > 1.01:
            n = math.sqrt(low * high)
            if narrow(n, n * i / STEPS, level, margin):
                high = n
            else:
                low = n
        sizes[i] = high
    return sizes


@compiled
def follow(position, ends, label, level, z, margin, sizes, seen, sums, counts, stop, low, high):
    """Take in drawn beliefs, cluster by cluster, until both methods have stopped; whether they have.

    `ends` is the size of a cluster at its last belief, else 0. `seen` marks the beliefs asked about, `sums` holds
    the cluster means' sum and their squares', `counts` the beliefs asked about and those true among them, the
    clusters, the labels in them and those true in the current one.
    """
    total = label.size
    for i in range(position.size):
        u = position[i]
        if not seen[u]:
            seen[u] = True
            counts[0] += 1
            counts[1] += label[u]
        counts[4] += label[u]
        if not ends[i]:
            continue
        share = counts[4] / ends[i]
        sums[0] += share
        sums[1] += share * share
        counts[2] += 1
        counts[3] += ends[i]
        counts[4] = 0
        if counts[0] < min(MINIMUM, total):
            continue
        least, most = counts[1] / total, 1 - (counts[0] - counts[1]) / total
        n = effective_size(counts[2], counts[3], sums[0], sums[1])
        p = sums[0] / counts[2]
        for method in (WILSON, AHPD):
            if stop[method]:
                continue
            if method == WILSON:
                left, right = wilson(n, n * p, z)
                done = right - left <= 2 * margin + 1e-12
            else:
                near = sizes[min(int(p * STEPS), STEPS - 1)], sizes[min(int(p * STEPS) + 1, STEPS)]
                done = n > (1 + CLOSE) * max(near) or (
                    n > (1 - CLOSE) * min(near) and narrow(n, n * p, level, margin)
                )
            if done or most - least <= 2 * margin + 1e-12 or counts[0] == total:
                if method == AHPD:
                    left, right = ahpd(n, n * p, level)
                stop[method] = counts[0]
                low[method], high[method] = max(left, least), min(right, most)
        if stop[WILSON] and stop[AHPD]:
            return True
    return False


@compiled
def draw(rng, first, size):
    """Clusters with probability proportional to size, and of each up to 3 beliefs: positions, cluster ends."""
    position = np.empty(AT_ONCE * SECOND_STAGE, np.int64)
    ends = np.zeros(AT_ONCE * SECOND_STAGE, np.int64)
    drawn = 0
    for _ in range(AT_ONCE):
        unit = int(rng.random() * first.size)
        m = min(size[unit], SECOND_STAGE)
        for i in range(m):
            while True:
                u = first[unit] + int(rng.random() * size[unit])
                new = True
                for j in range(i):
                    new &= position[drawn + j] != u
                if new:
                    break
            position[drawn + i] = u
        drawn += m
        ends[drawn - 1] = m
    return position[:drawn], ends[:drawn]


@compiled
def sweep_twcs(rng, predicate, subject, first, size, effects, accuracies, seeds, level, z, margin, sizes):
    """Labels, their squares and coverage summed over seeds: arrays (accuracy, method)."""
    labels = np.zeros((accuracies.size, 2))
    squared, covered = np.zeros_like(labels), np.zeros_like(labels)
    stop, low, high = np.zeros(2, np.int64), np.zeros(2), np.zeros(2)
    for _ in range(seeds):
        score = latents(rng, predicate, subject, effects[0], effects[1])
        ordered = np.sort(score)
        for i in range(accuracies.size):
            label = (score > threshold(ordered, accuracies[i])).astype(np.int64)
            truth = label.sum() / label.size
            seen, sums, counts = np.zeros(label.size, np.bool_), np.zeros(2), np.zeros(5, np.int64)
            stop[:] = 0
            while True:
                position, ends = draw(rng, first, size)
                if follow(
                    position, ends, label, level, z, margin, sizes, seen, sums, counts, stop, low, high
                ):
                    break
            for j in range(2):
                labels[i, j] += stop[j]
                squared[i, j] += stop[j] ** 2
                covered[i, j] += low[j] - 1e-9 <= truth <= high[j] + 1e-9
    return labels, squared, covered


def simulate_twcs(structure, effects, accuracies, seeds, margin, level, seed=0):
    """Both methods, on the same draws, with labels drawn anew for each seed: arrays (accuracy, method)."""
    order = np.argsort(structure.subject, kind="stable")
    subject = structure.subject[order]
    count = np.bincount(subject)
    size = np.repeat(count, count)
    first = np.repeat(np.cumsum(count) - count, count)
    found = sweep_twcs(
        np.random.default_rng(seed),
        structure.predicate[order],
        subject,
        first,
        size,
        np.array(effects),
        np.asarray(accuracies),
        seeds,
        level,
        quantile(level),
        margin,
        least_sizes(level, margin),
    )
    return averages(seeds, *found)

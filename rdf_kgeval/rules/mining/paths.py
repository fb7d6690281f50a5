"""Find closed paths that imply a predicate: `p(x, z) & q(y, z) -> r(x, y)`."""

import logging
from collections.abc import Iterable, Sequence

import numpy as np

from rdf_kgeval.common.jit import threads
from rdf_kgeval.common.progress import Progress
from rdf_kgeval.common.text import plural
from rdf_kgeval.common.types import Bools, Float64s, Int32s, Int64s
from rdf_kgeval.rules.mining import walks
from rdf_kgeval.rules.mining.closed_paths import close, count_closings
from rdf_kgeval.rules.mining.index import MinedRule, MiningIndex
from rdf_kgeval.rules.mining.walks import Heads

_log = logging.getLogger(__name__)


class PathMiner:
    """Find the closed paths of an index."""

    def __init__(self, index: MiningIndex, progress: Progress, threads: int) -> None:
        self._index = index
        self._progress = progress
        self._threads = threads

    def mine(self) -> list[MinedRule]:
        """Find the paths of all heads, with their PCA confidence."""
        tasks = [
            (q, length) for length in range(1, self._index.options.max_length + 1) for q in self._index.heads
            if len(self._index.rows[q]) >= self._index.options.min_support
        ]  # fmt: skip
        costs = self._bounded_costs([q for q, length in tasks if length == 3])
        done = 0
        found: list[MinedRule] = []
        with threads(self._threads) as pool:
            limits = [costs.get(q) if length == 3 else None for q, length in tasks]
            for part in pool.map(self._paths_of, *zip(*tasks, strict=True), limits):
                found += part
                done += 1
                self._progress("mining paths", done, len(tasks))
        return found

    def _sides(self, q: int, length: int) -> tuple[Int32s, Int32s]:
        """Divide the rows of a predicate: those to walk from their subjects, and those from their objects."""
        rows, (s, o) = (
            self._index.rows[q],
            (self._index.beliefs.s[self._index.rows[q]], self._index.beliefs.o[self._index.rows[q]]),
        )
        if length == 3:
            forwards = (
                self._index.two_walks[s] - self._index.degree[o]
                <= self._index.two_walks[o] - self._index.degree[s]
            )
        else:
            forwards = self._index.degree[s] <= self._index.degree[o]
        return rows[forwards], rows[~forwards]

    def _bounded_costs(self, heads: Sequence[int]) -> dict[int, tuple[Float64s, Float64s]]:
        """Find by head the costs of two first steps from subjects and from objects; infinite is too much.

        The result is empty if all steps together are within the limit.
        """
        s, o = self._index.beliefs.s, self._index.beliefs.o
        total = 0
        for q in heads:
            forwards, backwards = self._sides(q, 3)
            total += int((self._index.two_walks[s[forwards]] - self._index.degree[o[forwards]]).sum())
            total += int((self._index.two_walks[o[backwards]] - self._index.degree[s[backwards]]).sum())
        if total <= self._index.options.max_walks:
            return {}
        costs = {(q, back): self._walk_costs(q, back) for q in heads for back in (False, True)}
        every = np.sort(np.concatenate([cost[cost > 0] for cost in costs.values()]))
        over = int(np.searchsorted(np.cumsum(every), self._index.options.max_walks, side="right"))
        limit = every[over] if over < len(every) else np.inf
        skipped = [
            (float(cost[one, two]), q, back, int(one), int(two))
            for (q, back), cost in costs.items()
            for one, two in zip(*np.nonzero(cost >= limit), strict=True)
        ]
        self._note_skipped(sorted(skipped, reverse=True))
        # A pair without walks is not left out, but is no reason to take its first step either.
        for cost in costs.values():
            cost[:, :] = np.where(cost >= limit, np.inf, cost)
        return {q: (costs[q, False], costs[q, True]) for q in heads}

    def _walk_costs(self, q: int, back: bool) -> Float64s:
        start, end = self._possible_steps(q)
        rows = self._sides(q, 3)[back]
        near, far = (
            (self._index.beliefs.o, self._index.beliefs.s)
            if back
            else (self._index.beliefs.s, self._index.beliefs.o)
        )
        rows = rows[np.argsort(near[rows], kind="stable")]
        heads = Heads(near[rows], far[rows], rows)
        return walks.walk_costs(self._index.graph, heads, 2 * q + back, _inverse(end) if back else start)

    def _note_skipped(self, skipped: Sequence[tuple[float, int, bool, int, int]]) -> None:
        name = self._index.name
        for cost, q, back, one, two in skipped[:5]:
            path = f"... / {name(two ^ 1)} / {name(one ^ 1)}" if back else f"{name(one)} / {name(two)} / ..."
            _log.warning(
                "the paths %s -> %s are left out: they have %s walks; allow more with --max-walks",
                path, name(2 * q), f"{cost:,.0f}",
            )  # fmt: skip
        if len(skipped) > 5:
            _log.warning("%s more are left out for their number of walks", plural(len(skipped) - 5, "path"))

    def _possible_steps(self, q: int) -> tuple[Bools, Bools]:
        """Mark the first steps of enough subjects, and the last steps to enough objects."""
        rows = self._index.rows[q]
        need = self._index.needed(len(rows))
        start = walks.occurring(self._index.graph, self._index.beliefs.s[rows]) >= need
        end = walks.occurring(self._index.graph, self._index.beliefs.o[rows]) >= need
        return start, _inverse(end)

    def _paths_of(self, q: int, length: int, costs: tuple[Float64s, Float64s] | None) -> list[MinedRule]:
        """Find the paths of one length that imply a predicate."""
        rows = self._index.rows[q]
        n_steps = self._index.graph.n_steps
        start, end = self._possible_steps(q)
        sides = ((False, start, end), (True, _inverse(end), _inverse(start)))
        codes, counts = [], []
        for (back, first, last), side in zip(sides, self._sides(q, length), strict=True):
            near, far = (
                (self._index.beliefs.o, self._index.beliefs.s)
                if back
                else (self._index.beliefs.s, self._index.beliefs.o)
            )
            ordered = side[np.argsort(far[side], kind="stable")]
            heads = Heads(near[ordered], far[ordered], ordered)
            pair = np.ones((n_steps, n_steps if length == 3 else 0), dtype=bool)
            if costs:
                pair = np.isfinite(costs[back]) & (costs[back] > 0)
                first = first & pair.any(axis=1)
            room = 1 << 12
            while not (done := close(self._index.graph, heads, length, first, last, pair, room))[0]:
                room *= 4
            codes.append(_reversed(done[1], n_steps) if back else done[1])
            counts.append(done[2])
        paths, place = np.unique(np.concatenate(codes), return_inverse=True)
        support = np.bincount(place, weights=np.concatenate(counts)).astype(np.int64)
        if costs:
            # A path that one of the two sides left out has a part of its support at most.
            whole = np.array([_is_whole(_steps(int(p), n_steps), *costs) for p in paths], dtype=bool)
            paths, support = paths[whole], support[whole]
        enough = support >= self._index.needed(len(rows))
        return self._confident(q, paths[enough], support[enough])

    def _confident(self, q: int, paths: Int64s, support: Int64s) -> list[MinedRule]:
        """Keep the paths of a head that have the least PCA confidence."""
        s, o = (
            np.unique(column[self._index.rows[q]])
            for column in (self._index.beliefs.s, self._index.beliefs.o)
        )
        back = len(o) > len(s)
        near, n_steps, options = (o if back else s), self._index.graph.n_steps, self._index.options
        walked = _reversed(paths, n_steps) if back else paths
        found = []
        for one in np.unique(walked % (n_steps + 1)):
            chosen = np.flatnonzero(walked % (n_steps + 1) == one)
            starts = near[walks.can_take(self._index.graph, near, int(one) - 1)]
            pairs, hits = walks.connect(
                self._index.graph, starts, 2 * q + back, walked[chosen], support[chosen],
                options.min_confidence, float(options.max_walks),
            )  # fmt: skip
            for i, n, hit in zip(chosen, pairs, hits, strict=True):
                path = _steps(int(paths[i]), n_steps)
                if n == walks.TOO_LONG:
                    self._note_too_long(path)
                elif n != walks.STOPPED:
                    pca_body = int(n - hit + support[i])
                    size = len(self._index.rows[q])
                    found.append(MinedRule(2 * q, -1, path, -1, int(support[i]), size, pca_body, int(hit)))
        return found

    def _note_too_long(self, path: Iterable[int]) -> None:
        _log.warning(
            "rules with the body %s are left out: it has more than %s walks; allow more with --max-walks",
            " / ".join(map(self._index.name, path)), f"{self._index.options.max_walks:,.0f}",
        )  # fmt: skip

    def is_wieldy(self, found: MinedRule) -> bool:
        """Return whether the number of groundings of a path is within the limit."""
        if found.head_end >= 0 or len(found.path) == 1:
            return True
        index, limit = self._index, self._index.options.max_groundings
        rows = index.rows[found.head >> 1]
        near, far = index.beliefs.s, index.beliefs.o
        code = np.array([_code(found.path, index.graph.n_steps)])
        if index.degree[near[rows]].sum() > index.degree[far[rows]].sum():
            near, far, code = far, near, _reversed(code, index.graph.n_steps)
        rows = rows[np.argsort(far[rows], kind="stable")]
        heads = Heads(near[rows], far[rows], rows)
        if count_closings(index.graph, heads, int(code[0]), limit, float(index.options.max_walks)) <= limit:
            return True
        _log.warning(
            "the rule %s -> %s is left out: it has more than %s",
            " / ".join(map(index.name, found.path)), index.name(found.head), plural(limit, "grounding"),
        )  # fmt: skip
        return False

    def count_pairs(self, found: Sequence[MinedRule]) -> list[int]:
        """Count the pairs that each body connects; -1 where there are too many walks to count."""
        n_steps = self._index.graph.n_steps
        due = sorted({f.path for f in found if f.pairs < 0})
        by_first = {one: [path for path in due if path[0] == one] for one in sorted({p[0] for p in due})}
        counted: dict[tuple[int, ...], int] = {}
        for i, (one, paths) in enumerate(by_first.items()):
            codes = np.array([_code(path, n_steps) for path in paths])
            none = np.zeros(len(codes), dtype=np.int64)
            pairs, _ = walks.connect(
                self._index.graph,
                self._index.nodes(one),
                -1,
                codes,
                none,
                0.0,
                float(self._index.options.max_walks),
            )
            counted.update(zip(paths, pairs.tolist(), strict=True))
            self._progress("counting pairs", i + 1, len(by_first))
        for path in due:
            if counted[path] < 0:
                self._note_too_long(path)
        return [counted[f.path] if f.pairs < 0 else f.pairs for f in found]


def _inverse(steps: Bools) -> Bools:
    """Exchange the marks of each step and its inverse."""
    flipped: Bools = steps.reshape(-1, 2)[:, ::-1].ravel()
    return flipped


def _steps(path: int, n_steps: int) -> tuple[int, ...]:
    base = n_steps + 1
    digits = (path % base, path // base % base, path // base // base)
    return tuple(digit - 1 for digit in digits if digit)


def _code(path: Iterable[int], n_steps: int) -> int:
    return sum((step + 1) * (n_steps + 1) ** i for i, step in enumerate(path))


def _reversed(paths: Int64s, n_steps: int) -> Int64s:
    """Reverse paths: the same ones from their other end."""
    return np.array(
        [_code([step ^ 1 for step in reversed(_steps(int(p), n_steps))], n_steps) for p in paths],
        dtype=np.int64,
    )


def _is_whole(path: tuple[int, ...], forwards: Float64s, backwards: Float64s) -> bool:
    """Return whether a path was followed from both sides."""
    one, two, three = path if len(path) == 3 else (0, 0, 0)
    return len(path) < 3 or bool(
        np.isfinite(forwards[one, two]) and np.isfinite(backwards[three ^ 1, two ^ 1])
    )

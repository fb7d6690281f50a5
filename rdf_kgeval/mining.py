"""Horn rules mined from the beliefs themselves, with the measures of AMIE (Galárraga et al., WWW 2013).

Three kinds: closed paths of up to three triples, forwards or backwards, from ?x to ?y; rules with constants,
`p(x, c) -> q(x, d)`; and type signatures, `p(x, y) -> x is a C` or `y is a C`. A grounding whose head is one of
its own body's triples never counts. With that,

- support is the number of distinct heads that are asserted and have a body that holds;
- head coverage is support over the number of asserted triples that match the head;
- standard confidence is support over the number of distinct heads with a body that holds;
- PCA confidence is support over those of them whose more functional argument has some triple of the head's
  predicate: the subject unless the predicate has more distinct objects than subjects. Of a head with a
  constant, it is the variable that must have one.

Every triple counts, whatever its role, as every triple can ground a rule; but a predicate of which all triples
are given as true is no head, since nothing is to be inferred of it.
"""

import logging
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations, permutations
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rdf_kgeval import walks
from rdf_kgeval.beliefs import Beliefs, Role
from rdf_kgeval.errors import InputError
from rdf_kgeval.files import Progress
from rdf_kgeval.namespaces import RDF_TYPE
from rdf_kgeval.rule import Measures, Pattern, Rule
from rdf_kgeval.text import plural, printable
from rdf_kgeval.walks import Flags, Heads, Ints, Longs
from rdf_kgeval.wording import Wording, distinct_ids

_log = logging.getLogger(__name__)

Shape = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class MiningOptions:
    """What to look for, and which rules to keep."""

    max_length: int = 3
    """The longest path: 1 to 3 triples, or 0 for no paths."""
    constants: bool = True
    """Whether to look for rules with constants."""
    types: bool = True
    """Whether to look for type signatures."""
    min_support: int = 10
    """The least support; a confidence that few heads support is an accident."""
    min_head_coverage: float = 0.01
    """The least head coverage."""
    min_confidence: float = 0.5
    """The least PCA confidence; inference makes nothing of a rule at 0.5 or less."""
    keep_redundant: bool = False
    """Whether to keep rules that are no better than a shorter or more general one with the same head."""
    max_per_head: int | None = 50
    """The most rules to keep for a head's predicate, the best first; classes count apart."""
    max_walks: float = 1e10
    """How many walks to follow in all: about a minute for 2e9; the costliest paths are left out with a note."""

    def __post_init__(self) -> None:
        if not 0 <= self.max_length <= 3:
            raise InputError(f"the longest path is {self.max_length}; choose 0 to 3")
        if self.min_support < 1:
            raise InputError(f"the least support is {self.min_support}; choose 1 or more")
        for share in (self.min_head_coverage, self.min_confidence):
            if not 0 <= share <= 1:
                raise InputError(f"the least head coverage or confidence is {share}; choose from 0 to 1")


def mine(
    beliefs: Beliefs,
    options: MiningOptions | None = None,
    *,
    known: Iterable[Rule] = (),
    progress: Progress = lambda *_: None,
    threads: int | None = None,
) -> list[Rule]:
    """Mine rules from beliefs, the best first for each head.

    Args:
        beliefs: the graph.
        options: what to look for, and which rules to keep.
        known: rules from elsewhere, such as an ontology's, that are not to be found again.
        progress: called as the mining goes on.
        threads: how many threads may work; by default one for each core. The result does not depend on it.
    """
    return _Miner(beliefs, options or MiningOptions(), progress, threads).run(list(known))


class _Found(NamedTuple):
    """A rule as numbers: what is at the end of its steps is a constant, a variable of its own, or shared."""

    head: int
    """The step."""
    head_end: int
    """The constant at the head's end, or -1 where it is the body's end."""
    path: tuple[int, ...]
    """The steps of the body from the near end of the head."""
    body_end: int
    """The constant at the body's end, or -1."""
    support: int
    head_size: int
    pca_body: int
    hits: int
    """How many of the pairs that the body connects are asserted heads, by whatever grounding."""
    pairs: int = -1
    """How many pairs the body connects, or -1 where that is still to be counted."""

    @property
    def confidence(self) -> float:
        """The PCA confidence."""
        return self.support / self.pca_body

    @property
    def body(self) -> int:
        """The denominator of the standard confidence."""
        return self.pairs - self.hits + self.support


_Patterned = tuple[_Found, tuple[Pattern, ...], Pattern]


class _Miner:
    def __init__(
        self, beliefs: Beliefs, options: MiningOptions, progress: Progress, threads: int | None
    ) -> None:
        self._beliefs = beliefs
        self._options = options
        self._progress = progress
        self._threads = threads or os.cpu_count() or 1
        self._predicates, p = np.unique(beliefs.p, return_inverse=True)
        self._graph = walks.make_graph(beliefs.s, p.astype(np.int32), beliefs.o, len(beliefs.terms))
        by_predicate = np.argsort(p, kind="stable").astype(np.int32)
        sizes = np.bincount(p, minlength=len(self._predicates))
        self._rows = np.split(by_predicate, np.cumsum(sizes)[:-1])
        given = beliefs.role == Role.GIVEN
        self._heads = [q for q, rows in enumerate(self._rows) if not given[rows].all()]
        self._degree = walks.degrees(self._graph)
        self._two_walks = walks.two_walks(self._graph)
        rdf_type = beliefs.terms.find(f"<{RDF_TYPE}>")
        at = np.flatnonzero(self._predicates == (-1 if rdf_type is None else rdf_type))
        self._type = int(at[0]) if len(at) else None
        self._nameable = np.ones(len(beliefs.terms), dtype=bool)
        for prefix in ("_:", "<<"):
            self._nameable[beliefs.terms.starting(prefix)] = False

    def run(self, known: Sequence[Rule]) -> list[Rule]:
        found = [*self._mine_paths(), *self._mine_signatures(known), *self._mine_constants()]
        if not self._options.keep_redundant:
            found = list(_without_redundant(found))
        wording = Wording(self._beliefs)
        shapes = {_shape(rule.body, rule.head) for rule in known if _is_plain(rule)}
        rules = [(f, *self._patterns(f)) for f in found]
        rules = [rule for rule in rules if _shape(*rule[1:]) not in shapes]
        rules.sort(key=lambda rule: (rule[0].head >> 1, -rule[0].confidence, -rule[0].support, *rule[1:]))
        kept = list(self._capped(rules))
        pairs = self._count_pairs([f for f, *_ in kept])
        made = [
            self._rule(f._replace(pairs=n), body, head, wording)
            for (f, body, head), n in zip(kept, pairs, strict=True)
            if n >= 0
        ]
        return distinct_ids(made)

    def _mine_paths(self) -> list[_Found]:
        tasks = [
            (q, length) for length in range(1, self._options.max_length + 1) for q in self._heads
            if len(self._rows[q]) >= self._options.min_support
        ]  # fmt: skip
        allowed = self._allowed_pairs([q for q, length in tasks if length == 3])
        done = 0
        found: list[_Found] = []
        with ThreadPoolExecutor(self._threads) as pool:
            limits = [allowed.get(q) if length == 3 else None for q, length in tasks]
            for part in pool.map(self._paths_of, *zip(*tasks, strict=True), limits):
                found += part
                done += 1
                self._progress("mining paths", done, len(tasks))
        return found

    def _sides(self, q: int, length: int) -> tuple[Ints, Ints]:
        """The rows of a predicate to walk from their subjects, and those to walk from their objects."""
        rows, (s, o) = self._rows[q], (self._beliefs.s[self._rows[q]], self._beliefs.o[self._rows[q]])
        if length == 3:
            forwards = self._two_walks[s] - self._degree[o] <= self._two_walks[o] - self._degree[s]
        else:
            forwards = self._degree[s] <= self._degree[o]
        return rows[forwards], rows[~forwards]

    def _allowed_pairs(self, heads: Sequence[int]) -> dict[int, tuple[Flags, Flags]]:
        """For each head, which two first steps to take from its subjects and from its objects; absent is all."""
        s, o = self._beliefs.s, self._beliefs.o
        total = 0
        for q in heads:
            forwards, backwards = self._sides(q, 3)
            total += int((self._two_walks[s[forwards]] - self._degree[o[forwards]]).sum())
            total += int((self._two_walks[o[backwards]] - self._degree[s[backwards]]).sum())
        if total <= self._options.max_walks:
            return {}
        costs = {(q, back): self._walk_costs(q, back) for q in heads for back in (False, True)}
        every = np.sort(np.concatenate([cost[cost > 0] for cost in costs.values()]))
        over = int(np.searchsorted(np.cumsum(every), self._options.max_walks, side="right"))
        limit = every[over] if over < len(every) else np.inf
        skipped = [
            (float(cost[one, two]), q, back, int(one), int(two))
            for (q, back), cost in costs.items()
            for one, two in zip(*np.nonzero(cost >= limit), strict=True)
        ]
        self._note_skipped(sorted(skipped, reverse=True))
        return {q: (costs[q, False] < limit, costs[q, True] < limit) for q in heads}

    def _walk_costs(self, q: int, back: bool) -> NDArray[np.float64]:
        start, end = self._possible_steps(q)
        rows = self._sides(q, 3)[back]
        near, far = (self._beliefs.o, self._beliefs.s) if back else (self._beliefs.s, self._beliefs.o)
        rows = rows[np.argsort(near[rows], kind="stable")]
        heads = Heads(near[rows], far[rows], rows)
        return walks.walk_costs(self._graph, heads, 2 * q + back, _inverse(end) if back else start)

    def _note_skipped(self, skipped: Sequence[tuple[float, int, bool, int, int]]) -> None:
        name = self._step_name
        for cost, q, back, one, two in skipped[:5]:
            path = f"... / {name(two ^ 1)} / {name(one ^ 1)}" if back else f"{name(one)} / {name(two)} / ..."
            _log.warning(
                "the paths %s -> %s are left out: they have %s walks; allow more with --max-walks",
                path, name(2 * q), f"{cost:,.0f}",
            )  # fmt: skip
        if len(skipped) > 5:
            _log.warning("%s more are left out for their number of walks", plural(len(skipped) - 5, "path"))

    def _step_name(self, step: int) -> str:
        return "^" * (step & 1) + printable(self._beliefs.terms[int(self._predicates[step >> 1])], 120)

    def _possible_steps(self, q: int) -> tuple[Flags, Flags]:
        """Which steps enough subjects can take first, and by which enough objects can be reached last."""
        rows = self._rows[q]
        need = self._needed(len(rows))
        start = walks.occurring(self._graph, self._beliefs.s[rows]) >= need
        end = walks.occurring(self._graph, self._beliefs.o[rows]) >= need
        return start, _inverse(end)

    def _needed(self, head_size: int) -> int:
        """The least support that a head with so many triples asks for."""
        least = max(self._options.min_support, ceil(self._options.min_head_coverage * head_size) - 1)
        while least / head_size < self._options.min_head_coverage:
            least += 1
        return least

    def _paths_of(self, q: int, length: int, allowed: tuple[Flags, Flags] | None) -> list[_Found]:
        """The paths of one length that imply a predicate."""
        rows = self._rows[q]
        n_steps = self._graph.n_steps
        start, end = self._possible_steps(q)
        sides = ((False, start, end), (True, _inverse(end), _inverse(start)))
        codes, counts = [], []
        for (back, first, last), side in zip(sides, self._sides(q, length), strict=True):
            near, far = (self._beliefs.o, self._beliefs.s) if back else (self._beliefs.s, self._beliefs.o)
            ordered = side[np.argsort(far[side], kind="stable")]
            heads = Heads(near[ordered], far[ordered], ordered)
            pair = allowed[back] if allowed else np.ones((n_steps, n_steps if length == 3 else 0), dtype=bool)
            room = 1 << 12
            while not (done := walks.close(self._graph, heads, length, first, last, pair, room))[0]:
                room *= 4
            codes.append(_reversed(done[1], n_steps) if back else done[1])
            counts.append(done[2])
        paths, place = np.unique(np.concatenate(codes), return_inverse=True)
        support = np.bincount(place, weights=np.concatenate(counts)).astype(np.int64)
        if allowed:
            # A path that one of the two sides left out has a part of its support at most.
            whole = np.array([_is_whole(_steps(int(p), n_steps), *allowed) for p in paths], dtype=bool)
            paths, support = paths[whole], support[whole]
        enough = support >= self._needed(len(rows))
        return self._confident(q, paths[enough], support[enough])

    def _confident(self, q: int, paths: Longs, support: Longs) -> list[_Found]:
        """Those of a head's paths that have the PCA confidence."""
        s, o = (np.unique(column[self._rows[q]]) for column in (self._beliefs.s, self._beliefs.o))
        back = len(o) > len(s)
        near, n_steps, options = (o if back else s), self._graph.n_steps, self._options
        walked = _reversed(paths, n_steps) if back else paths
        found = []
        for one in np.unique(walked % (n_steps + 1)):
            chosen = np.flatnonzero(walked % (n_steps + 1) == one)
            starts = near[walks.can_take(self._graph, near, int(one) - 1)]
            pairs, hits = walks.connect(
                self._graph, starts, 2 * q + back, walked[chosen], support[chosen],
                options.min_confidence, options.max_walks,
            )  # fmt: skip
            for i, n, hit in zip(chosen, pairs, hits, strict=True):
                path = _steps(int(paths[i]), n_steps)
                if n == walks.TOO_LONG:
                    self._note_too_long(path)
                elif n != walks.STOPPED:
                    pca_body = int(n - hit + support[i])
                    size = len(self._rows[q])
                    found.append(_Found(2 * q, -1, path, -1, int(support[i]), size, pca_body, int(hit)))
        return found

    def _note_too_long(self, path: Iterable[int]) -> None:
        _log.warning(
            "rules with the body %s are left out: it has more than %s walks; allow more with --max-walks",
            " / ".join(map(self._step_name, path)), f"{self._options.max_walks:,.0f}",
        )  # fmt: skip

    def _mine_signatures(self, known: Iterable[Rule]) -> Iterator[_Found]:
        """Classes of the subjects and of the objects of predicates for which no rule states one."""
        if self._type is None or self._type not in self._heads or not self._options.types:
            return
        rows = self._rows[self._type]
        s, o = self._beliefs.s[rows], self._beliefs.o[rows]
        sizes = np.bincount(o, minlength=len(self._nameable))
        typed = np.zeros(len(self._nameable), dtype=bool)
        typed[s] = True
        stated = {end for rule in known if (end := _signature(rule))}
        for step in range(self._graph.n_steps):
            name = self._beliefs.terms[int(self._predicates[step >> 1])]
            if step >> 1 == self._type or (name, bool(step & 1)) in stated:
                continue
            nodes = self._nodes(step)
            inside = np.zeros(len(typed), dtype=bool)
            inside[nodes] = True
            counts = np.bincount(o[inside[s]], minlength=len(typed))
            eligible = int(typed[nodes].sum())
            for c in np.flatnonzero((counts >= self._options.min_support) & self._nameable):
                n = int(counts[c])
                if n >= self._needed(int(sizes[c])) and n / eligible >= self._options.min_confidence:
                    yield _Found(
                        2 * self._type, int(c), (step,), -1, n, int(sizes[c]), eligible, n, len(nodes)
                    )

    def _nodes(self, step: int) -> Ints:
        """The nodes that can take a step."""
        column = self._beliefs.o if step & 1 else self._beliefs.s
        return np.unique(column[self._rows[step >> 1]])

    def _mine_constants(self) -> Iterator[_Found]:
        """Rules with a constant in body and head."""
        if not self._options.constants:
            return
        graph = self._graph
        features = walks.make_features(graph, self._options.min_support, self._nameable)
        owner = np.repeat(np.arange(len(graph.first) - 1), np.diff(graph.first))
        size = np.diff(graph.start)
        per_node = np.diff(features.first)
        heads = np.unique(features.feature)
        for step in sorted({2 * q + back for q in self._heads for back in (0, 1)}):
            own = heads[graph.step[heads] == step ^ 1]
            self._progress("mining constants", step + 1, graph.n_steps)
            nodes = np.concatenate([graph.node[graph.start[g] : graph.start[g + 1]] for g in own] or [[]])
            cost = float(per_node[nodes.astype(np.int64)].sum())
            if cost > self._options.max_walks:
                _log.warning(
                    "rules with the head %s and a constant are left out: %s pairs of triples; allow more with "
                    "--max-walks", self._step_name(step), f"{cost:,.0f}",
                )  # fmt: skip
                continue
            options = self._options
            for f, g, support, pca_body, own_body in zip(
                *walks.imply(graph, features, own, options.min_support, options.min_confidence), strict=True
            ):
                n = int(support)
                if n >= self._needed(int(size[g])):
                    pairs = int(size[f])
                    hits = pairs - int(own_body) + n
                    yield _Found(
                        step, int(owner[g]), (int(graph.step[f]) ^ 1,), int(owner[f]), n, int(size[g]),
                        int(pca_body), hits, pairs,
                    )  # fmt: skip

    def _capped(self, rules: Iterable[_Patterned]) -> Iterator[_Patterned]:
        """The best rules for each head's predicate or class."""
        kept: Counter[tuple[int, int]] = Counter()
        for rule in rules:
            found = rule[0]
            is_class = self._type is not None and found.head == 2 * self._type
            key = found.head >> 1, found.head_end if is_class else -1
            kept[key] += 1
            if self._options.max_per_head is None or kept[key] <= self._options.max_per_head:
                yield rule

    def _count_pairs(self, found: Sequence[_Found]) -> list[int]:
        """How many pairs each body connects; -1 where that is beyond counting."""
        n_steps = self._graph.n_steps
        due = sorted({f.path for f in found if f.pairs < 0})
        by_first = {one: [path for path in due if path[0] == one] for one in sorted({p[0] for p in due})}
        counted: dict[tuple[int, ...], int] = {}
        for i, (one, paths) in enumerate(by_first.items()):
            codes = np.array([_code(path, n_steps) for path in paths])
            none = np.zeros(len(codes), dtype=np.int64)
            pairs, _ = walks.connect(
                self._graph, self._nodes(one), -1, codes, none, 0.0, self._options.max_walks
            )
            counted.update(zip(paths, pairs.tolist(), strict=True))
            self._progress("counting pairs", i + 1, len(by_first))
        for path in due:
            if counted[path] < 0:
                self._note_too_long(path)
        return [counted[f.path] if f.pairs < 0 else f.pairs for f in found]

    def _patterns(self, found: _Found) -> tuple[tuple[Pattern, ...], Pattern]:
        """Body and head."""
        terms = self._beliefs.terms
        inner = {1: [], 2: ["?z"], 3: ["?z", "?w"]}[len(found.path)]
        end = "?y" if found.body_end < 0 else terms[found.body_end]
        stops = ["?x", *inner, end]
        body = tuple(self._pattern(step, *stops[i : i + 2]) for i, step in enumerate(found.path))
        return body, self._pattern(found.head, "?x", end if found.head_end < 0 else terms[found.head_end])

    def _pattern(self, step: int, near: str, far: str) -> Pattern:
        predicate = self._beliefs.terms[int(self._predicates[step >> 1])]
        return (far, predicate, near) if step & 1 else (near, predicate, far)

    def _rule(self, f: _Found, body: tuple[Pattern, ...], head: Pattern, wording: Wording) -> Rule:
        return Rule(
            id=wording.id(body, head),
            summary=wording.sentence(body, head),
            body=body,
            head=head,
            confidence=round(f.confidence, 6),
            measures=Measures(f.support, f.support / f.head_size, f.support / f.body),
        )


def _inverse(steps: Flags) -> Flags:
    """The same flags for the inverses of the steps."""
    flipped: Flags = steps.reshape(-1, 2)[:, ::-1].ravel()
    return flipped


def _steps(path: int, n_steps: int) -> tuple[int, ...]:
    base = n_steps + 1
    digits = (path % base, path // base % base, path // base // base)
    return tuple(digit - 1 for digit in digits if digit)


def _code(path: Iterable[int], n_steps: int) -> int:
    return sum((step + 1) * (n_steps + 1) ** i for i, step in enumerate(path))


def _reversed(paths: Longs, n_steps: int) -> Longs:
    """The same paths from the other end."""
    return np.array(
        [_code([step ^ 1 for step in reversed(_steps(int(p), n_steps))], n_steps) for p in paths],
        dtype=np.int64,
    )


def _is_whole(path: tuple[int, ...], forwards: Flags, backwards: Flags) -> bool:
    """Whether a path was followed from both sides."""
    one, two, three = path if len(path) == 3 else (0, 0, 0)
    return len(path) < 3 or bool(forwards[one, two] and backwards[three ^ 1, two ^ 1])


def _without_redundant(found: Sequence[_Found]) -> Iterator[_Found]:
    """Leave out what is no better than a rule for the same head that asks for less."""
    best = {(f.head, f.head_end, f.path, f.body_end): f.confidence for f in found}
    for f in found:
        if all(best.get(key, -1.0) < f.confidence for key in _simpler(f)):
            yield f


def _simpler(f: _Found) -> Iterator[tuple[int, int, tuple[int, ...], int]]:
    """The rules of which a rule is a longer or more special form."""
    for n in range(1, len(f.path)):
        for path in combinations(f.path, n):
            yield f.head, f.head_end, path, f.body_end
    if f.body_end >= 0:
        yield f.head, f.head_end, f.path, -1
        if f.body_end == f.head_end:
            general = f.path if not f.head & 1 else tuple(step ^ 1 for step in f.path)
            yield f.head & ~1, -1, general, -1


def _is_plain(rule: Rule) -> bool:
    return rule.head is not None and not rule.filters and not rule.values and rule.query is None


def _shape(body: Sequence[Pattern], head: Pattern | None) -> Shape:
    """A rule without the names of its variables and the order of its body."""
    return min(_renamed((*order, head or ("", "", ""))) for order in permutations(body[:4]))


def _renamed(patterns: Sequence[Pattern]) -> Shape:
    names: dict[str, str] = {}
    return tuple(
        tuple(names.setdefault(t, f"?{len(names)}") if t.startswith("?") else t for t in p) for p in patterns
    )


def _signature(rule: Rule) -> tuple[str, bool] | None:
    """The predicate, and whether of its objects, for which a rule states a class."""
    if not _is_plain(rule) or len(rule.body) != 1 or rule.head is None or rule.head[1] != f"<{RDF_TYPE}>":
        return None
    s, p, o = rule.body[0]
    if rule.head[2].startswith("?") or not (s.startswith("?") and o.startswith("?")) or s == o:
        return None
    return (p, rule.head[0] == o) if rule.head[0] in (s, o) else None

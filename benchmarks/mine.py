"""How long mining takes on a graph of a million triples with planted rules, beside COUNT queries; writes MINE.md.

python benchmarks/mine.py
"""

import json
import os
import platform
import resource
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import numpy as np
import pyoxigraph as ox

from rdf_kgeval.beliefs.builder import BeliefsBuilder
from rdf_kgeval.beliefs.table import Beliefs, Role
from rdf_kgeval.rules.mining.mine import mine
from rdf_kgeval.rules.mining.options import MiningOptions
from rdf_kgeval.rules.rule import Pattern

EXPONENT = 0.75
"""An entity's chance to be an object falls with its rank to this power: degrees have the tail exponent 2.3."""
Step = tuple[int, bool]
"""A predicate, and whether it is walked backwards."""
PLANTED: dict[str, tuple[list[Step], int, float]] = {
    "subproperty": ([(0, False)], 1, 0.8),
    "inverse": ([(2, True)], 3, 0.9),
    "chain of two": ([(4, False), (5, False)], 6, 0.7),
    "chain of three": ([(7, False), (8, True), (5, False)], 9, 0.6),
}
"""The path from ?x to ?y, the predicate that it implies, and how often it does."""
BIG = (1_000_000, 50, 200_000)
SMALL = (20_000, 20, 4_000)
"""Triples, predicates, entities; what COUNT queries can do in minutes."""
SUPPORT, COVERAGE, CONFIDENCE = 10, 0.01, 0.5


def iri(kind: str, number: int) -> str:
    return f"<http://example.org/{kind}{number}>"


def generate(triples: int, predicates: int, entities: int, seed: int = 1) -> Beliefs:
    """A random graph with a power law of object degrees, in which the rules of PLANTED hold at their rates."""
    rng = np.random.default_rng(seed)
    cumulated = np.cumsum(np.arange(1, entities + 1) ** -EXPONENT)
    size = triples // predicates

    def subjects(n: int) -> np.ndarray:
        return rng.integers(0, entities, n)

    def objects(n: int) -> np.ndarray:
        return np.searchsorted(cumulated, rng.random(n) * cumulated[-1]).astype(np.int64)

    made = {p: np.column_stack([subjects(size), objects(size)]) for p in (0, 2)}
    # Chains meet: 4 and 8 at the subjects of 5, which has one object each, and 7 and 8 at their objects.
    starts = rng.permutation(entities)[:size]
    made[5] = np.column_stack([starts, objects(size)])
    made[4] = np.column_stack([subjects(size), rng.choice(starts, size)])
    made[7] = np.column_stack([subjects(size), subjects(size) % size])
    made[8] = np.column_stack([rng.choice(starts, size), subjects(size) % size])
    for path, head, rate in PLANTED.values():
        pairs = follow(made, path)
        # Where the rule fails, its head has another object, so that the PCA counts it as wrong.
        holds = rng.random(len(pairs)) < rate
        made[head] = np.column_stack([pairs[:, 0], np.where(holds, pairs[:, 1], objects(len(pairs)))])
    columns = [np.column_stack([t[:, 0], np.full(len(t), p), t[:, 1]]) for p, t in made.items()]
    rest = triples - sum(map(len, columns))
    columns.append(np.column_stack([subjects(rest), rng.integers(10, predicates, rest), objects(rest)]))
    nodes, names = [iri("e", i) for i in range(entities)], [iri("p", i) for i in range(predicates)]
    builder = BeliefsBuilder()
    rows = np.concatenate(columns).tolist()
    builder.add(((nodes[s], names[p], nodes[o], "") for s, p, o in rows), Role.BELIEF)
    return builder.build()


def follow(made: dict[int, np.ndarray], path: list[Step]) -> np.ndarray:
    """The pairs that a path connects."""
    pairs = np.empty((0, 2))
    for i, (p, back) in enumerate(path):
        step = made[p][:, ::-1] if back else made[p]
        if i:
            step = step[np.argsort(step[:, 0], kind="stable")]
            low, high = (np.searchsorted(step[:, 0], pairs[:, 1], side) for side in ("left", "right"))
            n = high - low
            at = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n) + np.repeat(low, n)
            step = np.column_stack([np.repeat(pairs[:, 0], n), step[at, 1]])
        pairs = step
    return np.unique(pairs, axis=0)


def to_patterns(path: list[Step], head: int) -> tuple[tuple[Pattern, ...], Pattern]:
    stops = ["?x", *["?z", "?w"][: len(path) - 1], "?y"]
    body = []
    for i, (p, back) in enumerate(path):
        s, o = (stops[i + 1], stops[i]) if back else (stops[i], stops[i + 1])
        body.append((s, iri("p", p), o))
    return tuple(body), ("?x", iri("p", head), "?y")


class CountQueries:
    """A miner that asks a SPARQL engine for each count of each rule, as AMIE's definitions have it."""

    def __init__(self, beliefs: Beliefs) -> None:
        self._store = ox.Store()
        self._store.bulk_extend(
            ox.Quad(*(ox.NamedNode(t[1:-1]) for t in beliefs.triple(row))) for row in range(len(beliefs))
        )
        self._size: dict[str, tuple[int, bool]] = {}

    def _count(self, variables: str, where: str) -> int:
        query = f"SELECT (COUNT(*) AS ?n) {{ SELECT DISTINCT {variables} {{ {where} }} }}"
        (row,) = self._store.query(query)
        return int(row["n"].value)

    def _facts(self, q: str) -> tuple[int, bool]:
        """How many triples a predicate has, and whether its subjects are the more functional argument."""
        if q not in self._size:
            n, s, o = (self._count(v, f"?x {q} ?y") for v in ("?x ?y", "?x", "?y"))
            self._size[q] = n, s >= o
        return self._size[q]

    def measure(self, body: tuple[Pattern, ...], head: Pattern) -> tuple[int, float, float] | None:
        """Support, standard and PCA confidence, or None where a threshold is missed."""
        where = " ".join(f"{' '.join(p)} ." for p in body)
        where += "".join(
            f" FILTER(!(sameTerm({s}, ?x) && sameTerm({o}, ?y)))" for s, p, o in body if p == head[1]
        )
        size, by_subject = self._facts(head[1])
        support = self._count("?x ?y", f"{where} {' '.join(head)}")
        if support < SUPPORT or support / size < COVERAGE:
            return None
        known = f"?x {head[1]} ?other" if by_subject else f"?other {head[1]} ?y"
        pca = support / self._count("?x ?y", f"{where} FILTER EXISTS {{ {known} }}")
        return (support, support / self._count("?x ?y", where), pca) if pca >= CONFIDENCE else None

    def mine(self, predicates: int, length: int) -> dict[tuple[tuple[Pattern, ...], Pattern], tuple]:
        found = {}
        steps = list(product(range(predicates), (False, True)))
        for n in range(1, length + 1):
            for path, head in product(product(steps, repeat=n), range(predicates)):
                rule = to_patterns(list(path), head)
                if path != ((head, False),) and (measures := self.measure(*rule)):
                    found[rule] = measures
        return found


def run(engine: str, size: tuple[int, int, int], length: int) -> dict:
    beliefs = generate(*size)
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    if engine == "kgeval":
        options = MiningOptions(
            max_length=length, constants=False, types=False, min_support=SUPPORT, min_head_coverage=COVERAGE,
            min_confidence=CONFIDENCE, keep_redundant=True, max_per_head=None,
        )  # fmt: skip
        rules = {
            (rule.body, rule.head): (
                rule.measures.support,
                rule.measures.standard_confidence,
                rule.confidence,
            )
            for rule in mine(beliefs, options)
        }
    else:
        rules = CountQueries(beliefs).mine(size[1], length)
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "triples": len(beliefs),
        "largest": int(np.bincount(beliefs.o).max()),
        "seconds": seconds,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "memory": after.ru_maxrss / 1e6,
        "rules": sorted([*map(list, k), [round(m, 6) for m in v]] for k, v in rules.items()),
    }


def check_planted(size: tuple[int, int, int], rules: list) -> list[str]:
    """A row for each planted rule: what was planted, mined, and counted by a SPARQL engine."""
    queries = CountQueries(generate(*size))
    mined = {json.dumps([body, head]): measures for body, head, measures in rules}
    rows = []
    for name, (path, head, rate) in PLANTED.items():
        body, conclusion = to_patterns(path, head)
        counted = [round(m, 6) for m in queries.measure(body, conclusion) or ()]
        found = mined.get(json.dumps([list(body), conclusion]))
        assert found == counted, (name, found, counted)
        rows.append(f"| {name} | {rate} | {found[0]:,} | {found[1]:.6f} | {found[2]:.6f} | the same |")
    return rows


def main() -> None:
    jobs = [("kgeval", BIG, n) for n in (1, 2, 3)]
    jobs += [(engine, SMALL, n) for n in (1, 2) for engine in ("kgeval", "queries")]
    subprocess.run(
        [sys.executable, __file__, json.dumps(["kgeval", SMALL, 3])], check=True, capture_output=True
    )
    results = []
    for job in jobs:
        done = subprocess.run(
            [sys.executable, __file__, json.dumps(job)], check=True, stdout=subprocess.PIPE, text=True
        )
        results.append(json.loads(done.stdout))
        print(job, {k: v for k, v in results[-1].items() if k != "rules"}, file=sys.stderr)
    for ours, theirs in ((3, 4), (5, 6)):
        assert results[ours]["rules"] == results[theirs]["rules"]
    rows = [
        f"| {'mine' if engine == 'kgeval' else 'COUNT queries'} | {r['triples']:,} | {size[1]} | {size[2]:,} | "
        f"{r['largest']:,} | {n} | {len(r['rules'])} | {r['seconds']:,.1f} | {r['cpu']:,.1f} | {r['memory']:.2f} GB |"
        for (engine, size, n), r in zip(jobs, results, strict=True)
    ]
    lines = [
        "# Mining",
        "",
        f"`python benchmarks/mine.py` on {os.cpu_count()} cores ({platform.machine()}, Python "
        f"{platform.python_version()}), each line a process of its own; load average of the machine at the end: "
        f"{os.getloadavg()[0]:.1f}. Random graphs, object degrees by a power law (`generate`), closed paths up to a "
        f"length with support >= {SUPPORT}, head coverage >= {COVERAGE} and PCA confidence >= {CONFIDENCE}. Neither "
        "AMIE nor AnyBURL is on PyPI, npm or in Debian, so the peer is a miner that asks pyoxigraph for each count "
        "of each rule by a COUNT query; on the graph that it can manage, both find the same rules with the same "
        "measures. Seconds are of mining alone, with compiled kernels at hand; memory is the peak of the process, "
        "beliefs included. A planted rate is the standard confidence; the inverse's PCA confidence is higher, as "
        "its head is more functional in its object, and most objects of its failures have no other triple.",
        "",
        "| engine | triples | predicates | entities | largest degree | length | rules | seconds | CPU seconds | memory |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        "Planted rules, as mined at length 3 from the large graph, and as COUNT queries count them there:",
        "",
        "| rule | planted | support | standard confidence | PCA confidence | COUNT queries |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
        *check_planted(BIG, results[2]["rules"]),
    ]
    (Path(__file__).parent / "MINE.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(run(*json.loads(sys.argv[1]))))
    else:
        main()

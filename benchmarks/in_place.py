"""Evaluation in place against real stores of 5M triples with planted errors; writes IN_PLACE.md beside this.

    python benchmarks/in_place.py                                   # starts Oxigraph and Virtuoso, and loads them
    python benchmarks/in_place.py --oxigraph URL --virtuoso URL     # uses servers that hold the graph already

Three parts. Real draws: the package draws from the store with one seed after the other, and later with the
salts of several seeds in one query. A replica of the sampler digests all 5M triples here, for 1,000 seeds;
wherever the store was asked, its sample must be the replica's to the last triple. The design then runs on
each of the 1,000 samples, the planted truth answering, and the interval is compared with the true accuracy.
"""

import argparse
import json
import tempfile
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import planted
from digests import Texts
from stores import running_oxigraph, running_virtuoso

from rdf_kgeval.drawing import first_reaches, units
from rdf_kgeval.drawlog import DrawLog, counted, drawn_triples
from rdf_kgeval.endpoint import Endpoint, Patience
from rdf_kgeval.estimation import DESIGNS, Population
from rdf_kgeval.estimation.design import Reserve
from rdf_kgeval.inplace import LOG, Field
from rdf_kgeval.plan import PAGE, make_plan
from rdf_kgeval.pool import FULL, Pool, digest_of, text_of
from rdf_kgeval.scope import Scope
from rdf_kgeval.sources import InPlace

SCOPE = Scope.of(graph=planted.GRAPH)
LABELS = ("http://www.w3.org/2000/01/rdf-schema#label",)
RESERVE = InPlace().reserve
FARTHER = 3
"""The replica reaches so many times farther than the first draw, for designs that need more."""
TOGETHER = 10
"""Salts in one query."""


def draw(endpoint: Endpoint, seed: int, population: object = None) -> DrawLog:
    """Draw as `kgeval init --in-place` does; with a population, without counting it anew."""
    with tempfile.TemporaryDirectory() as folder, DrawLog(Path(folder) / LOG) as log:
        options = InPlace(seed=seed)
        if population is not None:
            log.append(replace(population, salt=options.salt))
        field = Field(log, endpoint, SCOPE, options, [], LABELS, lambda *_: None)
        field.begin(field_context())
        return log


def field_context():
    from rdf_kgeval.builder import BeliefsBuilder

    return BeliefsBuilder().build()


def pull_bytes(endpoint: Endpoint) -> tuple[float, int]:
    """Bytes and requests of a full pull, from one page of each of its units."""
    size = requests = 0.0
    for unit in make_plan(endpoint, SCOPE, LABELS).units:
        before = endpoint.traffic.received
        answer = endpoint.select(unit.page(PAGE, 0, ordered=False), unit.variables)
        rows = len(answer.rows)
        size += (endpoint.traffic.received - before) / rows * unit.rows
        requests += -(-unit.rows // rows)
    return size, int(requests)


def real_draws(name: str, url: str, alone: int, seeds: int, minutes: float) -> dict:
    """What a store gives."""
    endpoint = Endpoint(url, patience=Patience(timeout=3600, deadline=3600))
    found = {
        "store": name,
        "alone": 0,
        "together": 0,
        "seconds": [],
        "requests": [],
        "bytes": [],
        "samples": [],
    }
    begin = time.monotonic()
    population = None
    for seed in range(alone):
        if seed > 2 and time.monotonic() - begin > 60 * minutes / 2:
            break
        start, before = time.monotonic(), replace(endpoint.traffic)
        log = draw(endpoint, seed, population)
        found["seconds"].append(time.monotonic() - start)
        found["requests"].append(endpoint.traffic.requests - before.requests)
        found["bytes"].append(endpoint.traffic.received - before.received)
        if population is None:
            population = counted(log.records)
            again = draw(endpoint, seed, population)
            assert drawn_triples(again.records) == drawn_triples(log.records), "the same seed, another sample"
        found["samples"].append(places_of(drawn_triples(log.records)))
        found["alone"] += 1
        print(f"{name}: seed {seed}, {found['seconds'][-1]:.0f} s, {found['bytes'][-1]:,} bytes", flush=True)
    seed = found["alone"]
    while seed < seeds and time.monotonic() - begin < 60 * minutes:
        chosen = range(seed, min(seed + TOGETHER, seeds))
        for drawn in draw_together(endpoint, population, chosen).values():
            found["samples"].append(places_of(drawn))
        seed = chosen[-1] + 1
        found["together"] = seed - found["alone"]
        print(f"{name}: seeds to {seed - 1} after {time.monotonic() - begin:.0f} s", flush=True)
    found["sizes"] = population.sizes
    found["pull_bytes"], found["pull_requests"] = pull_bytes(endpoint)
    return found


def places_of(drawn: dict) -> list[int]:
    return sorted(int(digest[:12], 16) for digest in drawn.values())


def draw_together(endpoint: Endpoint, population, seeds: range) -> dict[int, dict]:
    """The samples of several seeds, from one query for each unit with all their salts."""
    pool, goal = Pool.of(SCOPE), first_reaches(population.sizes, RESERVE)
    found: dict[int, dict] = {seed: {} for seed in seeds}
    for predicates, low, high in units({}, goal, population.sizes):
        part = pool.among(predicates)
        whole = part.draw("@", low, high)
        start, end = whole.index("MD5(") + 4, whole.index(") AS ?kgeval_h")
        text = whole[start:end].replace('," @")', ")").replace(', " @")', ")")
        tests = " || ".join(
            f'MD5(CONCAT(?kgeval_t, " {InPlace(seed=seed).salt}")) < "{high:012x}"' for seed in seeds
        )
        names = " ".join(f"?{v}" for v in part.variables)
        body = whole[whole.index("WHERE {") + 7 : whole.index("BIND(")]
        query = f"SELECT {names} WHERE {{ {body} BIND({text} AS ?kgeval_t) FILTER({tests}) }}"
        for row in endpoint.select(query, part.variables).rows:
            triple = part.triple(row)
            for seed in seeds:
                digest = digest_of(triple, InPlace(seed=seed).salt)
                if int(digest[:12], 16) < high:
                    found[seed][triple] = digest
    return found


class Replica:
    """The samples of many seeds, by digesting every triple here."""

    def __init__(self, total: int, seeds: int, folder: Path) -> None:
        self.total, self.seeds = total, seeds
        self._triples = list(planted.triples(total))
        predicates = sorted({p for _, p, _ in self._triples})
        number = {p: i for i, p in enumerate(predicates)}
        self.predicates = predicates
        self._predicate = np.fromiter((number[p] for _, p, _ in self._triples), np.int64, total)
        self.sizes = np.bincount(self._predicate)
        by_name = dict(zip(predicates, self.sizes.tolist(), strict=True))
        reach = first_reaches(by_name, RESERVE)
        self.reach = np.array([reach[p] for p in predicates], np.uint64)
        self._path = folder / f"replica-{total}-{seeds}.npz"

    def make(self) -> None:
        """Digest everything with every salt, or take it from an earlier run."""
        if not self._path.exists():
            self._digest_all()
        saved = np.load(self._path)
        self._start, self._rows, self._places = saved["start"], saved["rows"], saved["places"]

    def _digest_all(self) -> None:
        limit = np.minimum(self.reach * np.uint64(FARTHER), np.uint64(FULL))[self._predicate]
        groups = defaultdict(list)
        for i, triple in enumerate(self._triples):
            groups[len(text_of(triple).encode())].append(i)
        texts = [
            (np.array(rows), Texts([text_of(self._triples[i]).encode() for i in rows]), limit[rows])
            for rows in groups.values()
        ]
        found = []
        begin = time.monotonic()
        for seed in range(self.seeds):
            salt = f" {InPlace(seed=seed).salt}".encode()
            rows, places = [], []
            for at, some, most in texts:
                digits = some.first_digits(salt)
                chosen = np.flatnonzero(digits < most)
                rows.append(at[chosen])
                places.append(digits[chosen])
            found.append((np.concatenate(rows), np.concatenate(places)))
            if seed % 20 == 19:
                print(f"replica: {seed + 1} seeds after {time.monotonic() - begin:.0f} s", flush=True)
        np.savez(
            self._path,
            start=np.cumsum([0, *(len(rows) for rows, _ in found)]),
            rows=np.concatenate([rows for rows, _ in found]),
            places=np.concatenate([places for _, places in found]),
        )

    def sample(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        part = slice(self._start[seed], self._start[seed + 1])
        return self._rows[part], self._places[part]

    def check(self, seed: int, drawn: list[int]) -> None:
        """Whether a store's sample is the replica's; triples are told apart by their 48-bit places."""
        rows, places = self.sample(seed)
        ours = sorted(places[places < self.reach[self._predicate[rows]]].tolist())
        assert ours == drawn, f"seed {seed}: {len(ours)} triples here, {len(drawn)} at the store"

    def evaluate(self, method: str, seed: int, margin: float) -> tuple[float, tuple[float, float], int, bool]:
        """One run to its stop: accuracy, interval, answers, and whether the first reserve was enough."""
        rows, places = self.sample(seed)
        gold = np.fromiter((planted.is_true(*self._triples[i]) for i in rows), np.int8, len(rows))
        for farther in (1, FARTHER):
            reach = np.minimum(self.reach * np.uint64(farther), np.uint64(FULL)) / FULL
            reserve = Reserve(size=self.sizes, reach=reach, place=places / FULL)
            known = np.full(len(rows), -1, np.int8)
            population = Population(
                predicate=self._predicate[rows],
                subject=np.zeros(len(rows), np.int64),
                known=known,
                reserve=reserve,
            )
            design = DESIGNS[method](population, margin=margin, seed=seed)
            answers = known.copy()
            while not design.reached(answers):
                draws = [d.position for d in design.next(answers, 8)]
                if not draws:
                    break
                answers[draws] = gold[draws]
            if design.reached(answers):
                estimate = design.estimate(answers)
                return estimate.accuracy, estimate.interval, int((answers >= 0).sum()), farther == 1
        raise AssertionError(f"seed {seed} needs more than {FARTHER} times the reserve")


def simulate(replica: Replica, truth: float, method: str, margin: float) -> dict:
    """Coverage, bias and cost over all seeds."""
    found = [replica.evaluate(method, seed, margin) for seed in range(replica.seeds)]
    accuracy = np.array([f[0] for f in found])
    covered = np.array([low <= truth <= high for _, (low, high), _, _ in found])
    n = len(found)
    return {
        "method": method,
        "seeds": n,
        "coverage": covered.mean(),
        "coverage_se": float(np.sqrt(0.95 * 0.05 / n)),
        "bias": float(accuracy.mean() - truth),
        "bias_se": float(accuracy.std(ddof=1) / np.sqrt(n)),
        "rmse": float(np.sqrt(((accuracy - truth) ** 2).mean())),
        "asked": float(np.mean([f[2] for f in found])),
        "asked_sd": float(np.std([f[2] for f in found], ddof=1)),
        "enough": float(np.mean([f[3] for f in found])),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--triples", type=int, default=5_000_000)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--alone", type=int, default=20, help="seeds drawn one by one")
    parser.add_argument("--minutes", type=float, default=50, help="for the draws from each store")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "kgeval-in-place")
    parser.add_argument("--oxigraph")
    parser.add_argument("--virtuoso")
    parser.add_argument("--only", choices=("replica", "oxigraph", "virtuoso", "report"))
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    file = args.folder / f"planted-{args.triples}.nt"
    for name, url, running in (
        ("oxigraph", args.oxigraph, running_oxigraph),
        ("virtuoso", args.virtuoso, running_virtuoso),
    ):
        if args.only not in (None, name):
            continue
        if url is None and not file.exists():
            planted.write(file, args.triples)
        with running(url, file, planted.GRAPH) as address:
            found = real_draws(name, address, args.alone, args.seeds, args.minutes)
        (args.folder / f"{name}.json").write_text(json.dumps(found))
    if args.only in (None, "replica", "report"):
        replica = Replica(args.triples, args.seeds, args.folder)
        replica.make()
    if args.only in (None, "report"):
        report(args.folder, replica)


def report(folder: Path, replica: Replica) -> None:
    true = sum(planted.is_true(*triple) for triple in planted.triples(replica.total))
    truth = true / replica.total
    rows = [
        simulate(replica, truth, method, 0.05)
        for method in ("stratified/bayes", "srs/wilson", "srs/fixed-width")
    ]
    stores = [json.loads((folder / f"{name}.json").read_text()) for name in ("oxigraph", "virtuoso")]
    for store in stores:
        for seed, drawn in enumerate(store["samples"]):
            replica.check(seed, drawn)
    lines = [
        "# Evaluation in place",
        "",
        "Written by `python benchmarks/in_place.py`.",
        "",
        f"{replica.total:,} generated triples in {len(replica.predicates)} predicates, of which {truth:.4%} are "
        "true; the truth of a triple follows from a digest of it. Margin 0.05, level 0.95.",
        "",
        "## Coverage and bias",
        "",
        f"{replica.seeds:,} samples, one for each seed; the salted digests of all triples are made here, and "
        "wherever a store was asked (below) its sample was the same to the last triple. Simulation error: "
        f"{rows[0]['coverage_se']:.4f} for a coverage of 0.95.",
        "",
        "| method | coverage | bias | its standard error | root mean square error | answers | first reserve "
        "enough |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        lines.append(
            f"| {row['method']} | {row['coverage']:.3f} | {row['bias']:+.4f} | {row['bias_se']:.4f} | "
            f"{row['rmse']:.4f} | {row['asked']:.0f} ± {row['asked_sd']:.0f} | {row['enough']:.1%} |"
        )
    lines += [
        "",
        "## Real stores",
        "",
        "One run of the sampler: counting (in the first run only), drawing, and fetching labels and types "
        "around the draws. A full pull is scaled up from one page of each of its units.",
        "",
        "| store | seeds drawn alone | seeds drawn together | all as the replica | s for a run (median) | "
        "requests | bytes | full pull: requests | full pull: bytes | share of the bytes |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for s in stores:
        size = float(np.mean(s["bytes"]))
        lines.append(
            f"| {s['store']} | {s['alone']} | {s['together']} | yes | {np.median(s['seconds'][1:]):.0f} | "
            f"{np.mean(s['requests'][1:]):.0f} | {size:,.0f} | {s['pull_requests']:,} | "
            f"{s['pull_bytes']:,.0f} | {size / s['pull_bytes']:.3%} |"
        )
    lines += ["", "The same seed was drawn twice from each store and gave the same sample.", ""]
    text = "\n".join(lines)
    print(text)
    (Path(__file__).parent / "IN_PLACE.md").write_text(text)


if __name__ == "__main__":
    main()

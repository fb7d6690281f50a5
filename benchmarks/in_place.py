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
from typing import NamedTuple

import numpy as np
import planted
from digests import Texts
from stores import running_oxigraph, running_virtuoso

from rdf_kgeval.beliefs.builder import BeliefsBuilder
from rdf_kgeval.estimation.population import Population, Reserve
from rdf_kgeval.evaluation.methods import METHODS
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.sources.draws.log import DrawLog, census_of, drawn_triples
from rdf_kgeval.sources.draws.pool import FULL, Pool, digest_of, text_of
from rdf_kgeval.sources.draws.sampler import InPlaceSampler, first_reaches, units
from rdf_kgeval.sources.endpoint.client import Endpoint, RetryPolicy
from rdf_kgeval.sources.load import InPlace
from rdf_kgeval.sources.pull_plan import PAGE, make_plan
from rdf_kgeval.sources.scope import Scope

SCOPE = Scope.of(graph=planted.GRAPH)
LABELS = ("http://www.w3.org/2000/01/rdf-schema#label",)
RESERVE = InPlace().reserve
FARTHER = 3
"""The replica reaches so many times farther than the first draw, for designs that need more."""
TOGETHER = 10
"""Salts in one query."""
FIXED = 150
"""Answers of a run that does not stop by itself."""


def draw(endpoint: Endpoint, seed: int, population: object = None) -> DrawLog:
    """Draw as `kgeval init --in-place` does; with a population, without counting it anew."""
    with tempfile.TemporaryDirectory() as folder, DrawLog(Path(folder) / "draws.jsonl") as log:
        options = InPlace(seed=seed)
        if population is not None:
            log.append(replace(population, salt=options.salt))
        sampler = InPlaceSampler(log, endpoint, SCOPE, options, [], LABELS, lambda *_: None)
        sampler.begin(BeliefsBuilder().build())
        return log


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
    endpoint = Endpoint(url, retry=RetryPolicy(timeout=3600, deadline=3600))
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
            population = census_of(log.records)
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

    def evaluate(self, method: str, seed: int, margin: float | None) -> "Outcome":
        """One run on the sample of a seed."""
        rows, places = self.sample(seed)
        gold = np.fromiter((planted.is_true(*self._triples[i]) for i in rows), np.int8, len(rows))
        for farther in (1, FARTHER):
            reach = np.minimum(self.reach * np.uint64(farther), np.uint64(FULL)) / FULL
            reserve = Reserve(size=self.sizes, reach=reach, place=places / FULL)
            found = run_design(method, self._predicate[rows], reserve, gold, seed, margin)
            if found is not None:
                return Outcome(*found, farther == 1)
        raise AssertionError(f"seed {seed} needs more than {FARTHER} times the reserve")

    def evaluate_by_lot(
        self, method: str, seed: int, margin: float | None, accuracy: np.ndarray
    ) -> "Outcome":
        """One run where a random generator gives places and truths, in place of digests."""
        random = np.random.default_rng(seed)
        reach = np.minimum(self.reach / FULL * FARTHER, 1.0)
        count = random.binomial(self.sizes, reach)
        predicate = np.repeat(np.arange(len(count)), count)
        gold = (random.random(len(predicate)) < accuracy[predicate]).astype(np.int8)
        place = random.random(len(predicate)) * reach[predicate]
        reserve = Reserve(size=self.sizes, reach=reach, place=place)
        found = run_design(method, predicate, reserve, gold, seed, margin)
        assert found is not None
        return Outcome(*found, True)

    def true_shares(self) -> np.ndarray:
        """The accuracy of each predicate."""
        gold = np.fromiter((planted.is_true(*triple) for triple in self._triples), np.int8, self.total)
        return np.bincount(self._predicate, gold) / self.sizes

    def reserve_means(self) -> np.ndarray:
        """By seed, the stratified mean of the truths of all that was drawn at first, 600 triples or so."""
        means = []
        for seed in range(self.seeds):
            rows, places = self.sample(seed)
            rows = rows[places < self.reach[self._predicate[rows]]]
            gold = np.fromiter((planted.is_true(*self._triples[i]) for i in rows), np.int8, len(rows))
            weight = (FULL / self.reach)[self._predicate[rows]]
            means.append(weight @ gold / weight.sum())
        return np.array(means)


class Outcome(NamedTuple):
    accuracy: float
    interval: tuple[float, float]
    asked: int
    enough: bool
    """Whether the first reserve was enough."""


def run_design(
    method: str, predicate: np.ndarray, reserve: Reserve, gold: np.ndarray, seed: int, margin: float | None
) -> tuple[float, tuple[float, float], int] | None:
    """To the stop or, without a margin, to a fixed number of answers; None where the reserve is used up."""
    answers = np.full(len(predicate), -1, np.int8)
    population = Population(
        predicate=predicate, subject=np.zeros_like(predicate), known=answers.copy(), reserve=reserve
    )
    design = METHODS[method].design(population, Settings(margin=margin, seed=seed).design_options())
    while not design.reached(answers) and (margin is not None or (answers >= 0).sum() < FIXED):
        draws = [d.position for d in design.next(answers, 1)]
        if not draws:
            return None
        answers[draws] = gold[draws]
    estimate = design.estimate(answers)
    assert estimate.interval is not None
    return estimate.accuracy, estimate.interval, int((answers >= 0).sum())


def simulate(name: str, found: list[Outcome], truth: float) -> str:
    """A row of the table: coverage, bias and cost over all seeds."""
    accuracy = np.array([one.accuracy for one in found])
    covered = np.mean([one.interval[0] <= truth <= one.interval[1] for one in found])
    asked = np.array([one.asked for one in found])
    error = accuracy.std(ddof=1) / np.sqrt(len(found))
    print(f"{name}: coverage {covered:.3f}, bias {accuracy.mean() - truth:+.4f} ({error:.4f})", flush=True)
    return (
        f"| {name} | {covered:.3f} | {accuracy.mean() - truth:+.4f} | {error:.4f} | "
        f"{np.sqrt(((accuracy - truth) ** 2).mean()):.4f} | {asked.mean():.0f} ± {asked.std(ddof=1):.0f} | "
        f"{np.mean([one.enough for one in found]):.1%} |"
    )


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
    accuracy = replica.true_shares()
    means = replica.reserve_means()
    error = means.std(ddof=1) / np.sqrt(len(means))
    seeds = range(replica.seeds)
    rows = [
        simulate(f"{method}, {end}", [replica.evaluate(method, seed, margin) for seed in seeds], truth)
        for end, margin in (("its own stop", 0.05), (f"{FIXED} answers", None))
        for method in ("stratified/bayes", "srs/wilson", "srs/fixed-width")
    ]
    rows += [
        simulate(
            f"{method}, its own stop, lots for digests",
            [replica.evaluate_by_lot(method, seed, 0.05, accuracy) for seed in seeds],
            truth,
        )
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
        f"{np.sqrt(0.95 * 0.05 / replica.seeds):.4f} (one standard error) for a coverage of 0.95.",
        "",
        f"The sampler: the mean truth of all that is drawn at first, weighted by its probabilities, is off by "
        f"{means.mean() - truth:+.5f} on average, with a standard error of {error:.5f}.",
        "",
        "The designs: a design that stops when its interval is narrow stops sooner on lucky samples, so its "
        "mean at its own stop is too high wherever most is true. That is so with any sampler, as the last rows "
        "show, where a random generator gives places and truths in place of digests; the intervals allow for "
        f"it. The rows at a fixed number of answers ({FIXED}) show what remains without the stop; "
        "`stratified/bayes` still sends its draws where the answers so far leave most doubt.",
        "",
        "| method | coverage | bias | its standard error | root mean square error | answers | first reserve "
        "enough |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *rows,
    ]
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

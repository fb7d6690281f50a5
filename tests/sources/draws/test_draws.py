"""Evaluation in place: what is drawn, how the designs use it, and what happens when the endpoint misbehaves."""

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdf_kgeval as kgeval
from rdf_kgeval.beliefs.builder import BeliefsBuilder
from rdf_kgeval.beliefs.table import Role
from rdf_kgeval.errors import EndpointError, InputError, KgevalError, RunError
from rdf_kgeval.estimation.population import Population, Reserve
from rdf_kgeval.evaluation.consult import consult
from rdf_kgeval.evaluation.methods import METHODS
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.pipeline import Evaluation, evaluation_of, open_evaluation, prepare
from rdf_kgeval.runs.create import Coupling
from rdf_kgeval.runs.drawing import draw_more, look_for_changes
from rdf_kgeval.runs.run import Run, open_run
from rdf_kgeval.sources.draws.census import take_census
from rdf_kgeval.sources.draws.log import (
    CensusRecord,
    DrawLog,
    DrawRecord,
    NeighbourhoodRecord,
    beliefs_of,
    drawn_triples,
    reaches,
    read_draws,
)
from rdf_kgeval.sources.draws.pool import DIGITS, FULL, Pool, digest_of
from rdf_kgeval.sources.draws.sampler import DRAWERS, InPlaceSampler, first_reaches
from rdf_kgeval.sources.endpoint.client import Endpoint, RetryPolicy
from rdf_kgeval.sources.load import InPlace, Sources
from rdf_kgeval.sources.scope import Scope, parse_scope_query
from tests.support import strategies
from tests.support.designs import DESIGNS, design_of
from tests.support.faults import Fault, FaultyStore, Handler, at_most, status

EX = "http://example.org/"
QUICK = RetryPolicy(timeout=5, backoff=0.001, sleep=lambda _: None, attempts=2)
ABLE = [name for name in DESIGNS if METHODS[name].in_place]


def lines(count: int, predicates: int = 3) -> bytes:
    """Triples of predicates of unequal size."""
    made = "".join(f"<{EX}s{i}> <{EX}p{min(i % 7, predicates - 1)}> <{EX}o{i}> .\n" for i in range(count))
    return made.encode()


def is_true(triple: tuple[str, str, str]) -> bool:
    return hashlib.sha256(" ".join(triple).encode()).digest()[0] < 200


class Planted:
    """An oracle that knows the truth of anything."""

    annotator = "me"

    def ask(self, question: kgeval.verdicts.oracles.Question) -> str:
        return "true" if is_true(question.triple) else "false"


def sources(server: FaultyStore, reserve: int = 600, seed: int = 0, **scope: object) -> Sources:
    return Sources(
        endpoint=server.endpoint(QUICK),
        in_place=InPlace(seed=seed, reserve=reserve),
        scope=Scope.of(**scope),  # type: ignore[arg-type]
    )


def make(server: FaultyStore, folder: Path, coupling: Coupling | None = None, **options: object) -> Run:
    prepare(folder, sources(server, **options), coupling or Coupling())  # type: ignore[arg-type]
    return open_run(folder)


def finish(run: Run, server: FaultyStore, **options: object) -> Evaluation:
    """Ask to the end, drawing more where needed."""
    while True:
        with open_evaluation(run, options) as evaluation:
            assert consult(evaluation, Planted())  # type: ignore[arg-type]
        if not evaluation.short:
            return evaluation
        run = draw_more(run, evaluation.short, server.endpoint(QUICK), lambda *_: None)


@given(quads=strategies.quads, seed=st.integers(0, 5), share=st.floats(0, 1))
@settings(max_examples=60)
def test_a_draw_is_what_hashing_every_triple_gives(quads: list[ox.Quad], seed: int, share: float) -> None:
    triples = {(str(q.subject), str(q.predicate), str(q.object)) for q in quads}
    named = {t for t in triples if not t[0].startswith("_:") and not t[2].startswith("_:")}
    high, salt = int(share * FULL), f"kgeval {seed}"
    expected = {t: digest_of(t, salt) for t in named if int(digest_of(t, salt)[:DIGITS], 16) < high}
    store = ox.Store()
    store.extend(ox.Quad(q.subject, q.predicate, q.object) for q in quads)
    pool = Pool.of(Scope())
    for part, inside in [
        (pool, named),
        *((pool.only(p), {t for t in named if t[1] == p}) for _, p, _ in named),
    ]:
        found = {}
        for row in store.query(part.draw(salt, 0, high)):  # type: ignore[union-attr]
            triple = part.triple([str(row[v]) for v in part.variables])  # type: ignore[index]
            assert triple is not None
            found[triple] = row["kgeval_h"].value  # type: ignore[index]
        assert found == {t: d for t, d in expected.items() if t in inside}


def test_beliefs_that_were_damaged_are_made_again_from_the_log(tmp_path: Path) -> None:
    server = FaultyStore(lines(300))
    run = make(server, tmp_path / "run")
    names = ("s", "p", "o", "role")
    whole = {
        name: getattr(run.beliefs, name).copy() for name in names
    }  # what is mapped changes with its file
    for path in sorted(run.folder.glob("*/*.npy")):
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        again = open_run(run.folder).beliefs
        assert all(np.array_equal(getattr(again, name), whole[name]) for name in names)
        path.write_bytes(data)


def test_digests_are_md5_of_the_text_that_the_documentation_names() -> None:
    triple = (f"<{EX}s>", f"<{EX}p>", '"Grüße"@de-AT')
    text = f"{EX}s {EX}p Grüße de-at kgeval 7"
    assert digest_of(triple, "kgeval 7") == hashlib.md5(text.encode()).hexdigest()


@pytest.mark.parametrize("seed", [1, 2])
def test_the_run_holds_the_head_of_the_salted_order(tmp_path: Path, seed: int) -> None:
    server = FaultyStore(lines(5000))
    run = make(server, tmp_path / "run", reserve=120, seed=seed)
    records = read_draws(tmp_path / "run" / "draws.jsonl")
    reach = reaches(records)
    assert reach == first_reaches(run.beliefs.frame.sizes, 120)  # type: ignore[union-attr]
    every = [tuple(line[:-2].split(" ")) for line in lines(5000).decode().splitlines()]
    expected = {
        t: digest_of(t, f"kgeval {seed}")  # type: ignore[arg-type]
        for t in every
        if int(digest_of(t, f"kgeval {seed}")[:DIGITS], 16) < reach[t[1]]  # type: ignore[arg-type]
    }
    assert drawn_triples(records) == expected
    assert 60 < len(expected) < 400
    assert run.beliefs.n_population == 5000
    assert sum(run.beliefs.population().values()) == 5000
    assert run.beliefs.weights.sum() == pytest.approx(5000)
    draw = next(record for record in records if isinstance(record, DrawRecord))
    assert draw.probability == pytest.approx(draw.high / FULL)


def test_the_same_seed_draws_the_same_and_another_seed_does_not(tmp_path: Path) -> None:
    server = FaultyStore(lines(2000))
    logs = [
        (make(server, tmp_path / name, reserve=60, seed=seed).folder / "draws.jsonl").read_bytes()
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    assert logs[0] == logs[1] != logs[2]


@pytest.mark.parametrize("name", DRAWERS)
def test_every_drawer_includes_each_triple_with_the_probability_that_it_logs(name: str) -> None:
    """Over many salts; what two triples share of the samples shows that they come independently."""
    count, salts, low, middle, high = 60, 400, FULL // 10, FULL // 4, FULL // 2
    server = FaultyStore(lines(count))
    endpoint, pool = server.endpoint(QUICK), Pool.of(Scope())
    sizes = take_census(endpoint, pool).sizes
    triples = [tuple(line[:-2].split(" ")) for line in lines(count).decode().splitlines()]
    drawn = np.zeros((salts, count))
    for salt in range(salts):
        census = CensusRecord(
            sizes=sizes, triples={}, exact=True, salt=f"kgeval {salt}", graph="", plain=True, notes=[]
        )
        drawer = DRAWERS[name].load()(endpoint, pool, census)
        parts = [drawer.draw(list(sizes), *ends) for ends in ((low, middle), (middle, high))]
        assert [part.probability for part in parts] == pytest.approx([0.15, 0.25])
        rows = [tuple(row[:3]) for part in parts for row in part.rows]
        assert len(set(rows)) == len(rows)
        drawn[salt] = [triple in rows for triple in triples]
    share = 0.4
    deviations = (drawn.mean(axis=0) - share) / np.sqrt(share * (1 - share) / salts)
    together = drawn.T @ drawn / salts - share**2
    pairs = together[np.triu_indices(count, 1)] / np.sqrt(share**2 * (1 - share**2) / salts)
    assert np.abs(deviations).max() < 4
    assert np.abs(pairs).max() < 5
    assert deviations.std() == pytest.approx(1, abs=0.3)


def population(sizes: list[int], place: np.ndarray | None = None, reach: float = 1.0) -> Population:
    predicate = np.repeat(np.arange(len(sizes)), sizes)
    n = len(predicate)
    reserve = None
    if place is not None:
        reserve = Reserve(size=np.array(sizes), reach=np.full(len(sizes), reach), place=place)
    return Population(
        predicate=predicate, subject=np.arange(n), known=np.full(n, -1, np.int8), reserve=reserve
    )


@pytest.mark.parametrize("method", ABLE)
@pytest.mark.parametrize("seed", range(4))
def test_a_reserve_in_the_same_order_gives_the_same_evaluation(method: str, seed: int) -> None:
    sizes = [400, 300, 90, 3, 2, 2]
    gold = np.random.default_rng(seed).random(sum(sizes)) < 0.85
    local = population(sizes)
    place = np.empty(len(local))
    place[local.shuffled(seed)] = np.arange(len(local)) / len(local)
    results = []
    for reach in (None, 0.05, 0.3, 1.0):
        one = local if reach is None else population(sizes, place, reach)
        design = design_of(method, one, seed=seed, margin=0.06)
        answers = np.full(len(one), -1, np.int8)
        order = []
        while draws := design.next(answers, 3):
            for draw in draws:
                order.append((draw.position, draw.probability))
                answers[draw.position] = gold[draw.position]
        if len(design.short):
            assert not design.reached(answers)
            assert order == results[0][0][: len(order)]
            continue
        groups = design.estimate_groups(answers, one.predicate)
        assert design.reached(answers)
        results.append((order, design.estimate(answers), groups if reach in (None, 1.0) else None))
    assert results[0] == results[-1]
    for _, estimate, _ in results:
        assert estimate == results[0][1]


def test_a_short_design_names_the_predicates_of_the_stratum() -> None:
    sizes = [1000, 1000, 10, 10]
    place = np.random.default_rng(0).random(sum(sizes))
    design = design_of("stratified/bayes", population(sizes, place, 0.002), seed=0)
    assert design.next(np.full(sum(sizes), -1, np.int8), 5) == []
    assert set(design.short) <= {0, 1, 2, 3}
    assert len(design.short)


def test_a_stratum_is_drawn_only_as_far_as_the_least_reach_in_it() -> None:
    sizes = [3000, 3000, 50, 50]
    place = np.random.default_rng(3).random(sum(sizes))
    reach = np.array([0.9, 0.4, 0.8, 0.3])
    reserve = Reserve(size=np.array(sizes), reach=reach, place=place)
    one = population(sizes)
    both = Population(predicate=one.predicate, subject=one.subject, known=one.known, reserve=reserve)
    for method, limit in (("srs/wilson", [0.3] * 4), ("stratified/bayes", [0.9, 0.4, 0.3, 0.3])):
        design = design_of(method, both, margin=None)
        answers = one.known.copy()
        while draws := design.next(answers, 50):
            for draw in draws:
                assert place[draw.position] < limit[one.predicate[draw.position]]
                answers[draw.position] = 1
        drawn = answers >= 0
        assert len(design.short)
        least = place[drawn].max()
        assert method != "srs/wilson" or drawn.sum() == (place < 0.3).sum() or least < 0.3


@pytest.mark.parametrize("method", sorted(set(DESIGNS) - set(ABLE)))
def test_methods_that_must_see_everything_say_so(method: str) -> None:
    place = np.random.default_rng(0).random(20)
    with pytest.raises(InputError, match="must see all beliefs"):
        design_of(method, population([20], place))


@pytest.mark.parametrize("method", ["stratified/bayes", "srs/wilson", "greedy/inferable"])
def test_an_evaluation_that_needs_more_draws_more_and_replays(tmp_path: Path, method: str) -> None:
    policy, _, estimator = method.partition("/")
    server = FaultyStore(lines(6000))
    small = make(server, tmp_path / "small", reserve=1)
    found = finish(small, server, policy=policy, estimator=estimator, budget="160", margin=0.01)
    large = make(server, tmp_path / "large", reserve=1500)
    other = finish(large, server, policy=policy, estimator=estimator, budget="160", margin=0.01)
    again = evaluation_of(open_run(tmp_path / "small"), found.records)
    assert again.to_json() == found.to_json()
    assert found.stopped
    assert found.to_json()["beliefs"] == 6000
    if found.sampled:
        assert (
            len([r for r in read_draws(tmp_path / "small" / "draws.jsonl") if isinstance(r, DrawRecord)]) > 3
        )
        said = [(r.belief, r.probability) for r in found.records]  # type: ignore[union-attr]
        assert said == [(r.belief, r.probability) for r in other.records]  # type: ignore[union-attr]
        assert found.estimate() == other.estimate()
        low, high = found.interval or (0.0, 0.0)
        truth = np.mean([is_true(tuple(line[:-2].split(" "))) for line in lines(6000).decode().splitlines()])  # type: ignore[arg-type]
        assert low - 0.05 < truth < high + 0.05


def test_neighbours_labels_and_rules_are_at_hand(tmp_path: Path) -> None:
    label, a = (
        "<http://www.w3.org/2000/01/rdf-schema#label>",
        "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>",
    )
    data = "".join(
        f"<{EX}s{i}> <{EX}plays> <{EX}t{i % 5}> .\n<{EX}s{i}> {a} <{EX}Player> .\n"
        f'<{EX}s{i}> {label} "Player {i}" .\n<{EX}t{i % 5}> {label} "Team {i % 5}" .\n'
        for i in range(300)
    )
    rule = tmp_path / "r.rq"
    rule.write_text(f"CONSTRUCT {{ ?s a <{EX}Player> }} WHERE {{ ?s <{EX}plays> ?t }}")
    server = FaultyStore(data.encode())
    run = make(
        server, tmp_path / "run", Coupling(rules=[rule]), reserve=20, predicates=[f"{EX}plays", a[1:-1]]
    )
    drawn = drawn_triples(read_draws(run.folder / "draws.jsonl"))
    plays = [t for t in drawn if t[1] == f"<{EX}plays>"]
    at_hand = [run.beliefs.triple(row) for row in range(len(run.beliefs))]
    typed = {s for s, p, _ in at_hand if p == a}
    assert run.graph.n_constraints == sum(p == f"<{EX}plays>" and s in typed for s, p, _ in at_hand)
    assert len(plays) > 20
    for s, _, _ in plays:
        row = run.beliefs.find(s, a, f"<{EX}Player>")
        assert row is not None
        assert run.beliefs.role[row] == Role.BELIEF
    assert "Player " in run.names.in_words(plays[0])
    assert "Team " in run.names.in_words(plays[0])
    assert run.beliefs.n_population == 600
    labelled = run.beliefs.p == run.beliefs.terms.find(label)
    assert labelled.any()
    assert (run.beliefs.role[labelled] == Role.BACKGROUND).all()


def test_hubs_are_cut_with_a_note(tmp_path: Path) -> None:
    data = "".join(f"<{EX}s{i}> <{EX}p> <{EX}hub> .\n" for i in range(2000))
    rule = tmp_path / "r.rq"
    rule.write_text(f"CONSTRUCT {{ ?s <{EX}q> ?t }} WHERE {{ ?s <{EX}p> ?t }}")
    server = FaultyStore(data.encode())
    run = make(server, tmp_path / "run", Coupling(rules=[rule]), reserve=20)
    cut = {
        entity
        for r in read_draws(run.folder / "draws.jsonl")
        if isinstance(r, NeighbourhoodRecord)
        for entity in r.cut
    }
    assert cut == {f"<{EX}hub>"}
    assert any("only a part of what stands around 1 much-used" in note for note in run.config.notes)


@pytest.mark.parametrize("said", [True, False])
def test_rows_that_a_server_cuts_off_are_noticed(tmp_path: Path, said: bool) -> None:
    server = FaultyStore(lines(3000))
    whole = make(server, tmp_path / "whole", reserve=300)
    server = FaultyStore(lines(3000), at_most(40, said=said))
    cut = make(server, tmp_path / "cut", reserve=300)
    assert drawn_triples(read_draws(cut.folder / "draws.jsonl")) == drawn_triples(
        read_draws(whole.folder / "draws.jsonl")
    )


def edit_rows(change: Callable[[dict[str, dict[str, str]]], None]) -> Fault:
    def fault(handler: Handler, body: bytes) -> bool:
        if "MD5" not in handler.query or "COUNT" in handler.query:
            return False
        answer = json.loads(body)
        for row in answer["results"]["bindings"]:
            change(row)
        handler.reply(json.dumps(answer).encode())
        return True

    return fault


def test_a_store_with_a_wrong_md5_is_refused(tmp_path: Path) -> None:
    def scramble(row: dict[str, dict[str, str]]) -> None:
        row["kgeval_h"]["value"] = "0" * 32

    server = FaultyStore(lines(500), edit_rows(scramble))
    with pytest.raises(EndpointError, match="wrong MD5"):
        make(server, tmp_path / "run")


def test_a_store_whose_md5_filters_nothing_is_refused(tmp_path: Path) -> None:
    def everything(handler: Handler, body: bytes) -> bool:
        if "MD5" in handler.query:
            handler.reply(handler.evaluate(handler.query.split(" FILTER(?kgeval_h")[0] + " }"))
            return True
        return False

    server = FaultyStore(lines(5000), everything)
    with pytest.raises(EndpointError, match="were to be"):
        make(server, tmp_path / "run", reserve=100)


def slow_counts(*, each: bool) -> Fault:
    def fault(handler: Handler, body: bytes) -> bool:
        if "COUNT" in handler.query and (each or "GROUP BY" in handler.query):
            return status(504)(handler, body)
        return False

    return fault


VOID = "http://rdfs.org/ns/void#"


def test_counts_that_take_too_long_are_made_one_by_one(tmp_path: Path) -> None:
    server = FaultyStore(lines(700), slow_counts(each=False))
    run = make(server, tmp_path / "run", predicates=[f"{EX}p0", f"{EX}p2"])
    assert run.beliefs.population() == {f"{EX}p2": 500, f"{EX}p0": 100}
    assert any(
        "could not count its triples by predicate in time; each predicate" in n for n in run.config.notes
    )


def test_void_statistics_stand_in_for_counts_and_it_is_said(tmp_path: Path) -> None:
    void = "".join(
        f"<{EX}part{i}> <{VOID}property> <{EX}p{i}> .\n"
        f'<{EX}part{i}> <{VOID}triples> "{n}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
        for i, n in enumerate((100, 100, 500))
    )
    server = FaultyStore(lines(700) + void.encode(), slow_counts(each=True))
    run = make(server, tmp_path / "run")
    evaluation = finish(run, server)
    assert run.beliefs.n_population == 700
    assert any("VoID statistics, which somebody else made" in note for note in run.config.notes)
    assert evaluation.interval


def test_sizes_that_are_too_large_end_with_what_is_there(tmp_path: Path) -> None:
    void = "".join(
        f"<{EX}part{i}> <{VOID}property> <{EX}p{i}> .\n"
        f'<{EX}part{i}> <{VOID}triples> "900"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
        for i in range(3)
    )
    server = FaultyStore(lines(140) + void.encode(), slow_counts(each=True))
    run = make(server, tmp_path / "run", reserve=60)
    assert run.beliefs.n_population == 2700
    evaluation = finish(run, server, margin=0.01)
    assert evaluation.stopped in ("margin", "everything asked")
    assert evaluation.to_json()["beliefs"] == 140


def test_without_counts_and_void_it_says_what_to_do(tmp_path: Path) -> None:
    server = FaultyStore(lines(50), slow_counts(each=True))
    with pytest.raises(EndpointError, match="no VoID statistics that would do; name the predicates"):
        make(server, tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_a_store_that_changes_while_it_is_drawn_from(tmp_path: Path) -> None:
    def growing(handler: Handler, body: bytes) -> bool:
        if "MD5" in handler.query:
            handler.server.store.add(
                ox.Quad(ox.NamedNode(f"{EX}new"), ox.NamedNode(f"{EX}p0"), ox.NamedNode(EX))
            )
        return False

    server = FaultyStore(lines(500), growing)
    with pytest.raises(EndpointError, match="changed while it was being drawn from; run the command again"):
        make(server, tmp_path / "run")
    assert make(server, tmp_path / "run").beliefs.n_population == 501


def test_a_store_that_changes_during_the_evaluation_is_reported(tmp_path: Path) -> None:
    server = FaultyStore(lines(3000))
    run = make(server, tmp_path / "run", reserve=1)
    endpoint = server.endpoint(QUICK)
    assert look_for_changes(run, endpoint, lambda *_: None) is None
    for i in range(7):
        server.store.add(ox.Quad(ox.NamedNode(f"{EX}n{i}"), ox.NamedNode(f"{EX}p0"), ox.NamedNode(EX)))
    said = look_for_changes(run, endpoint, lambda *_: None) or ""
    assert "it had 3,000 triples of this scope and has 3,007" in said
    assert look_for_changes(run, endpoint, lambda *_: None) is None
    evaluation = finish(run, server)
    assert evaluation.interval
    assert open_run(run.folder).config.notes == (said,)


def test_an_endpoint_that_dies_between_draws_loses_nothing(tmp_path: Path) -> None:
    server = FaultyStore(lines(6000))
    run = make(server, tmp_path / "run", reserve=1)
    gone = Endpoint("http://127.0.0.1:9/sparql", retry=QUICK)
    with open_evaluation(run, {"margin": 0.03}) as evaluation:
        assert consult(evaluation, Planted())  # type: ignore[arg-type]
    before = evaluation.to_json()
    assert evaluation.short
    assert before["asked"] > 20
    with pytest.raises(EndpointError, match=r"all answers are kept: the same command\s+goes on from here"):
        draw_more(run, evaluation.short, gone, lambda *_: None)
    assert evaluation_of(open_run(run.folder), evaluation.records).to_json() == before
    server = FaultyStore(lines(6000))
    done = finish(open_run(run.folder), server)
    assert done.stopped == "margin"
    assert [r.belief for r in done.records][: before["asked"]] == [r.belief for r in evaluation.records]  # type: ignore[union-attr]


@pytest.mark.parametrize("after", range(1, 12, 2))
def test_a_drawing_that_is_cut_off_goes_on(tmp_path: Path, after: int) -> None:
    def dying(handler: Handler, body: bytes) -> bool:
        handler.server.seen["requests"] += 1
        return handler.server.seen["requests"] > after and status(500)(handler, body)

    server = FaultyStore(lines(4000))
    whole = make(server, tmp_path / "whole", reserve=200)
    expected = (whole.folder / "draws.jsonl").read_bytes()
    server = FaultyStore(lines(4000), dying)
    with suppress(KgevalError):
        make(server, tmp_path / "run", reserve=200)
    partial = tmp_path / "run.partial" / "draws.jsonl"
    if partial.exists():
        partial.write_bytes(partial.read_bytes() + b'{"kind": "dra')
    server.fault = lambda *_: False
    if not (tmp_path / "run").exists():
        make(server, tmp_path / "run", reserve=200)
    assert (tmp_path / "run" / "draws.jsonl").read_bytes() == expected


def test_arrays_that_are_behind_the_log_are_made_again(tmp_path: Path) -> None:
    server = FaultyStore(lines(6000))
    run = make(server, tmp_path / "run", reserve=1)
    (tmp_path / "old").mkdir()
    for name in ("beliefs", "coupling"):
        (run.folder / name).rename(tmp_path / "old" / name)
    later = finish(run, server, margin=0.03)
    for names in (["beliefs"], ["coupling"], ["beliefs", "coupling"]):
        for name in names:
            target = run.folder / name
            if target.exists():
                target.rename(tmp_path / f"kept-{name}-{len(names)}")
            if name == "beliefs" and len(names) == 1:
                (tmp_path / "old" / name).rename(target)
        assert evaluation_of(open_run(run.folder), later.records).to_json() == later.to_json()


def test_a_damaged_draw_log_is_one_sentence(tmp_path: Path) -> None:
    server = FaultyStore(lines(300))
    run = make(server, tmp_path / "run")
    log = run.folder / "draws.jsonl"
    log.write_bytes(b"{}\n" + log.read_bytes())
    with pytest.raises(RunError, match="line 1 is not a draw"):
        open_run(run.folder)


def test_scopes_by_query(tmp_path: Path) -> None:
    one = tmp_path / "one.rq"
    one.write_text(f"CONSTRUCT {{ ?a <{EX}p0> ?b }} WHERE {{ ?a <{EX}p0> ?b }}")
    every = tmp_path / "every.rq"
    every.write_text(f"PREFIX ex: <{EX}> SELECT ?s ?p ?o {{ ?s ?p ?o FILTER(?p != ex:p0) }}")
    server = FaultyStore(lines(700))
    assert make(server, tmp_path / "a", scope=one).beliefs.population() == {f"{EX}p0": 100}
    run = make(server, tmp_path / "b", scope=every)
    assert run.beliefs.population() == {f"{EX}p2": 500, f"{EX}p1": 100}
    assert finish(run, server).interval
    two = tmp_path / "two.rq"
    two.write_text(f"CONSTRUCT {{ ?a <{EX}p0> ?b . ?b <{EX}p1> ?a }} WHERE {{ ?a <{EX}p0> ?b }}")
    with pytest.raises(InputError, match="several triples in its template"):
        make(server, tmp_path / "c", scope=two)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"files": [Path("kg.nt")]}, "the beliefs are those of the endpoint"),
        ({"mine": True}, "rules cannot be mined from a sample"),
        ({"predicates": [f"{EX}none"]}, "no triple in this scope"),
    ],
)
def test_what_cannot_be_had_in_place_is_one_sentence(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    from dataclasses import replace

    from rdf_kgeval.rules.mining.options import MiningOptions

    coupling = Coupling(mine=MiningOptions() if changes.pop("mine", False) else None)
    server = FaultyStore(lines(50))
    chosen = sources(server, predicates=changes.pop("predicates", ()))
    with pytest.raises(InputError, match=message):
        prepare(tmp_path / "run", replace(chosen, **changes), coupling)  # type: ignore[arg-type]
    assert not (tmp_path / "run").exists()


def test_another_seed_than_the_sample_has_is_refused(tmp_path: Path) -> None:
    server = FaultyStore(lines(200))
    run = make(server, tmp_path / "run", seed=4)
    assert run.settings().seed == 4
    with pytest.raises(RunError, match="was drawn with the seed 4"), open_evaluation(run, {"seed": 5}):
        pass


def test_requests_keep_to_the_rate() -> None:
    waited: list[float] = []
    retry = RetryPolicy(rate=4, sleep=waited.append)
    server = FaultyStore(lines(5))
    endpoint = server.endpoint(retry)
    for _ in range(3):
        endpoint.select("SELECT ?s { ?s ?p ?o }", ["s"])
    assert endpoint.traffic.requests == 3
    assert endpoint.traffic.received > 0
    assert len(waited) == 2
    assert sum(waited) > 0.3


def test_beliefs_are_a_function_of_the_log() -> None:
    p = f"<{EX}p>"
    rows = [[f"<{EX}{i}>", p, f"<{EX}o>", f"{i:x}" + "0" * 31] for i in range(4)]
    records = [
        CensusRecord(sizes={p: 50}, triples={p: 50}, exact=True, salt="x", graph="", plain=True, notes=[]),
        DrawRecord(predicates=[p], low=0, high=FULL // 4, probability=0.25, rows=rows),
        NeighbourhoodRecord(hop=1, entities=[f"<{EX}0>"], triples=[[f"<{EX}9>", p, f"<{EX}0>"]], cut=[]),
    ]
    beliefs = beliefs_of(records)
    assert beliefs.frame is not None
    assert beliefs.n_beliefs == 5
    assert sorted(beliefs.frame.place) == [0, 1 / 16, 2 / 16, 3 / 16, 1.0]
    assert sorted(beliefs.weights) == [0, 12.5, 12.5, 12.5, 12.5]
    assert Settings().seed == 0


def test_parallel_draws_are_logged_in_the_same_order(tmp_path: Path) -> None:
    logs = []
    server = FaultyStore(lines(3000))
    for parallel in (1, 4):
        with DrawLog(tmp_path / f"{parallel}.jsonl") as log:
            endpoint = server.endpoint(QUICK)
            options = InPlace(parallel=parallel, reserve=300)
            InPlaceSampler(log, endpoint, Scope(), options, [], (), lambda *_: None).begin(
                BeliefsBuilder().build()
            )
        logs.append((tmp_path / f"{parallel}.jsonl").read_bytes())
    assert logs[0] == logs[1]


def test_a_query_scope_is_kept_for_later_draws(tmp_path: Path) -> None:
    assert parse_scope_query("SELECT ?s ?p ?o { ?s ?p ?o }").parts
    query = tmp_path / "q.rq"
    query.write_text(f"SELECT ?s ?p ?o {{ ?s ?p ?o FILTER(?p = <{EX}p2>) }}")
    server = FaultyStore(lines(6000))
    run = make(server, tmp_path / "run", scope=query, reserve=1)
    assert finish(run, server, margin=0.03).stopped == "margin"


def test_verdicts_from_before_the_sample_answer_their_own_draws(tmp_path: Path) -> None:
    """Set apart as known, they would leave the head of the random order to what control had not picked."""
    server = FaultyStore(lines(3000))
    run = make(server, tmp_path / "run", reserve=200)
    evaluation = evaluation_of(run, [])
    draws = evaluation.next(20)
    assert len(draws) == 20
    for draw in draws[3:9]:
        request = kgeval.evaluation.procedure.Request(draw.position, kgeval.verdicts.log.Drawn.CONTROL)
        evaluation.answer(request, kgeval.verdicts.log.Answer.TRUE, "me")
    assert evaluation.next(14) == draws[:3] + draws[9:]

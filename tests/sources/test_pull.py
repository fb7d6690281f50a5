"""A pull brings the whole set or none, goes on where it stopped, and says what the user should know."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from rdf_kgeval.errors import EndpointError
from rdf_kgeval.sources.pull import Pulled, pull
from rdf_kgeval.sources.scope import Scope
from tests.sources.endpoint.test_client import DATA, EX, EXPECTED, _small_pages, fetch, lines, patient  # noqa: F401
from tests.support import faults
from tests.support.faults import Fault, FaultyStore


@pytest.mark.parametrize("said", [True, False])
@pytest.mark.parametrize("rows", [7, 100, 249])
def test_a_server_that_cuts_results(rows: int, said: bool) -> None:
    server = FaultyStore(DATA, faults.at_most(rows, said=said))
    assert lines(fetch(server)) == EXPECTED


def test_a_cut_list_of_predicates_is_noticed() -> None:
    data = "".join(f'<{EX}s> <{EX}p{i}> "x" .\n' for i in range(50)).encode()
    server = FaultyStore(data, faults.at_most(20, said=True))
    assert len(lines(fetch(server))) == 50
    expected = pytest.raises(EndpointError, match="counts 50 triples in all but 20 by predicate")
    server = FaultyStore(data, faults.at_most(20, said=False))
    with expected:
        fetch(server)


def shuffled(handler: faults.Handler, body: bytes) -> bool:
    """A store whose order changes from one query to the next, unless it is told to sort."""
    if not faults.is_page(handler.query) or "ORDER BY" in handler.query:
        return False
    n = handler.server.seen["pages"] = handler.server.seen["pages"] + 1
    reordered = handler.query.replace(" LIMIT", f" ORDER BY MD5(CONCAT(STR(?s), '{n}')) LIMIT")
    handler.reply(handler.evaluate(reordered))
    return True


def test_an_unstable_order_falls_back_to_sorted_pages() -> None:
    server = FaultyStore(DATA, shuffled)
    assert lines(fetch(server)) == EXPECTED
    assert any("ORDER BY" in q for q in server.queries)


def test_a_triple_in_two_graphs_is_one_belief() -> None:
    both = "".join(f"{t[:-2]} <{EX}g{g}> .\n" for t in sorted(EXPECTED) for g in "12").encode()

    def duplicating(handler: faults.Handler, body: bytes) -> bool:
        query = handler.query.replace("{ ?s", "{ GRAPH ?g { ?s").replace("?o }", "?o } }")
        handler.reply(handler.evaluate(query))
        return True

    server = FaultyStore(both, duplicating)
    assert lines(fetch(server)) == EXPECTED


def missing_rows(handler: faults.Handler, body: bytes) -> bool:
    if not faults.is_page(handler.query):
        return False
    answer = json.loads(body)
    answer["results"]["bindings"] = [b for b in answer["results"]["bindings"] if b["s"]["value"] != f"{EX}s7"]
    handler.reply(json.dumps(answer).encode())
    return True


def test_an_endpoint_that_holds_back_is_refused() -> None:
    server = FaultyStore(DATA, missing_rows)
    with pytest.raises(EndpointError, match="an estimate from a part"):
        fetch(server)


def test_a_store_that_changes_is_refused() -> None:
    def growing(handler: faults.Handler, body: bytes) -> bool:
        if faults.is_page(handler.query):
            handler.server.store.update(
                f'INSERT DATA {{ <{EX}new> <{EX}p0> "{len(handler.server.queries)}" }}'
            )
        return False

    server = FaultyStore(DATA, growing)
    with pytest.raises(EndpointError, match=r"changed while|triples that it counts"):
        fetch(server)


class StoppedError(Exception):
    pass


def test_a_stopped_pull_goes_on_where_it_was(tmp_path: Path) -> None:
    def stop(after: int) -> Callable[[int, int], None]:
        def progress(done: int, total: int) -> None:
            if done >= after:
                raise StoppedError

        return progress

    server = FaultyStore(DATA)
    endpoint = server.endpoint(patient())
    for after in (100, 200, 400):
        with pytest.raises(StoppedError):
            pull(endpoint, Scope(), tmp_path / "pages", [], stop(after))
    before = len(server.queries)
    whole = pull(endpoint, Scope(), tmp_path / "pages", [], lambda *_: None)
    pages = [q for q in server.queries[before:] if faults.is_page(q)]
    got = {f"{s} {p} {o} ." for _, quads in whole.quads("") for s, p, o, _ in quads}
    assert got == EXPECTED
    assert len(pages) == 1


def test_pages_of_another_state_of_the_store_are_not_used(tmp_path: Path) -> None:
    server = FaultyStore(DATA)
    endpoint = server.endpoint(patient())
    pull(endpoint, Scope(), tmp_path / "pages", [], lambda *_: None)
    server.store.update(f'INSERT DATA {{ <{EX}new> <{EX}p0> "new" }}')
    whole = pull(endpoint, Scope(), tmp_path / "pages", [], lambda *_: None)
    assert sum(1 for _, quads in whole.quads("") for _ in quads) == len(EXPECTED) + 1


def pull_from(
    server: faults.FaultyStore, folder: Path, scope: Scope | None = None, lang: str = "en"
) -> Pulled:
    label = "http://www.w3.org/2000/01/rdf-schema#label"
    return pull(server.endpoint(patient()), scope or Scope(), folder, [label], lambda *_: None, lang)


def triples(pulled: Pulled) -> list[str]:
    return [f"{s} {p} {o} ." for _, quads in pulled.quads("") for s, p, o, _ in quads]


def unstable(seed: int, edit: Callable[[str], str] = lambda text: text, *, always: bool = False) -> Fault:
    """A store that shuffles what it is not told to sort, and numbers blank nodes anew in each answer."""
    rng = random.Random(seed)

    def fault(handler: faults.Handler, body: bytes) -> bool:
        page = re.search(r"LIMIT (\d+) OFFSET (\d+)", handler.query)
        if not page or "COUNT" in handler.query:
            return False
        size, offset = map(int, page.groups())
        answer = json.loads(handler.evaluate(handler.query[: page.start()]))
        rows = answer["results"]["bindings"]
        if always or "ORDER BY" not in handler.query:
            rng.shuffle(rows)
        names: dict[str, str] = {}
        answer["results"]["bindings"] = rows = rows[offset : offset + size]
        for term in (term for row in rows for term in row.values() if term["type"] == "bnode"):
            term["value"] = names.setdefault(term["value"], f"b{len(names)}")
        handler.reply(edit(json.dumps(answer)).encode())
        return True

    return fault


def mostly(subject: str, many: int = 594) -> bytes:
    rows = "".join(subject.format(i) + f' <{EX}p> "b{i}" .\n' for i in range(many))
    return (rows + "".join(f'<{EX}s{i}> <{EX}p> "{i}" .\n' for i in range(6))).encode()


SIX = {f'<{EX}s{i}> <{EX}p> "{i}" .' for i in range(6)}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("many", [394, 594])
def test_repeated_rows_with_renumbered_blank_nodes_do_not_hide_missing_ones(many: int, seed: int) -> None:
    data = mostly("_:n{}", many)
    server = FaultyStore(data, unstable(seed))
    assert lines(fetch(server)) == SIX
    server = FaultyStore(data, unstable(seed, always=True))
    try:
        assert lines(fetch(server)) == SIX
    except EndpointError as error:
        assert "an estimate from a part" in str(error)  # noqa: PT017


@pytest.mark.parametrize("seed", [0, 4, 5])
def test_repeated_invalid_rows_do_not_hide_missing_ones(seed: int) -> None:
    data = mostly(f"<{EX}bad{{}}>")
    server = FaultyStore(data, unstable(seed, lambda text: text.replace(f"{EX}bad", f"{EX}b ad")))
    assert lines(fetch(server)) == SIX


def test_renumbered_blank_nodes_are_kept_apart_and_reported(tmp_path: Path) -> None:
    data = "".join(f'_:n{i} <{EX}p> "b{i}" .\n' for i in range(600)).encode()
    server = FaultyStore(data, unstable(0))
    for _ in range(2):  # The second time, all pages come from the disk.
        pulled = pull_from(server, tmp_path / "pages")
        assert len({line.split()[0] for line in triples(pulled)}) == 600
        (note,) = pulled.notes
        assert note.startswith("this store renumbers blank nodes")


def test_renumbered_blank_nodes_in_one_page_are_as_good_as_named_ones(tmp_path: Path) -> None:
    data = f"_:x <{EX}p> _:y .\n_:y <{EX}p> _:x .\n".encode()
    server = FaultyStore(data, unstable(0))
    got = triples(pull_from(server, tmp_path / "pages"))
    assert not any("ORDER BY" in query for query in server.queries)
    assert len(got) == 2
    assert len({term for line in got for term in line.split() if term.startswith("_:")}) == 2


def stopping(after: int) -> Callable[[int, int], None]:
    def progress(done: int, total: int) -> None:
        if done >= after:
            raise StoppedError

    return progress


def test_a_pull_does_not_go_on_in_another_state_of_the_store(tmp_path: Path) -> None:
    data = "".join(f'<{EX}s{i:04d}> <{EX}p> "old" .\n' for i in range(600)).encode()
    change = f'DELETE {{ ?s <{EX}p> "old" }} INSERT {{ ?s <{EX}p> "new" }} WHERE {{ ?s <{EX}p> "old" }}'
    server = FaultyStore(data)
    endpoint = server.endpoint(patient())
    with pytest.raises(StoppedError):
        pull(endpoint, Scope(), tmp_path / "pages", [], stopping(250))
    server.store.update(change)
    got = triples(pull_from(server, tmp_path / "pages"))
    assert len(got) == 600
    assert all('"new"' in line for line in got)


def test_a_pull_in_order_goes_on_in_order(tmp_path: Path) -> None:
    server = FaultyStore(DATA, shuffled)
    endpoint = server.endpoint(patient())

    def stop_when_sorting(done: int, total: int) -> None:
        if done >= 550 and "ORDER BY" in server.queries[-1]:
            raise StoppedError

    with pytest.raises(StoppedError):
        pull(endpoint, Scope(), tmp_path / "pages", [], stop_when_sorting)
    before = len(server.queries)
    assert set(triples(pull_from(server, tmp_path / "pages"))) == EXPECTED
    pages = [query for query in server.queries[before:] if faults.is_page(query)]
    assert len(pages) == 1
    assert "ORDER BY" in pages[0]


def test_pages_of_another_plan_are_fetched_again(tmp_path: Path) -> None:
    server = FaultyStore(DATA)
    pull_from(server, tmp_path / "pages")
    n = sum(map(faults.is_page, server.queries))
    for plan, again in (("{}", n), (None, 0)):
        server.queries.clear()
        if plan:
            (tmp_path / "pages" / "plan.json").write_text(plan)
        pull_from(server, tmp_path / "pages")
        assert sum(map(faults.is_page, server.queries)) == again


def test_a_page_that_is_not_written_to_its_end_is_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", full)
    server = FaultyStore(DATA)
    with pytest.raises(OSError, match="no space left"):
        pull_from(server, tmp_path / "pages")
    assert not list((tmp_path / "pages").glob("*.nt"))


def test_what_could_not_be_verified_is_not_gone_on_with(tmp_path: Path) -> None:
    server = FaultyStore(DATA, missing_rows)
    with pytest.raises(EndpointError, match="these were dropped"):
        pull_from(server, tmp_path / "pages")
    server.fault = lambda *_: False
    assert set(triples(pull_from(server, tmp_path / "pages"))) == EXPECTED


def test_groups_that_ignore_the_offset_are_noticed() -> None:
    def stuck(handler: faults.Handler, body: bytes) -> bool:
        if "GROUP BY" not in handler.query:
            return False
        query = handler.query.split(" LIMIT")[0]
        handler.reply(handler.evaluate(f"SELECT * {{ {{ {query} }} }} LIMIT 2"), X_SPARQL_MaxRows="2")
        return True

    server = FaultyStore(DATA, stuck)
    with pytest.raises(EndpointError, match="counts 600 triples in all but"):
        fetch(server)

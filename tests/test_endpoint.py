import json
from collections.abc import Callable
from pathlib import Path

import pytest

import rdf_kgeval as kgeval
from rdf_kgeval import plan
from rdf_kgeval.beliefs import Beliefs, Role
from rdf_kgeval.endpoint import Credentials, Endpoint, Patience, redact
from rdf_kgeval.errors import EndpointError, InputError
from rdf_kgeval.pull import pull
from rdf_kgeval.scope import Scope
from tests import faults
from tests.faults import Fault, faulty, first

EX = "http://example.org/"
DATA = "".join(
    f'<{EX}s{i}> <{EX}p{i % 3}> "{i}" .\n<{EX}s{i}> <{EX}q> <{EX}s{i + 1}> .\n' for i in range(300)
).encode()
EXPECTED = set(DATA.decode().splitlines())


def patient(**changes: object) -> Patience:
    return Patience(**{"timeout": 5.0, "backoff": 0.001, **changes})  # type: ignore[arg-type]


def lines(beliefs: Beliefs) -> set[str]:
    return {beliefs.line(row) for row in beliefs.rows}


def fetch(url: str, patience: Patience | None = None, **options: object) -> Beliefs:
    endpoint = Endpoint(url, Credentials(), patience or patient())
    return kgeval.pull_beliefs(url, endpoint=endpoint, **options)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "PAGE", 250)
    monkeypatch.setattr("rdf_kgeval.pull.PAGE", 250)


@pytest.mark.parametrize(
    "fault",
    [
        faults.status(429, Retry_After="0"),
        faults.status(429, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"),
        faults.status(502),
        faults.status(503),
        faults.status(504),
        faults.dropped,
        faults.truncated,
        faults.partial_results,
    ],
    ids=["429", "429-date", "502", "503", "504", "dropped", "truncated", "partial"],
)
def test_a_passing_fault_ends_in_the_full_result(fault: Fault) -> None:
    with faulty(DATA, first(3, fault)) as server:
        assert lines(fetch(server.url)) == EXPECTED
        assert server.seen["faults"] == 3


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (faults.status(503), "answered 503 Service Unavailable (busy); try again later"),
        (faults.status(500), "answered 500 Internal Server Error (busy); ask for less"),
        (faults.status(403), "answered 403 Forbidden (busy); set KGEVAL_USER"),
        (faults.status(429, Retry_After="86400"), "answered 429"),
        (faults.dropped, "dropped the connection"),
        (faults.truncated, "cut short or not SPARQL JSON"),
        (faults.wrong_type, "answered with text/csv instead of SPARQL results in JSON"),
        (faults.html_page, "(a page titled 'Maintenance'); check that the URL is a SPARQL endpoint"),
        (faults.partial_results, "ran out of its own time limit"),
        (faults.status(302, Location="http://evil.example/"), "give the URL that it redirects to"),
    ],
)
def test_a_lasting_fault_is_one_sentence(tmp_path: Path, fault: Fault, message: str) -> None:
    with faulty(DATA, first(10**9, fault)) as server, pytest.raises(EndpointError) as caught:
        fetch(server.url)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("fault", [faults.silent, faults.dripping])
def test_a_server_that_never_answers_is_given_up(fault: Fault) -> None:
    with faulty(DATA, fault) as server, pytest.raises(EndpointError, match=r"did not answer|too slowly"):
        fetch(server.url, patient(timeout=0.2, deadline=0.3))


def test_retry_after_is_honoured() -> None:
    waits: list[float] = []
    with faulty(DATA, first(1, faults.status(429, Retry_After="7"))) as server:
        assert lines(fetch(server.url, patient(sleep=waits.append))) == EXPECTED
    assert waits == [7.0]


@pytest.mark.parametrize("said", [True, False])
@pytest.mark.parametrize("rows", [7, 100, 249])
def test_a_server_that_cuts_results(rows: int, said: bool) -> None:
    with faulty(DATA, faults.at_most(rows, said=said)) as server:
        assert lines(fetch(server.url)) == EXPECTED


def test_a_cut_list_of_predicates_is_noticed() -> None:
    data = "".join(f'<{EX}s> <{EX}p{i}> "x" .\n' for i in range(50)).encode()
    with faulty(data, faults.at_most(20, said=True)) as server:
        assert len(lines(fetch(server.url))) == 50
    expected = pytest.raises(EndpointError, match="counts 50 triples in all but 20 by predicate")
    with faulty(data, faults.at_most(20, said=False)) as server, expected:
        fetch(server.url)


def shuffled(handler: faults.Handler, body: bytes) -> bool:
    """A store whose order changes from one query to the next, unless it is told to sort."""
    if not faults.is_page(handler.query) or "ORDER BY" in handler.query:
        return False
    n = handler.server.seen["pages"] = handler.server.seen["pages"] + 1
    reordered = handler.query.replace(" LIMIT", f" ORDER BY MD5(CONCAT(STR(?s), '{n}')) LIMIT")
    handler.reply(handler.evaluate(reordered))
    return True


def test_an_unstable_order_falls_back_to_sorted_pages() -> None:
    with faulty(DATA, shuffled) as server:
        assert lines(fetch(server.url)) == EXPECTED
        assert any("ORDER BY" in q for q in server.queries)


def test_a_triple_in_two_graphs_is_one_belief() -> None:
    both = "".join(f"{t[:-2]} <{EX}g{g}> .\n" for t in sorted(EXPECTED) for g in "12").encode()

    def duplicating(handler: faults.Handler, body: bytes) -> bool:
        query = handler.query.replace("{ ?s", "{ GRAPH ?g { ?s").replace("?o }", "?o } }")
        handler.reply(handler.evaluate(query))
        return True

    with faulty(both, duplicating) as server:
        assert lines(fetch(server.url)) == EXPECTED


def missing_rows(handler: faults.Handler, body: bytes) -> bool:
    if not faults.is_page(handler.query):
        return False
    answer = json.loads(body)
    answer["results"]["bindings"] = [b for b in answer["results"]["bindings"] if b["s"]["value"] != f"{EX}s7"]
    handler.reply(json.dumps(answer).encode())
    return True


def test_an_endpoint_that_holds_back_is_refused() -> None:
    with faulty(DATA, missing_rows) as server, pytest.raises(EndpointError, match="an estimate from a part"):
        fetch(server.url)


def test_a_store_that_changes_is_refused() -> None:
    def growing(handler: faults.Handler, body: bytes) -> bool:
        if faults.is_page(handler.query):
            handler.server.store.update(
                f'INSERT DATA {{ <{EX}new> <{EX}p0> "{len(handler.server.queries)}" }}'
            )
        return False

    with (
        faulty(DATA, growing) as server,
        pytest.raises(EndpointError, match=r"changed while|triples that it counts"),
    ):
        fetch(server.url)


class StoppedError(Exception):
    pass


def test_a_stopped_pull_goes_on_where_it_was(tmp_path: Path) -> None:
    def stop(after: int) -> Callable[[int, int], None]:
        def progress(done: int, total: int) -> None:
            if done >= after:
                raise StoppedError

        return progress

    with faulty(DATA) as server:
        endpoint = Endpoint(server.url, Credentials(), patient())
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
    with faulty(DATA) as server:
        endpoint = Endpoint(server.url, Credentials(), patient())
        pull(endpoint, Scope(), tmp_path / "pages", [], lambda *_: None)
        server.store.update(f'INSERT DATA {{ <{EX}new> <{EX}p0> "new" }}')
        whole = pull(endpoint, Scope(), tmp_path / "pages", [], lambda *_: None)
    assert sum(1 for _, quads in whole.quads("") for _ in quads) == len(EXPECTED) + 1


def test_scope_by_predicate_brings_labels_and_types() -> None:
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    extra = f'<{EX}s5> {label} "five" .\n<{EX}elsewhere> {label} "no" .\n'.encode()
    with faulty(DATA + extra) as server:
        beliefs = fetch(server.url, predicates=[EX + "q"])
    assert lines(beliefs) == {t for t in EXPECTED if f"<{EX}q>" in t}
    background = [beliefs.line(row) for row in range(len(beliefs)) if beliefs.role[row] == Role.BACKGROUND]
    assert background == [f'<{EX}s5> {label} "five" .']


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT ?s ?p ?o {{ ?s ?p ?o FILTER(?p = <{EX}q>) }} # no line end",
        f"PREFIX e: <{EX}> CONSTRUCT {{ ?x e:q ?y }} WHERE {{ ?x e:q ?y }}",
        f"PREFIX e: <{EX}> CONSTRUCT WHERE {{ ?x e:q ?y }}",
    ],
)
def test_scope_by_query(tmp_path: Path, query: str) -> None:
    (tmp_path / "scope.rq").write_text(query)
    with faulty(DATA) as server:
        assert lines(fetch(server.url, scope=tmp_path / "scope.rq")) == {
            t for t in EXPECTED if f"<{EX}q>" in t
        }


def test_scope_query_that_makes_no_triples(tmp_path: Path) -> None:
    (tmp_path / "scope.rq").write_text("SELECT (?y AS ?s) ?p (?x AS ?o) { ?x ?p ?y }")
    with faulty(DATA) as server, pytest.raises(InputError, match="which is not a triple"):
        fetch(server.url, scope=tmp_path / "scope.rq")


def test_virtuoso_s_blank_nodes_and_invalid_iris() -> None:
    """Answers of Virtuoso that a strict parser refuses."""

    def virtuoso(handler: faults.Handler, body: bytes) -> bool:
        if not faults.is_page(handler.query):
            return False
        text = body.decode().replace(f'"uri","value":"{EX}s1"', '"bnode","value":"nodeID://b10001"')
        handler.reply(text.replace(f'"{EX}s9"', '"http://example.org/a b"').encode(), Server="Virtuoso/07")
        return True

    with faulty(DATA, virtuoso) as server:
        endpoint = Endpoint(server.url, Credentials(), patient())
        beliefs = kgeval.pull_beliefs(server.url, endpoint=endpoint)
    bad = {t for t in EXPECTED if f"<{EX}s9>" in t or f"<{EX}s1>" in t}
    assert lines(beliefs) == EXPECTED - bad
    assert {beliefs.triple(r)[0] for r in range(len(beliefs)) if beliefs.role[r] == Role.BACKGROUND} >= {
        "_:nodeIDb10001"
    }


def test_an_empty_graph_names_the_others() -> None:
    data = f"<{EX}a> <{EX}b> <{EX}c> <{EX}g> .".encode()
    with (
        faulty(data) as server,
        pytest.raises(InputError, match=f"is empty; name one of its graphs.*<{EX}g>"),
    ):
        fetch(server.url, graph=EX + "nothing")


def header(server: faults.FaultyServer, name: str) -> set[str | None]:
    return {h.get(name) for h in server.headers_seen}


def test_credentials_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with faulty(DATA) as server:
        monkeypatch.setenv("KGEVAL_USER", "ann")
        monkeypatch.setenv("KGEVAL_PASSWORD", "s3cret")
        Endpoint(server.url).select("SELECT ?s { ?s ?p ?o } LIMIT 1", ["s"])
        assert header(server, "Authorization") == {"Basic YW5uOnMzY3JldA=="}
        server.headers_seen.clear()
        monkeypatch.setenv("KGEVAL_TOKEN", "t0ken")
        Endpoint(server.url).select("SELECT ?s { ?s ?p ?o } LIMIT 1", ["s"])
        assert header(server, "Authorization") == {"Bearer t0ken"}
    assert "t0ken" not in repr(Credentials.from_environment(server.url))
    assert "s3cret" not in repr(Credentials.from_environment(server.url))


def test_credentials_come_from_netrc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login bob password pw\n")
    (tmp_path / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    assert Credentials.from_environment("http://127.0.0.1:9/x") == Credentials(user="bob", password="pw")
    (tmp_path / "netrc").write_text("machine machine machine")
    with pytest.raises(InputError, match="netrc file cannot be read"):
        Credentials.from_environment("http://127.0.0.1:9/x")


def test_digest() -> None:
    def challenge(handler: faults.Handler, body: bytes) -> bool:
        if "Digest" in handler.headers.get("Authorization", ""):
            return False
        handler.reply(
            b"", status=401, WWW_Authenticate='Digest realm="r", nonce="n", qop="auth", algorithm=MD5'
        )
        return True

    with faulty(DATA, challenge) as server:
        signed = Endpoint(server.url, Credentials(user="ann", password="s3cret", digest=True), patient())
        assert len(signed.select("SELECT ?s { ?s ?p ?o } LIMIT 1", ["s"]).rows) == 1
        assert not any("s3cret" in str(h) for h in server.headers_seen)
        with pytest.raises(EndpointError, match="answered 401 Unauthorized; set KGEVAL_USER"):
            Endpoint(server.url, Credentials(), patient()).select("SELECT ?s { ?s ?p ?o } LIMIT 1", ["s"])


def test_a_redirect_never_carries_credentials_to_another_host() -> None:
    with faulty(DATA) as other:

        def elsewhere(handler: faults.Handler, body: bytes) -> bool:
            handler.reply(b"", status=307, Location=other.url.replace("127.0.0.1", "localhost"))
            return True

        with faulty(DATA, elsewhere) as server:
            endpoint = Endpoint(server.url, Credentials(token="t0ken"), patient())
            with pytest.raises(EndpointError, match="redirects to, if you trust it"):
                endpoint.select("SELECT ?s { ?s ?p ?o } LIMIT 1", ["s"])
        assert other.queries == []


def test_a_redirect_on_the_same_host_is_followed_even_for_a_post() -> None:
    def moved(handler: faults.Handler, body: bytes) -> bool:
        if handler.path == "/moved":
            return False
        handler.reply(b"", status=301, Location="/moved")
        return True

    with faulty(DATA, moved) as server:
        endpoint = Endpoint(server.url, Credentials(token="t0ken"), patient())
        query = "SELECT ?s { ?s ?p ?o } LIMIT 1" + " " * 2000
        assert len(endpoint.select(query, ["s"]).rows) == 1
        assert header(server, "Authorization") == {"Bearer t0ken"}


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://example.org/x", "starts with http:// or https://"),
        ("file:///etc/passwd", "starts with http:// or https://"),
        ("http://", "is not the URL of an endpoint"),
        ("http://ex ample.org/\x1b[31m", "is not the URL of an endpoint"),
        ("http://example.org:0x/", "is not the URL of an endpoint"),
        ("http://ann:s3cret@example.org/", "holds credentials"),
    ],
)
def test_bad_urls(url: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Endpoint(url)
    assert "s3cret" not in str(caught.value)
    assert str(caught.value).isprintable()


def test_secrets_in_the_url_are_not_shown() -> None:
    assert redact("http://h/q?apikey=abc&x=1") == "http://h/q?apikey=***&x=1"
    assert redact("http://h/q?default-graph-uri=http://g") == "http://h/q?default-graph-uri=http://g"


def test_an_endless_body_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rdf_kgeval.endpoint._LONGEST_BODY", 10_000)
    with faulty(DATA) as server, pytest.raises(EndpointError, match="more than 1 GiB"):
        fetch(server.url)


def test_a_garbled_status_line() -> None:
    def garbled(handler: faults.Handler, body: bytes) -> bool:
        handler.wfile.write(b"\x00\x01 not http\r\n\r\n")
        return True

    with faulty(DATA, garbled) as server, pytest.raises(EndpointError, match="dropped the connection"):
        fetch(server.url)

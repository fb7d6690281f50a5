import json
import urllib.error
from pathlib import Path

import pytest

import rdf_kgeval as kgeval
from rdf_kgeval.beliefs.table import Beliefs
from rdf_kgeval.errors import EndpointError, InputError
from rdf_kgeval.sources import pull_plan as plan
from rdf_kgeval.sources.endpoint.client import Credentials, Endpoint, RetryPolicy
from tests.support import faults
from tests.support.faults import Fault, FaultyStore, faulty, first

EX = "http://example.org/"
DATA = "".join(
    f'<{EX}s{i}> <{EX}p{i % 3}> "{i}" .\n<{EX}s{i}> <{EX}q> <{EX}s{i + 1}> .\n' for i in range(300)
).encode()
EXPECTED = set(DATA.decode().splitlines())


def patient(**changes: object) -> RetryPolicy:
    return RetryPolicy(**{"timeout": 5.0, "backoff": 0.001, **changes})  # type: ignore[arg-type]


def lines(beliefs: Beliefs) -> set[str]:
    return {beliefs.line(row) for row in beliefs.rows}


def test_a_whole_response_may_take_as_long_as_its_first_byte() -> None:
    assert RetryPolicy(timeout=60).limit == 600
    assert RetryPolicy(timeout=900).limit == 900
    assert RetryPolicy(timeout=900, deadline=5).limit == 5


def fetch(server: FaultyStore, retry: RetryPolicy | None = None, **options: object) -> Beliefs:
    endpoint = server.endpoint(retry or patient())
    return kgeval.pull_beliefs(server.url, endpoint=endpoint, **options)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "PAGE", 250)
    monkeypatch.setattr("rdf_kgeval.sources.pull.PAGE", 250)


@pytest.mark.parametrize(
    "fault",
    [
        faults.status(429, Retry_After="0"),
        faults.status(429, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"),
        faults.status(502),
        faults.status(503),
        faults.status(504),
        faults.truncated,
        faults.partial_results,
    ],
    ids=["429", "429-date", "502", "503", "504", "truncated", "partial"],
)
def test_a_passing_fault_ends_in_the_full_result(fault: Fault) -> None:
    server = FaultyStore(DATA, first(3, fault))
    assert lines(fetch(server)) == EXPECTED
    assert server.seen["faults"] == 3


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (faults.status(503), "answered 503 Service Unavailable (busy); try again later"),
        (faults.status(500), "answered 500 Internal Server Error (busy); ask for less"),
        (faults.status(403), "answered 403 Forbidden (busy); set KGEVAL_USER"),
        (faults.status(429, Retry_After="86400"), "answered 429"),
        (faults.truncated, "cut short or not SPARQL JSON"),
        (faults.wrong_type, "answered with text/csv instead of SPARQL results in JSON"),
        (faults.html_page, "(a page titled 'Maintenance'); check that the URL is a SPARQL endpoint"),
        (faults.partial_results, "ran out of its own time limit"),
    ],
)
def test_a_lasting_fault_is_one_sentence(tmp_path: Path, fault: Fault, message: str) -> None:
    server = FaultyStore(DATA, first(10**9, fault))
    with pytest.raises(EndpointError) as caught:
        fetch(server)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_dropped_connection() -> None:
    with faulty(DATA, first(3, faults.dropped)) as server:
        assert lines(fetch(server)) == EXPECTED
        assert server.seen["faults"] == 3
    with (
        faulty(DATA, first(10**9, faults.dropped)) as server,
        pytest.raises(EndpointError, match="dropped the connection"),
    ):
        fetch(server)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (faults.silent, "did not answer within 0.2 s"),
        (faults.dripping, "sent its answer too slowly"),
        (faults.dripping_headers, "sent its answer too slowly"),
        (faults.dripping_redirect, "sent its answer too slowly"),
        (faults.dripping_error, "answered 503"),
    ],
)
def test_a_server_that_never_answers_is_given_up(fault: Fault, message: str) -> None:
    with faulty(DATA, fault) as server, pytest.raises(EndpointError, match=message):
        fetch(server, patient(timeout=0.2, deadline=0.3))


@pytest.mark.parametrize(
    "fault",
    [
        first(2, faults.status(503, Retry_After="\xb2")),
        first(2, faults.status(503, Retry_After="Mon, 99 Xxx 99999 00:00:00")),
        faults.with_headers(X_SPARQL_MaxRows="\xb2"),
        faults.with_headers(X_SPARQL_MaxRows="0"),
        faults.with_headers(X_SPARQL_MaxRows="9" * 5000),
    ],
)
def test_headers_that_make_no_sense_are_ignored(fault: Fault) -> None:
    server = FaultyStore(DATA, fault)
    assert lines(fetch(server)) == EXPECTED


@pytest.mark.parametrize("location", ["http://127.0.0.1:99999/", "http://[::1/", "http://127.0.0.1:x/"])
def test_a_redirect_to_nowhere(location: str) -> None:
    with (
        faulty(DATA, faults.status(302, Location=location)) as server,
        pytest.raises(EndpointError, match="redirects to"),
    ):
        fetch(server)
    assert len(server.queries) == 1


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan"), 1e12])
@pytest.mark.parametrize("name", ["timeout", "deadline"])
def test_times_that_cannot_be_waited(name: str, seconds: float) -> None:
    with pytest.raises(InputError, match="is no time limit for an endpoint"):
        patient(**{name: seconds})


@pytest.mark.parametrize("code", [429, 503])
def test_a_busy_server_is_not_asked_for_more_and_smaller_pages(code: int) -> None:
    server = FaultyStore(DATA, first(10**9, faults.status(code)))
    with pytest.raises(EndpointError):
        fetch(server)
    assert sum(map(faults.is_page, server.queries)) == patient().attempts


def test_a_wait_beyond_the_limit_ends_at_once() -> None:
    fault = first(10**9, faults.status(504, Retry_After="86400"))
    server = FaultyStore(DATA, fault)
    with pytest.raises(EndpointError, match="answered 504"):
        fetch(server)
    assert sum(map(faults.is_page, server.queries)) == 1


@pytest.mark.parametrize("fault", [faults.status(500), faults.truncated, faults.partial_results])
def test_pages_that_are_too_much_for_a_server_shrink(fault: Fault) -> None:
    def overwhelmed(handler: faults.Handler, body: bytes) -> bool:
        if not faults.is_page(handler.query) or len(json.loads(body)["results"]["bindings"]) <= 100:
            return False
        return fault(handler, body)

    server = FaultyStore(DATA, overwhelmed)
    assert lines(fetch(server)) == EXPECTED


def test_errors_are_closed_between_tries() -> None:
    errors: list[urllib.error.HTTPError] = []

    class Spy(Endpoint):
        def _refusal(self, error: urllib.error.HTTPError, *, updating: bool) -> Exception:
            errors.append(error)
            return super()._refusal(error, updating=updating)

    server = FaultyStore(DATA, first(3, faults.status(503)))
    endpoint = Spy(server.url, Credentials(), patient(), transport=server)
    kgeval.pull_beliefs(server.url, endpoint=endpoint)
    assert len(errors) == 3
    assert all(error.closed for error in errors)


@pytest.mark.parametrize(
    "prologue",
    ["PREFIX e: <http://example.org/additional/>", "# delete what is old\n", "PREFIX load: <http://x/>"],
)
def test_a_query_is_never_taken_for_an_update(prologue: str) -> None:
    server = FaultyStore(DATA)
    endpoint = server.endpoint(patient())
    assert len(endpoint.select(f"{prologue} SELECT ?s {{ ?s ?p ?o }} LIMIT 1", ["s"]).rows) == 1


def test_retry_after_is_honoured() -> None:
    waits: list[float] = []
    server = FaultyStore(DATA, first(1, faults.status(429, Retry_After="7")))
    assert lines(fetch(server, patient(sleep=waits.append))) == EXPECTED
    assert waits == [7.0]


def header(server: faults.FaultyStore, name: str) -> set[str | None]:
    return {h.get(name) for h in server.headers_seen}


def test_digest() -> None:
    def challenge(handler: faults.Handler, body: bytes) -> bool:
        if "Digest" in handler.headers.get("Authorization", ""):
            return False
        handler.reply(
            b"", status=401, WWW_Authenticate='Digest realm="r", nonce="n", qop="auth", algorithm=MD5'
        )
        return True

    with faulty(DATA, challenge) as server:
        signed = server.endpoint(patient(), Credentials(user="ann", password="s3cret", digest=True))
        assert len(signed.select("SELECT ?s { ?s ?p ?o } LIMIT 1", ["s"]).rows) == 1
        assert not any("s3cret" in str(h) for h in server.headers_seen)
        with pytest.raises(
            EndpointError, match="answered 401 Unauthorized and asks for Digest; set KGEVAL_USER"
        ):
            server.endpoint(patient()).select("SELECT ?s { ?s ?p ?o } LIMIT 1", ["s"])


def test_a_redirect_never_carries_credentials_to_another_host() -> None:
    with faulty(DATA) as other:

        def elsewhere(handler: faults.Handler, body: bytes) -> bool:
            handler.reply(b"", status=307, Location=other.url.replace("127.0.0.1", "localhost"))
            return True

        with faulty(DATA, elsewhere) as server:
            endpoint = server.endpoint(patient(), Credentials(token="t0ken"))
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
        endpoint = server.endpoint(patient(), Credentials(token="t0ken"))
        query = "SELECT ?s { ?s ?p ?o } LIMIT 1" + " " * 2000
        assert len(endpoint.select(query, ["s"]).rows) == 1
        assert header(server, "Authorization") == {"Bearer t0ken"}


def test_an_endless_body_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rdf_kgeval.sources.endpoint.client._LONGEST_BODY", 10_000)
    server = FaultyStore(DATA)
    with pytest.raises(EndpointError, match="more than 1 GiB"):
        fetch(server)


def test_a_garbled_status_line() -> None:
    def garbled(handler: faults.Handler, body: bytes) -> bool:
        handler.wfile.write(b"\x00\x01 not http\r\n\r\n")
        return True

    with faulty(DATA, garbled) as server, pytest.raises(EndpointError, match="dropped the connection"):
        fetch(server)

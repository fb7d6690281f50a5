"""Credentials reach the server that they are for, and nobody else; URLs are checked and shown safely."""

from pathlib import Path

import pytest

from rdf_kgeval.common.http.credentials import is_redacted, redact
from rdf_kgeval.errors import EndpointError, InputError
from rdf_kgeval.pipeline import prepare
from rdf_kgeval.runs.create import Coupling
from rdf_kgeval.sources.endpoint.client import Credentials, Endpoint
from rdf_kgeval.sources.load import Sources
from rdf_kgeval.sources.scope import Scope
from tests.sources.endpoint.test_client import DATA, header, patient
from tests.support import faults
from tests.support.faults import FaultyStore, faulty

SELECT = "SELECT ?s { ?s ?p ?o } LIMIT 1"


def test_credentials_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    server = FaultyStore(DATA)
    monkeypatch.setenv("KGEVAL_USER", "ann")
    monkeypatch.setenv("KGEVAL_PASSWORD", "s3cret")
    Endpoint(server.url, transport=server).select("SELECT ?s { ?s ?p ?o } LIMIT 1", ["s"])
    assert header(server, "Authorization") == {"Basic YW5uOnMzY3JldA=="}
    server.headers_seen.clear()
    monkeypatch.setenv("KGEVAL_TOKEN", "t0ken")
    Endpoint(server.url, transport=server).select("SELECT ?s { ?s ?p ?o } LIMIT 1", ["s"])
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


@pytest.mark.parametrize("token", ["t0ken\r", "t0ken\n", "t0ken…", "t0 ken", "t0ken\x00"])
def test_a_token_that_no_header_can_hold(token: str) -> None:
    with pytest.raises(InputError, match="set KGEVAL_TOKEN again") as caught:
        Credentials.from_environment("http://h/", {"KGEVAL_TOKEN": token})
    assert "t0" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"user": "ann:x"},
        {"user": "ann", "password": "s3crét", "digest": True},
        {"user": "ann\n", "password": "s3cret", "digest": True},
    ],
)
def test_names_and_passwords_that_cannot_be_sent(options: dict[str, str]) -> None:
    with pytest.raises(InputError, match="KGEVAL_USER") as caught:
        Credentials(**options)  # type: ignore[arg-type]
    assert "s3cr" not in str(caught.value)


def test_a_bad_netrc_is_named_by_its_line_only(tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("machine x login bob password my hunter2\n")
    with pytest.raises(InputError, match=r"see line 2 or before in .*netrc; mend it") as caught:
        Credentials.from_environment("http://h/", {"NETRC": str(tmp_path / "netrc")})
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("name", ["KGEVAL_TOKEN", "KGEVAL_USER"])
def test_netrc_is_not_read_without_need(name: str, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("machine machine machine")
    Credentials.from_environment("http://h/", {"NETRC": str(tmp_path / "netrc"), name: "x"})


@pytest.mark.parametrize("place", ["http://localhost:{port}/sparql", "http://127.0.0.1:{port}/sparql"])
def test_a_redirect_to_another_server_is_refused(place: str) -> None:
    with faulty(DATA) as other:
        location = place.format(port=other.server_address[1])
        with faulty(DATA, faults.status(307, Location=location)) as server:
            endpoint = server.endpoint(patient(), Credentials(token="t0ken"))
            with pytest.raises(EndpointError, match="redirects to, if you trust it"):
                endpoint.select(SELECT, ["s"])
        assert other.queries == []


def test_a_redirect_to_another_scheme_is_refused() -> None:
    with faulty(DATA) as server:
        server.fault = faults.status(307, Location=server.url.replace("http:", "https:"))
        endpoint = server.endpoint(patient(), Credentials(token="t0ken"))
        with pytest.raises(EndpointError, match="redirects to, if you trust it"):
            endpoint.select(SELECT, ["s"])


@pytest.mark.parametrize(
    "challenge",
    [
        "Negotiate",
        'Bearer realm="x"',
        "Digest",
        "Digest realm=",
        'Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256',
        " ",
        'Basic realm="r"',
    ],
)
def test_digest_against_a_server_that_wants_something_else(challenge: str) -> None:
    with faulty(DATA, faults.status(401, WWW_Authenticate=challenge)) as server:
        endpoint = server.endpoint(patient(), Credentials(user="ann", password="s3cret", digest=True))
        with pytest.raises(EndpointError, match="answered 401 Unauthorized") as caught:
            endpoint.select(SELECT, ["s"])
    assert "\n" not in str(caught.value)
    if challenge.strip():
        assert f"asks for {challenge.split()[0]};" in str(caught.value)


def test_a_wrong_password_for_digest_ends_soon() -> None:
    with faulty(DATA, faults.status(401, WWW_Authenticate='Digest realm="r", nonce="n"')) as server:
        endpoint = server.endpoint(patient(), Credentials(user="ann", password="s3cret", digest=True))
        with pytest.raises(EndpointError, match="answered 401"):
            endpoint.select(SELECT, ["s"])
        assert len(server.queries) <= 3


@pytest.mark.parametrize("query", [SELECT, SELECT + " " * 2000])
def test_parameters_in_the_url_are_passed_on(query: str) -> None:
    paths: list[str] = []

    def look(handler: faults.Handler, body: bytes) -> bool:
        paths.append(handler.path)
        return False

    server = FaultyStore(DATA, look)
    endpoint = server.endpoint(patient(), part="?apikey=a%20b&timeout=1#part")
    assert len(endpoint.select(query, ["s"]).rows) == 1
    assert paths[0].startswith("/sparql?apikey=a%20b&timeout=1")
    assert "#" not in paths[0]


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://example.org/x", "starts with http:// or https://"),
        ("file:///etc/passwd", "starts with http:// or https://"),
        ("http://", "is not the URL of an endpoint"),
        ("http://ex ample.org/\x1b[31m", "is not the URL of an endpoint"),
        ("http://example.org:0x/", "is not the URL of an endpoint"),
        ("http://ann:s3cret@example.org/", "holds credentials"),
        ("http://example.org/é?apikey=s3cret", "has letters outside ASCII; write them percent-encoded"),
        ("htp://example.org/?apikey=s3cret", "is not the URL of an endpoint"),
    ],
)
def test_bad_urls(url: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Endpoint(url)
    assert "s3cret" not in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "part", ["?apikey=hunter2", "?pwd=hunter2", "?pass=hunter2", "?sig=hunter2&x=1", "#token=hunter2"]
)
def test_secrets_in_the_url_are_neither_shown_nor_saved(part: str, tmp_path: Path) -> None:
    assert "hunter2" not in redact(f"http://h/q{part}")
    assert is_redacted(redact(f"http://h/q{part}"))
    server = FaultyStore(DATA)
    sources = Sources(endpoint=server.endpoint(patient(), part=part), scope=Scope())
    prepare(tmp_path / "run", sources, Coupling())
    everything = b"".join(p.read_bytes() for p in (tmp_path / "run").rglob("*") if p.is_file())
    assert b"hunter2" not in everything


def test_harmless_parameters_are_shown() -> None:
    assert (
        redact("http://h/q?default-graph-uri=http://g&k=1") == "http://h/q?default-graph-uri=http://g&k=***"
    )
    assert not is_redacted(redact("http://h/q?default-graph-uri=http://g"))
    assert is_redacted(redact(f"http://h/{400 * 'q'}"))

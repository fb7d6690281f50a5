"""Imports are fetched over HTTP alone, whatever a server says."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from rdf_kgeval.common.http import fetch
from rdf_kgeval.errors import InputError


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, name, value = {
            "/there": (200, "Content-Type", "text/turtle; charset=utf-8"),
            "/file": (302, "Location", "file:///etc/passwd"),
            "/ftp": (302, "Location", "ftp://127.0.0.1/x"),
            "/moved": (302, "Location", "/there"),
        }.get(self.path, (404, "X-Nothing", "here"))
        self.send_response(status)
        self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"<a:> <b:> <c:> .")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_what_is_there(url: str) -> None:
    assert fetch.fetch_rdf(url + "/there") == (b"<a:> <b:> <c:> .", "text/turtle")
    assert fetch.fetch_rdf(url + "/moved")[0] == b"<a:> <b:> <c:> ."


def test_what_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for bad in ("file:///etc/passwd", "ftp://127.0.0.1/x", url + "/ftp"):
        with pytest.raises(InputError, match="is not an http or https IRI; give it as a file"):
            fetch.fetch_rdf(bad)
    for bad in (url + "/absent", url + "/file", "http://127.0.0.1:1/", "http://[/"):
        with pytest.raises(InputError, match=r"cannot be fetched \(.*\); give it as a file"):
            fetch.fetch_rdf(bad)
    monkeypatch.setattr(fetch, "_MAX_BYTES", 5)
    with pytest.raises(InputError, match="is larger than 64 MB"):
        fetch.fetch_rdf(url + "/there")

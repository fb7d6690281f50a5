"""A SPARQL endpoint over a pyoxigraph store that misbehaves as told."""

import io
import itertools
import json
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast

import pyoxigraph as ox

from rdf_kgeval.sources.endpoint.client import Credentials, Endpoint, RetryPolicy
from rdf_kgeval.sources.pull import SAMPLE

Fault = Callable[["Handler", bytes], bool]
"""Given the handler and the right body; answers itself and returns True, or returns False to go on."""


class FaultyStore:
    """The store, how it misbehaves, and what it was asked; it answers without a socket, as a transport.

    Its handler is that of a real server, on streams in memory.
    """

    url = "http://faulty.example/sparql"

    def __init__(self, data: bytes, fault: Fault = lambda *_: False) -> None:
        self.store = ox.Store()
        self.store.bulk_load(data, format=ox.RdfFormat.N_QUADS)
        self.fault = fault
        self.software = "faulty"
        self.queries: list[str] = []
        self.headers_seen: list[dict[str, str]] = []
        self.seen: Counter[str] = Counter()
        self.hang = threading.Event()

    def endpoint(
        self, retry: RetryPolicy | None = None, credentials: Credentials | None = None, part: str = ""
    ) -> Endpoint:
        """A client of this store."""
        return Endpoint(self.url + part, credentials or Credentials(), retry, transport=self)

    def open(self, request: urllib.request.Request, /, *, timeout: float) -> HTTPResponse:
        body = cast(bytes, request.data or b"")
        lines = [f"{request.get_method()} {request.selector} HTTP/1.1", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in request.header_items()]
        stream = _Stream("\r\n".join([*lines, "", ""]).encode() + body)
        Handler(stream, ("memory", 0), self)  # type: ignore[arg-type]
        response = HTTPResponse(_Stream(stream.sent), method=request.get_method())  # type: ignore[arg-type]
        response.begin()
        if response.status >= 300:
            raise urllib.error.HTTPError(
                request.full_url, response.status, response.reason, response.headers, response
            )
        return response


class _Stream:
    """What a handler and a response use of a socket."""

    def __init__(self, received: bytes) -> None:
        self._received = received
        self.sent = b""

    def makefile(self, *args: object) -> io.BytesIO:
        return io.BytesIO(self._received)

    def sendall(self, data: bytes) -> None:
        self.sent += data


class FaultyServer(FaultyStore, ThreadingHTTPServer):
    """The same behind a real socket, for what sockets do."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, data: bytes, fault: Fault) -> None:
        ThreadingHTTPServer.__init__(self, ("127.0.0.1", 0), Handler)
        FaultyStore.__init__(self, data, fault)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/sparql"

    def endpoint(
        self, retry: RetryPolicy | None = None, credentials: Credentials | None = None, part: str = ""
    ) -> Endpoint:
        return Endpoint(self.url + part, credentials or Credentials(), retry)


class Handler(BaseHTTPRequestHandler):
    server: FaultyStore  # type: ignore[assignment]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.answer(urllib.parse.urlsplit(self.path).query)

    def do_POST(self) -> None:
        self.answer(self.rfile.read(int(self.headers["Content-Length"])).decode())

    def answer(self, form: str) -> None:
        query = urllib.parse.parse_qs(form).get("query", [""])[0]
        self.server.queries.append(query)
        self.server.headers_seen.append(dict(self.headers))
        self.close_connection = True
        self.query = query
        try:
            body = self.evaluate(query)
        except SyntaxError as error:
            self.reply(str(error).encode(), status=400, kind="text/plain")
            return
        if not self.server.fault(self, body):
            self.reply(body)

    def evaluate(self, query: str) -> bytes:
        result = self.server.store.query(query, use_default_graph_as_union=True)
        return result.serialize(format=ox.QueryResultsFormat.JSON)

    def reply(
        self,
        body: bytes,
        *,
        status: int = 200,
        kind: str = "application/sparql-results+json",
        length: int | None = None,
        **headers: str,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.send_header("Connection", "close")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        return self.server.software

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def faulty(data: bytes, fault: Fault = lambda *_: False) -> Iterator[FaultyServer]:
    server = FaultyServer(data, fault)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.hang.set()
        server.shutdown()
        server.server_close()
        thread.join()


def is_page(query: str) -> bool:
    """Tell the queries that fetch triples from those that count or sample."""
    return "LIMIT" in query and "COUNT" not in query and f"LIMIT {SAMPLE} " not in query


def first(n: int, fault: Fault) -> Fault:
    """Misbehave for the first n pages only."""

    def limited(handler: Handler, body: bytes) -> bool:
        if not is_page(handler.query) or handler.server.seen["faults"] >= n:
            return False
        handler.server.seen["faults"] += 1
        return fault(handler, body)

    return limited


def status(code: int, **headers: str) -> Fault:
    def fault(handler: Handler, body: bytes) -> bool:
        handler.reply(b"busy", status=code, kind="text/plain", **headers)
        return True

    return fault


def dropped(handler: Handler, body: bytes) -> bool:
    handler.reply(body[: len(body) // 2], length=len(body))
    return True


def truncated(handler: Handler, body: bytes) -> bool:
    handler.reply(body[: len(body) // 2])
    return True


def wrong_type(handler: Handler, body: bytes) -> bool:
    handler.reply(body, kind="text/csv")
    return True


def html_page(handler: Handler, body: bytes) -> bool:
    handler.reply(b"<html><head><title>Maintenance</title></head></html>", kind="text/html")
    return True


def partial_results(handler: Handler, body: bytes) -> bool:
    handler.reply(body, X_SQL_State="S1TAT")
    return True


def silent(handler: Handler, body: bytes) -> bool:
    handler.server.hang.wait(60)
    return True


def dripping(handler: Handler, body: bytes) -> bool:
    handler.send_response(200)
    handler.send_header("Content-Type", "application/sparql-results+json")
    handler.end_headers()
    for i in range(len(body)):
        if handler.server.hang.is_set():
            break
        handler.wfile.write(body[i : i + 1])
        handler.wfile.flush()
        time.sleep(0.05)
    return True


def at_most(rows: int, *, said: bool) -> Fault:
    """Cut every SELECT to some rows, with or without Virtuoso's header."""

    def fault(handler: Handler, body: bytes) -> bool:
        if "COUNT" in handler.query and "GROUP BY" not in handler.query:
            return False
        limited = f"SELECT * WHERE {{ {{ {handler.query} }} }} LIMIT {rows}"
        cut = handler.evaluate(limited)
        if len(json.loads(body)["results"]["bindings"]) <= rows:
            return False
        handler.reply(cut, **({"X_SPARQL_MaxRows": str(rows)} if said else {}))
        return True

    return fault


def _drip(handler: Handler) -> bool:
    while not handler.server.hang.wait(0.02):
        try:
            handler.wfile.write(b"a")
            handler.wfile.flush()
        except OSError:
            break
    return True


def dripping_headers(handler: Handler, body: bytes) -> bool:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-A: ")
    return _drip(handler)


def dripping_error(handler: Handler, body: bytes) -> bool:
    handler.send_response(503)
    handler.end_headers()
    return _drip(handler)


def dripping_redirect(handler: Handler, body: bytes) -> bool:
    handler.send_response(302)
    handler.send_header("Location", "/moved")
    handler.end_headers()
    return _drip(handler)


def with_headers(**headers: str) -> Fault:
    """The right answer, with more headers."""

    def fault(handler: Handler, body: bytes) -> bool:
        handler.reply(body, **headers)
        return True

    return fault


def edited(edit: Callable[[str], str]) -> Fault:
    """The right answer, but for its text."""

    def fault(handler: Handler, body: bytes) -> bool:
        handler.reply(edit(body.decode()).encode())
        return True

    return fault


class CuttingProxy(ThreadingHTTPServer):
    """Stands before a real server and cuts connections as told.

    `cut` is given the number of each request with a body, from 0 on, and says what to do with it: None passes
    it on, "before" drops it, "half" passes half of its body on, "after" passes it on and drops the answer.
    A proxy that `dies` is dead from the first cut on.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, upstream: str, cut: Callable[[int], str | None], dies: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Relay)
        self.dies = dies
        parts = urllib.parse.urlsplit(upstream)
        self.upstream = (parts.hostname or "", parts.port or 80)
        self.cut = cut
        self.numbers = itertools.count()
        self.down = False

    def url(self, of: str) -> str:
        """The address of an upstream URL by way of the proxy."""
        return urllib.parse.urlsplit(of)._replace(netloc=f"127.0.0.1:{self.server_address[1]}").geturl()


class _Relay(BaseHTTPRequestHandler):
    server: CuttingProxy
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.relay(b"", None)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.relay(body, self.server.cut(next(self.server.numbers)))

    def relay(self, body: bytes, cut: str | None) -> None:
        self.close_connection = True
        dead = self.server.down
        self.server.down = dead or (self.server.dies and cut is not None)
        if dead or cut == "before":
            return
        head = f"{self.command} {self.path} HTTP/1.1\r\n"
        kept = ((k, v) for k, v in self.headers.items() if k.lower() != "connection")
        head += "".join(f"{k}: {v}\r\n" for k, v in kept) + "Connection: close\r\n\r\n"
        with socket.create_connection(self.server.upstream) as upstream:
            upstream.sendall(head.encode() + (body[: len(body) // 2] if cut == "half" else body))
            if cut == "half":
                return
            answer = b"".join(iter(lambda: upstream.recv(1 << 16), b""))
        if cut is None:
            self.wfile.write(answer)

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def cutting(
    upstream: str, cut: Callable[[int], str | None] = lambda _: None, *, dies: bool = False
) -> Iterator[CuttingProxy]:
    server = CuttingProxy(upstream, cut, dies)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

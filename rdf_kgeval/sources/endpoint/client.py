"""SPARQL protocol client.

SPARQLWrapper builds the requests, and our own transport sends them: SPARQLWrapper installs an opener for the
whole process when it does Digest, and follows redirects to other hosts with the credentials.
"""

import email.utils
import http.client
import random
import re
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rdf_kgeval.common.http.credentials import Credentials as Credentials
from rdf_kgeval.common.http.credentials import redact
from rdf_kgeval.common.http.transport import DeadlineError, TimedRequest, Transport, make_opener
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import EndpointError, IncompleteError, InputError
from rdf_kgeval.sources.endpoint.quirks import is_partial, row_limit
from rdf_kgeval.sources.endpoint.results import Row, read_rows

T = TypeVar("T")

_BUSY = {429, 502, 503}
_AGENT = "rdf-kgeval (https://w3id.org/rdf-kgeval)"
_LONGEST_GET = 1500
_LONGEST_BODY = 1 << 30
_USUAL_DEADLINE, _LONGEST_TIME = 600.0, 86_400.0


@dataclass(frozen=True)
class SelectResult:
    """The rows of one response."""

    rows: list[Row]
    skipped: list[str]
    """Rows left out because of a term that is not valid RDF, as JSON."""
    limit: int | None
    """The server's own limit on rows, where it names one."""


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """Time limits and retries."""

    timeout: float = 60.0
    """Seconds until a silent connection is given up."""
    deadline: float | None = None
    """Seconds for one whole response; None for ten minutes, or the timeout where that is longer."""
    attempts: int = 5
    """Tries for one request when the server is busy or the connection drops."""
    silent_attempts: int = 2
    """Tries for one request when the server does not answer at all."""
    backoff: float = 1.0
    """Seconds before the first retry; doubled, with jitter, for each further one."""
    longest_wait: float = 300.0
    """The longest Retry-After that is honoured."""
    rate: float | None = None
    """The most requests in a second; None for no limit."""
    sleep: Callable[[float], None] = time.sleep
    """Waits; tests replace it."""

    def __post_init__(self) -> None:
        for seconds in (self.timeout, self.limit):
            if not 0 < seconds <= _LONGEST_TIME:
                raise InputError(
                    f"{seconds:g} seconds is no time limit for an endpoint; give more than 0 and at most "
                    f"{_LONGEST_TIME:,.0f}"
                )
        if self.rate is not None and not 0 < self.rate <= 1000:
            raise InputError(f"{self.rate:g} requests in a second is no limit; give for example 2")

    @property
    def limit(self) -> float:
        """Return the seconds that one whole response may take."""
        return max(_USUAL_DEADLINE, self.timeout) if self.deadline is None else self.deadline


@dataclass
class Traffic:
    """Counts of requests and of bytes received."""

    requests: int = 0
    received: int = 0
    """Bytes of the answers."""


_UPDATE = "application/sparql-update"
_NO_UPDATES = (404, 405, 406, 410, 415, 501)
"""What servers answer where an update is not what they expect."""


def _is_update(request: urllib.request.Request) -> bool:
    return (request.get_header("Content-type") or "").startswith(_UPDATE)


class Endpoint:
    """A SPARQL endpoint, for queries or for updates; several threads may use it."""

    def __init__(
        self,
        url: str,
        credentials: Credentials | None = None,
        retry: RetryPolicy | None = None,
        remedy: str = "ask for less with --predicate or --scope",
        transport: Transport | None = None,
    ) -> None:
        """Prepare a client; nothing is sent yet.

        Args:
            url: where queries or updates go.
            credentials: by default those of the environment.
            retry: time limits and retries.
            remedy: what a user can do when the endpoint fails, for messages.
            transport: sends the requests; by default over HTTP.
        """
        _check_url(url)
        self._remedy = remedy
        self.url = url
        self.server = ""
        """The Server header of the last response."""
        self.retry = retry or RetryPolicy()
        self._credentials = Credentials.from_environment(url) if credentials is None else credentials
        self._transport = transport or make_opener(url, self._credentials)
        self._reached = False
        self.traffic = Traffic()
        self._next_at = 0.0
        self._turn = threading.Lock()

    @property
    def name(self) -> str:
        """The URL without secrets, to be shown and saved."""
        return redact(self.url)

    def select(self, query: str, variables: Sequence[str]) -> SelectResult:
        """Send a SELECT and return its rows, each with the terms of `variables` in that order."""

        def ask() -> SelectResult:
            self._wait_for_turn()  # before the request is made, because its deadline starts then
            headers, body = self._fetch(self._request(query))
            with self._turn:
                self.traffic.received += len(body)
            return self._parse(headers, body, variables)

        return self._patiently(ask)

    def update(self, text: str, *, once: bool = False) -> None:
        """Send an update; with `once`, never send it a second time.

        Raises:
            IncompleteError: no answer came, so that the update may or may not have been done.
            EndpointError: the endpoint refused it.
        """
        self._patiently(lambda: self._fetch(self._update_request(text)), most=1 if once else None)

    def _patiently(self, action: Callable[[], T], most: int | None = None) -> T:
        """Retry while a fault may pass, `most` times at most."""
        attempt = 0
        while True:
            attempt += 1
            try:
                return action()
            except _PassingError as trouble:
                attempts = self.retry.silent_attempts if trouble.silent else self.retry.attempts
                attempts = min(attempts, most or attempts)
                if trouble.wait > self.retry.longest_wait or (trouble.busy and attempt >= attempts):
                    raise EndpointError(f"{self.name} {trouble}") from trouble
                if attempt >= attempts:
                    raise IncompleteError(f"{self.name} {trouble}") from trouble
                pause = self.retry.backoff * 2 ** (attempt - 1) * random.uniform(0.5, 1.0)  # noqa: S311
                self.retry.sleep(max(pause, trouble.wait))

    def _wait_for_turn(self) -> None:
        """Wait until the rate limit allows the next request."""
        with self._turn:
            self.traffic.requests += 1
            begin = max(time.monotonic(), self._next_at)
            self._next_at = begin + (1 / self.retry.rate if self.retry.rate else 0.0)
        if begin > time.monotonic():
            self.retry.sleep(begin - time.monotonic())

    def _fetch(self, request: urllib.request.Request) -> tuple[http.client.HTTPMessage, bytes]:
        try:
            with self._transport.open(request, timeout=self.retry.timeout) as response:
                self._reached = True
                self.server = response.headers.get("Server", "")
                return response.headers, self._read(response)
        except urllib.error.HTTPError as error:
            self._reached = True
            with error:
                raise self._refusal(error, updating=_is_update(request)) from error
        except ValueError as error:
            # The URL, the query and the credentials were checked, so the fault is the server's Location.
            raise EndpointError(
                f"{self.name} redirects to an address that is not a URL; check that it is a SPARQL endpoint"
            ) from error
        except (http.client.HTTPException, OSError) as error:
            raise self._failure(error) from error

    def _request(self, query: str) -> urllib.request.Request:
        url = urllib.parse.urlsplit(self.url)
        bare = url._replace(query="", fragment="").geturl()
        # Imported here, because it loads all of rdflib, which reading a file does not need.
        from SPARQLWrapper import GET, JSON, POST, SELECT, SPARQLWrapper

        wrapper = SPARQLWrapper(bare, agent=_AGENT)
        # setQuery guesses the type, and takes a prefix or a comment for an update.
        wrapper.queryString, wrapper.queryType = query, SELECT
        wrapper.setReturnFormat(JSON)
        wrapper.setOnlyConneg(True)
        wrapper.setMethod(GET if len(query) <= _LONGEST_GET else POST)
        made: urllib.request.Request = wrapper._createRequest()
        parameters = "&".join(filter(None, (url.query, urllib.parse.urlsplit(made.full_url).query)))
        request = TimedRequest(
            url._replace(query=parameters, fragment="").geturl(),
            made.data,
            method=made.get_method(),
            deadline=time.monotonic() + self.retry.limit,
        )
        for name, value in made.header_items():
            request.add_header(name, value)
        return self._signed(request)

    def _update_request(self, text: str) -> urllib.request.Request:
        deadline = time.monotonic() + self.retry.limit
        request = TimedRequest(self.url, text.encode(), method="POST", deadline=deadline)
        request.add_header("Content-Type", f"{_UPDATE}; charset=utf-8")
        request.add_header("User-Agent", _AGENT)
        return self._signed(request)

    def _signed(self, request: urllib.request.Request) -> urllib.request.Request:
        if self._credentials.authorization:
            request.add_unredirected_header("Authorization", self._credentials.authorization)
        return request

    def _read(self, response: http.client.HTTPResponse) -> bytes:
        parts: list[bytes] = []
        size = 0
        while part := response.read1(1 << 20):
            parts.append(part)
            size += len(part)
            if size > _LONGEST_BODY:
                raise IncompleteError(f"{self.name} sent more than 1 GiB for one page; {self._remedy}")
        if response.length:
            raise http.client.IncompleteRead(b"", response.length)
        return b"".join(parts)

    def _refusal(self, error: urllib.error.HTTPError, *, updating: bool) -> Exception:
        try:
            said = _first_line(error.read(10_000))
        except (OSError, http.client.HTTPException):
            said = ""
        what = f"answered {error.code} {printable(str(error.reason), 60)}{said}"
        if error.code in _BUSY or error.code == 504:
            return _PassingError(
                f"{what}; try again later or {self._remedy}",
                wait=_retry_after(error.headers.get("Retry-After")),
                busy=error.code in _BUSY,
            )
        if error.code in (401, 403):
            asked = error.headers.get("WWW-Authenticate", "").split()
            how = f" and asks for {printable(asked[0], 40)}" if asked else ""
            return EndpointError(
                f"{self.name} {what}{how}; set KGEVAL_USER and KGEVAL_PASSWORD "
                "(with KGEVAL_AUTH=digest for Digest) or KGEVAL_TOKEN"
            )
        if updating and error.code in _NO_UPDATES:
            return EndpointError(
                f"{self.name} {what}: this address takes no updates; name the one that does with "
                "--update-endpoint"
            )
        if error.code in (404, 405, 410):
            return EndpointError(f"{self.name} {what}; check that the URL is a SPARQL endpoint")
        if 300 <= error.code < 400:
            return EndpointError(f"{self.name} {what}; give the URL that it redirects to, if you trust it")
        if error.code >= 500:
            return IncompleteError(f"{self.name} {what}; {self._remedy}")
        return EndpointError(f"{self.name} {what}; check the URL, --graph and --scope")

    def _failure(self, error: Exception) -> Exception:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(reason, DeadlineError):
            return _PassingError("sent its answer too slowly; is it overloaded?", silent=True)
        if isinstance(reason, TimeoutError):
            seconds = f"{self.retry.timeout:g} s"
            return _PassingError(
                f"did not answer within {seconds}; is it up, and the URL right?", silent=True
            )
        if not self._reached and isinstance(reason, (ConnectionRefusedError, socket.gaierror)):
            return EndpointError(
                f"no server answers at {self.name} ({printable(str(reason))}); check the URL and that it runs"
            )
        return _PassingError(
            f"dropped the connection ({printable(str(reason) or type(reason).__name__, 200)})"
        )

    def _parse(self, headers: http.client.HTTPMessage, body: bytes, variables: Sequence[str]) -> SelectResult:
        if is_partial(headers):
            raise _PassingError(
                f"ran out of its own time limit and sent only a part of the rows; {self._remedy}"
            )
        kind = headers.get_content_type()
        if "json" not in kind:
            raise EndpointError(
                f"{self.name} answered with {printable(kind, 80)} instead of SPARQL results in JSON"
                f"{_first_line(body)}; check that the URL is a SPARQL endpoint"
            )
        try:
            rows, skipped = read_rows(body, variables)
        except ValueError as error:
            raise _PassingError("sent results that are cut short or not SPARQL JSON") from error
        return SelectResult(rows, skipped, row_limit(headers))


class _PassingError(Exception):
    """A fault that may pass, so that a retry is worthwhile."""

    def __init__(self, message: str, *, wait: float = 0.0, silent: bool = False, busy: bool = False) -> None:
        super().__init__(message)
        self.wait = wait
        self.silent = silent
        self.busy = busy
        """Whether the server is overloaded, so that smaller, more numerous pages would make it worse."""


def _check_url(url: str) -> None:
    try:
        parts = urllib.parse.urlsplit(url)
        port_is_valid = parts.port != 0
    except ValueError:
        parts, port_is_valid = urllib.parse.urlsplit(""), False
    if parts.username or parts.password:
        raise InputError(
            "the endpoint's URL holds credentials, which would end up in logs; "
            "remove them and set KGEVAL_USER and KGEVAL_PASSWORD"
        )
    bad = any(c.isspace() or not c.isprintable() for c in url)
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_valid or bad:
        shown = printable(re.split("[?#]", url)[0], 200)
        raise InputError(f"{shown!r} is not the URL of an endpoint; it starts with http:// or https://")
    if not url.isascii():
        raise InputError(f"{redact(url)} has letters outside ASCII; write them percent-encoded")


def _retry_after(value: str | None) -> float:
    if not value:
        return 0.0
    if re.fullmatch("[0-9]+", value.strip()):
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0


def _first_line(body: bytes) -> str:
    """Shorten a server's message so that it fits in a sentence."""
    text = " ".join(body[:10_000].decode("utf-8", "replace").split())
    if text[:1] == "<":
        title = re.search(r"<title[^>]*>([^<]*)", text, re.IGNORECASE)
        text = f"a page titled {title[1].strip()!r}" if title else "a page of markup"
    return f" ({printable(text, 160)})" if text else ""

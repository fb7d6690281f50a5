"""SPARQL protocol client: the only outbound network.

SPARQLWrapper builds the requests. They are sent by an opener of our own, because SPARQLWrapper's installs
one for the whole process when it does Digest, and follows redirects to other hosts with the credentials.
"""

import base64
import email.utils
import http.client
import json
import netrc
import os
import random
import re
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyoxigraph as ox
from SPARQLWrapper import GET, JSON, POST, SPARQLWrapper

from rdf_kgeval.errors import EndpointError, IncompleteError, InputError
from rdf_kgeval.terms import json_term
from rdf_kgeval.text import printable

Row = tuple[str | None, ...]

_RETRIED = {429, 502, 503, 504}
_LONGEST_GET = 1500
_LONGEST_BODY = 1 << 30
_SECRET_WORDS = ("key", "token", "secret", "password", "passwd", "auth")


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """How to sign requests; never shown, logged or saved."""

    user: str = field(default="", repr=False)
    """User name for Basic or Digest."""
    password: str = field(default="", repr=False)
    """Password for Basic or Digest."""
    token: str = field(default="", repr=False)
    """Bearer token; it wins over user and password."""
    digest: bool = False
    """Use Digest instead of Basic."""

    @classmethod
    def from_environment(cls, url: str, environ: Mapping[str, str] = os.environ) -> "Credentials":
        """Read KGEVAL_TOKEN, or KGEVAL_USER and KGEVAL_PASSWORD, or the host's entry in netrc.

        KGEVAL_AUTH=digest asks for Digest instead of Basic.
        """
        kind = environ.get("KGEVAL_AUTH", "basic").lower()
        if kind not in ("basic", "digest"):
            raise InputError(f"KGEVAL_AUTH is {printable(kind)!r}; set it to basic or digest")
        user, password = environ.get("KGEVAL_USER", ""), environ.get("KGEVAL_PASSWORD", "")
        if not user:
            user, password = _from_netrc(urllib.parse.urlsplit(url).hostname or "", environ)
        return cls(
            user=user, password=password, token=environ.get("KGEVAL_TOKEN", ""), digest=kind == "digest"
        )


def _from_netrc(host: str, environ: Mapping[str, str]) -> tuple[str, str]:
    try:
        found = netrc.netrc(environ.get("NETRC")).authenticators(host)
    except FileNotFoundError:
        return "", ""
    except (netrc.NetrcParseError, OSError) as error:
        raise InputError(
            f"the netrc file cannot be read ({printable(str(error))}); mend or remove it"
        ) from error
    return (found[0] or "", found[2] or "") if found else ("", "")


@dataclass(frozen=True)
class Answer:
    """The rows of one response."""

    rows: list[Row]
    """One N-Triples term per variable, None where unbound."""
    skipped: int
    """Rows left out because a term in them is not valid RDF."""
    limit: int | None
    """The server's own limit on rows, where it names one."""


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long to wait and how often to try again."""

    timeout: float = 60.0
    """Seconds until a silent connection is given up."""
    deadline: float = 600.0
    """Seconds for one response in all."""
    attempts: int = 5
    """Tries for one request when the server is busy or the connection drops."""
    silent_attempts: int = 2
    """Tries for one request when the server does not answer at all."""
    backoff: float = 1.0
    """Seconds before the second try; doubled, with jitter, for each further one."""
    longest_wait: float = 300.0
    """The longest Retry-After that is honoured."""
    sleep: Callable[[float], None] = time.sleep
    """Waits; tests replace it."""


class Endpoint:
    """A SPARQL query endpoint."""

    def __init__(
        self, url: str, credentials: Credentials | None = None, patience: Patience | None = None
    ) -> None:
        _check_url(url)
        self.url = url
        self.server = ""
        self._patience = patience or Patience()
        self._credentials = Credentials.from_environment(url) if credentials is None else credentials
        self._opener = _opener(url, self._credentials)
        self._reached = False

    @property
    def name(self) -> str:
        """The URL, fit to be shown and saved."""
        return redact(self.url)

    def select(self, query: str, variables: Sequence[str]) -> Answer:
        """Send a SELECT and return its rows, each with the terms of `variables` in that order."""
        attempt = 0
        while True:
            attempt += 1
            try:
                headers, body = self._fetch(query)
                return self._parse(headers, body, variables)
            except _PassingError as trouble:
                last = attempt >= (
                    self._patience.silent_attempts if trouble.silent else self._patience.attempts
                )
                if last or trouble.wait > self._patience.longest_wait:
                    raise IncompleteError(f"{self.name} {trouble}") from trouble
                pause = self._patience.backoff * 2 ** (attempt - 1) * random.uniform(0.5, 1.0)  # noqa: S311
                self._patience.sleep(max(pause, trouble.wait))

    def _fetch(self, query: str) -> tuple[http.client.HTTPMessage, bytes]:
        request = self._request(query)
        deadline = time.monotonic() + self._patience.deadline
        try:
            with self._opener.open(request, timeout=self._patience.timeout) as response:
                self._reached = True
                self.server = response.headers.get("Server", "")
                return response.headers, _read(response, deadline)
        except urllib.error.HTTPError as error:
            self._reached = True
            raise self._refusal(error) from error
        except (TimeoutError, urllib.error.URLError, http.client.HTTPException, OSError) as error:
            raise self._failure(error) from error

    def _request(self, query: str) -> urllib.request.Request:
        wrapper = SPARQLWrapper(self.url, agent="rdf-kgeval (https://w3id.org/rdf-kgeval)")
        wrapper.setQuery(query)
        wrapper.setReturnFormat(JSON)
        wrapper.setOnlyConneg(True)
        wrapper.setMethod(GET if len(query) <= _LONGEST_GET else POST)
        request: urllib.request.Request = wrapper._createRequest()
        c = self._credentials
        if c.token:
            request.add_unredirected_header("Authorization", f"Bearer {c.token}")
        elif c.user and not c.digest:
            pair = base64.b64encode(f"{c.user}:{c.password}".encode()).decode()
            request.add_unredirected_header("Authorization", f"Basic {pair}")
        return request

    def _refusal(self, error: urllib.error.HTTPError) -> Exception:
        try:
            said = _first_line(error.read(10_000))
        except (OSError, http.client.HTTPException):
            said = ""
        what = f"answered {error.code} {printable(str(error.reason), 60)}{said}"
        if error.code in _RETRIED:
            return _PassingError(
                f"{what}; try again later or ask for less with --predicate or --scope",
                wait=_retry_after(error.headers.get("Retry-After")),
            )
        if error.code in (401, 403):
            return EndpointError(
                f"{self.name} {what}; set KGEVAL_USER and KGEVAL_PASSWORD "
                "(with KGEVAL_AUTH=digest for Digest) or KGEVAL_TOKEN"
            )
        if error.code in (404, 405, 410):
            return EndpointError(f"{self.name} {what}; check that the URL is a SPARQL endpoint")
        if 300 <= error.code < 400:
            return EndpointError(f"{self.name} {what}; give the URL that it redirects to, if you trust it")
        if error.code >= 500:
            return IncompleteError(f"{self.name} {what}; ask for less with --predicate or --scope")
        return EndpointError(f"{self.name} {what}; check the URL, --graph and --scope")

    def _failure(self, error: Exception) -> Exception:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(reason, TimeoutError):
            seconds = f"{self._patience.timeout:g} s"
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

    def _parse(self, headers: http.client.HTTPMessage, body: bytes, variables: Sequence[str]) -> Answer:
        if "S1TAT" in headers.get("X-SQL-State", ""):
            raise _PassingError(
                "ran out of its own time limit and sent only a part of the rows; "
                "ask for less with --predicate or --scope"
            )
        kind = headers.get_content_type()
        if "json" not in kind:
            raise EndpointError(
                f"{self.name} answered with {printable(kind, 80)} instead of SPARQL results in JSON"
                f"{_first_line(body)}; check that the URL is a SPARQL endpoint"
            )
        limit = headers.get("X-SPARQL-MaxRows", "")
        rows, skipped = _rows(body, variables)
        return Answer(rows, skipped, int(limit) if limit.strip().isdigit() else None)


class _PassingError(Exception):
    """A fault that may pass."""

    def __init__(self, message: str, *, wait: float = 0.0, silent: bool = False) -> None:
        super().__init__(message)
        self.wait = wait
        self.silent = silent


def redact(url: str) -> str:
    """A URL without what may be a secret in its query, fit to be shown and saved."""
    parts = urllib.parse.urlsplit(url)
    pairs = urllib.parse.parse_qsl(parts.query, keep_blank_values=True)
    if not any(word in name.lower() for name, _ in pairs for word in _SECRET_WORDS):
        return printable(url, 300)
    kept = [(n, "***" if any(w in n.lower() for w in _SECRET_WORDS) else v) for n, v in pairs]
    return printable(parts._replace(query=urllib.parse.urlencode(kept, safe="*:/")).geturl(), 300)


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
        raise InputError(
            f"{printable(url, 200)!r} is not the URL of an endpoint; it starts with http:// or https://"
        )


def _opener(url: str, credentials: Credentials) -> urllib.request.OpenerDirector:
    handlers: list[urllib.request.BaseHandler] = [_SameHostRedirect()]
    if credentials.user and credentials.digest and not credentials.token:
        passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
        passwords.add_password(None, url, credentials.user, credentials.password)
        handlers.append(urllib.request.HTTPDigestAuthHandler(passwords))
    return urllib.request.build_opener(*handlers)


class _SameHostRedirect(urllib.request.HTTPRedirectHandler):
    """Follows a redirect on the same host, with method, body and credentials; refuses any other."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        old, new = urllib.parse.urlsplit(req.full_url), urllib.parse.urlsplit(newurl)
        upgraded = (old.scheme, new.scheme) == ("http", "https") and old.port is None and new.port is None
        if old.hostname != new.hostname or not (upgraded or (old.scheme, old.port) == (new.scheme, new.port)):
            return None
        headers = {k: v for k, v in req.header_items() if k.lower() not in ("host", "content-length")}
        again = urllib.request.Request(newurl, req.data, {}, method=req.get_method())  # noqa: S310
        for name, value in headers.items():
            again.add_unredirected_header(name, value)
        return again


def _read(response: http.client.HTTPResponse, deadline: float) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := response.read1(1 << 20):
        parts.append(part)
        size += len(part)
        if size > _LONGEST_BODY:
            raise _PassingError("sent more than 1 GiB for one page", wait=float("inf"))
        if time.monotonic() > deadline:
            raise _PassingError("sent its answer too slowly", silent=True)
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(parts)


def _retry_after(value: str | None) -> float:
    if not value:
        return 0.0
    if value.strip().isdigit():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return 0.0


def _first_line(body: bytes) -> str:
    """What a server said, cut to something that fits in a sentence."""
    text = " ".join(body[:10_000].decode("utf-8", "replace").split())
    if text[:1] == "<":
        title = re.search(r"<title[^>]*>([^<]*)", text, re.IGNORECASE)
        text = f"a page titled {title[1].strip()!r}" if title else "a page of markup"
    return f" ({printable(text, 160)})" if text else ""


def _rows(body: bytes, variables: Sequence[str]) -> tuple[list[Row], int]:
    rows = _strict_rows(body, variables)
    return _tolerant_rows(body, variables) if rows is None else (rows, 0)


def _strict_rows(body: bytes, variables: Sequence[str]) -> list[Row] | None:
    # A function of its own, because pyoxigraph's solutions must not outlive their thread in a traceback.
    try:
        solutions = ox.parse_query_results(body, format=ox.QueryResultsFormat.JSON)
        if not isinstance(solutions, ox.QuerySolutions):
            return None
        at = [solutions.variables.index(ox.Variable(v)) for v in variables]
        return [tuple(_text(solution[i]) for i in at) for solution in solutions]
    except (SyntaxError, ValueError):
        return None


def _text(term: Any) -> str | None:
    return None if term is None else str(term)


def _tolerant_rows(body: bytes, variables: Sequence[str]) -> tuple[list[Row], int]:
    """Parse rows where the strict parser fails: stores hand out invalid IRIs and blank node labels."""
    try:
        bindings = json.loads(body)["results"]["bindings"]
        rows: list[Row] = []
        for binding in bindings:
            try:
                rows.append(tuple(json_term(binding[v]) if v in binding else None for v in variables))
            except ValueError:
                continue
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _PassingError("sent results that are cut short or not SPARQL JSON") from error
    return rows, len(bindings) - len(rows)

"""HTTP with one deadline over a whole answer, and with credentials that stay at their host."""

import http.client
import io
import socket
import time
import urllib.parse
import urllib.request
from functools import partial
from typing import Any, Protocol

from rdf_kgeval.common.http.credentials import Credentials


class DeadlineError(TimeoutError):
    """An answer kept coming, but not fast enough."""


class TimedRequest(urllib.request.Request):
    """A request whose answer, redirects included, must be read until a deadline."""

    def __init__(self, url: str, data: Any, *, method: str, deadline: float) -> None:
        super().__init__(url, data, method=method)
        self.deadline = deadline


class Transport(Protocol):
    """Sends requests, as an opener of urllib does."""

    def open(self, request: urllib.request.Request, /, *, timeout: float) -> http.client.HTTPResponse:
        """Send a request and return the response, its body unread.

        Raises:
            urllib.error.HTTPError: the status is not a success.
            OSError, http.client.HTTPException: no response came.
        """


def make_opener(url: str, credentials: Credentials) -> urllib.request.OpenerDirector:
    """Make an opener for TimedRequests to one endpoint."""
    handlers: list[urllib.request.BaseHandler] = [_SameHostRedirect(), _Http(), _Https()]
    if credentials.by_digest:
        passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
        passwords.add_password(None, url, credentials.user, credentials.password)
        handlers.append(_Digest(passwords))
    return urllib.request.build_opener(*handlers)


class _TimedReader(io.RawIOBase):
    """Reads from a socket, each time waiting no longer than what is left."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, deadline: float) -> None:
        self._raw = raw
        self._sock = sock
        self._silence = sock.gettimeout()
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise DeadlineError
        self._sock.settimeout(left if self._silence is None else min(left, self._silence))
        try:
            return self._raw.readinto(buffer)
        except TimeoutError as error:
            if time.monotonic() < self._deadline:
                raise
            raise DeadlineError from error

    def close(self) -> None:
        self._raw.close()
        super().close()


class _TimedResponse(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, deadline: float, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp = io.BufferedReader(_TimedReader(self.fp.detach(), sock, deadline))


class _Http(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_connect, http.client.HTTPConnection, req), req)


class _Https(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_connect, http.client.HTTPSConnection, req), req)


def _connect(
    kind: type[http.client.HTTPConnection], request: urllib.request.Request, *args: Any, **options: Any
) -> http.client.HTTPConnection:
    assert isinstance(request, TimedRequest)  # noqa: S101
    connection = kind(*args, **options)
    connection.response_class = partial(_TimedResponse, deadline=request.deadline)  # type: ignore[assignment]
    return connection


class _SameHostRedirect(urllib.request.HTTPRedirectHandler):
    """Follows a redirect on the same host, with method, body and credentials; refuses any other."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        old, new = urllib.parse.urlsplit(req.full_url), urllib.parse.urlsplit(newurl)
        upgraded = (old.scheme, new.scheme) == ("http", "https") and old.port is None and new.port is None
        if old.hostname != new.hostname or not (upgraded or (old.scheme, old.port) == (new.scheme, new.port)):
            return None
        assert isinstance(req, TimedRequest)  # noqa: S101
        again = TimedRequest(newurl, req.data, method=req.get_method(), deadline=req.deadline)
        for name, value in req.header_items():
            if name.lower() not in ("host", "content-length"):
                again.add_unredirected_header(name, value)
        return again


class _Digest(urllib.request.HTTPDigestAuthHandler):
    """Leaves a challenge that it cannot meet unanswered, so that the 401 is reported as any other."""

    retried: int

    def http_error_401(self, req: Any, fp: Any, code: int, msg: str, headers: Any) -> Any:
        try:
            return super().http_error_401(req, fp, code, msg, headers)
        except (ValueError, IndexError):
            return None
        finally:
            self.reset_retry_count()

    def http_error_auth_reqed(self, auth_header: str, host: str, req: Any, headers: Any) -> Any:
        return None if self.retried > 1 else super().http_error_auth_reqed(auth_header, host, req, headers)

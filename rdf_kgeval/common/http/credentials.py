"""Credentials for an endpoint: taken from the environment or netrc, and never shown; URLs without secrets."""

import base64
import ipaddress
import netrc
import os
import unicodedata
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field

from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError

_HIDDEN = "***"
# Names of hosts that mean something else, or nothing, on another machine (RFC 6761, 6762, 8375, 9476).
_LOCAL = {"localhost", "local", "internal", "intranet", "lan", "home", "corp", "private", "arpa", "test"}
# What these parameters say is no secret.
_HARMLESS = {"default-graph-uri", "named-graph-uri", "timeout", "format", "output", "infer", "reasoning"}


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

    def __post_init__(self) -> None:
        if not _is_plain(self.token) or " " in self.token:
            raise InputError(
                "the token holds a space, a line break or a letter outside ASCII, which no header may hold; "
                "set KGEVAL_TOKEN again"
            )
        if ":" in self.user and not self.digest:
            raise InputError("a user name for Basic holds no colon; set KGEVAL_USER again")
        if self.digest and not _is_plain(self.user + self.password):
            raise InputError(
                "Digest needs a user name and password of printable ASCII characters; "
                "set KGEVAL_USER and KGEVAL_PASSWORD again"
            )

    @property
    def by_digest(self) -> bool:
        """Tell whether requests are signed by Digest, which needs a challenge first."""
        return self.digest and bool(self.user) and not self.token

    @property
    def authorization(self) -> str | None:
        """Return the Authorization header, where it can be made without a challenge."""
        if self.token:
            return f"Bearer {self.token}"
        if self.user and not self.digest:
            return "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        return None

    @classmethod
    def from_environment(cls, url: str, environ: Mapping[str, str] = os.environ) -> "Credentials":
        """Read KGEVAL_TOKEN, or KGEVAL_USER and KGEVAL_PASSWORD, or the host's entry in netrc.

        KGEVAL_AUTH=digest asks for Digest instead of Basic.
        """
        kind = environ.get("KGEVAL_AUTH", "basic").lower()
        if kind not in ("basic", "digest"):
            raise InputError(f"KGEVAL_AUTH is {printable(kind)!r}; set it to basic or digest")
        token = environ.get("KGEVAL_TOKEN", "")
        user, password = environ.get("KGEVAL_USER", ""), environ.get("KGEVAL_PASSWORD", "")
        if not user and not token:
            user, password = _from_netrc(urllib.parse.urlsplit(url).hostname or "", environ)
        return cls(user=user, password=password, token=token, digest=kind == "digest")


def redact(url: str) -> str:
    """Hide what may be a secret in the query or fragment of a URL, so that it can be shown and saved."""
    parts = urllib.parse.urlsplit(url)
    pairs = urllib.parse.parse_qsl(parts.query, keep_blank_values=True)
    kept = [(name, value if name.lower() in _HARMLESS else _HIDDEN) for name, value in pairs]
    shown = parts._replace(
        query=urllib.parse.urlencode(kept, safe="*:/"), fragment=_HIDDEN if parts.fragment else ""
    )
    return printable(shown.geturl(), 300)


def is_redacted(url: str) -> bool:
    """Tell whether a URL can no longer be requested: a secret in it was hidden, or its end was cut off."""
    return _HIDDEN in url or url.endswith("…")


def is_public(address: str) -> bool:
    """Tell whether an address may be published: nothing of it is secret, and other machines know its host.

    An IRI that names no host, such as a URN, is public.

    >>> is_public("https://dbpedia.org/sparql"), is_public("http://localhost:7878/query"), is_public("urn:x")
    (True, False, True)
    """
    try:
        parts = urllib.parse.urlsplit(address)
        host = unicodedata.normalize("NFKC", parts.hostname or "").rstrip(".")
    except ValueError:
        return False
    if is_redacted(address) or "@" in parts.netloc:
        return False
    return not parts.netloc or _is_public_host(host)


def _is_public_host(host: str) -> bool:
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        last = host.rpartition(".")[2]
        # A last part that begins with a digit is another spelling of an address, such as 127.1 or 0x7f.1.
        return "." in host and last not in _LOCAL and not last[:1].isdigit()
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_global


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _from_netrc(host: str, environ: Mapping[str, str]) -> tuple[str, str]:
    try:
        found = netrc.netrc(environ.get("NETRC")).authenticators(host)
    except FileNotFoundError:
        return "", ""
    except netrc.NetrcParseError as error:
        # Its message quotes the word that it stopped at, which may be the password.
        where = f"line {error.lineno} or before in {printable(str(error.filename))}"
        raise InputError(
            f"the netrc file cannot be read: see {where}; mend it, and let nobody but you read it"
        ) from None
    except UnicodeDecodeError:
        raise InputError("the netrc file cannot be read: it is not text; mend or remove it") from None
    except OSError as error:
        raise InputError(f"the netrc file cannot be read: {error.strerror}; mend or remove it") from error
    return (found[0] or "", found[2] or "") if found else ("", "")

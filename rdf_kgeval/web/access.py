"""Let people in by personal links, whose tokens follow from a secret of the run."""

import base64
import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rdf_kgeval.common.disk import read_plain
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError, RunError
from rdf_kgeval.runs.layout import RunLayout

OWNER = ""
"""The name under which the owner's link is kept; no annotator has it."""


@dataclass(frozen=True)
class Access:
    """The people who may come in, and the secret behind their links."""

    secret: bytes
    names: tuple[str, ...]

    def token(self, name: str) -> str:
        """Return the token of a person's link; it stays the same as long as the run keeps its secret."""
        return self._sign("token", name)

    def name_of(self, token: str) -> str | None:
        """Return the person whose token this is; None for an unknown token."""
        return self._digests.get(_digest(token))

    @cached_property
    def _digests(self) -> dict[bytes, str]:
        # Looked up by digest: how long a comparison of tokens takes must not tell how much of one is right.
        return {_digest(self.token(name)): name for name in (OWNER, *self.names)}

    def form_key(self, name: str) -> str:
        """Return the key in a person's forms, without which other sites cannot send them."""
        return self._sign("form", name)

    def owns_form(self, name: str, key: str) -> bool:
        """Return whether a form is the person's own."""
        return hmac.compare_digest(self.form_key(name).encode(), key.encode("utf-8", "replace"))

    def _sign(self, use: str, name: str) -> str:
        digest = hmac.digest(self.secret, f"{use}\n{name}".encode(), "sha256")
        return base64.urlsafe_b64encode(digest[:24]).decode()


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def open_access(run: Path, names: Iterable[str]) -> Access:
    """Let people into a run; makes the run's secret if there is none yet.

    Raises:
        InputError: a name is empty, not printable, too long or there twice.
        RunError: the secret cannot be read or written.
    """
    names = tuple(names)
    for name in names:
        if not name.strip() or not name.isprintable() or len(name) > 60 or names.count(name) > 1:
            raise InputError(
                f"{printable(name, 60)!r} cannot name an annotator; give each a name of its own of up to 60 "
                "printable characters"
            )
    path = RunLayout(run).web_secret
    try:
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            secret = read_plain(path)
        else:
            secret = secrets.token_bytes(32)
            with os.fdopen(handle, "wb") as file:
                file.write(secret)
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        raise RunError(
            f"{printable(str(path))} cannot be used: {error.strerror}; remove it, and new links are made"
        ) from error
    if len(secret) != 32:
        raise RunError(f"{printable(str(path))} is damaged; remove it, and new links are made")
    return Access(secret, names)

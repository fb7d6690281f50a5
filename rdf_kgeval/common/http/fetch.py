"""Fetch an RDF document over HTTP, only when the user asks for it: of `owl:imports`, or a file by its URL."""

import urllib.error
import urllib.request
from http.client import HTTPException

from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError

_TIMEOUT = 30
_MAX_BYTES = 64 << 20
_ACCEPT = "text/turtle, application/rdf+xml;q=0.9, application/n-triples;q=0.9"


class _OnlyHttp(urllib.request.HTTPRedirectHandler):
    """Follows no redirect out of HTTP."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):  # type: ignore[no-untyped-def]
        _refuse_other_schemes(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetch_rdf(iri: str, noun: str = "import") -> tuple[bytes, str]:
    """Fetch the bytes and media type of a document; messages call it by the noun.

    Raises:
        InputError: it is not an http(s) IRI, cannot be fetched or is too large.
    """
    _refuse_other_schemes(iri)
    try:
        request = urllib.request.Request(iri, headers={"Accept": _ACCEPT})  # noqa: S310
        with urllib.request.build_opener(_OnlyHttp).open(request, timeout=_TIMEOUT) as response:
            data = response.read(_MAX_BYTES + 1)
            media_type = response.headers.get_content_type()
    except (OSError, HTTPException, ValueError, urllib.error.URLError) as error:
        raise InputError(
            f"the {noun} {printable(iri)} cannot be fetched ({printable(str(error), 120)}); give it as a file"
        ) from error
    if len(data) > _MAX_BYTES:
        raise InputError(f"the {noun} {printable(iri)} is larger than 64 MB; give it as a file")
    return data, media_type


def _refuse_other_schemes(iri: str) -> None:
    if not iri.lower().startswith(("http://", "https://")):
        raise InputError(f"the import {printable(iri)} is not an http or https IRI; give it as a file")

"""Open RDF files: choose the format, unpack, hash, and refuse hostile content."""

import codecs
import gzip
import hashlib
import io
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import urlsplit
from xml.parsers import expat

import pyoxigraph as ox

from rdf_kgeval.common.http.fetch import fetch_rdf
from rdf_kgeval.common.progress import Progress
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError

STDIN = Path("-")
"""The path that means standard input."""

FORMATS = {
    ".ttl": ox.RdfFormat.TURTLE,
    ".n3": ox.RdfFormat.N3,
    ".nt": ox.RdfFormat.N_TRIPLES,
    ".nq": ox.RdfFormat.N_QUADS,
    ".trig": ox.RdfFormat.TRIG,
    ".rdf": ox.RdfFormat.RDF_XML,
    ".xml": ox.RdfFormat.RDF_XML,
    ".owl": ox.RdfFormat.RDF_XML,
    ".jsonld": ox.RdfFormat.JSON_LD,
}
"""The RDF format of each suffix."""

_BUFFER = 1 << 20
_LONG_NAMES = {"turtle": "ttl", "ntriples": "nt", "nquads": "nq", "rdfxml": "rdf"}


def display_name(path: Path) -> str:
    """Return a path as it is safe to show."""
    return "standard input" if path == STDIN else printable(str(path))


def check_files(*paths: Path) -> None:
    """Raise an error for a file that is not there, before others take time."""
    for path in paths:
        if path != STDIN and not path.exists():
            raise InputError(f"{display_name(path)} cannot be read: No such file or directory")


def syntax_message(name: str, rdf_format: ox.RdfFormat, error: SyntaxError) -> str:
    """Describe a syntax error, and where it is, in one sentence."""
    said = printable((error.msg or "").split(": ", 1)[-1], 200)
    if "LoadDocumentCallback" in said:
        return (
            f"{name} uses a remote JSON-LD context, which is never fetched; write the context into the file"
        )
    remedy = "write IRIs in full or add @base" if "No scheme found" in said else "correct it"
    where = f"{name}, line {error.lineno}" if error.lineno else name
    return f"{where}: not valid {rdf_format.name}: {said}; {remedy}"


def _format(path: Path, format_: str | None, name: str) -> ox.RdfFormat:
    if format_ is not None:
        short = _LONG_NAMES.get(format_.lower(), format_.lower())
        found = ox.RdfFormat.from_media_type(format_) or ox.RdfFormat.from_extension(short)
        if found is None:
            raise InputError(
                f"{printable(format_)!r} is not an RDF format; try ttl, nt, nq, trig, rdf or jsonld"
            )
        return found
    suffixes = [s for s in path.suffixes if s != ".gz"]
    suffix = suffixes[-1].lower() if suffixes else ""
    found = FORMATS.get(suffix) or ox.RdfFormat.from_extension(suffix[1:])
    if found is None:
        raise InputError(
            f"the format of {name} cannot be told from its name; "
            "add --format ttl, nt, nq, trig, rdf or jsonld"
        )
    return found


def has_rdf_suffix(url: str) -> bool:
    """Return whether a URL names a file of RDF by its ending, gzipped or not.

    >>> has_rdf_suffix("http://example.org/kg.nt.gz"), has_rdf_suffix("http://example.org/sparql")
    (True, False)
    """
    suffixes = [suffix for suffix in _url_path(url).suffixes if suffix != ".gz"]
    return bool(suffixes) and suffixes[-1].lower() in FORMATS


def fetch_file(url: str, folder: Path) -> Path:
    """Fetch a file from the web into a folder, under its own name.

    Raises:
        InputError: it cannot be fetched or is too large.
    """
    data, _ = fetch_rdf(url, "file")
    file = folder / _url_path(url).name
    file.write_bytes(data)
    return file


def _url_path(url: str) -> Path:
    return Path(urlsplit(url).path)


class _Digested(io.RawIOBase):
    """A file that is hashed and counted while it is read."""

    def __init__(self, file: IO[bytes], tell: Callable[[int], None]) -> None:
        self._file = file
        self._tell = tell
        self._size = 0
        self.digest = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        self.digest.update(data)
        self._size += len(data)
        self._tell(self._size)
        return len(data)


class _WellFormed(io.RawIOBase):
    """An XML file that expat checks first.

    pyoxigraph accepts a file that is cut off between two elements, and expands entities until memory runs
    out; expat does neither.
    """

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file
        self._expat = expat.ParserCreate()
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        if not self._ended:
            check_xml(self._expat, data)
        self._ended = not data
        buffer[: len(data)] = data
        return len(data)


def check_xml(parser: expat.XMLParserType, data: bytes) -> None:
    """Check the next part of an XML file; empty data is its end. SyntaxError where it is not well-formed."""
    try:
        parser.Parse(data, not data)
    except expat.ExpatError as error:
        raise SyntaxError(expat.ErrorString(error.code), (None, error.lineno, error.offset, None)) from error
    except (LookupError, ValueError) as error:
        raise SyntaxError("its encoding is not known", (None, 1, 0, None)) from error


@contextmanager
def opened(
    path: Path, format_: str | None, progress: Progress
) -> Iterator[tuple[io.BufferedReader, ox.RdfFormat, "hashlib._Hash"]]:
    """Open a file, unpacked if it is gzipped; the digest is that of the bytes on disk."""
    name = display_name(path)
    rdf_format = _format(path, format_, name)
    try:
        with nullcontext(sys.stdin.buffer) if path == STDIN else path.open("rb") as raw:
            size = None if path == STDIN else path.stat().st_size
            digested = _Digested(raw, lambda done: progress(name, done, size))
            file: io.BufferedReader = io.BufferedReader(digested, _BUFFER)
            if file.peek(2)[:2] == b"\x1f\x8b":
                file = io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=file)), _BUFFER)
            if file.peek(3)[:3] == codecs.BOM_UTF8:
                file.read(3)
            if rdf_format == ox.RdfFormat.RDF_XML:
                file = io.BufferedReader(_WellFormed(file), _BUFFER)
            yield file, rdf_format, digested.digest
    except SyntaxError as error:
        raise InputError(syntax_message(name, rdf_format, error)) from error
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InputError(
            f"{name} is not a whole gzip file ({printable(str(error))}); pack it again"
        ) from error
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or printable(str(error), 200)}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text; RDF files are") from error
    except MemoryError as error:
        raise InputError(
            f"{name} holds a term of more than 16 MB, which cannot be read; shorten it"
        ) from error

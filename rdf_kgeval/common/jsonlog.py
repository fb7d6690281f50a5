"""Append-only logs of JSON lines that lose no record.

A record is acknowledged only after it is on disk; a process that dies in the middle of writing leaves a torn
last line, which was never acknowledged and is cut off when the log is opened again.
"""

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from rdf_kgeval.common.disk import read_plain
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import RunError

R = TypeVar("R")


class JsonLog(Generic[R]):
    """A log opened for appending by one process at a time.

    Args:
        path: made if absent.
        noun: what a record is called in messages.
        read: makes a record of a JSON object.
        write: makes a JSON object of a record.

    Raises:
        RunError: another process has it open, it is damaged, or it cannot be written.
    """

    def __init__(
        self, path: Path, noun: str, read: Callable[[dict[str, Any]], R], write: Callable[[R], dict[str, Any]]
    ) -> None:
        self._path = path
        self._noun = noun
        self._write = write
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise self._trouble(error) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            raise RunError(
                f"another kgeval is taking {noun}s into {printable(str(path))}; wait for it to end"
            ) from error
        try:
            data = _read(path)
            self.records, self._size = _parse(data, path, noun, read)
            self._cut()
            if self._size and data[self._size - 1 : self._size] != b"\n":
                self._add(b"\n")
        except BaseException:
            self.close()
            raise

    def append(self, *records: R) -> None:
        """Write records, all or none of them; when this returns, they are on disk."""
        lines = b"".join(
            json.dumps(self._write(record), ensure_ascii=False, sort_keys=True).encode() + b"\n"
            for record in records
        )
        self._add(lines)
        self.records += records

    def _add(self, lines: bytes) -> None:
        try:
            written = 0
            while written < len(lines):
                written += os.write(self._file, lines[written:])
            os.fsync(self._file)
        except OSError as error:
            self._cut()
            raise self._trouble(error) from error
        self._size += len(lines)

    def _cut(self) -> None:
        """Cut off what follows the last whole record."""
        try:
            if os.fstat(self._file).st_size != self._size:
                os.ftruncate(self._file, self._size)
                os.fsync(self._file)
        except OSError as error:
            raise self._trouble(error) from error

    def _trouble(self, error: OSError) -> RunError:
        return RunError(
            f"{printable(str(self._path))} cannot be written: {error.strerror}; "
            f"{self._noun}s acknowledged so far are safe"
        )

    def close(self) -> None:
        """Release the log for other processes."""
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_records(path: Path, noun: str, read: Callable[[dict[str, Any]], R]) -> list[R]:
    """Read all whole records of a log; an absent log has none."""
    return _parse(_read(path), path, noun, read)[0]


def _read(path: Path) -> bytes:
    try:
        return read_plain(path)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise RunError(f"{printable(str(path))} cannot be read: {error.strerror}") from error


def _parse(data: bytes, path: Path, noun: str, read: Callable[[dict[str, Any]], R]) -> tuple[list[R], int]:
    """Return the whole records, and the bytes that they take; a torn last line does not count.

    A last record that lacks only its line feed is whole: it may have been acknowledged.
    """
    records: list[R] = []
    size = 0
    *lines, last = data.split(b"\n")
    if _is_whole(last):
        lines.append(last)
    for number, line in enumerate(lines, start=1):
        try:
            records.append(read(json.loads(line)))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise RunError(
                f"{printable(str(path))}, line {number} is not a {noun}; restore the file from a copy, or "
                "take the line out to go on without it"
            ) from error
        size += len(line) + 1
    return records, min(size, len(data))


def _is_whole(line: bytes) -> bool:
    """Tell damage from the torn line that a process leaves when it dies while writing."""
    text = line.decode(errors="replace").lstrip("\0")
    if not text.startswith("{"):
        return bool(text)
    try:
        return bool(json.JSONDecoder().raw_decode(text))
    except (ValueError, RecursionError):
        return False

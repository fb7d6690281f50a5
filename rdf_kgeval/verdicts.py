"""Verdicts: what people said of beliefs, in an append-only log that loses none.

The log is JSON lines. A line is acknowledged only after it is on disk; a process that dies in the middle of
writing leaves a torn last line, which was never acknowledged and is cut off when the log is opened again.
"""

import fcntl
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any

from rdf_kgeval.errors import RunError
from rdf_kgeval.fieldtypes import checked
from rdf_kgeval.plainfiles import read_plain
from rdf_kgeval.text import printable


class Answer(StrEnum):
    """What a person can say of a belief."""

    TRUE = "true"
    FALSE = "false"
    AMBIGUOUS = "ambiguous"


NOT_ASKED, FALSE, TRUE, AMBIGUOUS = -1, 0, 1, 2
"""What is known of a belief from its verdicts, as arrays hold it."""


class Drawn(StrEnum):
    """How a belief came to be asked."""

    SEED = "seed"
    CONTROL = "control"
    SAMPLE = "sample"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One answer of one annotator."""

    belief: str
    """The belief's whole id."""
    answer: Answer
    annotator: str
    time: str
    """ISO 8601, in UTC."""
    drawn: Drawn = Drawn.CONTROL
    probability: float | None = None
    """With what probability the belief was drawn, where it was."""
    workers: int | None = None
    """How many annotators the belief was to be shown to, where that is not the run's own number."""
    expert: bool | None = None
    """Whether the annotator decides what others could not."""


@dataclass(frozen=True, kw_only=True)
class Retraction:
    """An annotator takes the last answer on a belief back."""

    retract: str
    """The belief's whole id."""
    annotator: str
    time: str


Record = Verdict | Retraction


def belief_of(record: Record) -> str:
    """The id of the belief that a record is about."""
    return record.belief if isinstance(record, Verdict) else record.retract


def now() -> str:
    """The time, as the log keeps it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def standing(records: Iterable[Record]) -> list[Verdict]:
    """The verdicts that nobody took back, in order; an annotator's later answer on a belief replaces."""
    verdicts: dict[tuple[str, str], Verdict] = {}
    for record in records:
        verdicts.pop((belief_of(record), record.annotator), None)
        if isinstance(record, Verdict):
            verdicts[record.belief, record.annotator] = record
    return list(verdicts.values())


def read_log(path: Path) -> list[Record]:
    """All whole records of a log; none where there is no log yet."""
    return _parse(_read(path), path)[0]


class VerdictLog:
    """A log opened for appending by one process at a time.

    Raises:
        RunError: another process has it open, it is damaged, or it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise self._trouble(error) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            raise RunError(
                f"another kgeval is taking verdicts into {printable(str(path))}; wait for it to end"
            ) from error
        try:
            data = _read(path)
            self.records, self._size = _parse(data, path)
            self._cut()
            if self._size and data[self._size - 1 : self._size] != b"\n":
                self._write(b"\n")
        except BaseException:
            self.close()
            raise

    def append(self, *records: Record) -> None:
        """Write records, all or none of them; when this returns, they are on disk."""
        lines = b"".join(
            json.dumps(_to_json(record), ensure_ascii=False, sort_keys=True).encode() + b"\n"
            for record in records
        )
        self._write(lines)
        self.records += records

    def _write(self, lines: bytes) -> None:
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
        """Take off what follows the last whole record."""
        try:
            if os.fstat(self._file).st_size != self._size:
                os.ftruncate(self._file, self._size)
                os.fsync(self._file)
        except OSError as error:
            raise self._trouble(error) from error

    def _trouble(self, error: OSError) -> RunError:
        return RunError(
            f"{printable(str(self._path))} cannot be written: {error.strerror}; "
            "verdicts acknowledged so far are safe"
        )

    def close(self) -> None:
        """Let other processes have the log."""
        os.close(self._file)

    def __enter__(self) -> "VerdictLog":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _read(path: Path) -> bytes:
    try:
        return read_plain(path)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise RunError(f"{printable(str(path))} cannot be read: {error.strerror}") from error


def _parse(data: bytes, path: Path) -> tuple[list[Record], int]:
    """The whole records, and the bytes that they take; a torn last line is none.

    A last record that lacks only its line feed is whole: it may have been acknowledged.
    """
    records: list[Record] = []
    size = 0
    *lines, last = data.split(b"\n")
    if _is_whole(last):
        lines.append(last)
    for number, line in enumerate(lines, start=1):
        try:
            records.append(_from_json(json.loads(line)))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise RunError(
                f"{printable(str(path))}, line {number} is not a verdict; restore the file from a copy, or "
                "take the line out to go on without it"
            ) from error
        size += len(line) + 1
    return records, min(size, len(data))


def _is_whole(line: bytes) -> bool:
    """Whether a line without its end is more than a process leaves that dies while it writes."""
    text = line.decode(errors="replace").lstrip("\0")
    if not text.startswith("{"):
        return bool(text)
    try:
        return bool(json.JSONDecoder().raw_decode(text))
    except (ValueError, RecursionError):
        return False


def _to_json(record: Record) -> dict[str, Any]:
    return {name: value for name, value in asdict(record).items() if value is not None}


def _from_json(value: dict[str, Any]) -> Record:
    if "retract" in value:
        return checked(Retraction(**value))
    return checked(Verdict(**{**value, "answer": Answer(value["answer"]), "drawn": Drawn(value["drawn"])}))

"""Keep verdicts, people's answers on beliefs, in an append-only log."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from rdf_kgeval.common.jsonlog import JsonLog, read_records
from rdf_kgeval.common.text import printable, web_address
from rdf_kgeval.common.validation import checked, fits
from rdf_kgeval.errors import InputError

LONGEST_NOTE = 1_000
"""Characters of the longest note."""
LONGEST_SOURCE = 2_000
"""Characters of the longest source."""


class Answer(StrEnum):
    """An answer on a belief."""

    TRUE = "true"
    FALSE = "false"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """An answer, with what the annotator says beside it."""

    answer: Answer
    note: str | None = None
    """A remark in the annotator's words."""
    source: str | None = None
    """The address of a web page on which the annotator relies."""


NOT_ASKED, FALSE, TRUE, AMBIGUOUS = -1, 0, 1, 2
"""Outcomes of the verdicts on a belief, as numbers in arrays."""


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
    """The probability with which the belief was drawn, where it was drawn at random."""
    workers: int | None = None
    """The number of annotators for the belief, where it differs from the run's."""
    expert: bool | None = None
    """Whether the annotator decides what others could not."""
    note: str | None = None
    """The annotator's remark."""
    source: str | None = None
    """The address of the web page on which the annotator relies."""


@dataclass(frozen=True, kw_only=True)
class Retraction:
    """An annotator's withdrawal of the last answer on a belief."""

    retract: str
    """The belief's whole id."""
    annotator: str
    time: str


LogRecord = Verdict | Retraction


def checked_note(text: str | None) -> str | None:
    """Return a note as the log keeps it; None for an empty one.

    Raises:
        InputError: it is too long, or no text that a file can hold.
    """
    note = "\n".join((text or "").splitlines()).strip()
    if not fits(note, str):
        raise InputError("the note holds characters that no file can hold; write it anew")
    if len(note) > LONGEST_NOTE:
        raise InputError(f"the note has {len(note):,} characters; shorten it to {LONGEST_NOTE:,}")
    return note or None


def checked_source(text: str | None) -> str | None:
    """Return a source as the log keeps it; None for an empty one.

    Raises:
        InputError: it is too long, or not the address of a web page.
    """
    source = (text or "").strip()
    if len(source) > LONGEST_SOURCE:
        raise InputError(
            f"the source has {len(source):,} characters; give an address of at most {LONGEST_SOURCE:,}"
        )
    if source and not (fits(source, str) and web_address(source)):
        raise InputError(
            f"the source {printable(source, 100)!r} is not the address of a web page; "
            "give one that starts with http:// or https:// and holds no space and no password"
        )
    return source or None


def belief_of(record: LogRecord) -> str:
    """Return the id of the belief that a record is about."""
    return record.belief if isinstance(record, Verdict) else record.retract


def now() -> str:
    """Return the time, as the log keeps it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def standing(records: Iterable[LogRecord]) -> list[Verdict]:
    """List each annotator's last verdict on each belief, without those taken back, in order."""
    verdicts: dict[tuple[str, str], Verdict] = {}
    for record in records:
        verdicts.pop((belief_of(record), record.annotator), None)
        if isinstance(record, Verdict):
            verdicts[record.belief, record.annotator] = record
    return list(verdicts.values())


def read_log(path: Path) -> list[LogRecord]:
    """Read all whole records of a log; none where there is no log yet."""
    return read_records(path, _NOUN, _from_json)


class VerdictLog(JsonLog[LogRecord]):
    """A log opened for appending by one process at a time.

    Raises:
        RunError: another process has it open, it is damaged, or it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, _NOUN, _from_json, _to_json)


_NOUN = "verdict"


def _to_json(record: LogRecord) -> dict[str, Any]:
    return {name: value for name, value in asdict(record).items() if value is not None}


def _from_json(value: dict[str, Any]) -> LogRecord:
    if "retract" in value:
        return checked(Retraction(**value))
    return checked(Verdict(**{**value, "answer": Answer(value["answer"]), "drawn": Drawn(value["drawn"])}))

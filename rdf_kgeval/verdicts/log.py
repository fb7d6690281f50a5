"""Verdicts: what people said of beliefs, in an append-only log that loses none."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from rdf_kgeval.common.jsonlog import JsonLog, read_records
from rdf_kgeval.common.validation import checked


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


LogRecord = Verdict | Retraction


def belief_of(record: LogRecord) -> str:
    """The id of the belief that a record is about."""
    return record.belief if isinstance(record, Verdict) else record.retract


def now() -> str:
    """The time, as the log keeps it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def standing(records: Iterable[LogRecord]) -> list[Verdict]:
    """The verdicts that nobody took back, in order; an annotator's later answer on a belief replaces."""
    verdicts: dict[tuple[str, str], Verdict] = {}
    for record in records:
        verdicts.pop((belief_of(record), record.annotator), None)
        if isinstance(record, Verdict):
            verdicts[record.belief, record.annotator] = record
    return list(verdicts.values())


def read_log(path: Path) -> list[LogRecord]:
    """All whole records of a log; none where there is no log yet."""
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

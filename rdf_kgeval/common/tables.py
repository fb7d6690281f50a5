"""Tables that users write: CSV whose first line names the columns."""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from rdf_kgeval.common.disk import read_text
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError


def read_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield where each row is, for messages, and its cells by column, without spaces around them.

    Raises:
        InputError: the file cannot be read, is not CSV, or lacks a column.
    """
    name = printable(str(path))
    rows = csv.DictReader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        missing = [column for column in columns if column not in (rows.fieldnames or ())]
        if missing:
            raise InputError(
                f"{name}, line 1: the column {missing[0]} is missing; the columns are {', '.join(columns)}"
            )
        for row in rows:
            yield f"{name}, line {rows.line_num}", {column: (row[column] or "").strip() for column in columns}
    except csv.Error as error:
        raise InputError(f"{name}, line {rows.line_num}: not valid CSV: {error}; correct it") from error

"""Oracles: where verdicts come from."""

import csv
from pathlib import Path

from rdf_kgeval.beliefs import Triple
from rdf_kgeval.errors import InputError
from rdf_kgeval.terms import iri_term, parse_term
from rdf_kgeval.text import printable

_COLUMNS = ("subject", "predicate", "object", "label")
_LABELS = {"1": True, "true": True, "0": False, "false": False}


def read_gold(path: Path) -> dict[Triple, bool]:
    """Read a CSV file with the columns subject, predicate, object and label.

    Terms are plain IRIs or N-Triples terms; a label is 1, 0, true or false, or empty where there is none.
    """
    name = printable(str(path))
    gold: dict[Triple, bool] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, strict=True)
            missing = [c for c in _COLUMNS if c not in (rows.fieldnames or ())]
            if missing:
                raise InputError(
                    f"{name}, line 1: the column {missing[0]} is missing; "
                    f"the columns are {', '.join(_COLUMNS)}"
                )
            for row in rows:
                where = f"{name}, line {rows.line_num}"
                label = (row["label"] or "").strip().lower()
                if not label:
                    continue
                if label not in _LABELS:
                    raise InputError(f"{where}: the label {printable(label, 40)!r} is not 1 or 0; correct it")
                s, p, o = (_term(row[c], where) for c in _COLUMNS[:3])
                if gold.setdefault((s, p, o), _LABELS[label]) != _LABELS[label]:
                    raise InputError(f"{where}: the same triple has another label above; keep one of them")
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text; save it as UTF-8") from error
    except csv.Error as error:
        raise InputError(f"{name}, line {rows.line_num}: not valid CSV: {error}; correct it") from error
    return gold


def _term(text: str | None, where: str) -> str:
    text = (text or "").strip()
    try:
        return str(parse_term(text)) if text.startswith(("<", "_:", '"')) else iri_term(text)
    except (SyntaxError, ValueError, InputError) as error:
        raise InputError(
            f"{where}: {printable(text, 120)!r} is neither an IRI nor an N-Triples term; correct it"
        ) from error

"""`config.json`, and how damage to a run directory is noticed.

It has the SHA-256 of every file that never changes, and a check sum of itself.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rdf_kgeval.common.arrays import damaged
from rdf_kgeval.common.disk import read_plain, replacing, sha256_of, sync
from rdf_kgeval.common.text import printable
from rdf_kgeval.common.validation import fits
from rdf_kgeval.errors import RunError
from rdf_kgeval.runs.layout import RunLayout

FORMAT = 2
_SHAPE: dict[str, Any] = {
    "files": list[dict[str, str]],
    "endpoint": str | None,
    "scope": {"predicates": list[str], "graph": str | None, "query": str | None},
    "labels": {"properties": list[str], "lang": str},
    "notes": list[str],
    "memory_limit": int | None,
    "sha256": dict[str, str],
}
"""Of `config.json`, what commands count on."""


def read_config(folder: Path) -> dict[str, Any]:
    """Read `config.json` and check it.

    Raises:
        RunError: there is none, or it was changed.
    """
    name, path = printable(str(folder)), RunLayout(folder).config
    try:
        config = json.loads(read_plain(path))
        version = config["version"]
        whole = version != FORMAT or (
            fits(config, _SHAPE)
            and all({"path", "role", "sha256"} <= file.keys() for file in config["files"])
            and all(folder / Path(file).parts[0] in RunLayout(folder).parts for file in config["sha256"])
            and config.pop("check") == _check_sum(config)
        )
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RunError(f"{name} is not a run directory; make one with kgeval init {name} FILE") from error
    except OSError as error:
        raise damaged(path, error.strerror or "it cannot be read") from error
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise damaged(path, "it is not what kgeval wrote") from error
    if not whole:
        raise damaged(path, "it is not what kgeval wrote")
    if version != FORMAT:
        raise RunError(
            f"{name} was made by another version of kgeval; make the run again with kgeval init and copy "
            "verdicts.jsonl into it"
        )
    found: dict[str, Any] = config
    return found


def check_digests(folder: Path, config: Mapping[str, Any]) -> None:
    """Refuse files that are not, bit for bit, those that were written."""
    for name, digest in config["sha256"].items():
        path = folder / name
        try:
            if path.is_file() and sha256_of(path) == digest:
                continue
        except OSError as error:
            raise damaged(path, error.strerror or "it cannot be read") from error
        raise damaged(path, "it is not what kgeval wrote" if path.is_file() else "there is no such file")


def _check_sum(config: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Write `config.json` whole or not at all.

    Raises:
        RunError: it cannot be written.
    """
    config = {**config, "check": _check_sum(config)}
    text = json.dumps(config, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    try:
        with replacing(RunLayout(folder).config) as new:
            new.write_text(text, encoding="utf-8")
        sync(folder)
    except OSError as error:
        raise RunError(f"{printable(str(folder))} cannot be written: {error.strerror}") from error


def digests(folder: Path) -> dict[str, str]:
    """Of every file of the beliefs and the coupling graph, which never change."""
    files = (path for part in RunLayout(folder).parts for path in sorted(part.iterdir()))
    return {str(path.relative_to(folder)): sha256_of(path) for path in files}

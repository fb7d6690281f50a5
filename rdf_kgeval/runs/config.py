"""Read and write `config.json`, and notice damage to a run directory.

It holds the SHA-256 of every file that never changes, and a check sum of itself.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rdf_kgeval.beliefs.accounts import Accounts
from rdf_kgeval.common.arrays import damaged
from rdf_kgeval.common.disk import read_plain, replacing, sha256_of, sync
from rdf_kgeval.common.text import printable
from rdf_kgeval.common.validation import checked
from rdf_kgeval.errors import InputError, RunError
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.runs.layout import RunLayout

FORMAT = 2
ONTOLOGY = "ontology"


@dataclass(frozen=True, kw_only=True)
class InputFile:
    """A file that a run was made from."""

    path: str
    role: str
    sha256: str

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.replace("\\", "/").rpartition("/")[2]


@dataclass(frozen=True, kw_only=True)
class ScopeConfig:
    """Which triples are beliefs, as the user said."""

    predicates: tuple[str, ...] = ()
    graph: str | None = None
    query: str | None = None


@dataclass(frozen=True, kw_only=True)
class NameConfig:
    """Where names for people come from."""

    properties: tuple[str, ...] = ()
    lang: str = "en"


@dataclass(frozen=True, kw_only=True)
class InPlaceConfig:
    """How beliefs are drawn from an endpoint at which they stay."""

    seed: int
    hops: int
    parallel: int
    reserve: int
    timeout: float
    rate: float | None
    max_groundings: int


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """What a run was made from, without credentials, and how it is evaluated; kept in `config.json`."""

    files: tuple[InputFile, ...] = ()
    """Files with beliefs and context, in the order given."""
    ontologies: tuple[InputFile, ...] = ()
    rules: tuple[str, ...] = ()
    """Paths of rule files."""
    mine: dict[str, object] | None = None
    """Fields of `MiningOptions`, where rules were mined from the beliefs."""
    discover: bool = False
    """Whether rules were proposed from the beliefs."""
    endpoint: str | None = None
    """URL of the endpoint, with secrets redacted."""
    scope: ScopeConfig = field(default_factory=ScopeConfig)
    labels: NameConfig = field(default_factory=NameConfig)
    notes: tuple[str, ...] = ()
    """Sentences that the user should know about the sources."""
    memory_limit: int | None = None
    """In bytes."""
    sha256: dict[str, str] = field(default_factory=dict)
    """By path in the run directory, the digests of files that never change."""
    in_place: InPlaceConfig | None = None
    accounts: Accounts | None = None
    """What became of every triple read; runs of older versions have none."""
    evaluation: dict[str, object] | None = None
    """Fields of `Settings` that were chosen; `settings` has them all."""
    options: dict[str, object] | None = None
    """Options of the command line, to repeat the run by."""
    prefixes: tuple[tuple[str, str], ...] | None = None
    """Names and namespaces of the prefixes of the user and of the sources."""

    @property
    def settings(self) -> Settings:
        """How the run is evaluated.

        Raises:
            RunError: a newer kgeval chose settings that this one does not know.
        """
        chosen: dict[str, Any] = self.evaluation or {}
        try:
            return checked(Settings(**chosen))
        except (TypeError, InputError) as error:
            raise RunError(
                "the run has settings that this kgeval does not know; go on with the version that made it"
            ) from error

    def to_json(self) -> dict[str, Any]:
        """Return the entries of `config.json`, but for its check sum."""
        entries = asdict(self)
        for file in entries["ontologies"]:
            del file["role"]
        optional = ("in_place", "accounts", "evaluation", "options", "prefixes")
        absent = [name for name in optional if entries[name] is None]
        return {"version": FORMAT, **{k: v for k, v in entries.items() if k not in absent}}

    @classmethod
    def from_json(cls, entries: Mapping[str, Any]) -> "RunConfig":
        """Make the record from what `to_json` gave and JSON kept.

        Raises:
            KeyError, TypeError: an entry is missing or of another type.
        """
        scope, labels, in_place = entries["scope"], entries["labels"], entries.get("in_place")
        accounts = entries.get("accounts")
        prefixes = entries.get("prefixes")
        return checked(
            cls(
                files=tuple(InputFile(**file) for file in entries["files"]),
                ontologies=tuple(InputFile(role=ONTOLOGY, **file) for file in entries.get("ontologies", ())),
                rules=tuple(entries.get("rules", ())),
                mine=entries.get("mine"),
                discover=entries.get("discover", False),
                endpoint=entries["endpoint"],
                scope=ScopeConfig(**{**scope, "predicates": tuple(scope["predicates"])}),
                labels=NameConfig(**{**labels, "properties": tuple(labels["properties"])}),
                notes=tuple(entries["notes"]),
                memory_limit=entries["memory_limit"],
                sha256=entries["sha256"],
                in_place=InPlaceConfig(**in_place) if in_place else None,
                accounts=Accounts(**accounts) if accounts else None,
                evaluation=entries.get("evaluation"),
                options=entries.get("options"),
                prefixes=tuple(map(tuple, prefixes)) if prefixes is not None else None,
            )
        )


def read_config(folder: Path) -> RunConfig:
    """Read `config.json` and check it.

    Raises:
        RunError: there is none, or it was changed.
    """
    layout = RunLayout(folder)
    name, path = printable(str(folder)), layout.config
    try:
        entries = json.loads(read_plain(path))
        if entries["version"] != FORMAT:
            raise RunError(
                f"{name} was made by another version of kgeval; make the run again with kgeval init and copy "
                "verdicts.jsonl into it"
            )
        check = entries.pop("check")
        config = RunConfig.from_json(entries)
        whole = check == _check_sum(entries) and all(
            folder / Path(file).parts[0] in layout.parts for file in config.sha256
        )
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RunError(f"{name} is not a run directory; make one with kgeval init {name} FILE") from error
    except OSError as error:
        raise damaged(path, error.strerror or "it cannot be read") from error
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise damaged(path, "it is not what kgeval wrote") from error
    if not whole:
        raise damaged(path, "it is not what kgeval wrote")
    return config


def check_digests(folder: Path, config: RunConfig) -> None:
    """Raise an error if a file is not, bit for bit, the one that was written."""
    for name, digest in config.sha256.items():
        path = folder / name
        try:
            if path.is_file() and sha256_of(path) == digest:
                continue
        except OSError as error:
            raise damaged(path, error.strerror or "it cannot be read") from error
        raise damaged(path, "it is not what kgeval wrote" if path.is_file() else "there is no such file")


def _check_sum(entries: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()


def write_config(folder: Path, config: RunConfig) -> None:
    """Write `config.json` whole or not at all.

    Raises:
        RunError: it cannot be written.
    """
    entries = config.to_json()
    entries["check"] = _check_sum(entries)
    text = json.dumps(entries, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    try:
        with replacing(RunLayout(folder).config) as new:
            new.write_text(text, encoding="utf-8")
        sync(folder)
    except OSError as error:
        raise RunError(f"{printable(str(folder))} cannot be written: {error.strerror}") from error


def digests(folder: Path) -> dict[str, str]:
    """Return the digest of every file of the beliefs and the coupling graph, which never change."""
    files = (path for part in RunLayout(folder).parts for path in sorted(part.iterdir()))
    return {str(path.relative_to(folder)): sha256_of(path) for path in files}

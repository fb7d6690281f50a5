"""Dialects: the languages of rule files, chosen by a file's suffix.

A dialect is a function that reads the rules of a file, and a row of `DIALECTS`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rdf_kgeval.common.arguments import expect, several
from rdf_kgeval.common.registry import Entry, Registry
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.rules.rule import Rule


@dataclass(frozen=True)
class Dialect(Entry):
    """A language of rule files; its code is a `Callable[[Path], list[Rule]]`."""

    files: str
    """The name of its files in help."""
    takes: Callable[[str], bool]
    """Whether files of a suffix, in lower case, are in this dialect."""
    in_folders: tuple[str, ...] = ()
    """Suffixes that `read_rules` looks for in a folder, the usual one first."""


def _is_rdf(suffix: str) -> bool:
    from rdf_kgeval.sources.files import FORMATS

    return suffix in FORMATS


DIALECTS = Registry(
    "rule dialect",
    Dialect(
        "template", "rules.template:read_template",
        "A SPARQL CONSTRUCT: what WHERE finds implies what the template says.",
        files=".rq", takes=lambda suffix: suffix in (".rq", ".sparql"), in_folders=(".rq", ".sparql"),
    ),
    Dialect(
        "shacl", "rules.shacl:read_shacl",
        "SHACL rules (sh:SPARQLRule, sh:TripleRule) in an RDF file.",
        files="SHACL", takes=_is_rdf, in_folders=(".ttl",),
    ),
    Dialect(
        "miner-table", "rules.miner_tables:read_table",
        "The table of rules that AMIE or AnyBURL wrote.",
        files="AMIE or AnyBURL", takes=lambda _: True,
    ),
)  # fmt: skip
"""The first that takes a file reads it; the last takes every file."""


def read_rules(*paths: str | Path) -> list[Rule]:
    """Read rules from files, and from the templates and Turtle files of folders.

    Args:
        paths: `*.rq` and `*.sparql` files have one CONSTRUCT each, RDF files have SHACL rules; a file with
            another suffix is a table of AMIE or AnyBURL.

    Raises:
        InputError: with one line for every mistake in any of the files.
    """
    rules: list[Rule] = []
    errors: list[str] = []
    for path in read_paths(paths, "read_rules", "couple(beliefs, rules) takes rules as they are"):
        try:
            files = list(_files(path))
        except InputError as error:
            errors.append(str(error))
            continue
        for file in files:
            try:
                rules += dialect_of(file).load()(file)
            except InputError as error:
                errors.append(str(error))
    errors += _duplicates(rules)
    if errors:
        raise InputError("\n".join(errors))
    return rules


def read_paths(given: Iterable[object], call: str, remedy: str) -> list[Path]:
    """Return the paths that a user gave a call, one by one or in lists."""
    need = f"{call} takes paths of files"
    parts = [part for one in given for part in several(one)]
    return [Path(str(expect(part, (str, Path), need, remedy))) for part in parts]


def dialect_of(file: Path) -> Dialect:
    """Choose the dialect of a file by its suffix."""
    suffix = file.suffix.lower()
    return next(dialect for dialect in DIALECTS.values() if dialect.takes(suffix))


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    suffixes = {suffix for dialect in DIALECTS.values() for suffix in dialect.in_folders}
    files = sorted(f for f in path.iterdir() if f.suffix.lower() in suffixes and f.is_file())
    if not files:
        usual = " or ".join(dialect.in_folders[0] for dialect in DIALECTS.values() if dialect.in_folders)
        raise InputError(f"the folder {printable(str(path))} holds no {usual} file; put rules there")
    yield from files


def _duplicates(rules: Iterable[Rule]) -> Iterator[str]:
    seen: dict[str, Rule] = {}
    for rule in rules:
        first = seen.setdefault(rule.id, rule)
        if first is not rule:
            yield f"{rule.source}: the id {rule.name} is taken by {first.source}; rename one of the two"

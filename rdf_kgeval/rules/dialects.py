"""Rules from files: SPARQL CONSTRUCT templates (`*.rq`), SHACL rules (Turtle), tables of AMIE and AnyBURL.

A template states its metadata in comment lines before CONSTRUCT, as grlc does:

    #+ id: stadium-city
    #+ summary: A stadium is in the home city of its team.
    #+ confidence: 0.9        (or `weight`, which is theta itself)
    #+ latent: true           (its head may be a triple that the graph does not assert)
    #+ denial: true           (the template's triple and those of WHERE cannot all be true)

Mined rules also state `support`, `head-coverage` and `standard-confidence`, which are shown but not used.
Rules that AMIE or AnyBURL mined are read from their own files.
"""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path

from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.rules.build import Metadata, make_rules
from rdf_kgeval.rules.construct import parse_construct
from rdf_kgeval.rules.documents import FORMATS, read_text
from rdf_kgeval.rules.expressions import TemplateError
from rdf_kgeval.rules.miner_tables import read_table
from rdf_kgeval.rules.rule import Measures, Rule, Source
from rdf_kgeval.rules.shacl import read_shacl

_TEMPLATES = (".rq", ".sparql")


def read_rules(*paths: str | Path) -> list[Rule]:
    """Read rules from files, and from the templates and Turtle files of folders.

    Args:
        paths: `*.rq` and `*.sparql` files hold one CONSTRUCT each, RDF files hold SHACL rules; a file with
            another name is what AMIE or AnyBURL wrote.

    Raises:
        InputError: with one line for everything that is wrong in any of the files.
    """
    rules: list[Rule] = []
    errors: list[str] = []
    for path in map(Path, paths):
        try:
            files = list(_files(path))
        except InputError as error:
            errors.append(str(error))
            continue
        for file in files:
            try:
                rules += _read(file)
            except InputError as error:
                errors.append(str(error))
    errors += _duplicates(rules)
    if errors:
        raise InputError("\n".join(errors))
    return rules


def _read(file: Path) -> list[Rule]:
    suffix = file.suffix.lower()
    if suffix in _TEMPLATES:
        return _read_template(file)
    return read_shacl(file) if suffix in FORMATS else read_table(file)


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    files = sorted(f for f in path.iterdir() if f.suffix.lower() in (*_TEMPLATES, ".ttl") and f.is_file())
    if not files:
        raise InputError(f"the folder {printable(str(path))} holds no .rq or .ttl file; put rules there")
    yield from files


def _duplicates(rules: Iterable[Rule]) -> Iterator[str]:
    seen: dict[str, Rule] = {}
    for rule in rules:
        first = seen.setdefault(rule.id, rule)
        if first is not rule:
            yield f"{rule.source}: the id {rule.name} is taken by {first.source}; rename one of the two"


def _read_template(file: Path) -> list[Rule]:
    text = read_text(file)
    try:
        construct = parse_construct(text)
        metadata = _metadata(text.split("\n")[: construct.line], file.stem)
        return make_rules(construct, metadata, Source(str(file), construct.line))
    except TemplateError as error:
        raise InputError(f"{Source(str(file), error.line)}: {error}") from error


_MEASURES = ("support", "head-coverage", "standard-confidence")
_KEYS = ("id", "summary", "weight", "confidence", "latent", "denial", *_MEASURES)


def _metadata(lines: list[str], stem: str) -> Metadata:
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.startswith("#+"):
            continue
        key, colon, value = (part.strip() for part in line[2:].partition(":"))
        if key in found:
            raise TemplateError(f"it states {key} twice; keep one", number)
        if key in _KEYS and colon:
            found[key] = _unquoted(value)
            _check(key, found, number)
        elif close := get_close_matches(key.lower(), _KEYS, n=1, cutoff=0.75):
            raise TemplateError(
                f"it states {printable(key, 40)}, which is not known; write #+ {close[0]}: ...", number
            )
    return Metadata(
        id=found.get("id") or stem,
        summary=found.get("summary", ""),
        weight=float(found["weight"]) if "weight" in found else None,
        confidence=float(found["confidence"]) if "confidence" in found else None,
        latent=found.get("latent") == "true",
        denial=found.get("denial") == "true",
        measures=_measures(found),
    )


def _measures(found: dict[str, str]) -> Measures | None:
    support, coverage, confidence = (float(found[key]) if key in found else None for key in _MEASURES)
    return None if support is None else Measures(int(support), coverage, confidence)


def _check(key: str, found: dict[str, str], line: int) -> None:
    value = found[key]
    if key in ("latent", "denial") and value not in ("true", "false"):
        raise TemplateError(f"its {key} is {printable(value, 40)!r}; write true or false", line)
    if key in ("weight", "confidence", *_MEASURES):
        share = key not in ("weight", "support")
        top = " to 1" if share else " up"
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not 0 <= number < float("inf") or (share and number > 1):
            raise TemplateError(
                f"its {key} is {printable(value, 40)!r}; write a number from 0{top}, such as 0.9", line
            )
    if "weight" in found and "confidence" in found:
        raise TemplateError("it states a weight and a confidence; keep one of them", line)


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value

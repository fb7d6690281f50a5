"""Write rules as files that people edit and `read_rules` reads: CONSTRUCT templates or SHACL rules."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import rdflib

from rdf_kgeval.beliefs.terms import iri, local_name
from rdf_kgeval.common.disk import replacing
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.namespaces import KGE, RDF_TYPE
from rdf_kgeval.rules.rule import Pattern, Rule

_LOCAL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def write_templates(rules: Sequence[Rule], folder: Path) -> None:
    """Write one `.rq` file for each rule into a new folder, whole or not at all.

    Args:
        rules: Horn rules without filters, such as mined ones.
        folder: where to; it must not exist yet, so that nobody's edited rules are lost.

    Raises:
        InputError: the folder exists or cannot be made.
    """
    prefixes = choose_prefixes(rules)
    check_absent(folder)
    try:
        with replacing(folder, ".partial") as partial:
            _make(partial)
            for rule in rules:
                (partial / f"{rule.id}.rq").write_text(to_template(rule, prefixes), encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{printable(str(folder))} cannot be written ({error.strerror}); choose another folder"
        ) from error


def _make(folder: Path) -> None:
    try:
        folder.mkdir()
    except OSError as error:
        raise InputError(
            f"{printable(str(folder))} cannot be made ({error.strerror}); choose another folder"
        ) from error


def write_shacl(rules: Sequence[Rule], file: Path) -> None:
    """Write the rules as SHACL rules into a new Turtle file.

    Raises:
        InputError: the file exists, is not named `.ttl` or cannot be written.
    """
    if file.suffix != ".ttl":
        raise InputError(f"{printable(str(file))} is to hold SHACL rules; give it a name that ends in .ttl")
    check_absent(file)
    try:
        with replacing(file) as new:
            new.write_text(to_shacl(rules), encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{printable(str(file))} cannot be written ({error.strerror}); choose another file"
        ) from error


WRITERS: dict[str, Callable[[Sequence[Rule], Path], None]] = {"rq": write_templates, "shacl": write_shacl}
"""The formats in which rules are written."""


def check_absent(path: Path) -> None:
    """Refuse to overwrite a file or folder."""
    if path.exists():
        raise InputError(f"{printable(str(path))} already exists; choose another name or remove it")


def choose_prefixes(rules: Iterable[Rule]) -> dict[str, str]:
    """Choose prefixes for the namespaces of the rules' terms, `:` for that of most predicates."""
    spaces: Counter[str] = Counter()
    predicates: Counter[str] = Counter()
    for rule in rules:
        for pattern in _patterns(rule):
            spaces.update(space for term in pattern if (space := _space(term)))
            predicates.update(space for space in [_space(pattern[1])] if space)
    usual = {str(space): name for name, space in rdflib.Graph(bind_namespaces="rdflib").namespaces()}
    own = sorted((space for space in spaces if space not in usual), key=lambda s: (-predicates[s], s))
    chosen = {space: usual[space] for space in sorted(spaces) if space in usual}
    for i, space in enumerate(own):
        words = re.findall(r"[A-Za-z][A-Za-z0-9]*", space.partition("://")[2] or space)
        name = words[-1].lower()[:12] if i and words else "" if not i else "ns"
        taken = {*chosen.values(), *usual.values()}
        suffixes = ["", *map(str, range(2, len(own) + 3))]
        chosen[space] = name if not i else next(name + n for n in suffixes if name + n not in taken)
    return chosen


def _patterns(rule: Rule) -> Sequence[Pattern]:
    return (*rule.body, *([rule.head] if rule.head else []))


def _space(term: str) -> str | None:
    """Return the namespace of an IRI that can be abbreviated."""
    if not term.startswith("<") or term == f"<{RDF_TYPE}>":
        return None
    name = local_name(iri(term), "/#:")
    return iri(term).removesuffix(name) if _LOCAL.fullmatch(name) else None


def _short(term: str, prefixes: Mapping[str, str]) -> str:
    if term == f"<{RDF_TYPE}>":
        return "a"
    space = _space(term)
    return f"{prefixes[space]}:{iri(term)[len(space) :]}" if space and space in prefixes else term


def to_template(rule: Rule, prefixes: Mapping[str, str]) -> str:
    """Write a rule as a CONSTRUCT with its metadata in `#+` lines."""
    lines = [f"#+ {name}: {value}" for name, value in _metadata(rule)]
    used = {space for pattern in _patterns(rule) for term in pattern if (space := _space(term))}
    lines += [f"PREFIX {prefixes[space]}: <{space}>" for space in prefixes if space in used]
    return "\n".join([*lines, _construct(rule.body, rule.head, prefixes)]) + "\n"


def _construct(body: Iterable[Pattern], head: Pattern | None, prefixes: Mapping[str, str]) -> str:
    conclusion, *conditions = (
        " ".join(_short(term, prefixes) for term in pattern) for pattern in (head or (), *body)
    )
    where = "".join(f"  {condition} .\n" for condition in conditions)
    return f"CONSTRUCT {{ {conclusion} }}\nWHERE {{\n{where}}}"


def _metadata(rule: Rule) -> Iterator[tuple[str, str]]:
    yield "id", rule.id
    if rule.summary:
        yield "summary", rule.summary
    for name in ("confidence", "weight"):
        value = getattr(rule, name)
        if value is not None:
            yield name, _number(value)
    if rule.latent:
        yield "latent", "true"
    measures = rule.measures
    if measures:
        yield "support", str(measures.support)
        if measures.head_coverage is not None:
            yield "head-coverage", _number(measures.head_coverage)
        if measures.standard_confidence is not None:
            yield "standard-confidence", _number(measures.standard_confidence)


def _number(value: float) -> str:
    """Write at most six decimals, and no exponent, which in Turtle means another type."""
    text = f"{value:.6f}".rstrip("0")
    return text + "0" if text.endswith(".") else text


def to_shacl(rules: Sequence[Rule]) -> str:
    """Write rules as one Turtle document of `sh:SPARQLRule`s, named by their ids."""
    prefixes = choose_prefixes(rules)
    declared = ",\n    ".join(
        f"[ sh:prefix {_quoted(name)} ; sh:namespace {_quoted(space)}^^xsd:anyURI ]"
        for space, name in prefixes.items()
    )
    parts = [_SHACL_HEADER, *([f"<#prefixes> sh:declare\n    {declared} .\n"] if declared else [])]
    for rule in rules:
        parts.append(_shacl_rule(rule, prefixes))
    return "\n".join(parts)


_SHACL_HEADER = f"""@prefix kge: <{KGE}> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
_SHACL_NAMES = {"head-coverage": "headCoverage", "standard-confidence": "standardConfidence"}


def _shacl_rule(rule: Rule, prefixes: Mapping[str, str]) -> str:
    s, p, o = rule.body[0]
    focus, end = (s, "Subjects") if s.startswith("?") else (o, "Objects")
    head, *body = (_renamed(pattern, focus, "$this") for pattern in (rule.head or ("", "", ""), *rule.body))
    construct = _construct(body, head, prefixes)
    lines = [
        f"<#{rule.id}-shape> a sh:NodeShape ;",
        f"  sh:target{end}Of {p} ;",
        f"  sh:rule <#{rule.id}> .",
        f"<#{rule.id}> a sh:SPARQLRule ;",
    ]
    for name, value in _metadata(rule):
        if name == "summary":
            lines.append(f"  rdfs:label {_quoted(value)} ;")
        elif name != "id":
            lines.append(f"  kge:{_SHACL_NAMES.get(name, name)} {value} ;")
    return "\n".join(
        [*lines, "  sh:prefixes <#prefixes> ;", f'  sh:construct """{_escaped(construct)}""" .\n']
    )


def _renamed(pattern: Pattern, old: str, new: str) -> Pattern:
    s, p, o = (new if term == old else term for term in pattern)
    return s, p, o


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'

"""Read the tables of rules that AMIE and AnyBURL write.

AMIE: `?a  <p>  ?b  ?b  <q>  ?c   => ?a  <r>  ?c`, then columns separated by tabs: head coverage, standard and
PCA confidence, support (positive examples), ... AnyBURL: predictions, correct predictions, confidence and
`<r>(X,Y) <= <p>(X,A), <q>(A,Y)`, separated by tabs. Names are IRIs, in angle brackets or not.
"""

import math
import re
from collections.abc import Sequence
from pathlib import Path

from rdf_kgeval.beliefs.names import readable
from rdf_kgeval.beliefs.terms import parse_term
from rdf_kgeval.common.disk import read_text
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.rules.expressions import TemplateError
from rdf_kgeval.rules.rule import Measures, Pattern, Rule, RuleOrigin, verbalise

_IF, _THEN = re.compile(r"\s<=(?:\s|$)"), re.compile(r"\s=>\s")


def read_table(file: Path) -> list[Rule]:
    """Read the rules of a file; AnyBURL's rules without a body are left out, because they tie no triples.

    Raises:
        InputError: with one line for every mistake.
    """
    rules: list[Rule] = []
    errors: list[str] = []
    lines = read_text(file).splitlines()
    for number, line in enumerate(lines, 1):
        read = _anyburl if _IF.search(line) else _amie if _THEN.search(line) else None
        if read is None:
            continue
        source = RuleOrigin(str(file), number)
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", file.stem).strip("-") or "rule"
        try:
            rule = read(line, f"{name}-{number}", source)
        except (TemplateError, InputError) as error:
            errors.append(f"{source}: {error}")
            continue
        if rule is not None:
            rules.append(rule)
    if not rules and not errors:
        errors.append(
            f"{printable(str(file))} holds no rule; give rules as .rq or .ttl files, or as AMIE or AnyBURL "
            "wrote them"
        )
    if errors:
        raise InputError("\n".join(errors))
    return rules


def _amie(line: str, name: str, source: RuleOrigin) -> Rule:
    text, *cells = line.split("\t")
    body, head = _halves(_THEN, text)
    numbers = [_number(cell) for cell in cells[:4]]
    if len(numbers) < 4:
        raise TemplateError("its rule has less than 4 columns of numbers after it; give AMIE's whole table")
    coverage, standard, pca, support = numbers
    return _rule(
        name, _triples(body), _triples(head), pca, Measures(int(support), coverage, standard), source
    )


def _halves(arrow: re.Pattern[str], text: str) -> tuple[str, str]:
    left, *right = arrow.split(text, maxsplit=1)
    if not right:
        raise TemplateError(f"{printable(text, 80)!r} is no rule; give the file as it was written")
    return left, right[0]


def _triples(text: str) -> list[Pattern]:
    terms = [_term(word, word.startswith("?")) for word in _words(text)]
    if len(terms) % 3:
        raise TemplateError(f"{printable(text.strip(), 80)!r} is no list of triples; correct it")
    return [(terms[i], terms[i + 1], terms[i + 2]) for i in range(0, len(terms), 3)]


def _words(text: str) -> list[str]:
    """Split a text at spaces, except those of literals."""
    return re.findall(r'"(?:[^"\\]|\\.)*"\S*|\S+', text)


_ATOM = re.compile(r"(<[^>]*>|.+?)\((?:([A-Z]),(.+)|(.+),([A-Z]))\)")


def _anyburl(line: str, name: str, source: RuleOrigin) -> Rule | None:
    cells = line.split("\t")
    head, body = _halves(_IF, cells[-1])
    if not body.strip():
        return None
    if len(cells) != 4:
        raise TemplateError(f"it has {len(cells)} columns; AnyBURL writes 4, apart by tabs")
    _, correct, confidence = (_number(cell) for cell in cells[:3])
    atoms = [_atom(text) for text in re.split(r"(?<=\)), ", body.strip())]
    return _rule(name, atoms, [_atom(head.strip())], confidence, Measures(int(correct)), source)


def _atom(text: str) -> Pattern:
    match = _ATOM.fullmatch(text.strip())
    if match is None:
        raise TemplateError(f"{printable(text, 80)!r} is no atom such as p(X,Y); correct it")
    p, one, other, first, second = match.groups()
    s, o = (
        _term(end, bool(re.fullmatch("[A-Z]", end))) for end in ((one, other) if one else (first, second))
    )
    return s, _term(p, False), o


def _term(word: str, is_variable: bool) -> str:
    if is_variable:
        if not re.fullmatch(r"\??[A-Za-z0-9_]{1,80}", word):
            raise TemplateError(f"{printable(word, 80)!r} is no variable such as ?a; correct it")
        return word if word.startswith("?") else f"?{word}"
    try:
        term = str(parse_term(word if word[0] in '<"' else f"<{word}>"))
    except (SyntaxError, ValueError) as error:
        raise TemplateError(
            f"{printable(word, 80)!r} is no IRI or literal, so no triple of a graph has it; mine rules from "
            "the graph's N-Triples"
        ) from error
    return term


def _number(cell: str) -> float:
    try:
        number = float(cell.replace(",", "."))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise TemplateError(f"{printable(cell, 40)!r} is not a number; correct it")
    return number


def _rule(
    name: str,
    body: Sequence[Pattern],
    heads: Sequence[Pattern],
    confidence: float,
    measures: Measures,
    source: RuleOrigin,
) -> Rule:
    if len(heads) != 1 or heads[0] in body:
        raise TemplateError("its conclusion is not one triple that its condition lacks; correct it")
    return Rule(
        id=name, summary=verbalise(body, heads[0], readable), body=tuple(dict.fromkeys(body)), head=heads[0],
        confidence=confidence, measures=measures, source=source,
    )  # fmt: skip

"""Parse the text of a SPARQL CONSTRUCT into the patterns of rules.

Plain joins, filters and VALUES become patterns and filters. Of any other WHERE, the triples that every
solution needs become patterns, and the whole WHERE is kept as a SELECT for a SPARQL engine.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import rdflib
from pyparsing import Empty, Keyword, ParseBaseException, ParserElement, rest_of_line
from rdflib.plugins.sparql import parser as grammar
from rdflib.plugins.sparql.parserutils import CompValue

from rdf_kgeval.common.text import printable
from rdf_kgeval.rules.expressions import BeyondJoinsError, Expressions, TemplateError
from rdf_kgeval.rules.rule import Filter, Pattern, Values, operands, variables
from rdf_kgeval.sources.sparql_tokens import ESCAPE, TOKEN

_MAX_ALTERNATIVES = 64
_ESCAPED = re.compile(rf"{ESCAPE}|\\.", re.DOTALL)


@dataclass(slots=True)
class Branch:
    """One way to satisfy a WHERE; without UNION and alternative paths there is only one."""

    body: list[Pattern] = field(default_factory=list)
    filters: list[Filter] = field(default_factory=list)
    values: list[Values] = field(default_factory=list)
    visible: set[str] = field(default_factory=set)
    """Variables that a solution may bind."""
    more: bool = False
    """Whether a SPARQL engine must decide which bindings are solutions."""

    @property
    def bound(self) -> set[str]:
        """The variables that patterns and values bind."""
        return {v for p in self.body for v in variables(p)}.union(*(b.variables for b in self.values))

    def join(self, other: "Branch") -> "Branch":
        """Return the conjunction of two branches."""
        return Branch(
            self.body + other.body,
            self.filters + other.filters,
            self.values + other.values,
            self.visible | other.visible,
            self.more or other.more,
        )


@dataclass(frozen=True, slots=True)
class Construct:
    """A parsed CONSTRUCT: its template's triples and the branches of its WHERE."""

    heads: tuple[Pattern, ...]
    branches: tuple[Branch, ...]
    prologue: str
    where: str
    line: int
    """The line of the template."""

    def select(self, branch: Branch, head: Pattern) -> str:
        """Write the WHERE as a SELECT of the variables that a rule of this branch needs."""
        wanted = {v for p in [*branch.body, head] for v in variables(p)} & branch.visible
        return f"{self.prologue} SELECT DISTINCT {' '.join(sorted(wanted)) or '*'} {self.where}"


def parse_construct(text: str, prefixes: Mapping[str, str] | None = None) -> Construct:
    """Parse a CONSTRUCT query.

    Args:
        text: the query.
        prefixes: declared outside of it, as SHACL does.

    Raises:
        TemplateError: it is not SPARQL, not a CONSTRUCT, or cannot be a rule.
    """
    text = "".join(f"PREFIX {name}: <{iri}> " for name, iri in (prefixes or {}).items()) + text
    try:
        return _parse(TOKEN.sub(_expand, text))
    except TemplateError as error:
        if error.line is None and error.near in text:
            error.line = text.count("\n", 0, text.find(error.near)) + 1
        raise


def _expand(part: re.Match[str]) -> str:
    """Replace the codepoint escapes of a token by characters, except in comments.

    In a string, an escaped quote or backslash is just a character, as in SPARQL 1.2.
    """
    if part["comment"]:
        return part.group()
    quote = (part["string"] or "")[:1]
    return _ESCAPED.sub(lambda escape: _character(escape.group(), quote), part.group())


def _character(escape: str, quote: str) -> str:
    if escape[1] not in "uU" or len(escape) == 2:
        return escape
    code = int(escape[2:], 16)
    if code > sys.maxunicode or 0xD800 <= code <= 0xDFFF:
        raise TemplateError(f"it escapes {escape}, which is no character; correct it", near=escape)
    character = chr(code)
    if quote and character in (quote, "\\", "\n", "\r"):
        return {"\n": r"\n", "\r": r"\r"}.get(character, f"\\{character}")
    return character


def _parse(text: str) -> Construct:
    try:
        # parseQuery would expand escapes by rules of its own.
        prologue, query = grammar.Query.parse_string(text, parse_all=True)
    except ParseBaseException as error:
        raise _syntax_error(text, error) from None
    except RecursionError:
        raise TemplateError("it is nested too deeply; write a simpler pattern") from None
    if query.name != "ConstructQuery" or not query.template:
        form = "CONSTRUCT WHERE or an empty template" if query.name == "ConstructQuery" else "not a CONSTRUCT"
        raise TemplateError(
            f"it is {form}; write CONSTRUCT {{ the conclusion }} WHERE {{ the condition }}", 1
        )
    start, template_end = _split(text)
    line = text.count("\n", 0, start) + 1
    _refuse(query, text)
    reader = _Reader(prologue, {str(v) for node in _nodes(query) for v in _variables_of(node)})
    heads = tuple(_head(reader, triple, line) for triple in _triples(query.template))
    branches = tuple(reader.group(query.where))
    if query.valuesClause:
        branches = tuple(branch.join(reader.values(query.valuesClause)) for branch in branches)
    return Construct(heads, branches, text[:start], text[template_end:], line)


def _beyond(branch: Branch, part: Filter) -> bool:
    """Return whether a filter uses a variable that only an engine binds; it is then left to the engine."""
    beyond = any(term.startswith("?") and term not in branch.bound for term in operands(part))
    branch.more |= beyond
    return beyond


def _split(text: str) -> tuple[int, int]:
    """Find the start of CONSTRUCT and the end of its template."""
    _, construct, end = _HEADER.parse_string(text)
    return construct, end


def _mark() -> ParserElement:
    return Empty().set_parse_action(lambda _text, place, _tokens: place)


_HEADER = (
    grammar.Prologue + _mark() + Keyword("CONSTRUCT", caseless=True).suppress()
    + grammar.ConstructTemplate.suppress() + _mark()
).ignore("#" + rest_of_line).parse_with_tabs()  # fmt: skip


def _syntax_error(text: str, error: ParseBaseException) -> TemplateError:
    lines = text.rstrip().split("\n")
    if error.loc >= len(text.rstrip()):
        return TemplateError("it ends before the query is complete; complete it", len(lines))
    near = text[error.loc :].split("\n")[0].strip() or lines[error.lineno - 1].strip()
    return TemplateError(f"it is not valid SPARQL from {printable(near, 60)!r} on; correct it", error.lineno)


def _refuse(query: CompValue, text: str) -> None:
    for node in _nodes(query):
        if node.name == "ServiceGraphPattern":
            _refuse_keyword("SERVICE", "calls another server; load that data as context instead", text)
        if node.limitoffset:
            _refuse_keyword("LIMIT", "makes the result depend on order; remove LIMIT and OFFSET", text)
    if query.datasetClause:
        _refuse_keyword("FROM", "names a graph to load; remove it and use GRAPH in the pattern", text)
    if query.groupby or query.having:
        _refuse_keyword("GROUP", "hides the triples it groups; put the aggregate in a sub-SELECT", text)


def _refuse_keyword(keyword: str, reason: str, text: str) -> None:
    at = text.upper().find(keyword)
    raise TemplateError(f"it uses {keyword}, which {reason}", text.count("\n", 0, max(at, 0)) + 1)


def _nodes(node: Any) -> Iterator[CompValue]:
    if isinstance(node, CompValue):
        yield node
        node = node.values()
    if not isinstance(node, (str, bytes)) and hasattr(node, "__iter__"):
        for inner in node:
            yield from _nodes(inner)


def _triples(blocks: Any) -> Iterator[tuple[Any, Any, Any]]:
    for block in blocks or ():
        flat = list(block)
        yield from zip(flat[::3], flat[1::3], flat[2::3], strict=True)


def _head(reader: "_Reader", triple: tuple[Any, Any, Any], line: int) -> Pattern:
    if any(isinstance(term, rdflib.BNode) for term in triple):
        raise TemplateError(
            "its template holds a blank node, which names no triple of the graph; use a variable or an IRI",
            line,
        )
    s, p, o = (reader.term(term) for term in triple)
    if s.startswith('"') or not p.startswith(("<", "?")):
        raise TemplateError(
            f"its template {printable(f'{s} {p} {o}', 120)} can be no triple; correct it", line
        )
    return s, p, o


class _Reader(Expressions):
    """Read the groups of rdflib's parse tree."""

    def group(self, node: CompValue) -> list[Branch]:
        """Read the branches of a group graph pattern."""
        if node.name == "SubSelect":
            return [Branch(visible=_projected(node), more=True)]
        branches = [Branch()]
        filters = []
        for part in node.part or ():
            if part.name == "Filter":
                filters.append(part.expr)
                continue
            branches = [a.join(b) for a, b in product(branches, self._part(part))]
            if len(branches) > _MAX_ALTERNATIVES:
                raise TemplateError(
                    f"it has more than {_MAX_ALTERNATIVES} alternatives; split it into several rules"
                )
        for branch in branches:
            for expression in filters:
                self._filter(branch, expression)
        return branches

    def _filter(self, branch: Branch, expression: Any) -> None:
        try:
            part = self.filter(expression)
        except BeyondJoinsError:
            branch.more = True
            return
        # A filter sees only its own group, so one over other variables is left to the engine.
        if not _beyond(branch, part):
            branch.filters.append(part)

    def _part(self, part: CompValue) -> list[Branch]:
        match part.name:
            case "TriplesBlock":
                options = [self._path(s, p, o) for s, p, o in _triples(part.triples)]
                return [_joined(choice) for choice in product(*options)]
            case "GroupOrUnionGraphPattern":
                return [branch for inner in part.graph for branch in self.group(inner)]
            case "InlineData":
                return [self.values(part)]
            case "GraphGraphPattern":
                visible = {f"?{part.term}"} if isinstance(part.term, rdflib.Variable) else set()
                return [b.join(Branch(visible=visible, more=True)) for b in self.group(part.graph)]
            case "OptionalGraphPattern":
                return [Branch(visible=set().union(*(b.visible for b in self.group(part.graph))), more=True)]
            case "Bind":
                return [Branch(visible={f"?{part.var}"}, more=True)]
            case _:
                return [Branch(more=True)]

    def _path(self, s: Any, path: Any, o: Any) -> list[Branch]:
        """Read a triple pattern, or the triples of a path of fixed length, one branch per alternative."""
        start, end = self.term(s), self.term(o)
        own = {str(v) for n, v in ((s, start), (o, end)) if isinstance(n, rdflib.Variable)}
        if isinstance(path, rdflib.Variable):
            own.add(f"?{path}")
        branches = self._steps(start, path, end)
        for branch in branches:
            branch.visible |= own
        return branches

    def _steps(self, s: str, path: Any, o: str) -> list[Branch]:
        name = path.name if isinstance(path, CompValue) else ""
        if name == "PathAlternative":
            return [branch for part in path.part for branch in self._steps(s, part, o)]
        if name == "PathEltOrInverse":
            return self._steps(o, path.part, s)
        if name == "PathElt" and not path.mod:
            return self._steps(s, path.part, o)
        if name == "PathSequence":
            stops = [s, *(self.fresh() for _ in path.part[1:]), o]
            options = [self._steps(stops[i], part, stops[i + 1]) for i, part in enumerate(path.part)]
            return [_joined(choice) for choice in product(*options)]
        if name not in ("", "pname"):
            return [Branch(more=True)]
        return [Branch(body=[(s, self.term(path), o)])]

    def values(self, part: CompValue) -> Branch:
        """Read a VALUES block."""
        names = tuple(f"?{v}" for v in part.var)
        rows = part.value or ()
        if len(names) == 1 and not all(
            hasattr(row, "__iter__") and not isinstance(row, (str, CompValue)) for row in rows
        ):
            rows = [[row] for row in rows]
        table = tuple(tuple(None if cell == "UNDEF" else self.term(cell) for cell in row) for row in rows)
        return Branch(values=[Values(names, table)], visible=set(names))


def _joined(choice: tuple[Branch, ...]) -> Branch:
    whole = Branch()
    for part in choice:
        whole = whole.join(part)
    return whole


def _projected(select: CompValue) -> set[str]:
    if not select.projection:
        return {f"?{v}" for node in _nodes(select.where) for v in _variables_of(node)}
    return {f"?{part.var or part.evar}" for part in select.projection}


def _variables_of(node: CompValue) -> Iterator[rdflib.Variable]:
    stack: list[Any] = list(node.values())
    while stack:
        item = stack.pop()
        if isinstance(item, rdflib.Variable):
            yield item
        elif not isinstance(item, (str, CompValue)) and hasattr(item, "__iter__"):
            stack.extend(item)

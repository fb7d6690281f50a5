"""Convert terms and filter expressions of rdflib's parse tree of a SPARQL query."""

from itertools import count
from typing import Any

import pyoxigraph as ox
import rdflib
from rdflib.plugins.sparql.parserutils import CompValue

from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.namespaces import XSD
from rdf_kgeval.rules.rule import And, Compare, Filter, IsKind, Not, Or, SameTerm, StartsWith


class TemplateError(InputError):
    """A template that cannot be a rule; `line` counts from 1 within its text."""

    def __init__(self, reason: str, line: int | None = None, near: str = "") -> None:
        super().__init__(reason)
        self.line = line
        self.near = near
        """Text to look for where the line is not known."""


class BeyondJoinsError(Exception):
    """An expression that joins cannot decide, and a SPARQL engine must."""


class Expressions:
    """Convert terms, and the expressions that joins can decide."""

    def __init__(self, prologue: Any, taken: set[str]) -> None:
        self._prefixes: dict[str, str] = {}
        self._base = ""
        self._fresh = (name for i in count() if (name := f"_{i}") not in taken)
        self._blank: dict[rdflib.BNode, str] = {}
        for part in prologue:
            if part.name == "Base":
                self._base = str(part.iri)
            else:
                self._prefixes[part.prefix or ""] = str(rdflib.URIRef(part.iri, base=self._base or None))

    def term(self, node: Any, *, exact: bool = True) -> str:
        """Convert a variable or term; `exact` says that its lexical form matters, not only its value."""
        try:
            if isinstance(node, rdflib.Variable):
                return f"?{node}"
            if isinstance(node, rdflib.BNode):
                if node not in self._blank:
                    self._blank[node] = self.fresh()
                return self._blank[node]
            if isinstance(node, CompValue) and node.name == "literal":
                return self._literal(node)
            if isinstance(node, rdflib.Literal):
                # rdflib changes the lexical form of a bare double, so that it would match no term.
                if exact and str(node.datatype) == XSD + "double":
                    raise TemplateError(
                        f"the bare number {node} would be matched as spelled; write it as "
                        '"..."^^<http://www.w3.org/2001/XMLSchema#double>'
                    )
                return str(ox.Literal(str(node), datatype=ox.NamedNode(str(node.datatype))))
            return str(ox.NamedNode(self._iri(node)))
        except ValueError as error:
            text = str(node.string if isinstance(node, CompValue) and node.string else node)
            raise TemplateError(
                f"it names {printable(text, 80)}, which is not an RDF term ({error}); correct it", near=text
            ) from None

    def _literal(self, node: CompValue) -> str:
        if node.lang:
            return str(ox.Literal(str(node.string), language=str(node.lang).lower()))
        datatype = self._iri(node.datatype) if node.datatype is not None else XSD + "string"
        return str(ox.Literal(str(node.string), datatype=ox.NamedNode(datatype)))

    def _iri(self, node: Any) -> str:
        if isinstance(node, CompValue) and node.name == "pname":
            prefix = node.prefix or ""
            if prefix not in self._prefixes:
                raise TemplateError(
                    f"it uses the prefix {printable(prefix)}: without declaring it; add a PREFIX line",
                    near=f"{prefix}:",
                )
            return self._prefixes[prefix] + str(node.localname or "")
        if isinstance(node, rdflib.URIRef):
            return str(rdflib.URIRef(node, base=self._base or None))
        raise BeyondJoinsError

    def fresh(self) -> str:
        """Make a variable that the query does not use."""
        return f"?{next(self._fresh)}"

    def filter(self, node: Any) -> Filter:
        """Convert an expression; BeyondJoinsError where joins cannot decide it."""
        if not isinstance(node, CompValue):
            raise BeyondJoinsError
        match node.name:
            case "ConditionalOrExpression" | "ConditionalAndExpression":
                parts = tuple(self.filter(part) for part in (node.expr, *(node.other or ())))
                if len(parts) == 1:
                    return parts[0]
                return Or(parts) if node.name == "ConditionalOrExpression" else And(parts)
            case "RelationalExpression" if node.op:
                return self._relation(node)
            case "RelationalExpression" | "AdditiveExpression" | "MultiplicativeExpression" if not node.op:
                return self.filter(node.expr)
            case "UnaryNot":
                return Not(self.filter(node.expr))
            case "Builtin_sameTerm":
                return SameTerm(self._operand(node.arg1), self._operand(node.arg2))
            case "Builtin_isIRI" | "Builtin_isURI" | "Builtin_isBLANK" | "Builtin_isLITERAL":
                kinds = {"I": "isIRI", "U": "isIRI", "B": "isBlank", "L": "isLiteral"}
                return IsKind(kinds[node.name.removeprefix("Builtin_is")[0]], self._operand(node.arg))  # type: ignore[arg-type]
            case "Builtin_STRSTARTS":
                return self._starts_with(node)
        raise BeyondJoinsError

    def _relation(self, node: CompValue) -> Filter:
        left = self._operand(node.expr)
        if node.op in ("IN", "NOT IN"):
            members = [] if node.other == rdflib.RDF.nil else list(node.other)
            found = Or(tuple(Compare("=", left, self._operand(member)) for member in members))
            return found if node.op == "IN" else Not(found)
        return Compare(node.op, left, self._operand(node.other))

    def _starts_with(self, node: CompValue) -> Filter:
        prefix = self._operand(node.arg2)
        if not prefix.startswith('"') or not prefix.endswith('"'):
            raise BeyondJoinsError
        arg, of_str = _unwrap(node.arg1), False
        if isinstance(arg, CompValue) and arg.name == "Builtin_STR":
            arg, of_str = _unwrap(arg.arg), True
        text = str(_unwrap(node.arg2).string)
        return StartsWith(self._operand(arg), text, of_str)

    def _operand(self, node: Any) -> str:
        node = _unwrap(node)
        if isinstance(node, CompValue) and node.name in ("UnaryMinus", "UnaryPlus"):
            number = _unwrap(node.expr)
            if not isinstance(number, rdflib.Literal):
                raise BeyondJoinsError
            sign = "-" if node.name == "UnaryMinus" else ""
            node = rdflib.Literal(f"{sign}{number}", datatype=number.datatype, normalize=False)
        if isinstance(node, CompValue) and node.name not in ("pname", "literal"):
            raise BeyondJoinsError
        return self.term(node, exact=False)


def _unwrap(node: Any) -> Any:
    """Return the operand inside the nested levels of an expression."""
    while isinstance(node, CompValue) and node.name.endswith("Expression") and not node.op and not node.other:
        node = node.expr
    return node

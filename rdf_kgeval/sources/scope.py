"""Scope: the triples of a source that are evaluated, and their selection from beliefs that were read."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
import pyoxigraph as ox

from rdf_kgeval.beliefs.accounts import (
    BELIEFS,
    BLANK_NODES,
    GIVEN,
    INVALID,
    OTHER_GRAPHS,
    OTHER_PREDICATES,
    OUTSIDE_QUERY,
    REPEATS,
    UNKNOWN,
    Accounts,
)
from rdf_kgeval.beliefs.blank_nodes import Quad
from rdf_kgeval.beliefs.builder import BeliefsBuilder
from rdf_kgeval.beliefs.prefixes import NEVER, Prefixes, is_iri, nearest
from rdf_kgeval.beliefs.sparql import BeliefStore
from rdf_kgeval.beliefs.table import Beliefs, Role, Triple
from rdf_kgeval.beliefs.terms import iri, iri_term, oxigraph_text, rdflib_term
from rdf_kgeval.common.disk import read_text
from rdf_kgeval.common.text import printable
from rdf_kgeval.common.types import UInt8s
from rdf_kgeval.errors import InputError
from rdf_kgeval.sources.sparql_tokens import TOKEN
from rdf_kgeval.sources.unjudged import NOTHING_ELSE, REASONS, describe, unjudged


def variables_of(template: Triple) -> tuple[str, ...]:
    """List the variables of a template, each once, without question marks."""
    return tuple(dict.fromkeys(term[1:] for term in template if term.startswith("?")))


@dataclass(frozen=True, kw_only=True)
class SubSelect:
    """One template triple of a scope query: its terms, and the sub-SELECT that binds its variables."""

    template: Triple
    """Each an N-Triples term, or a variable with its question mark."""
    select: str

    @property
    def pattern(self) -> str:
        """A graph pattern that binds the template's variables, each solution once."""
        names = " ".join(f"?{name}" for name in variables_of(self.template))
        return f"{{ SELECT DISTINCT {names} WHERE {{ {{ {self.select}\n }} }} }}"


@dataclass(frozen=True, kw_only=True)
class ScopeQuery:
    """A SELECT ?s ?p ?o or a CONSTRUCT that names the beliefs."""

    name: str
    text: str
    prologue: str
    parts: tuple[SubSelect, ...]
    federated: bool
    """Whether it asks other endpoints."""


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The triples to evaluate; an empty scope has all."""

    predicates: tuple[str, ...] = ()
    """The beliefs have one of these predicates: N-Triples IRIs, and CURIEs until they are resolved."""
    graph: str | None = None
    """The beliefs are in this named graph: as a predicate is given."""
    query: ScopeQuery | None = None
    """The beliefs are the triples that this query returns."""

    @property
    def dataset(self) -> str:
        """The FROM clause of queries that name no graph themselves; empty without a graph."""
        return f"FROM {self.graph} " if self.graph else ""

    @classmethod
    def of(
        cls, *, predicates: Sequence[str] = (), graph: str | None = None, scope: str | Path | None = None
    ) -> "Scope":
        """Check a user's IRIs and query file, and make the scope."""
        if predicates and scope is not None:
            raise InputError(
                "--predicate and --scope cannot be combined; write the predicates into the query"
            )
        return cls(
            predicates=tuple(sorted(map(named, set(predicates)))),
            graph=named(graph) if graph is not None else None,
            query=read_scope_query(Path(scope)) if scope is not None else None,
        )

    def resolved(self, prefixes: Prefixes, beliefs: Beliefs | None = None) -> "Scope":
        """Return the scope with its CURIEs written out; `beliefs` are those of the source, where it is read.

        Raises:
            InputError: a name is neither an IRI nor a CURIE with a known prefix.
        """
        return replace(
            self,
            predicates=tuple(sorted({iri_term(resolve(p, prefixes, beliefs)) for p in self.predicates})),
            graph=iri_term(resolve(self.graph, prefixes, beliefs)) if self.graph is not None else None,
        )


def named(text: str) -> str:
    """Check what a user gives for an IRI as far as that goes before its prefix is known."""
    return iri_term(text) if is_iri(text) or NEVER.search(text) else text


def resolve(text: str, prefixes: Prefixes, beliefs: Beliefs | None = None) -> str:
    """Return the IRI that a user means by an IRI or a CURIE.

    What begins with no known prefix may still be an IRI of the graph, such as `x:p`.
    """
    try:
        return prefixes.expand(text)
    except InputError as error:
        if beliefs is None:
            raise
        if beliefs.terms.find(f"<{text}>") is not None:
            return text
        hint = "" if ":" in text else did_you_mean(text, prefixes, beliefs)
        raise InputError(f"{error}{hint}") from error


def did_you_mean(wanted: str, prefixes: Prefixes, beliefs: Beliefs) -> str:
    """Name the predicate of the graph that a user may have meant by a wrong one; empty where none is near."""
    there = (iri(beliefs.terms[number]) for number in np.unique(beliefs.p))
    near = nearest(iri(wanted), there)
    return f"; did you mean {printable(prefixes.shorten(near))}?" if near else ""


def read_scope_query(path: Path, prefixes: Prefixes | None = None) -> ScopeQuery:
    """Read and check the query in a file; it may use the prefixes without declaring them."""
    text = read_text(path)
    used = {token[0].partition(":")[0] for token in TOKEN.finditer(text) if ":" in token[0]}
    known = prefixes.namespaces if prefixes else {}
    declared = "".join(f"PREFIX {name}: <{known[name]}> " for name in known if name in used)
    return parse_scope_query(declared + text, printable(str(path)))


def parse_scope_query(text: str, name: str = "the scope query") -> ScopeQuery:
    """Check a scope query, and split it so that an endpoint can answer it page by page."""
    variables = _result_variables(text, name)
    start = next(_words(text), None)
    form = start[0].upper() if start else ""
    if start is None or form not in ("SELECT", "CONSTRUCT"):
        raise InputError(f"{name} must be a SELECT ?s ?p ?o or a CONSTRUCT query")
    prologue, body = text[: start.start()], text[start.start() :]
    words = {word[0].upper() for word in _words(body)}
    if "FROM" in words:
        raise InputError(f"{name} uses FROM; name the graph with --graph, or with GRAPH in the pattern")
    if form == "SELECT" and sorted(variables) != ["o", "p", "s"]:
        raise InputError(f"{name} must select the variables ?s ?p ?o and no others")
    parts = (
        (SubSelect(template=("?s", "?p", "?o"), select=body),)
        if form == "SELECT"
        else _construct_parts(prologue, body, name)
    )
    return ScopeQuery(name=name, text=text, prologue=prologue, parts=parts, federated="SERVICE" in words)


def _result_variables(text: str, name: str) -> list[str]:
    """Check a query, and list the variables of a SELECT; its result must not outlive the thread."""
    try:
        result = ox.Store().query(text)
    except SyntaxError as error:
        at = re.match(r"error at (\d+):(\d+)", str(error))
        where = f"line {at[1]}, column {at[2]}" if at else printable(str(error), 200)
        raise InputError(
            f"{name} is not valid SPARQL: {where}; see https://www.w3.org/TR/sparql11-query/"
        ) from error
    except (OSError, ValueError) as error:
        raise InputError(f"{name} cannot be used as a scope query: {printable(str(error), 200)}") from error
    return [v.value for v in result.variables] if isinstance(result, ox.QuerySolutions) else []


_PROLOGUE = ("PREFIX", "BASE", "VERSION")


def _words(text: str) -> Iterator[re.Match[str]]:
    """Find the keywords of a query after its prologue."""
    return (token for token in TOKEN.finditer(text) if token["word"] and token[0].upper() not in _PROLOGUE)


def _braces(text: str) -> tuple[int, int]:
    """Find the start and end of the first braced group."""
    depth, start = 0, 0
    for token in TOKEN.finditer(text):
        if token["brace"] == "{":
            if depth == 0:
                start = token.start()
            depth += 1
        elif token["brace"] == "}":
            depth -= 1
            if depth == 0:
                return start, token.end()
    raise InputError("the braces of the scope query do not match")


def _construct_parts(prologue: str, form: str, name: str) -> tuple[SubSelect, ...]:
    import rdflib
    from rdflib.plugins.sparql.algebra import translateQuery
    from rdflib.plugins.sparql.parser import parseQuery

    start, end = _braces(form)
    if any(token[0].upper() == "WHERE" for token in _words(form[:start])):
        # CONSTRUCT WHERE { T } is short for CONSTRUCT { T } WHERE { T }.
        group = form[start:end]
        form = f"CONSTRUCT {group} WHERE {group}{form[end:]}"
        start, end = _braces(form)
    try:
        algebra = translateQuery(parseQuery(prologue + form)).algebra
    except Exception as error:  # rdflib raises many kinds
        raise InputError(f"{name} cannot be used as a scope query: {printable(str(error), 200)}") from error
    where = form[end:]
    parts = []
    for triple in algebra.template or ():
        if any(isinstance(term, rdflib.BNode) for term in triple):
            raise InputError(
                f"{name} makes blank nodes in its CONSTRUCT template; name each node by a variable"
            )
        template = tuple(f"?{t}" if isinstance(t, rdflib.Variable) else rdflib_term(t) for t in triple)
        variables = " ".join(dict.fromkeys(t for t in template if t.startswith("?")))
        if not variables:
            raise InputError(
                f"{name} has a CONSTRUCT template triple without a variable; use a file of triples"
            )
        s, p, o = template
        # LIMIT, OFFSET and ORDER BY are about solutions of WHERE, so they stay below DISTINCT.
        select = f"SELECT DISTINCT {variables} WHERE {{ {{ SELECT * {where}\n }} }}"
        parts.append(SubSelect(template=(s, p, o), select=select))
    if not parts:
        raise InputError(f"{name} has an empty CONSTRUCT template; write the triples to evaluate into it")
    return tuple(sorted(parts, key=lambda part: part.template))


EXCLUSIONS = (*REASONS, BLANK_NODES, OTHER_GRAPHS, OTHER_PREDICATES)
"""The accounts of what is not evaluated, by their codes; 0 is what may be evaluated."""


def choose_beliefs(
    beliefs: Beliefs, scope: Scope, label_properties: Sequence[str]
) -> tuple[Beliefs, UInt8s, list[str]]:
    """Make background, for rules, labels and people, of what is outside a scope of predicates or a graph.

    Without predicates, what nobody can judge is outside, too, unless there is nothing else.

    Returns:
        The beliefs, by row why it is outside as a code of `EXCLUSIONS`, and notes.
    """
    code = np.zeros(len(beliefs), dtype=np.uint8)
    if scope.predicates:
        named = [n for p in scope.predicates if (n := beliefs.terms.find(p)) is not None]
        code[~np.isin(beliefs.p, named)] = EXCLUSIONS.index(OTHER_PREDICATES)
    if scope.graph:
        graph = beliefs.terms.find(scope.graph)
        outside = np.ones(len(beliefs), dtype=bool)
        outside[beliefs.graph_row[beliefs.graph_term == graph]] = graph is None
        code[outside] = EXCLUSIONS.index(OTHER_GRAPHS)
    blank = beliefs.is_blank()  # nobody can judge a triple of a blank node alone
    code[blank[beliefs.s] | blank[beliefs.o]] = EXCLUSIONS.index(BLANK_NODES)
    notes = []
    if not scope.predicates:
        judged = code == 0
        reason = np.where(judged, unjudged(beliefs, label_properties), 0).astype(np.uint8)
        candidates = judged & (beliefs.role == Role.BELIEF)
        left_out = candidates & (reason > 0)
        if (left_out != candidates).any():
            code += reason
            if left_out.any():
                role = np.where(left_out, Role.BELIEF, Role.BACKGROUND).astype(np.uint8)
                notes.append(describe(beliefs.with_roles(role).by_predicate(), beliefs.prefixes))
        elif left_out.any():
            notes.append(NOTHING_ELSE)
    role = beliefs.role.copy()
    role[(code > 0) & (role == Role.BELIEF)] = Role.BACKGROUND
    return beliefs.with_roles(role), code, notes


def count_accounts(
    beliefs: Beliefs, code: UInt8s | None, *, read: int, invalid: int = 0, by_store: bool = False
) -> Accounts:
    """Put every triple that was read into its account.

    Args:
        beliefs: what was read, with the roles that it has at the end.
        code: by row why it is background, as a code of `EXCLUSIONS`; None where a query names the beliefs.
        read: the number of triples read.
        invalid: the number of them that are not valid RDF.
        by_store: whether the store counted them.
    """
    by_role = np.bincount(beliefs.role, minlength=len(Role))
    counts = {
        BELIEFS: int(by_role[Role.BELIEF]),
        GIVEN: int(by_role[Role.GIVEN]),
        UNKNOWN: int(by_role[Role.UNKNOWN]),
        REPEATS: read - invalid - len(beliefs),
        INVALID: invalid,
    }
    if code is None:
        counts[OUTSIDE_QUERY] = int(by_role[Role.BACKGROUND])
    else:
        background = np.bincount(code[beliefs.role == Role.BACKGROUND], minlength=len(EXCLUSIONS))
        counts |= {name: int(n) for name, n in zip(EXCLUSIONS[1:], background[1:], strict=True)}
    return Accounts(read=read, counts={name: n for name, n in counts.items() if n}, by_store=by_store)


def apply_query(beliefs: Beliefs, scope: Scope, query: ScopeQuery) -> tuple[Beliefs, int]:
    """Make background of what a query does not return.

    Returns:
        The beliefs, and the number of those that the query made and no source has.
    """
    if query.federated:
        raise InputError(f"{query.name} uses SERVICE, which files cannot answer; take it out")
    store = BeliefStore(beliefs)
    role = beliefs.role.copy()
    role[role == Role.BELIEF] = Role.BACKGROUND
    made: list[Quad] = []
    for triple in _query_triples(store, scope, query):
        rows = store.rows(*triple)
        role[rows] = np.maximum(role[rows], Role.BELIEF)
        if not rows:
            made.append((*triple, ""))
    before = len(beliefs)
    beliefs = beliefs.with_roles(role)
    if not made:
        return beliefs, 0
    builder = BeliefsBuilder()
    builder.add(made, Role.BELIEF)
    builder.add_all(beliefs)
    beliefs = builder.build()
    return beliefs, len(beliefs) - before


def rows_of_query(beliefs: Beliefs, query: ScopeQuery) -> list[int]:
    """Find the rows that a query returns; triples that the graph lacks are left out."""
    store = BeliefStore(beliefs)
    return [row for triple in _query_triples(store, Scope(), query) for row in store.rows(*triple)]


def _query_triples(store: BeliefStore, scope: Scope, query: ScopeQuery) -> Iterator[Triple]:
    graph = ox.NamedNode(iri(scope.graph)) if scope.graph else None
    try:
        result = store.store.query(query.text, default_graph=graph, use_default_graph_as_union=graph is None)
        if isinstance(result, ox.QueryTriples):
            triples = [(t.subject, t.predicate, t.object) for t in result]
        else:
            triples = [(row["s"], row["p"], row["o"]) for row in cast(ox.QuerySolutions, result)]
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"{query.name} failed: {printable(str(error), 200)}") from error
    for s, p, o in triples:
        if not isinstance(s, (ox.NamedNode, ox.BlankNode)) or not isinstance(p, ox.NamedNode) or o is None:
            raise InputError(
                f"{query.name} gives {printable(f'{s} {p} {o}', 200)}, which is not a triple: bind ?s to an "
                "IRI or blank node, ?p to an IRI and ?o to anything"
            )
        yield str(s), str(p), oxigraph_text(o)

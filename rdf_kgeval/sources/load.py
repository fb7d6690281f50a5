"""Sources: RDF files, rdflib graphs and SPARQL endpoints become Beliefs."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from rdf_kgeval.beliefs.blank_nodes import Quad
from rdf_kgeval.beliefs.builder import BeliefsBuilder
from rdf_kgeval.beliefs.sparql import BeliefStore
from rdf_kgeval.beliefs.table import Beliefs, Role, Triple
from rdf_kgeval.beliefs.terms import from_rdflib, iri, oxigraph_text
from rdf_kgeval.common.memory import RAM, Space
from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.namespaces import LABEL_PROPERTIES
from rdf_kgeval.sources.endpoint.client import Endpoint
from rdf_kgeval.sources.files import STDIN, Progress, display_name, opened
from rdf_kgeval.sources.pull import pull
from rdf_kgeval.sources.scope import Scope, ScopeQuery

if TYPE_CHECKING:
    import rdflib


@dataclass(frozen=True, kw_only=True)
class InPlace:
    """How to draw from an endpoint."""

    seed: int = 0
    """Salts the digests."""
    hops: int = 1
    """How far around the drawn beliefs to fetch what rules can touch."""
    parallel: int = 1
    """Requests at the same time."""
    reserve: int = 600
    """How many triples to draw at first, spread over the predicates by their sizes."""

    @property
    def salt(self) -> str:
        """What the digests are salted with."""
        return f"kgeval {self.seed}"


@dataclass(frozen=True, kw_only=True)
class Sources:
    """All that a user named: where beliefs and context come from, and the scope."""

    files: Sequence[Path] = ()
    graphs: Sequence["rdflib.Graph"] = ()
    endpoint: Endpoint | None = None
    in_place: InPlace | None = None
    """Where the beliefs stay at the endpoint, and are drawn from."""
    context: Sequence[Path] = ()
    context_unknown: Sequence[Path] = ()
    scope: Scope = field(default_factory=Scope)
    propose_scope: bool = False
    """Without predicates or a query in the scope, whether names and the schema are background."""
    format: str | None = None
    """A file name extension or media type, for files whose names do not tell."""
    label_properties: Sequence[str] = LABEL_PROPERTIES

    def by_role(self) -> dict[str, Sequence[Path]]:
        """All files."""
        return {"belief": self.files, "context": self.context, "context_unknown": self.context_unknown}


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """Beliefs, and what was noticed while reading them."""

    beliefs: Beliefs
    digests: dict[str, str]
    """SHA-256 of each file as it was read."""
    notes: Sequence[str]


def load(sources: Sources, pages: Path, progress: Progress = lambda *_: None, space: Space = RAM) -> Loaded:
    """Read everything and give each triple its role; `pages` keeps what is pulled from an endpoint."""
    beliefs, digests = read_context(sources, progress, space)
    notes: list[str] = []
    if sources.files or sources.graphs:
        beliefs = _apply_scope(beliefs, sources.scope)
        present = beliefs.by_predicate()
        absent = [printable(p) for p in sources.scope.predicates if iri(p) not in present]
        notes += [f"no triple of the files has the predicate {p}" for p in absent]
    if sources.endpoint is not None:
        pulled = pull(
            sources.endpoint,
            sources.scope,
            pages,
            sources.label_properties,
            lambda done, total: progress("pulling", done, total),
        )
        notes += pulled.notes
        builder = BeliefsBuilder(space)
        for role, quads in pulled.quads(sources.scope.graph or ""):
            builder.add(quads, role)
        builder.add_all(beliefs)
        beliefs = builder.build()
        if sources.scope.query is None:
            beliefs = _blank_is_background(beliefs)
    _check(beliefs, sources)
    return Loaded(beliefs=beliefs, digests=digests, notes=notes)


def read_context(sources: Sources, progress: Progress, space: Space = RAM) -> tuple[Beliefs, dict[str, str]]:
    """Read the files and graphs, context or not, without the scope; and the digest of each file."""
    builder = BeliefsBuilder(space)
    digests: dict[str, str] = {}
    roles = (
        (Role.BELIEF, sources.files),
        (Role.UNKNOWN, sources.context_unknown),
        (Role.GIVEN, sources.context),
    )
    if sum(path == STDIN for _, files in roles for path in files) > 1:
        raise InputError("standard input can be read only once; give the other part as a file")
    for role, files in roles:
        for path in files:
            digests[str(path)] = _read_file(path, sources.format, role, builder, progress)
    for graph in sources.graphs:
        builder.add_parsed(from_rdflib(graph), Role.BELIEF)
    return builder.build(), digests


def read_beliefs(
    source: "str | Path | rdflib.Graph | Iterable[str | Path]",
    *,
    context: Sequence[str | Path] = (),
    context_unknown: Sequence[str | Path] = (),
    predicates: Sequence[str] = (),
    graph: str | None = None,
    scope: str | Path | None = None,
    format: str | None = None,  # noqa: A002
) -> Beliefs:
    """Read beliefs from RDF files or an rdflib Graph or Dataset.

    Args:
        source: a file, several files, or an rdflib graph; a file may be gzipped, "-" is standard input.
        context: files of triples that are taken as true.
        context_unknown: files of triples that may be true, but are not evaluated.
        predicates: IRIs of the predicates to evaluate; all by default.
        graph: IRI of the named graph to evaluate; all by default.
        scope: file of a SELECT ?s ?p ?o or CONSTRUCT query that names the triples to evaluate.
        format: extension or media type of the files, where their names do not tell.
    """
    graphs: list[rdflib.Graph] = []
    files: list[Path] = []
    if isinstance(source, (str, Path)):
        files = [Path(source)]
    elif hasattr(source, "triples"):
        graphs = [cast("rdflib.Graph", source)]
    else:
        files = [Path(file) for file in source]
    sources = Sources(
        files=files,
        graphs=graphs,
        context=[Path(f) for f in context],
        context_unknown=[Path(f) for f in context_unknown],
        scope=Scope.of(predicates=predicates, graph=graph, scope=scope),
        format=format,
    )
    return load(sources, Path()).beliefs


def pull_beliefs(
    url: str,
    *,
    graph: str | None = None,
    predicates: Sequence[str] = (),
    scope: str | Path | None = None,
    endpoint: Endpoint | None = None,
) -> Beliefs:
    """Pull beliefs from a SPARQL endpoint, completely or not at all.

    Args:
        url: the query endpoint; credentials come from the environment (KGEVAL_USER, KGEVAL_PASSWORD, ...).
        graph: IRI of the named graph; the default graph if absent.
        predicates: IRIs of the predicates to evaluate; all by default.
        scope: file of a SELECT ?s ?p ?o or CONSTRUCT query that names the triples to evaluate.
        endpoint: a client with other credentials or patience than the default one.
    """
    sources = Sources(
        endpoint=endpoint or Endpoint(url),
        scope=Scope.of(predicates=predicates, graph=graph, scope=scope),
    )
    with tempfile.TemporaryDirectory(prefix="kgeval-") as folder:
        return load(sources, Path(folder) / "pages").beliefs


def _check(beliefs: Beliefs, sources: Sources) -> None:
    if beliefs.n_beliefs:
        return
    where = ", ".join(printable(str(f)) for f in sources.files) or "the source"
    scope = sources.scope
    if not len(beliefs):
        raise InputError(f"there is no triple in {where}; give a file or an endpoint that holds some")
    if scope.query:
        raise InputError(
            f"{scope.query.name} finds no triple in {where}; check its patterns against the data"
        )
    if scope.graph or scope.predicates:
        asked = " and ".join(
            printable(t) for t in (*scope.predicates, *([scope.graph] if scope.graph else []))
        )
        there = ", ".join(printable(p) for p in list(beliefs.by_predicate(Role.BACKGROUND))[:5])
        raise InputError(f"no triple in {where} matches {asked}; the predicates there are {there}")
    raise InputError(
        f"each of the {plural(len(beliefs), 'triple')} in {where} is context or has a blank node, so nothing "
        "is left to evaluate; name the triples with --scope"
    )


def _apply_scope(beliefs: Beliefs, scope: Scope) -> Beliefs:
    """What is in a file but outside the scope stays, as background for rules, labels and people."""
    if scope.query is not None:
        return _apply_query(beliefs, scope, scope.query)
    beliefs = _blank_is_background(beliefs)
    inside = np.ones(len(beliefs), dtype=bool)
    if scope.predicates:
        inside &= np.isin(
            beliefs.p, [n for p in scope.predicates if (n := beliefs.terms.find(p)) is not None]
        )
    if scope.graph:
        graph = beliefs.terms.find(scope.graph)
        in_graph = np.zeros(len(beliefs), dtype=bool)
        in_graph[beliefs.graph_row[beliefs.graph_term == graph]] = graph is not None
        inside &= in_graph
    return _demote(beliefs, ~inside)


def _blank_is_background(beliefs: Beliefs) -> Beliefs:
    blank = beliefs.is_blank()
    return _demote(beliefs, blank[beliefs.s] | blank[beliefs.o])


def _demote(beliefs: Beliefs, rows: NDArray[np.bool_]) -> Beliefs:
    role = beliefs.role.copy()
    role[rows & (role == Role.BELIEF)] = Role.BACKGROUND
    return beliefs.with_roles(role)


def _apply_query(beliefs: Beliefs, scope: Scope, query: ScopeQuery) -> Beliefs:
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
    beliefs = beliefs.with_roles(role)
    if not made:
        return beliefs
    builder = BeliefsBuilder()
    builder.add(made, Role.BELIEF)
    builder.add_all(beliefs)
    return builder.build()


def rows_of_query(beliefs: Beliefs, query: ScopeQuery) -> list[int]:
    """The rows that a query names; what the graph does not have is left out."""
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


def _read_file(
    path: Path, format_: str | None, role: Role, builder: BeliefsBuilder, progress: Progress
) -> str:
    """Add a file's triples and return its digest."""
    with opened(path, format_, progress) as (file, rdf_format, digest):
        before = len(builder)
        builder.add_parsed(
            ox.parse(file, format=rdf_format),
            role,
            datasets=rdf_format.supports_datasets,
        )
        if len(builder) == before:
            raise InputError(f"{display_name(path)} holds no triple; give a file that holds some")
        return digest.hexdigest()

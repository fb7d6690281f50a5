"""Load beliefs: RDF files, rdflib graphs and SPARQL endpoints are the sources, and SOURCES lists them."""

import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

import pyoxigraph as ox

from rdf_kgeval.beliefs.builder import BeliefsBuilder
from rdf_kgeval.beliefs.prefixes import Prefixes, parse_prefixes
from rdf_kgeval.beliefs.table import Beliefs, Role
from rdf_kgeval.beliefs.terms import from_rdflib, iri
from rdf_kgeval.common.arguments import expect, expect_all, several, wrong
from rdf_kgeval.common.memory import RAM, Space
from rdf_kgeval.common.progress import Progress
from rdf_kgeval.common.registry import Entry, Registry
from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.common.types import UInt8s
from rdf_kgeval.errors import InputError
from rdf_kgeval.namespaces import LABEL_PROPERTIES
from rdf_kgeval.sources.endpoint.client import Endpoint
from rdf_kgeval.sources.files import STDIN, display_name, fetch_file, has_rdf_suffix, opened
from rdf_kgeval.sources.pull import pull
from rdf_kgeval.sources.scope import (
    Scope,
    apply_query,
    choose_beliefs,
    count_accounts,
    did_you_mean,
    resolve,
)

if TYPE_CHECKING:
    import rdflib


@dataclass(frozen=True, kw_only=True)
class InPlace:
    """How to draw from an endpoint."""

    seed: int = 0
    """Seed of the salt of the digests."""
    hops: int = 1
    """Distance from the drawn beliefs up to which neighbours are fetched."""
    parallel: int = 1
    """Number of requests at the same time."""
    reserve: int = 600
    """Number of triples of the first draw, shared among the predicates by their sizes."""

    @property
    def salt(self) -> str:
        """The salt of the digests."""
        return f"kgeval {self.seed}"


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Everything a user named: the sources of beliefs and context, and the scope."""

    files: Sequence[Path] = ()
    graphs: Sequence["rdflib.Graph"] = ()
    beliefs: Beliefs | None = None
    """What was read already; nothing else is then read."""
    endpoint: Endpoint | None = None
    in_place: InPlace | None = None
    """How to draw, where the beliefs stay at the endpoint."""
    context: Sequence[Path] = ()
    context_unknown: Sequence[Path] = ()
    scope: Scope = field(default_factory=Scope)
    format: str | None = None
    """A file name extension or media type, for files with other names."""
    label_properties: Sequence[str] = LABEL_PROPERTIES
    prefixes: Mapping[str, str] = field(default_factory=dict)
    """Namespaces of prefixes that the user gives, before those of the sources."""
    lang: str = "en"
    """The language that people read."""

    def resolved(self, prefixes: Prefixes, beliefs: Beliefs | None = None) -> "Sources":
        """Return the same sources with all CURIEs written out; `beliefs` are what was read of them."""
        return replace(
            self,
            scope=self.scope.resolved(prefixes, beliefs),
            label_properties=[resolve(p, prefixes, beliefs) for p in self.label_properties],
        )

    def by_role(self) -> dict[str, Sequence[Path]]:
        """Map each role to its files."""
        return {"belief": self.files, "context": self.context, "context_unknown": self.context_unknown}


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """Beliefs, and notes about their sources."""

    beliefs: Beliefs
    digests: dict[str, str]
    """SHA-256 of each file as it was read."""
    notes: Sequence[str]
    sources: Sources
    """What was named, with all CURIEs written out."""


@dataclass(frozen=True, kw_only=True)
class Read:
    """The digests, notes and prefixes of a source that was read."""

    digests: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each file as it was read."""
    notes: Sequence[str] = ()
    """Sentences that the user should read."""
    invalid: int = 0
    """The number of triples that are not valid RDF and were left out."""
    prefixes: Mapping[str, str] = field(default_factory=dict)
    """Namespaces of the prefixes that the source declares."""


class Source(Protocol):
    """Something that triples come from."""

    def read(self, builder: BeliefsBuilder, progress: Progress) -> Read:
        """Add all triples to a builder, each with its role, completely or not at all.

        Raises:
            InputError: it cannot be read, or is not RDF.
            EndpointError: an endpoint fails.
        """


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How to read a source."""

    role: Role = Role.BELIEF
    format: str | None = None
    """As in `Sources`."""
    scope: Scope = field(default_factory=Scope)
    """The triples to fetch from a source that is not read whole."""
    label_properties: Sequence[str] = ()
    """The label properties to fetch beside the scope."""
    lang: str = "en"
    """The language of descriptions to fetch, besides English."""
    pages: Path = Path()
    """Folder for pages of triples that were pulled."""


@dataclass(frozen=True)
class SourceEntry(Entry):
    """A kind of source, chosen by the type of what the user named."""

    takes: Callable[[object], bool]
    """Whether it reads this."""


SOURCES = Registry(
    "source",
    SourceEntry(
        "file",
        "sources.load:FileSource",
        "an RDF file, gzipped or not, in the format that its suffix names",
        lambda named: isinstance(named, str | Path),
    ),
    SourceEntry(
        "graph",
        "sources.load:GraphSource",
        "an rdflib Graph or Dataset",
        lambda named: hasattr(named, "triples"),
    ),
    SourceEntry(
        "endpoint",
        "sources.load:EndpointSource",
        "a SPARQL endpoint, pulled page by page and verified by its counts",
        lambda named: isinstance(named, Endpoint),
    ),
)


def open_source(named: object, reading: Reading) -> Source:
    """Make a source of what a user named, by the first entry of `SOURCES` that takes it."""
    for entry in SOURCES.values():
        if entry.takes(named):
            source: Source = entry.load()(named, reading)
            return source
    raise InputError(f"{printable(repr(named), 80)} is not a source; give {' or '.join(_sentences())}")


def _sentences() -> list[str]:
    return [entry.sentence for entry in SOURCES.values()]


class FileSource:
    """An RDF file, gzipped or not."""

    def __init__(self, path: str | Path, reading: Reading) -> None:
        self._path = Path(path)
        self._reading = reading

    def read(self, builder: BeliefsBuilder, progress: Progress) -> Read:  # noqa: D102
        with opened(self._path, self._reading.format, progress) as (file, rdf_format, digest):
            before = len(builder)
            parser = ox.parse(file, format=rdf_format)
            first = list(islice(parser, 1))
            prefixes = dict(parser.prefixes)  # in RDF/XML they end with the document
            builder.add_parsed(
                chain(first, parser),
                self._reading.role,
                datasets=rdf_format.supports_datasets,
            )
            if len(builder) == before:
                raise InputError(f"{display_name(self._path)} holds no triple; give a file that holds some")
            prefixes |= parser.prefixes
            return Read(digests={str(self._path): digest.hexdigest()}, prefixes=prefixes)


class GraphSource:
    """An rdflib graph in memory."""

    def __init__(self, graph: "rdflib.Graph", reading: Reading) -> None:
        self._graph = graph
        self._reading = reading

    def read(self, builder: BeliefsBuilder, progress: Progress) -> Read:  # noqa: D102
        builder.add_parsed(from_rdflib(self._graph), self._reading.role)
        return Read(prefixes={name: str(namespace) for name, namespace in self._graph.namespaces()})


class EndpointSource:
    """A SPARQL endpoint; its triples of the scope are pulled, with labels and types."""

    def __init__(self, endpoint: Endpoint, reading: Reading) -> None:
        self._endpoint = endpoint
        self._reading = reading

    def read(self, builder: BeliefsBuilder, progress: Progress) -> Read:  # noqa: D102
        reading = self._reading
        pulled = pull(
            self._endpoint,
            reading.scope,
            reading.pages,
            reading.label_properties,
            lambda done, total: progress("pulling", done, total),
            reading.lang,
        )
        for role, quads in pulled.quads(reading.scope.graph or ""):
            builder.add(quads, role)
        return Read(notes=pulled.notes, invalid=pulled.invalid)


def load(sources: Sources, pages: Path, progress: Progress = lambda *_: None, space: Space = RAM) -> Loaded:
    """Read all sources, and give each triple its role; `pages` is the folder for pulled triples."""
    if sources.beliefs is not None:
        return Loaded(beliefs=sources.beliefs, digests={}, notes=(), sources=sources)
    beliefs, read, digests = read_context(sources, progress, space)
    prefixes = beliefs.prefixes
    sources = sources.resolved(prefixes, beliefs if sources.endpoint is None else None)
    scope, query = sources.scope, sources.scope.query
    notes: list[str] = []
    code: UInt8s | None = None
    invalid = 0
    if query is not None and (sources.files or sources.graphs):
        beliefs, made = apply_query(beliefs, scope, query)
        if made:
            read += made
            notes.append(f"{query.name} makes {plural(made, 'new triple')}, counted as read")
    if sources.endpoint is not None:
        reading = Reading(
            scope=scope, label_properties=sources.label_properties, lang=sources.lang, pages=pages
        )
        builder = BeliefsBuilder(space)
        pulled = open_source(sources.endpoint, reading).read(builder, progress)
        notes += pulled.notes
        invalid = pulled.invalid
        read += len(builder) + invalid
        builder.add_all(beliefs)
        beliefs = builder.build()
    beliefs = beliefs.with_prefixes(prefixes)
    if query is None:
        beliefs, code, more = choose_beliefs(beliefs, scope, sources.label_properties)
        notes += more
    if sources.files or sources.graphs:
        present = beliefs.by_predicate()
        notes += [
            f"no triple of the files has the predicate {printable(p)}{did_you_mean(p, prefixes, beliefs)}"
            for p in scope.predicates
            if iri(p) not in present
        ]
    _check(beliefs, sources)
    accounts = count_accounts(beliefs, code, read=read, invalid=invalid)
    beliefs = replace(beliefs, accounts=accounts)
    return Loaded(beliefs=beliefs, digests=digests, notes=notes, sources=sources)


def read_context(
    sources: Sources, progress: Progress, space: Space = RAM
) -> tuple[Beliefs, int, dict[str, str]]:
    """Read the files and graphs, context included, before the scope is applied.

    Returns:
        The beliefs with the prefixes of their sources, the number of triples read, and the SHA-256 of each
        file.
    """
    named = (
        *((path, Role.BELIEF) for path in sources.files),
        *((path, Role.UNKNOWN) for path in sources.context_unknown),
        *((path, Role.GIVEN) for path in sources.context),
        *((graph, Role.BELIEF) for graph in sources.graphs),
    )
    if sum(source == STDIN for source, _ in named if isinstance(source, Path)) > 1:
        raise InputError("standard input can be read only once; give the other part as a file")
    builder = BeliefsBuilder(space)
    digests: dict[str, str] = {}
    declared: list[Mapping[str, str]] = [sources.prefixes]
    for source, role in named:
        reading = Reading(role=role, format=sources.format)
        part = open_source(source, reading).read(builder, progress)
        digests |= part.digests
        declared.append(part.prefixes)
    read = len(builder)
    return builder.build().with_prefixes(Prefixes.of(*declared)), read, digests


def read_beliefs(
    source: "str | Path | rdflib.Graph | Iterable[str | Path]",
    *,
    context: Sequence[str | Path] = (),
    context_unknown: Sequence[str | Path] = (),
    predicates: Sequence[str] = (),
    graph: str | None = None,
    scope: str | Path | None = None,
    format: str | None = None,  # noqa: A002
    prefixes: Mapping[str, str] | None = None,
) -> Beliefs:
    """Read beliefs from RDF files or an rdflib Graph or Dataset.

    Args:
        source: a file, several files, or an rdflib graph; a file may be gzipped, "-" is standard input, and
            an address on the web that ends as a file does is fetched.
        context: files of triples that are taken as true.
        context_unknown: files of triples that may be true, but are not evaluated.
        predicates: IRIs or CURIEs of the predicates to evaluate; by default all but those that nobody can
            judge, such as labels, dates of records and links: `Beliefs.accounts` counts these triples.
        graph: IRI or CURIE of the named graph to evaluate; all by default.
        scope: file of a SELECT ?s ?p ?o or CONSTRUCT query that names the triples to evaluate.
        format: extension or media type of the files, where their names do not tell.
        prefixes: namespaces of prefixes for CURIEs, beside those of the source and well-known ones.
    """
    with tempfile.TemporaryDirectory(prefix="kgeval-") as folder:
        parsed = parse_source(source, "read_beliefs", Path(folder))
        if parsed.endpoint is not None or parsed.beliefs is not None:
            url = parsed.endpoint is not None
            remedy = "pull_beliefs(url) pulls from an endpoint" if url else "these are beliefs already"
            raise wrong(source, _NEED.format("read_beliefs"), remedy)
        sources = replace(
            parsed,
            context=[Path(file) for file in several(context)],
            context_unknown=[Path(file) for file in several(context_unknown)],
            scope=Scope.of(predicates=several(predicates), graph=graph, scope=scope),
            format=format,
            prefixes=_checked_prefixes(prefixes),
        )
        return load(sources, Path()).beliefs


_NEED = "{} takes a file, several files, or an rdflib Graph"


def parse_source(source: object, call: str, folder: Path) -> Sources:
    """Say what kind of source it is that a user gives a call.

    Args:
        source: a file, several, an rdflib graph, the URL of a file or endpoint, or what was read already.
        call: the name of the call, for messages.
        folder: where a file on the web is put.

    Raises:
        InputError: it is none of these, or a file on the web cannot be fetched.
    """
    need = _NEED.format(call)
    if isinstance(source, Beliefs):
        return Sources(beliefs=source)
    if isinstance(source, Endpoint):
        return Sources(endpoint=source)
    if hasattr(source, "triples"):
        return Sources(graphs=[cast("rdflib.Graph", source)])
    if hasattr(source, "n_beliefs") or hasattr(source, "graph"):
        raise wrong(
            source, need, "what is known of it is in the object itself, and its beliefs in .graph.beliefs"
        )
    if isinstance(source, str) and _RDF.search(source):
        raise wrong(source, need, "of RDF text, make a graph: rdflib.Graph().parse(data=text)")
    if isinstance(source, str) and source.lower().startswith(("http://", "https://")):
        if has_rdf_suffix(source):
            return Sources(files=[fetch_file(source, folder)])
        return Sources(endpoint=Endpoint(source))
    remedy = "of triples, make a graph: graph = rdflib.Graph(); graph.add((s, p, o))"
    files = [Path(str(file)) for file in expect_all(source, (str, Path), need, remedy)]
    if not files:
        raise wrong(source, need, "give for example 'kg.ttl'")
    return Sources(files=files)


_RDF = re.compile(r"\n|\s\.\s*$|^\s*(@prefix|@base|prefix |base |[<{])", re.IGNORECASE)
"""What is in RDF text, and in no file name."""


def pull_beliefs(
    url: str,
    *,
    graph: str | None = None,
    predicates: Sequence[str] = (),
    scope: str | Path | None = None,
    endpoint: Endpoint | None = None,
    prefixes: Mapping[str, str] | None = None,
) -> Beliefs:
    """Pull beliefs from a SPARQL endpoint, completely or not at all.

    Args:
        url: the query endpoint; credentials come from the environment (KGEVAL_USER, KGEVAL_PASSWORD, ...).
        graph: IRI or CURIE of the named graph; the default graph if absent.
        predicates: IRIs or CURIEs of the predicates to evaluate; by default all but those that nobody can
            judge, such as labels, dates of records and links: `Beliefs.accounts` counts these triples.
        scope: file of a SELECT ?s ?p ?o or CONSTRUCT query that names the triples to evaluate.
        endpoint: a client with its own credentials, retry policy or transport.
        prefixes: namespaces of prefixes for CURIEs, beside well-known ones.
    """
    need = "pull_beliefs takes the URL of an endpoint"
    expect(url, str, need, "pass a client of your own as endpoint=, beside its URL")
    if not url.lower().startswith(("http://", "https://")):
        raise wrong(url, need, "read_beliefs reads files")
    sources = Sources(
        endpoint=endpoint or Endpoint(url),
        scope=Scope.of(predicates=several(predicates), graph=graph, scope=scope),
        prefixes=_checked_prefixes(prefixes),
    )
    with tempfile.TemporaryDirectory(prefix="kgeval-") as folder:
        return load(sources, Path(folder) / "pages").beliefs


def _checked_prefixes(prefixes: Mapping[str, str] | None) -> Mapping[str, str]:
    return parse_prefixes(f"{name}={namespace}" for name, namespace in (prefixes or {}).items())


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
        short = beliefs.prefixes.shorten
        asked = (*scope.predicates, *([scope.graph] if scope.graph else []))
        hints = "".join(did_you_mean(p, beliefs.prefixes, beliefs) for p in scope.predicates)
        there = ", ".join(printable(short(p)) for p in list(beliefs.by_predicate(Role.BACKGROUND))[:5])
        raise InputError(
            f"no triple in {where} matches {' and '.join(map(printable, asked))}; "
            f"the predicates there are {there}{hints}"
        )
    raise InputError(
        f"each of the {plural(len(beliefs), 'triple')} in {where} is context or has a blank node, so nothing "
        "is left to evaluate; name the triples with --scope"
    )

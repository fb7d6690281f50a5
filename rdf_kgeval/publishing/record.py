"""What a published record is made of: its names, and its lines of N-Quads.

Nothing in a record has a blank node: names are made from digests, so that publishing twice gives the same
bytes and writing a line to a store twice does no harm. They stand under the user's own base, else they are
UUIDs (version 5), which need no domain.
"""

import hashlib
import json
import urllib.parse
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import Any

import pyoxigraph as ox

from rdf_kgeval.beliefs.names import readable
from rdf_kgeval.beliefs.table import Role, Triple
from rdf_kgeval.beliefs.terms import iri_term
from rdf_kgeval.common.http.credentials import is_public
from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.state import State
from rdf_kgeval.namespaces import KGE, XSD
from rdf_kgeval.rules.rule import to_json
from rdf_kgeval.runs.config import RunConfig
from rdf_kgeval.verdicts.log import LogRecord, Verdict

Properties = Iterable[tuple[str, str]]
"""Pairs of a predicate's IRI and an N-Triples term."""


class Form(StrEnum):
    """How an annotation names the statement that it is about."""

    REIFICATION = "reification"
    """rdf:subject, rdf:predicate and rdf:object, which every store loads."""
    NAMED_GRAPHS = "named-graphs"
    """A named graph that holds the statement."""
    TRIPLE_TERMS = "triple-terms"
    """A reifier of an RDF 1.2 triple term."""


class Annotations(StrEnum):
    """Which beliefs are annotated."""

    KNOWN = "known"
    """Those that people were asked about, and those whose label was inferred."""
    ASKED = "asked"
    WRONG = "wrong"
    ALL = "all"


@dataclass(frozen=True, kw_only=True)
class RecordOptions:
    """What to publish, and under which names."""

    annotations: Annotations = Annotations.KNOWN
    """Which beliefs to annotate."""
    form: Form = Form.REIFICATION
    base: str | None = None
    """IRI that the record's names start with; without it they are UUIDs made from the run's digest."""
    dataset: str | None = None
    """IRI of the evaluated dataset, if it has one."""
    graph: str | None = None
    """IRI of the named graph of the record."""
    license: str | None = None
    """IRI of the licence under which the record is published."""
    name_annotators: bool = False
    """Whether annotators appear by name rather than by pseudonym."""


@dataclass(frozen=True, eq=False)
class Record:
    """The names of one evaluation's record."""

    evaluation: State
    options: RecordOptions = field(default_factory=RecordOptions)
    origin: RunConfig = field(default_factory=RunConfig)
    """What the run was made from."""
    quads: bool = True
    """Whether the lines name the record's graph."""

    @cached_property
    def key(self) -> str:
        """Digest of what the evaluation is of and how it began; more verdicts do not change it."""
        graph, settings = self.evaluation.graph, self.evaluation.settings
        digest = hashlib.sha256()
        for part in graph.beliefs.identity():
            digest.update(part)
        first = [_fields(record) for record in self.evaluation.records[:1]]
        for text in (self.rules_digest, json.dumps([settings.fixed(), first], sort_keys=True)):
            digest.update(text.encode())
        return digest.hexdigest()

    @cached_property
    def rules_digest(self) -> str:
        """Digest of the rules, wherever they were read."""
        rules = [to_json(rule) for rule in self.evaluation.graph.rules]
        text = json.dumps(
            [{k: v for k, v in rule.items() if k != "source"} for rule in rules], sort_keys=True
        )
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def verdicts_digest(self) -> str:
        """Digest of the verdict log."""
        text = json.dumps([_fields(record) for record in self.evaluation.records], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def base(self) -> str | None:
        """What all names start with, if the user says so."""
        base = self.options.base
        if base is None:
            return None
        if not base.endswith(("/", "#")):
            raise InputError(f"the base IRI {base!r} must end in / or #, so that names can follow it")
        return iri_term(base)[1:-1]

    @cached_property
    def _uuid(self) -> uuid.UUID:
        return uuid.uuid5(uuid.NAMESPACE_URL, KGE + self.key)

    def name(self, kind: str, of: str | int = "") -> str:
        """Return the IRI of a thing of the record, as a term."""
        path = f"{kind}/{of}" if of != "" else kind
        if self.base is None:
            return f"<{uuid.uuid5(self._uuid, path).urn}>"
        return f"<{self.base}{path}>"

    @cached_property
    def graph(self) -> str:
        """The named graph of the record, which stands for the record itself."""
        return iri_term(self.options.graph) if self.options.graph else self.name("record")

    @cached_property
    def dataset(self) -> str:
        """The evaluated dataset."""
        return iri_term(self.options.dataset) if self.options.dataset else self.name("dataset")

    @cached_property
    def end(self) -> str:
        """How a line of the record's graph ends."""
        return f" {self.graph} .\n" if self.quads else " .\n"

    def digest_name(self, kind: str, of: str) -> str:
        """Return the IRI of a thing that is named by a digest of its own name."""
        return self.name(kind, hashlib.sha256(of.encode()).hexdigest()[:16])

    def annotator(self, name: str) -> str:
        """Return an annotator's IRI, which gives the name away only to who has the run."""
        return self.digest_name("annotator", f"{self.key} {name}")

    def pseudonym(self, name: str) -> str:
        """Return what an annotator is called instead of the name."""
        return hashlib.sha256(f"{self.key} {name}".encode()).hexdigest()[:8]

    @cached_property
    def title(self) -> str:
        """The name of the evaluated graph."""
        return title_of(self.origin)

    @cached_property
    def content_digest(self) -> str | None:
        """SHA-256 of the lines of N-Triples that are evaluated; None where they stay in a store.

        The lines are in the order of their own SHA-256, so that no graph is too large for it.
        """
        beliefs = self.evaluation.graph.beliefs
        if beliefs.frame:
            return None
        digest = hashlib.sha256()
        _, rows = beliefs.ids
        for row in rows[beliefs.role[rows] == Role.BELIEF].tolist():
            digest.update(f"{beliefs.line(row)}\n".encode())
        return digest.hexdigest()

    def term(self, term: str) -> str:
        """Return a term as it is published: blank nodes get IRIs."""
        return self.name("blank", urllib.parse.quote(term[2:], safe="")) if term[0] == "_" else term

    def triple(self, row: int) -> Triple:
        """Return the triple of a row as it is published."""
        s, p, o = self.evaluation.graph.beliefs.triple(row)
        return (self.term(s), p, self.term(o)) if s[0] == "_" or o[0] == "_" else (s, p, o)

    def describe(self, subject: str, properties: Properties) -> Iterator[str]:
        """Write lines about a subject."""
        for predicate, value in properties:
            yield f"{subject} <{predicate}> {value}{self.end}"


def _fields(record: LogRecord) -> dict[str, Any]:
    """Return what digests are made of; notes and sources came later, and change none where there are none."""
    fields = asdict(record)
    return {k: v for k, v in fields.items() if v is not None or k not in ("note", "source")}


def name_of(evaluation: State, predicate: str) -> str:
    """Return a predicate's name for people."""
    term = evaluation.graph.beliefs.terms.find(f"<{predicate}>")
    name = readable(f"<{predicate}>") if term is None else evaluation.names.of(term)
    return printable(name, 80)


def title_of(origin: RunConfig) -> str:
    """Return what the evaluated graph is called, wherever that may be read."""
    files = [file.name for file in origin.files if file.role == "belief" and file.name != "-"]
    places = [place for place in (origin.scope.graph, origin.endpoint) if place and is_public(place)]
    names = files or [*places, "the graph"][:1]
    return printable(
        names[0] if len(names) == 1 else f"{names[0]} and {plural(len(names) - 1, 'file')} more", 80
    )


def text(value: str, language: str | None = None) -> str:
    """Write a string as a term."""
    return str(ox.Literal(value, language=language))


def integer(value: int) -> str:
    """Write a whole number as a term."""
    return f'"{value}"^^<{XSD}integer>'


def decimal(value: float) -> str:
    """Write a number as a term that reads back as the same number."""
    return f'"{Decimal(repr(float(value))):f}"^^<{XSD}decimal>'


def moment(value: str) -> str | None:
    """Write a time of the verdict log as a term in UTC, if it is one; such terms sort by time."""
    try:
        found = datetime.fromisoformat(value)
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return f'"{found.isoformat()}"^^<{XSD}dateTime>'


def moments(verdicts: Iterable[Verdict]) -> list[str]:
    """Write the times of verdicts as terms, the first one first."""
    return sorted(filter(None, (moment(verdict.time) for verdict in verdicts)))

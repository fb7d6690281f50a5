"""Publishing an evaluation as linked data: DQV measurements, PROV, and an annotation for each belief."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pyoxigraph as ox

from rdf_kgeval.beliefs.terms import to_rdflib
from rdf_kgeval.common.arguments import expect
from rdf_kgeval.common.disk import by_ending, replacing
from rdf_kgeval.common.progress import Progress
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.state import State
from rdf_kgeval.namespaces import (
    DCAT,
    DCTERMS,
    DQV,
    KGE,
    LDQD,
    OA,
    PROV,
    RDF,
    RDFS,
    RECORD_SUFFIXES,
    SKOS,
    SPDX,
    VOID,
    XSD,
)
from rdf_kgeval.publishing.annotations import annotate
from rdf_kgeval.publishing.measurements import head
from rdf_kgeval.publishing.record import Annotations as Annotations
from rdf_kgeval.publishing.record import Form as Form
from rdf_kgeval.publishing.record import Record, integer
from rdf_kgeval.publishing.record import RecordOptions as RecordOptions
from rdf_kgeval.runs.config import RunConfig
from rdf_kgeval.sources.files import FORMATS

if TYPE_CHECKING:
    import rdflib

_PREFIXES = {
    "kge": KGE, "dqv": DQV, "prov": PROV, "void": VOID, "oa": OA, "dct": DCTERMS, "rdf": RDF, "rdfs": RDFS,
    "xsd": XSD, "dcat": DCAT, "spdx": SPDX, "skos": SKOS, "ldqd": LDQD,
}  # fmt: skip
_KINDS = ("statement", "annotation", "constraint", "rule", "partition", "accuracy", "annotator", "input")


def make_record(
    evaluation: State,
    options: RecordOptions | None = None,
    origin: RunConfig | None = None,
    *,
    quads: bool = True,
) -> Record:
    """Make the record of an evaluation.

    Args:
        evaluation: what to publish.
        options: what of it, and under which names.
        origin: what the run was made from, for the provenance.
        quads: whether the record stands in a named graph.
    """
    options = options or RecordOptions()
    if options.form is Form.NAMED_GRAPHS and not quads:
        raise InputError(
            "statements in named graphs need a place for several graphs; write .trig, .nq or .jsonld"
        )
    return Record(evaluation, options, origin or RunConfig(), quads)


def lines_of(record: Record, progress: Progress = lambda *_: None) -> Iterator[str]:
    """Yield the record as N-Quads (or N-Triples), in chunks of whole lines, always in the same order."""
    chunk = "".join(head(record, record.evaluation.result()))
    triples = chunk.count(record.end)
    yield chunk
    for parts in annotate(record):
        chunk = "".join(parts)
        triples += chunk.count(record.end)
        progress("publishing", triples, None)
        yield chunk
    yield from record.describe(record.graph, [(VOID + "triples", integer(triples + 1))])


def format_of(path: Path) -> ox.RdfFormat:
    """Return the format that a file's name asks for.

    Raises:
        InputError: it is none in which a record can be written.
    """
    return by_ending(path, {suffix: FORMATS[suffix] for suffix in RECORD_SUFFIXES})


def write_record(
    evaluation: State,
    path: Path,
    options: RecordOptions | None = None,
    origin: RunConfig | None = None,
    progress: Progress = lambda *_: None,
) -> None:
    """Write the record of an evaluation to a file, whole or not at all.

    The format is told from the name: .trig, .ttl, .nq, .nt or .jsonld.

    Raises:
        InputError: the format is none of these, or the file cannot be written.
    """
    rdf_format = format_of(path)
    if rdf_format == ox.RdfFormat.JSON_LD and options and options.form is Form.TRIPLE_TERMS:
        raise InputError("JSON-LD has no triple terms; write .trig, .ttl, .nq or .nt")
    record = make_record(evaluation, options, origin, quads=rdf_format.supports_datasets)
    try:
        with replacing(path) as new, new.open("wb") as file:
            _write(record, file, rdf_format, progress)
    except OSError as error:
        raise InputError(f"{printable(str(path))} cannot be written: {error.strerror}") from error


def _write(record: Record, file: IO[bytes], rdf_format: ox.RdfFormat, progress: Progress) -> None:
    lines = lines_of(record, progress)
    if rdf_format in (ox.RdfFormat.N_QUADS, ox.RdfFormat.N_TRIPLES):
        file.writelines(chunk.encode() for chunk in lines)
        return
    own = {"uuid": "urn:uuid:"}
    if record.base is not None:
        own = {"": record.base, **{name: f"{record.base}{name}/" for name in _KINDS}}
    line_format = ox.RdfFormat.N_QUADS if record.quads else ox.RdfFormat.N_TRIPLES
    quads = (quad for chunk in lines for quad in ox.parse(chunk, format=line_format))
    ox.serialize(quads, file, format=rdf_format, prefixes={**_PREFIXES, **own})


def to_rdf(evaluation: State, options: RecordOptions | None = None) -> "rdflib.Dataset":
    """Convert an evaluation to an rdflib Dataset with the record in a named graph.

    Args:
        evaluation: what to publish.
        options: what of it, and under which names; rdflib knows no triple terms.
    """
    import rdflib

    expect(evaluation, State, "to_rdf takes what evaluate returns", "to_rdf(evaluate(source, oracle))")
    if options and options.form is Form.TRIPLE_TERMS:
        raise InputError("rdflib knows no triple terms; choose another form, or publish to a file")
    dataset = rdflib.Dataset(default_union=True)
    for name, namespace in _PREFIXES.items():
        dataset.bind(name, namespace)
    for chunk in lines_of(make_record(evaluation, options)):
        for quad in ox.parse(chunk, format=ox.RdfFormat.N_QUADS):
            graph = dataset.graph(to_rdflib(quad.graph_name))
            graph.add((to_rdflib(quad.subject), to_rdflib(quad.predicate), to_rdflib(quad.object)))
    return dataset

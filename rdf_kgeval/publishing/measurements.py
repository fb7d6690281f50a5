"""The head of a record: measurements of the dataset and its predicates, provenance, rules, annotators."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version

import numpy as np

from rdf_kgeval.beliefs.terms import iri_term
from rdf_kgeval.common.http.credentials import is_public
from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.result import GroupResult, Result
from rdf_kgeval.inference.rule_weights import track_rules
from rdf_kgeval.namespaces import (
    DCAT,
    DCTERMS,
    DQV,
    KGE,
    LDQD,
    PROV,
    RDF_TYPE,
    RDFS,
    RDFS_LABEL,
    SKOS,
    SPDX,
    VOID,
    XSD,
)
from rdf_kgeval.publishing.record import Properties, Record, decimal, integer, moments, name_of, text
from rdf_kgeval.runs.config import InputFile
from rdf_kgeval.verdicts.log import Verdict

DEFINITION = "The share of a dataset's statements that are true."
"""What is measured, as our vocabulary says it."""


def head(record: Record, result: Result) -> Iterator[str]:
    """Write the lines of a record that are not about single beliefs.

    Args:
        record: names.
        result: the result of the evaluation.
    """
    verdicts = record.evaluation.standing
    yield from record.describe(record.graph, _itself(record, verdicts))
    yield from record.describe(f"<{KGE}accuracy>", _metric())
    yield from _dataset(record, result)
    yield from _checksums(record)
    yield from _activity(record, result, verdicts)
    yield from _annotators(record, verdicts)
    yield from _rules(record)


def _itself(record: Record, verdicts: list[Verdict]) -> Properties:
    yield RDF_TYPE, f"<{DQV}QualityMetadata>"
    yield RDF_TYPE, f"<{VOID}Dataset>"
    yield RDF_TYPE, f"<{DCAT}Dataset>"
    yield DCTERMS + "title", text(f"How much of {record.title} is true", "en")
    if record.options.license is not None:
        yield DCTERMS + "license", iri_term(record.options.license)
    yield PROV + "wasGeneratedBy", record.name("evaluation")
    yield DCTERMS + "subject", record.dataset
    yield KGE + "verdictsDigest", text(record.verdicts_digest)
    yield KGE + "form", text(record.options.form)
    for time in moments(verdicts)[-1:]:
        yield DCTERMS + "created", time
        yield PROV + "generatedAtTime", time


def _metric() -> Properties:
    """Describe what is measured, for readers who cannot look our vocabulary up."""
    yield RDF_TYPE, f"<{DQV}Metric>"
    yield RDFS_LABEL, text("accuracy", "en")
    yield SKOS + "definition", text(DEFINITION, "en")
    yield DQV + "inDimension", f"<{LDQD}semanticAccuracy>"
    yield DQV + "expectedDataType", f"<{XSD}decimal>"


def _dataset(record: Record, result: Result) -> Iterator[str]:
    measured = result.accuracy is not None
    partitions = {p: record.digest_name("partition", p) for p in result.by_predicate}
    whole = record.name("accuracy")
    properties = [
        (RDF_TYPE, f"<{VOID}Dataset>"),
        (RDF_TYPE, f"<{DCAT}Dataset>"),
        (DCTERMS + "title", text(record.title)),
        (VOID + "triples", integer(result.beliefs)),
    ]
    digest = record.content_digest
    if digest is not None:
        properties.append((DCAT + "version", text(digest[:12])))
        properties.append((SPDX + "checksum", record.name("checksum", digest)))
    properties += [
        (DCAT + "distribution", name) for name, _, file in _inputs(record) if file and file.role == "belief"
    ]
    endpoint, graph = record.origin.endpoint, record.origin.scope.graph
    if endpoint and is_public(endpoint):
        with suppress(InputError):  # a URL is not always an IRI
            properties.append((VOID + "sparqlEndpoint", iri_term(endpoint)))
    if graph and is_public(graph):
        properties.append((DCTERMS + "source", iri_term(graph)))
    properties += [(VOID + "propertyPartition", name) for name in partitions.values()]
    if measured:
        properties.append((DQV + "hasQualityMeasurement", whole))
    yield from record.describe(record.dataset, properties)
    if measured:
        yield from record.describe(whole, _measurement(record, record.dataset, record.title, result, result))
    for predicate, name in partitions.items():
        entry = result.by_predicate[predicate]
        own, title = record.digest_name("accuracy", predicate), name_of(record.evaluation, predicate)
        known = measured and entry.accuracy is not None
        yield from record.describe(
            name,
            [
                (RDF_TYPE, f"<{VOID}Dataset>"),
                (RDFS_LABEL, text(title)),
                (VOID + "property", f"<{predicate}>"),
                (VOID + "triples", integer(entry.beliefs)),
                *([(DQV + "hasQualityMeasurement", own)] if known else []),
            ],
        )
        if known:
            yield from record.describe(own, _measurement(record, name, title, entry, result))


def _checksums(record: Record) -> Iterator[str]:
    """Describe each SHA-256 once, whatever refers to it."""
    files = [file.sha256 for _, _, file in _inputs(record) if file]
    for digest in dict.fromkeys(filter(None, [record.content_digest, *files])):
        properties = [
            (RDF_TYPE, f"<{SPDX}Checksum>"),
            (SPDX + "algorithm", f"<{SPDX}checksumAlgorithm_sha256>"),
            (SPDX + "checksumValue", f'"{digest}"^^<{XSD}hexBinary>'),
        ]
        yield from record.describe(record.name("checksum", digest), properties)


def _measurement(
    record: Record, of: str, title: str, entry: GroupResult | Result, result: Result
) -> Properties:
    assert entry.accuracy is not None  # noqa: S101
    yield RDF_TYPE, f"<{DQV}QualityMeasurement>"
    yield RDFS_LABEL, text(f"accuracy of {title}", "en")
    yield DQV + "computedOn", of
    yield DQV + "isMeasurementOf", f"<{KGE}accuracy>"
    yield DQV + "value", decimal(entry.accuracy)
    if entry.interval is not None:
        low, high = entry.interval
        yield KGE + "lower", decimal(low)
        yield KGE + "upper", decimal(high)
        yield KGE + "level", decimal(result.level)
    yield KGE + "method", text(result.method)
    yield KGE + "population", integer(entry.beliefs)
    yield KGE + "sampleSize", integer(entry.asked)
    yield KGE + "inferred", integer(entry.inferred)
    yield PROV + "wasGeneratedBy", record.name("evaluation")


def _activity(record: Record, result: Result, verdicts: list[Verdict]) -> Iterator[str]:
    release = version("rdf-kgeval")
    software = record.name("software", release)
    inputs = _inputs(record)
    settings = record.evaluation.settings
    parameters = {
        "policy": text(settings.chosen.policy),
        "estimator": text(settings.chosen.estimator),
        "objective": text(settings.objective),
        "seed": integer(settings.seed),
        "seedSize": integer(settings.seed_size),
        "level": decimal(settings.level),
        "errorRate": decimal(settings.error_rate),
        "strict": f'"{str(settings.strict).lower()}"^^<{XSD}boolean>',
        "margin": None if settings.margin is None else decimal(settings.margin),
        "budget": None if settings.budget is None else integer(settings.budget),
        "budgetSeconds": None if settings.seconds is None else decimal(settings.seconds),
        "candidates": None if settings.candidates is None else integer(settings.candidates),
        "stopped": None if result.stopped is None else text(result.stopped),
    }
    times = moments(verdicts)
    properties = [
        (RDF_TYPE, f"<{PROV}Activity>"),
        (RDF_TYPE, f"<{KGE}Evaluation>"),
        (RDFS_LABEL, text(f"evaluation of {record.title}", "en")),
        *((KGE + name, value) for name, value in parameters.items() if value is not None),
        (KGE + "verdicts", integer(len(verdicts))),
        *((PROV + "used", name) for name, _, _ in inputs),
        *((PROV + "startedAtTime", time) for time in times[:1]),
        *((PROV + "endedAtTime", time) for time in times[-1:]),
        (PROV + "wasAssociatedWith", software),
        *((PROV + "wasAssociatedWith", record.annotator(name)) for name in _names(verdicts)),
    ]
    yield from record.describe(record.name("evaluation"), properties)
    agent = [
        (RDF_TYPE, f"<{PROV}SoftwareAgent>"),
        (RDFS_LABEL, text(f"rdf_kgeval {release}")),
        (DCTERMS + "hasVersion", text(release)),
    ]
    yield from record.describe(software, agent)
    for name, described, _ in inputs:
        yield from record.describe(name, described)


def _inputs(record: Record) -> list[tuple[str, list[tuple[str, str]], InputFile | None]]:
    """Name and describe what was used, by digest; of a path only the file's name is published."""
    origin = record.origin
    files = [(file.role, file.sha256, file) for file in (*origin.files, *origin.ontologies)]
    used: list[tuple[str, str, InputFile | None]] = [*files]
    if record.evaluation.graph.rules:
        used.append(("rules", record.rules_digest, None))
    return [
        (
            record.digest_name("input", f"{role} {number} {digest}"),
            [
                (RDF_TYPE, f"<{PROV}Entity>"),
                (KGE + "role", text(role)),
                (KGE + "sha256", text(digest)),
                *(_file(record, file) if file else []),
            ],
            file,
        )
        for number, (role, digest, file) in enumerate(used)
    ]


def _file(record: Record, file: InputFile) -> Properties:
    if file.role == "belief":
        yield RDF_TYPE, f"<{DCAT}Distribution>"
    yield RDFS_LABEL, text("standard input" if file.name == "-" else file.name)
    yield SPDX + "checksum", record.name("checksum", file.sha256)


def _names(verdicts: list[Verdict]) -> list[str]:
    return sorted({verdict.annotator for verdict in verdicts})


def _annotators(record: Record, verdicts: list[Verdict]) -> Iterator[str]:
    count = Counter(verdict.annotator for verdict in verdicts)
    for name in _names(verdicts):
        properties = [
            (RDF_TYPE, f"<{PROV}Agent>"),
            (RDF_TYPE, f"<{KGE}Annotator>"),
            (KGE + "verdicts", integer(count[name])),
        ]
        if record.options.name_annotators:
            properties.append((RDFS_LABEL, text(name)))
        else:
            properties.append((RDFS_LABEL, text(f"annotator {record.pseudonym(name)}", "en")))
        yield from record.describe(record.annotator(name), properties)


def _rules(record: Record) -> Iterator[str]:
    evaluation = record.evaluation
    graph = evaluation.graph
    tracks = track_rules(graph, evaluation.known()) if graph.rules else []
    for i in np.flatnonzero(graph.groundings):
        rule, track = graph.rules[i], tracks[i]
        properties = [
            (RDF_TYPE, f"<{KGE}{'Rule' if rule.head else 'Denial'}>"),
            (DCTERMS + "identifier", text(rule.id)),
            (KGE + "groundings", integer(int(graph.groundings[i]))),
            (KGE + "tested", decimal(round(track.forward, 4))),
            (KGE + "held", decimal(round(track.forward_held, 4))),
        ]
        if rule.summary:
            properties.append((RDFS + "comment", text(rule.summary)))
        if rule.weight is None:
            properties.append((KGE + "confidence", decimal(rule.trust)))
        else:
            properties.append((KGE + "weight", decimal(rule.weight)))
        yield from record.describe(record.digest_name("rule", rule.id), properties)

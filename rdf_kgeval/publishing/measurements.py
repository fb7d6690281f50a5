"""The head of a record: measurements of the dataset and its predicates, provenance, rules, annotators."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version

import numpy as np

from rdf_kgeval.beliefs.terms import iri_term
from rdf_kgeval.common.http.credentials import is_redacted
from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.result import GroupResult, Result
from rdf_kgeval.inference.rule_weights import track_rules
from rdf_kgeval.namespaces import DCTERMS, DQV, KGE, PROV, RDF_TYPE, RDFS, RDFS_LABEL, VOID, XSD
from rdf_kgeval.publishing.record import Properties, Record, decimal, integer, moments, text
from rdf_kgeval.verdicts.log import Verdict, standing

SOFTWARE = "https://w3id.org/rdf-kgeval/software/"


def head(record: Record, result: Result) -> Iterator[str]:
    """Write the lines of a record that are not about single beliefs.

    Args:
        record: names.
        result: the result of the evaluation.
    """
    verdicts = standing(record.evaluation.records)
    yield from record.describe(record.graph, _itself(record, verdicts))
    yield from _dataset(record, result)
    yield from _activity(record, result, verdicts)
    yield from _annotators(record, verdicts)
    yield from _rules(record)


def _itself(record: Record, verdicts: list[Verdict]) -> Properties:
    yield RDF_TYPE, f"<{DQV}QualityMetadata>"
    yield RDF_TYPE, f"<{VOID}Dataset>"
    yield PROV + "wasGeneratedBy", record.name("evaluation")
    yield DCTERMS + "subject", record.dataset
    yield KGE + "verdictsDigest", text(record.verdicts_digest)
    yield KGE + "form", text(record.options.form)
    for time in moments(verdicts)[-1:]:
        yield PROV + "generatedAtTime", time


def _dataset(record: Record, result: Result) -> Iterator[str]:
    measured = result.accuracy is not None
    partitions = {p: record.digest_name("partition", p) for p in result.by_predicate}
    whole = record.name("accuracy")
    properties = [(RDF_TYPE, f"<{VOID}Dataset>"), (VOID + "triples", integer(result.beliefs))]
    endpoint = record.origin.endpoint
    if endpoint and not is_redacted(endpoint) and "…" not in endpoint:
        with suppress(InputError):  # a URL is not always an IRI
            properties.append((VOID + "sparqlEndpoint", iri_term(endpoint)))
    if record.origin.scope.graph:
        properties.append((DCTERMS + "source", iri_term(record.origin.scope.graph)))
    properties += [(VOID + "propertyPartition", name) for name in partitions.values()]
    if measured:
        properties.append((DQV + "hasQualityMeasurement", whole))
    yield from record.describe(record.dataset, properties)
    if measured:
        yield from record.describe(whole, _measurement(record, record.dataset, result, result))
    for predicate, name in partitions.items():
        entry = result.by_predicate[predicate]
        own = record.digest_name("accuracy", predicate)
        known = measured and entry.accuracy is not None
        yield from record.describe(
            name,
            [
                (RDF_TYPE, f"<{VOID}Dataset>"),
                (VOID + "property", f"<{predicate}>"),
                (VOID + "triples", integer(entry.beliefs)),
                *([(DQV + "hasQualityMeasurement", own)] if known else []),
            ],
        )
        if known:
            yield from record.describe(own, _measurement(record, name, entry, result))


def _measurement(record: Record, of: str, entry: GroupResult | Result, result: Result) -> Properties:
    assert entry.accuracy is not None  # noqa: S101
    yield RDF_TYPE, f"<{DQV}QualityMeasurement>"
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
    software = f"<{SOFTWARE}{release}>"
    inputs = _inputs(record)
    settings = record.evaluation.settings
    parameters = {
        "policy": text(settings.policy),
        "estimator": text(settings.estimator),
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
        *((KGE + name, value) for name, value in parameters.items() if value is not None),
        (KGE + "verdicts", integer(len(verdicts))),
        *((PROV + "used", name) for name, _ in inputs),
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
    for name, described in inputs:
        yield from record.describe(name, described)


def _inputs(record: Record) -> list[tuple[str, list[tuple[str, str]]]]:
    """Write what was used, by digest; of a path only the file's name is published."""
    origin = record.origin
    files = [(file.role, file.name, file.sha256) for file in (*origin.files, *origin.ontologies)]
    if record.evaluation.graph.rules:
        files.append(("rules", "", record.rules_digest))
    return [
        (
            record.digest_name("input", f"{role} {number} {digest}"),
            [
                (RDF_TYPE, f"<{PROV}Entity>"),
                (KGE + "role", text(role)),
                (KGE + "sha256", text(digest)),
                *([(RDFS_LABEL, text(name))] if name else []),
            ],
        )
        for number, (role, name, digest) in enumerate(files)
    ]


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

"""The report as one HTML page that needs nothing else: styles, plots and data are in it.

All text that comes from a graph is escaped, in the markup and in the embedded JSON-LD.
"""

from collections.abc import Sequence
from typing import Any

from rdf_kgeval.evaluation.result import GroupResult, Result
from rdf_kgeval.evaluation.state import State
from rdf_kgeval.namespaces import DQV, KGE, PROV, VOID
from rdf_kgeval.publishing.record import name_of, title_of
from rdf_kgeval.publishing.report.charts import history
from rdf_kgeval.publishing.report.content import Report, summary
from rdf_kgeval.publishing.report.templates import render
from rdf_kgeval.runs.config import RunConfig
from rdf_kgeval.verdicts.log import Answer

FEW = 40
"""Number of predicates and of rules that are shown before one has to ask for more."""


def page(report: Report) -> str:
    """Write the whole page; the same report gives the same bytes."""
    return render(
        "report.html.j2",
        report=report,
        json_ld=json_ld(report),
        history=history(report.history, report.result.interval),
        answers=list(Answer),
        few=FEW,
    )


def notebook(evaluation: State, origin: RunConfig | None = None, notes: Sequence[str] = ()) -> str:
    """Write the head of the report, notes and the table of predicates, as a part of another page."""
    result = evaluation.result()
    return render(
        "notebook.html.j2",
        title=title_of(origin or RunConfig()),
        sentence=summary(result, result),
        result=result,
        names={predicate: name_of(evaluation, predicate) for predicate in result.by_predicate},
        few=FEW,
        notes=notes,
    )


def json_ld(report: Report) -> dict[str, Any]:
    """Write the figures as JSON-LD: a schema.org Dataset with DQV measurements."""
    result = report.result
    partitions = [
        {
            "@type": "void:Dataset",
            "void:property": {"@id": predicate},
            "void:triples": entry.beliefs,
            **_measurement(entry, result),
        }
        for predicate, entry in result.by_predicate.items()
    ]
    return {
        "@context": {"@vocab": "https://schema.org/", "dqv": DQV, "kge": KGE, "prov": PROV, "void": VOID},
        "@id": report.dataset,
        "@type": ["Dataset", "void:Dataset"],
        "name": report.title,
        "description": " ".join(report.how),
        "void:triples": result.beliefs,
        **_measurement(result, result),
        "void:propertyPartition": partitions,
        "prov:wasUsedBy": {"@id": report.name, "@type": "kge:Evaluation"},
    }


def _measurement(entry: GroupResult | Result, result: Result) -> dict[str, Any]:
    if entry.accuracy is None:
        return {}
    found = {
        "@type": "dqv:QualityMeasurement",
        "dqv:isMeasurementOf": {"@id": "kge:accuracy"},
        "dqv:value": entry.accuracy,
        "kge:method": result.method,
        "kge:population": entry.beliefs,
        "kge:sampleSize": entry.asked,
        "kge:inferred": entry.inferred,
    }
    if entry.interval is not None:
        low, high = entry.interval
        found |= {"kge:lower": low, "kge:upper": high, "kge:level": result.level}
    return {"dqv:hasQualityMeasurement": found}

"""The report as JUnit XML, for a CI pipeline."""

from xml.etree import ElementTree

from rdf_kgeval.common.text import printable
from rdf_kgeval.evaluation.result import missed_thresholds
from rdf_kgeval.publishing.report.content import Report, summary


def junit(report: Report) -> str:
    """Write the report as JUnit XML: a test of the graph and one of each predicate.

    Each fails where it misses the report's lowest accuracy, the graph also where it misses its widest margin.
    """
    result = report.result
    suite = ElementTree.Element("testsuite", name="kgeval")
    missed = missed_thresholds(result.accuracy, result.interval, report.min_accuracy, report.max_margin)
    _case(suite, "accuracy of the graph", summary(result, result), missed)
    for predicate, entry in result.by_predicate.items():
        tested = entry.known and entry.accuracy is not None
        missed = missed_thresholds(entry.accuracy, None, report.min_accuracy) if tested else []
        case = _case(suite, f"accuracy of {printable(predicate)}", summary(entry, result), missed)
        if not entry.known:
            ElementTree.SubElement(case, "skipped", message="no belief of it is asked or inferred")
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _case(suite: ElementTree.Element, name: str, text: str, missed: list[str]) -> ElementTree.Element:
    case = ElementTree.SubElement(suite, "testcase", classname="kgeval", name=name)
    if missed:
        ElementTree.SubElement(case, "failure", message=" and ".join(missed)).text = text
    ElementTree.SubElement(case, "system-out").text = text
    return case

"""The report as Markdown, for a reader of text, and as JUnit XML, for a CI pipeline."""

import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.publishing.report.content import Report, Suspect
from rdf_kgeval.verdicts.log import Answer


def markdown(report: Report) -> str:
    """The report in GitHub's Markdown."""
    result = report.result
    lines = [f"# How much of {_plain(report.title)} is true?", "", f"**{_told(result, result)}**", ""]
    lines += [_plain(" ".join(report.how)), "", "## What is known of the beliefs", ""]
    lines += [f"- {name}: {count:,}" for name, count in report.coverage.items() if count]
    lines += ["", "## Accuracy by predicate", ""]
    lines += _table(
        ("predicate", "beliefs", "asked", "inferred", "accuracy", "interval"),
        [
            (
                report.predicates[p],
                *(f"{e[column]:,}" for column in ("beliefs", "asked", "inferred")),
                _share(e["accuracy"]),
                _span(e["interval"]),
            )
            for p, e in result["by_predicate"].items()
        ],
    )
    lines += ["", "## Most suspicious beliefs", "", *_list(report.suspects, report.counts[0])]
    lines += ["", "## Said to be wrong", "", *_list(report.wrong, report.counts[1])]
    lines += ["", "## Rules, and how well each held", ""]
    lines += _table(
        ("rule", "cases", "confidence", "held", "judged"),
        [(r.name, f"{r.groundings:,}", r.strength, f"{r.held:.4g}", f"{r.tested:.4g}") for r in report.rules],
    )
    lines += ["", "## Who answered", ""]
    lines += _table(
        ("annotator (pseudonym)", *Answer),
        [(a.name, *(f"{a.answers.get(answer, 0):,}" for answer in Answer)) for a in report.annotators],
    )
    lines += ["", "## Provenance", ""]
    lines += [f"- {_plain(what)}: {_plain(value)}" for what, value in report.provenance]
    return "\n".join(lines) + "\n"


def junit(report: Report, *, min_accuracy: float | None = None, max_margin: float | None = None) -> str:
    """The report as JUnit XML: a test for the graph and one for each predicate.

    Args:
        report: what to tell.
        min_accuracy: below this accuracy a test fails.
        max_margin: with a wider interval, or none, the test of the graph fails.
    """
    result = report.result
    suite = ElementTree.Element("testsuite", name="kgeval")
    interval = result["interval"]
    problems = []
    if min_accuracy is not None and (result["accuracy"] is None or result["accuracy"] < min_accuracy):
        problems.append(f"the accuracy is below {min_accuracy:g}")
    if max_margin is not None and (interval is None or interval[1] - interval[0] > 2 * max_margin + 1e-9):
        problems.append(f"the margin is above {max_margin:g}" if interval else "there is no interval")
    _case(suite, "accuracy of the graph", _told(result, result), " and ".join(problems))
    for predicate, entry in result["by_predicate"].items():
        low = min_accuracy is not None and entry["accuracy"] is not None and entry["accuracy"] < min_accuracy
        known = entry["asked"] + entry["inferred"] > 0
        problem = f"the accuracy is below {min_accuracy:g}" if low and known else ""
        case = _case(suite, f"accuracy of {printable(predicate)}", _told(entry, result), problem)
        if not known:
            ElementTree.SubElement(case, "skipped", message="no belief of it is asked or inferred")
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _case(suite: ElementTree.Element, name: str, told: str, problem: str) -> ElementTree.Element:
    case = ElementTree.SubElement(suite, "testcase", classname="kgeval", name=name)
    if problem:
        ElementTree.SubElement(case, "failure", message=problem).text = told
    ElementTree.SubElement(case, "system-out").text = told
    return case


def _told(entry: Any, result: Any) -> str:
    known = (
        f"{entry['asked']:,} of {plural(entry['beliefs'], 'belief')} asked, {entry['inferred']:,} inferred"
    )
    if entry["interval"] is None:
        return f"accuracy {_share(entry['accuracy'])}, without an interval: {known}"
    sure = f"{_span(entry['interval'])} at the level {result['level']:.4g}"
    return f"accuracy {_share(entry['accuracy'])}, {sure}: {known}"


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{100 * value:.1f}%"


def _span(interval: Sequence[float] | None) -> str:
    return f"{_share(interval[0])} to {_share(interval[1])}" if interval is not None else ""


def _plain(text: str) -> str:
    """Text that Markdown takes as it is."""
    return re.sub(r"([\\`*_{}\[\]<>|#~])", r"\\\1", printable(text))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return ["none"]
    lines = [head, ["---"] * len(head), *([_plain(cell) for cell in row] for row in rows)]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _list(suspects: Sequence[Suspect], total: int) -> list[str]:
    if not suspects:
        return ["none"]
    lines = [
        f"- {_plain(suspect.sentence)} ({suspect.truth:.2f})"
        + (f": {_plain(suspect.reason)}" if suspect.reason else "")
        for suspect in suspects
    ]
    return [*lines, f"- and {total - len(lines):,} more"] if total > len(lines) else lines

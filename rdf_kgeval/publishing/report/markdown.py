"""The report as Markdown, for a reader of text."""

import re
from collections.abc import Sequence

from rdf_kgeval.common.text import printable
from rdf_kgeval.publishing.report.content import Report, Suspect, percent, percent_range, summary
from rdf_kgeval.verdicts.log import Answer


def markdown(report: Report) -> str:
    """Write the report in GitHub's Markdown."""
    result = report.result
    lines = [f"# How much of {_plain(report.title)} is true?", "", f"**{summary(result, result)}**", ""]
    lines += [_plain(" ".join(report.how)), "", "## What is known of the beliefs", ""]
    lines += [f"- {name}: {count:,}" for name, count in report.coverage.items() if count]
    lines += ["", "## Accuracy by predicate", ""]
    lines += _table(
        ("predicate", "beliefs", "asked", "inferred", "accuracy", "interval"),
        [
            (
                report.predicates[p],
                *(f"{count:,}" for count in (e.beliefs, e.asked, e.inferred)),
                percent(e.accuracy),
                percent_range(e.interval),
            )
            for p, e in result.by_predicate.items()
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
    if report.remarks:
        lines += ["", "## What they noted", ""]
        for remark in report.remarks:
            said = ": ".join(filter(None, (f"{remark.answer}, by {remark.annotator}", remark.note)))
            lines.append(f"- {_plain(remark.sentence)}: {_plain(f'{said} {remark.source}'.strip())}")
        if report.more_remarks:
            lines.append(f"- and {report.more_remarks:,} more: verdicts.jsonl has all of them")
    if report.accounts:
        lines += ["", "## What was read", "", f"{report.accounts.headline}:", ""]
        rows = [
            (account.meaning, f"{count:,}", account.option) for count, account in report.accounts.entries()
        ]
        lines += _table(("what they are", "triples", "changed by"), rows)
    lines += ["", "## Provenance", ""]
    lines += [f"- {_plain(what)}: {_plain(value)}" for what, value in report.provenance]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Escape text, so that Markdown takes it as it is."""
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

"""The report as one HTML page that needs nothing else: styles, plots and data are in it.

All text that comes from a graph is escaped, in the markup and in the embedded JSON-LD.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.evaluation.procedure import Point
from rdf_kgeval.namespaces import DQV, KGE, PROV, VOID
from rdf_kgeval.publishing.report.content import Report, Suspect, Trusted
from rdf_kgeval.verdicts.log import Answer

FEW = 40
"""How many predicates and rules are shown before one has to ask for more."""


def page(report: Report) -> str:
    """The whole page; the same report gives the same bytes."""
    parts = [
        _headline(report),
        _section("How this was obtained", f"<p>{escape(' '.join(report.how))}</p>"),
        _section("What is known of the beliefs", _coverage(report)),
        _section(
            "Accuracy by predicate", _predicates(report), _count(report.result["by_predicate"], "predicate")
        ),
        _section("The estimate as answers came in", _history(report)) if len(report.history) > 1 else "",
        _section(
            "Most suspicious beliefs", _suspects(report.suspects), _of(report.suspects, report.counts[0])
        ),
        _section("Said to be wrong", _suspects(report.wrong), _of(report.wrong, report.counts[1])),
        _section("Rules, and how well each held", _rules(report.rules), _count(report.rules, "rule")),
        _section("Who answered", _annotators(report)),
        _section("Provenance", _provenance(report)),
    ]
    title = f"How much of {report.title} is true?"
    style = Path(__file__).with_name("report.css").read_text(encoding="utf-8").replace("\n", "")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style>"
        f'<script type="application/ld+json">{_script(json_ld(report))}</script></head>'
        f"<body><main><header><h1>{escape(title)}</h1></header>{''.join(parts)}</main></body></html>\n"
    )


def json_ld(report: Report) -> dict[str, Any]:
    """The figures as JSON-LD: a schema.org Dataset with DQV measurements."""
    result = report.result
    partitions = [
        {
            "@type": "void:Dataset",
            "void:property": {"@id": predicate},
            "void:triples": entry["beliefs"],
            **_measurement(entry, result),
        }
        for predicate, entry in result["by_predicate"].items()
    ]
    return {
        "@context": {"@vocab": "https://schema.org/", "dqv": DQV, "kge": KGE, "prov": PROV, "void": VOID},
        "@id": report.dataset,
        "@type": ["Dataset", "void:Dataset"],
        "name": report.title,
        "description": " ".join(report.how),
        "void:triples": result["beliefs"],
        **_measurement(result, result),
        "void:propertyPartition": partitions,
        "prov:wasUsedBy": {"@id": report.name, "@type": "kge:Evaluation"},
    }


def _measurement(entry: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    if entry["accuracy"] is None:
        return {}
    found = {
        "@type": "dqv:QualityMeasurement",
        "dqv:isMeasurementOf": {"@id": "kge:accuracy"},
        "dqv:value": entry["accuracy"],
        "kge:method": f"{result['policy']}/{result['estimator']}",
        "kge:population": entry["beliefs"],
        "kge:sampleSize": entry["asked"],
        "kge:inferred": entry["inferred"],
    }
    if entry["interval"] is not None:
        low, high = entry["interval"]
        found |= {"kge:lower": low, "kge:upper": high, "kge:level": result["level"]}
    return {"dqv:hasQualityMeasurement": found}


def _script(value: Any) -> str:
    """JSON that can stand in a script element: no text in it can end the element."""
    text = json.dumps(value, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _section(title: str, body: str, aside: str = "") -> str:
    note = f" <small>{aside}</small>" if aside else ""
    return f"<section><h2>{title}{note}</h2>{body}</section>"


def _count(things: Any, noun: str) -> str:
    return plural(len(things), noun)


def _of(shown: Sequence[object], total: int) -> str:
    return f"{len(shown):,} of {total:,}" if len(shown) < total else f"{total:,}"


def percent(value: float | None) -> str:
    """A share as people read it."""
    return "unknown" if value is None else f"{100 * value:.1f}%"


def _headline(report: Report) -> str:
    result = report.result
    accuracy, interval = result["accuracy"], result["interval"]
    if interval is not None:
        low, high = map(percent, interval)
        sure = f"between <b>{low}</b> and <b>{high}</b> at the level of {result['level']:.4g}"
    else:
        sure = "without an interval"
    number = f"{percent(accuracy)}" if accuracy is not None else "?"
    text = f"of the beliefs are true, {sure}" if accuracy is not None else "Nothing is known yet."
    unknown = result["beliefs"] - result["asked"] - result["inferred"]
    tiles = (
        ("beliefs", result["beliefs"]),
        ("asked", result["asked"]),
        ("inferred", result["inferred"]),
        ("neither", unknown),
    )
    return (
        f'<section class="headline"><div class="number">{number}</div><p class="sure">{text}</p>'
        f'{_gauge(accuracy, interval, scale=True)}<dl class="tiles">'
        + "".join(f"<div><dt>{name}</dt><dd>{value:,}</dd></div>" for name, value in tiles)
        + "</dl></section>"
    )


def _gauge(accuracy: float | None, interval: Sequence[float] | None, *, scale: bool = False) -> str:
    """An axis from 0 to 100 % with the estimate and its interval."""
    if accuracy is None:
        return '<div class="gauge"></div>'
    band = ""
    if interval is not None:
        low, high = interval
        band = f'<i class="band" style="left:{100 * low:.2f}%;width:{max(100 * (high - low), 0.4):.2f}%"></i>'
    ticks = "".join(f'<s style="left:{at}%">{at}%</s>' for at in (0, 25, 50, 75, 100)) if scale else ""
    told = percent(accuracy) + (f", {percent(interval[0])} to {percent(interval[1])}" if interval else "")
    return (
        f'<div class="gauge{" scaled" if scale else ""}" role="img" aria-label="{told}">{band}'
        f'<i class="dot" style="left:{100 * accuracy:.2f}%"></i>{ticks}</div>'
    )


def _coverage(report: Report) -> str:
    total = max(1, sum(report.coverage.values()))
    bars, legend = "", ""
    for number, (name, count) in enumerate(report.coverage.items()):
        if not count:
            continue
        share = 100 * count / total
        bars += f'<i class="c{number}" style="flex-grow:{count}" title="{name}: {count:,}"></i>'
        legend += f'<li><i class="c{number}"></i>{name} <b>{count:,}</b> <small>{share:.1f}%</small></li>'
    return f'<div class="stack">{bars}</div><ul class="legend">{legend}</ul>'


def _predicates(report: Report) -> str:
    rows = []
    for predicate, entry in report.result["by_predicate"].items():
        interval = entry["interval"]
        span = f"{percent(interval[0])} – {percent(interval[1])}" if interval is not None else ""
        rows.append(
            f'<div class="row"><div class="what"><b title="{escape(printable(predicate))}">'
            f"{escape(report.predicates[predicate])}</b><small>{plural(entry['beliefs'], 'belief')}, "
            f"{entry['asked']:,} asked, {entry['inferred']:,} inferred</small></div>"
            f"{_gauge(entry['accuracy'], interval)}"
            f'<div class="value"><b>{percent(entry["accuracy"])}</b><small>{span}</small></div></div>'
        )
    return f'<div class="rows">{_folded(rows)}</div>'


def _folded(rows: Sequence[str]) -> str:
    """The first rows, and the rest behind a click."""
    if len(rows) <= FEW:
        return "".join(rows)
    more = "".join(rows[FEW:])
    return f"{''.join(rows[:FEW])}<details><summary>{len(rows) - FEW:,} more</summary>{more}</details>"


def _history(report: Report) -> str:
    points = [point for point in report.history if point.accuracy is not None]
    if len(points) < 2:
        return "<p>There are too few answers for a plot.</p>"
    interval = report.result["interval"]
    values = [point.accuracy or 0.0 for point in points] + list(interval or ())
    low, high = max(0.0, min(values) - 0.02), min(1.0, max(values) + 0.02)
    step = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5) if (high - low) / s <= 6)
    low, high = max(0.0, step * int(low / step)), min(1.0, step * (int(high / step + 0.999)))
    last = points[-1].asked
    left, right, top, bottom = 66.0, 700.0, 12.0, 238.0

    def x(asked: float) -> float:
        return left + (right - left) * asked / last

    def y(value: float) -> float:
        return bottom - (bottom - top) * (value - low) / (high - low)

    lines = ""
    for k in range(round((high - low) / step) + 1):
        at = low + k * step
        lines += (
            f'<line class="grid" x1="{left}" x2="{right}" y1="{y(at):.1f}" y2="{y(at):.1f}"/>'
            f'<text x="{left - 8}" y="{y(at) + 4:.1f}" text-anchor="end">{100 * at:.0f}%</text>'
        )
    for at in _ticks(last):
        lines += f'<text x="{x(at):.1f}" y="{bottom + 18}" text-anchor="middle">{at:,}</text>'
    curve = " ".join(f"{x(point.asked):.1f},{y(point.accuracy or 0.0):.1f}" for point in points)
    end = _end_mark(points[-1], interval, x(last), y)
    return (
        '<svg class="plot" viewBox="0 0 720 286" role="img" '
        f'aria-label="The estimate after each of {last:,} beliefs">{lines}'
        f'<polyline points="{curve}"/>{end}'
        f'<text x="{(left + right) / 2}" y="280" text-anchor="middle">beliefs asked</text></svg>'
    )


def _ticks(last: int) -> Iterable[int]:
    step = next(s * 10**e for e in range(9) for s in (1, 2, 5) if last <= 6 * s * 10**e)
    return range(0, last + 1, step)


def _end_mark(point: Point, interval: Sequence[float] | None, x: float, y: Any) -> str:
    mark = f'<circle cx="{x:.1f}" cy="{y(point.accuracy or 0.0):.1f}" r="4.5"/>'
    if interval is None:
        return mark
    low, high = (f"{y(end):.1f}" for end in interval)
    caps = "".join(
        f'<line class="bar" x1="{x - 6:.1f}" x2="{x + 6:.1f}" y1="{e}" y2="{e}"/>' for e in (low, high)
    )
    return f'<line class="bar" x1="{x:.1f}" x2="{x:.1f}" y1="{low}" y2="{high}"/>{caps}{mark}'


def _suspects(suspects: Sequence[Suspect]) -> str:
    if not suspects:
        return "<p>There are none.</p>"
    items = []
    for suspect in suspects:
        why = f'<p class="why">{escape(_capital(suspect.reason))}</p>' if suspect.reason else ""
        triple = escape(printable(" ".join(suspect.triple), 600))
        truth = f'<span class="truth" title="soft truth">{suspect.truth:.2f}</span>' if why else ""
        items.append(
            f'<li><div class="claim"><b>{escape(suspect.sentence)}</b>{truth}</div>{why}'
            f"<code>{triple}</code></li>"
        )
    return f'<ul class="suspects">{"".join(items)}</ul>'


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _rules(rules: Sequence[Trusted]) -> str:
    if not rules:
        return "<p>No rule ties the beliefs together.</p>"
    tested = [_rule(rule) for rule in rules if rule.tested]
    untested = [_rule(rule) for rule in rules if not rule.tested]
    rest = f"<details><summary>{plural(len(untested), 'rule')} not put to the test</summary>"
    return (
        "<p>How often a rule's conclusion was true where people judged it and its conditions held.</p>"
        f'<div class="rows rules">{_folded(tested)}'
        + (f"{rest}{''.join(untested)}</details></div>" if untested else "</div>")
    )


def _rule(rule: Trusted) -> str:
    what = (
        f'<div class="row"><div class="what"><b>{escape(rule.name)}</b><small>'
        f"{plural(rule.groundings, 'case')}, confidence {rule.strength}</small></div>"
    )
    if not rule.tested:
        return f"{what}</div>"
    share = rule.held / rule.tested
    return (
        f"{what}{_gauge(share, None)}"
        f'<div class="value"><b>{percent(share)}</b>'
        f"<small>{rule.held:.4g} of {rule.tested:.4g}</small></div></div>"
    )


def _annotators(report: Report) -> str:
    if not report.annotators:
        return "<p>Nobody has answered yet.</p>"
    rows = "".join(
        f"<tr><td><code>{escape(annotator.name)}</code>"
        + "".join(f"<td>{annotator.answers.get(answer, 0):,}" for answer in Answer)
        + f"<td>{sum(annotator.answers.values()):,}"
        for annotator in report.annotators
    )
    heads = "".join(f"<th>{answer}" for answer in Answer)
    return f'<div class="scroll"><table><tr><th>annotator (pseudonym){heads}<th>answers{rows}</table></div>'


def _provenance(report: Report) -> str:
    pairs = "".join(f"<dt>{escape(what)}</dt><dd>{escape(value)}</dd>" for what, value in report.provenance)
    return f'<dl class="facts">{pairs}<dt>name</dt><dd>{escape(report.name)}</dd></dl>'

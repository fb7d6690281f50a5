"""Charts as SVG, without scripts and styles of their own: the page's style sheet colours them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from rdf_kgeval.evaluation.procedure import Point

WIDTH, LEFT = 420, 48


class Bar(NamedTuple):
    """One predicate."""

    name: str
    accuracy: float | None
    interval: tuple[float, float] | None
    asked: int


def course(points: Sequence[Point], interval: tuple[float, float] | None) -> Markup:
    """The estimate over the verdicts; an interval, where there is one to show, stands at the end."""
    height, top, bottom = 232, 12, 184
    known = [(point.asked, point.accuracy) for point in points if point.accuracy is not None]
    if not known:
        return Markup("")
    last = max(asked for asked, _ in known)
    right = WIDTH - 14

    def x(asked: float) -> float:
        return LEFT + (right - LEFT) * asked / last

    def y(accuracy: float) -> float:
        return bottom - (bottom - top) * accuracy

    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y(share):.1f}" y2="{y(share):.1f}"/>')
        parts.append(f'<text class="tick end" x="{LEFT - 8}" y="{y(share) + 4:.1f}">{share:.0%}</text>')
    for asked in sorted({0, last // 2, last}):
        parts.append(f'<text class="tick middle" x="{x(asked):.1f}" y="{bottom + 18}">{asked:,}</text>')
    parts.append(
        f'<text class="tick middle" x="{(LEFT + right) / 2}" y="{bottom + 38}">beliefs judged</text>'
    )
    line = " ".join(f"{x(asked):.1f},{y(accuracy):.1f}" for asked, accuracy in known)
    parts.append(f'<polyline class="course" points="{line}"/>')
    end = known[-1]
    if interval:
        low, high = interval
        parts.append(
            f'<line class="interval" x1="{x(end[0]):.1f}" x2="{x(end[0]):.1f}" '
            f'y1="{y(low):.1f}" y2="{y(high):.1f}"/>'
        )
    parts.append(f'<circle class="now" cx="{x(end[0]):.1f}" cy="{y(end[1]):.1f}" r="4"/>')
    return _svg(height, f"The estimate after {end[0]:,} judged beliefs is {end[1]:.1%}", parts)


def bars(predicates: Sequence[Bar]) -> Markup:
    """The accuracy of each predicate, with an interval where there is one to show."""
    if not predicates:
        return Markup("")
    step = 46
    parts = []
    for i, (name, accuracy, interval, asked) in enumerate(predicates):
        top = i * step
        told = "nothing known yet" if accuracy is None else f"{accuracy:.0%}"
        if interval:
            told += f" ({interval[0]:.0%} to {interval[1]:.0%})"
        short = name if len(name) <= 32 else name[:31] + "…"
        parts.append(f'<text class="name" x="0" y="{top + 14}">{escape(short)}</text>')
        parts.append(f'<text class="value end" x="{WIDTH}" y="{top + 14}">{told}</text>')
        parts.append(f'<rect class="track" x="0" y="{top + 22}" width="{WIDTH}" height="8" rx="4"/>')
        if accuracy is not None:
            parts.append(
                f'<rect class="bar" x="0" y="{top + 22}" width="{WIDTH * accuracy:.1f}" height="8" rx="4">'
                f"<title>{escape(name)}: {told}, {asked:,} judged</title></rect>"
            )
        if interval:
            low, high = (WIDTH * end for end in interval)
            parts.append(
                f'<line class="interval" x1="{low:.1f}" x2="{high:.1f}" y1="{top + 26}" y2="{top + 26}"/>'
            )
    return _svg(len(predicates) * step - 8, "Accuracy by predicate", parts)


def shares(counts: Mapping[str, int]) -> Markup:
    """How the beliefs divide."""
    total = sum(counts.values())
    parts, at = [], 0.0
    for name, count in counts.items():
        width = WIDTH * count / total if total else 0.0
        parts.append(
            f'<rect class="share {escape(name)}" x="{at:.2f}" y="0" width="{width:.2f}" height="16">'
            f"<title>{escape(name)}: {count:,}</title></rect>"
        )
        at += width
    told = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    return _svg(16, f"Of {total:,} beliefs: {told}", parts)


def _svg(height: int, title: str, parts: Sequence[str]) -> Markup:
    return Markup(  # noqa: S704 - the parts hold numbers, our own words, and names that are escaped
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'
    )

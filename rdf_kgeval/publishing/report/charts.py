"""All charts, as SVG without scripts or styles of their own: the page's style sheet colours them.

Text is escaped where it is written, in `_text`, `_title` and `_svg`, so no name of a graph becomes markup.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil, floor, log10
from typing import NamedTuple

import numpy as np
from markupsafe import Markup, escape

from rdf_kgeval.evaluation.procedure import Point

WIDTH = 420
"""Of a chart of the dashboard."""
WIDE = 720
"""Of a chart of a report."""
COLOURS = 10
"""Number of colours (`s0`, `s1`, ...) in the style sheet of comparisons."""


class Bar(NamedTuple):
    """One predicate."""

    name: str
    accuracy: float | None
    interval: tuple[float, float] | None
    asked: int


def course(points: Sequence[Point], interval: tuple[float, float] | None) -> Markup:
    """Draw the estimate over the verdicts on the whole scale; an interval, if there is one, ends it."""
    known = _known(points)
    if not known:
        return Markup("")
    last, estimate = known[-1]
    frame = _Frame((0, last), (0.0, 1.0), left=48, right=WIDTH - 14, top=12, bottom=184)
    parts = [
        *frame.rows((0.0, 0.25, 0.5, 0.75, 1.0), "{:.0%}".format),
        *frame.below(sorted({0, last // 2, last}), "{:,}".format),
        _text(frame.middle, frame.bottom + 38, "beliefs judged", "tick middle"),
        *_estimates(frame, known, interval),
    ]
    return _svg(WIDTH, 232, f"The estimate after {last:,} judged beliefs is {estimate:.1%}", parts)


def history(points: Sequence[Point], interval: Sequence[float] | None) -> Markup:
    """Draw the estimate over the verdicts as `course` does, wide, and on as much of the scale as it takes."""
    known = _known(points)
    if len(known) < 2:
        return Markup("")
    values = [accuracy for _, accuracy in known] + list(interval or ())
    low, high = max(0.0, min(values) - 0.02), min(1.0, max(values) + 0.02)
    step = max(0.01, _step(high - low))
    low, high = max(0.0, step * int(low / step)), min(1.0, step * (int(high / step + 0.999)))
    last = known[-1][0]
    frame = _Frame((0, last), (low, high), left=66, right=WIDE - 20, top=12, bottom=238)
    levels = (low + k * step for k in range(round((high - low) / step) + 1))
    parts = [
        *frame.rows(levels, lambda at: f"{100 * at:.0f}%"),
        *frame.below(range(0, last + 1, max(1, int(_step(last)))), "{:,}".format),
        _text(frame.middle, frame.bottom + 42, "beliefs asked", "tick middle"),
        *_estimates(frame, known, interval, cap=6),
    ]
    return _svg(WIDE, 286, f"The estimate after each of {last:,} beliefs", parts, "plot")


def bars(predicates: Sequence[Bar]) -> Markup:
    """Draw the accuracy of each predicate, with an interval where there is one to show."""
    if not predicates:
        return Markup("")
    step = 46
    parts = []
    for i, (name, accuracy, interval, asked) in enumerate(predicates):
        top = i * step
        told = "nothing known yet" if accuracy is None else f"{accuracy:.0%}"
        if interval:
            told += f" ({interval[0]:.0%} to {interval[1]:.0%})"
        parts.append(_text(0, top + 14, name if len(name) <= 32 else name[:31] + "…", "name"))
        parts.append(_text(WIDTH, top + 14, told, "value end"))
        parts.append(f'<rect class="track" x="0" y="{top + 22}" width="{WIDTH}" height="8" rx="4"/>')
        if accuracy is not None:
            parts.append(
                f'<rect class="bar" x="0" y="{top + 22}" width="{WIDTH * accuracy:.1f}" height="8" rx="4">'
                f"{_title(f'{name}: {told}, {asked:,} judged')}</rect>"
            )
        if interval:
            low, high = (WIDTH * end for end in interval)
            parts.append(_line("interval", low, top + 26, high, top + 26))
    return _svg(WIDTH, len(predicates) * step - 8, "Accuracy by predicate", parts)


def shares(counts: Mapping[str, int]) -> Markup:
    """Draw how the beliefs divide."""
    total = sum(counts.values())
    parts, at = [], 0.0
    for name, count in counts.items():
        width = WIDTH * count / total if total else 0.0
        parts.append(
            f'<rect class="share {escape(name)}" x="{at:.2f}" y="0" width="{width:.2f}" height="16">'
            f"{_title(f'{name}: {count:,}')}</rect>"
        )
        at += width
    told = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    return _svg(WIDTH, 16, f"Of {total:,} beliefs: {told}", parts)


class Curve(NamedTuple):
    """Mean and standard deviation of a figure, by number of verdicts."""

    asked: Sequence[int]
    mean: Sequence[float]
    spread: Sequence[float]


def curves(found: Mapping[int, Curve], title: str, across: float | None = None) -> Markup:
    """Draw means against the number of verdicts, each in a band of one standard deviation.

    Args:
        found: one for each method, by the number of its colour.
        title: what is counted, written on the axis.
        across: where to draw a dashed line.
    """
    if not found:
        return Markup("")
    bands = [
        [(asked, mean - spread, mean + spread) for asked, mean, spread in zip(*curve, strict=True)]
        for curve in found.values()
    ]
    ends = [end for band in bands for _, *both in band for end in both]
    levels = _ticks([*ends, across] if across is not None else ends)
    places = _ticks([0, *(asked for curve in found.values() for asked in curve.asked)])
    frame = _Frame((0, places[-1]), (levels[0], levels[-1]), left=76, right=WIDE - 20, top=28, bottom=338)
    parts = [
        *frame.rows(levels, _rounded(levels)),
        *frame.below(places, _rounded(places)),
        _text(0, 14, title, "tick"),
        _text(frame.middle, frame.bottom + 42, "verdicts", "tick middle"),
    ]
    for (colour, curve), band in zip(found.items(), bands, strict=True):
        lower = [(frame.x(asked), frame.y(low)) for asked, low, _ in band]
        upper = [(frame.x(asked), frame.y(high)) for asked, _, high in band]
        parts.append(f'<polygon class="band s{colour % COLOURS}" points="{_points(lower + upper[::-1])}"/>')
        mean = [(frame.x(asked), frame.y(value)) for asked, value in zip(*curve[:2], strict=True)]
        parts.append(f'<polyline class="curve s{colour % COLOURS}" points="{_points(mean)}"/>')
    if across is not None:
        parts.append(_line("across", frame.left, frame.y(across), frame.right, frame.y(across)))
    return _svg(WIDE, 386, f"{title} against the number of verdicts", parts, "plot")


def grouped_bars(groups: Mapping[str, Sequence[tuple[float, float]]], title: str) -> Markup:
    """Draw means with their standard deviations, in groups of the same members.

    Args:
        groups: by name, mean and standard deviation of each member, coloured by its place.
        title: what is counted, written on the axis.
    """
    ends = [mean + spread for members in groups.values() for mean, spread in members]
    tall = 18
    heights = [26 + tall * len(members) for members in groups.values()]
    frame, parts = _lying(_ticks([0, *ends]), sum(heights), title)
    top = frame.top
    for (name, members), height in zip(groups.items(), heights, strict=True):
        parts.append(_text(frame.left, top + 18, name, "name"))
        for i, (mean, spread) in enumerate(members):
            y = top + 24 + tall * i
            told = _title(f"{name}: {mean:.3g} ± {spread:.3g}")
            parts.append(
                f'<rect class="fill s{i % COLOURS}" x="{frame.left:.1f}" y="{y:.1f}" '
                f'width="{frame.x(mean) - frame.left:.1f}" height="{tall - 4}">{told}</rect>'
            )
            low, high = frame.x(max(mean - spread, 0.0)), frame.x(mean + spread)
            parts += _whisker(low, high, y + tall / 2 - 2)
        top += height
    return _svg(WIDE, round(frame.bottom) + 48, title, parts, "plot")


def boxes(groups: Mapping[str, Sequence[float]], title: str) -> Markup:
    """Draw how values spread: quartiles as a box, whiskers as far as 1.5 boxes, the others as circles.

    Args:
        groups: by name, the values.
        title: what is counted, written on the axis.
    """
    frame, parts = _lying(_ticks([0, *chain(*groups.values())]), 52 * len(groups), title)
    for i, (name, values) in enumerate(groups.items()):
        top, y = frame.top + 52 * i, frame.top + 52 * i + 36
        q1, median, q3 = np.percentile(values, (25, 50, 75))
        reach = 1.5 * (q3 - q1)
        inside = [value for value in values if q1 - reach <= value <= q3 + reach]
        parts.append(_text(frame.left, top + 18, name, "name"))
        parts += _whisker(frame.x(min(inside)), frame.x(max(inside)), y)
        parts.append(
            f'<rect class="box s{i % COLOURS}" x="{frame.x(q1):.1f}" y="{y - 8:.1f}" '
            f'width="{frame.x(q3) - frame.x(q1):.1f}" height="16">'
            f"{_title(f'{name}: median {median:.4g}, quartiles {q1:.4g} and {q3:.4g}')}</rect>"
        )
        parts.append(_line("median", frame.x(median), y - 8, frame.x(median), y + 8))
        parts += [
            f'<circle class="outlier" cx="{frame.x(value):.1f}" cy="{y:.1f}" r="3"/>'
            for value in values
            if abs(value - (q1 + q3) / 2) > (q3 - q1) / 2 + reach
        ]
    return _svg(WIDE, round(frame.bottom) + 48, title, parts, "plot")


@dataclass(frozen=True)
class _Frame:
    """The rectangle in which data is drawn, and its axes."""

    xs: tuple[float, float]
    ys: tuple[float, float]
    left: float
    right: float
    top: float
    bottom: float

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2

    def x(self, value: float) -> float:
        low, high = self.xs
        return self.left + (self.right - self.left) * (value - low) / (high - low)

    def y(self, value: float) -> float:
        low, high = self.ys
        return self.bottom - (self.bottom - self.top) * (value - low) / (high - low)

    def rows(self, values: Iterable[float], label: Callable[[float], str]) -> Iterable[str]:
        """Draw a line across at each value, with its label on the left."""
        for value in values:
            y = self.y(value)
            yield _line("grid", self.left, y, self.right, y)
            yield _text(self.left - 8, y + 4, label(value), "tick end")

    def columns(self, values: Sequence[float]) -> Iterable[str]:
        """Draw a line down at each value."""
        for value in values:
            yield _line("grid", self.x(value), self.top, self.x(value), self.bottom)

    def below(self, values: Iterable[float], label: Callable[[float], str]) -> Iterable[str]:
        """Write the labels of an axis below."""
        for value in values:
            yield _text(self.x(value), self.bottom + 18, label(value), "tick middle")


def _known(points: Sequence[Point]) -> list[tuple[int, float]]:
    return [(point.asked, point.accuracy) for point in points if point.accuracy is not None]


def _estimates(
    frame: _Frame, known: Sequence[tuple[int, float]], interval: Sequence[float] | None, cap: float = 0
) -> Iterable[str]:
    x, y = frame.x(known[-1][0]), frame.y(known[-1][1])
    yield f'<polyline class="course" points="{_points((frame.x(a), frame.y(b)) for a, b in known)}"/>'
    if interval:
        low, high = map(frame.y, interval)
        yield _line("interval", x, low, x, high)
        if cap:
            yield _line("interval", x - cap, low, x + cap, low)
            yield _line("interval", x - cap, high, x + cap, high)
    yield f'<circle class="now" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>'


def _lying(ticks: Sequence[float], height: float, title: str) -> tuple[_Frame, list[str]]:
    """Lay out a chart whose values go from left to right."""
    frame = _Frame((ticks[0], ticks[-1]), (0.0, 1.0), left=12, right=WIDE - 28, top=8, bottom=16 + height)
    axis = _text(frame.middle, frame.bottom + 40, title, "tick middle")
    return frame, [*frame.columns(ticks), *frame.below(ticks, _rounded(ticks)), axis]


def _whisker(left: float, right: float, y: float) -> list[str]:
    return [
        _line("whisker", left, y, right, y),
        _line("whisker", left, y - 4, left, y + 4),
        _line("whisker", right, y - 4, right, y + 4),
    ]


def _ticks(values: Iterable[float]) -> list[float]:
    """Choose ticks, the first and the last of which enclose the values."""
    seen = list(values)
    low, high = min(seen), max(seen)
    step = _step(high - low) if high > low else 1.0
    first = floor(low / step + 1e-9)
    last = max(ceil(high / step - 1e-9), first + 1)
    return [step * k for k in range(first, last + 1)]


def _rounded(ticks: Sequence[float]) -> Callable[[float], str]:
    """Write a tick with as many digits as tell it from the next."""
    digits = max(0, -floor(log10(ticks[1] - ticks[0]) + 1e-9))
    return f"{{:,.{digits}f}}".format


def _step(span: float) -> float:
    """Choose the distance of ticks: 1, 2 or 5 times a power of ten, with at most seven ticks."""
    steps = (s * 10.0**e for e in range(-9, 16) for s in (1, 2, 5))
    return next(step for step in steps if span / step <= 6)


def _points(pairs: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in pairs)


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _title(text: str) -> str:
    return f"<title>{escape(text)}</title>"


def _svg(width: int, height: int, title: str, parts: Iterable[str], kind: str = "") -> Markup:
    own = f' class="{kind}"' if kind else ""
    return Markup(  # noqa: S704 - the parts hold numbers, our own words, and names that are escaped
        f'<svg{own} viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}</svg>"
    )

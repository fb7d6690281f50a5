"""The page that compares methods: charts that say what the runs came to, whatever the methods are called."""

import re
from xml.etree import ElementTree

import pytest

from rdf_kgeval.evaluation.procedure import Point
from rdf_kgeval.evaluation.simulation import Trial, summarise
from rdf_kgeval.publishing.report.charts import Curve, boxes, curves, grouped_bars
from rdf_kgeval.publishing.report.comparison import comparison_page, means

HOSTILE = '<script>alert("x")</script>&'


def trial(method: str, seed: int, asked: int, accuracies: list[float | None]) -> Trial:
    history = tuple(Point(i + 1, accuracy, 2 * i) for i, accuracy in enumerate(accuracies))
    return Trial(
        method=method, seed=seed, asked=asked, accuracy=0.5, interval=None, covered=None, covered_predicate=None,
        delta_overall=0.1 * seed, delta_predicate=0.2, inferred=3, label_accuracy=None, hours=0.1, stopped=None,
        seconds=0.1, history=history, positions=(),
    )  # fmt: skip


TRIALS = [
    trial("srs/wilson", 1, 3, [1.0, 0.5, 0.75]),
    trial("srs/wilson", 2, 2, [0.0, 0.5]),
    trial(HOSTILE, 1, 4, [None, 0.25, 0.5, 0.5]),
]


def test_the_page_tells_every_method_and_escapes_it() -> None:
    text = comparison_page(TRIALS, summarise(TRIALS), 0.625)
    assert text == comparison_page(TRIALS, summarise(TRIALS), 0.625)
    assert "3 runs; gold accuracy 62.50%." in text
    assert "<script" not in text
    assert text.count("&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt;&amp;") >= 4
    charts = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(charts) == 4
    for chart in charts:
        ElementTree.fromstring(chart)


def test_a_method_has_one_colour() -> None:
    late = [trial("a", 1, 1, [None]), *TRIALS]
    legends = re.findall(r'<i class="s(\d)"></i>([^<]*)</li>', comparison_page(late, summarise(late), 0.5))
    assert legends.count(("1", "srs/wilson")) == 2
    assert ("0", "a") in legends


def test_curves_go_on_as_long_as_half_of_the_runs() -> None:
    found = means(TRIALS, "accuracy")
    assert found["srs/wilson"] == Curve([1, 2, 3], [0.5, 0.5, 0.75], [0.5, 0.0, 0.0])
    longer = [*TRIALS[:2], trial("srs/wilson", 3, 1, [1.0])]
    assert means(longer, "accuracy")["srs/wilson"].asked == [1, 2]


@pytest.mark.parametrize("value", [0.0, 7.0, 1e-7, 3e9])
def test_values_that_are_all_the_same_are_drawn(value: float) -> None:
    for chart in (
        curves({0: Curve([1], [value], [0.0])}, "x", across=value),
        grouped_bars({"a": [(value, 0.0)]}, "x"),
        boxes({"a": [value] * 3}, "x"),
    ):
        for number in re.findall(r' [xy]\d?="([^"]*)"', chart):
            assert 0 <= float(number) <= 720


def test_a_box_spans_the_quartiles_and_outliers_stand_apart() -> None:
    drawn = boxes({"a": [10, 11, 12, 13, 14, 40]}, "x")
    assert "a: median 12.5, quartiles 11.25 and 13.75" in drawn
    assert drawn.count('class="outlier"') == 1

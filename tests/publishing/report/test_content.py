"""Reports: their numbers are those of `kgeval estimate`, and no text of a graph can break them."""

import csv
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
import rdflib
import typer

from rdf_kgeval.cli.output import check
from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.procedure import Point
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.namespaces import DQV, KGE, VOID
from rdf_kgeval.pipeline import Evaluation
from rdf_kgeval.publishing.report.charts import history
from rdf_kgeval.publishing.report.content import Report, gather
from rdf_kgeval.publishing.report.junit import junit
from rdf_kgeval.publishing.report.markdown import markdown
from rdf_kgeval.publishing.report.page import json_ld, page
from rdf_kgeval.publishing.report.table import table
from rdf_kgeval.runs.config import InputFile, RunConfig
from rdf_kgeval.verdicts.log import Answer, Judgement
from tests.evaluation.test_policies import chain
from tests.support.records import EX, HOSTILE, hostile, motivating

pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")


@pytest.fixture(scope="module")
def sampled() -> Evaluation:
    return motivating(policy="stratified")


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Report:
    file = InputFile(path="<!--<script>.ttl", role="belief", sha256="0" * 64)
    origin = RunConfig(files=(file,), notes=("<b>&",))
    return gather(hostile(tmp_path_factory.mktemp("hostile")), origin)


class Page(HTMLParser):
    """Collects what a browser would see."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.data: dict[str, str] = {}
        self.open = ["html"]
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.open.append(tag)

    def handle_data(self, data: str) -> None:
        self.data[self.open[-1]] = self.data.get(self.open[-1], "") + data


def test_the_page_says_what_estimate_says(sampled: Evaluation) -> None:
    report = gather(sampled)
    result = sampled.to_json()
    found = json.loads(Page(page(report)).data["script"])
    measured = found["dqv:hasQualityMeasurement"]
    assert measured["dqv:value"] == result["accuracy"]
    assert [measured["kge:lower"], measured["kge:upper"]] == list(result["interval"])
    assert measured["kge:sampleSize"] == result["asked"]
    by_predicate = {part["void:property"]["@id"]: part for part in found["void:propertyPartition"]}
    for predicate, entry in result["by_predicate"].items():
        own = by_predicate[predicate]["dqv:hasQualityMeasurement"]
        assert (own["dqv:value"], own["kge:lower"], own["kge:upper"]) == (
            entry["accuracy"],
            *entry["interval"],
        )
    assert f"{100 * result['accuracy']:.1f}%" in page(report)
    low, high = result["interval"]
    assert f"<b>{100 * low:.1f}%</b> and <b>{100 * high:.1f}%</b>" in page(report)


def test_the_embedded_data_is_rdf(sampled: Evaluation) -> None:
    graph = rdflib.Graph().parse(data=json.dumps(json_ld(gather(sampled))), format="json-ld")
    (dataset,) = graph.subjects(rdflib.RDF.type, rdflib.URIRef("https://schema.org/Dataset"))
    measurement = graph.value(dataset, rdflib.URIRef(DQV + "hasQualityMeasurement"))
    assert float(graph.value(measurement, rdflib.URIRef(DQV + "value"))) == sampled.accuracy
    assert graph.value(measurement, rdflib.URIRef(DQV + "isMeasurementOf")) == rdflib.URIRef(KGE + "accuracy")
    assert len(list(graph.objects(dataset, rdflib.URIRef(VOID + "propertyPartition")))) == 5


def test_no_text_of_a_graph_becomes_markup(attacked: Report) -> None:
    text = page(attacked)
    seen = Page(text)
    assert seen.tags.count("script") == 1
    assert "img" not in seen.tags
    assert not [name for name, _ in seen.attributes if name.startswith("on")]
    assert "&lt;img src=x onerror=alert(1)&gt;" in text
    assert json.loads(seen.data["script"])["name"] == "<!--<script>.ttl"
    assert "<" not in seen.data["script"], "a comment and a start tag would swallow the end of the element"
    assert "\u202e" not in text
    assert "<b>athlete</b>" not in text
    assert "bert" not in text


def test_the_page_needs_nothing_else(attacked: Report) -> None:
    seen = Page(page(attacked))
    assert not {"link", "iframe", "object", "embed"} & set(seen.tags)
    assert not [value for name, value in seen.attributes if name in ("src", "href")]
    assert "url(" not in seen.data["style"]
    assert "@import" not in seen.data["style"]


def test_the_page_tells_what_matters(attacked: Report) -> None:
    text = page(attacked)
    for title in (
        "How this was obtained", "What is known of the beliefs", "Accuracy by predicate", "Most suspicious beliefs",
        "Said to be wrong", "Rules, and how well each held", "Who answered", "Provenance",
    ):  # fmt: skip
        assert title in text
    (suspect,) = attacked.suspects
    assert (suspect.triple[0], suspect.triple[2]) == (f"<{EX}anna>", f"<{EX}Paris>")
    assert "people said true" in suspect.reason
    assert "you said" not in text
    assert attacked.wrong[0].triple[2] == f"<{EX}Athlete>"
    assert len(attacked.wrong) == 1 + len(HOSTILE)
    athlete = next(rule for rule in attacked.rules if "athlete" in rule.name)
    assert (athlete.tested, athlete.held) == (1.0, 0.0)
    assert sum(attacked.coverage.values()) == attacked.result.beliefs
    assert attacked.coverage["ambiguous"] == 1


def test_no_interval_is_shown_that_cannot_be_stood_for(sampled: Evaluation) -> None:
    running = Evaluation(sampled.graph)
    running.answer(running.next(1)[0], Answer.TRUE, "me")
    report = gather(running)
    assert "without an interval" in page(report)
    assert 'class="band"' not in page(report)
    assert "An interval is given at the end" in " ".join(report.how)
    greedy = gather(motivating())
    assert "greedy/inferable carries no interval" in " ".join(greedy.how)
    assert 'class="band"' not in page(greedy)


def test_overconfident_methods_are_called_so() -> None:
    told = " ".join(gather(motivating(policy="twcs", estimator="ahpd")).how)
    assert "keeps this promise less often" in told
    assert "have the true accuracy" in " ".join(gather(motivating(policy="stratified")).how)


def test_an_evaluation_without_answers_is_reported(sampled: Evaluation) -> None:
    report = gather(Evaluation(sampled.graph))
    assert "Nothing is known yet." in page(report)
    assert "Nobody has answered yet." in page(report)
    assert "accuracy unknown" in markdown(report)
    assert ElementTree.fromstring(junit(replace(report, min_accuracy=0.5))).get("failures") == "1"


def test_the_same_report_gives_the_same_bytes(tmp_path: Path) -> None:
    pages = [page(gather(hostile(tmp_path))) for _ in range(2)]
    assert pages[0] == pages[1]


def test_markdown_is_plain(attacked: Report, sampled: Evaluation) -> None:
    text = markdown(attacked)
    assert "<img" not in text.replace("\\<img", "")
    assert not re.search(r"(?<!\\)\[x(?<!\\)\]\(", text)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) in (4, 5, 6, 7) for row in rows)
    assert "accuracy 75.0%, 75.0% to 75.0% at the level 0.95: 8 of 8 beliefs asked" in markdown(
        gather(sampled)
    )


def test_junit_fails_below_the_threshold(sampled: Evaluation) -> None:
    report = gather(sampled)
    suite = ElementTree.fromstring(junit(replace(report, min_accuracy=0.7)))
    assert suite.get("tests") == "6"
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert failed == [f"accuracy of {EX}cityInState"]
    assert ElementTree.fromstring(junit(report)).get("failures") == "0"
    wide = ElementTree.fromstring(junit(gather(motivating(), {}, max_margin=0.05)))
    assert wide.find("testcase/failure").get("message") == "there is no interval"


def test_a_threshold_that_is_no_number_lets_no_test_pass(sampled: Evaluation) -> None:
    nan = float("nan")
    suite = ElementTree.fromstring(junit(gather(sampled, {}, min_accuracy=nan, max_margin=nan)))
    failures = [case.find("failure").get("message") for case in suite]
    assert failures == [
        "the accuracy is below nan and the margin is above nan",
        *["the accuracy is below nan"] * 5,
    ]
    with pytest.raises(typer.Exit):
        check(sampled, nan, None)


def test_junit_takes_any_text(attacked: Report) -> None:
    ElementTree.fromstring(junit(replace(attacked, min_accuracy=0.99)))


def test_long_histories_are_thinned_to_their_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rdf_kgeval.publishing.report.content.POINTS", 3)
    evaluation = motivating(policy="stratified")
    report = gather(evaluation)
    assert len(evaluation.history) == 8
    assert [point.asked for point in report.history] == [3, 6, 8]
    assert report.history[-1] == evaluation.history[-1]


def test_the_course_of_a_few_answers_has_whole_ticks() -> None:
    points = [Point(asked=k, accuracy=0.5, inferred=None) for k in (1, 2, 3)]
    assert [f">{k}</text>" in history(points, None) for k in range(5)] == [True, True, True, True, False]


def test_notes_and_sources_are_told_and_escaped() -> None:
    evaluation = Evaluation(chain(3), Settings(policy="srs", estimator="wilson"))
    note, source = "<script>alert(1)</script> [x](y) seen", "https://example.org/?a=1&b=2"
    for request in evaluation.next(2):
        evaluation.answer(request, Judgement(answer=Answer.FALSE, note=note, source=source), "ann")
    report = gather(evaluation)
    assert [(remark.note, remark.source) for remark in report.remarks] == [(note, source)] * 2
    text = page(report)
    assert "<script>alert" not in text
    assert '<a href="https://example.org/?a=1&amp;b=2" rel="noopener noreferrer nofollow">' in text
    assert r"\<script\>alert(1)\</script\> \[x\](y) seen https://example.org" in markdown(report)
    assert "What they noted" not in page(gather(Evaluation(chain(3))))


def test_no_cell_of_the_table_is_a_formula(attacked: Report) -> None:
    names = dict(zip(attacked.predicates, ("=1+1", " +x", "-x", "@x\n", "plain"), strict=False))
    report = replace(attacked, predicates={**attacked.predicates, **names})
    rows = list(csv.DictReader(table(report).splitlines()))
    assert next(row["name"] for row in rows) == "the whole graph"
    assert {"'=1+1", "' +x", "'-x"} <= {row["name"] for row in rows}
    assert not [cell for row in rows for cell in row.values() if cell.lstrip()[:1] in tuple("=+-@")]


def test_a_report_from_python_is_written_by_its_ending(sampled: Evaluation, tmp_path: Path) -> None:
    for ending, begin in ((".html", "<!"), (".md", "# How"), (".xml", "<?xml"), (".csv", "predicate,")):
        sampled.report(tmp_path / f"r{ending}")
        assert (tmp_path / f"r{ending}").read_text().startswith(begin)
    with pytest.raises(InputError, match=r"end it in \.html, \.md, \.xml or \.csv"):
        sampled.report(tmp_path / "r.pdf")
    assert not (tmp_path / "r.pdf").exists()

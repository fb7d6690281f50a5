"""Oracles: functions, and the user's own code by name."""

import io
import json
from pathlib import Path

import pytest

import rdf_kgeval as kgeval
from rdf_kgeval.errors import InputError
from rdf_kgeval.pipeline import Evaluation
from rdf_kgeval.verdicts.log import Answer, Judgement, Verdict
from rdf_kgeval.verdicts.oracles import AnswerFunction, Question, choose_oracle, is_interactive
from tests.evaluation.test_policies import chain
from tests.functional.test_cli import EXAMPLE
from tests.functional.test_cli import kgeval as command


def asked_of(function: AnswerFunction) -> Evaluation:
    return kgeval.evaluate(chain(4), function, policy="random", margin=None, converge=False)


def test_a_function_answers() -> None:
    def even(question: Question) -> bool:
        return question.position % 2 == 0

    evaluation = asked_of(even)
    assert evaluation.n_verdicts == 6
    assert evaluation.accuracy == 0.5
    assert evaluation.annotators().keys() == {"even"}
    assert asked_of(lambda _: True).annotators().keys() == {"function"}


def test_a_function_says_what_a_person_can_say() -> None:
    answers = [Answer.FALSE, Answer.TRUE, "ambiguous", True, 0, 1]
    evaluation = asked_of(lambda question: answers[question.position])  # type: ignore[return-value]
    assert evaluation.n_verdicts == 6
    assert evaluation.accuracy == 3 / 5


@pytest.mark.parametrize("given", ["yes", 0.5, "skip"])
def test_what_is_no_answer_is_one_sentence(given: object) -> None:
    with pytest.raises(
        InputError, match="let it return True, False, an Answer, a Judgement, or None to skip"
    ):
        asked_of(lambda _: given)  # type: ignore[arg-type, return-value]


def test_what_a_function_skips_is_asked_once_more_and_then_asking_ends() -> None:
    asked: list[int] = []

    def knows_little(question: Question) -> bool | None:
        asked.append(question.position)
        return None if question.position < 2 else True

    evaluation = asked_of(knows_little)
    assert evaluation.n_verdicts == 4
    assert set(asked) == set(range(6))
    assert len(asked) <= 4 + 2 * 2 + 1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "judges.py").write_text(
        "def yes(question): return True\n"
        "class Judge:\n"
        "    annotator, interactive = 'judge', True\n"
        "    def ask(self, question): return 'false'\n"
        "judge, number = Judge(), 7\n"
    )
    (tmp_path / "broken.py").write_text("import rdf_kgeval.nothing")
    return tmp_path


@pytest.mark.parametrize(("name", "annotator", "accuracy"), [("yes", "yes", 1.0), ("judge", "judge", 0.0)])
def test_one_s_own_code_by_name(folder: Path, name: str, annotator: str, accuracy: float) -> None:
    arguments = ["evaluate", EXAMPLE / "kg.ttl", "--oracle", f"judges:{name}", "--run", "run", "--json"]
    done = command(*arguments, "--policy", "srs", "--budget", "6", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["accuracy"] == pytest.approx(accuracy)
    log = (folder / "run" / "verdicts.jsonl").read_text().splitlines()
    assert {json.loads(line)["annotator"] for line in log} == {annotator}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent:judge", "cannot be imported: ModuleNotFoundError: No module named 'absent'; name a module"),
        ("broken:judge", "cannot be imported: ModuleNotFoundError: No module named 'rdf_kgeval.nothing'"),
        ("judges:nobody", "cannot be imported: AttributeError: module 'judges' has no attribute 'nobody'"),
        ("judges:number", "is neither a function of a question nor an object with ask; name one that is"),
        ("judges:Judge", "is neither a function of a question nor an object with ask; name one that is"),
    ],
)
def test_code_that_cannot_answer_is_one_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    monkeypatch.syspath_prepend(folder)
    with pytest.raises(InputError) as error:
        choose_oracle(name, "me")
    assert str(error.value).startswith(f"the oracle {name} {message}")


def test_who_is_a_person() -> None:
    assert is_interactive(kgeval.PromptOracle())
    assert not is_interactive(kgeval.GoldOracle(EXAMPLE / "gold.csv"))
    assert not is_interactive(object())


def judged(function: AnswerFunction) -> list[Verdict]:
    return [record for record in asked_of(function).records if isinstance(record, Verdict)]


def test_a_note_and_a_source_go_with_an_answer() -> None:
    said = Judgement(answer=Answer.FALSE, note="the map says otherwise", source="https://example.org/map")
    verdicts = judged(lambda _: said)
    assert {(v.answer, v.note, v.source) for v in verdicts} == {(said.answer, said.note, said.source)}
    with pytest.raises(InputError, match="is not the address of a web page"):
        asked_of(lambda _: Judgement(answer=Answer.TRUE, source="javascript:alert(1)"))


def test_a_person_at_the_terminal_adds_a_note_and_a_source() -> None:
    screen = io.StringIO()
    typed = io.StringIO("n\nthe map says otherwise\nftp://example.org\nhttps://example.org/map\nf\nt\nq\n")
    evaluation = kgeval.evaluate(
        chain(4), kgeval.PromptOracle("ann", typed, screen), policy="random", margin=None, converge=False
    )
    first, second = (record for record in evaluation.records if isinstance(record, Verdict))
    assert (first.answer, first.note) == (Answer.FALSE, "the map says otherwise")
    assert first.source == "https://example.org/map"
    assert "the source 'ftp://example.org' is not the address of a web page" in screen.getvalue()
    assert (second.note, second.source) == (None, None)


def test_the_prompt_shows_evidence_and_on_demand_all_of_a_long_literal(tmp_path: Path) -> None:
    story = "A long story. " * 50 + "The end."
    (tmp_path / "kg.ttl").write_text(
        "@prefix : <http://example.org/> . @prefix dct: <http://purl.org/dc/terms/> .\n"
        f':a :history "{story}" ; dct:source "register\\u001b[31m" .'
    )
    graph = kgeval.couple(
        kgeval.read_beliefs(tmp_path / "kg.ttl", predicates=["http://example.org/history"]), []
    )
    screen = io.StringIO()
    kgeval.evaluate(
        graph, kgeval.PromptOracle("ann", io.StringIO("m\nt\n"), screen), policy="srs", margin=0.1
    )
    first, _, rest = screen.getvalue().partition("more or quit [t/f/a/n/s/u/m/q]? ")
    assert first.startswith("\n1 of about 1: a history A long story.")
    assert "The end." not in first
    assert "The end." in rest
    assert "evidence: register\\x1b[31m\n" in first
    assert "\x1b" not in screen.getvalue()
    address = next(line for line in first.splitlines() if "duckduckgo" in line)
    assert len(address) < 500


def test_the_pages_are_no_oracle_for_one() -> None:
    with pytest.raises(InputError, match="web serves pages to several people"):
        choose_oracle("web", "ann")

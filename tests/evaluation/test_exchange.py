"""Tasks for other tools and their results, in files shaped like the tools' own."""

import csv
import io
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.exchange import FORMATS, read_results, task_rows, to_verdicts, write_csv
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.pipeline import Evaluation
from rdf_kgeval.verdicts.log import Drawn, read_log, standing
from tests.evaluation.test_policies import chain
from tests.support.strategies import nasty_text

EXAMPLE = Path(__file__).parents[2] / "examples" / "motivating"
KGEVAL = Path(sys.executable).with_name("kgeval")
WORKERS = ("A1XQ", "A2YR", "A3ZS")


def kgeval(*arguments: object, code: int = 0) -> tuple[str, str]:
    done = subprocess.run([KGEVAL, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


@pytest.fixture
def run(tmp_path: Path) -> Path:
    kgeval("init", tmp_path / "run", EXAMPLE / "kg.ttl")
    return tmp_path / "run"


def gold() -> dict[tuple[str, str, str], str]:
    with (EXAMPLE / "gold.csv").open() as file:
        return {
            (row["subject"], row["predicate"], row["object"]): "true" if row["label"] == "1" else "false"
            for row in csv.DictReader(file)
        }


def mturk_results(tasks: str) -> str:
    """What MTurk makes of a batch: assignments with their inputs and the workers' answers."""
    head = ["HITId", "HITTypeId", "Title", "Description", "Keywords", "Reward", "CreationTime"]
    head += ["MaxAssignments", "AssignmentId", "WorkerId", "AssignmentStatus", "AcceptTime", "SubmitTime"]
    head += ["WorkTimeInSeconds", "LifetimeApprovalRate", "Input.task", "Input.sentence", "Input.subject"]
    head += ["Input.predicate", "Input.object", "Input.description", "Input.evidence", "Input.search"]
    head += ["Answer.label", "Approve", "Reject"]
    file = io.StringIO()
    writer = csv.DictWriter(file, head, restval="", quoting=csv.QUOTE_ALL)
    writer.writeheader()
    labels = gold()
    for number, row in enumerate(csv.DictReader(io.StringIO(tasks))):
        label = labels[row["subject"], row["predicate"], row["object"]]
        for worker in WORKERS:
            inputs = {f"Input.{name}": value for name, value in row.items()}
            said = {"Answer.label": label.title(), "WorkerId": worker, "AssignmentStatus": "Submitted"}
            writer.writerow({"HITId": f"3H{number}", "AssignmentId": f"{number}{worker}", **inputs, **said})
        wrong = {"Input.task": row["task"], "Answer.label": "False", "WorkerId": "SPAM"}
        writer.writerow({**wrong, "AssignmentStatus": "Rejected"})
    return file.getvalue()


def label_studio_results(tasks: str, short: bool) -> str:
    labels, found = gold(), []
    for number, task in enumerate(json.loads(tasks), start=1):
        data = task["data"]
        choice = labels[data["subject"], data["predicate"], data["object"]].title()
        result = {"id": f"x{number}", "from_name": "label", "to_name": "sentence", "type": "choices"}
        result["value"] = {"choices": [choice]}
        if short:
            found += [
                {"id": number, **data, "label": choice, "annotator": by, "lead_time": 3.1} for by in (1, 2)
            ]
        else:
            annotations = [
                {"id": number * 10 + by, "completed_by": by, "was_cancelled": False, "result": [result]}
                for by in (1, 2)
            ]
            annotations.append({"id": 0, "completed_by": 3, "was_cancelled": True, "result": []})
            found.append({"id": number, "data": data, "annotations": annotations, "predictions": []})
    return json.dumps(found)


def plain_results(tasks: str) -> str:
    labels = gold()
    rows = csv.DictReader(io.StringIO(tasks))
    lines = [f"{r['task']},ann,{labels[r['subject'], r['predicate'], r['object']]}" for r in rows]
    return "\n".join(["task,worker,label", *lines]) + "\n"


@pytest.mark.parametrize("to", ["mturk", "labelstudio", "labelstudio-min", "csv"])
def test_there_and_back_again(to: str, run: Path, tmp_path: Path) -> None:
    tasks, said = kgeval("export", run, "--to", to.removesuffix("-min"), "--policy", "srs")
    assert "8 tasks" in said
    make = {
        "mturk": mturk_results,
        "labelstudio": lambda text: label_studio_results(text, short=False),
        "labelstudio-min": lambda text: label_studio_results(text, short=True),
        "csv": plain_results,
    }
    results = tmp_path / "results"
    results.write_text(make[to](tasks), encoding="utf-8-sig")
    _, said = kgeval("import", run, results)
    number = {"mturk": 3, "csv": 1}.get(to, 2)
    assert f"{8 * number} answers by {number} annotator" in said
    assert "on 8 beliefs; 0 were there before" in said
    before = (run / "verdicts.jsonl").read_bytes()
    _, said = kgeval("import", run, results)
    assert f"0 answers by 0 annotators on 0 beliefs; {8 * number} were there before" in said
    assert (run / "verdicts.jsonl").read_bytes() == before
    assert all(verdict.drawn is Drawn.SAMPLE for verdict in standing(read_log(run / "verdicts.jsonl")))
    out, _ = kgeval("estimate", run)
    assert "accuracy 75.0%, between 75.0% and 75.0%" in out
    _, said = kgeval("export", run, "--to", "csv", code=1)
    assert "nothing to ask: everything asked" in said


def test_an_unknown_id_stops_the_import_and_nothing_is_taken_in(run: Path, tmp_path: Path) -> None:
    tasks, _ = kgeval("export", run, "--to", "csv")
    results = tmp_path / "r.csv"
    for id_ in ("f" * 64, "abc", ""):
        results.write_text(plain_results(tasks) + f"{id_},bob,true\n")
        _, said = kgeval("import", run, results, code=1)
        assert "r.csv, line 10: " in said
        assert "nothing is imported" in said
        assert "Traceback" not in said
        assert read_log(run / "verdicts.jsonl") == []


def test_what_was_not_exported_counts_as_known_before(run: Path, tmp_path: Path) -> None:
    tasks, _ = kgeval("export", run, "--to", "csv")
    (run / "exported.txt").unlink()
    results = tmp_path / "r.csv"
    results.write_text("\n".join(plain_results(tasks).splitlines()[:4]) + "\n")
    kgeval("import", run, results)
    assert all(verdict.drawn is Drawn.CONTROL for verdict in standing(read_log(run / "verdicts.jsonl")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("worker,label\nann,true\n", "the column task is missing"),
        ("task,worker\nx,ann\n", "the column label is missing"),
        ('task,label\n"x,true\n', "not valid CSV"),
        ("task,label\nx,perhaps\n", "line 2: 'perhaps' is not true, false or ambiguous"),
        ("[1]", "task 1 is not a task"),
        ("[{", "is not valid JSON"),
    ],
)
def test_bad_results_are_one_sentence(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "results"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_results(path)


def test_missing_columns_and_empty_labels_are_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / "results"
    path.write_text("label,task\ntrue,x\n,y\nskip,z\n0,w\n")
    assert [(r.task, r.worker, str(r.judgement.answer)) for r in read_results(path)] == [
        ("x", "imported", "true"),
        ("w", "imported", "false"),
    ]
    path.write_text(
        "Input.task,WorkerId,Answer.label.false,Answer.label.true\nx,W,false,true\ny,W,false,false\n"
    )
    assert [(r.task, r.worker, str(r.judgement.answer)) for r in read_results(path)] == [("x", "W", "true")]


@given(st.text(max_size=200), st.booleans())
def test_no_file_makes_a_traceback(tmp_path_factory: pytest.TempPathFactory, text: str, json_: bool) -> None:
    path = tmp_path_factory.mktemp("results") / "r"
    text = json.dumps([{"task": text, "annotations": [text, {"result": [text]}]}]) if json_ else text
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    message = ""
    try:
        read_results(path)
    except InputError as error:
        message = str(error)
    assert message.isprintable()


@given(nasty_text)
def test_no_cell_is_a_formula(text: str) -> None:
    written = write_csv(
        [dict.fromkeys(("task", "sentence", "subject", "predicate", "object", "search"), text)]
    )
    for row in csv.DictReader(io.StringIO(written, newline="")):
        assert not any((value or "").startswith(("=", "+", "-", "@", "\t", "\r")) for value in row.values())


def test_each_format_has_one_task_for_each_belief() -> None:
    evaluation = Evaluation(chain(20), Settings(policy="srs", estimator="wilson"))
    rows = list(task_rows(evaluation, evaluation.next(10)))
    assert len({row["task"] for row in rows}) == 10
    assert len(json.loads(FORMATS["labelstudio"](rows))) == len(FORMATS["csv"](rows).splitlines()) - 1 == 10


def test_an_answer_that_changed_replaces_the_old_one(tmp_path: Path) -> None:
    evaluation = Evaluation(chain(20), Settings(policy="srs", estimator="wilson"))
    task = next(task_rows(evaluation, evaluation.next()))["task"]
    path = tmp_path / "r.csv"
    for label in random.Random(1).sample(["true", "false"], 2) * 2:
        path.write_text(f"task,worker,label\n{task},ann,{label}\n")
        evaluation.record(*to_verdicts(evaluation, read_results(path), [task]).verdicts)
        assert evaluation.n_verdicts == 1
        assert evaluation.accuracy == (1.0 if label == "true" else 0.0)


@pytest.mark.parametrize("tool", ["csv", "mturk", "labelstudio", "labelstudio-min"])
def test_notes_and_sources_come_back_with_the_answers(tool: str, tmp_path: Path) -> None:
    evaluation = Evaluation(chain(2), Settings(policy="srs", estimator="wilson"))
    note, source = 'seen, "there"\ntwice', "https://example.org/?q=a,b"
    task = evaluation.belief(0)
    by_hand = {"task": task, "label": "true", "worker": "ann", "note": note, "source": source}
    mturk = {
        "Input.task": task, "WorkerId": "ann", "Answer.label": "True", "Answer.note": note,
        "Answer.source": source,
    }  # fmt: skip
    regions = [
        {"from_name": "label", "type": "choices", "value": {"choices": ["True"]}},
        {"from_name": "note", "type": "textarea", "value": {"text": note.split("\n")}},
        {"from_name": "source", "type": "textarea", "value": {"text": [source]}},
    ]
    long = {"data": {"task": task}, "annotations": [{"completed_by": "ann", "result": regions}]}
    short = {"task": task, "label": "True", "annotator": "ann", "note": note, "source": source}
    file = tmp_path / "results"
    if tool in ("csv", "mturk"):
        row = by_hand if tool == "csv" else mturk
        with file.open("w", newline="") as opened:
            writer = csv.DictWriter(opened, row)
            writer.writeheader()
            writer.writerow(row)
    else:
        file.write_text(json.dumps([long if tool == "labelstudio" else short]))
    (verdict,) = to_verdicts(evaluation, read_results(file), []).verdicts
    assert (verdict.annotator, verdict.note, verdict.source) == ("ann", note, source)
    evaluation.record(verdict)
    again = to_verdicts(evaluation, read_results(file), [])
    assert (again.verdicts, again.known) == ([], 1)


def test_a_source_that_is_no_web_page_is_one_sentence_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "results.csv"
    file.write_text(f"task,label,source\n{'a' * 64},true,javascript:alert(1)\n")
    with pytest.raises(
        InputError, match=r"results.csv, line 2: the source .* is not the address of a web page"
    ):
        read_results(file)

"""Exchange tasks with labelling tools: write tasks for them, and read their answers back as verdicts."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from rdf_kgeval.beliefs.terms import iri
from rdf_kgeval.common.disk import read_text
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.procedure import Request
from rdf_kgeval.evaluation.state import State
from rdf_kgeval.verdicts.log import Answer, Drawn, Judgement, Verdict, checked_note, checked_source

COLUMNS = ("task", "sentence", "subject", "predicate", "object", "search", "description", "evidence")
WORKER = "imported"
"""The annotator where a file names none."""
_ANSWERS = {
    **dict.fromkeys(("true", "1", "1.0", "yes", "correct", "right"), Answer.TRUE),
    **dict.fromkeys(("false", "0", "0.0", "no", "incorrect", "wrong"), Answer.FALSE),
    **dict.fromkeys(("ambiguous", "unsure", "unknown", "maybe", "can't tell"), Answer.AMBIGUOUS),
}
_SILENT = ("", "skip", "skipped", "nan", "none", "null")


class TaskAnswer(NamedTuple):
    """One answer of one worker, as a tool has it."""

    task: str
    worker: str
    judgement: Judgement
    where: str
    """File and line, or the number of the task."""


def task_rows(evaluation: State, requests: Iterable[Request]) -> Iterator[dict[str, str]]:
    """Describe each belief for people who judge it; the task is its id."""
    for request in requests:
        question = evaluation.question(request.position)
        s, p, o = (printable(iri(term)) for term in question.triple)
        yield {
            "task": evaluation.belief(request.position),
            "sentence": printable(question.sentence),
            "subject": s,
            "predicate": p,
            "object": o,
            "search": question.search,
            "description": _lines(question.description.splitlines()),
            "evidence": _lines(map(str, question.evidence)),
        }


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(printable(text.strip()) for text in texts)


def read_results(path: Path) -> list[TaskAnswer]:
    """Read what a tool gathered: MTurk's batch CSV, Label Studio's JSON, or `task,worker,label`.

    A worker's last answer on a task counts. Empty and skipped ones are left out.

    Raises:
        InputError: the file cannot be read, or does not say which task an answer belongs to.
    """
    name = printable(str(path))
    text = read_text(path)
    found = _read_label_studio(text, name) if text.lstrip()[:1] in ("[", "{") else _read_csv(text, name)
    latest: dict[tuple[str, str], TaskAnswer] = {}
    for answer in found:
        latest.pop((answer.task, answer.worker), None)
        latest[answer.task, answer.worker] = answer
    return list(latest.values())


# CSV, of MTurk or any other tool


def write_csv(rows: Iterable[Mapping[str, str]]) -> str:
    """Write tasks as CSV; in MTurk, the columns are the variables of the HIT's layout."""
    file = io.StringIO()
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _inert(text) for name, text in row.items()} for row in rows)
    return file.getvalue()


def _inert(text: str) -> str:
    """Keep spreadsheets from taking a cell for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _read_csv(text: str, name: str) -> Iterator[TaskAnswer]:
    rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        columns = list(rows.fieldnames or ())
        task = _first(columns, "task", "Input.task", "INPUT:task")
        worker = _first(columns, "worker", "WorkerId", "performer", "annotator")
        label = _first(columns, "label", "Answer.label", "Answer.label.label", "answer", "Answer.answer")
        note = _first(columns, "note", "Answer.note", "comment", "Answer.comment")
        source = _first(columns, "source", "Answer.source")
        choices = [
            column for column in columns if column.startswith("Answer.") and _choice(column) in _ANSWERS
        ]
        if task is None or (label is None and not choices):
            missing = "task" if task is None else "label"
            raise InputError(
                f"{name}, line 1: the column {missing} is missing; the columns are task, worker and label, "
                "or Input.task, WorkerId and Answer.label of MTurk"
            )
        for row in rows:
            where = f"{name}, line {rows.line_num}"
            if (row.get("AssignmentStatus") or "").strip() == "Rejected" or (row.get("Reject") or "").strip():
                continue
            said = row.get(label) if label else None
            if label is None:
                ticked = [column for column in choices if (row.get(column) or "").strip().lower() == "true"]
                said = _choice(ticked[0]) if len(ticked) == 1 else None
            answer = _answer(said, where)
            if answer is not None:
                given = _judgement(answer, row.get(note or ""), row.get(source or ""), where)
                yield TaskAnswer((row.get(task) or "").strip(), _name(row.get(worker or "")), given, where)
    except csv.Error as error:
        raise InputError(f"{name}, line {rows.line_num}: not valid CSV: {error}; correct it") from error


def _choice(column: str) -> str:
    return column.rpartition(".")[2].lower()


def _first(columns: list[str], *names: str) -> str | None:
    return next((name for name in names if name in columns), None)


# Label Studio


def write_label_studio(rows: Iterable[Mapping[str, str]]) -> str:
    """Write tasks as Label Studio imports them."""
    return json.dumps([{"data": dict(row)} for row in rows], ensure_ascii=False, indent=1) + "\n"


def _read_label_studio(text: str, name: str) -> Iterator[TaskAnswer]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is not valid JSON: {error}; export it again") from error
    tasks = value if isinstance(value, list) else [value]
    for number, task in enumerate(tasks, start=1):
        where = f"{name}, task {number}"
        if not isinstance(task, dict):
            raise InputError(f"{where} is not a task of Label Studio; export as JSON or JSON-MIN")
        data = task["data"] if isinstance(task.get("data"), dict) else task
        key = str(data.get("task", "")).strip()
        annotations = task.get(
            "annotations", [task] if "annotations" not in task and "data" not in task else []
        )
        for annotation in annotations if isinstance(annotations, list) else []:
            if isinstance(annotation, dict) and not annotation.get("was_cancelled"):
                answer = _answer(_chosen(annotation), where)
                if answer is not None:
                    by = annotation.get("completed_by", annotation.get("annotator"))
                    given = _judgement(answer, _text(annotation, "note"), _text(annotation, "source"), where)
                    yield TaskAnswer(key, _name(by), given, where)


def _chosen(annotation: Mapping[str, Any]) -> Any:
    """Find the choice in an annotation, in Label Studio's long form or in its short one."""
    result = annotation.get("result")
    for region in result if isinstance(result, list) else []:
        value = region.get("value") if isinstance(region, dict) else None
        choices = value.get("choices") if isinstance(value, dict) else None
        if isinstance(choices, list) and choices:
            return choices[0]
    for key in ("label", "choice", "answer"):
        if isinstance(annotation.get(key), str | bool | int):
            return annotation[key]
    return None


def _text(annotation: Mapping[str, Any], name: str) -> str | None:
    """Find the text of the field with this name, in Label Studio's long form or in its short one."""
    result = annotation.get("result")
    for region in result if isinstance(result, list) else []:
        if isinstance(region, dict) and region.get("from_name") == name:
            value = region.get("value")
            texts = value.get("text") if isinstance(value, dict) else None
            return "\n".join(map(str, texts)) if isinstance(texts, list) else texts
    return annotation.get(name)


# What the tools share


FORMATS: dict[str, Callable[[Iterable[Mapping[str, str]]], str]] = {
    "mturk": write_csv,
    "labelstudio": write_label_studio,
    "csv": write_csv,
}


def _answer(said: Any, where: str) -> Answer | None:
    text = str("" if said is None else said).strip().lower()
    if text in _SILENT:
        return None
    if text not in _ANSWERS:
        raise InputError(f"{where}: {printable(text, 40)!r} is not true, false or ambiguous; correct it")
    return _ANSWERS[text]


def _judgement(answer: Answer, note: Any, source: Any, where: str) -> Judgement:
    texts = [text if isinstance(text, str) else None for text in (note, source)]
    try:
        return Judgement(answer=answer, note=checked_note(texts[0]), source=checked_source(texts[1]))
    except InputError as error:
        raise InputError(f"{where}: {error}; nothing is imported") from error


def _name(worker: Any) -> str:
    if isinstance(worker, dict):
        worker = worker.get("email") or worker.get("id")
    return printable("" if worker is None else str(worker).strip(), 60) or WORKER


def _says(verdict: Verdict, given: Judgement) -> bool:
    """Return whether a verdict holds all that a judgement says."""
    return (
        verdict.answer is given.answer
        and given.note in (None, verdict.note)
        and given.source in (None, verdict.source)
    )


class Imported(NamedTuple):
    """Verdicts of an import."""

    verdicts: list[Verdict]
    known: int
    """The number of answers that the run had before."""


class Taken(NamedTuple):
    """What of another run's answers fits a run."""

    verdicts: list[Verdict]
    known: int
    """The number of answers that the run had before."""
    strange: int
    """The number of beliefs that the run does not evaluate."""
    differing: int
    """The number of answers that differ from what the same annotator said in the run, which stands."""


def take_answers(evaluation: State, others: Iterable[Verdict]) -> Taken:
    """Make verdicts of another run's answers on the same beliefs, with their time, note and source.

    They count as known beforehand, as nobody drew them here.

    Raises:
        InputError: no answer is on a belief of this run.
    """
    verdicts: list[Verdict] = []
    strange: set[str] = set()
    known = differing = 0
    for other in others:
        try:
            position = evaluation.position(other.belief)
        except InputError:
            strange.add(other.belief)
            continue
        said = evaluation.opinions_on(position)
        own = said.get(other.annotator)
        if own is not None:
            same = own.answer is other.answer
            known, differing = known + same, differing + (not same)
            continue
        first = next(iter(said.values()), None)
        redundancy = evaluation.settings.redundancy
        request = (
            Request(position, Drawn.CONTROL, workers=redundancy)
            if first is None
            else Request.of(first, position, redundancy)
        )
        given = Judgement(answer=other.answer, note=other.note, source=other.source)
        made = evaluation.verdict(request, given, other.annotator, expert=bool(other.expert))
        verdicts.append(replace(made, time=other.time))
    if not (verdicts or known or differing):
        raise InputError(
            "no answer of the other run is on a belief of this one; take a run on the same graph"
        )
    return Taken(verdicts, known, len(strange), differing)


def to_verdicts(evaluation: State, answers: Iterable[TaskAnswer], exported: Iterable[str]) -> Imported:
    """Make verdicts of answers, but for those that the run has already.

    Answers on exported tasks answer the draws that they were; others count as known beforehand.

    Raises:
        InputError: a task is not a belief to be evaluated.
    """
    asked = set(exported)
    size = evaluation.graph.n_beliefs
    draws = {r.position: r for r in evaluation.next(size)} if asked else {}
    drawn: list[Verdict] = []
    others: list[Verdict] = []
    known = 0
    for task, worker, given, where in answers:
        if len(task) != 64:
            raise InputError(
                f"{where}: {printable(task, 80)!r} is not the id of a belief; nothing is imported"
            )
        try:
            position = evaluation.position(task)
        except InputError as error:
            raise InputError(f"{where}: {error}; nothing is imported") from error
        said = evaluation.opinions_on(position)
        if worker in said and _says(said[worker], given):
            known += 1
            continue
        first = next(iter(said.values()), None)
        redundancy = evaluation.settings.redundancy
        if first is not None:
            request = Request.of(first, position, redundancy)
        elif task in asked and position in draws:
            request = draws[position]
        else:
            request = Request(position, Drawn.CONTROL, workers=redundancy)
        target = others if request.drawn is Drawn.CONTROL else drawn
        target.append(evaluation.verdict(request, given, worker))
    return Imported([*drawn, *others], known)

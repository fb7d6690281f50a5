import json
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdf_kgeval.errors import InputError, RunError
from rdf_kgeval.verdicts.log import (
    Answer,
    Drawn,
    LogRecord,
    Retraction,
    Verdict,
    VerdictLog,
    checked_note,
    checked_source,
    read_log,
    standing,
)
from tests.support.strategies import nasty_text

NOW = "2026-01-01T00:00:00Z"
beliefs = st.sampled_from(["a" * 64, "b" * 64])
verdicts = st.builds(
    Verdict,
    belief=beliefs,
    answer=st.sampled_from(Answer),
    annotator=st.one_of(st.sampled_from(["ann", "bob"]), nasty_text),
    time=st.just(NOW),
    drawn=st.sampled_from(Drawn),
    probability=st.one_of(st.none(), st.floats(0, 1)),
    note=st.one_of(st.none(), nasty_text),
    source=st.one_of(st.none(), st.just("https://example.org/")),
)
retractions = st.builds(
    Retraction, retract=beliefs, annotator=st.sampled_from(["ann", "bob"]), time=st.just(NOW)
)
records = st.lists(st.one_of(verdicts, retractions), max_size=10)


def verdict(answer: Answer = Answer.TRUE, annotator: str = "ann", belief: str = "a" * 64) -> Verdict:
    return Verdict(belief=belief, answer=answer, annotator=annotator, time=NOW)


@given(records)
def test_what_is_appended_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, written: list[LogRecord]
) -> None:
    path = tmp_path_factory.mktemp("log") / "verdicts.jsonl"
    for half in (written[: len(written) // 2], written[len(written) // 2 :]):
        with VerdictLog(path) as log:
            for record in half:
                log.append(record)
    assert read_log(path) == written


@given(st.lists(verdicts, min_size=1, max_size=4), st.data())
def test_a_torn_tail_is_cut_and_nothing_before_it(
    tmp_path_factory: pytest.TempPathFactory, written: list[LogRecord], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("log") / "verdicts.jsonl"
    with VerdictLog(path) as log:
        for record in written:
            log.append(record)
    whole = path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    path.write_bytes(whole[: data.draw(st.integers(last, len(whole) - 2))])
    assert read_log(path) == written[:-1]
    with VerdictLog(path) as log:
        log.append(written[-1])
    assert path.read_bytes() == whole


def test_a_last_record_without_its_line_feed_counts(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    with VerdictLog(path) as log:
        log.append(verdict(), verdict(annotator="{bob}"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert len(read_log(path)) == 2
    with VerdictLog(path) as log:
        assert path.read_bytes() == whole
        log.append(verdict(Answer.FALSE))
    assert path.read_bytes().startswith(whole)
    assert len(read_log(path)) == 3


def test_zeros_after_a_power_failure_are_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    with VerdictLog(path) as log:
        log.append(verdict())
    whole = path.read_bytes()
    path.write_bytes(whole + b"\0" * 100)
    assert read_log(path) == [verdict()]
    with VerdictLog(path):
        assert path.read_bytes() == whole


def test_no_acknowledged_record_is_cut_off_by_a_flipped_bit(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    with VerdictLog(path) as log:
        log.append(verdict(), verdict(annotator="bob"))
    whole = path.read_bytes()
    for bit in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        message, found = "", 0
        try:
            with VerdictLog(path) as log:
                found = len(log.records)
        except RunError as error:
            message = str(error)
        if found != 2:
            assert re.search(r"verdicts\.jsonl, line [12] is not a verdict", message), damaged
            assert path.read_bytes() == damaged


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    with VerdictLog(path) as log:
        log.append(verdict())
        log.append(verdict())
    first, second = path.read_bytes().splitlines(keepends=True)
    for bad in (
        b"nonsense\n",
        b"{}\n",
        b"[]\n",
        b'{"belief": 1}\n',
        b"\xff\n",
        first.replace(b"true", b"maybe"),
    ):
        path.write_bytes(first + bad + second)
        with pytest.raises(RunError, match=r"verdicts\.jsonl, line 2 is not a verdict"):
            read_log(path)
        with pytest.raises(RunError, match="line 2"):
            VerdictLog(path)
        assert path.read_bytes() == first + bad + second


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with VerdictLog(tmp_path / "log"), pytest.raises(RunError, match="another kgeval is taking verdicts"):
        VerdictLog(tmp_path / "log")
    with VerdictLog(tmp_path / "log") as log:
        log.append(verdict())


def test_a_full_disk_loses_no_acknowledged_verdict(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with VerdictLog(path) as log:
        log.append(verdict())
        before = path.read_bytes()
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, limits[1]))
            with pytest.raises(RunError, match="cannot be written: File too large; verdicts acknowledged"):
                log.append(verdict(annotator="x" * 100))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, ignored)
        assert path.read_bytes() == before
        log.append(verdict(annotator="bob"))
    assert read_log(path) == [verdict(), verdict(annotator="bob")]


def test_an_absent_log_is_empty_and_a_folder_is_none(tmp_path: Path) -> None:
    assert read_log(tmp_path / "absent") == []
    with pytest.raises(RunError, match="cannot be read: Is a directory"):
        read_log(tmp_path)
    with pytest.raises(RunError, match="cannot be written: Is a directory"):
        VerdictLog(tmp_path)


def test_later_answers_replace_and_retractions_withdraw() -> None:
    take_back = Retraction(retract="a" * 64, annotator="ann", time=NOW)
    yes, no, other = verdict(), verdict(Answer.FALSE), verdict(annotator="bob")
    assert standing([yes, other, no]) == [other, no]
    assert standing([yes, other, take_back]) == [other]
    assert standing([take_back, yes]) == [yes]


def test_kill_9_at_any_moment_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "log"
    code = f"""
import sys; from pathlib import Path; from rdf_kgeval.verdicts.log import *
with VerdictLog(Path({str(path)!r})) as log:
    for i in range(10**6):
        log.append(Verdict(belief=str(i), answer=Answer.TRUE, annotator="ann", time={NOW!r}))
        print(i, flush=True)
"""
    for _ in range(5):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        assert process.stdout is not None
        acknowledged = [int(process.stdout.readline()) for _ in range(20)]
        os.kill(process.pid, signal.SIGKILL)
        acknowledged += [int(line) for line in process.stdout.read().splitlines()]
        process.wait()
        process.stdout.close()
        logged = [record.belief for record in read_log(path) if isinstance(record, Verdict)]
        assert logged[: len(acknowledged)] == [str(i) for i in acknowledged]
        assert len(logged) <= len(acknowledged) + 1
        with VerdictLog(path) as log:
            assert [r.belief for r in log.records if isinstance(r, Verdict)] == logged
        path.unlink()


def test_the_log_is_readable_json(tmp_path: Path) -> None:
    with VerdictLog(tmp_path / "log") as log:
        log.append(verdict())
    assert json.loads((tmp_path / "log").read_text()) == {
        "belief": "a" * 64,
        "answer": "true",
        "annotator": "ann",
        "time": NOW,
        "drawn": "control",
    }


def test_a_log_from_before_notes_and_sources_opens_and_keeps_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    old = {"answer": "true", "annotator": "ann", "belief": "a" * 64, "drawn": "sample", "time": NOW}
    path.write_text(json.dumps(old) + "\n")
    before = path.read_bytes()
    with VerdictLog(path) as log:
        assert [record.note for record in log.records if isinstance(record, Verdict)] == [None]
        log.append(verdict())
    assert path.read_bytes().startswith(before)
    assert b"note" not in path.read_bytes()


def test_a_note_is_a_short_text_and_a_source_the_address_of_a_web_page() -> None:
    assert checked_note("  seen it\r\nmyself ") == "seen it\nmyself"
    assert checked_note(" \n") is checked_source(" ") is checked_note(None) is None
    assert checked_source(" https://example.org/é?q=1#a ") == "https://example.org/é?q=1#a"
    with pytest.raises(InputError, match="has 1,001 characters; shorten it to 1,000"):
        checked_note("x" * 1001)
    with pytest.raises(InputError, match="at most 2,000"):
        checked_source("https://example.org/" + "x" * 2000)
    for bad in (
        "javascript:alert(1)", "file:///etc/passwd", "example.org", "http://", "https://a b/", "http://[",
        "https://ann:secret@example.org/", 'https://example.org/"onload=', "https://example.org/\x1b[31m",
    ):  # fmt: skip
        with pytest.raises(InputError, match="is not the address of a web page"):
            checked_source(bad)

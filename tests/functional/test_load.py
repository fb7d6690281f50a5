"""Many annotators at once, and a server that is killed under them."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from rdf_kgeval.verdicts.log import Verdict, read_log, standing
from tests.evaluation.test_exchange import kgeval
from tests.support.annotators import Seen, Served, crowd, start


def big_run(folder: Path, size: int) -> Path:
    lines = (f"<http://e/s{i // 3}> <http://e/p{i % 7}> <http://e/o{i % 1009}> .\n" for i in range(size))
    (folder / "kg.nt").write_text("".join(lines))
    kgeval("init", folder / "run", folder / "kg.nt")
    return folder / "run"


async def killed_once(
    served: Served, again: list[Served], options: tuple[str, ...], run: Path, wait: float
) -> None:
    await asyncio.sleep(wait)
    served.kill()
    start_again = asyncio.to_thread(start, run, *options, port=served.port)
    again.append(await start_again)


def work(run: Path, people: int, seconds: float, think: float, *options: str) -> Seen:
    """Annotators at work on a server that is killed in the middle; what was acknowledged is in the log."""
    names = [f"a{i}" for i in range(people)]
    options = (*(x for name in names for x in ("--annotator", name)), *options)
    served = start(run, *options)
    again: list[Served] = []

    async def all_() -> Seen:
        killing = asyncio.create_task(killed_once(served, again, options, run, seconds / 2))
        seen = await crowd(served, names, seconds, think)
        await killing
        return seen

    try:
        seen = asyncio.run(all_())
    finally:
        served.kill()
        for server in again:
            server.kill()
    check(run, seen, people)
    return seen


def check(run: Path, seen: Seen, people: int) -> None:
    log = read_log(run / "verdicts.jsonl")
    written = Counter((r.annotator, r.belief, str(r.answer)) for r in log if isinstance(r, Verdict))
    told = Counter(seen.told)
    assert seen.errors == 0
    assert not told - written, "an acknowledged answer is lost"
    # What was written but not acknowledged was on its way when the server was killed: one for each person.
    assert sum((written - told).values()) <= people
    final = standing(log)
    assert len(final) == len({verdict.belief for verdict in final}), "two people judged the same belief"
    taken_back = Counter((r.annotator, r.retract) for r in log if not isinstance(r, Verdict))
    assert not Counter(seen.undone) - taken_back
    repeated = Counter((r.annotator, r.belief) for r in log if isinstance(r, Verdict))
    assert all(n <= 1 + taken_back[key] for key, n in repeated.items()), "an answer counted twice"


def test_annotators_at_work_while_the_server_is_killed(tmp_path: Path) -> None:
    seen = work(big_run(tmp_path, 5000), 12, 8.0, 0.05, "--policy", "srs", "--margin", "0.005")
    assert len(seen.told) > 50


@pytest.mark.stress
def test_fifty_annotators_for_a_minute(tmp_path: Path) -> None:
    seen = work(big_run(tmp_path, 100_000), 50, 60.0, 0.25, "--policy", "srs", "--margin", "0.002")
    assert len(seen.told) > 1000

"""The desk: leases, budgets, and a log that cannot be written."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from rdf_kgeval.errors import RunError
from rdf_kgeval.evaluation.procedure import Request
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.pipeline import Evaluation
from rdf_kgeval.verdicts.log import Answer, LogRecord
from rdf_kgeval.web import desk as desk_module
from rdf_kgeval.web.desk import Desk
from rdf_kgeval.web.people import Person
from tests.evaluation.test_policies import chain

RANDOM = Settings().changed(policy="random", seed_size=2)
SRS = Settings(policy="srs", estimator="wilson")
T = Answer.TRUE


class Log:
    """A log in memory that can be made to fail."""

    def __init__(self) -> None:
        self.batches: list[tuple[LogRecord, ...]] = []
        self.broken = False

    @property
    def records(self) -> list[LogRecord]:
        return [record for batch in self.batches for record in batch]

    def append(self, *records: LogRecord) -> None:
        if self.broken:
            raise RunError("the disk is full")
        self.batches.append(records)


def work(
    how: Settings,
    people: list[Person],
    script: Callable[[Desk, Log], Awaitable[None]],
    size: int = 30,
    make: type[Evaluation] = Evaluation,
) -> Evaluation:
    """Run a script against a desk; the evaluation after it."""
    log = Log()
    evaluation = make(chain(size), how, append=log.append)

    async def main() -> None:
        desk = Desk(evaluation, people)
        running = asyncio.create_task(desk.run())
        await desk.ready()
        try:
            await script(desk, log)
        finally:
            running.cancel()
            await asyncio.wait([running])

    asyncio.run(main())
    assert evaluation.n_verdicts == Evaluation(chain(size), how, log.records).n_verdicts
    return evaluation


async def answer(desk: Desk, name: str, said: Answer = T) -> str | None:
    card = await desk.show(name)
    if card is None:  # the next beliefs may still be thought of
        await desk.ready()
        card = await desk.show(name)
    if card:
        assert await desk.answer(name, card.belief, desk.people[name].turn, said)
    return card.belief if card else None


def test_a_budget_is_not_exceeded_and_skipped_beliefs_keep_their_part_of_it() -> None:
    async def script(desk: Desk, log: Log) -> None:
        first = await desk.show("ann")
        assert first
        desk.skip("ann", first.belief, 0)
        done = [await answer(desk, name) for _ in range(2) for name in ("ann", "bob")]
        assert first.belief in done  # bob got it
        again = await desk.show("ann")
        assert again
        desk.skip("ann", again.belief, desk.people["ann"].turn)
        await desk.show("bob")
        assert desk.people["bob"].asked
        desk.skip("bob", again.belief, desk.people["bob"].turn)
        for _ in range(9):
            for name in ("ann", "bob"):
                await desk.ready()
                done.append(await answer(desk, name))
        assert len([belief for belief in done if belief]) == 5
        assert again.belief in done

    evaluation = work(SRS.changed(budget=5, margin=None), [Person("ann"), Person("bob")], script)
    assert evaluation.stopped == "budget"
    order = Evaluation(chain(30), SRS.changed(budget=5, margin=None)).next(5)
    assert set(evaluation.asked.tolist()) == {request.position for request in order}


def test_answers_at_the_same_time_share_a_write_and_each_belief_has_one_reader() -> None:
    people = [Person(f"p{i}") for i in range(20)]

    async def script(desk: Desk, log: Log) -> None:
        cards = [await desk.show(person.name) for person in people]
        assert len({card.belief for card in cards if card}) == 20
        await asyncio.gather(*(answer(desk, person.name) for person in people))
        assert len(log.records) == 20
        assert len(log.batches) < 10

    work(SRS, people, script)


def test_an_answer_that_cannot_be_written_is_said_and_may_be_given_again() -> None:
    async def script(desk: Desk, log: Log) -> None:
        card = await desk.show("ann")
        assert card
        log.broken = True
        with pytest.raises(RunError, match="disk is full"):
            await desk.answer("ann", card.belief, 0, T)
        assert await desk.show("ann") == card
        log.broken = False
        assert await desk.answer("ann", card.belief, 0, T)
        assert not await desk.answer("ann", card.belief, 0, T)
        assert len(log.records) == 1

    work(SRS, [Person("ann")], script)


def test_a_belief_that_nobody_answers_goes_to_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(desk: Desk, log: Log) -> None:
        gone = await desk.show("ann")
        assert gone
        monkeypatch.setattr(desk_module, "LEASE", -1.0)
        taken = await desk.show("bob")
        assert taken == gone
        monkeypatch.setattr(desk_module, "LEASE", 600.0)
        assert await desk.answer("bob", gone.belief, 0, T)
        assert not await desk.answer("ann", gone.belief, 0, T)  # too late
        assert len(log.records) == 1

    work(SRS, [Person("ann"), Person("bob")], script)


def test_with_redundancy_a_belief_is_shown_to_as_many_as_asked_and_to_nobody_twice() -> None:
    people = [Person(name) for name in ("ann", "bob", "cid")]

    async def script(desk: Desk, log: Log) -> None:
        for _ in range(10):
            for person in people:
                await answer(desk, person.name)
        pairs = [(record.annotator, getattr(record, "belief", "")) for record in log.records]
        assert len(set(pairs)) == len(pairs) == 30

    evaluation = work(SRS.changed(redundancy=2), people, script)
    assert len(evaluation.findings) >= 13


def test_more_redundancy_than_people_is_as_much_as_there_are() -> None:
    async def script(desk: Desk, log: Log) -> None:
        for _ in range(3):
            for name in ("ann", "bob"):
                await answer(desk, name)

    evaluation = work(SRS.changed(redundancy=5), [Person("ann"), Person("bob")], script)
    assert len(evaluation.findings) == 3


class Slow(Evaluation):
    """An evaluation that thinks for a while, and names one belief at a time."""

    def next(self, k: int = 1, *arguments: Any, **named: Any) -> list[Request]:
        time.sleep(0.2)
        return super().next(1, *arguments, **named)


@pytest.mark.parametrize("how", [SRS.changed(margin=None, budget=6), RANDOM.changed(budget=6)])
def test_who_is_alone_never_sees_an_empty_page_before_the_end(how: Settings) -> None:
    async def script(desk: Desk, log: Log) -> None:
        for turn in range(6):
            card = await desk.show("ann")
            assert card, f"nothing to judge after {turn} answers"
            assert await desk.answer("ann", card.belief, turn, T)

    work(how, [Person("ann")], script, make=Slow)


def test_the_page_knows_how_far_one_is() -> None:
    how = Settings(policy="srs", estimator="wilson", margin=0.2)

    async def script(desk: Desk, log: Log) -> None:
        before = desk.status.goal
        assert before
        assert str(before) == "about 30"
        for _ in range(4):
            await answer(desk, "ann")
        await desk.ready()
        assert desk.status.goal == before

    work(how, [Person("ann")], script, size=300)

"""Share beliefs out among people, and take their answers.

Everything here runs on the event loop but for two kinds of work, each on a thread of its own: writing to the
verdict log, and thinking (the evaluation takes answers in and names the next beliefs). An answer is
acknowledged when it is on disk; answers that come at the same time share one write. The next belief is ready
before it is wanted, so nobody waits for thinking.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from typing import NamedTuple

from rdf_kgeval.errors import RunError
from rdf_kgeval.evaluation.procedure import Request
from rdf_kgeval.evaluation.state import State
from rdf_kgeval.verdicts.log import (
    AMBIGUOUS,
    Answer,
    Judgement,
    LogRecord,
    Retraction,
    Verdict,
    belief_of,
    now,
)
from rdf_kgeval.web.cards import Card, make_card
from rdf_kgeval.web.people import OpenBelief, Person, Status, Thought

LEASE = 600.0
"""Seconds without an answer after which a belief may be shown to somebody else."""
SPARE = 8
"""Beliefs kept ready besides two for each person."""
PATIENCE = 0.05
"""Seconds that a person may wait for control to look at the last answer before it picks."""
LONGEST_THOUGHT = 20.0
"""Seconds that a person may wait for the next beliefs to be chosen before the page says so."""


class Desk:
    """Shares the beliefs out among people.

    Args:
        evaluation: takes the answers in; nobody else may use it meanwhile.
        people: annotators and experts by name.
    """

    def __init__(self, evaluation: State, people: Iterable[Person]) -> None:
        self._evaluation = evaluation
        self._card = lru_cache(maxsize=4096)(partial(make_card, evaluation))
        self.people = {person.name: person for person in people}
        self._experts = any(person.expert for person in self.people.values())
        self._annotators = sum(not person.expert for person in self.people.values())
        self._open: dict[str, OpenBelief] = {}
        self._undecided: dict[str, OpenBelief] = {}
        self._unwritten: list[_Unwritten] = []
        self._answers: set[tuple[str, str]] = set()
        self._to_write, self._to_think, self._at_rest = (asyncio.Event() for _ in range(3))
        self._to_think.set()
        self.status = Status()
        self.records: list[LogRecord] = []
        """Everything that is on disk."""
        for record in evaluation.records:
            self._count(record)
        self._taken = len(self.records)
        """Number of them that the evaluation has taken in."""

    async def run(self) -> None:
        """Write and think until cancelled; then take in what is on disk."""
        writer, thinker = (ThreadPoolExecutor(1, thread_name_prefix=name) for name in ("write", "think"))
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._write(writer))
                tasks.create_task(self._think(thinker))
        finally:
            writer.shutdown()
            thinker.shutdown()
            self._evaluation.take(*self.records[self._taken :])

    async def ready(self) -> None:
        """Wait until there is something to show."""
        await self._at_rest.wait()

    async def show(self, name: str) -> Card | None:
        """Return the belief for a person to judge; None where there is none now."""
        person = self.people[name]
        if person.asked is None and not self._evaluation.sampled:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._at_rest.wait(), PATIENCE)
        if person.asked is None and not person.writing:
            self._hand_out(person)
        if person.asked is None and not person.writing and not self._at_rest.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._at_rest.wait(), LONGEST_THOUGHT)
            if person.asked is None and not person.writing:
                self._hand_out(person)
        return person.asked.card if person.asked else None

    async def answer(self, name: str, belief: str, turn: int, answer: Answer | Judgement) -> bool:
        """Take an answer; when this returns, it is on disk.

        Returns:
            Whether it counted: one that was given before, or on a belief that somebody else judged meanwhile,
            does not.

        Raises:
            InputError: its note or source is none.
            RunError: it cannot be written.
        """
        person = self.people[name]
        if person.writing or turn != person.turn:
            return False
        open_ = self._claim(person, belief)
        if open_ is None:
            return False
        verdict = self._evaluation.verdict(open_.request, answer, name, expert=person.expert)

        def finish() -> None:
            open_.said.add(name)
            self._release(person)

        await self._log(person, verdict, finish)
        return True

    async def undo(self, name: str, turn: int) -> bool:
        """Retract the person's last answer and show that belief again. Returns whether there was one.

        Raises:
            RunError: it cannot be written.
        """
        person = self.people[name]
        if person.writing or turn != person.turn or not person.answered:
            return False
        belief, verdict = next(reversed(person.answered.items()))

        def finish() -> None:
            self._release(person)
            again = self._open.setdefault(belief, self._again(verdict))
            again.said.discard(name)
            self._hold(person, again)

        await self._log(person, Retraction(retract=belief, annotator=name, time=now()), finish)
        return True

    def skip(self, name: str, belief: str, turn: int) -> None:
        """Leave a belief to others; where there are none, it comes back."""
        person = self.people[name]
        if turn == person.turn and person.asked and person.asked.card.belief == belief and not person.writing:
            person.skipped.add(person.asked.request.position)
            self._release(person)
            self._wake()

    @property
    def answers(self) -> int:
        """Count the answers that stand, also those that thinking has not taken in yet."""
        return len(self._answers)

    @property
    def thinking(self) -> bool:
        """Return whether the next beliefs are being chosen."""
        return not self._at_rest.is_set()

    @property
    def waiting(self) -> int:
        """Count the beliefs that wait for an expert."""
        return len(self._undecided)

    def _hand_out(self, person: Person) -> None:
        """Give a person a belief, if there is one; skipped ones only when all else is done."""
        for other in self.people.values():
            if other.asked and not other.writing and time.monotonic() - other.since > LEASE:
                self._release(other)
        for open_ in self._offered(person):
            if open_.request.position not in person.skipped:
                self._hold(person, open_)
                return
        if self._at_rest.is_set():
            person.skipped.clear()
            if again := next(self._offered(person), None):
                self._hold(person, again)

    def _offered(self, person: Person) -> Iterator[OpenBelief]:
        """List what a person may judge: what others could not decide, then in the order of the draws."""
        if person.expert or not (self._experts or self.status.stopped):
            for open_ in self._undecided.values():
                if person.name not in open_.said and not open_.held:
                    yield open_
        if person.expert or self.status.stopped:
            return
        # What somebody skipped keeps its part of the budget: hard beliefs must not drop out of the sample.
        budget = self._evaluation.settings.budget
        passed = {position for other in self.people.values() for position in other.skipped}
        kept = {o for o in self._open.values() if o.begun or o.request.position in passed}
        out = sum(open_.missing for open_ in kept)
        for open_ in self._open.values():
            needed = 0 if open_ in kept else open_.missing
            if (
                open_.missing > len(open_.held)
                and person.name not in open_.said | open_.held
                and (budget is None or len(self._answers) + out + needed <= budget)
            ):
                yield open_

    def _hold(self, person: Person, open_: OpenBelief) -> None:
        person.asked, person.since = open_, time.monotonic()
        open_.held.add(person.name)
        self._open[open_.card.belief] = open_
        self._undecided.pop(open_.card.belief, None)
        if sum(not other.begun for other in self._open.values()) < SPARE:
            self._wake()

    def _release(self, person: Person) -> None:
        open_, person.asked = person.asked, None
        if open_:
            open_.held.discard(person.name)
            # With all its answers, a belief is here no more; thinking tells if it is undecided.
            if not open_.held and (not open_.missing or (person.expert and person.name in open_.said)):
                self._open.pop(open_.card.belief, None)

    def _claim(self, person: Person, belief: str) -> OpenBelief | None:
        """Return the belief if the person holds it, or may: after a restart, or when a lease ran out."""
        if person.asked is None:
            open_ = next((o for o in self._offered(person) if o.card.belief == belief), None)
            if open_:
                self._hold(person, open_)
        return person.asked if person.asked and person.asked.card.belief == belief else None

    def _again(self, verdict: Verdict) -> OpenBelief:
        """Open a belief again that was judged."""
        position = self._evaluation.position(verdict.belief)
        request = Request.of(verdict, position, self._evaluation.settings.redundancy)
        said = {p.name for p in self.people.values() if verdict.belief in p.answered}
        return OpenBelief(request, self._card(position), said)

    async def _log(self, person: Person, record: LogRecord, finish: Callable[[], None]) -> None:
        """Have a record written and then finish, even if the request was cancelled."""
        item = _Unwritten(person, record, finish, asyncio.get_running_loop().create_future())
        person.writing = True
        self._unwritten.append(item)
        self._to_write.set()
        await asyncio.shield(item.done)

    async def _write(self, writer: ThreadPoolExecutor) -> None:
        loop = asyncio.get_running_loop()
        while await self._to_write.wait():
            self._to_write.clear()
            batch, self._unwritten = self._unwritten, []
            records = [item.record for item in batch]
            trouble = await loop.run_in_executor(writer, self._try_to_write, records)
            for item in batch:
                item.person.writing = False
                if trouble:
                    item.done.set_exception(trouble)
                    continue
                self._count(item.record)
                item.finish()
                item.done.set_result(None)
            self._wake()

    def _try_to_write(self, records: list[LogRecord]) -> RunError | None:
        try:
            self._evaluation.write(*records)
        except RunError as error:
            return error
        return None

    def _count(self, record: LogRecord) -> None:
        """Note a record, and whose it is."""
        belief, name = belief_of(record), record.annotator
        self.records.append(record)
        self._answers.discard((belief, name))
        if isinstance(record, Verdict):
            self._answers.add((belief, name))
        if person := self.people.get(name):
            person.turn += 1
            person.answered.pop(belief, None)
            if isinstance(record, Verdict):
                person.answered[belief] = record

    def _wake(self) -> None:
        """Let thinking begin, or begin again."""
        self._at_rest.clear()
        self._to_think.set()

    async def _think(self, thinker: ThreadPoolExecutor) -> None:
        loop = asyncio.get_running_loop()
        while await self._to_think.wait():
            self._to_think.clear()
            known = len(self.records)
            out = {o.request.position: o.missing for o in self._open.values() if o.begun}
            thought = await loop.run_in_executor(thinker, self._consider, known, out)
            self._accept(thought, known)
            if not self._to_think.is_set():
                self._at_rest.set()

    def _consider(self, known: int, out: dict[int, int]) -> Thought:
        evaluation = self._evaluation
        evaluation.take(*self.records[self._taken : known])
        self._taken = known
        stopped = evaluation.stopped
        requests = evaluation.next(2 * len(self.people) + SPARE, out)
        fresh = [self._opened(request) for request in requests]
        undecided = [
            self._opened(self._request(position))
            for position, found in evaluation.findings.items()
            if found.outcome == AMBIGUOUS and position not in out
        ]
        settings = evaluation.settings
        status = Status(
            goal=evaluation.goal,
            estimate=evaluation.estimate(),
            level=settings.level,
            stopped=stopped,
            sampled=evaluation.sampled,
            starved=not requests and not out and bool(evaluation.short),
        )
        return Thought(fresh, undecided, status)

    def _request(self, position: int) -> Request:
        first = next(iter(self._evaluation.opinions_on(position).values()))
        return Request.of(first, position, self._evaluation.settings.redundancy)

    def _opened(self, request: Request) -> OpenBelief:
        said = set(self._evaluation.opinions_on(request.position))
        return OpenBelief(request, self._card(request.position), said)

    def _accept(self, thought: Thought, known: int) -> None:
        self.status = thought.status
        # What was answered while thinking went on is for the next thought.
        stale = {belief_of(record) for record in self.records[known:]}
        self._open = {belief: open_ for belief, open_ in self._open.items() if open_.begun}
        for open_ in thought.fresh:
            if open_.card.belief not in stale:
                open_.request = _capped(open_.request, self._annotators)
                self._open.setdefault(open_.card.belief, open_)
        self._undecided = {
            open_.card.belief: open_
            for open_ in thought.undecided
            if open_.card.belief not in stale and open_.card.belief not in self._open
        }


class _Unwritten(NamedTuple):
    person: Person
    record: LogRecord
    finish: Callable[[], None]
    done: "asyncio.Future[None]"


def _capped(request: Request, annotators: int) -> Request:
    """Ask for no more annotators than there are."""
    return replace(request, workers=min(request.workers, max(annotators, 1)))

"""Make the overview of the dashboard, on another thread and with another evaluation than the desk's."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rdf_kgeval.evaluation.state import State
from rdf_kgeval.publishing.report.charts import Bar, bars, course, shares
from rdf_kgeval.web.cards import shown
from rdf_kgeval.web.desk import Desk

POINTS = 200
"""Points of the course of the estimate."""
PREDICATES = 20
"""Predicates with a bar, those with most beliefs."""


class Overview:
    """Follows the log at its own pace, so that looking never delays the next belief.

    Args:
        make: makes an evaluation without verdicts.
    """

    def __init__(self, make: Callable[[], State]) -> None:
        self._make = make
        self._evaluation: State | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="overview")
        self._taken = 0
        self._lock = asyncio.Lock()
        self._values: dict[str, Any] = {}

    async def values(self, desk: Desk) -> dict[str, Any]:
        """Return what the dashboard shows, by the names in its template."""
        async with self._lock:
            seen = len(desk.records)
            if self._taken != seen or not self._values:
                loop = asyncio.get_running_loop()
                self._values = await loop.run_in_executor(self._thread, self._look, desk, seen)
            busy = {person.name for person in desk.people.values() if person.asked}
            return {
                **self._values,
                "seen": f"{seen}-{len(busy)}-{desk.waiting}",
                "people": list(desk.people.values()),
                "busy": busy,
                "waiting": desk.waiting,
            }

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(cancel_futures=True)

    def _look(self, desk: Desk, seen: int) -> dict[str, Any]:
        evaluation = self._evaluation = self._evaluation or self._make()
        evaluation.take(*desk.records[self._taken : seen])
        self._taken = seen
        result = evaluation.result()
        names = evaluation.names
        terms = evaluation.graph.beliefs.terms
        predicates = []
        for address, entry in list(result.by_predicate.items())[:PREDICATES]:
            number = terms.find(f"<{address}>")
            name = shown(address if number is None else names.of(number)).text
            accuracy = entry.accuracy if entry.known else None
            predicates.append(Bar(name, accuracy, entry.interval, entry.asked))
        beliefs, asked, inferred = result.beliefs, result.asked, result.inferred
        return {
            "result": result,
            "sampled": evaluation.sampled,
            "settings": evaluation.settings,
            "verdicts": evaluation.n_verdicts,
            "hours": evaluation.cost / 3600,
            "course": course(evaluation.trace(POINTS), result.interval),
            "bars": bars(predicates),
            "more": max(len(result.by_predicate) - PREDICATES, 0),
            "shares": shares({"asked": asked, "inferred": inferred, "open": beliefs - asked - inferred}),
            "annotators": evaluation.annotators(),
            "agreement": evaluation.agreement,
            "note": evaluation.note,
        }

"""Keep the ledger of verdicts: everybody's last answer on each belief, and the label that they give it."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from rdf_kgeval.verdicts.aggregation import AGGREGATORS, Aggregator
from rdf_kgeval.verdicts.log import AMBIGUOUS, FALSE, TRUE, Answer, Drawn, LogRecord, Verdict
from rdf_kgeval.verdicts.votes import Votes, agreement, dawid_skene, majority


class Finding(NamedTuple):
    """The label that its answers give a belief."""

    outcome: int
    """TRUE, FALSE or AMBIGUOUS."""
    truth: float
    """The probability that the belief is true by these answers alone; 1 or 0 where they are taken as sure."""
    chance: float
    """The same probability, given the share of true beliefs."""
    drawn: Drawn
    """How the belief was drawn, by its oldest answer."""


class Changes(NamedTuple):
    """Beliefs whose answers changed since the last time, by position."""

    gone: set[int]
    """Those that lost an answer which they need, even if they have all again."""
    changed: set[int]
    """Others that had all the answers that they need, and still have."""
    fresh: list[int]
    """Those that now have all the answers that they need, in the order in which they got them."""


class Ledger:
    """Keeps the records of the log, and of them each annotator's last answer on each belief.

    With one answer to a belief, annotators are taken at their word. With several, answers are aggregated to a
    probability. An expert's answer decides a belief.
    """

    def __init__(self, redundancy: int, aggregator: str, *, weighed: bool) -> None:
        """Start without answers.

        Args:
            redundancy: answers that a belief needs where its verdicts do not say.
            aggregator: a name of `AGGREGATORS`.
            weighed: whether the aggregator weighs answers, or they are taken as sure.
        """
        self._redundancy = redundancy
        self._aggregate: Aggregator = AGGREGATORS[aggregator].load()
        self._weighed = weighed
        self.records: list[LogRecord] = []
        """All records, in order."""
        self.said: dict[int, dict[str, Verdict]] = {}
        """The last answers, by position and annotator."""
        self.n_verdicts = 0
        self._complete: dict[int, None] = {}
        self._gone: set[int] = set()
        self._changed: set[int] = set()
        self._fresh: dict[int, None] = {}
        self._findings: dict[int, Finding] = {}

    def take(self, record: LogRecord, position: int) -> None:
        """Enter an answer, which replaces the annotator's earlier one, or its retraction."""
        self.records.append(record)
        said = self.said.setdefault(position, {})
        self.n_verdicts -= said.pop(record.annotator, None) is not None
        if isinstance(record, Verdict):
            said[record.annotator] = record
            self.n_verdicts += 1
        if not said:
            del self.said[position]
        if position not in self._complete:
            if not self.missing(position):
                self._complete[position] = self._fresh[position] = None
        elif self.missing(position):
            del self._complete[position]
            self._changed.discard(position)
            if position in self._fresh:
                del self._fresh[position]
            else:
                self._gone.add(position)
        else:
            self._changed.add(position)

    def last(self, annotator: str) -> Verdict | None:
        """Return the annotator's last answer that was not taken back."""
        standing = {id(verdict) for said in self.said.values() for verdict in said.values()}
        for record in reversed(self.records):
            if record.annotator == annotator and isinstance(record, Verdict) and id(record) in standing:
                return record
        return None

    def missing(self, position: int) -> int:
        """Count the answers that the belief still needs."""
        said = self.said.get(position, {}).values()
        if any(verdict.expert for verdict in said):
            return 0
        needed = max((verdict.workers or self._redundancy for verdict in said), default=self._redundancy)
        return max(needed - len(said), 0)

    def settle(self) -> Changes:
        """Return what changed since the last time, and bring findings up to it."""
        changes = Changes(self._gone, self._changed - self._fresh.keys(), list(self._fresh))
        if any(changes):
            self._gone, self._changed, self._fresh = set(), set(), {}
            if self._weighed:
                before, self._findings = self._findings, self._weigh()
                moved = {p for p, found in self._findings.items() if p in before and before[p] != found}
                return changes._replace(changed=(changes.changed | moved) - changes.gone)
        return changes

    @property
    def complete(self) -> list[int]:
        """List the beliefs that have all the answers that they need, in the order in which they got them."""
        return list(self._complete)

    def finding(self, position: int) -> Finding:
        """Return the finding on a belief that has all the answers that it needs."""
        return self._findings[position] if self._weighed else self._count(position)

    def _count(self, position: int) -> Finding:
        """Let experts decide, else the majority; a tie, or no sure answer, is ambiguous."""
        said = list(self.said[position].values())
        drawn = said[0].drawn
        heard = [verdict for verdict in said if verdict.expert] or said
        answers = [verdict.answer for verdict in heard if verdict.answer is not Answer.AMBIGUOUS]
        true = answers.count(Answer.TRUE)
        if 2 * true == len(answers):
            return Finding(AMBIGUOUS, 0.5, 0.5, drawn)
        outcome = majority(true, len(answers))
        return Finding(outcome, float(outcome), float(outcome), drawn)

    def _weigh(self) -> dict[int, Finding]:
        found = {position: self._count(position) for position in self._complete}
        votes, positions, _ = self._votes(self._complete)
        if len(votes.task):
            aggregate = self._aggregate(votes)
            # Rounded, so that a tiny change does not start the method anew; and never quite sure.
            truth = np.clip(aggregate.truth.round(2), 0.01, 0.99).tolist()
            chance = aggregate.posterior.round(4).tolist()
            for number, position in enumerate(positions):
                if position in found and not any(v.expert for v in self.said[position].values()):
                    outcome = TRUE if truth[number] > 0.5 else FALSE
                    outcome = outcome if aggregate.decided[number] else AMBIGUOUS
                    drawn = found[position].drawn
                    found[position] = Finding(outcome, truth[number], chance[number], drawn)
        return found

    def _votes(self, chosen: Iterable[int]) -> tuple[Votes, list[int], list[str]]:
        """Return the sure answers on some beliefs, and the positions and names by their numbers in them."""
        rows = [
            (position, name, verdict.answer is Answer.TRUE)
            for position in chosen
            for name, verdict in self.said[position].items()
            if verdict.answer is not Answer.AMBIGUOUS
        ]
        positions = list(dict.fromkeys(position for position, _, _ in rows))
        names = sorted({name for _, name, _ in rows})
        task = {position: number for number, position in enumerate(positions)}
        worker = {name: number for number, name in enumerate(names)}
        votes = Votes(
            np.array([task[position] for position, _, _ in rows], np.int64),
            np.array([worker[name] for _, name, _ in rows], np.int64),
            np.array([true for _, _, true in rows], np.float64),
        )
        return votes, positions, names

    def agreement(self) -> float | None:
        """Compute Krippendorff's alpha over true, false and ambiguous; None without shared beliefs."""
        number = {answer: i for i, answer in enumerate(Answer)}
        pairs = [
            (task, number[verdict.answer])
            for task, said in enumerate(self.said.values())
            for verdict in said.values()
        ]
        task, value = (
            np.array(column, np.int64) for column in (zip(*pairs, strict=True) if pairs else ((), ()))
        )
        return agreement(task, value)

    def annotators(self) -> dict[str, dict[str, float | int | None]]:
        """Return by name: answers, ambiguous ones, and the accuracy that agreement with others suggests."""
        found: dict[str, dict[str, float | int | None]] = {}
        shared: set[str] = set()
        for said in self.said.values():
            for name, verdict in said.items():
                entry = found.setdefault(name, {"answers": 0, "ambiguous": 0, "accuracy": None})
                entry["answers"] = (entry["answers"] or 0) + 1
                entry["ambiguous"] = (entry["ambiguous"] or 0) + (verdict.answer is Answer.AMBIGUOUS)
                if len(said) > 1:
                    shared.add(name)
        votes, _, names = self._votes(self.said)
        if shared:
            for name, accuracy in zip(names, dawid_skene(votes).accuracy, strict=True):
                if name in shared:
                    found[name]["accuracy"] = float(accuracy)
        return dict(sorted(found.items()))

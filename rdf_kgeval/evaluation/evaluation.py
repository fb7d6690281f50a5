"""Evaluation: a coupling graph and a verdict log, what to ask next, when to stop, and what is known.

Everything is a pure function of the graph, the settings and the log: resuming is replaying.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from rdf_kgeval.beliefs.table import Ints
from rdf_kgeval.beliefs.terms import iri
from rdf_kgeval.coupling.graph import CouplingGraph
from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.asking import Asking
from rdf_kgeval.evaluation.policies import Labels
from rdf_kgeval.evaluation.procedure import Estimated
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.inference.infer import Inference, infer_rows
from rdf_kgeval.inference.lookahead import Progress
from rdf_kgeval.inference.rule_weights import updated_thetas
from rdf_kgeval.verdicts.log import AMBIGUOUS, TRUE, Answer, Drawn, Record
from rdf_kgeval.verdicts.oracles import Oracle, Wish


class Evaluation(Asking):
    """What people said so far, and what follows from it.

    Beliefs are named by their position in `graph.beliefs.rows`.
    """

    def _take(self, record: Record, position: int) -> None:
        super()._take(record, position)
        self.__dict__.pop("inference", None)

    @property
    def accuracy(self) -> float | None:
        """The estimated share of true beliefs; None before anything is known."""
        return self.estimate().accuracy

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the accuracy lies at the level asked for.

        None for methods that cannot stand for one, and before the end where looking would spoil it.
        """
        return self.estimate().interval

    def estimate(self) -> Estimated:
        """Accuracy and interval."""
        return self._procedure.estimate(final=self.stopped is not None)

    @cached_property
    def inference(self) -> Inference:
        """What follows from all verdicts, with the rules' confidences as the seed set left them."""
        return self.infer()

    def infer(self, more: Mapping[int, float] | None = None, *, relearn: bool = False) -> Inference:
        """What follows from all verdicts.

        Args:
            more: further verdicts by row.
            relearn: learn the rules' confidences from all of them, not only from the seed set.
        """
        known = {**self.known(), **(more or {})}
        thetas = self._procedure.thetas
        if relearn:
            labels = {row: float(round(truth)) for row, truth in known.items()}
            thetas = updated_thetas(self.graph, labels, self._at_random())
        return infer_rows(self.graph, known, thetas, solve=self._solve)

    def known(self) -> dict[int, float]:
        """By row, what people decided: 1 or 0, or the probability that it is true where they are weighed."""
        rows = self.graph.beliefs.rows
        return {int(rows[i]): found.truth for i, found in self.findings.items() if found.outcome != AMBIGUOUS}

    def _at_random(self) -> list[float] | None:
        """Sure answers on beliefs that were drawn at random; None where there are none."""
        drawn = [
            float(found.outcome == TRUE)
            for found in self.findings.values()
            if found.drawn is not Drawn.CONTROL and found.outcome != AMBIGUOUS
        ]
        return drawn or None

    def label(self) -> Labels:
        """By position: 1 true, 0 false, -1 unknown, by inference from all verdicts."""
        return self.inference.label()

    def labels(self) -> dict[str, bool]:
        """By belief id, every label that is not unknown."""
        return self.inference.labels()

    def by_predicate(self) -> dict[str, dict[str, Any]]:
        """By IRI, most beliefs first: beliefs, asked, inferred, accuracy and interval."""
        names, group = self.predicates
        size = len(names)
        asked = np.zeros(len(group), np.bool_)
        asked[self.asked] = True
        inferred = (self.label() >= 0) & ~asked
        count = self.graph.beliefs.population()
        found = self._procedure.estimate_groups(group, final=self.stopped is not None)
        found += [Estimated(None, None)] * (size - len(found))
        return {
            names[g]: {
                "beliefs": count[names[g]],
                "asked": int(asked[group == g].sum()),
                "inferred": int(inferred[group == g].sum()),
                "accuracy": found[g].accuracy,
                "interval": found[g].interval,
            }
            for g in range(size)
        }

    def estimate_of(self, rows: Iterable[int]) -> dict[str, Any]:
        """Beliefs, asked, accuracy and interval of those among the rows that are to be evaluated."""
        inside = np.isin(self.graph.beliefs.rows, list(rows))
        group = np.where(inside, 0, -1).astype(np.int32)
        found = Estimated(None, None)
        if inside.any():
            (found,) = self._procedure.estimate_groups(group, final=self.stopped is not None)
        asked = int(inside[self.asked].sum())
        size = round(float(self.graph.beliefs.weights[inside].sum()))
        return {"beliefs": size, "asked": asked, **found._asdict()}

    def by_class(self) -> dict[str, dict[str, Any]]:
        """By IRI of each class in the graph, most beliefs first: the beliefs about its instances."""
        beliefs = self.graph.beliefs
        found = {
            iri(beliefs.terms[class_]): self.estimate_of(
                np.flatnonzero(np.isin(beliefs.s, instances)).tolist()
            )
            for class_, instances in beliefs.instances().items()
        }
        chosen = [(name, entry) for name, entry in found.items() if entry["beliefs"]]
        return dict(sorted(chosen, key=lambda pair: (-pair[1]["beliefs"], pair[0])))

    @cached_property
    def predicates(self) -> tuple[list[str], Ints]:
        """The predicates' IRIs, most beliefs first, and each belief's number among them."""
        beliefs = self.graph.beliefs
        names = list(beliefs.population())
        number = {name: g for g, name in enumerate(names)}
        terms, at = np.unique(beliefs.p[beliefs.rows], return_inverse=True)
        group = np.array([number[iri(beliefs.terms[int(term)])] for term in terms], dtype=np.int32)
        return names, group[at]

    def to_json(self) -> dict[str, Any]:
        """The result, as `kgeval evaluate --json` prints it, without the seconds that it took."""
        by_predicate = self.by_predicate()
        accuracy, interval = self.estimate()
        return {
            "accuracy": accuracy,
            "interval": interval,
            "level": self.settings.level,
            "margin": self.settings.margin,
            "beliefs": self.graph.beliefs.n_population,
            "asked": len(self.findings),
            "inferred": sum(entry["inferred"] for entry in by_predicate.values()),
            "policy": self.settings.policy,
            "estimator": self.settings.estimator,
            "seed": self.settings.seed,
            "stopped": self.stopped,
            "by_predicate": by_predicate,
        }


def consult(
    evaluation: Evaluation,
    oracle: Oracle,
    *,
    progress: Progress | None = None,
    told: Callable[[Evaluation], None] = lambda _: None,
) -> bool:
    """Ask the oracle until the evaluation stops or the oracle quits.

    Args:
        evaluation: takes the answers.
        oracle: gives them.
        progress: called while a policy looks ahead.
        told: called after each answer.

    Returns:
        Whether the evaluation stopped, rather than the oracle.
    """
    skipped: list[int] = []
    while not evaluation.stopped:
        requests = evaluation.next(1, [*skipped, *evaluation.waiting(oracle.annotator)], progress)
        if not requests:
            if not skipped:
                break
            skipped = []
            continue
        answer = oracle.ask(evaluation.question(requests[0].position))
        if answer is Wish.QUIT:
            return False
        if answer is Wish.SKIP:
            skipped.append(requests[0].position)
        elif answer is Wish.UNDO:
            evaluation.undo(oracle.annotator)
        else:
            evaluation.answer(requests[0], Answer(answer), oracle.annotator)
            told(evaluation)
    return True


def evaluate(graph: CouplingGraph, oracle: Oracle, *, threads: int = 1, **options: Any) -> Evaluation:
    """Evaluate a graph from the first question to the last.

    Args:
        graph: from `couple`.
        oracle: answers the questions, such as `GoldOracle("gold.csv")`.
        threads: how many threads may look ahead.
        **options: fields of `Settings`, such as `policy`, `budget` and `seed`.
    """
    evaluation = Evaluation(graph, Settings().changed(**options), threads=threads)
    if not graph.n_beliefs:
        raise InputError("there is no belief to evaluate; choose a wider scope")
    consult(evaluation, oracle)
    return evaluation

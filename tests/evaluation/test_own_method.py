"""Methods of a user's own, handed over in Python as objects."""

from pathlib import Path

import pytest

import rdf_kgeval as kgeval
from rdf_kgeval.estimation.design import DesignOptions
from rdf_kgeval.estimation.population import Population
from rdf_kgeval.estimation.srs import Srs, srs_wilson
from rdf_kgeval.evaluation.policies import Random, View

EXAMPLE = Path(__file__).parents[2] / "examples" / "motivating"


class Last:
    """A policy that takes the last open belief of the run's order."""

    labelling = "asked"

    def pick(self, view: View, k: int) -> list[int]:
        return Random().pick(view, len(view.order))[-k:]


def own_sample(population: Population, options: DesignOptions) -> Srs:
    return srs_wilson(population, options)


@pytest.fixture(scope="module")
def graph() -> kgeval.CouplingGraph:
    beliefs = kgeval.read_beliefs(EXAMPLE / "kg.ttl")
    return kgeval.couple(beliefs, kgeval.read_ontology(EXAMPLE / "ontology.ttl"))


def gold() -> kgeval.GoldOracle:
    return kgeval.GoldOracle(EXAMPLE / "gold.csv")


def asked(evaluation: kgeval.Evaluation) -> list[str]:
    return [record.belief for record in evaluation.records]  # type: ignore[union-attr]


def test_a_design_of_ones_own_does_what_the_same_by_name_does(graph: kgeval.CouplingGraph) -> None:
    own = kgeval.evaluate(graph, gold(), design=own_sample, seed=3)
    named = kgeval.evaluate(graph, gold(), policy="srs", estimator="wilson", seed=3)
    assert (asked(own), own.accuracy, own.interval) == (asked(named), named.accuracy, named.interval)
    assert own.result().method == "own/own_sample"


def test_a_policy_of_ones_own_picks(graph: kgeval.CouplingGraph, tmp_path: Path) -> None:
    own = kgeval.evaluate(graph, gold(), design=Last(), seed=3, seed_size=0, budget=4)
    named = kgeval.evaluate(graph, gold(), policy="random", seed=3, seed_size=0, budget=4)
    assert own.interval is None
    assert not own.sampled
    assert asked(own) != asked(named)
    own.report(tmp_path / "report.md")
    assert "the beliefs that a method of the user's own chose" in (tmp_path / "report.md").read_text()
    own.publish(tmp_path / "record.ttl")
    assert '"own"' in (tmp_path / "record.ttl").read_text()


def test_a_run_is_not_begun_with_a_method_that_it_could_not_name(tmp_path: Path) -> None:
    with pytest.raises(kgeval.InputError, match="a design of your own works in memory only"):
        kgeval.evaluate(EXAMPLE / "kg.ttl", gold(), design=own_sample, mine=False, run=tmp_path / "run")
    kgeval.evaluate(EXAMPLE / "kg.ttl", gold(), mine=False, run=tmp_path / "run")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"design": "srs"}, "design takes a function of a population and its options, or a policy"),
        ({"design": Srs}, "design takes a function"),
        ({"design": own_sample, "policy": "srs"}, "takes the place of policy and estimator"),
    ],
)
def test_what_is_no_method_is_refused(
    graph: kgeval.CouplingGraph, options: dict[str, object], sentence: str
) -> None:
    with pytest.raises(kgeval.InputError, match=sentence):
        kgeval.evaluate(graph, gold(), **options)  # type: ignore[arg-type]

"""The engine spark on two cores of this machine finds what the local engine finds."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rdf_kgeval.engines.engine import engine_of
from rdf_kgeval.engines.spark import solving
from rdf_kgeval.engines.spark.engine import SparkEngine
from rdf_kgeval.errors import EngineError, InputError
from rdf_kgeval.inference.solver.solve import Model, SolverOptions, solve
from tests.coupling.test_grounding_agreement import LITERALS, RESPELLED, Cases, by_engine
from tests.rules.test_cases import CASES, build
from tests.support.hinges import model_of, models
from tests.support.rulecases import constraints_of, expected_of, in_order
from tests.support.sparkcases import blocks, grounded_alike, solved_alike

FEW = settings(
    max_examples=6, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def spark(java: None) -> Iterator[SparkEngine]:
    engine = SparkEngine("local[2]")
    with engine:
        yield engine


def check_alike(spark: SparkEngine, seed: int) -> int:
    cases = Cases(seed, LITERALS + RESPELLED)
    beliefs, rules = cases.graph(), [cases.rule(i, latent=True) for i in range(2)]
    graph = grounded_alike(spark, beliefs, [*rules, by_engine(cases.rule(2))])
    if graph.n_beliefs:
        solved_alike(spark, graph, seed, share=0.2)
    return graph.n_constraints


@FEW
@given(seed=st.integers(0, 2**32))
def test_groundings_and_soft_truths_are_the_local_engines(spark: SparkEngine, seed: int) -> None:
    check_alike(spark, seed)


@pytest.mark.stress
def test_many_graphs_and_rules_are_grounded_and_solved_alike(spark: SparkEngine) -> None:
    assert sum(check_alike(spark, seed) > 0 for seed in range(150)) > 90


USUAL = ("functional-same-as", "filter-two-numbers", "latent-recursive")
"""Cases whose SQL has what random rules lack; the others are run under stress."""


@pytest.mark.parametrize(
    "case",
    [c if c.name in USUAL else pytest.param(c, marks=pytest.mark.stress) for c in CASES],
    ids=lambda case: case.name,
)
def test_rule_cases_ground_as_they_should(spark: SparkEngine, case: Path) -> None:
    with spark.tables() as tables:
        assert in_order(constraints_of(build(case, tables))) == in_order(expected_of(case / "then.ttl"))


@FEW
@given(model=models(), p=st.sampled_from([1, 2]))
def test_any_hinges_are_solved_alike(spark: SparkEngine, model: Model, p: int) -> None:
    options = SolverOptions(p=p)
    here, there = solve(model, options), spark.solve(model, options)
    np.testing.assert_allclose(there.x, here.x, rtol=0, atol=1e-6)
    np.testing.assert_allclose(there.objective, here.objective, rtol=1e-6, atol=1e-8)


def test_a_million_groundings_are_grounded_and_solved_alike(spark: SparkEngine) -> None:
    graph = grounded_alike(spark, *blocks(1_000_000))
    assert graph.groundings.sum() == pytest.approx(1e6, rel=0.01)
    solved_alike(spark, graph, seed=1, share=0.02)


def test_a_model_without_entries_needs_no_executor(spark: SparkEngine) -> None:
    found = spark.solve(model_of([([], 0.5, 2.0)], [0.5, 1.5]), SolverOptions())
    assert found.x.tolist() == [0.5, 1.0]
    assert found.objective == pytest.approx(2.0 * 0.5**2 + 0.05 * 0.5**2)


def test_a_component_that_no_executor_can_hold_is_refused(
    spark: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solving, "BYTES_PER_ENTRY", 2**50)
    two_and_three = model_of([([(0, 1), (1, -1)], 1, 1), ([(2, 1), (3, 1), (4, -1)], 0, 1)], [0.5] * 5)
    with pytest.raises(
        EngineError, match=r"largest component has 3 entries and needs [\d,.]+ GB in one exec"
    ):
        spark.solve(two_and_three, SolverOptions())
    with spark as session:
        assert not (session.scratch / "solve").exists()


def fail(frames: Iterable[Any]) -> Iterator[Any]:
    raise MemoryError


def lack(frames: Iterable[Any]) -> Iterator[Any]:
    import absent_package  # noqa: F401

    yield from frames


@pytest.mark.parametrize(
    ("job", "sentence"),
    [
        (fail, "Spark ran out of memory"),
        (
            lack,
            "Python of Spark's workers has no absent_package; install it there, beside rdf_kgeval, and name",
        ),
    ],
)
def test_what_fails_on_an_executor_is_told_in_one_sentence(
    spark: SparkEngine, job: Any, sentence: str, tmp_path: Path
) -> None:
    with spark as session, pytest.raises(EngineError, match=sentence) as told:
        session.write(session.spark.range(1).mapInPandas(job, "id long"), tmp_path / "out")
    assert "\n" not in str(told.value)
    assert not list(tmp_path.glob("out/*.parquet"))


def test_files_that_vanish_are_told_in_one_sentence(spark: SparkEngine) -> None:
    with spark.tables() as tables, spark as session:
        tables.load("atom", {"id": np.arange(3)})
        for file in (session.scratch / "tables").glob("atom-*"):
            file.unlink()
        with pytest.raises(EngineError, match=r"workers do not see .*; set TMPDIR"):
            tables.fetch("SELECT id FROM atom")
    assert not (session.scratch / "tables").exists()


def test_any_other_failure_is_told_in_one_sentence(spark: SparkEngine) -> None:
    with (
        spark.tables() as tables,
        pytest.raises(EngineError, match=r"Spark failed .*UNRESOLVED_COLUMN") as told,
    ):
        tables.number("SELECT nothing")
    assert "\n" not in str(told.value)


def test_one_session_at_a_time(spark: SparkEngine) -> None:
    with pytest.raises(EngineError, match="has a Spark session already"), SparkEngine("local"):
        pass


@pytest.mark.parametrize("master", ["", "local[0]", "mesos://h:1", "spark://user:pass@h:1", "local[2] x"])
def test_masters_that_are_none(master: str) -> None:
    with pytest.raises(InputError, match="is no Spark master"):
        SparkEngine(master)


def test_engines_that_are_none() -> None:
    with pytest.raises(InputError, match="there is no engine 'dask'; choose local or spark"):
        engine_of("dask")
    with pytest.raises(InputError, match="add --engine spark"):
        engine_of("local", "spark://h:1")


def test_secrets_and_pages_stay_inside(spark: SparkEngine) -> None:
    with spark as session:
        conf = session.spark.sparkContext.getConf()
        assert conf.get("spark.ui.enabled") == "false"
        assert conf.get("spark.driver.bindAddress") == "127.0.0.1"
        assert session.scratch.stat().st_mode & 0o077 == 0

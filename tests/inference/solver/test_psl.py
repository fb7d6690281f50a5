"""Real PSL as a witness; it needs Java and `pip install pslpython`."""

import importlib
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from rdf_kgeval.inference.solver.solve import solve
from tests.support.hinges import objective

EXACT = {
    "admmreasoner.stepsize": 0.1,
    "admmreasoner.epsilonabs": 1e-8,
    "admmreasoner.epsilonrel": 1e-6,
    "admmreasoner.maxiterations": 50_000,
}


@pytest.mark.stress
@pytest.mark.parametrize("giant", [True, False])
@pytest.mark.parametrize(("options", "agreement"), [({}, 0.1), (EXACT, 2e-3)])
def test_psl_finds_no_lower_objective_and_the_same_point(
    giant: bool,
    options: dict[str, float],
    agreement: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if shutil.which("java") is None:
        if os.environ.get("CI"):
            pytest.fail("Java is absent; in CI it must be there")
        pytest.skip("PSL needs Java: apt-get install default-jre-headless")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "benchmarks"))
    generate, psl = importlib.import_module("generate"), importlib.import_module("psl")
    ground = generate.generate(3000, giant=giant, largest=100)
    model, atoms = generate.to_model(ground)
    solution = solve(model)
    theirs = psl.run_psl(ground, tmp_path, options, heap="1g").truth[atoms]
    assert solution.objective <= objective(model, theirs)
    assert np.abs(solution.x - theirs).max() <= agreement

"""Kernels run as Python, too: a debugger can step through each of them."""

import ast
import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.support.kernels import PACKAGE

DECORATORS = {"kernel", "lean_kernel", "exact_kernel"}


def run(*arguments: str, **environ: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.support.kernels", *arguments],
        cwd=PACKAGE.parent,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def uncompiled() -> Any:
    return run(NUMBA_DISABLE_JIT="1")


@pytest.fixture(scope="module")
def compiled() -> Any:
    return run()


def kernels() -> set[str]:
    """Every function of the package that is decorated as a kernel."""
    return {
        f"{path.relative_to(PACKAGE)}:{node.name}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(name, ast.Name) and name.id in DECORATORS for name in node.decorator_list)
    }


def test_every_kernel_is_entered(uncompiled: Any) -> None:
    assert len(kernels()) > 60
    assert kernels() - set(uncompiled["entered"]) == set()


def flat(found: Any) -> list[Any]:
    """Numbers and texts in their order."""
    if isinstance(found, list):
        return [leaf for part in found for leaf in flat(part)]
    return [found]


def test_small_problems_run_as_python_though_compiled_code_is_at_hand(uncompiled: Any, compiled: Any) -> None:
    """The same bytes, whatever is compiled; compiled code itself differs in the last bits."""
    small = run("small")
    assert {name for name in kernels() if "rules/mining" in name} <= set(small["entered"])
    assert small["found"]["mining"] == uncompiled["found"]["mining"]
    solved = [found["found"]["solving"][:3] for found in (small, uncompiled, compiled)]
    assert solved[0] == solved[1] != solved[2]
    assert small["found"]["looking_ahead"] == uncompiled["found"]["looking_ahead"]


def test_a_kernel_is_compiled_for_one_list_of_types(compiled: Any) -> None:
    assert len(compiled["specialisations"]) > 60
    assert {name: n for name, n in compiled["specialisations"].items() if n > 1} == {}


def test_uncompiled_kernels_give_what_compiled_ones_do(uncompiled: Any, compiled: Any) -> None:
    assert not kernels() & set(compiled["entered"])
    assert compiled["found"].keys() == uncompiled["found"].keys()
    for case, found in compiled["found"].items():
        numbers, texts = ([x for x in flat(found) if isinstance(x, str) is text] for text in (False, True))
        other = flat(uncompiled["found"][case])
        assert [x for x in other if isinstance(x, str)] == texts
        assert [x for x in other if not isinstance(x, str)] == pytest.approx(numbers, abs=1e-7)

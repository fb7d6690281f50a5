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


def run(**environ: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.support.kernels"],
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
    assert len(kernels()) > 70
    assert kernels() - set(uncompiled["entered"]) == set()


def flat(found: Any) -> list[Any]:
    """Numbers and texts in their order."""
    if isinstance(found, list):
        return [leaf for part in found for leaf in flat(part)]
    return [found]


def test_uncompiled_kernels_give_what_compiled_ones_do(uncompiled: Any) -> None:
    compiled = run()
    assert not kernels() & set(compiled["entered"])
    assert compiled["found"].keys() == uncompiled["found"].keys()
    for case, found in compiled["found"].items():
        numbers, texts = ([x for x in flat(found) if isinstance(x, str) is text] for text in (False, True))
        other = flat(uncompiled["found"][case])
        assert [x for x in other if isinstance(x, str)] == texts
        assert [x for x in other if not isinstance(x, str)] == pytest.approx(numbers, abs=1e-7)

"""Follows docs/develop/extending.md in a copy of the package: each new member is one new file and one line."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import free_port
from tests.support.blocks import Block, Reader, blocks

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "develop" / "extending.md").read_text()
RECIPES = {part.splitlines()[0]: part for part in PAGE.split("\n## ")[1:]}


def added(block: Block) -> list[str]:
    """The lines that a change adds."""
    return [line[1:] for line in block.body.splitlines() if line.startswith("+")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a copy of the package; compiled code is copied, too."""
    shutil.copytree(ROOT / "rdf_kgeval", tmp_path / "rdf_kgeval")
    return tmp_path


def test_there_is_a_recipe_for_each_door() -> None:
    links = re.findall(r"^\| \[[^]]+\]\(#([^)]+)\)", PAGE, re.MULTILINE)
    assert len(links) == 7
    assert {*links, "a-kind-of-axiom"} == {
        re.sub("[^a-z ]", "", name.lower()).replace(" ", "-") for name in RECIPES
    }


@pytest.mark.parametrize("name", RECIPES)
def test_the_recipe_works(name: str, folder: Path) -> None:
    """With nothing but what the recipe adds, its commands do what it says."""
    addresses = {"127.0.0.1:7878": f"127.0.0.1:{free_port()}"}
    reader = Reader(folder, addresses, PYTHONPATH=str(folder), NUMBA_DISABLE_JIT="1")
    reader.follow(blocks(RECIPES[name]))
    assert reader.ran
    ruff = Path(sys.executable).with_name("ruff")
    shutil.copy(ROOT / "pyproject.toml", folder)
    for check in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [ruff, *check, "rdf_kgeval"], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", RECIPES)
def test_it_is_one_new_file_and_one_line(name: str) -> None:
    page = blocks(RECIPES[name])
    new = [block for block in page if block.note.startswith("file=rdf_kgeval/")]
    *function, line = [added(block) for block in page if block.note.startswith("patch=")]
    assert len(line) == 1
    assert len(new) + len(function) == 1


def test_a_change_that_does_not_fit_is_noticed(folder: Path) -> None:
    with pytest.raises(AssertionError, match="does not have once"):
        Reader(folder, {}).follow(blocks("```diff patch=rdf_kgeval/errors.py\n no such line\n+x = 1\n```"))

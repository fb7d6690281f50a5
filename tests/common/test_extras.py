"""What is said of packages that are missing."""

import tomllib
from pathlib import Path

import pytest

from rdf_kgeval.common.extras import PACKAGES

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("extra", PACKAGES)
def test_the_command_installs_what_the_extra_names(extra: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    names = {package.partition(">")[0] for package in extras[extra]}
    assert {package.partition(">")[0] for package in PACKAGES[extra]} == names


def test_nothing_names_a_package_that_no_index_has() -> None:
    texts = [*(ROOT / "rdf_kgeval").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    assert [str(path) for path in texts if "install 'rdf-kgeval[" in path.read_text()] == []

"""What is said of packages that are missing."""

import re
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


def test_nothing_tells_to_install_from_an_index_that_does_not_have_it() -> None:
    folders = [ROOT / name for name in ("rdf_kgeval", "docs", "examples")]
    texts = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
    texts += [
        path
        for folder in folders
        for kind in ("py", "md", "yml", "sh", "j2")
        for path in folder.rglob(f"*.{kind}")
    ]
    command = re.compile(r"pip install [^`\n]*\brdf[-_]kgeval(?!\.git)")
    assert len(texts) > 150
    assert [str(path) for path in texts if command.search(path.read_text())] == []

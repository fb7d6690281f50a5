"""The contract of the package: its layers, and the one room that opens connections."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def refusals(code: str, file: str) -> list[str]:
    """What ruff says of banned imports in code that would be in this file."""
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format=concise"]
    done = subprocess.run(
        [*command, "--stdin-filename", file, "-"], cwd=ROOT, input=code, capture_output=True, text=True
    )
    assert done.returncode in (0, 1), done.stderr
    return [line for line in done.stdout.splitlines() if "TID251" in line]


CONNECTING = [
    "import socket",
    "import urllib.request",
    "from urllib.request import urlopen",
    "from urllib import request",
    "import http.client",
    "from http.client import HTTPSConnection",
    "import SPARQLWrapper",
    "from SPARQLWrapper import JSON",
]


@pytest.mark.parametrize("line", CONNECTING)
@pytest.mark.parametrize("file", ["evaluation/x.py", "beliefs/table.py", "sources/load.py", "pipeline.py"])
def test_no_other_room_opens_connections(line: str, file: str) -> None:
    assert refusals(f"{line}\n", f"rdf_kgeval/{file}")


@pytest.mark.parametrize(
    "file", ["common/http/x.py", "sources/endpoint/client.py", "web/server.py", "engines/spark/session.py"]
)
def test_those_that_connect_may(file: str) -> None:
    assert not refusals("import socket\nimport urllib.request\n", f"rdf_kgeval/{file}")


def test_every_room_may_take_addresses_apart() -> None:
    assert not refusals("import urllib.parse\n", "rdf_kgeval/evaluation/x.py")


def test_the_contract_names_every_room_in_at_most_15_layers() -> None:
    (layers,) = (c for c in PYPROJECT["tool"]["importlinter"]["contracts"] if c["type"] == "layers")
    assert layers["exhaustive"] is True
    assert layers["containers"] == ["rdf_kgeval"]
    assert len(layers["layers"]) <= 15
    named = {name.strip() for layer in layers["layers"] for name in layer.split("|")}
    package = ROOT / "rdf_kgeval"
    rooms = {path.parent.name for path in package.glob("*/__init__.py")}
    modules = {path.stem for path in package.glob("*.py")} - {"__init__"}
    assert named == rooms | modules
    assert modules == {"errors", "namespaces", "pipeline"}


def test_no_room_has_imports_that_go_round_in_a_circle() -> None:
    contracts = PYPROJECT["tool"]["importlinter"]["contracts"]
    assert [c["ancestors"] for c in contracts if c["type"] == "acyclic_siblings"] == [["rdf_kgeval"]]


def test_the_method_is_one_page() -> None:
    assert len((ROOT / "rdf_kgeval" / "pipeline.py").read_text(encoding="utf-8").splitlines()) <= 200

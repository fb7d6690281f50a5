"""What commands load before they do anything: only what they need."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.functional.test_cli import EXAMPLE, kgeval

CODE = """
import sys
from rdf_kgeval.cli import main
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
print(*(name for name in sys.modules if "." not in name or name in ("scipy.optimize", "scipy.special")), file=sys.stderr)
"""
SERVING = {"starlette", "uvicorn", "jinja2"}
READING = {"rdflib", "owlrl", "SPARQLWrapper", "duckdb"}
COMPUTING = {"numpy", "scipy", "numba", "pyoxigraph"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("startup")
    made = kgeval("init", "run", EXAMPLE / "kg.ttl", "--ontology", EXAMPLE / "ontology.ttl", cwd=folder)
    assert made.returncode == 0, made.stderr
    return folder


@pytest.mark.parametrize(
    ("arguments", "unneeded"),
    [
        (["--help"], SERVING | READING | COMPUTING | {"tomllib", "asyncio", "email"}),
        (["evaluate", "--help"], SERVING | READING | COMPUTING | {"tomllib", "asyncio"}),
        (["show", "run"], SERVING | READING | {"numba", "scipy.special"}),
        (["estimate", "run"], SERVING | READING | {"numba", "scipy.optimize"}),
        (["labels", "run"], SERVING | READING | {"numba", "scipy"}),
        (["infer", "run"], SERVING | READING | {"numba", "scipy.optimize"}),
        (["plan", "run"], SERVING | READING | {"numba"}),
        (["report", "run", "--output", "report.md"], {"starlette", "uvicorn", "duckdb", "numba"}),
        (["ask", "run", "--oracle", str(EXAMPLE / "gold.csv")], SERVING | READING | {"numba"}),
        (["evaluate", str(EXAMPLE / "kg.ttl"), "--oracle", str(EXAMPLE / "gold.csv")], SERVING | {"numba"}),
        (["mine", str(EXAMPLE / "kg.ttl"), "--min-support", "1", "--output", "rules"], SERVING | {"numba"}),
    ],
)
def test_a_command_loads_only_what_it_needs(folder: Path, arguments: list[str], unneeded: set[str]) -> None:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    done = subprocess.run(
        [sys.executable, "-c", CODE, *arguments],
        cwd=folder,
        env=plain,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stderr.split())
    assert "typer" in loaded
    assert not loaded & unneeded

"""Runs the examples as a stranger would, in a copy of their folder."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import free_port

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return shutil.copytree(EXAMPLES, tmp_path / "examples")


def run(*command: str, cwd: Path, code: int = 0, **environ: str) -> str:
    """What a command prints in an activated virtual environment, or says when it fails."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "PATH": path, "COLUMNS": "200", **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


def steps(folder: Path) -> list[str]:
    """What the workflow runs once everything is installed."""
    workflow = yaml.safe_load((folder / "accuracy.yml").read_text())
    (job,) = workflow["jobs"].values()
    return [step["run"] for step in job["steps"] if "kgeval " in step.get("run", "")]


def test_every_example_is_documented_and_run() -> None:
    names = {folder.name for folder in EXAMPLES.iterdir()}
    assert names == {"motivating", "endpoint", "rdflib_plugin", "crowd", "ci_gate"}
    for name in names:
        readme = (EXAMPLES / name / "README.md").read_text()
        assert len(readme.splitlines()) < 40
        for link in re.findall(r"\]\((?!http)([^)]+)\)", readme):
            assert (EXAMPLES / name / link).exists(), link


def test_motivating(copy: Path) -> None:
    readme = (copy / "motivating" / "README.md").read_text()
    (commands,) = re.findall(r"```sh\n(.*?)```", readme, re.DOTALL)
    output = run("bash", "-ec", commands, cwd=copy / "motivating")
    assert "3 verdicts and 5 inferred of 8 beliefs: 6 true, 2 false, 0 unknown" in output
    assert 'you said false: "Taj Mahal is a State"' in output


def test_endpoint(copy: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is absent: apt-get install curl")
    output = run("./run.sh", cwd=copy / "endpoint", PORT=str(free_port()))
    assert "accuracy 75.0% by greedy/inferable" in output
    wrong = output.split("What is wrong, as the store tells it:\n")[1].split()
    assert wrong[0] == "s,p,o,source"
    assert [line.split(",")[0].rpartition("/")[2] for line in wrong[1:]] == ["Detroit", "TajMahal"]


def test_rdflib_plugin(copy: Path) -> None:
    output = run(sys.executable, "example.py", cwd=copy / "rdflib_plugin").splitlines()
    assert output[0] == "75% of 8 triples are true; 5 were asked about."
    assert [line.split()[1] for line in output[1:3]] == [
        "<http://example.org/Detroit>",
        "<http://example.org/TajMahal>",
    ]
    assert output[3] == "6 triples are believed."


def test_crowd(copy: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    output = run("./run.sh", str(tmp_path / "work"), cwd=copy / "crowd")
    found = re.search(r"between ([\d.]+)% and ([\d.]+)% .*: 100 of 100 beliefs asked", output)
    assert found
    assert float(found[1]) < 90 < float(found[2])


def test_the_ci_gate_opens_and_shuts(copy: Path) -> None:
    folder = copy / "ci_gate"
    gate, report = steps(folder)
    assert gate in (folder / "README.md").read_text()
    assert "accuracy 75.0%" in run("bash", "-ec", gate, cwd=folder)
    run("bash", "-ec", report, cwd=folder)
    assert 'failures="0"' in (folder / "accuracy.xml").read_text()
    shutil.rmtree(folder / "run")
    gold = copy / "motivating" / "gold.csv"
    gold.write_text(gold.read_text().replace(",1\n", ",0\n", 1))
    run("bash", "-ec", gate, cwd=folder, code=3)
    run("bash", "-ec", report, cwd=folder)
    assert "<h1" in (folder / "report.html").read_text()
    shutil.rmtree(folder / "run")
    gold.write_text("\n".join(gold.read_text().splitlines()[:-1]) + "\n")
    assert "gold.csv has no label for <http" in run("bash", "-ec", gate, cwd=folder, code=1)

"""Runs the README: files are written, commands and Python run, and shown output is found."""

import os
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"^```(\w+) ?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_tutorial_runs(tmp_path: Path) -> None:
    tutorial = README.read_text().split("## Tutorial", 1)[1].split("\n## ", 1)[0]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path, "COLUMNS": "200"}
    output = ""
    ran = 0
    for language, note, body in BLOCK.findall(tutorial):
        if note.startswith("file="):
            (tmp_path / note[5:]).write_text(body)
        elif note == "output":
            for line in body.strip().splitlines():
                assert line.strip() in output, line
        elif note != "skip":
            command = ["bash", "-ec", body] if language == "sh" else [sys.executable, "-c", body]
            done = subprocess.run(
                command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            output = done.stdout
            ran += 1
    assert ran >= 5

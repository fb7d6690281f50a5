"""Compiled code is kept where it can be, and compiling is said, once and only where it happens."""

import os
import subprocess
import sys
from pathlib import Path

from rdf_kgeval.common.jit import _drop_stale

TINY = """
from rdf_kgeval.common.jit import kernel
@kernel
def double(x):
    return 2 * x
"""
CODE = """
import sys, rdf_kgeval
from rdf_kgeval.common import jit
jit._ROOMS = ("common",)
rdf_kgeval.__path__.append(".")
from rdf_kgeval.tiny import double
if sys.argv[1:] != ["idle"]:
    print(double(21))
"""
ENVIRON = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
KEPT = "compiling numerical code, once after installation; this takes about a minute\n"


def run(folder: Path, *arguments: str, **environ: str) -> str:
    """What a process says that uses a compiled function of a package in this folder."""
    (folder / "tiny.py").write_text(TINY)
    os.utime(folder / "tiny.py", (1000, 1000))
    done = subprocess.run(
        [sys.executable, "-c", CODE, *arguments],
        cwd=folder,
        env={**ENVIRON, "PYTHONDONTWRITEBYTECODE": "1", **environ},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ("" if arguments else "42\n")
    return done.stderr


def test_compiling_is_said_where_it_happens_and_once(tmp_path: Path) -> None:
    assert run(tmp_path, "idle") == ""
    assert run(tmp_path) == KEPT
    assert list(tmp_path.glob("__pycache__/*.nbi"))
    assert run(tmp_path) == ""


def test_a_package_that_cannot_be_written_is_kept_in_the_user_s_cache(tmp_path: Path) -> None:
    (tmp_path / "__pycache__").touch()  # no folder can be made there, not even by root
    cache = tmp_path / "cache"
    assert run(tmp_path, XDG_CACHE_HOME=str(cache)) == KEPT
    assert list(cache.glob("numba/**/*.nbi"))
    assert run(tmp_path, XDG_CACHE_HOME=str(cache)) == ""
    assert run(tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "own")) == KEPT
    assert run(tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "own")) == ""


def test_where_nothing_can_be_written_it_works_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "__pycache__").touch()
    for _ in range(2):
        said = run(tmp_path, XDG_CACHE_HOME="/dev/null/cache", HOME="/dev/null")
        assert said.count("\n") == 1
        assert "set NUMBA_CACHE_DIR to one that can be written" in said


def test_code_older_than_a_source_that_it_may_call_is_dropped(tmp_path: Path) -> None:
    kept = tmp_path / "__pycache__"
    kept.mkdir()
    for age, path in ((1000.0, kept / "new.nbi"), (998.0, kept / "old.nbi")):
        path.touch()
        os.utime(path, (age, age))
    _drop_stale(kept, 999.0)
    assert [path.name for path in kept.iterdir()] == ["new.nbi"]

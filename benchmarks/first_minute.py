"""CPU and wall seconds from a clone to the first answer, cold and warm; writes FIRST_MINUTE.md.

    python benchmarks/first_minute.py [--output FILE]

`make demo` runs in a clone without `.venv`. Then an installed package without a line of bytecode or compiled code runs a
small evaluation twice (the eight triples of the paper's example), small commands on its run, and twice a large problem,
which compiles. Seconds are of the command and all of its children; the load average says how busy the machine was.
"""

import argparse
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "motivating"
MESSAGE = "compiling numerical code"
LARGE = """
import sys
sys.path.insert(0, "benchmarks")
import numpy as np
from generate import generate, to_model
from rdf_kgeval.inference.incremental.solution import Incremental
from rdf_kgeval.inference.solver.solve import solve
model = to_model(generate(20_000, giant=False, seed=11))[0]
Incremental(model, solve(model)).what_ifs(np.arange(20))
"""
COUNT = """
from rdf_kgeval.common import jit
jit.compile_all()
made = [len(each._dispatcher.signatures) for each in jit._kernels]
print(len(made), sum(made))
"""


class Bench:
    """Runs commands in one folder and keeps a row of each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: list[str] = []
        self.cpu: dict[str, float] = {}

    def run(self, name: str, *command: str | Path) -> str:
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        environ = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "PYTHON"))}
        done = subprocess.run(
            command, cwd=self.folder, env=environ, capture_output=True, text=True, check=False
        )
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode == 0, done.stderr
        self.cpu[name] = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        said = done.stderr.count(MESSAGE)
        self.rows.append(f"| {name} | {self.cpu[name]:.2f} | {wall:.1f} | {said} |")
        print(self.rows[-1], flush=True)
        return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("FIRST_MINUTE.md"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        bench = Bench(clone)
        bench.run("`make demo` from a clone", "make", "demo")
        bench.run("`make demo` again", "make", "demo")
        for cache in clone.rglob("__pycache__"):
            shutil.rmtree(cache)
        kgeval = clone / ".venv" / "bin" / "kgeval"
        evaluate = (
            *(kgeval, "evaluate", EXAMPLE / "kg.ttl", "--ontology", EXAMPLE / "ontology.ttl"),
            *("--oracle", EXAMPLE / "gold.csv", "--run"),
        )
        bench.run("first small evaluation after an install", *evaluate, "first")
        bench.run("second small evaluation", *evaluate, "second")
        for name in ("show", "estimate", "labels", "infer", "plan"):
            bench.run(f"`kgeval {name}`", kgeval, name, "first")
        python = clone / ".venv" / "bin" / "python"
        bench.run("first large problem: compiles", python, "-c", LARGE)
        bench.run("second large problem", python, "-c", LARGE)
        kernels, specialisations = bench.run("all kernels, from disk", python, "-c", COUNT).split()
    first, second = (
        bench.cpu[f"{name}"]
        for name in ("first small evaluation after an install", "second small evaluation")
    )
    lines = [
        "# The first minute\n",
        f"`python benchmarks/first_minute.py` on {os.cpu_count()} cores ({platform.machine()}, Python "
        f"{platform.python_version()}); load average of the machine at the end: {os.getloadavg()[0]:.1f}. "
        + " ".join((__doc__ or "").split("\n\n")[2].split())
        + "\n",
        "| what | CPU seconds | wall seconds | says that it compiles |",
        "| --- | ---: | ---: | ---: |",
        *bench.rows,
        f"\nThe first small evaluation takes {first / second:.1f} times the CPU of the second. {kernels} kernels have "
        f"{specialisations} specialisations, all compiled at once.",
    ]
    arguments.output.write_text("\n".join(lines) + "\n")
    sys.stdout.write(lines[-1] + "\n")


if __name__ == "__main__":
    main()

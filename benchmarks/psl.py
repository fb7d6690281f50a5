"""Run the real PSL (pslpython, Java) on a ground model and measure its optimisation alone."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from generate import LEVELS, STRENGTH, Ground
from numpy.typing import NDArray

BODIES = ["T(A) & T(B) -> T(C)", "T(A) -> T(C)", "T(A) -> !T(C)"]
ARGUMENTS = ["A, B, C", "A, C", "A, C"]
COLUMNS = [[0, 1, 2], [0, 2], [0, 2]]

CHILD = """
import json, sys, numpy, pslpython.runtime
config = json.load(open(sys.argv[1]))
atoms = pslpython.runtime.run(config, jvm_options=["-Xmx" + sys.argv[3]])["atoms"]
truth = {int(a["arguments"][0]): float(a["value"]) for a in atoms if a["predicate"] == "T"}
numpy.save(sys.argv[2], [list(truth), list(truth.values())])
"""


@dataclass(frozen=True)
class PslRun:
    """What one run of PSL took and found."""

    truth: NDArray[np.float64]
    """Soft truth of every atom, the observed ones as they were given."""
    cpu: float
    """CPU seconds of the whole process between the two log lines that bracket optimisation."""
    wall: float
    peak: float
    """Largest resident set in GB, grounding included."""
    log: str


def run_psl(ground: Ground, folder: Path, options: Mapping[str, object], heap: str = "14g") -> PslRun:
    """Ground and solve with PSL in a process of its own."""
    config = folder / "config.json"
    config.write_text(json.dumps(_config(ground, folder, options)))
    command = [sys.executable, "-c", CHILD, str(config), str(folder / "x.npy"), heap]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    lines: list[str] = []
    marks: dict[str, tuple[float, float]] = {}
    with process.stdout:
        for line in process.stdout:
            lines.append(line)
            for mark in ("Beginning inference", "Final Objective"):
                if mark in line:
                    marks[mark] = (_cpu_seconds(process.pid), time.perf_counter())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    log = "".join(lines)
    if process.returncode != 0:
        raise RuntimeError(f"PSL failed:\n{log[-3000:]}")
    (cpu, wall), (cpu_end, wall_end) = marks["Beginning inference"], marks["Final Objective"]
    truth = ground.observed.copy()
    atoms, values = np.load(folder / "x.npy")
    truth[atoms.astype(np.int64)] = values
    return PslRun(truth, cpu_end - cpu, wall_end - wall, usage.ru_maxrss / 1e6, log)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _config(ground: Ground, folder: Path, options: Mapping[str, object]) -> dict[str, object]:
    """Templates with one weight each; a data predicate per template names its groundings."""
    atoms = np.arange(len(ground.observed))
    seen = ~np.isnan(ground.observed)
    np.savetxt(folder / "seen.txt", np.column_stack([atoms, ground.observed])[seen], "%d\t%g")
    np.savetxt(folder / "free.txt", atoms[~seen], "%d")
    predicates: dict[str, object] = {"T": _predicate(1, ["seen.txt"], ["free.txt"])}
    rules = [f"{STRENGTH}: T(A) >= 0.5 ^2", f"{STRENGTH}: T(A) <= 0.5 ^2"]
    for kind, (body, arguments, columns) in enumerate(zip(BODIES, ARGUMENTS, COLUMNS, strict=True)):
        for level, weight in enumerate(LEVELS):
            chosen = (ground.kind == kind) & (ground.level == level)
            if not chosen.any():
                continue
            name = f"G{kind}x{level}"
            np.savetxt(
                folder / f"{name}.txt", np.unique(ground.atoms[chosen][:, columns], axis=0), "%d", "\t"
            )
            predicates[name] = _predicate(len(columns), [f"{name}.txt"], [])
            rules.append(f"{weight:g}: {name}({arguments}) & {body} ^2")
    fixed = {"runtime.learn": False, "runtime.inference": True, "runtime.inference.output.results": False,
             "runtime.log.level": "INFO"}  # fmt: skip
    for entry in predicates.values():
        entry["observations"] = [str(folder / name) for name in entry["observations"]]
        entry["targets"] = [str(folder / name) for name in entry["targets"]]
    return {"options": {**fixed, **options}, "rules": rules, "predicates": predicates}


def _predicate(arity: int, observations: list[str], targets: list[str]) -> dict[str, object]:
    return {
        "arity": arity,
        "types": ["UniqueIntID"] * arity,
        "observations": observations,
        "targets": targets,
    }

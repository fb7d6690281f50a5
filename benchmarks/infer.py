"""Our solver against real PSL on the same ground models, scaling, and re-solves after one verdict.

    python benchmarks/infer.py --rules 1e4 1e5 1e6 --scale 1e7 --output benchmarks/INFER.md

PSL's time is its optimisation alone: CPU and wall of the whole process between its log lines "Beginning
inference" and "Final Objective", read from /proc, so loading and grounding are left out. Ours is all of
`solve`, in a process of its own, after one small solve that loads the compiled kernels.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from generate import generate, to_model

from rdf_kgeval.inference.incremental.solution import Incremental
from rdf_kgeval.inference.solver.solve import Model, SolverOptions, solve

SEED = 11
"""Of every model; settings were chosen on models of the seeds 1, 2, 3 and 5."""
LADDER = (1.0, 3e-1, 1e-1, 3e-2, 1e-2, 1e-3, 1e-4, 1e-6)
PSL = {"PSL default": {}, "PSL step 0.1": {"admmreasoner.stepsize": 0.1}}
SHAPES = {"giant": True, "up to 2000": False}


def measure(rules: int, shape: str, tolerance: float, threads: int) -> dict[str, float]:
    """One solve here and now, kernels loaded."""
    options = SolverOptions(tolerance=tolerance, threads=threads)
    solve(to_model(generate(1000, giant=True))[0], options)
    model, _ = to_model(generate(rules, giant=SHAPES[shape], seed=SEED))
    cpu, wall = time.process_time(), time.perf_counter()
    solution = solve(model, options)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {
        "cpu": cpu,
        "wall": wall,
        "peak": peak,
        "objective": solution.objective,
        "residual": solution.residual,
    }


def apart(*arguments: object) -> dict[str, float]:
    """The same in a process of its own, so that its peak memory is its own."""
    command = [sys.executable, __file__, "--one", *(str(argument) for argument in arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def against_psl(rules: int, shape: str) -> Iterator[str]:
    """Rows of the table for one model."""
    from psl import run_psl

    ground = generate(rules, giant=SHAPES[shape], seed=SEED)
    model, atoms = to_model(ground)
    ladder = {tolerance: apart(rules, shape, tolerance, 1) for tolerance in LADDER}
    exact = ladder[LADDER[-1]]
    name = f"{rules:.0e} {shape}"
    yield row(name, "ours, 1e-6", exact, "")
    for method, options in PSL.items():
        with tempfile.TemporaryDirectory() as folder:
            run = run_psl(ground, Path(folder), options)
        objective = objective_at(model, run.truth[atoms])
        assert exact["objective"] <= objective, "PSL found a better point"
        found = {"cpu": run.cpu, "wall": run.wall, "peak": run.peak, "objective": objective}
        equal = next(ours for ours in ladder.values() if ours["objective"] <= objective)
        times = f"{run.cpu / equal['cpu']:.0f}x to its objective, {run.cpu / exact['cpu']:.0f}x to 1e-6"
        yield row(name, method, found, times)
        yield row(name, "ours, to that objective", equal, "")


def objective_at(model: Model, x: np.ndarray) -> float:
    """Of squared hinges."""
    terms = model.coef * x[model.indices]
    rows = np.repeat(np.arange(model.n_rows), np.diff(model.indptr))
    hinge = np.maximum(0.0, model.offset + np.bincount(rows, terms, model.n_rows))
    return float(model.weight @ hinge**2 + model.strength @ (x - model.prior) ** 2)


def row(name: str, method: str, found: dict[str, float], note: str) -> str:
    return (
        f"| {name} | {method} | {found['cpu']:.3f} | {found['wall']:.3f} | {found['peak']:.2f} "
        f"| {found['objective']:.4f} | {note} |"
    )


def scaling(sizes: list[int]) -> Iterator[str]:
    """Time per ground rule, to 1e-6, on one and two threads."""
    for rules in sizes:
        for shape in SHAPES:
            for threads in (1, 2):
                found = apart(rules, shape, 1e-6, threads)
                yield (
                    f"| {rules:.0e} {shape} | {threads} | {found['cpu']:.3f} | {found['wall']:.3f} "
                    f"| {found['wall'] / rules * 1e6:.2f} | {found['peak']:.2f} | {found['residual']:.1e} |"
                )


def verdicts(rules: int, shape: str, tolerance: float, samples: int) -> str:
    """Re-solves after one verdict against a warm full solve of the model with that verdict substituted."""
    model, _ = to_model(generate(rules, giant=SHAPES[shape], seed=SEED))
    options = SolverOptions(tolerance=tolerance)
    solution = solve(model, options)
    search = Incremental(model, solution, options)
    rng = np.random.default_rng(1)
    chosen = rng.choice(model.n_variables, samples, replace=False)
    search.clamp(int(chosen[0]), 1.0)
    search.rollback()
    took, moved = [], []
    for variable in chosen:
        begin = time.perf_counter()
        change = search.clamp(int(variable), float(rng.integers(2)))
        took.append(time.perf_counter() - begin)
        moved.append(len(change.moved))
        search.rollback()
    search.what_ifs(chosen[:1])
    begin = time.perf_counter()
    search.what_ifs(chosen)
    rate = 2 * samples / (time.perf_counter() - begin)
    warm, error = [], 0.0
    for variable in chosen[:5]:
        known = substitute(model, int(variable))
        begin = time.perf_counter()
        full = solve(known, options, solution.x)
        warm.append(time.perf_counter() - begin)
        search.clamp(int(variable), 1.0)
        error = max(error, float(np.abs(np.delete(full.x - search.x, variable)).max()))
        search.rollback()
    median = float(np.median(took))
    return (
        f"| {rules:.0e} {shape} | {tolerance:.0e} | {median * 1e3:.3f} | {np.quantile(took, 0.9) * 1e3:.3f} "
        f"| {np.median(moved):.0f} | {np.median(warm):.3f} | {np.median(warm) / median:.0f}x | {rate:.0f} "
        f"| {error:.1e} |"
    )


def substitute(model: Model, variable: int) -> Model:
    """The model with one variable true."""
    hit = model.indices == variable
    rows = np.repeat(np.arange(model.n_rows), np.diff(model.indptr))
    known = np.bincount(rows[hit], model.coef[hit], model.n_rows)
    coef = np.where(hit, 0.0, model.coef)
    return Model(
        model.indptr, model.indices, coef, model.offset + known, model.weight, model.prior, model.strength
    )


def report(arguments: argparse.Namespace) -> Iterator[str]:
    sizes = [int(float(size)) for size in arguments.rules]
    yield "# Inference, measured by benchmarks/infer.py\n"
    yield f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; models of seed {SEED}.\n"
    yield (__doc__ or "").split("\n\n")[2].replace("\n", " ") + "\n"
    if not arguments.no_psl:
        yield "| ground rules | method | CPU s | wall s | peak GB | objective | PSL's CPU over ours |"
        yield "| --- | --- | --- | --- | --- | --- | --- |"
        for rules in sizes:
            for shape in SHAPES:
                yield from against_psl(rules, shape)
        yield ""
    yield "| ground rules | threads | CPU s | wall s | us per rule | peak GB | residual |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    yield from scaling(sizes + [int(float(size)) for size in arguments.scale])
    yield "\nOne verdict more, against a warm full solve of the model with it:\n"
    yield "| ground rules | tolerance | median ms | p90 ms | moved | full s | faster | what-ifs/s | error |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for rules in sizes:
        yield verdicts(rules, "up to 2000", 1e-6, arguments.samples)
        yield verdicts(rules, "up to 2000", 1e-4, arguments.samples)
        yield verdicts(rules, "giant", 1e-4, arguments.samples)
    yield (
        "\nA warm full solve looks at every rule a few times, some 0.1 us a rule in all; a re-solve cannot be "
        "faster than its share of the rules, and one verdict moves hundreds of variables in a component of 2,000."
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rules", nargs="*", default=["1e4", "1e5", "1e6"], help="sizes for every table")
    parser.add_argument(
        "--scale", nargs="*", default=[], help="further sizes for the scaling table, such as 1e7"
    )
    parser.add_argument("--samples", type=int, default=300, help="verdicts to try")
    parser.add_argument("--no-psl", action="store_true", help="leave PSL out")
    parser.add_argument("--output", type=Path, help="also write the tables here")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        rules, shape, tolerance, threads = arguments.one
        print(json.dumps(measure(int(rules), shape, float(tolerance), int(threads))))
        return
    lines = []
    for line in report(arguments):
        print(line, flush=True)
        lines.append(line)
    if arguments.output:
        arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

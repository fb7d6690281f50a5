"""The local engine against Spark on this machine, on the same graph and rules; writes SCALE_OUT.md beside itself.

The graph is that of ground.py: blocks of 16 entities whose 544 beliefs have 5,472 groundings by seven rules.
Each engine couples them and infers from verdicts on 2 % of the beliefs, in a process of its own. The engines
take turns, and the fastest of some runs counts. Memory is the peak, ten times a second, of the proportional set
size of the process and all that it started, Java and its Python workers among them; CPU is that of the same
processes. Making the beliefs is not timed, but what they take counts as memory.

    python benchmarks/scale_out.py                                        # all sizes
    python benchmarks/scale_out.py --sizes 1e4 1e6 --repeat 1 --output /tmp/SCALE_OUT.md
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
from pathlib import Path

import numpy as np
from ground import NAMESPACE, RULES, make_triples

MASTER = "local[2]"
CLOCK = os.sysconf("SC_CLK_TCK")


def measure(name: str, groundings: int, output: Path) -> dict[str, float]:
    """Couple and infer here and now; soft truths go to a file."""
    from rdf_kgeval.beliefs.builder import BeliefsBuilder
    from rdf_kgeval.beliefs.table import Role
    from rdf_kgeval.coupling.graph import couple
    from rdf_kgeval.engines.engine import engine_of
    from rdf_kgeval.inference.infer import infer
    from rdf_kgeval.rules.rule import Rule

    def iri(name: str) -> str:
        return f"<{NAMESPACE}{name}>"

    builder = BeliefsBuilder()
    builder.add(((iri(s), iri(p), iri(o), "") for s, p, o in make_triples(groundings)), Role.BELIEF)
    beliefs = builder.build()
    del builder
    rules = [
        Rule(
            id="-".join(chain),
            body=tuple((f"?x{i}", iri(p), f"?x{i + 1}") for i, p in enumerate(chain)),
            head=("?x0", iri("q"), f"?x{len(chain)}"),
            confidence=0.9,
        )
        for chain in RULES
    ]
    rng = np.random.default_rng(1)
    asked = rng.choice(beliefs.rows, len(beliefs) // 50, replace=False)
    verdicts = {beliefs.id(int(row)): bool(rng.random() < 0.8) for row in asked}
    engine = engine_of(name, MASTER if name == "spark" else None)
    making, marks = time.process_time(), [time.perf_counter()]
    with engine:
        marks.append(time.perf_counter())
        with engine.tables() as tables:
            graph = couple(beliefs, rules, tables=tables)
        marks.append(time.perf_counter())
        found = infer(graph, verdicts, solve=engine.solve)
        marks.append(time.perf_counter())
    marks.append(time.perf_counter())
    np.save(output, found.x)
    took = dict(zip(("start", "couple", "infer", "stop"), np.diff(marks).tolist(), strict=True))
    return {"beliefs": len(beliefs), "groundings": int(graph.groundings.sum()), **took, "making": making}


def watch(name: str, groundings: int, output: Path) -> dict[str, float]:
    """One measurement in its own process, watched from outside."""
    command = [sys.executable, __file__, "--one", name, str(groundings), str(output)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        peak, cpu = 0, {}
        while process.poll() is None:
            sizes = 0
            for pid in tree(process.pid):
                try:
                    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
                    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                except OSError:  # it ended in between
                    continue
                sizes += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
                cpu[pid] = (int(fields[11]) + int(fields[12])) / CLOCK
            peak = max(peak, sizes)
            time.sleep(0.1)
        text = process.stdout.read()
    if process.returncode:
        sys.exit(f"{name} at {groundings:,} failed")
    result = json.loads(text)
    result["peak_gb"] = peak / 1e6
    result["cpu"] = sum(cpu.values()) - result.pop("making")
    return result


def tree(root: int) -> list[int]:
    """A process and all that it started."""
    found = [root]
    for pid in found:
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                found += [int(child) for child in task.read_text().split()]
            except OSError:
                continue
    return found


def write_component(rules: int, path: Path) -> int:
    """The entries of one giant component, as an executor gets them; says how many."""
    from generate import generate, to_model

    model, _ = to_model(generate(rules, giant=True, seed=11))
    row = np.repeat(np.arange(model.n_rows), np.diff(model.indptr))
    entries = np.empty(len(row), ENTRY)
    entries["entry"], entries["row"] = np.arange(len(row)), row
    entries["variable"], entries["coef"] = model.indices, model.coef
    entries["offset"], entries["weight"] = model.offset[row], model.weight[row]
    entries["prior"], entries["strength"] = model.prior[model.indices], model.strength[model.indices]
    entries.tofile(path)
    return len(row)


ENTRY = np.dtype(
    [("entry", "i8"), ("row", "i8"), ("variable", "i4")]
    + [(name, "f8") for name in ("coef", "offset", "weight", "prior", "strength")]
)


def measure_executor(path: Path) -> dict[str, float]:
    """What solving a component takes in an executor's Python, beyond what that has loaded."""
    import pandas as pd

    from rdf_kgeval.engines.spark.session import RECORDS
    from rdf_kgeval.engines.spark.tasks import solve_part
    from rdf_kgeval.inference.solver.solve import SolverOptions

    def frames(most: int):
        with path.open("rb") as file:
            while most and len(part := np.fromfile(file, ENTRY, min(most, RECORDS))):
                most -= len(part)
                yield pd.DataFrame({name: part[name].copy() for name in ENTRY.names})

    list(solve_part(frames(1000), SolverOptions()))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    list(solve_part(frames(sys.maxsize), SolverOptions()))
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"bytes": (peak - before) * 1024 / (path.stat().st_size / ENTRY.itemsize), "seconds": seconds}


def run_apart(*arguments: object) -> dict[str, float]:
    command = [sys.executable, __file__, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def report(
    best: dict[tuple[str, int], dict[str, float]], executor: dict[int, dict[str, float]], repeat: int
) -> str:
    sizes = sorted({size for _, size in best})
    tiny = best["spark", sizes[0]]
    load = os.getloadavg()[2]
    quiet = (
        ""
        if load <= (os.cpu_count() or 1)
        else (" Others were at work: the seconds are too many, the CPU seconds and memory are not.")
    )
    lines = [
        "# Scale out",
        "",
        f"`python benchmarks/scale_out.py` on {os.cpu_count()} cores ({platform.machine()}, Python "
        f"{platform.python_version()}), the fastest of {repeat} for each; Spark {spark_version()} with master "
        f"{MASTER}, as it comes. Load average of the machine at the end: {load:.1f}.{quiet}",
        "",
        (__doc__ or "").split("\n\n")[1].replace("\n", " "),
        "",
        "| engine | beliefs | groundings | start, stop s | couple s | infer s | all s | CPU s | peak GB | largest "
        "difference in x |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for size in sizes:
        for name in ("local", "spark"):
            r = best[name, size]
            cells = [
                name,
                f"{r['beliefs']:,}",
                f"{r['groundings']:,}",
                f"{r['start'] + r['stop']:.1f}",
                f"{r['couple']:.1f}",
                f"{r['infer']:.1f}",
                f"{total(r):.1f}",
                f"{r['cpu']:.1f}",
                f"{r['peak_gb']:.2f}",
                f"{r['difference']:.0e}" if "difference" in r else "",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    slower = [
        f"{total(best['spark', n]) / total(best['local', n]):,.0f} times the time and "
        f"{best['spark', n]['cpu'] / best['local', n]['cpu']:,.0f} times the CPU with {n:,} groundings"
        for n in sizes
    ]
    lines += [
        "",
        f"**Fixed cost.** With {tiny['groundings']:,} groundings, Spark takes {total(tiny):.0f} s and "
        f"{tiny['cpu']:.0f} s of CPU: {tiny['start'] + tiny['stop']:.0f} s to start and stop Java, the rest for "
        f"{len(RULES)} joins and a model, however little they compute. It holds "
        f"{tiny['peak_gb'] - best['local', sizes[0]]['peak_gb']:.1f} GB more than the local engine.",
        "",
        f"**When it pays.** Not on one machine: beside the local engine, Spark takes {'; '.join(slower)}. Both "
        "put the coupling graph together where kgeval runs, so Spark spares that machine the joins and the "
        "solving, not the memory of the graph. It pays where these two are what takes too long or too much memory, "
        "and several machines stand ready.",
        "",
        "**What an executor can hold.** A component is solved in one Python worker. One giant component, random "
        "rules of two or three atoms:",
        "",
        "| entries | bytes an entry | GB | seconds |",
        "| ---: | ---: | ---: | ---: |",
    ]
    for entries, r in executor.items():
        lines.append(
            f"| {entries:,} | {r['bytes']:.0f} | {entries * r['bytes'] / 1e9:.2f} | {r['seconds']:.1f} |"
        )
    return "\n".join(lines) + "\n"


def total(r: dict[str, float]) -> float:
    return r["start"] + r["couple"] + r["infer"] + r["stop"]


def spark_version() -> str:
    import pyspark

    return pyspark.__version__


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", nargs="*", type=float, default=[1e4, 1e6, 1e7])
    parser.add_argument(
        "--component", nargs="*", type=float, default=[1e6, 4e6], help="ground rules in one component"
    )
    parser.add_argument("--repeat", type=int, default=3, help="the fastest of so many runs counts")
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("SCALE_OUT.md"))
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--executor", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        name, size, output = arguments.one
        print(json.dumps(measure(name, int(size), Path(output))))
        return
    if arguments.executor:
        print(json.dumps(measure_executor(arguments.executor)))
        return
    best: dict[tuple[str, int], dict[str, float]] = {}
    executor = {}
    with tempfile.TemporaryDirectory() as folder:
        for rules in arguments.component:
            entries = write_component(int(rules), Path(folder) / "entries")
            executor[entries] = run_apart("--executor", Path(folder) / "entries")
            print(entries, executor[entries], file=sys.stderr, flush=True)
        for _ in range(arguments.repeat):
            for size in map(int, arguments.sizes):
                for name in ("local", "spark"):
                    result = watch(name, size, Path(folder) / f"{name}.npy")
                    if name == "spark":
                        here, there = (np.load(Path(folder) / f"{n}.npy") for n in ("local", "spark"))
                        result["difference"] = float(np.abs(here - there).max())
                    print(name, size, result, file=sys.stderr, flush=True)
                    known = best.setdefault((name, size), result)
                    for key in ("start", "couple", "infer", "stop", "cpu"):
                        known[key] = min(known[key], result[key])
                    for key in ("peak_gb", "difference"):
                        if key in known:
                            known[key] = max(known[key], result[key])
    arguments.output.write_text(report(best, executor, arguments.repeat), encoding="utf-8")
    print(arguments.output.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()

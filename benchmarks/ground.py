"""Grounding, ours against PSL's, on the same synthetic graph and rules; writes GROUND.md beside itself.

The graph is made of blocks of 16 entities: three relations of out-degree 6 and a full one for the heads, so
that 544 beliefs have 5,472 groundings by seven rules of body length 1, 2 and 3. Each measurement runs in a
process of its own. PSL (pip install pslpython, Java) is measured from its own log, from "Grounding out model"
to "Grounding complete"; loading its data and the JVM's start do not count against it. The engines take turns,
and the fastest of some runs counts for each, since other work on the machine only ever adds time.

    python benchmarks/ground.py                                    # all sizes
    python benchmarks/ground.py --sizes 1e5 1e6 --psl-sizes 1e5    # some
"""

import argparse
import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BLOCK, DEGREE = 16, 6
PER_BLOCK = 3 * BLOCK * DEGREE + 3 * BLOCK * DEGREE**2 + BLOCK * DEGREE**3
RULES = [("p1",), ("p2",), ("p3",), ("p1", "p2"), ("p2", "p3"), ("p1", "p3"), ("p1", "p2", "p3")]
NAMESPACE = "http://example.org/"


def make_triples(groundings: int):
    """Triples (subject, predicate, object) of the blocks that have about so many groundings."""
    import numpy as np

    random = np.random.default_rng(1)
    for block in range(max(1, round(groundings / PER_BLOCK))):
        names = [f"e{block}_{i}" for i in range(BLOCK)]
        for s in range(BLOCK):
            for p in ("p1", "p2", "p3"):
                for o in random.permutation(BLOCK)[:DEGREE]:
                    yield names[s], p, names[o]
            for o in range(BLOCK):
                yield names[s], "q", names[o]


def measure_ground(groundings: int) -> dict[str, float]:
    """Our grounding alone: the ground rules, as columns of atoms."""
    from rdf_kgeval.coupling.grounding import ground

    return measure_ours(groundings, lambda *given: sum(len(head) for head in ground(*given).head))


def measure_couple(groundings: int) -> dict[str, float]:
    """All of `couple`: the coupling graph."""
    from rdf_kgeval.coupling.graph import couple

    return measure_ours(groundings, lambda *given: int(couple(*given).groundings.sum()))


def measure_ours(groundings: int, job) -> dict[str, float]:
    from rdf_kgeval.beliefs.builder import BeliefsBuilder
    from rdf_kgeval.beliefs.table import Role
    from rdf_kgeval.rules.rule import Rule

    def iri(name: str) -> str:
        return f"<{NAMESPACE}{name}>"

    builder = BeliefsBuilder()
    builder.add(((iri(s), iri(p), iri(o), "") for s, p, o in make_triples(groundings)), Role.BELIEF)
    beliefs = builder.build()
    rules = [
        Rule(
            id="-".join(chain),
            body=tuple((f"?x{i}", iri(p), f"?x{i + 1}") for i, p in enumerate(chain)),
            head=("?x0", iri("q"), f"?x{len(chain)}"),
        )
        for chain in RULES
    ]
    del builder
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, cpu = time.perf_counter(), time.process_time()
    made = job(beliefs, rules)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    return {
        "beliefs": beliefs.n_beliefs,
        "groundings": made,
        "seconds": seconds,
        "cpu": cpu_seconds,
        "before_mb": before / 1024,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def measure_psl(groundings: int) -> dict[str, float]:
    """Run PSL with one step of optimisation; our parent reads its log."""
    from pslpython.model import Model
    from pslpython.partition import Partition
    from pslpython.predicate import Predicate
    from pslpython.rule import Rule

    with tempfile.TemporaryDirectory() as folder:
        files = {p: (Path(folder) / f"{p}.txt").open("w") for p in ("p1", "p2", "p3", "q")}
        counts = 0
        for s, p, o in make_triples(groundings):
            files[p].write(f"{s}\t{o}\n")
            counts += 1
        model = Model("ground")
        for p, file in files.items():
            file.close()
            predicate = Predicate(p, size=2)
            predicate.add_data_file(Partition.TARGETS, file.name)
            model.add_predicate(predicate)
        for chain in RULES:
            body = " & ".join(f"{p}(X{i}, X{i + 1})" for i, p in enumerate(chain))
            model.add_rule(Rule(f"1.0: {body} -> q(X0, X{len(chain)}) ^2"))
        options = {
            "runtime.log.level": "DEBUG",
            "reasoner.maxiterations": "1",
            "admmreasoner.maxiterations": "1",
        }
        model.infer(psl_options=options, jvm_options=["-Xmx12G"])
    return {"beliefs": counts, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def run(engine: str, groundings: int) -> dict[str, float]:
    """One measurement in its own process."""
    command = [sys.executable, __file__, "--one", engine, str(groundings)]
    log: list[str] = []
    cpu: dict[str, float] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            log.append(line)
            for mark in MARKS:
                if mark in line:
                    cpu[mark] = cpu_seconds(process.pid)
    text = "".join(log)
    if process.returncode:
        sys.exit(f"{engine} at {groundings:,} failed:\n{text[-4000:]}")
    result = json.loads(next(line for line in reversed(log) if line.startswith("{")))
    if engine == "psl":
        at = [int(re.search(rf"(\d+)\s+\[.*{mark}", text)[1]) for mark in MARKS]
        result["seconds"] = (at[1] - at[0]) / 1000
        result["cpu"] = cpu[MARKS[1]] - cpu[MARKS[0]]
        result["groundings"] = int(re.search(r"Generated (\d+) terms", text)[1])
    return result


MARKS = ("Grounding out model", "Grounding complete")


def cpu_seconds(process: int) -> float:
    """User and system time of all threads of a process so far (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def write_report(rows: list[tuple[str, dict[str, float]]], repeat: int) -> None:
    psl = {r["groundings"]: r for name, r in rows if name == "psl"}
    lines = [
        "# Grounding",
        "",
        f"`python benchmarks/ground.py` on {os.cpu_count()} cores ({platform.machine()}, Python "
        f"{platform.python_version()}), all in one run, the fastest of {repeat} for each. `ground` makes the ground "
        "rules, which is what PSL's grounding does, here timed by its own log; `couple` is all that `kgeval init` does "
        "with them: duplicates merged, the coupling graph in both directions. All make the same ground rules. Memory "
        "is the peak of the process, beliefs included. Load average of the machine at the end: "
        f"{os.getloadavg()[2]:.1f}.",
        "",
        "| engine | beliefs | groundings | seconds | CPU seconds | groundings/s | peak memory | PSL / ours, wall | CPU |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, r in rows:
        against = psl.get(r["groundings"]) if name != "psl" else None
        cells = [
            name,
            f"{r['beliefs']:,.0f}",
            f"{r['groundings']:,.0f}",
            f"{r['seconds']:.2f}",
            f"{r['cpu']:.2f}",
            f"{r['groundings'] / r['seconds']:,.0f}",
            f"{r['peak_mb'] / 1024:.2f} GB",
            f"{against['seconds'] / r['seconds']:.0f}" if against else "",
            f"{against['cpu'] / r['cpu']:.0f}" if against else "",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    (Path(__file__).parent / "GROUND.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


MEASURES = {"ground": measure_ground, "couple": measure_couple, "psl": measure_psl}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", nargs="*", type=float, default=[1e5, 1e6, 1e7])
    parser.add_argument("--psl-sizes", nargs="*", type=float, default=[1e5, 1e6])
    parser.add_argument("--repeat", type=int, default=3, help="the fastest of so many runs counts")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        engine, size = arguments.one
        print(json.dumps(MEASURES[engine](int(float(size)))), flush=True)
        return
    sizes = {"ground": arguments.sizes, "couple": arguments.sizes, "psl": arguments.psl_sizes}
    wanted = [(engine, int(n)) for engine in MEASURES for n in sizes[engine]]
    best: dict[tuple[str, int], dict[str, float]] = {}
    for _ in range(arguments.repeat):
        for key in wanted:
            result = run(*key)
            print(key, result, file=sys.stderr, flush=True)
            known = best.setdefault(key, result)
            for name, choose in (("seconds", min), ("cpu", min), ("peak_mb", max)):
                known[name] = choose(known[name], result[name])
    write_report([(key[0], best[key]) for key in wanted], arguments.repeat)


if __name__ == "__main__":
    main()

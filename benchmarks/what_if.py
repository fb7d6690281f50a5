"""How many what-if re-solves a second greedy control can ask, on the real evaluation sets; writes WHATIF.md.

python benchmarks/what_if.py [FOLDER-OF-THE-SETS]      # ../shared/data by default
"""

import os
import sys
import time
from pathlib import Path

import numpy as np

import rdf_kgeval as kgeval
from rdf_kgeval.inference.incremental.solution import Incremental
from rdf_kgeval.inference.model import pose
from rdf_kgeval.inference.solver.solve import solve

RULES = kgeval.MiningOptions(
    constants=False, types=False, min_support=2, min_head_coverage=0, min_confidence=0.1, keep_redundant=True,
    max_per_head=None,
)  # fmt: skip
"""All closed paths of length 1 to 3 with support >= 2 and PCA confidence >= 0.1."""


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2] / "shared" / "data"
    lines = [
        "# What-if re-solves",
        "",
        "Written by `python benchmarks/what_if.py`: rules are mined from each set (closed paths of length 1 to 3, "
        "support at least 2, PCA confidence at least 0.1), 50 random beliefs are clamped to true, and every other "
        "belief is asked for both values, in one thread. A warm full solve is the peer.",
        "",
        "| set | rules | groundings | largest component | what-ifs | a second | warm full solves a second |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name in ("nell-sports", "yago2-sample"):
        beliefs = kgeval.read_beliefs(folder / name / "beliefs.nt")
        rules = kgeval.mine(beliefs, RULES)
        graph = kgeval.couple(beliefs, rules)
        seed = np.random.default_rng(1).choice(beliefs.rows, 50, replace=False)
        posed = pose(graph, {int(row): 1.0 for row in seed})
        solution = solve(posed.model)
        search = Incremental(posed.model, solution)
        candidates = np.arange(posed.model.n_variables)
        search.what_ifs(candidates[:10])
        start = time.perf_counter()
        search.what_ifs(candidates)
        rate = 2 * len(candidates) / (time.perf_counter() - start)
        start = time.perf_counter()
        for _ in range(20):
            solve(posed.model, start=solution.x)
        full = 20 / (time.perf_counter() - start)
        largest = int(graph.component_sizes().max(initial=0))
        lines.append(
            f"| {name} | {len(rules):,} | {int(graph.groundings.sum()):,} | {largest:,} | "
            f"{2 * len(candidates):,} | {rate:,.0f} | {full:,.0f} |"
        )
    lines += ["", f"Load average of the machine at the end: {os.getloadavg()[0]:.1f}."]
    print("\n".join(lines))
    (Path(__file__).parent / "WHATIF.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

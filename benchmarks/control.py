"""How long greedy control takes to pick; writes CONTROL.md.

    python benchmarks/control.py [--data FOLDER] [--beliefs 1e5 1e6] [--verdicts 20]

On nell-sports with mined rules every pick looks at all beliefs; the peer is one whole inference for each of the two
answers of each candidate, timed on 20 candidates, which is what the same pick would cost without re-solves. The
generated graphs are those of benchmarks/leagues.py; above 100,000 beliefs greedy control uses its shortlist.
"""

import argparse
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from leagues import generate
from paper import load, method

from rdf_kgeval.coupling.graph import CouplingGraph
from rdf_kgeval.evaluation.simulation import Gold
from rdf_kgeval.inference.infer import infer_rows
from rdf_kgeval.pipeline import Evaluation
from rdf_kgeval.verdicts.log import Answer

HERE = Path(__file__).parent


def picks(name: str, graph: CouplingGraph, gold: Gold, verdicts: int) -> Iterator[str]:
    begin = time.perf_counter()
    evaluation = Evaluation(
        graph, method("greedy/inferable", budget=50 + verdicts, converge=False), threads=os.cpu_count() or 1
    )
    took = []
    while True:
        start = time.perf_counter()
        requests = evaluation.next()
        took.append(time.perf_counter() - start)
        if not requests:
            break
        answer = Answer.TRUE if gold[requests[0].position] else Answer.FALSE
        evaluation.answer(requests[0], answer, "gold")
    whole = time.perf_counter() - begin
    took = took[50:-1]
    peer = ""
    if graph.n_beliefs < 10_000:
        known = evaluation.known()
        some = [row for row in graph.beliefs.rows.tolist() if row not in known][:20]
        start = time.perf_counter()
        for row in some:
            for value in (0.0, 1.0):
                infer_rows(graph, {**known, row: value}, evaluation.inference.thetas)
        each = (time.perf_counter() - start) / len(some)
        peer = f"{each * (graph.n_beliefs - len(known)):.1f}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    yield (
        f"| {name} | {graph.n_beliefs:,} | {int(graph.groundings.sum()):,} "
        f"| {int(graph.component_sizes().max(initial=0)):,} | {took[0]:.2f} | {np.median(took[1:]):.3f} "
        f"| {np.max(took[1:]):.2f} | {whole:.1f} | {peer} | {peak:.1f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=HERE.parents[1] / "shared" / "data")
    parser.add_argument("--beliefs", nargs="*", default=["1e5", "1e6"])
    parser.add_argument(
        "--verdicts", type=int, default=20, help="picks after the seed set, on generated graphs"
    )
    parser.add_argument("--output", type=Path, default=HERE / "CONTROL.md")
    arguments = parser.parse_args()
    lines = [
        "# Greedy control, measured by benchmarks/control.py\n",
        " ".join((__doc__ or "").split("\n\n")[2].split()) + "\n",
    ]
    lines += ["The paper reports 320 s for one iteration with PSL.\n"]
    lines.append(
        "| graph | beliefs | groundings | largest component | first pick s | median pick s | slowest later pick s "
        "| whole run s | one pick by whole inferences s | peak GB |"
    )
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    print("\n".join(lines), flush=True)
    for name in ("nell-sports", "yago2-sample"):
        one = load(name, arguments.data)
        add(lines, picks(name, one.graph, one.gold, 90))
    for size in arguments.beliefs:
        graph, gold = generate(int(float(size)))
        add(lines, picks(f"leagues {size}", graph, gold, arguments.verdicts))
    arguments.output.write_text("\n".join(lines) + "\n")


def add(lines: list[str], rows: Iterator[str]) -> None:
    for row in rows:
        print(row, flush=True)
        lines.append(row)


if __name__ == "__main__":
    main()

"""What every method promises and what it keeps: writes COVERAGE.md and figures/coverage-*.svg beside this file.

    python benchmarks/coverage.py [--processes 2] [--seeds 10000] [--real-seeds 1000] [--report]

Part (a) runs the designs on the real sets through the interface that `kgeval evaluate` uses. Part (b) is the
synthetic sweep: exact recursion for simple random samples, compiled runs for all others. Results are kept in
figures/coverage.json, from which `--report` writes the text and the figures again.
"""

import argparse
import json
from pathlib import Path

if __name__ != "__main__":
    raise ImportError("this is a benchmark; numba looks for the package of the same name")


def main() -> None:
    from coverage_report import draw, report
    from coverage_runs import measure

    here = Path(__file__).parent
    figures = here / "figures"
    store = figures / "coverage.json"
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=10_000, help="seeds a point in the sweep")
    parser.add_argument("--real-seeds", type=int, default=1000, help="seeds on the real sets")
    parser.add_argument(
        "--report", action="store_true", help="only write text and figures from the kept results"
    )
    options = parser.parse_args()
    figures.mkdir(exist_ok=True)
    if not options.report:
        store.write_text(json.dumps(measure(options.processes, options.seeds, options.real_seeds)))
    results = json.loads(store.read_text())
    draw(results, figures)
    (here / "COVERAGE.md").write_text(report(results))


main()

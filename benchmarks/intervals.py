"""What every method promises and what it keeps: writes COVERAGE.md and figures/coverage-*.svg beside this file.

    python benchmarks/intervals.py [--parts real,stratified,...] [--processes 2] [--seeds 10000]

Part (a) runs the designs on the real sets through the interface that `kgeval evaluate` uses. Part (b) is the
synthetic sweep: exact recursion for simple random samples, compiled runs for all others. Results are kept in
figures/coverage-*.json as each part ends; a run of some parts, or of none, keeps the others, and the text says which are missing.
"""

import argparse
import json
from pathlib import Path

from interval_report import draw, report
from interval_runs import PARTS, measure


def main() -> None:
    here = Path(__file__).parent
    figures = here / "figures"
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--seeds", type=int, default=10_000, help="seeds a point in the sweep; a tenth on the real sets"
    )
    parser.add_argument("--parts", default=",".join(PARTS), help="what to measure, or an empty text")
    options = parser.parse_args()
    figures.mkdir(exist_ok=True)
    for part in filter(None, options.parts.split(",")):
        found = measure(part, options.processes, options.seeds)
        (figures / f"coverage-{part}.json").write_text(json.dumps(found))
    kept = {part: figures / f"coverage-{part}.json" for part in PARTS}
    results = {part: json.loads(store.read_text()) for part, store in kept.items() if store.exists()}
    draw(results, figures)
    (here / "COVERAGE.md").write_text(report(results))


if __name__ == "__main__":
    main()

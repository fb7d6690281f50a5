"""Fifty annotators at once on a run with 100,000 beliefs, killed in the middle; writes ANNOTATORS.md.

python benchmarks/annotators.py [SECONDS]
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.functional.test_load import big_run, work  # noqa: E402

METHODS = {
    "srs/wilson": ("--policy", "srs", "--margin", "0.002"),
    "stratified/bayes": ("--margin", "0.01"),
}


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    lines = [
        "# Fifty annotators at once",
        "",
        "Written by `python benchmarks/annotators.py`: 50 simulated annotators, who think for a quarter of a second "
        f"on average, for {seconds:.0f} seconds on a run with 100,000 beliefs, on the same "
        f"{os.cpu_count()} cores as the server, which is killed with SIGKILL in the middle. Some click twice, skip "
        "or undo. Every acknowledged answer is then found in the log, once. Times are from sending an answer to "
        "having the next belief.",
        "",
        "| method | answers | a second | p50 ms | p90 ms | p99 ms |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, options in METHODS.items():
        with tempfile.TemporaryDirectory() as folder:
            seen = work(big_run(Path(folder), 100_000), 50, seconds, 0.25, *options)
        p50, p90, p99 = np.percentile(np.array(seen.seconds) * 1000, [50, 90, 99])
        rate = len(seen.told) / seconds
        lines.append(f"| {name} | {len(seen.told):,} | {rate:.0f} | {p50:.0f} | {p90:.0f} | {p99:.0f} |")
    (Path(__file__).parent / "ANNOTATORS.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

"""Fuzz every reader of outside input: `python -m tests.fuzzing [--seconds 60] [NAME...]`.

Coverage-guided by atheris (`pip install -e '.[fuzz]'`), each reader in a process of its own. A finding is
an exception that is not ours, a message that is not printable, an input that takes longer than 25 seconds or
2 GB, or a crash; the input is then kept in --findings, and the exit code is 1.
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fuzzing.mutations import mutate

COVERED = ["rdf_kgeval", "owlrl"]
PACKAGE = Path(__file__).parents[2] / "rdf_kgeval"
COMPILED = [
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for path in PACKAGE.rglob("*.py")
    if "kernel" in path.read_text(encoding="utf-8")
]
"""Kernels, which numba cannot compile with atheris' probes in them."""


def main() -> int:
    """Fuzz one reader after the other."""
    from tests.fuzzing.targets import TARGETS

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=int, default=60, help="for each reader")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"))
    options = parser.parse_args()
    options.findings.mkdir(exist_ok=True)
    inputs = failures = 0
    for name in options.names or TARGETS:
        with tempfile.TemporaryDirectory() as corpus:
            for number, seed in enumerate(TARGETS[name].seeds()):
                (Path(corpus) / str(number)).write_bytes(seed)
            command = [sys.executable, "-m", "tests.fuzzing.reader", name, corpus]
            command += [f"-max_total_time={options.seconds}", "-timeout=25", "-rss_limit_mb=2048", "-seed=1"]
            command += ["-max_len=200000", f"-artifact_prefix={options.findings}/{name}-"]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        (options.findings / f"{name}.log").write_text(done.stderr[-20_000:])
        runs = [int(n) for n in re.findall(r"^#(\d+)", done.stderr, re.MULTILINE)]
        inputs += max(runs, default=0)
        failures += done.returncode != 0
        verdict = "no finding" if done.returncode == 0 else f"FINDING, see {options.findings}/{name}.log"
        print(f"{name}: {max(runs, default=0):,} inputs, {verdict}", flush=True)
    print(f"{inputs:,} inputs, {failures} findings")
    return int(failures > 0)


def fuzz(name: str, arguments: list[str]) -> None:
    """Fuzz one reader until the time is up or something is found."""
    import atheris

    with atheris.instrument_imports(include=COVERED, exclude=COMPILED):
        from tests.fuzzing.targets import TARGETS, check
    target = TARGETS[name]
    seeds = target.seeds()

    def custom_mutator(data: bytes, max_size: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.2:
            return bytes(atheris.Mutate(data, max_size))
        return mutate(rng, data or rng.choice(seeds), seeds)[:max_size]

    atheris.Setup([name, *arguments], lambda data: check(target, data), custom_mutator=custom_mutator)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())

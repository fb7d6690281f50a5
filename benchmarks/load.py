"""Load N-Triples into Beliefs, against rdflib in the same run; writes LOAD.md beside this file.

    python benchmarks/load.py                 # 1M, 3M and 10M triples
    python benchmarks/load.py 100000          # other sizes

Each measurement is a process of its own: CPU seconds and peak memory of reading one file.
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

EX = "http://example.org"
XSD_INTEGER = "http://www.w3.org/2001/XMLSchema#integer"

OURS = "import rdf_kgeval; n = len(rdf_kgeval.read_beliefs(path))"
RDFLIB = "import rdflib; n = len(rdflib.Graph().parse(path, format='nt'))"
MEASURE = """
import json, resource, sys, time
path = sys.argv[1]
{job}
use = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({{"n": n, "cpu": use.ru_utime + use.ru_stime, "mb": use.ru_maxrss / 1024}}))
"""


def generate(path: Path, triples: int) -> None:
    """Write a graph as a dump has it, subject by subject: links, labels in English, and integers."""
    rng = random.Random(1)
    entities = triples // 5
    with path.open("w") as file:
        for i in range(triples):
            p = rng.randrange(50)
            if p < 40:
                o = f"<{EX}/resource/entity_{rng.randrange(entities)}>"
            elif p < 45:
                o = f'"name {rng.randrange(entities)} of a thing"@en'
            else:
                o = f'"{rng.randrange(10_000)}"^^<{XSD_INTEGER}>'
            file.write(f"<{EX}/resource/entity_{i // 5}> <{EX}/property/p{p}> {o} .\n")


def measure(job: str, path: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE.format(job=job), str(path)], capture_output=True, text=True, check=True
    )
    return dict(json.loads(done.stdout))


def main() -> None:
    sizes = [int(a) for a in sys.argv[1:]] or [1_000_000, 3_000_000, 10_000_000]
    lines = ["# Loading N-Triples", "", "Written by `python benchmarks/load.py`.", ""]
    lines += [
        "| triples | ours: CPU s | ours: peak MB | CPU µs per triple | rdflib: CPU s | rdflib: peak MB |"
    ]
    lines += ["| --- | --- | --- | --- | --- | --- |"]
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            path = Path(folder) / "kg.nt"
            generate(path, size)
            ours = measure(OURS, path)
            row = f"| {size:,} | {ours['cpu']:.1f} | {ours['mb']:.0f} | {ours['cpu'] / size * 1e6:.2f}"
            if size == sizes[0]:
                theirs = measure(RDFLIB, path)
                assert theirs["n"] == ours["n"]
                row += f" | {theirs['cpu']:.1f} | {theirs['mb']:.0f} |"
                ratio = f"{theirs['cpu'] / ours['cpu']:.1f} times less CPU time"
                memory = f"{theirs['mb'] / ours['mb']:.1f} times less memory"
                summary = f"At {size:,} triples ours takes {ratio} and {memory} than `rdflib.Graph().parse`."
            else:
                row += " | | |"
            print(row, flush=True)
            lines.append(row)
    lines += ["", summary]
    print(summary)
    (Path(__file__).parent / "LOAD.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

"""A graph with planted errors whose truth is known without a gold file: a digest of the triple decides.

python benchmarks/planted.py FILE.nt [TRIPLES]
"""

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

EX = "http://example.org/"
GRAPH = f"{EX}planted"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
XSD_INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
SMALL = 20
"""Predicates that are too small for a stratum of their own."""
ACCURACY = {
    f"{EX}bornIn": 0.92,
    f"{EX}worksFor": 0.80,
    RDFS_LABEL: 0.99,
    RDF_TYPE: 0.97,
    f"{EX}inhabitants": 0.70,
    **{f"{EX}rare{i}": 0.60 for i in range(SMALL)},
}
"""The chance of a triple of each predicate to be true."""
SHARE = (0.30, 0.24, 0.18, 0.16, 0.08)
"""What the first predicates have of all triples; the small ones share the rest evenly."""


def is_true(s: str, p: str, o: str) -> bool:
    """Whether a triple of N-Triples terms is true, by a digest that no sampler uses."""
    digest = hashlib.blake2b(f"planted {s} {p} {o}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64 < ACCURACY[p[1:-1]]


def triples(total: int) -> Iterator[tuple[str, str, str]]:
    """Distinct triples, as N-Triples terms."""
    names = list(ACCURACY)
    counts = [int(total * share) for share in SHARE]
    rest = total - sum(counts)
    counts += [rest // SMALL + (i < rest % SMALL) for i in range(SMALL)]
    for name, count in zip(names, counts, strict=True):
        for i in range(count):
            s, o = f"<{EX}entity/{i}>", f"<{EX}entity/{i * 7919 % total}>"
            if name == RDFS_LABEL:
                o = f'"entity number {i}"@en'
            elif name == RDF_TYPE:
                o = f"<{EX}class/{i % 11}>"
            elif name == f"{EX}inhabitants":
                o = f'"{i * 31 % 999_983}"^^<{XSD_INTEGER}>'
            yield s, f"<{name}>", o


def write(path: Path, total: int) -> dict[str, tuple[int, int]]:
    """Write N-Triples; by predicate, how many there are and how many of them are true."""
    found = {name: [0, 0] for name in ACCURACY}
    with path.open("w", encoding="utf-8") as file:
        for s, p, o in triples(total):
            file.write(f"{s} {p} {o} .\n")
            tally = found[p[1:-1]]
            tally[0] += 1
            tally[1] += is_true(s, p, o)
    return {name: (n, true) for name, (n, true) in found.items()}


if __name__ == "__main__":
    counted = write(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5_000_000)
    for name, (n, true) in counted.items():
        print(f"{name}: {n:,} triples, {true / n:.4f} true")
    print(f"in all {sum(t for _, t in counted.values()) / sum(n for n, _ in counted.values()):.6f} true")

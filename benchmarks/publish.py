"""Publish annotated beliefs, against rdflib in the same run; writes PUBLISH.md beside this file.

    python benchmarks/publish.py                    # 100,000 beliefs, with rdflib, and 1,000,000 without
    python benchmarks/publish.py 10000 50000        # other sizes

Each measurement is a process of its own. Every belief is annotated; for half of them the label is inferred and
carries its evidence. Ours starts from the evaluation and ends with the file, inference included. rdflib starts
from the finished quads, so that it is charged only for its terms, `Dataset` and `serialize`, and not for
working out what to say.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

EX = "http://example.org/"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
MEMBERS = 999
"""Members of each club: a verdict on the club tells of all of them."""

SETUP = """
import ctypes, json, re, sys, time
from pathlib import Path
import rdf_kgeval as kgeval
from rdf_kgeval.pipeline import Evaluation
from rdf_kgeval.publishing.rdf import Annotations, RecordOptions, lines_of, make_record, write_record
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.verdicts.log import Answer, Drawn, Verdict

def start():
    # Forget the peak of what came before.
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS"), time.perf_counter(), time.process_time()

def memory(what):
    return int(re.search(what + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

folder, suffix = Path(sys.argv[1]), sys.argv[2]
beliefs = kgeval.read_beliefs(folder / "kg.nt", context=[folder / "context.nt"])
graph = kgeval.couple(beliefs, kgeval.read_rules(folder / "rules"))
kgeval.infer(kgeval.couple(kgeval.read_beliefs(folder / "small.nt", context=[folder / "context.nt"]), graph.rules))
clubs = [row for row in beliefs.rows.tolist() if beliefs.triple(row)[2].endswith("Club>")][::2]
verdicts = [
    Verdict(belief=beliefs.id(row), answer=Answer.TRUE, annotator="a", time="2026-01-01T00:00:00+00:00",
            drawn=Drawn.CONTROL)
    for row in clubs
]
evaluation = Evaluation(graph, Settings(policy="random", estimator="mean", seed_size=0, converge=False), verdicts)
options = RecordOptions(annotations=Annotations.ALL)
"""
OURS = """
before, begin, cpu = start()
write_record(evaluation, folder / f"ours.{suffix}", options)
"""
RDFLIB = """
import pyoxigraph as ox, rdflib
from rdf_kgeval.beliefs.terms import to_rdflib
quads = [q for c in lines_of(make_record(evaluation, options)) for q in ox.parse(c, format=ox.RdfFormat.N_QUADS)]
before, begin, cpu = start()
dataset = rdflib.Dataset()
named = dataset.graph(to_rdflib(quads[0].graph_name))
for q in quads:
    named.add((to_rdflib(q.subject), to_rdflib(q.predicate), to_rdflib(q.object)))
dataset.serialize(folder / f"rdflib.{suffix}", format={"nq": "nquads", "trig": "trig"}[suffix])
"""
END = """
seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
path = next(p for p in (folder / f"ours.{suffix}", folder / f"rdflib.{suffix}") if p.exists())
print(json.dumps({"seconds": seconds, "cpu": cpu, "before": before, "peak": memory("VmHWM"),
                  "mb": path.stat().st_size / 1e6, "path": str(path)}))
"""


def generate(folder: Path, beliefs: int) -> None:
    """Clubs and their members: who is a member of a club, is a person."""
    clubs = max(2, beliefs // (MEMBERS + 1))
    (folder / "rules").mkdir()
    (folder / "rules" / "member.rq").write_text(
        f"#+ id: member\n#+ confidence: 0.95\nPREFIX : <{EX}>\n"
        "CONSTRUCT { ?x a :Person } WHERE { ?club a :Club . ?x :memberOf ?club }\n"
    )
    with (folder / "kg.nt").open("w") as kg, (folder / "context.nt").open("w") as context:
        for club in range(clubs):
            kg.write(f"<{EX}club/{club}> {TYPE} <{EX}Club> .\n")
            for member in range(beliefs // clubs - 1):
                person = f"<{EX}person/{club}-{member}>"
                kg.write(f"{person} {TYPE} <{EX}Person> .\n")
                context.write(f"{person} <{EX}memberOf> <{EX}club/{club}> .\n")
    (folder / "small.nt").write_text(
        f"<{EX}club/0> {TYPE} <{EX}Club> .\n<{EX}person/0-0> {TYPE} <{EX}Person> .\n"
    )


def measure(job: str, folder: Path, suffix: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SETUP + job + END, str(folder), suffix],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


def triples(path: str) -> int:
    import pyoxigraph as ox

    count = sum(1 for _ in ox.parse(path=path))
    Path(path).unlink()
    return count


def main() -> None:
    small, large = [int(a) for a in sys.argv[1:]] or [100_000, 1_000_000]
    lines = ["# Publishing annotated beliefs", "", "Written by `python benchmarks/publish.py`.", ""]
    lines += [
        "| beliefs | format | by | triples | file MB | CPU s | seconds | memory before, MB | more at the peak, MB |"
    ]
    lines += ["| --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    found: dict[tuple[int, str, str], dict[str, float]] = {}
    for size in (small, large):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            generate(folder, size)
            for suffix in ("nq", "trig"):
                for by, job in (("ours", OURS), ("rdflib", RDFLIB)):
                    if by == "rdflib" and size != small:
                        continue
                    row = found[size, suffix, by] = measure(job, folder, suffix)
                    row["triples"] = triples(str(row["path"]))
                    lines.append(
                        f"| {size:,} | {suffix} | {by} | {row['triples']:,} | {row['mb']:.0f} | {row['cpu']:.1f} "
                        f"| {row['seconds']:.1f} | {row['before']:.0f} | {row['peak'] - row['before']:.0f} |"
                    )
                    print(lines[-1], flush=True)
    lines.append("")
    for suffix in ("nq", "trig"):
        ours, theirs = found[small, suffix, "ours"], found[small, suffix, "rdflib"]
        assert ours["triples"] == theirs["triples"]
        lines.append(
            f"{small:,} beliefs as {suffix}: ours takes {theirs['cpu'] / ours['cpu']:.1f} times less CPU time than rdflib "
            f"and {(theirs['peak'] - theirs['before']) / max(1, ours['peak'] - ours['before']):.0f} times less memory "
            "on top of what was there before."
        )
    grown = found[large, "nq", "ours"]
    lines.append(
        f"{large:,} beliefs: the file has {grown['mb']:,.0f} MB, and writing it took {grown['peak'] - grown['before']:.0f} MB "
        "more than the evaluation itself: inference's arrays, and 32 bytes of digest for each belief."
    )
    print("\n".join(lines[-3:]))
    (Path(__file__).parent / "PUBLISH.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

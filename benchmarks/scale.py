"""A synthetic graph through the whole pipeline, stage by stage; writes SCALE.md beside this file.

    python benchmarks/scale.py                                   # 1M, 3M and 10M beliefs
    python benchmarks/scale.py 100000 300000 --print             # other sizes, nothing written
    python benchmarks/scale.py --memory-limit 1GB                # the last size again in a container of this size

Every stage is a process of its own, as a user's commands are, so that its seconds contain the start of Python and
the loading of compiled code. Memory is what the process cannot give back (anonymous pages) and, beside it, all
pages that it had at once, files that are mapped and can be dropped included.
"""

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).parent
EX = "http://example.org/"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
PLAYERS, TEAMS, SPORTS, CITIES = 15, 20, 7, 5_000
PER_LEAGUE = TEAMS * (4 * PLAYERS + 7) + 2
WRONG = 0.1
"""Share of beliefs with a wrong object; half of them name something of another league, which ties leagues together."""
VERDICTS, ANNOTATORS, ERR = 200, ("ann", "bob", "cid"), 0.02

RULES = {
    "league": (["?x :playsFor ?t", "?t :inLeague ?l"], "?x :playsIn ?l", 0.95),
    "team-league": (["?x :playsFor ?t", "?x :playsIn ?l"], "?t :inLeague ?l", 0.85),
    "sport": (["?x :playsIn ?l", "?l :sport ?s"], "?x :plays ?s", 0.95),
    "city": (["?t :home ?h", "?h :inCity ?c"], "?t :inCity ?c", 0.9),
    "stadium": (["?t :home ?h", "?t :inCity ?c"], "?h :inCity ?c", 0.9),
    "captain": (["?x :leads ?t"], "?x :playsFor ?t", 0.97),
    "league-sport": (["?x :playsIn ?l", "?x :plays ?s"], "?l :sport ?s", 0.7),
    "captain-league": (["?x :leads ?t", "?x :playsIn ?l"], "?t :inLeague ?l", 0.9),
}
ONTOLOGY = f"""@prefix : <{EX}> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:playsFor rdfs:domain :Player ; rdfs:range :Team .
:playsIn rdfs:domain :Player ; rdfs:range :League .
:plays rdfs:domain :Player .
:leads rdfs:domain :Player ; rdfs:range :Team .
:inLeague rdfs:domain :Team ; rdfs:range :League .
:home rdfs:domain :Team ; rdfs:range :Stadium .
:sport rdfs:domain :League .
:Player owl:disjointWith :Team , :League , :Stadium .
:Team owl:disjointWith :League , :Stadium .
"""


def generate(folder: Path, beliefs: int, seed: int = 0) -> float:
    """Leagues of teams of players; returns the share of true beliefs. The names say what is true: see `is_true`."""
    rng = np.random.default_rng(seed)
    leagues = max(1, beliefs // PER_LEAGUE)
    false = 0
    with (folder / "kg.nt").open("w") as kg:
        for i in range(leagues):
            for true, line in _lines(i, leagues, rng):
                kg.write(line)
                false += not true
    (folder / "ontology.ttl").write_text(ONTOLOGY)
    (folder / "rules").mkdir()
    for name, (body, head, confidence) in RULES.items():
        (folder / "rules" / f"{name}.rq").write_text(
            f"#+ id: {name}\n#+ confidence: {confidence}\nPREFIX : <{EX}>\n"
            f"CONSTRUCT {{ {head} }} WHERE {{ {' . '.join(body)} }}\n"
        )
    return 1 - false / (leagues * PER_LEAGUE)


def _lines(i: int, leagues: int, rng: np.random.Generator) -> Iterator[tuple[bool, str]]:
    count = PER_LEAGUE
    wrong = (rng.random(count) < WRONG).tolist()
    far = np.where(rng.random(count) < 0.5, rng.integers(0, leagues, count), i).tolist()
    team, player = rng.integers(0, TEAMS, count).tolist(), rng.integers(0, PLAYERS, count).tolist()
    at = iter(range(count))

    def line(s: str, p: str, true: str, kind: str) -> tuple[bool, str]:
        n = next(at)
        said = true
        if wrong[n]:
            said = {"l": f"l{far[n]}", "t": f"t{far[n]}.{team[n]}", "h": f"h{far[n]}.{team[n]}"}.get(
                kind, f"{kind}{(far[n] * 31 + player[n]) % (SPORTS if kind == 's' else CITIES)}"
            )
        return said == true, f"<{EX}{s}> <{EX}{p}> <{EX}{said}> .\n"

    def typed(s: str, true: str, false: str) -> tuple[bool, str]:
        said = false if wrong[next(at)] else true
        return said == true, f"<{EX}{s}> {TYPE} <{EX}{said}> .\n"

    yield line(f"l{i}", "sport", f"s{i % SPORTS}", "s")
    yield typed(f"l{i}", "League", "Team")
    for j in range(TEAMS):
        t, h, city = f"t{i}.{j}", f"h{i}.{j}", f"c{(i * TEAMS + j) % CITIES}"
        yield line(t, "inLeague", f"l{i}", "l")
        yield line(t, "home", h, "h")
        yield line(t, "inCity", city, "c")
        yield line(h, "inCity", city, "c")
        yield typed(t, "Team", "League")
        yield typed(h, "Stadium", "Team")
        yield line(f"p{i}.{j}.0", "leads", t, "t")
        for k in range(PLAYERS):
            x = f"p{i}.{j}.{k}"
            yield line(x, "playsFor", t, "t")
            yield line(x, "playsIn", f"l{i}", "l")
            yield line(x, "plays", f"s{i % SPORTS}", "s")
            yield typed(x, "Player", "Team")


def is_true(triple: tuple[str, str, str]) -> bool:
    """Whether a generated triple is true, by its names alone."""
    s, p, o = (re.split(r"[/#]", term.strip("<>"))[-1] for term in triple)
    if p == "type":
        return o == {"l": "League", "t": "Team", "h": "Stadium", "p": "Player"}[s[0]]
    i, *rest = (int(part) for part in s[1:].split("."))
    if p in ("plays", "sport"):
        return o == f"s{i % SPORTS}"
    if p in ("playsIn", "inLeague"):
        return o == f"l{i}"
    if p == "inCity":
        return o == f"c{(i * TEAMS + rest[0]) % CITIES}"
    return o == f"{'h' if p == 'home' else 't'}{i}.{rest[0]}"


LOAD = """
from contextlib import nullcontext
from rdf_kgeval.pipeline import prepare
from rdf_kgeval.runs.create import Coupling
from rdf_kgeval.sources.load import Sources
from rdf_kgeval.common.memory import parse_size
sources = Sources(files=[folder / "kg.nt"])
coupling = Coupling(ontologies=[folder / "ontology.ttl"], rules=[folder / "rules"])
def progress(what, done, total):
    name = "couple" if what == "coupling" else "load"
    if name not in marks: mark(name)
memory = None if limit is None else parse_size(limit)
loaded = prepare(folder / "run", sources, coupling, memory_limit=memory, show=lambda: nullcontext(progress))
for note in loaded.config.notes: print(note, file=sys.stderr)
"""
ASK = """
import numpy as np
from scale import ANNOTATORS, ERR, VERDICTS, is_true
from rdf_kgeval.pipeline import open_evaluation
from rdf_kgeval.runs.run import open_run
from rdf_kgeval.verdicts.log import Answer
rng = np.random.default_rng(1)
run = open_run(folder / "run")
with open_evaluation(run, {"budget": VERDICTS, "margin": None, "error_rate": ERR}, threads=2) as evaluation:
    mark("first question")
    while not evaluation.stopped:
        for request in evaluation.next(len(ANNOTATORS)):
            if "verdicts" not in marks: mark("verdicts")
            true = is_true(run.beliefs.triple(int(run.beliefs.rows[request.position])))
            said = true != (rng.random() < ERR)
            evaluation.answer(request, Answer.TRUE if said else Answer.FALSE, ANNOTATORS[rng.integers(3)])
"""
HEAD = """
import json, sys, time
from pathlib import Path
sys.path.insert(0, {here!r})
folder, limit, marks = Path({folder!r}), {limit!r}, dict()
def mark(name):
    marks[name] = time.time()
    print("MARK", name, time.time(), flush=True)
"""


class Watch(threading.Thread):
    """Looks at a process's memory all the time."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.seen: list[tuple[float, float, float]] = []
        self._status = Path(f"/proc/{pid}/status")
        self.start()

    def run(self) -> None:
        while True:
            try:
                text = self._status.read_text()
                anon, rss = (
                    int(re.search(rf"{key}:\s+(\d+)", text)[1]) / 1024 for key in ("RssAnon", "VmRSS")
                )  # type: ignore[index]
            except (OSError, TypeError):
                return
            self.seen.append((time.time(), anon, rss))
            time.sleep(0.02)

    def peak(self, since: float, until: float) -> tuple[float, float]:
        chosen = [(a, r) for t, a, r in self.seen if since <= t <= until] or [(0.0, 0.0)]
        return max(a for a, _ in chosen), max(r for _, r in chosen)


class Stage(NamedTuple):
    """What a part of the pipeline took; memory in MB."""

    name: str
    seconds: float
    anonymous: float
    resident: float


def measure(name: str, command: list[str], box: Path | None) -> list[Stage]:
    """The stages of one process."""
    begin = time.time()
    marks = [(name, begin)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"}
    ) as process:
        if box is not None:
            (box / "cgroup.procs").write_text(str(process.pid))
        watch = Watch(process.pid)
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("MARK "):
                _, *words, moment = line.split()
                marks.append((" ".join(words), float(moment)))
    assert process.returncode == 0, (name, process.returncode)
    marks.append(("end", time.time()))
    if len(marks) > 2:  # what comes before the first mark is start-up of that stage
        marks[1:2] = [(marks[1][0], begin)]
        del marks[0]
    found = []
    for (stage, since), (_, until) in itertools.pairwise(marks):
        found.append(Stage(stage, until - since, *watch.peak(since, until)))
    return found


def container(limit: str | None) -> Path | None:
    """A control group that kills what takes more memory than the limit; None where none is asked for."""
    if limit is None:
        return None
    group = Path("/sys/fs/cgroup/memory") / f"kgeval-scale-{os.getpid()}"
    group.mkdir()
    number, unit = re.fullmatch(r"([0-9.]+)\s*([KMGT]?)i?B?", limit).groups()  # type: ignore[union-attr]
    size = int(float(number) * 1000 ** "_KMGT".index(unit or "_"))
    (group / "memory.limit_in_bytes").write_text(str(size))
    return group


def pipeline(beliefs: int, limit: str | None) -> dict[str, Any]:
    """Seconds and memory of every stage, what the graph is, and what was estimated."""
    box = container(limit)
    with tempfile.TemporaryDirectory(prefix="kgeval-scale-", dir=os.environ.get("SCALE_DIR")) as name:
        folder = Path(name)
        truth = generate(folder, beliefs)
        head = HEAD.format(here=str(HERE), folder=name, limit=limit)
        kgeval = str(Path(sys.executable).parent / "kgeval")
        run = str(folder / "run")
        found: list[Stage] = []
        for stage, command in (
            ("load", [sys.executable, "-c", head + LOAD]),
            ("ask", [sys.executable, "-c", head + ASK]),
            ("estimate", [kgeval, "estimate", run, "--by", "predicate"]),
            ("infer", [kgeval, "infer", run]),
            ("publish", [kgeval, "publish", run, "-o", str(folder / "out.nq")]),
            ("report", [kgeval, "report", run, "-o", str(folder / "out.html")]),
        ):
            new = measure(stage, command, box)
            found += new
            for one in new:
                print(f"{beliefs:,} {one.name}: {one.seconds:.1f} s, {one.anonymous:.0f} MB", flush=True)
        if box is not None:
            box.rmdir()
        shown, estimated = (
            json.loads(subprocess.run([kgeval, *words], capture_output=True, text=True, check=True).stdout)
            for words in (["show", run, "--json"], ["estimate", run, "--json"])
        )
        record = sum(1 for _ in (folder / "out.nq").open())
    return {"stages": found, "shown": shown, "estimated": estimated, "truth": truth, "record": record}


def table(results: dict[int, dict[str, Any]]) -> list[str]:
    """Seconds and memory, a row for each stage."""
    sizes = list(results)
    lines = ["| stage | " + " | ".join(f"{n:,}: s, MB held, MB at most" for n in sizes) + " |"]
    lines += ["| --- |" + " --- |" * len(sizes)]
    for rows in zip(*(results[n]["stages"] for n in sizes), strict=True):
        cells = (f"{one.seconds:.1f}, {one.anonymous:.0f}, {one.resident:.0f}" for one in rows)
        lines.append(f"| {rows[0].name} | {' | '.join(cells)} |")
    totals = [sum(one.seconds for one in results[n]["stages"]) for n in sizes]
    lines.append("| all | " + " | ".join(f"**{total:.1f} s**" for total in totals) + " |")
    lines.append("")
    for n in sizes:
        shown, estimated = results[n]["shown"], results[n]["estimated"]
        low, high = estimated["interval"]
        lines.append(
            f"- {shown['beliefs']:,} beliefs, {shown['constraints']:,} constraints, components: "
            f"{shown['components']:,}; after {estimated['asked']} verdicts {estimated['accuracy']:.1%} "
            f"[{low:.1%}, {high:.1%}], in truth {results[n]['truth']:.1%}; {estimated['inferred']:,} more inferred; "
            f"record of {results[n]['record']:,} triples"
        )
    if len(sizes) > 1:
        growth = np.log(totals[-1] / totals[0]) / np.log(sizes[-1] / sizes[0])
        lines += [
            "",
            f"Seconds grow as beliefs to the power {growth:.2f} from {sizes[0]:,} to {sizes[-1]:,}.",
        ]
    return lines


def draw(results: dict[int, dict[str, Any]], file: Path) -> None:
    """Where the time goes, a bar for each size."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "kgeval"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 2.6))
    sizes = list(results)
    left = np.zeros(len(sizes))
    for rows in zip(*(results[n]["stages"] for n in sizes), strict=True):
        width = np.array([one.seconds / n * 1e6 for one, n in zip(rows, sizes, strict=True)])
        axes.barh([f"{n / 1e6:g}M" for n in sizes], width, left=left, label=rows[0].name)
        left += width
    axes.set_xlabel("seconds for each million beliefs")
    axes.set_ylabel("beliefs")
    axes.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.28), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(file, bbox_inches="tight", metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sizes", nargs="*", type=int, default=[1_000_000, 3_000_000, 10_000_000])
    parser.add_argument("--memory-limit", default="2GB")
    parser.add_argument("--print", action="store_true", help="write nothing")
    options = parser.parse_args()
    results = {size: pipeline(size, None) for size in options.sizes}
    limited = {options.sizes[-1]: pipeline(options.sizes[-1], options.memory_limit)}
    lines = [
        "# A graph through the whole pipeline",
        "",
        "Written by `python benchmarks/scale.py`. Leagues, teams and players: a tenth of the beliefs is wrong, half of "
        "those name something of another league, so that errors tie nearly everything into one component; an ontology "
        f"with 12 axioms and 5 disjoint pairs of classes, {len(RULES)} rules. {VERDICTS} verdicts come from "
        f"{len(ANNOTATORS)} simulated annotators who err in {ERR:.0%}. Every stage is a process of its own, start "
        "included. *Held* is memory that cannot be given back, *at most* counts mapped files too, which the system "
        "can drop.",
        "",
        "![Seconds for each million beliefs](figures/scale.svg)",
        "",
        *table(results),
        "",
        f"## `--memory-limit {options.memory_limit}`",
        "",
        "The same in a control group that kills what takes more memory than that, page cache included.",
        "",
        *table(limited),
        "",
    ]
    if options.print:
        print("\n".join(lines))
    else:
        draw(results, HERE / "figures" / "scale.svg")
        (HERE / "SCALE.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()

"""Every triple read is in exactly one account, and nobody is asked by default what nobody can judge."""

import csv
import gzip
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st

from rdf_kgeval import KgevalError, evaluate, pull_beliefs, read_beliefs
from rdf_kgeval.beliefs.accounts import ACCOUNTS, Accounts
from rdf_kgeval.beliefs.table import Beliefs, Role
from rdf_kgeval.coupling.graph import couple
from rdf_kgeval.namespaces import LABEL_PROPERTIES, PROVENANCE
from rdf_kgeval.rules.mining.mine import mine
from rdf_kgeval.rules.mining.options import MiningOptions
from rdf_kgeval.runs.config import read_config, write_config
from rdf_kgeval.sources.load import Sources, load
from rdf_kgeval.sources.scope import Scope
from rdf_kgeval.sources.unjudged import listed, reason_of
from tests.conftest import Server
from tests.functional.test_cli import kgeval

EX = "http://example.org/"
OWL = "http://www.w3.org/2002/07/owl#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
DCT = "http://purl.org/dc/terms/"
SCHEMA = "https://schema.org/"
PREFIXES = f"""@prefix : <{EX}> . @prefix owl: <{OWL}> . @prefix rdfs: <{RDFS}> . @prefix skos: <{SKOS}> .
@prefix rdf: <{RDF}> . @prefix dct: <{DCT}> . @prefix schema: <{SCHEMA}> .
"""

Quad = tuple[str, str, str, str]
KNOWS, LABEL, REMARK, MADE = f"<{EX}knows>", f"<{RDFS}label>", f"<{EX}remark>", f"<{EX}made>"
TYPE, ANNOTATION = f"<{RDF}type>", f"<{OWL}AnnotationProperty>"
KINDS = {
    LABEL: "names",
    f"<{SCHEMA}description>": "names",
    f"<{DCT}modified>": "records",
    f"<{OWL}sameAs>": "links",
    f"<{RDFS}subClassOf>": "schema",
    f"<{RDFS}seeAlso>": "links",
    KNOWS: "",
    f"<{OWL}differentFrom>": "",
    TYPE: "",
    REMARK: "",
    MADE: "",
}
ENDS = [f"<{EX}a>", f"<{EX}b>", REMARK, "_:x", "_:y"]
GRAPHS = ["", "", f"<{EX}g>", f"<{EX}h>", "_:g"]
quads = st.lists(
    st.tuples(
        st.sampled_from(ENDS),
        st.sampled_from(list(KINDS)),
        st.sampled_from([*ENDS, '"x"', '"two words"@en', ANNOTATION, f"<{EX}Person>"]),
        st.sampled_from(GRAPHS),
    ),
    min_size=1,
    max_size=15,
)


@dataclass
class Given:
    """What a user may name, and how."""

    files: list[list[Quad]]
    gzipped: bool
    graphs: list[list[Quad]]
    context: list[list[Quad]]
    context_unknown: list[list[Quad]]
    predicates: list[str]
    graph: str | None
    query: str | None

    def in_roles(self) -> list[tuple[Role, list[Quad]]]:
        named = (
            (Role.BELIEF, [*self.files, *self.graphs]),
            (Role.UNKNOWN, self.context_unknown),
            (Role.GIVEN, self.context),
        )
        return [(role, part) for role, parts in named for part in parts]


SELECT = f"SELECT ?s ?p ?o {{ ?s ?p ?o FILTER(?p IN ({KNOWS}, {LABEL})) }}"
CONSTRUCT = f"CONSTRUCT {{ ?s {MADE} ?o . ?s {KNOWS} ?o }} WHERE {{ ?s {KNOWS} ?o }}"
queries = st.sampled_from([None, None, SELECT, CONSTRUCT])
few = st.lists(quads, max_size=2)


@st.composite
def givens(draw: Callable[..., object]) -> Given:
    query = draw(queries)
    predicates: object = [] if query else draw(st.sampled_from([[], [], [KNOWS], [LABEL, KNOWS]]))
    return Given(
        draw(st.lists(quads, min_size=1, max_size=3)),  # type: ignore[arg-type]
        draw(st.booleans()),  # type: ignore[arg-type]
        [list(dict.fromkeys(part)) for part in draw(few)],  # type: ignore[attr-defined]
        draw(few),  # type: ignore[arg-type]
        draw(few),  # type: ignore[arg-type]
        predicates,  # type: ignore[arg-type]
        draw(st.sampled_from([None, None, f"<{EX}g>"])),  # type: ignore[arg-type]
        query,  # type: ignore[arg-type]
    )


def load_all(given_: Given, folder: Path) -> Beliefs:
    """Write what is given to files of all kinds, and read it."""
    written: dict[str, list[Path]] = {}
    for name, parts in (("f", given_.files), ("c", given_.context), ("u", given_.context_unknown)):
        for i, part in enumerate(parts):
            text = "".join(f"{s} {p} {o} {g} .\n" for s, p, o, g in part).encode()
            path = folder / f"{name}{i}.nq"
            path.write_bytes(gzip.compress(text) if given_.gzipped else text)
            written.setdefault(name, []).append(path)
    graphs: list[rdflib.Graph] = []
    for part in given_.graphs:
        graphs.append(rdflib.Dataset())
        graphs[-1].parse(data="".join(f"{s} {p} {o} {g} .\n" for s, p, o, g in part), format="nquads")
    scope = None
    if given_.query:
        scope = folder / "scope.rq"
        scope.write_text(given_.query)
    sources = Sources(
        files=written["f"],
        graphs=graphs,
        context=written.get("c", []),
        context_unknown=written.get("u", []),
        scope=Scope.of(predicates=given_.predicates, graph=given_.graph, scope=scope),
    )
    return load(sources, folder).beliefs


def expected(given_: Given) -> tuple[int, Mapping[str, int]]:
    """Count the accounts by a plain reading of what each means."""
    role: dict[tuple[str, str, str], Role] = {}
    graphs: dict[tuple[str, str, str], set[str]] = {}
    read = 0
    for number, (of, part) in enumerate(given_.in_roles()):
        for s, p, o, g in part:
            read += 1
            triple = (f"{s}{number}" if s[0] == "_" else s, p, f"{o}{number}" if o[0] == "_" else o)
            role[triple] = max(role.get(triple, of), of)
            graphs.setdefault(triple, set()).add(g)
    counts: Counter[str] = Counter(repeats=read - len(role))
    declared = {s for s, p, o in role if (p, o) == (TYPE, ANNOTATION)}
    blank = {t for t in role if t[0][0] == "_" or t[2][0] == "_"}

    def kind(triple: tuple[str, str, str]) -> str:
        _, p, o = triple
        if p in declared:
            return "names"
        return "schema" if p == TYPE and o.startswith(f"<{OWL}") else KINDS[p]

    reach = {t for t in role if given_.graph is None or given_.graph in graphs[t]}
    candidates = {t for t in role if t not in blank and t in reach and role[t] == Role.BELIEF}
    everything = not any(not kind(t) for t in candidates)
    if given_.query is CONSTRUCT:
        new = {(s, MADE, o) for s, p, o in reach if p == KNOWS} - role.keys()
        read += len(new)
        counts["beliefs"] += len(new)
    for triple, of in role.items():
        if of != Role.BELIEF:
            counts["context_given" if of == Role.GIVEN else "context_unknown"] += 1
        elif given_.query:
            named = (KNOWS, LABEL) if given_.query is SELECT else (KNOWS,)
            made = given_.query is CONSTRUCT and triple[1] == MADE
            inside = (triple[1] in named and triple in reach) or (
                made and (triple[0], KNOWS, triple[2]) in reach
            )
            counts["beliefs" if inside else "outside_query"] += 1
        elif triple in blank:
            counts["blank_nodes"] += 1
        elif triple not in reach:
            counts["other_graphs"] += 1
        elif given_.predicates:
            counts["beliefs" if triple[1] in given_.predicates else "other_predicates"] += 1
        else:
            counts[("" if everything else kind(triple)) or "beliefs"] += 1
    return read, {name: n for name, n in counts.items() if n}


@pytest.mark.filterwarnings("ignore:Dataset.default_context:DeprecationWarning")
@settings(max_examples=300, deadline=None)
@given(givens())
def test_every_triple_is_in_one_account(given_: Given) -> None:
    read, counts = expected(given_)
    with TemporaryDirectory() as name:
        if not counts.get("beliefs"):
            with pytest.raises(KgevalError):
                load_all(given_, Path(name))
            return
        beliefs = load_all(given_, Path(name))
    accounts = beliefs.accounts
    assert accounts
    assert accounts.read == read
    assert accounts.counts == counts
    assert sum(accounts.counts.values()) == read
    assert accounts.counts["beliefs"] == beliefs.n_beliefs


def read(tmp_path: Path, text: str) -> Beliefs:
    (tmp_path / "kg.ttl").write_text(PREFIXES + text)
    return read_beliefs(tmp_path / "kg.ttl")


KG = """
:a :knows :b ; a :Person ; owl:differentFrom :c ; skos:broader :d ; :born "1950"^^<http://www.w3.org/2001/XMLSchema#gYear> .
:a owl:sameAs :c ; skos:exactMatch :e ; schema:sameAs :f ; rdfs:seeAlso :g .
:a rdfs:label "A" ; rdfs:comment "one" ; skos:altLabel "a" ; schema:description "who" ; :remark "odd" .
:a dct:modified "2020" ; dct:source :book .
:remark a owl:AnnotationProperty .
:Person a owl:Class ; rdfs:subClassOf :Agent . :knows rdfs:range :Person . :e a rdf:Property .
:a :home [ :street "S" ] .
"""


def test_nobody_is_asked_what_nobody_can_judge(tmp_path: Path) -> None:
    beliefs = read(tmp_path, KG)
    assert {(p, o) for _, p, o in map(beliefs.triple, beliefs.rows)} == {
        (KNOWS, f"<{EX}b>"),
        (TYPE, f"<{EX}Person>"),
        (f"<{OWL}differentFrom>", f"<{EX}c>"),
        (f"<{SKOS}broader>", f"<{EX}d>"),
        (f"<{EX}born>", '"1950"^^<http://www.w3.org/2001/XMLSchema#gYear>'),
    }
    assert beliefs.accounts
    assert beliefs.accounts.counts == {
        "beliefs": 5, "links": 4, "names": 5, "records": 2, "schema": 5, "blank_nodes": 2,
    }  # fmt: skip


def test_nobody_is_asked_how_a_wikibase_keeps_its_properties(tmp_path: Path) -> None:
    wikibase = "http://wikiba.se/ontology#"
    beliefs = read(
        tmp_path,
        f":a :p19 :b . :P19 a <{wikibase}Property> ; <{wikibase}directClaim> :p19 ; <{wikibase}timestamp> 1 .",
    )
    assert [beliefs.triple(row)[1] for row in beliefs.rows] == [f"<{EX}p19>"]
    assert beliefs.accounts
    assert beliefs.accounts.counts == {"beliefs": 1, "schema": 2, "records": 1}


def test_a_predicate_that_is_named_is_evaluated(tmp_path: Path) -> None:
    read(tmp_path, KG)
    beliefs = read_beliefs(tmp_path / "kg.ttl", predicates=[f"{DCT}modified", f"{RDFS}label"])
    assert beliefs.by_predicate() == {f"{DCT}modified": 1, f"{RDFS}label": 1}


@pytest.mark.parametrize(
    "text", [':a rdfs:label "A" .', ":A rdfs:subClassOf :B ; a owl:Class ; dct:modified 1 ."]
)
def test_where_there_is_nothing_else_all_is_evaluated_and_said(tmp_path: Path, text: str) -> None:
    (tmp_path / "kg.ttl").write_text(PREFIXES + text)
    loaded = load(Sources(files=[tmp_path / "kg.ttl"]), tmp_path)
    assert loaded.beliefs.n_beliefs == len(loaded.beliefs)
    assert "so all of it is evaluated" in loaded.notes[0]


def test_the_list_names_predicates_once() -> None:
    text = (Path(__file__).parents[2] / "rdf_kgeval/sources/unjudged.toml").read_text()
    names = [word for line in text.splitlines() if not line.startswith("#") for word in line.split('"')[1::2]]
    curies = [name for name in names if "//" not in name]
    assert len(curies) == len(set(curies)) > 40
    assert listed()["http://schema.org/sameAs"] == listed()[f"{SCHEMA}sameAs"] == "links"
    assert set(listed().values()) <= ACCOUNTS.keys()
    assert {*LABEL_PROPERTIES, *PROVENANCE} <= listed().keys()


@pytest.mark.parametrize(
    "predicate",
    [
        f"{SCHEMA}birthDate", f"{SCHEMA}datePublished", f"{DCT}title", f"{DCT}creator", f"{SKOS}broader",
        "http://xmlns.com/foaf/0.1/name", "http://xmlns.com/foaf/0.1/homepage", f"{RDF}type",
        f"{OWL}differentFrom", "http://dbpedia.org/ontology/capital",
    ],
)  # fmt: skip
def test_what_people_can_find_out_is_asked(predicate: str) -> None:
    assert reason_of(predicate, LABEL_PROPERTIES) == ""


def test_rules_are_not_mined_about_what_is_not_asked(tmp_path: Path) -> None:
    people = "".join(f':p{i} :knows :p{i + 1} ; rdfs:label "p" ; rdfs:comment "p" .' for i in range(30))
    rules = mine(read(tmp_path, people), MiningOptions(min_support=2, min_confidence=0.1))
    assert not {rule.head[1] for rule in rules if rule.head} & {LABEL, f"<{RDFS}comment>"}


def test_all_commands_take_the_same_population(tmp_path: Path) -> None:
    beliefs = read(tmp_path, KG)
    with (tmp_path / "gold.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [
                ("subject", "predicate", "object", "label"),
                *((*beliefs.triple(row), "1") for row in beliefs.rows),
            ]
        )
    made = kgeval("init", "run", "kg.ttl", "--no-mine", "--json", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    asked = kgeval("evaluate", "kg.ttl", "--no-mine", "--oracle", "gold.csv", "--json", cwd=tmp_path)
    assert asked.returncode == 0, asked.stderr
    compared = kgeval(
        "compare", "kg.ttl", "--no-mine", "--oracle", "gold.csv", "--seeds", "1", "--methods", "srs/wilson",
        "--processes", "1", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert compared.returncode == 0, compared.stderr
    assert json.loads(made.stdout)["beliefs"] == json.loads(asked.stdout)["beliefs"] == beliefs.n_beliefs == 5
    accounts = json.loads(made.stdout)["accounts"]
    assert json.loads(asked.stdout)["accounts"] == accounts
    assert sum(accounts.values()) == json.loads(made.stdout)["read"] == 23
    for done in (made, asked, compared):
        assert "23 triples read:\n" in done.stderr
        assert "  5  beliefs to evaluate (--predicate, --scope)\n" in done.stderr
        assert "  2  with a blank node (--scope)\n" in done.stderr
        assert "note: nobody is asked about " in done.stderr
        for named in ("dct:modified (1)", "owl:sameAs (1)", "schema:sameAs (1)", "types of the schema (3)"):
            assert named in done.stderr


def lines_of(*triples: str) -> bytes:
    return "".join(f"{triple} .\n" for triple in triples).encode()


def test_accounts_are_kept_and_shown(tmp_path: Path) -> None:
    a, b = f"<{EX}a>", f"<{EX}b>"
    (tmp_path / "a.nt").write_bytes(lines_of(f"{a} {KNOWS} {b}", f'{a} {LABEL} "A"', f"_:x {KNOWS} {b}"))
    (tmp_path / "b.nt.gz").write_bytes(gzip.compress(lines_of(f"{a} {KNOWS} {b}") * 2))
    (tmp_path / "c.nt").write_bytes(lines_of(f"{a} {KNOWS} <{EX}z>"))
    made = kgeval(
        "init", "run", "-", "a.nt", "b.nt.gz", "--context", "c.nt", "--format", "nt", "--no-mine",
        cwd=tmp_path, stdin=lines_of(f"{b} {KNOWS} {a}"),
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    told = (
        "7 triples read:\n"
        "  2  beliefs to evaluate (--predicate, --scope)\n"
        "  1  context, taken as true (--context)\n"
        "  1  names and descriptions (--predicate)\n"
        "  1  with a blank node (--scope)\n"
        "  2  repeats of a triple, there or in another graph or file\n"
    )
    assert made.stderr.startswith(told)
    assert told in kgeval("show", "run", cwd=tmp_path, COLUMNS="80").stdout
    shown = json.loads(kgeval("show", "run", "--json", cwd=tmp_path).stdout)
    assert shown["read"] == 7 == sum(shown["accounts"].values())
    assert shown["accounts"].keys() == ACCOUNTS.keys()
    for format_, row in (("html", "<tr><td>with a blank node</td><td>1</td><td>--scope</td></tr>"),
                         ("markdown", "| with a blank node | 1 | --scope |")):  # fmt: skip
        done = kgeval("report", "run", "--format", format_, "-o", f"report.{format_}", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        report = (tmp_path / f"report.{format_}").read_text()
        assert "7 triples read" in report
        assert row in report


def test_a_run_of_an_older_version_shows_no_accounts(tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_bytes(lines_of(f"<{EX}a> {KNOWS} <{EX}b>"))
    assert kgeval("init", "run", "a.nt", cwd=tmp_path).returncode == 0
    config = read_config(tmp_path / "run")
    assert config.accounts == Accounts(read=1, counts={"beliefs": 1})
    write_config(tmp_path / "run", replace(config, accounts=None))
    assert "accounts" not in json.loads((tmp_path / "run" / "config.json").read_text())
    assert "accounts" not in json.loads(kgeval("show", "run", "--json", cwd=tmp_path).stdout)
    shown = kgeval("show", "run", cwd=tmp_path)
    assert (shown.returncode, "triples read" in shown.stdout) == (0, False)
    assert kgeval("report", "run", "-o", "report.html", cwd=tmp_path).returncode == 0
    assert "What was read" not in (tmp_path / "report.html").read_text()


def test_a_graph_in_memory_has_its_accounts_too(tmp_path: Path) -> None:
    evaluation = evaluate(couple(read(tmp_path, KG), []), lambda _: True)
    assert evaluation.accounts
    assert evaluation.accounts.read == 23
    evaluation.report(tmp_path / "report.html")
    assert "What was read" in (tmp_path / "report.html").read_text()


STORE = KG.replace(":a :home", ':a :home :b . :b rdfs:label "B" . :a :home')


def test_a_store_that_is_pulled(tmp_path: Path, oxigraph: Server) -> None:
    graph = f"{EX}accounts-pulled"
    oxigraph.load((PREFIXES + STORE).encode(), graph)
    read_here = read(tmp_path, STORE)
    whole = pull_beliefs(oxigraph.query, graph=graph)
    assert whole.accounts == read_here.accounts
    assert whole.by_predicate() == read_here.by_predicate()
    part = pull_beliefs(oxigraph.query, graph=graph, predicates=[f"{EX}home"])
    assert part.accounts
    assert part.accounts.counts["beliefs"] == 1
    assert part.accounts.counts["blank_nodes"] == 1
    assert sum(part.accounts.counts.values()) == part.accounts.read


def test_a_store_that_is_evaluated_in_place(tmp_path: Path, oxigraph: Server) -> None:
    graph = f"{EX}accounts-in-place"
    oxigraph.load((PREFIXES + STORE).encode(), graph)
    (tmp_path / "c.nt").write_bytes(lines_of(f"<{EX}a> {KNOWS} <{EX}b>", f"<{EX}a> {KNOWS} <{EX}z>"))
    made = kgeval(
        "init", "run", "--endpoint", oxigraph.query, "--graph", graph, "--in-place", "--context", "c.nt",
        "--json", cwd=tmp_path,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    shown = json.loads(made.stdout)
    read_here = read(tmp_path, STORE)
    assert read_here.accounts
    assert shown["read"] == read_here.accounts.read + 2 == sum(shown["accounts"].values())
    there = {name: n for name, n in shown["accounts"].items() if n}
    expected_there = Counter(read_here.accounts.counts)
    # In place, what the store says to be an annotation is not looked up: :remark is a belief there.
    expected_there.update(beliefs=1 - 1, names=-1, context_given=2, repeats=1)
    assert there == dict(+expected_there)
    assert shown["beliefs"] == there["beliefs"]
    assert "triples read, as the store counts them:" in made.stderr
    assert "note: nobody is asked about " in made.stderr
    draws = tmp_path / "run" / "draws.jsonl"
    first, *others = draws.read_text().splitlines()
    older = {k: v for k, v in json.loads(first).items() if k not in ("context_read", "left_out", "judged")}
    draws.write_text("\n".join([json.dumps(older), *others]) + "\n")
    assert "accounts" not in json.loads(kgeval("show", "run", "--json", cwd=tmp_path).stdout)


def test_a_store_of_nothing_but_schema_is_evaluated_in_place(tmp_path: Path, oxigraph: Server) -> None:
    graph = f"{EX}accounts-schema"
    oxigraph.load((PREFIXES + ":A a owl:Class . :B a owl:Class .").encode(), graph)
    made = kgeval(
        "init", "run", "--endpoint", oxigraph.query, "--graph", graph, "--in-place", "--json", cwd=tmp_path
    )
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["beliefs"] == 2
    assert "so all of it is evaluated" in made.stderr

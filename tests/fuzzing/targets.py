"""What reads outside input, each as a function of bytes, with valid inputs to start from."""

import asyncio
import atexit
import gzip
import json
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import rdflib

import rdf_kgeval as kgeval
from rdf_kgeval.errors import KgevalError
from rdf_kgeval.evaluation.exchange import read_results, to_verdicts
from rdf_kgeval.pipeline import evaluation_of, open_evaluation, prepare, read_evaluation
from rdf_kgeval.plugin import functions as plugin
from rdf_kgeval.publishing.rdf import RecordOptions, make_record, write_record
from rdf_kgeval.publishing.report.content import gather
from rdf_kgeval.publishing.report.page import page
from rdf_kgeval.rules.mining.mine import mine
from rdf_kgeval.rules.mining.options import MiningOptions
from rdf_kgeval.runs.config import digests
from rdf_kgeval.runs.create import Coupling
from rdf_kgeval.runs.run import open_run
from rdf_kgeval.sources.endpoint.client import Endpoint, RetryPolicy
from rdf_kgeval.sources.endpoint.results import read_rows
from rdf_kgeval.sources.load import Sources
from rdf_kgeval.verdicts.gold import read_gold
from rdf_kgeval.verdicts.log import VerdictLog
from rdf_kgeval.web.access import OWNER, open_access
from rdf_kgeval.web.desk import Desk
from rdf_kgeval.web.overview import Overview
from rdf_kgeval.web.pages import Site
from rdf_kgeval.web.people import Person
from rdf_kgeval.web.server import read_guidelines
from tests.support.run_config import read_entries, write_entries

EXAMPLE = Path(__file__).parents[2] / "examples" / "motivating"
EX = "http://example.org/"
PREFIXES = """@prefix : <http://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix kge: <https://w3id.org/rdf-kgeval#> .
"""


@dataclass(frozen=True)
class Target:
    """Something that reads."""

    run: Callable[[bytes], object]
    seeds: Callable[[], Sequence[bytes]]


def check(target: Target, data: bytes) -> None:
    """Read the input; anything but success or one printable sentence for each fault is a finding."""
    try:
        target.run(data)
    except KgevalError as error:
        for line in str(error).split("\n"):
            assert line.isprintable(), repr(line)
            assert 0 < len(line) < 2000, len(line)


class Workshop:
    """A run with verdicts and published records, made once in each process."""

    @cached_property
    def folder(self) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="kgeval-fuzz-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder

    @cached_property
    def run(self) -> Path:
        path = self.folder / "run"
        coupling = Coupling(ontologies=[EXAMPLE / "ontology.ttl"], rules=[EXAMPLE / "rules"])
        prepare(path, Sources(files=[EXAMPLE / "kg.ttl"]), coupling)
        with open_evaluation(open_run(path), {"policy": "greedy", "seed_size": 2, "seed": 1}) as evaluation:
            kgeval_consult(evaluation)
        (path / "exported.txt").write_text("".join(f"{evaluation.belief(i)}\n" for i in range(3)))
        (path / "guidelines.md").write_text("# Guidelines\nSay *true* when sure.\n")
        open_access(path, ["ann"])
        return path

    def copy(self) -> Path:
        """A run of one's own."""
        own = self.folder / "copy"
        shutil.rmtree(own, ignore_errors=True)
        shutil.copytree(self.run, own)
        return own

    def file(self, name: str, data: bytes) -> Path:
        """A file with this content."""
        path = self.folder / name
        path.write_bytes(data)
        return path


def kgeval_consult(evaluation: Any) -> None:
    """Answer from the example's labels."""
    from rdf_kgeval.evaluation.consult import consult

    consult(evaluation, kgeval.GoldOracle(EXAMPLE / "gold.csv"))


WORKSHOP = Workshop()


def _rdf(suffix: str) -> Target:
    def run(data: bytes) -> object:
        beliefs = kgeval.read_beliefs(WORKSHOP.file(f"kg.{suffix}", data))
        return [(beliefs.line(row), beliefs.id(row)) for row in beliefs.rows[:20]], list(beliefs.quads())

    return Target(run, lambda: _graphs(suffix.removesuffix(".gz"), packed=suffix.endswith(".gz")))


TURTLE = f"""{PREFIXES}
:a :p :b , "x\\u00e9"@en , "1"^^xsd:integer , 1.5 , 2e3 , true ; a :C . [] :q ( :a "b" ) . _:x :p _:y .
<http://example.org/caf\u00e9> :p '''long "text" here''' .
"""
XML = """<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE rdf:RDF [<!ENTITY ex "http://example.org/">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://example.org/" xml:base="http://a/">
<rdf:Description rdf:about="&ex;a" e:q="v"><e:p rdf:resource="b"/><e:p xml:lang="en">x</e:p>
<e:l rdf:parseType="Collection"><e:C rdf:ID="i"/></e:l><e:x rdf:parseType="Literal"><b>x</b></e:x></rdf:Description>
</rdf:RDF>"""
JSONLD = json.dumps(
    {
        "@context": {"e": EX, "p": {"@id": "e:p", "@type": "@id"}, "l": {"@id": "e:l", "@container": "@list"}},
        "@graph": [{"@id": "e:a", "@type": "e:C", "p": ["e:b", "_:x"], "l": [1, 2.5, True]},
                   {"@id": "e:g", "@graph": [{"@id": "e:s", "e:q": {"@value": "x", "@language": "en"}}]}],
    }
)  # fmt: skip


def _graphs(suffix: str, packed: bool = False) -> list[bytes]:
    quads = list(ox.parse(TURTLE, format=ox.RdfFormat.TURTLE))
    named = [ox.Quad(q.subject, q.predicate, q.object, ox.NamedNode(EX + "g")) for q in quads[:5]]
    form = ox.RdfFormat.from_extension(suffix)
    assert form is not None
    seeds = [ox.serialize(quads + (named if form.supports_datasets else []), format=form)]
    seeds += {
        "ttl": [TURTLE.encode(), f"{PREFIXES}:s :p <<( :a :b :c )>> ; :q :r {{| :t :u |}} .".encode()],
        "trig": [f"{PREFIXES}:g {{ :a :b :c }} GRAPH _:g {{ :a :b 1 }}".encode()],
        "rdf": [XML.encode()],
        "jsonld": [JSONLD.encode()],
    }.get(suffix, [])
    return [gzip.compress(seed, mtime=0) for seed in seeds] if packed else seeds


@cache
def _beliefs() -> kgeval.Beliefs:
    return kgeval.read_beliefs(EXAMPLE / "kg.ttl")


def _rules(name: str) -> Callable[[bytes], object]:
    def run(data: bytes) -> object:
        rules = kgeval.read_rules(WORKSHOP.file(name, data))
        return kgeval.couple(_beliefs(), rules, max_groundings=1000).n_constraints

    return run


def _templates() -> list[bytes]:
    head = f"#+ id: r\n#+ summary: s\n#+ confidence: 0.9\n#+ support: 3\nPREFIX : <{EX}>\n"
    bodies = [
        "CONSTRUCT { ?s :stadiumLocatedInCity ?c } WHERE { ?s :homeStadiumOf ?t . ?t :homeCity ?c }",
        "CONSTRUCT { ?t a :T } WHERE { ?s :homeStadiumOf ?t OPTIONAL { ?t :homeCity ?c } FILTER(?s != ?t) }",
        "CONSTRUCT { ?s a :X . ?s a :Y } WHERE { { ?s a :A } UNION { ?s (:p|:q)/^:r ?o } VALUES ?o { :a UNDEF } }",
        "CONSTRUCT { ?s :p ?n } WHERE { { SELECT ?s (COUNT(?o) AS ?n) WHERE { ?s :q ?o } GROUP BY ?s } ?s a :C "
        'FILTER(STRSTARTS(STR(?s), "http") && ?n > 1 || !isBlank(?s)) BIND(1 AS ?m) MINUS { ?s :p+ ?x } }',
    ]
    denial = head.replace("confidence: 0.9", "weight: 2") + "#+ denial: true\n#+ latent: false\n" + bodies[0]
    return [*((head + body).encode() for body in bodies), denial.encode()]


SHACL = f"""{PREFIXES}
:S a sh:NodeShape ; sh:targetClass :Stadium ; sh:targetNode :a ; sh:rule :r, [ a sh:TripleRule ;
  sh:subject sh:this ; sh:predicate :p ; sh:object [ sh:path ( :homeStadiumOf [ sh:inversePath :q ] ) ] ; kge:weight 2 ] .
:r a sh:SPARQLRule ; sh:prefixes :o ; kge:confidence 0.9 ; kge:support 3 ; rdfs:label "x" ;
  sh:construct "CONSTRUCT {{ $this e:p ?c }} WHERE {{ $this e:homeStadiumOf ?t . ?t e:homeCity ?c }}" .
:o sh:declare [ sh:prefix "e" ; sh:namespace "{EX}"^^xsd:anyURI ] .
"""
OWL = f"""{PREFIXES}
:p rdfs:domain :C ; rdfs:range :D ; rdfs:subPropertyOf :q ; owl:inverseOf :r ; a owl:FunctionalProperty .
:C rdfs:subClassOf :E , [ a owl:Restriction ; owl:onProperty :p ; owl:maxCardinality 1 ] ; owl:disjointWith :D .
:q a owl:TransitiveProperty, owl:SymmetricProperty ; owl:propertyChainAxiom ( :p :q ) ; owl:equivalentProperty :t .
:E owl:disjointUnionOf ( :C :F ) ; owl:equivalentClass [ owl:unionOf ( :C :G ) ] . :x owl:sameAs :y .
[] a owl:AllDisjointClasses ; owl:members ( :C :G :H ) . <{EX}o> a owl:Ontology ; owl:imports <http://127.0.0.1:9/o> .
[] a owl:Axiom ; owl:annotatedSource :p ; owl:annotatedProperty rdfs:domain ; owl:annotatedTarget :C ; kge:confidence 0.7 .
"""
AMIE = """Rule\tHead Coverage\tStd Confidence\tPCA Confidence\tPositive Examples\tBody size
?a  <http://example.org/p>  ?b  ?b  <http://example.org/q>  ?c   => ?a  <http://example.org/r>  ?c\t0.5\t0,4\t0.9\t12\t30
?a  <http://example.org/p>  "a lit"   => ?a  <http://example.org/r>  <http://example.org/c>\t0.5\t0.4\t0.9\t12\t30
"""
ANYBURL = f"""10\t9\t0.9\t<{EX}r>(X,Y) <= <{EX}p>(X,A), <{EX}q>(A,Y)
10\t9\t0.9\t{EX}r(X,{EX}c) <= {EX}p(X,{EX}d)
10\t9\t0.9\t<{EX}r>(X,Y) <= 
"""  # noqa: W291


def _ontology(suffix: str) -> Callable[[bytes], object]:
    def run(data: bytes) -> object:
        rules = kgeval.read_ontology(WORKSHOP.file(f"ontology.{suffix}", data))
        return kgeval.couple(_beliefs(), rules, max_groundings=1000).n_constraints

    return run


def _gold(name: str) -> Callable[[bytes], object]:
    return lambda data: read_gold(WORKSHOP.file(name, data))


def _results(data: bytes) -> object:
    run = open_run(WORKSHOP.run)
    results = read_results(WORKSHOP.file("results", data))
    evaluation = evaluation_of(run)
    imported = to_verdicts(evaluation, results, run.exported())
    evaluation.record(*imported.verdicts)
    return evaluation.to_json()


def _ids() -> list[str]:
    beliefs = open_run(WORKSHOP.run).beliefs
    return [beliefs.id(int(row)) for row in beliefs.rows]


def _result_seeds() -> list[bytes]:
    ids = _ids()
    plain = "task,worker,label\n" + "".join(
        f"{i},w{n},{'true' if n else 'maybe'}\n" for i in ids[:4] for n in (0, 1)
    )
    mturk = '"HITId","WorkerId","AssignmentStatus","Input.task","Answer.label","Reject"\n' + "".join(
        f'"h","A1","Approved","{i}","false",""\n' for i in ids[:3]
    )
    ticked = f"Input.task,WorkerId,Answer.label.true,Answer.label.false\n{ids[0]},A1,true,false\n"
    studio = [
        {"id": 1, "data": {"task": i}, "annotations": [{"completed_by": {"email": "a@b", "id": 2}, "was_cancelled": False,
         "result": [{"value": {"choices": ["true"]}, "from_name": "label", "type": "choices"}]}]} for i in ids[:2]
    ]  # fmt: skip
    short = [{"task": ids[2], "label": "no", "annotator": 3}]
    return [t.encode() for t in (plain, mturk, ticked, json.dumps(studio), json.dumps(short))]


def _scope(data: bytes) -> object:
    return kgeval.read_beliefs(EXAMPLE / "kg.ttl", scope=WORKSHOP.file("scope.rq", data)).n_beliefs


SCOPES = [
    f"PREFIX : <{EX}> SELECT ?s ?p ?o WHERE {{ ?s ?p ?o FILTER(?p != :homeCity) }} LIMIT 5",
    f"# c\nPREFIX : <{EX}> CONSTRUCT {{ ?s :homeCity ?o . ?o a :City }} WHERE {{ ?s :homeCity ?o {{ SELECT * {{ ?o a ?c }} }} }}",
    "CONSTRUCT WHERE { ?s a ?o }",
    'SELECT ?s (<http://x> AS ?p) ("}" AS ?o) { GRAPH ?g { ?s a \'\'\'{\'\'\' } } GROUP BY ?s HAVING(COUNT(*) > 1)',
]  # fmt: skip


def _use(folder: Path) -> object:
    """All that commands do with a run."""
    run = open_run(folder)
    evaluation = read_evaluation(run)
    evaluation.next(3)
    for row in run.beliefs.rows[:3]:
        run.names.sentence(int(row))
    write_record(evaluation, WORKSHOP.folder / "used.nq", RecordOptions(), run.config)
    page(gather(evaluation, run.config))
    return evaluation.to_json()


def _in_run(name: str, use: Callable[[Path], object] = _use, *, hostile: bool = False) -> Target:
    """A file of a run; with `hostile`, by somebody who makes the check sums anew."""

    def run(data: bytes) -> object:
        folder = WORKSHOP.copy()
        (folder / name).write_bytes(data)
        if hostile:
            _seal(folder)
        return use(folder)

    return Target(run, lambda: [(WORKSHOP.run / name).read_bytes()])


def _seal(folder: Path) -> None:
    try:
        config = read_entries(folder)
    except (ValueError, RecursionError):
        return
    if isinstance(config, dict):
        if isinstance(config.get("sha256"), dict):
            config["sha256"] = digests(folder)
        try:
            write_entries(folder, config)
        except UnicodeEncodeError:
            return


def _log(folder: Path) -> object:
    log = folder / "verdicts.jsonl"
    before = log.read_bytes()
    try:
        with VerdictLog(log) as opened:
            found = opened.records
    finally:
        assert before.startswith(log.read_bytes().rstrip(b"\n")), "verdicts were changed"
    assert len(found) >= before.count(b"\n")
    return _use(folder)


def _arrays(data: bytes) -> object:
    """Numbers of the arrays replaced, the check sums made anew: compiled code must not follow them anywhere."""
    folder = WORKSHOP.copy()
    files = sorted([*(folder / "beliefs").glob("*.npy"), *(folder / "coupling").glob("*.npy")])
    for at in range(0, len(data) - 3, 4):
        path = files[data[at] % len(files)]
        content = bytearray(path.read_bytes())
        place = int.from_bytes(data[at + 1 : at + 3], "little") % len(content)
        content[place] = data[at + 3]
        path.write_bytes(content)
    _seal(folder)
    return _use(folder)


def _record(suffix: str, form: str = "reification") -> Target:
    def run(data: bytes) -> object:
        path = WORKSHOP.file(f"record.{suffix}", data)
        try:
            kgeval.register(path)
            believed = rdflib.Graph(store="KGEval")
            believed.open(str(path))
            believed.add((rdflib.URIRef(EX + "Detroit"), rdflib.RDF.type, rdflib.URIRef(EX + "City")))
            graph = rdflib.Graph().parse(EXAMPLE / "kg.ttl")
            query = (
                "PREFIX kge: <https://w3id.org/rdf-kgeval#> SELECT (kge:label(?s, ?p, ?o) AS ?l) "
                "(kge:truth(?s, ?p, ?o) AS ?t) (kge:accuracy(?p) AS ?a) (kge:accuracy() AS ?b) WHERE { ?s ?p ?o }"
            )
            return len(believed), [list(row) for row in graph.query(query)]  # type: ignore[union-attr]
        finally:
            plugin.loaded = None

    def seeds() -> list[bytes]:
        path = WORKSHOP.folder / f"published.{suffix}"
        evaluation = read_evaluation(open_run(WORKSHOP.run))
        write_record(evaluation, path, RecordOptions(form=form))  # type: ignore[arg-type]
        return [path.read_bytes()]

    return Target(run, seeds)


class Pages:
    """The web application, called as a server calls it."""

    def __init__(self) -> None:
        run = open_run(WORKSHOP.run)
        self.loop = asyncio.new_event_loop()
        self.access = open_access(run.folder, ["ann"])
        evaluation = evaluation_of(run)

        async def start() -> Site:
            desk = Desk(evaluation, [Person("ann")])
            self.working = asyncio.ensure_future(desk.run())
            await desk.ready()
            return Site(access=self.access, desk=desk, overview=Overview(lambda: evaluation_of(run)),
                        title="fuzz", guidelines="")  # fmt: skip

        self.site = self.loop.run_until_complete(start())
        self.app = self.site.app()
        atexit.register(self.close)

    def close(self) -> None:
        self.working.cancel()
        self.loop.run_until_complete(asyncio.wait([self.working]))

    def request(self, data: bytes) -> int:
        """Send what looks like a request; the status of the answer."""
        head, _, body = data.partition(b"\n\n")
        first, *lines = head.split(b"\n")
        method, _, target = first.partition(b" ")
        path, _, query = target.partition(b"?")
        headers = [(n.strip().lower(), v.strip()) for n, _, v in (line.partition(b":") for line in lines)]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method.decode("latin-1"),
            "scheme": "http", "path": path.decode("utf-8", "replace"), "raw_path": path, "query_string": query,
            "root_path": "", "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "state": {},
        }  # fmt: skip
        sent: list[Any] = []
        parts = [body[i : i + 4096] for i in range(0, len(body), 4096)] or [b""]

        async def receive() -> dict[str, Any]:
            part = parts.pop(0) if parts else b""
            return {"type": "http.request", "body": part, "more_body": bool(parts)}

        async def send(message: Any) -> None:
            sent.append(message)

        self.loop.run_until_complete(asyncio.wait_for(self.app(scope, receive, send), 60))
        status = int(sent[0]["status"])
        assert status < 500, status
        return status


@cache
def _pages() -> Pages:
    return Pages()


def _page_seeds() -> list[bytes]:
    pages = _pages()
    cookie = (
        f"cookie: {pages.site._cookie}={pages.access.token('ann')}\nhost: 127.0.0.1\norigin: http://127.0.0.1"
    )
    owner = f"cookie: {pages.site._cookie}={pages.access.token(OWNER)}"
    key = pages.access.form_key("ann")
    forms = [
        f"key={key}&belief={i}&answer={a}&turn={t}"
        for t, (i, a) in enumerate(zip(_ids(), ("true", "undo", "skip"), strict=False))
    ]
    return [
        f"GET /in/{pages.access.token('ann')}\nhost: x".encode(),
        f"GET /\n{cookie}".encode(),
        f"GET /dashboard?seen=1-1-1\n{owner}".encode(),
        b"GET /static/judge.js\nrange: bytes=0-5\nif-none-match: x",
        b"GET /dashboard/?\xe5\nhost: \xe5",
        *(f"POST /answer\n{cookie}\ncontent-length: {len(f)}\nx-kgeval: 1\n\n{f}".encode() for f in forms),
    ]  # fmt: skip


RESULTS = [
    json.dumps({"head": {"vars": list("spo")}, "results": {"bindings": [
        {"s": {"type": "uri", "value": EX + "a"}, "p": {"type": "uri", "value": EX + "p"}, "o": {"type": "literal", "value": "x", "xml:lang": "en"}},
        {"s": {"type": "bnode", "value": "b0"}, "p": {"type": "uri", "value": EX + "p"}, "o": {"type": "literal", "value": "1", "datatype": EX + "d"}},
    ]}}),
    json.dumps({"head": {"vars": list("spo")}, "results": {"bindings": [
        {"s": {"type": "uri", "value": "nodeID://b1"}, "p": {"type": "uri", "value": EX + "p"}, "o": {"type": "triple", "value":
         {"subject": {"type": "uri", "value": EX}, "predicate": {"type": "uri", "value": EX}, "object": {"type": "bnode", "value": "nodeID://b2"}}}},
    ]}}),
]  # fmt: skip


def _answers(data: bytes) -> object:
    try:
        return read_rows(data, ("s", "p", "o"))
    except ValueError:
        return None  # what the endpoint reports as cut short


class HostileServer(ThreadingHTTPServer):
    """Answers every request with the same bytes, from the status line on."""

    daemon_threads = True
    answer = b""


class _Handler(BaseHTTPRequestHandler):
    server: HostileServer

    def do_GET(self) -> None:
        self.wfile.write(self.server.answer)
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@cache
def _server() -> HostileServer:
    server = HostileServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def _endpoint(data: bytes) -> object:
    server = _server()
    server.answer = data
    retry = RetryPolicy(timeout=2, deadline=3, attempts=2, silent_attempts=1, backoff=0.0, longest_wait=0.1)
    url = f"http://127.0.0.1:{server.server_address[1]}/sparql"
    return kgeval.pull_beliefs(url, endpoint=Endpoint(url, retry=retry)).n_beliefs


def _endpoint_seeds() -> list[bytes]:
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/sparql-results+json\r\nX-SPARQL-MaxRows: 10\r\nServer: x\r\n"
    count = json.dumps(
        {
            "head": {"vars": ["n", "p"]},
            "results": {
                "bindings": [{"n": {"type": "literal", "value": "2"}, "p": {"type": "uri", "value": EX}}]
            },
        }
    )
    busy = "HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\nbusy"
    away = "HTTP/1.1 302 Found\r\nLocation: /sparql2?x\r\nContent-Length: 0\r\n\r\n"
    login = 'HTTP/1.1 401 No\r\nWWW-Authenticate: Digest realm="x", nonce="y", qop="auth"\r\nContent-Length: 0\r\n\r\n'
    full = [f"{head}Content-Length: {len(body)}\r\n\r\n{body}" for body in (*RESULTS, count)]
    chunked = f"{head}Transfer-Encoding: chunked\r\n\r\n{len(count):x}\r\n{count}\r\n0\r\n\r\n"
    return [text.encode() for text in (*full, chunked, busy, away, login)]  # fmt: skip


def _names(data: bytes) -> object:
    names = data.decode("utf-8", "surrogateescape").split("\n")
    return open_access(WORKSHOP.run, names).token(names[0])


def _belief(data: bytes) -> object:
    return evaluation_of(open_run(WORKSHOP.run)).row(data.decode("utf-8", "surrogateescape"))


def _mined(data: bytes) -> object:
    beliefs = kgeval.read_beliefs(WORKSHOP.file("mined.nt", data))
    rules = mine(beliefs, MiningOptions(min_support=1, max_walks=1e5))
    return kgeval.couple(beliefs, rules[:50], max_groundings=1000).n_constraints


def _published(data: bytes) -> object:
    """A graph all the way into a record and a report."""
    beliefs = kgeval.read_beliefs(WORKSHOP.file("whole.ttl", data))
    evaluation = kgeval.evaluate(kgeval.couple(beliefs, []), _Sceptic(), budget=3, policy="srs")
    write_record(evaluation, WORKSHOP.folder / "whole.nq")
    assert sum(1 for _ in ox.parse(path=WORKSHOP.folder / "whole.nq"))
    text = page(gather(evaluation))
    assert "<script>alert" not in text
    return make_record(evaluation)


class _Sceptic:
    annotator = "sceptic"

    def ask(self, _: object) -> Any:
        from rdf_kgeval.verdicts.log import Answer

        return Answer.FALSE


def _fixed(*seeds: bytes | str) -> Callable[[], Sequence[bytes]]:
    found = [seed.encode() if isinstance(seed, str) else seed for seed in seeds]
    return lambda: found


TARGETS: dict[str, Target] = {
    **{f"rdf-{suffix}": _rdf(suffix) for suffix in ("nt", "nq", "ttl", "trig", "rdf", "jsonld", "n3", "ttl.gz")},
    "rdf-to-report": Target(_published, _fixed(TURTLE, f'{PREFIXES}:a rdfs:label "<script>alert(1)</script>" ; :p <javascript:alert(1)> .')),
    "rules-rq": Target(_rules("rule.rq"), _templates),
    "rules-shacl": Target(_rules("shapes.ttl"), _fixed(SHACL)),
    "rules-amie": Target(_rules("amie.tsv"), _fixed(AMIE)),
    "rules-anyburl": Target(_rules("rules-100"), _fixed(ANYBURL)),
    "ontology-ttl": Target(_ontology("ttl"), _fixed(OWL)),
    "ontology-owl": Target(_ontology("owl"), lambda: [OWL.encode(), ox.serialize(ox.parse(OWL, format=ox.RdfFormat.TURTLE), format=ox.RdfFormat.RDF_XML)]),
    "mining": Target(_mined, lambda: [ox.serialize(ox.parse(path=EXAMPLE / "kg.ttl"), format=ox.RdfFormat.N_TRIPLES)]),
    "gold-csv": Target(_gold("gold.csv"), lambda: [(EXAMPLE / "gold.csv").read_bytes()]),
    "gold-ttl": Target(_gold("gold.ttl"), _fixed(f'{PREFIXES}[] rdf:subject :a ; rdf:predicate :p ; rdf:object "o" ; kge:label true .')),
    "results": Target(_results, _result_seeds),
    "scope": Target(_scope, _fixed(*SCOPES)),
    "run-config": _in_run("config.json"),
    "run-config-hostile": _in_run("config.json", hostile=True),
    "run-rules-hostile": _in_run("coupling/rules.json", hostile=True),
    "run-arrays-hostile": Target(_arrays, _fixed(bytes(range(64)), b"\x03\x80\x00\xff" * 3)),
    "run-array": _in_run("coupling/atom.npy", hostile=True),
    "run-verdicts": _in_run("verdicts.jsonl", _log),
    "run-exported": _in_run("exported.txt", lambda folder: open_run(folder).exported()),
    "run-guidelines": _in_run("guidelines.md", lambda folder: read_guidelines(folder / "guidelines.md")),
    "run-secret": _in_run("web-secret", lambda folder: open_access(folder, ["ann"])),
    "record-trig": _record("trig"),
    "record-nq": _record("nq", "named-graphs"),
    "record-ttl": _record("ttl", "triple-terms"),
    "record-jsonld": _record("jsonld"),
    "pages": Target(lambda data: _pages().request(data), _page_seeds),
    "answers": Target(_answers, _fixed(*RESULTS)),
    "endpoint": Target(_endpoint, _endpoint_seeds),
    "names": Target(_names, _fixed("ann\nbob", "\u00e9\x00")),
    "belief": Target(_belief, lambda: [_ids()[0].encode(), b"<http://a> <http://b> <http://c>"]),
}  # fmt: skip

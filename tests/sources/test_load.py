import gzip
import io
import sys
from pathlib import Path

import pytest
import rdflib

import rdf_kgeval as kgeval
from rdf_kgeval.beliefs.table import Beliefs, Role
from rdf_kgeval.errors import InputError

EX = "http://example.org/"
TURTLE = """@prefix : <http://example.org/> .
:a :p :b ; :q "x"@en , 7 .
:b :p :c .
"""


def triples(beliefs: Beliefs, *roles: Role) -> set[tuple[str, str, str]]:
    wanted = roles or (Role.BELIEF,)
    return {beliefs.triple(row) for row in range(len(beliefs)) if beliefs.role[row] in wanted}


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    path = tmp_path / "kg.ttl"
    path.write_text(TURTLE)
    return path


@pytest.mark.parametrize("suffix", ["nt", "nq", "ttl", "trig", "rdf", "jsonld", "owl", "n3"])
def test_every_format_gives_the_same_beliefs(kg: Path, suffix: str) -> None:
    other = kg.with_name(f"other.{suffix}")
    same = {
        "nq": "nt",
        "trig": "turtle",
        "ttl": "turtle",
        "owl": "xml",
        "rdf": "pretty-xml",
        "jsonld": "json-ld",
    }
    rdflib.Graph().parse(kg).serialize(other, format=same.get(suffix, suffix), encoding="utf-8")
    assert triples(kgeval.read_beliefs(other)) == triples(kgeval.read_beliefs(kg))


def test_several_files_gzipped_and_plain(kg: Path) -> None:
    packed = kg.with_name("more.nt.gz")
    packed.write_bytes(
        gzip.compress(b"<http://example.org/c> <http://example.org/p> <http://example.org/d> .\n")
    )
    assert len(triples(kgeval.read_beliefs([kg, packed]))) == 5


def test_gzip_and_byte_order_marks_are_noticed_whatever_the_name(tmp_path: Path) -> None:
    for name, data in (
        ("kg.ttl", gzip.compress(TURTLE.encode())),
        ("bom.ttl", b"\xef\xbb\xbf" + TURTLE.encode()),
    ):
        (tmp_path / name).write_bytes(data)
        assert len(triples(kgeval.read_beliefs(tmp_path / name))) == 4


def test_standard_input_can_be_read_once(kg: Path) -> None:
    with pytest.raises(InputError, match="only once"):
        kgeval.read_beliefs("-", context=["-"], format="ttl")


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TURTLE.encode())))
    assert len(triples(kgeval.read_beliefs("-", format="ttl"))) == 4


def test_xml_in_an_unknown_encoding_is_refused(tmp_path: Path) -> None:
    for name in ("www-8", "shift_jis"):
        (tmp_path / "kg.rdf").write_text(f'<?xml version="1.0" encoding="{name}"?><rdf:RDF xmlns:rdf="x"/>')
        with pytest.raises(InputError, match=r"kg.rdf, line 1: not valid RDF/XML: its encoding is not known"):
            kgeval.read_beliefs(tmp_path / "kg.rdf")
        (tmp_path / "ontology.rdf").write_bytes((tmp_path / "kg.rdf").read_bytes())
        with pytest.raises(InputError, match="its encoding is not known"):
            kgeval.read_ontology(tmp_path / "ontology.rdf")


def test_an_rdflib_graph(kg: Path) -> None:
    assert triples(kgeval.read_beliefs(rdflib.Graph().parse(kg))) == triples(kgeval.read_beliefs(kg))


def test_blank_nodes_are_background(tmp_path: Path) -> None:
    path = tmp_path / "kg.ttl"
    path.write_text(TURTLE + ":c :p [ :q 1 ] .")
    beliefs = kgeval.read_beliefs(path)
    assert beliefs.n_beliefs == 4
    assert len(triples(beliefs, Role.BACKGROUND)) == 2


def test_scope_by_predicate_keeps_the_rest_as_background(kg: Path) -> None:
    beliefs = kgeval.read_beliefs(kg, predicates=[EX + "p"])
    assert {p for _, p, _ in triples(beliefs)} == {f"<{EX}p>"}
    assert len(triples(beliefs, Role.BACKGROUND)) == 2


def test_scope_by_graph_counts_a_triple_that_stands_in_two(tmp_path: Path) -> None:
    path = tmp_path / "kg.trig"
    path.write_text("@prefix : <http://example.org/> . :g1 { :a :p :b , :c } :g2 { :a :p :b , :d }")
    beliefs = kgeval.read_beliefs(path, graph=EX + "g1")
    assert {o for _, _, o in triples(beliefs)} == {f"<{EX}b>", f"<{EX}c>"}


@pytest.mark.parametrize(
    "query",
    [
        "PREFIX : <http://example.org/> SELECT ?s ?p ?o { ?s ?p ?o FILTER(?p = :p) }",
        "PREFIX : <http://example.org/> SELECT ?o ?p ?s WHERE { ?s ?p ?o . ?s :p ?o }",
        "PREFIX : <http://example.org/> CONSTRUCT { ?x :p ?y } WHERE { ?x :p ?y }",
        "PREFIX : <http://example.org/> CONSTRUCT WHERE { ?x :p ?y }",
    ],
)
def test_scope_by_query(kg: Path, query: str) -> None:
    scope = kg.with_name("scope.rq")
    scope.write_text(query)
    beliefs = kgeval.read_beliefs(kg, scope=scope)
    assert triples(beliefs) == triples(kgeval.read_beliefs(kg, predicates=[EX + "p"]))
    assert len(triples(beliefs, Role.BACKGROUND)) == 2


def test_scope_by_query_keeps_the_spelling_of_numbers(tmp_path: Path) -> None:
    path, scope = tmp_path / "kg.ttl", tmp_path / "scope.rq"
    path.write_text("@prefix : <http://example.org/> . :a :p 007 , 7 , 1.50 , 8 . :b :p 7 .")
    scope.write_text("SELECT ?s ?p ?o { ?s ?p ?o FILTER(?o < 8) }")
    beliefs = kgeval.read_beliefs(path, scope=scope)
    integer = "^^<http://www.w3.org/2001/XMLSchema#integer>"
    assert {o for s, _, o in triples(beliefs) if s == f"<{EX}a>"} == {
        f'"007"{integer}',
        f'"7"{integer}',
        '"1.50"^^<http://www.w3.org/2001/XMLSchema#decimal>',
    }
    assert {o for s, _, o in triples(beliefs) if s == f"<{EX}b>"} == {f'"7"{integer}'}
    assert len(triples(beliefs, Role.BACKGROUND)) == 1


def test_scope_by_query_can_choose_triples_with_blank_nodes(tmp_path: Path) -> None:
    path, scope = tmp_path / "kg.ttl", tmp_path / "scope.rq"
    path.write_text("@prefix : <http://example.org/> . :a :p [ :q 1 ] , :b .")
    scope.write_text("SELECT ?s ?p ?o { ?s ?p ?o FILTER(isBlank(?s) || isBlank(?o)) }")
    beliefs = kgeval.read_beliefs(path, scope=scope)
    assert len(beliefs) == 3
    assert len(triples(beliefs)) == 2


def test_scope_by_query_knows_triple_terms(tmp_path: Path) -> None:
    path, scope = tmp_path / "kg.nt", tmp_path / "scope.rq"
    path.write_text(f'<{EX}a> <{EX}says> <<( <{EX}s> <{EX}p> <<( <{EX}s> <{EX}p> "o x" )>> )>> .')
    scope.write_text("SELECT ?s ?p ?o { ?s ?p ?o }")
    assert triples(kgeval.read_beliefs(path, scope=scope)) == triples(kgeval.read_beliefs(path))


def test_scope_by_query_can_make_new_triples(kg: Path) -> None:
    scope = kg.with_name("scope.rq")
    scope.write_text(f"CONSTRUCT {{ ?y <{EX}inverse> ?x }} WHERE {{ ?x <{EX}p> ?y }}")
    beliefs = kgeval.read_beliefs(kg, scope=scope)
    assert {p for _, p, _ in triples(beliefs)} == {f"<{EX}inverse>"}
    assert len(triples(beliefs, Role.BACKGROUND)) == 4


def test_scope_by_query_never_asks_the_network(kg: Path) -> None:
    scope = kg.with_name("scope.rq")
    scope.write_text("SELECT ?s ?p ?o { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }")
    with pytest.raises(InputError, match="uses SERVICE"):
        kgeval.read_beliefs(kg, scope=scope)


def test_scope_by_query_sees_named_graphs_as_one(tmp_path: Path) -> None:
    path, scope = tmp_path / "kg.trig", tmp_path / "scope.rq"
    path.write_text("@prefix : <http://example.org/> . :g1 { :a :p :b } :g2 { :a :q :c }")
    scope.write_text("SELECT ?s ?p ?o { ?s ?p ?o }")
    assert kgeval.read_beliefs(path, scope=scope).n_beliefs == 2
    assert kgeval.read_beliefs(path, scope=scope, graph=EX + "g1").n_beliefs == 1


def test_context_wins_over_belief(kg: Path) -> None:
    given, unknown = kg.with_name("given.nt"), kg.with_name("unknown.nt")
    given.write_text(f"<{EX}a> <{EX}p> <{EX}b> .\n<{EX}z> <{EX}p> <{EX}b> .")
    unknown.write_text(f"<{EX}b> <{EX}p> <{EX}c> .")
    beliefs = kgeval.read_beliefs(kg, context=[given], context_unknown=[unknown])
    assert beliefs.n_beliefs == 2
    assert len(triples(beliefs, Role.GIVEN)) == 2
    assert len(triples(beliefs, Role.UNKNOWN)) == 1


NASTY = (
    "it's \"quoted\" \\ back\\slash\nnew\r\nline\ttab \x1b[31mred\x1b[0m \u202ertl '; DROP TABLE beliefs; -- "
    '} } INSERT DATA { <x:> <x:> "x" } # <img src=x onerror=alert(1)>'
)


def test_hostile_literals_pass_unchanged() -> None:
    graph = rdflib.Graph()
    subject = rdflib.URIRef("http://example.org/it's?a=%22;--(')")
    for text in (NASTY, "x" * 1_000_000, ""):
        graph.add((subject, rdflib.URIRef(EX + "p"), rdflib.Literal(text)))
    beliefs = kgeval.read_beliefs(graph)
    back = rdflib.Graph()
    back.parse(data="\n".join(beliefs.line(row) for row in beliefs.rows), format="nt")
    assert {str(o) for o in back.objects()} == {NASTY, "x" * 1_000_000, ""}
    assert set(back.subjects()) == {subject}


def broken_turtle() -> str:
    lines = ["@prefix : <http://example.org/> ."] + [f":s{i} :p :o{i} ." for i in range(8000)]
    lines[7311] = ":s :p <not closed ."
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("kg.ttl", broken_turtle().encode(), "kg.ttl, line 7312: not valid Turtle"),
        ("kg.ttl", b"", "holds no triple"),
        ("kg.ttl", b"# only a comment\n", "holds no triple"),
        ("kg.nt", b"\x89PNG\r\n\x1a\n\x00\x00", "kg.nt, line 1: not valid N-Triples"),
        ("kg.ttl", b"<a> <b> <c> .", "write IRIs in full or add @base"),
        ("kg.pdf", b"%PDF", "cannot be told from its name; add --format"),
        ("kg.nt.gz", b"not gzip", "kg.nt.gz, line 1: not valid N-Triples"),
        ("kg.nt", b'<http://a> <http://b> "' + b"x" * (17 << 20) + b'" .', "a term of more than 16 MB"),
        (
            "kg.nt.gz",
            gzip.compress(b"<http://a> <http://b> <http://c> .\n" * 9999)[:-20],
            "not a whole gzip file",
        ),
        ("kg.jsonld", b'{"@context": "http://127.0.0.1:1/c", "@id": "http://a"}', "which is never fetched"),
        ("kg.rdf", b"<html><body>", "not valid RDF/XML"),
        ("kg.ttl", b"[] <http://example.org/p> [] .", "name the triples with --scope"),
        ("kg.nq", b'<http://a> <http://b> <<( _:a <http://b> "c" )>> .', "give that node an IRI"),
    ],
)
def test_bad_files_are_one_sentence(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        kgeval.read_beliefs(tmp_path / name)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.ttl cannot be read: No such file"):
        kgeval.read_beliefs(tmp_path / "absent.ttl")
    (tmp_path / "folder.ttl").mkdir()
    with pytest.raises(InputError, match=r"folder\.ttl cannot be read: Is a directory"):
        kgeval.read_beliefs(tmp_path / "folder.ttl")


def test_scope_that_matches_nothing_says_what_is_there(kg: Path) -> None:
    with pytest.raises(InputError, match=r"matches <http://example.org/zz>; the predicates there are"):
        kgeval.read_beliefs(kg, predicates=[EX + "zz"])
    with pytest.raises(InputError, match="not an absolute IRI"):
        kgeval.read_beliefs(kg, predicates=["p"])


def rdf_xml(inner: str, doctype: str = "") -> str:
    return (
        f'{doctype}<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://example.org/">'
        f"{inner}</rdf:RDF>"
    )


@pytest.mark.parametrize("padding", ["", " " * (1 << 20), "<!-- <a> -->" * 100_000])
@pytest.mark.parametrize("quote", ['"', "'"])
def test_an_entity_bomb_does_not_explode(tmp_path: Path, padding: str, quote: str) -> None:
    entities = "".join(f"<!ENTITY e{i} {quote}{f'&e{i - 1};' * 10}{quote}>" for i in range(1, 12))
    doctype = f'<!DOCTYPE rdf:RDF [<!ENTITY e0 "it\'s lol">{entities}]>'
    path = tmp_path / "bomb.rdf"
    path.write_text(
        padding
        + rdf_xml(
            '<rdf:Description rdf:about="http://example.org/a"><e:p>&e11;</e:p></rdf:Description>', doctype
        )
    )
    with pytest.raises(InputError, match="amplification"):
        kgeval.read_beliefs(path)


def test_rdf_xml_that_is_cut_off_or_doubled_is_refused(tmp_path: Path) -> None:
    node = '<rdf:Description rdf:about="http://example.org/a"><e:p>x</e:p></rdf:Description>'
    path = tmp_path / "kg.rdf"
    whole = rdf_xml(node * 50_000)
    path.write_text(whole)
    assert kgeval.read_beliefs(path).n_beliefs == 1
    for bad in (whole[: whole.index("</rdf:Description>", 2_000_000) + 18], whole[:2_000_000], whole + whole):
        path.write_text(bad)
        with pytest.raises(InputError, match=r"kg\.rdf, line 1: not valid RDF/XML"):
            kgeval.read_beliefs(path)


def test_entities_that_abbreviate_a_namespace_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "kg.rdf"
    path.write_text(
        '<!DOCTYPE rdf:RDF [<!ENTITY ex "http://example.org/">]>'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://example.org/">'
        '<rdf:Description rdf:about="&ex;a"><e:p rdf:resource="&ex;b"/></rdf:Description></rdf:RDF>'
    )
    assert triples(kgeval.read_beliefs(path)) == {(f"<{EX}a>", f"<{EX}p>", f"<{EX}b>")}

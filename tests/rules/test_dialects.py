"""Reading rules: what they say, and one sentence for everything that is wrong with them."""

from pathlib import Path

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdf_kgeval.errors import InputError
from rdf_kgeval.rules.construct import parse_construct
from rdf_kgeval.rules.dialects import DIALECTS, dialect_of, read_rules
from rdf_kgeval.rules.rule import AXIOM_CONFIDENCE, DEFAULT_CONFIDENCE, Rule, from_json, theta, to_json
from rdf_kgeval.rules.write import WRITERS

ROOT = Path(__file__).parents[2]
GOOD = "PREFIX : <http://example.org/>\nCONSTRUCT { ?x a :C } WHERE { ?x :p ?y }\n"


def write(folder: Path, text: str, name: str = "rule.rq") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def error_of(*paths: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_rules(*paths)
    return str(caught.value)


def test_metadata_is_read_from_comments(tmp_path: Path) -> None:
    file = write(
        tmp_path, f'#+ id: my-rule\n#+ summary: "What: it says"\n#+ weight: 0.4\n#+ tags:\n#+   - x\n{GOOD}'
    )
    (rule,) = read_rules(file)
    assert (rule.id, rule.summary, rule.weight, rule.theta) == ("my-rule", "What: it says", 0.4, 0.4)
    assert rule.source is not None
    assert str(rule.source) == f"{file}, line 7"


SAMPLES = {
    "template": (
        "r.rq",
        "#+ confidence: 0.75\nPREFIX : <http://example.org/>\n"
        "CONSTRUCT { ?a :r ?c } WHERE { ?a :p ?b . ?b :q ?c }\n",
    ),
    "shacl": (
        "r.ttl",
        "@prefix sh: <http://www.w3.org/ns/shacl#> .\n@prefix : <http://example.org/> .\n"
        "@prefix kge: <https://w3id.org/rdf-kgeval#> .\n"
        ":r a sh:SPARQLRule ; kge:confidence 0.75 ;\n"
        '  sh:construct "CONSTRUCT { $this <http://example.org/r> ?c } WHERE '
        '{ $this <http://example.org/p> ?b . ?b <http://example.org/q> ?c }" .\n'
        ":s a sh:NodeShape ; sh:targetSubjectsOf :p ; sh:rule :r .\n",
    ),
    "miner-table": (
        "r.tsv",
        "?a  <http://example.org/p>  ?b  ?b  <http://example.org/q>  ?c   => ?a  <http://example.org/r>  ?c"
        "\t0.5\t0.5\t0.75\t12\n",
    ),
}
"""The same rule in every dialect: a file name, and what the file holds."""


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_reads_the_same_rule_and_every_writer_writes_it_back(
    dialect: str, tmp_path: Path
) -> None:
    name, text = SAMPLES[dialect]
    file = write(tmp_path, text, name)
    assert dialect_of(file).name == dialect
    (rule,) = read_rules(file)
    assert (
        meaning(rule)
        == "?0 <http://example.org/p> ?1 . ?1 <http://example.org/q> ?2 => ?0 <http://example.org/r> ?2"
    )
    assert rule.confidence == 0.75
    for form, write_rules in WRITERS.items():
        output = tmp_path / f"{form}.ttl"
        write_rules([rule], output)
        (again,) = read_rules(output)
        assert (meaning(again), again.confidence) == (meaning(rule), 0.75)


def meaning(rule: Rule) -> str:
    """Body and head, with variables numbered in the order in which they come."""
    names: dict[str, str] = {}
    assert rule.head is not None
    patterns = [
        " ".join(names.setdefault(t, f"?{len(names)}") if t.startswith("?") else t for t in pattern)
        for pattern in (*rule.body, rule.head)
    ]
    return f"{' . '.join(patterns[:-1])} => {patterns[-1]}"


def test_without_metadata_the_file_names_the_rule(tmp_path: Path) -> None:
    (rule,) = read_rules(write(tmp_path, GOOD, "stadium.rq"))
    assert (rule.id, rule.theta) == ("stadium", theta(DEFAULT_CONFIDENCE))


def test_metadata_inside_the_query_is_only_text(tmp_path: Path) -> None:
    text = 'PREFIX : <http://example.org/>\nCONSTRUCT { ?x a :C } WHERE { ?x :p """\n#+ weight: 5\n""" }\n'
    (rule,) = read_rules(write(tmp_path, text))
    assert rule.weight is None


def test_theta_of_a_confidence() -> None:
    assert theta(AXIOM_CONFIDENCE) == pytest.approx(0.05 * 0.49 / 0.01)
    assert theta(0.5) == theta(0.2) == 0
    assert theta(1.0) == theta(0.999) < 30


def test_every_rule_survives_json() -> None:
    rules = read_rules(ROOT / "queries/rules", ROOT / "ontologies/sports-rules.ttl")
    assert len(rules) >= 12
    assert [from_json(to_json(rule)) for rule in rules] == rules


def test_every_example_rule_says_what_it_is_for() -> None:
    assert all(rule.summary.endswith(".") for rule in read_rules(ROOT / "queries/rules"))


TEMPLATES = {
    "a select": ("SELECT * WHERE { ?x ?p ?y }", 1, "not a CONSTRUCT"),
    "no template": ("CONSTRUCT WHERE { ?x <http://e/p> ?y }", 1, "CONSTRUCT WHERE"),
    "empty template": ("CONSTRUCT { } WHERE { ?x <http://e/p> ?y }", 1, "empty template"),
    "an update": ("DELETE WHERE { ?x <http://e/p> ?y }", 1, "not valid SPARQL"),
    "no SPARQL": ("hello", 1, "SPARQL"),
    "nothing": ("", 1, "ends before"),
    "only comments": ("#+ id: x\n# nothing\n", 2, "ends before"),
    "unclosed": ("CONSTRUCT { ?x a <http://e/C> }\nWHERE { ?x a ?y", 2, "ends before"),
    "a typo": ("CONSTRUCT { ?x a <http://e/C> }\nWHERE {\n  ?x a ?y . ?x @@ ?y\n}", 3, "not valid SPARQL from"),
    "undeclared prefix": ("CONSTRUCT { ?x a <http://e/C> }\nWHERE { ?x ex:p ?y }", 2, "prefix ex: without"),
    "relative IRI": ("CONSTRUCT { ?x a <C> }\nWHERE { ?x a ?y }", 1, "names C, which is not an RDF term"),
    "blank node in template": ("\nCONSTRUCT { ?x <http://e/p> [] } WHERE { ?x a ?y }", 2, "blank node"),
    "literal as subject": ('CONSTRUCT { "x" <http://e/p> ?y } WHERE { ?x a ?y }', 1, "can be no triple"),
    "unbound head": ("\n\nCONSTRUCT { ?x a ?z } WHERE { ?x a ?y }", 3, "?z, which WHERE does not bind"),
    "unbound head of a denial": ("#+ denial: true\nCONSTRUCT { ?x a ?z } WHERE { ?x a ?y }", 2, "does not bind"),
    "only in NOT EXISTS": (
        "CONSTRUCT { ?x a ?z } WHERE { ?x a ?y FILTER NOT EXISTS { ?y a ?z } }", 1, "does not bind"),
    "head in body": ("CONSTRUCT { ?x a ?y } WHERE { ?x a ?y }", 1, "its own WHERE"),
    "no plain triple": ("CONSTRUCT { ?x a ?y } WHERE { ?x <http://e/p>+ ?y }", 1, "no plain triple"),
    "empty WHERE": ("CONSTRUCT { <http://e/x> a <http://e/C> } WHERE { }", 1, "no plain triple"),
    "SERVICE": ("CONSTRUCT { ?x a ?y }\nWHERE { ?x ?p ?y\n SERVICE <http://e/> { ?y a ?z } }", 3, "SERVICE"),
    "SERVICE in EXISTS": (
        "CONSTRUCT { ?y a ?x } WHERE { ?x a ?y FILTER EXISTS { SERVICE SILENT <http://e/> { ?y a ?z } } }", 1, "SERVICE"),
    "SERVICE in a sub-SELECT": (
        "CONSTRUCT { ?y a ?x } WHERE { ?x a ?y { SELECT ?y { SERVICE <http://e/> { ?y a ?z } } } }", 1, "SERVICE"),
    "escaped SERVICE": ("CONSTRUCT { ?y a ?x } WHERE { ?x a ?y \\u0053ERVICE <http://e/> { ?y a ?z } }", 1, "SERVICE"),
    "LIMIT": ("CONSTRUCT { ?y a ?x } WHERE { ?x a ?y } LIMIT 5", 1, "LIMIT"),
    "FROM": ("CONSTRUCT { ?y a ?x }\nFROM <http://e/g> WHERE { ?x a ?y }", 2, "FROM"),
    "GROUP BY": ("CONSTRUCT { ?y a ?x } WHERE { ?x a ?y } GROUP BY ?x ?y", 1, "GROUP"),
    "bare double": ("CONSTRUCT { ?x a <http://e/C> } WHERE { ?x <http://e/p> 1e0 }", 1, "bare number"),
    "many alternatives": (
        "CONSTRUCT { ?x a <http://e/C> } WHERE { " + "?x <http://e/p>|<http://e/q> ?y . " * 7 + "}", None, "alternatives"),
    "weight": (f"#+ weight: heavy\n{GOOD}", 1, "weight is 'heavy'"),
    "negative weight": (f"#+ weight: -1\n{GOOD}", 1, "weight is '-1'"),
    "infinite weight": (f"#+ weight: inf\n{GOOD}", 1, "weight is 'inf'"),
    "no number": (f"#+ weight: nan\n{GOOD}", 1, "weight is 'nan'"),
    "confidence": (f"#+ id: x\n#+ confidence: 90\n{GOOD}", 2, "confidence is '90'"),
    "weight and confidence": (f"#+ weight: 1\n#+ confidence: 0.9\n{GOOD}", 2, "keep one of them"),
    "latent": (f"#+ latent: maybe\n{GOOD}", 1, "write true or false"),
    "twice": (f"#+ weight: 1\n#+ weight: 2\n{GOOD}", 2, "states weight twice"),
    "no character": ("CONSTRUCT { ?x a <http://e/C> }\nWHERE { ?x a <http://e/\\uD800> }", 2, "escapes \\uD800"),
    "no character in a string": ('CONSTRUCT { ?x a ?y } WHERE { ?x ?y "\\U00110000" }', 1, "escapes \\U00110000"),
    "half an escape": ("CONSTRUCT { ?x a <http://e/C> } WHERE { ?x a <http://e/\\u12> }", 1, "not valid SPARQL"),
    "an escaped space": ("CONSTRUCT { ?x a <http://e/C> } WHERE { ?x a <http://e/\\u0020> }", 1, "not valid SPARQL"),
    "a misspelt key": (f"#+ wieght: 1\n{GOOD}", 1, "write #+ weight"),
}  # fmt: skip


ESCAPABLE = """PREFIX e: <http://example.org/a#>
CONSTRUCT { ?x e:q <http://example.org/C> } # a comment keeps \\u000A
WHERE { ?x e:p "über 'x' \\\\u0041", \'\'\'a "b" c\'\'\'@en ; a|^e:r ?y . FILTER(?x != e:z && !BOUND(?y)) OPTIONAL { ?y e:s "t" } }
"""


def escape(character: str, style: int) -> str:
    code = ord(character)
    style |= 2 * (code > 0xFFFF)
    return (f"\\u{code:04x}", f"\\u{code:04X}", f"\\U{code:08x}", f"\\U{code:08X}")[style]


@given(st.lists(st.tuples(st.integers(0, len(ESCAPABLE) - 1), st.integers(0, 3)), max_size=60))
def test_codepoint_escapes_may_stand_anywhere(places: list[tuple[int, int]]) -> None:
    """But in comments, for quotes, which would end or start a string, and inside other escapes."""
    comment = range(ESCAPABLE.index("# a"), ESCAPABLE.index("\nWHERE"))
    other = ESCAPABLE.index("\\\\u")
    text = list(ESCAPABLE)
    for at, style in places:
        if at not in comment and at not in (other, other + 1) and ESCAPABLE[at] not in "\"'\n":
            text[at] = escape(ESCAPABLE[at], style)
    plain, escaped = parse_construct(ESCAPABLE), parse_construct("".join(text))
    assert (escaped.heads, escaped.branches) == (plain.heads, plain.branches)
    assert escaped.line == plain.line
    branch = plain.branches[0]
    assert escaped.select(branch, plain.heads[0]).split() == plain.select(branch, plain.heads[0]).split()


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), st.data())
def test_any_character_of_a_string_may_be_escaped(value: str, data: st.DataObject) -> None:
    inside = "".join(escape(c, data.draw(st.integers(0, 3))) for c in value)
    for quote in ('"', "'", '"""', "'''"):
        construct = parse_construct(
            f"CONSTRUCT {{ ?x a {quote}{inside}{quote} }} WHERE {{ ?x a ?y FILTER EXISTS {{ ?x ?y {quote}{inside}{quote} }} }}"
        )
        (quad,) = pyoxigraph.parse(f"<s:s> <p:p> {construct.heads[0][2]} .", pyoxigraph.RdfFormat.N_TRIPLES)
        assert quad.object == pyoxigraph.Literal(value)
        pyoxigraph.Store().query(construct.select(construct.branches[0], construct.heads[0]))


@pytest.mark.parametrize("case", TEMPLATES.values(), ids=TEMPLATES)
def test_bad_template(case: tuple[str, int | None, str], tmp_path: Path) -> None:
    text, line, reason = case
    file = write(tmp_path, text)
    message = error_of(file)
    place = str(file) if line is None else f"{file}, line {line}: "
    assert message.startswith(place), message
    assert reason in message
    assert "; " in message, "it says what to do"
    assert "\n" not in message


def test_all_errors_of_a_folder_are_told_at_once(tmp_path: Path) -> None:
    write(tmp_path, "SELECT * { ?x ?y ?z }", "a.rq")
    write(tmp_path, GOOD, "b.rq")
    write(tmp_path, f"#+ weight: x\n{GOOD}", "c.rq")
    write(tmp_path, "@prefix : <", "d.ttl")
    write(tmp_path, f"#+ id: b\n{GOOD}", "e.rq")
    lines = error_of(tmp_path, tmp_path / "none.rq").split("\n")
    assert [next(n for n in ("a.rq", "c.rq", "d.ttl", "none.rq", "e.rq") if n in line) for line in lines] == [
        "a.rq",
        "c.rq",
        "d.ttl",
        "none.rq",
        "e.rq",
    ]
    assert "the id b is taken by" in lines[-1]


def test_paths_that_hold_no_rules(tmp_path: Path) -> None:
    assert "holds no .rq or .ttl file" in error_of(tmp_path)
    assert "holds no rule; give rules as .rq or .ttl files" in error_of(write(tmp_path, "x", "rules.txt"))
    assert "cannot be read" in error_of(tmp_path / "missing.rq")
    (tmp_path / "latin.rq").write_bytes(b"# caf\xe9\n" + GOOD.encode())
    assert "not UTF-8" in error_of(tmp_path / "latin.rq")


def test_messages_show_no_control_characters(tmp_path: Path) -> None:
    assert "\x1b" not in error_of(write(tmp_path, "CONSTRUCT { ?x a <C\x1b[31m> } WHERE { ?x a ?y }"))


def test_a_rule_made_by_hand_is_checked() -> None:
    with pytest.raises(InputError, match="empty body"):
        Rule(id="x", body=(), head=None)
    with pytest.raises(InputError, match=r"head variable \?z"):
        Rule(id="x", body=(("?x", "<p:>", "?y"),), head=("?x", "<p:>", "?z"))
    with pytest.raises(InputError, match="confidence 2"):
        Rule(id="x", body=(("?x", "<p:>", "?y"),), head=None, confidence=2)


SHAPE = """@prefix : <http://example.org/> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix kge: <https://w3id.org/rdf-kgeval#> .
:Shape a sh:NodeShape ; TARGET
  sh:rule [ RULE ] .
"""
TRIPLE = "a sh:TripleRule ; sh:subject sh:this ; sh:predicate :q ; sh:object :o"
SHACL = {
    "not Turtle": (None, None, "not valid"),
    "no rule": ("sh:targetClass :C", "", "no sh:rule"),
    "no target": ("", TRIPLE, "no target"),
    "SPARQL target": ("sh:target [ a sh:SPARQLTarget ] ;", TRIPLE, "no target"),
    "unknown kind": ("sh:targetClass :C ;", "a sh:JSRule", "neither a sh:SPARQLRule"),
    "no construct": ("sh:targetClass :C ;", "a sh:SPARQLRule", "no sh:construct"),
    "bad construct": ("sh:targetClass :C ;", 'a sh:SPARQLRule ; sh:construct "CONSTRUCT {"', "ends before"),
    "undeclared prefix": (
        "sh:targetClass :C ;", 'a sh:SPARQLRule ; sh:construct "CONSTRUCT { $this a ex:D } WHERE { $this a ex:C }"', "ex:"),
    "condition": ("sh:targetClass :C ;", f"{TRIPLE} ; sh:condition :Other", "sh:condition"),
    "no object": ("sh:targetClass :C ;", "a sh:TripleRule ; sh:subject sh:this ; sh:predicate :q", "0 values of sh:object"),
    "two objects": ("sh:targetClass :C ;", f"{TRIPLE} ; sh:object :p", "2 values of sh:object"),
    "literal predicate": (
        "sh:targetClass :C ;", 'a sh:TripleRule ; sh:subject sh:this ; sh:predicate "q" ; sh:object :o', "predicate no IRI"),
    "blank object": ("sh:targetClass :C ;", "a sh:TripleRule ; sh:subject sh:this ; sh:predicate :q ; sh:object []", "node expression"),
    "path": (
        "sh:targetClass :C ;",
        "a sh:TripleRule ; sh:subject sh:this ; sh:predicate :q ; sh:object [ sh:path [ sh:zeroOrMorePath :p ] ]", "fixed steps"),
    "weight": ("sh:targetClass :C ;", f'{TRIPLE} ; kge:weight "much"', "kge:weight is 'much'"),
    "confidence": ("sh:targetClass :C ;", f"{TRIPLE} ; kge:confidence 7", "kge:confidence is '7'"),
    "two weights": ("sh:targetClass :C ;", f"{TRIPLE} ; kge:weight 1 , 2", "more than one"),
    "service": (
        "sh:targetClass :C ;",
        'a sh:SPARQLRule ; sh:construct "CONSTRUCT { $this a ?x } WHERE { SERVICE <http://e/> { $this a ?x } }"', "SERVICE"),
}  # fmt: skip


@pytest.mark.parametrize("case", SHACL.values(), ids=SHACL)
def test_bad_shacl(case: tuple[str | None, str, str], tmp_path: Path) -> None:
    target, rule, reason = case
    text = "@prefix : <" if target is None else SHAPE.replace("TARGET", target).replace("RULE", rule)
    if not rule and target is not None:
        text = text.replace(";\n  sh:rule [  ]", "").replace("\n  sh:rule [  ]", "")
    message = error_of(write(tmp_path, text, "shapes.ttl"))
    assert message.startswith(str(tmp_path / "shapes.ttl"))
    assert reason in message
    assert "; " in message
    assert "\n" not in message


def test_a_shacl_error_names_its_line(tmp_path: Path) -> None:
    text = SHAPE.replace("TARGET", "sh:targetClass :C ;").replace(
        "RULE", 'a sh:SPARQLRule ; sh:construct """\nCONSTRUCT { $this a :D }\nWHERE { $this :p ?x }"""'
    )
    assert error_of(write(tmp_path, text, "shapes.ttl")).startswith(f"{tmp_path / 'shapes.ttl'}, line 6: ")


def test_shacl_strength_and_order_do_not_hang_on_blank_nodes(tmp_path: Path) -> None:
    rules = " ] , [ ".join(TRIPLE.replace(" :o", f" :o{i}") + f" ; kge:weight 0.{i}" for i in (3, 1, 2))
    file = write(
        tmp_path, SHAPE.replace("TARGET", "sh:targetClass :C ;").replace("RULE", rules), "shapes.ttl"
    )
    first = read_rules(file)
    assert [rule.weight for rule in first] == [0.1, 0.2, 0.3]
    assert [rule.id for rule in first] == ["Shape-1", "Shape-2", "Shape-3"]
    assert read_rules(file) == first

"""Rules as AMIE and AnyBURL write them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdf_kgeval.errors import InputError
from rdf_kgeval.rules.dialects import read_rules
from rdf_kgeval.rules.rule import Measures, Pattern
from tests.support.strategies import iris

AMIE = """Assuming 'kg.tsv' as schema
Starting the mining phase
Rule\tHead Coverage\tStd Confidence\tPCA Confidence\tPositive Examples\tBody size\tPCA Body size\tFunctional variable
?a  <http://e/playsFor>  ?h  ?h  <http://e/league>  ?b   => ?a  <http://e/playsIn>  ?b\t0.25\t0.5\t0.75\t30\t60\t40\t?a
?a  <http://e/sport>  <http://e/golf>   => ?a  <http://e/kind>  "solo sport"@en\t0.1\t0.2\t0,3\t12\t60\t40\t?a
Mining done in 1 s
"""
ANYBURL = (
    "100\t80\t0.8\thttp://e/playsIn(X,Y) <= http://e/playsFor(X,A), http://e/league(A,Y)\n"
    "20\t10\t0.5\t<http://e/kind>(X,http://e/solo) <= <http://e/sport>(X,<http://e/golf(club),a>)\n"
    "20\t10\t0.5\thttp://e/of(http://e/uk,Y) <= http://e/in(Y,A)\n"
    "9\t3\t0.3333\thttp://e/of(X,http://e/uk) <= \n"
)


def test_amie(tmp_path: Path) -> None:
    (tmp_path / "amie 3.tsv").write_text(AMIE)
    chain, constants = read_rules(tmp_path / "amie 3.tsv")
    assert chain.body == (("?a", "<http://e/playsFor>", "?h"), ("?h", "<http://e/league>", "?b"))
    assert chain.head == ("?a", "<http://e/playsIn>", "?b")
    assert (chain.id, chain.confidence, chain.measures) == ("amie-3-4", 0.75, Measures(30, 0.25, 0.5))
    assert chain.summary == "If a plays for h and h league b, then a plays in b."
    assert constants.summary == "If a sport golf, then a kind solo sport."
    assert constants.body == (("?a", "<http://e/sport>", "<http://e/golf>"),)
    assert constants.head == ("?a", "<http://e/kind>", '"solo sport"@en')
    assert constants.confidence == 0.3


def test_anyburl(tmp_path: Path) -> None:
    (tmp_path / "rules-100").write_text(ANYBURL)
    chain, constants, subject = read_rules(tmp_path / "rules-100")
    assert chain.body == (("?X", "<http://e/playsFor>", "?A"), ("?A", "<http://e/league>", "?Y"))
    assert chain.head == ("?X", "<http://e/playsIn>", "?Y")
    assert (chain.id, chain.confidence, chain.measures) == ("rules-100-1", 0.8, Measures(80))
    assert constants.body == (("?X", "<http://e/sport>", "<http://e/golf(club),a>"),)
    assert constants.head == ("?X", "<http://e/kind>", "<http://e/solo>")
    assert subject.head == ("<http://e/uk>", "<http://e/of>", "?Y")


terms = iris.map(str)
atoms = st.one_of(
    st.tuples(st.sampled_from("XYAB"), terms, st.sampled_from("XYAB")),
    st.tuples(st.sampled_from("XYAB"), terms, terms),
    st.tuples(terms, terms, st.sampled_from("XYAB")),
)


@given(st.lists(atoms, min_size=1, max_size=3, unique=True), terms, st.sampled_from(["amie", "anyburl"]))
def test_what_they_write_is_read(
    tmp_path_factory: pytest.TempPathFactory, body: list[tuple[str, str, str]], head: str, kind: str
) -> None:
    variable = next(term for term in (body[0][0], body[0][2]) if len(term) == 1)
    atoms_ = [*body, (variable, head, "<http://example.org/new>")]
    if kind == "anyburl":
        *conditions, conclusion = (f"{p}({s},{o})" for s, p, o in atoms_)
        line = f"10\t5\t0.5\t{conclusion} <= {', '.join(conditions)}"
    else:
        words = ["  ".join(f"?{t}" if len(t) == 1 else t for t in atom) for atom in atoms_]
        line = f"{'  '.join(words[:-1])}   => {words[-1]}\t0.5\t0.5\t0.5\t5\t10\t10\t?a"
    file = tmp_path_factory.mktemp("rules") / "rules.txt"
    file.write_text(line, encoding="utf-8")
    (rule,) = read_rules(file)
    patterns: list[Pattern] = [
        tuple(f"?{t}" if len(t) == 1 else t for t in atom)  # type: ignore[misc]
        for atom in atoms_
    ]
    assert rule.body == tuple(patterns[:-1])
    assert rule.head == patterns[-1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nothing here", "holds no rule; give rules as .rq or .ttl files, or as AMIE or AnyBURL wrote them"),
        ("?a  playsFor  ?b   => ?a  <http://e/q>  ?b\t1\t1\t1\t1", "'playsFor' is no IRI or literal"),
        ("?a  <http://e/p>   => ?a  <http://e/q>  ?b\t1\t1\t1\t1", "is no list of triples"),
        ("?a  <http://e/p>  ?b   => ?a  <http://e/q>  ?b\t1\tx\t1\t1", "'x' is not a number"),
        ("?a  <http://e/p>  ?b   => ?a  <http://e/q>  ?b", "less than 4 columns"),
        ("?a  <http://e/p>  ?b   => ?a  <http://e/q>  ?c\t1\t1\t1\t1", "head variable ?c"),
        ("?a  <http://e/p>  ?b   => ?a  <http://e/p>  ?b\t1\t1\t1\t1", "its conclusion is not one triple"),
        ("?a  <http://e/p>  ?b   => ?a  <http://e/q>  ?b\t1\t1\t7\t1", "confidence 7.0 is not from 0 to 1"),
        ("?a  <http://e/p>  ?b   => ?a  <http://e/q>  ?b\t1\t1\t1\tNaN", "'NaN' is not a number"),
        ("?a  <http://e/p>  ?b\tx => y\t1\t1\t1", "is no rule; give the file as it was written"),
        ("9\t3\t0.3\thttp://e/p(X,Y) <= http://e/q", "is no atom such as p(X,Y)"),
        ("?a>  <http://e/p>  ?b   => ?a  <http://e/q>  ?b\t1\t1\t1\t1", "'?a>' is no variable such as ?a"),
        ("9\t3 <= 1\t0.3\thttp://e/p(X,Y)", "is no rule; give the file as it was written"),
        ("3\t0.3\thttp://e/p(X,Y) <= http://e/q(X,Y)", "it has 3 columns; AnyBURL writes 4"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "rules.tsv").write_text("\n" + line)
    with pytest.raises(InputError) as error:
        read_rules(tmp_path / "rules.tsv")
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert "rules.tsv" in str(error.value)

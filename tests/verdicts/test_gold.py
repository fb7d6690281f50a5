"""Labels from files: CSV and RDF, right and wrong."""

from pathlib import Path

import pytest

from rdf_kgeval.errors import InputError
from rdf_kgeval.verdicts.gold import read_gold

PREFIXES = """@prefix : <http://example.org/> . @prefix kge: <https://w3id.org/rdf-kgeval#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
"""
STATEMENT = ":x rdf:subject :a ; rdf:predicate :p ; rdf:object"


def test_labels_in_rdf(tmp_path: Path) -> None:
    path = tmp_path / "gold.ttl"
    path.write_text(
        f'{PREFIXES}{STATEMENT} "o"@en ; kge:label true . [] rdf:subject :b ; rdf:predicate :p ; rdf:object :c ; '
        'kge:label "0" . :other :about :that .'
    )
    a, b, c, p = (f"<http://example.org/{name}>" for name in "abcp")
    assert read_gold(path) == {(a, p, '"o"@en'): True, (b, p, c): False}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{STATEMENT} :o .", "labels no statement with kge:label"),
        (":x rdf:subject :a ; kge:label true .", "has kge:label but no .*predicate; add it"),
        (f"{STATEMENT} :o ; kge:label :yes .", "the kge:label '' is not true or false"),
        (f'{STATEMENT} :o ; kge:label "perhaps" .', "the kge:label 'perhaps' is not true or false"),
        (
            f"{STATEMENT} :o ; kge:label true . {STATEMENT.replace(':x', ':y')} :o ; kge:label false .",
            "has two labels; keep one",
        ),
    ],
)
def test_what_is_wrong_in_rdf(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "gold.ttl").write_text(PREFIXES + text)
    with pytest.raises(InputError, match=rf"gold.ttl:? .*{message}"):
        read_gold(tmp_path / "gold.ttl")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("subject,predicate,label\n", "line 1: the column object is missing"),
        ("http://e/a,http://e/p,http://e/o,perhaps\n", "line 2: the label 'perhaps' is not 1 or 0"),
        ("a,http://e/p,http://e/o,1\n", "line 2: 'a' is neither an IRI nor an N-Triples term"),
        ('http://e/a,http://e/p,"x,1\n', "not valid CSV: unexpected end of data"),
        (
            "http://e/a,http://e/p,http://e/o,1\nhttp://e/a,http://e/p,<http://e/o>,0\n",
            "line 3: the same triple",
        ),
        ("\udcff", "is not UTF-8 text; save it as UTF-8"),
    ],
)
def test_what_is_wrong_in_csv(tmp_path: Path, text: str, message: str) -> None:
    head = "" if text.startswith("subject") else "subject,predicate,object,label\n"
    (tmp_path / "gold.csv").write_text(head + text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(InputError, match=message):
        read_gold(tmp_path / "gold.csv")


def test_an_unlabelled_row_is_left_out_and_an_absent_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "gold.csv").write_text("subject,predicate,object,label\nhttp://e/a,http://e/p,http://e/o,\n")
    assert read_gold(tmp_path / "gold.csv") == {}
    with pytest.raises(InputError, match=r"absent.csv cannot be read: No such file"):
        read_gold(tmp_path / "absent.csv")

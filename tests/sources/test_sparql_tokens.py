"""SPARQL tokens: what looks like a brace, a keyword or an escape, but is part of something else."""

import pytest

from rdf_kgeval.sources.sparql_tokens import TOKEN


@pytest.mark.parametrize(
    "text",
    [
        "# { FROM",
        "<http://example.org/#FROM>",
        r"<http://example.org/\u0041#FROM>",
        r"\u003chttp://example.org/#FROM\U0000003E",
        '"{ FROM \\" # "',
        "'{ FROM \\' # '",
        '"""{ FROM "" \n " # """',
        "'''{ FROM '' \n ' # '''",
        "?FROM",
        "$FROM",
        "ex:FROM",
        r"ex:a\#b\'FROM",
        ":FROM",
    ],
)
def test_one_token_hides_what_is_inside(text: str) -> None:
    token = TOKEN.match(text)
    assert token is not None
    assert token[0] == text
    assert not token["word"]
    assert not token["brace"]


def test_words_and_braces_are_found_between_other_tokens() -> None:
    text = r"""SELECT * { ?s ex:p\-q "}" . # } FROM
      FILTER(?s<?o && ?o > 3) } GROUP BY ?s"""
    found = [token[0] for token in TOKEN.finditer(text) if token["word"] or token["brace"]]
    assert found == ["SELECT", "{", "FILTER", "}", "GROUP", "BY"]


def test_a_prefixed_name_ends_before_an_escaped_bracket() -> None:
    found = [token[0] for token in TOKEN.finditer(r"PREFIX ex:\u003chttp://example.org/#\u003e")]
    assert found == ["PREFIX", "ex:", r"\u003chttp://example.org/#\u003e"]

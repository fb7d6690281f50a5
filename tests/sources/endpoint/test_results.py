"""Results in JSON that strict parsers refuse."""

import json

from rdf_kgeval.sources.endpoint.results import read_rows

INTEGER = "http://www.w3.org/2001/XMLSchema#integer"


def test_rows_beside_an_invalid_one_are_read_with_the_words_of_old_stores() -> None:
    rows = [
        {"x": {"type": "uri", "value": "not an IRI"}},
        {"x": {"type": "typed-literal", "value": "1", "datatype": INTEGER}},
        {"x": {"type": "literal", "value": "a", "xml:lang": "en"}},
        {"x": {"type": "uri", "value": "nodeID://b10"}},
        {},
    ]
    body = json.dumps({"head": {"vars": ["x"]}, "results": {"bindings": rows}}).encode()
    found, skipped = read_rows(body, ["x"])
    assert found == [(f'"1"^^<{INTEGER}>',), ('"a"@en',), ("_:nodeIDb10",), (None,)]
    assert [json.loads(row) for row in skipped] == rows[:1]

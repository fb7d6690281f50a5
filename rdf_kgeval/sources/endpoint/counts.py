"""Count the triples of an endpoint, in all and by predicate."""

import re

from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import EndpointError
from rdf_kgeval.sources.endpoint.client import Endpoint, SelectResult


def count(endpoint: Endpoint, query: str) -> int:
    """Send a query for one number, ?n, and return it."""
    rows = endpoint.select(query, ["n"]).rows
    return as_count(endpoint, rows[0][0] if len(rows) == 1 else None)


def as_count(endpoint: Endpoint, term: str | None) -> int:
    """Parse the number that a COUNT returned."""
    number = re.match('"([0-9]{1,18})"', term or "")
    if number is None:
        raise EndpointError(
            f"{endpoint.name} answered COUNT with {printable(str(term), 80)}; "
            "check that it is a SPARQL 1.1 endpoint"
        )
    return int(number[1])


def count_by_predicate(endpoint: Endpoint, grouped: str, name: str = "p") -> dict[str, int]:
    """Count triples by predicate; a predicate that is not valid RDF appears as its row in JSON.

    Args:
        endpoint: where to ask.
        grouped: a query for the predicates, under this name, and their numbers ?n.
        name: the variable of the predicate.
    """
    answer = endpoint.select(grouped, [name, "n"])
    counts = _counts(endpoint, answer)
    size = answer.limit
    if size is None or len(counts) < size:
        return counts
    counts = {}
    while True:
        page = (
            f"SELECT ?{name} ?n WHERE {{ {{ {grouped} ORDER BY ?{name} }} }} "
            f"LIMIT {size} OFFSET {len(counts)}"
        )
        more = _counts(endpoint, endpoint.select(page, [name, "n"]))
        # A server that ignores OFFSET sends the same page again and again.
        is_last = len(more) < size or more.keys() <= counts.keys()
        counts |= more
        if is_last:
            return counts


def _counts(endpoint: Endpoint, answer: SelectResult) -> dict[str, int]:
    counts = {p: as_count(endpoint, n) for p, n in answer.rows if p is not None}
    for row in answer.skipped:
        number = re.search(r'"n": {[^{}]*"value": ("\d+")', row)
        counts[row] = as_count(endpoint, number and number[1])
    return counts

"""Parse SPARQL results in JSON as servers send them: valid, cut short, or with terms that are not RDF."""

import json
from collections.abc import Sequence

import pyoxigraph as ox

from rdf_kgeval.beliefs.terms import json_term, oxigraph_text
from rdf_kgeval.sources.endpoint.quirks import NODE_ID, standard_binding

Row = tuple[str | None, ...]
"""One N-Triples term per variable, None where unbound."""


def read_rows(body: bytes, variables: Sequence[str]) -> tuple[list[Row], list[str]]:
    """Parse the rows of a SELECT; return those with a term that is not valid RDF apart, as JSON.

    Raises:
        ValueError: the body is cut short, or is not SPARQL JSON.
    """
    rows = _strict_rows(body, variables) if NODE_ID not in body else None
    return _tolerant_rows(body, variables) if rows is None else (rows, [])


def _strict_rows(body: bytes, variables: Sequence[str]) -> list[Row] | None:
    # A separate function, because pyoxigraph's solutions must not outlive their thread in a traceback.
    try:
        solutions = ox.parse_query_results(body, format=ox.QueryResultsFormat.JSON)
        if not isinstance(solutions, ox.QuerySolutions):
            return None
        at = [solutions.variables.index(ox.Variable(v)) for v in variables]
        return [
            tuple(None if (term := solution[i]) is None else oxigraph_text(term) for i in at)
            for solution in solutions
        ]
    except (SyntaxError, ValueError):
        return None


def _tolerant_rows(body: bytes, variables: Sequence[str]) -> tuple[list[Row], list[str]]:
    """Parse rows where the strict parser fails: stores hand out invalid IRIs and blank node labels."""
    rows: list[Row] = []
    skipped: list[str] = []
    try:
        for binding in json.loads(body, object_hook=standard_binding)["results"]["bindings"]:
            try:
                rows.append(tuple(json_term(binding[v]) if v in binding else None for v in variables))
            except ValueError:
                skipped.append(json.dumps(binding, sort_keys=True))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("not SPARQL JSON") from error
    return rows, skipped

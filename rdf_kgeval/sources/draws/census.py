"""Take the census: the number of beliefs of each predicate at the endpoint."""

from dataclasses import dataclass, replace

from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.errors import EndpointError, IncompleteError, InputError
from rdf_kgeval.sources.draws.pool import Pool
from rdf_kgeval.sources.endpoint.client import Endpoint
from rdf_kgeval.sources.endpoint.counts import as_count, count, count_by_predicate

_VOID = "http://rdfs.org/ns/void#"


@dataclass(frozen=True, kw_only=True)
class Census:
    """Sizes of the population."""

    sizes: dict[str, int]
    """Beliefs by predicate, an N-Triples term."""
    triples: dict[str, int]
    """The same with triples of blank nodes: quick to count again, to notice a change of the store."""
    exact: bool
    """Whether the store counted them itself, rather than took them from published statistics."""
    notes: list[str]
    invalid: int = 0
    """Triples that are not valid RDF."""
    schema_types: int = 0
    """Triples that are left out because their object is a class of a vocabulary of schemas."""


def take_census(endpoint: Endpoint, pool: Pool) -> Census:
    """Count by GROUP BY; where that takes too long, predicate by predicate, or read VoID statistics.

    Raises:
        EndpointError: there is no way to get the sizes.
        InputError: there is nothing to evaluate.
    """
    try:
        triples, invalid = _valid(_count(endpoint, pool, blank=True))
        sizes, _ = _valid(_count(endpoint, pool, blank=False))
        notes = []
        if invalid:
            notes.append(f"left out {plural(invalid, 'triple')} with an IRI or a term that is not valid RDF")
        types = count(endpoint, pool.count_schema_types()) if pool.judged else 0
        census = Census(
            sizes=sizes, triples=triples, exact=True, notes=notes, invalid=invalid, schema_types=types
        )
    except IncompleteError as trouble:
        census = _other_counts(endpoint, pool, trouble)
    if not sum(census.sizes.values()) + census.schema_types:
        raise InputError(
            f"{endpoint.name} has no triple in this scope that could be evaluated in place; check --graph, "
            "--predicate and --scope"
        )
    absent = [printable(p) for p in pool.predicates if p not in census.sizes]
    notes = [f"no triple there has the predicate {p}; check --predicate" for p in absent]
    return replace(
        census,
        sizes=dict(sorted((p, n) for p, n in census.sizes.items() if n)),
        triples=dict(sorted(census.triples.items())),
        notes=[*census.notes, *notes],
    )


def count_triples(endpoint: Endpoint, pool: Pool) -> dict[str, int]:
    """Count triples by predicate, those of blank nodes included."""
    return _valid(_count(endpoint, pool, blank=True))[0]


def _count(endpoint: Endpoint, pool: Pool, *, blank: bool) -> dict[str, int]:
    query, predicate = pool.count(blank=blank), pool.template[1]
    if not predicate.startswith("?"):
        return {predicate: count(endpoint, query)}
    return count_by_predicate(endpoint, query, "kgeval_p")


def _valid(counts: dict[str, int]) -> tuple[dict[str, int], int]:
    valid = {p: n for p, n in counts.items() if p.startswith("<")}
    return valid, sum(counts.values()) - sum(valid.values())


def _other_counts(endpoint: Endpoint, pool: Pool, trouble: IncompleteError) -> Census:
    late = f"{endpoint.name} could not count its triples by predicate in time"
    if pool.predicates:
        try:
            sizes = {p: count(endpoint, pool.only(p).count(blank=False)) for p in pool.predicates}
            note = f"{late}; each predicate was counted alone"
            return Census(sizes=sizes, triples={}, exact=True, notes=[note])
        except IncompleteError as error:
            trouble = error
    if pool.plain:
        sizes = _void_sizes(endpoint, pool)
        if sizes:
            note = (
                f"{late}: the sizes are those of its own VoID statistics, which somebody else made at some "
                "other time; blank nodes may be counted in them, and the estimate is as right as they are"
            )
            return Census(sizes=sizes, triples={}, exact=False, notes=[note])
    more = "" if pool.predicates else "name the predicates with --predicate so that each is counted alone, "
    raise EndpointError(
        f"{late} and has no VoID statistics that would do; {more}give it longer with --timeout, or evaluate "
        "a dump"
    ) from trouble


def _void_sizes(endpoint: Endpoint, pool: Pool) -> dict[str, int]:
    """Read the sizes of void:propertyPartition; of several for a predicate, the largest."""
    part = f"?x <{_VOID}property> ?p ; <{_VOID}triples> ?n ."
    query = f"SELECT ?p ?n WHERE {{ {{ {part} }} UNION {{ GRAPH ?g {{ {part} }} }} }}"
    try:
        rows = endpoint.select(query, ["p", "n"]).rows
    except IncompleteError:
        return {}
    sizes: dict[str, int] = {}
    for predicate, number in rows:
        if predicate and predicate.startswith("<") and predicate in (pool.predicates or (predicate,)):
            sizes[predicate] = max(sizes.get(predicate, 0), as_count(endpoint, number))
    return sizes

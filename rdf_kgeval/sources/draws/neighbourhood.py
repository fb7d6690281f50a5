"""Fetch the neighbourhood of drawn beliefs: the triples that people and rules can use."""

import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from rdf_kgeval.beliefs.table import Triple
from rdf_kgeval.common.progress import StepProgress
from rdf_kgeval.namespaces import RDF_TYPE
from rdf_kgeval.sources.draws.log import DrawLogRecord, DrawRecord, NeighbourhoodRecord
from rdf_kgeval.sources.draws.pool import Pool
from rdf_kgeval.sources.endpoint.client import Endpoint

BATCH = 50
"""Entities in one query."""
HUB = 200
"""Triples to fetch of one entity in one direction, at most."""
USUAL = 20
"""Triples of an entity above which the batches of entities become smaller."""
_IRI = re.compile('<[^<>"{}|^`\\\\\\x00-\\x20]*>')


class Tie(Protocol):
    """The patterns that a rule ties together; drawing needs no more of a rule."""

    @property
    def body(self) -> tuple[Triple, ...]: ...  # noqa: D102

    @property
    def head(self) -> Triple | None: ...  # noqa: D102


@dataclass(frozen=True, kw_only=True)
class Followed:
    """The predicates that are followed from an entity; None for all."""

    outgoing: frozenset[str] | None
    incoming: frozenset[str] | None

    @classmethod
    def of(cls, rules: Iterable[Tie], decorations: Sequence[str]) -> "Followed":
        """Collect labels and types, and the predicates by which rules can join an entity to others."""
        outgoing: set[str] | None = {f"<{p}>" for p in (RDF_TYPE, *decorations)}
        incoming: set[str] | None = set()
        for rule in rules:
            patterns: list[Triple] = [*rule.body, *([rule.head] if rule.head else [])]
            for s, p, o in patterns:
                outgoing = _with(outgoing, p) if s.startswith("?") else outgoing
                incoming = _with(incoming, p) if o.startswith("?") else incoming
        return cls(
            outgoing=None if outgoing is None else frozenset(outgoing),
            incoming=None if incoming is None else frozenset(incoming),
        )


def _with(predicates: set[str] | None, predicate: str) -> set[str] | None:
    if predicates is None or predicate.startswith("?"):
        return None
    return predicates | {predicate}


def frontier(records: Sequence[DrawLogRecord], hop: int) -> list[str]:
    """List the entities whose neighbourhood is still to be fetched in this hop."""
    wanted: set[str] = set()
    for record in records:
        if isinstance(record, DrawRecord) and hop == 1:
            wanted.update(term for row in record.rows for term in row[:3] if _IRI.fullmatch(term))
        elif isinstance(record, NeighbourhoodRecord) and record.hop == hop - 1:
            wanted.update(term for s, _, o in record.triples for term in (s, o) if _IRI.fullmatch(term))
    for record in records:
        if isinstance(record, NeighbourhoodRecord) and record.hop <= hop:
            wanted.difference_update(record.entities)
    return sorted(wanted)


def fetch_around(
    endpoint: Endpoint,
    pool: Pool,
    followed: Followed,
    entities: Sequence[str],
    hop: int,
    *,
    parallel: int,
    progress: StepProgress,
) -> Iterator[NeighbourhoodRecord]:
    """Fetch the neighbourhood of the entities, a batch at a time."""
    batches = [list(entities[i : i + BATCH]) for i in range(0, len(entities), BATCH)]

    def fetch(batch: list[str]) -> NeighbourhoodRecord:
        cut: list[str] = []
        found: set[tuple[str, str, str]] = set()
        for outward, predicates in ((True, followed.outgoing), (False, followed.incoming)):
            if predicates is None or predicates:
                _collect(endpoint, pool, batch, outward, predicates, found, cut)
        return NeighbourhoodRecord(
            hop=hop, entities=batch, triples=[list(t) for t in sorted(found)], cut=sorted(cut)
        )

    with ThreadPoolExecutor(parallel, thread_name_prefix="around") as threads:
        for done, around in enumerate(threads.map(fetch, batches), start=1):
            progress(done, len(batches))
            yield around


def _collect(
    endpoint: Endpoint,
    pool: Pool,
    entities: list[str],
    outward: bool,
    predicates: frozenset[str] | None,
    found: set[tuple[str, str, str]],
    cut: list[str],
) -> None:
    """Fetch the triples that start or end at the entities; where there are too many, in smaller batches."""
    limit = max(HUB, USUAL * len(entities))
    end = "?s" if outward else "?o"
    only = f"VALUES ?p {{ {' '.join(sorted(predicates))} }} " if predicates is not None else ""
    inner = f"VALUES {end} {{ {' '.join(entities)} }} {only}?s ?p ?o"
    where = f"GRAPH {pool.graph} {{ {inner} }}" if pool.graph else inner
    answer = endpoint.select(
        f"SELECT ?s ?p ?o {pool.dataset}WHERE {{ {where} }} LIMIT {limit}", ["s", "p", "o"]
    )
    came = len(answer.rows) + len(answer.skipped)
    if came >= min(limit, answer.limit or limit):
        if len(entities) > 1:
            middle = len(entities) // 2
            for part in (entities[:middle], entities[middle:]):
                _collect(endpoint, pool, part, outward, predicates, found, cut)
            return
        cut.append(entities[0])
    for s, p, o in answer.rows:
        if s and p and o and s.startswith("<") and not o.startswith(("_:", "<<")):
            found.add((s, p, o))

"""The draw log: the triples drawn from an endpoint, their probabilities, and their neighbourhood.

An evaluation in place depends on nothing but this log, the settings and the verdict log: the same log always
gives the same beliefs.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rdf_kgeval.beliefs.accounts import BELIEFS, GIVEN, INVALID, REPEATS, UNKNOWN, Accounts
from rdf_kgeval.beliefs.builder import BeliefsBuilder
from rdf_kgeval.beliefs.sampling_frame import NO_PLACE, SamplingFrame
from rdf_kgeval.beliefs.table import Beliefs, Role, Triple
from rdf_kgeval.common.jsonlog import JsonLog, read_records
from rdf_kgeval.common.types import Float64s
from rdf_kgeval.sources.draws.pool import FULL, place_of
from rdf_kgeval.sources.unjudged import is_schema_type


@dataclass(frozen=True, kw_only=True)
class CensusRecord:
    """The sizes of the population when they were counted, as in `Census`, and how it is drawn from."""

    sizes: dict[str, int]
    triples: dict[str, int]
    exact: bool
    salt: str
    graph: str
    """The named graph of all beliefs; empty for the default one."""
    plain: bool
    """Whether every triple of these predicates is a belief."""
    notes: list[str]
    context: list[list[Any]] = field(default_factory=list)
    """Role and quad of each triple read from files."""
    context_read: int = 0
    """The number of triples read from files."""
    left_out: dict[str, int] | None = None
    """Triples of the store that are not beliefs, by their account; None in logs of older versions."""
    judged: bool = False
    """As in `Pool`."""
    kind: str = "counted"


@dataclass(frozen=True, kw_only=True)
class DrawRecord:
    """All triples of some predicates with places from `low` to before `high`."""

    predicates: list[str]
    low: int
    high: int
    probability: float
    """Inclusion probability of each triple of these predicates."""
    rows: list[list[str]]
    """Subject, predicate, object and digest."""
    notes: list[str] = field(default_factory=list)
    kind: str = "draw"


@dataclass(frozen=True, kw_only=True)
class NeighbourhoodRecord:
    """The neighbourhood of some entities: triples that start or end at them."""

    hop: int
    entities: list[str]
    triples: list[list[str]]
    cut: list[str]
    """Entities with too many triples to fetch all."""
    kind: str = "around"


@dataclass(frozen=True, kw_only=True)
class ChangeRecord:
    """New counts of a store that has changed."""

    triples: dict[str, int]
    kind: str = "changed"


DrawLogRecord = CensusRecord | DrawRecord | NeighbourhoodRecord | ChangeRecord
_KINDS: dict[str, type[Any]] = {
    "counted": CensusRecord,
    "draw": DrawRecord,
    "around": NeighbourhoodRecord,
    "changed": ChangeRecord,
}


class DrawLog(JsonLog[DrawLogRecord]):
    """A draw log opened for appending by one process at a time."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "draw", _from_json, asdict)


def read_draws(path: Path) -> list[DrawLogRecord]:
    """Read all whole records of a log."""
    return read_records(path, "draw", _from_json)


def _from_json(value: dict[str, Any]) -> DrawLogRecord:
    record: DrawLogRecord = _KINDS[value["kind"]](**value)
    return record


def census_of(records: Iterable[DrawLogRecord]) -> CensusRecord | None:
    """Find the record of the census; None before the population was counted."""
    return next((record for record in records if isinstance(record, CensusRecord)), None)


def reaches(records: Iterable[DrawLogRecord]) -> dict[str, int]:
    """Find, by predicate, the place below which every triple was drawn."""
    reach: dict[str, int] = {}
    for record in records:
        if isinstance(record, DrawRecord):
            for predicate in record.predicates:
                if record.low == reach.get(predicate, 0):
                    reach[predicate] = record.high
    return reach


def drawn_triples(records: Iterable[DrawLogRecord]) -> dict[Triple, str]:
    """Map every drawn triple to its digest."""
    return {
        (s, p, o): digest
        for record in records
        if isinstance(record, DrawRecord)
        for s, p, o, digest in record.rows
    }


def beliefs_of(records: Sequence[DrawLogRecord]) -> Beliefs:
    """Build the beliefs that were fetched, as a sample of their population."""
    population = census_of(records)
    assert population is not None  # noqa: S101
    builder = BeliefsBuilder()
    graph = population.graph
    drawn = drawn_triples(records)
    builder.add(((*triple, graph) for triple in drawn), Role.BELIEF)
    for record in records:
        if isinstance(record, NeighbourhoodRecord):
            for s, p, o in record.triples:
                schema = population.judged and is_schema_type(p, o)
                inside = population.plain and p in population.sizes and not schema
                builder.add([(s, p, o, graph)], Role.BELIEF if inside else Role.BACKGROUND)
    for role, s, p, o, g in population.context:
        builder.add([(s, p, o, g)], Role(role))
    beliefs = builder.build()
    place = np.full(len(beliefs), NO_PLACE)
    for triple, digest in drawn.items():
        row = beliefs.find(*triple)
        assert row is not None  # noqa: S101
        place[row] = place_of(digest)
    reach = reaches(records)
    frame = SamplingFrame(
        sizes=_sizes(population, reach, beliefs, place),
        reach={predicate: reach.get(predicate, 0) / FULL for predicate in population.sizes},
        place=place,
        salt=population.salt,
    )
    return beliefs.with_frame(frame)


def accounts_of(records: Sequence[DrawLogRecord], beliefs: Beliefs) -> Accounts | None:
    """Put every triple that the store counts, or a file holds, into its account.

    Args:
        records: the draws.
        beliefs: as `beliefs_of` builds them.
    """
    population, frame = census_of(records), beliefs.frame
    if population is None or population.left_out is None or frame is None:
        return None
    context = Counter({(s, p, o): role for role, s, p, o, _ in population.context}.values())
    whole = {beliefs.terms.find(p) for p, reach in frame.reach.items() if reach >= 1}
    drawn = (frame.place < NO_PLACE) & np.isin(beliefs.p, [n for n in whole if n is not None])
    also_context = int((drawn & (beliefs.role != Role.BELIEF)).sum())
    lost = sum(population.sizes.values()) - frame.total - also_context if population.exact else 0
    counts = Counter(
        {
            BELIEFS: frame.total,
            GIVEN: context[Role.GIVEN],
            UNKNOWN: context[Role.UNKNOWN],
            REPEATS: population.context_read - context.total() + also_context,
            INVALID: max(lost, 0),
        }
    )
    counts.update(population.left_out)
    return Accounts(read=counts.total(), counts={k: n for k, n in counts.items() if n}, by_store=True)


def _sizes(
    population: CensusRecord, reach: Mapping[str, int], beliefs: Beliefs, place: Float64s
) -> dict[str, int]:
    """Correct the sizes of predicates that were drawn whole: count the beliefs that can be asked about."""
    drawn = (place < NO_PLACE) & (beliefs.role == Role.BELIEF)
    sizes = dict(population.sizes)
    for predicate in sizes:
        if reach.get(predicate, 0) >= FULL:
            sizes[predicate] = int((drawn & (beliefs.p == beliefs.terms.find(predicate))).sum())
    return sizes


def notes_of(records: Iterable[DrawLogRecord]) -> list[str]:
    """List notes on the draws for the user."""
    notes: list[str] = []
    cut: set[str] = set()
    for record in records:
        if isinstance(record, CensusRecord | DrawRecord):
            notes += record.notes
        elif isinstance(record, NeighbourhoodRecord):
            cut.update(record.cut)
        else:
            notes.append(describe_change(census_of(records), record))
    if cut:
        shown = ", ".join(sorted(cut)[:3])
        notes.append(
            f"only a part of what stands around {len(cut):,} much-used entities was taken, such as {shown}; "
            "that may leave out inferences, and never moves the estimate"
        )
    return list(dict.fromkeys(notes))


def describe_change(before: CensusRecord | None, change: ChangeRecord) -> str:
    """Describe a change of the store in a sentence."""
    was = sum(before.triples.values()) if before else 0
    now = sum(change.triples.values())
    other = sum(
        abs(change.triples.get(p, 0) - (before.triples.get(p, 0) if before else 0))
        for p in {*change.triples, *(before.triples if before else ())}
    )
    return (
        f"the store has changed since it was counted: it had {was:,} triples of this scope and has {now:,} "
        f"(by predicate, at least {other:,} came or went); the estimate is of the graph as it was counted, "
        "as far as draws were made before the change"
    )

"""Drawing: triples from an endpoint by the places of their digests, checked as they come."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from rdf_kgeval.beliefs.sampling_frame import LARGE
from rdf_kgeval.beliefs.table import Triple
from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.errors import EndpointError, IncompleteError, InputError
from rdf_kgeval.sources.draws.log import Draw
from rdf_kgeval.sources.draws.pool import FULL, Pool, digest_of, recoded_digests
from rdf_kgeval.sources.endpoint.client import Endpoint, SelectResult
from rdf_kgeval.sources.endpoint.counts import count
from rdf_kgeval.sources.endpoint.quirks import may_rewrite

LEAST = 30
"""At least so many of each stratum."""
GROWTH = 3
"""So many times farther reaches each further draw."""
_MOST_PREDICATES = 100
_PROBE = 1000
_DEVIATIONS = 6.0
"""A number of triples so far off its expectation is no chance."""


def first_reaches(sizes: Mapping[str, int], reserve: int) -> dict[str, int]:
    """By predicate, up to which place to draw at first; small predicates, which share a stratum, alike."""
    total = sum(sizes.values())
    small = [n for n in sizes.values() if n < LARGE * total]
    rest = _reach(sum(small), reserve * sum(small) / total)
    return {p: rest if n < LARGE * total else _reach(n, reserve * n / total) for p, n in sizes.items()}


def next_reaches(reach: Mapping[str, int], short: Iterable[str], sizes: Mapping[str, int]) -> dict[str, int]:
    """Up to which place to draw when these predicates are used up."""
    return {p: min(FULL, max(GROWTH * reach.get(p, 0), _reach(sizes[p], 1.0))) for p in short}


def _reach(size: int, expected: float) -> int:
    wanted = max(expected, LEAST)
    share = (wanted + 3 * math.sqrt(wanted)) / max(size, 1)
    return FULL if share >= 1 else math.ceil(share * FULL)


def units(
    reach: Mapping[str, int], goal: Mapping[str, int], sizes: Mapping[str, int]
) -> Iterator[tuple[list[str], int, int]]:
    """What to ask for at once: large predicates alone, small ones that go from and to the same places."""
    total = sum(sizes.values())
    small: dict[tuple[int, int], list[str]] = {}
    for predicate, high in goal.items():
        low = reach.get(predicate, 0)
        if low >= high:
            continue
        if sizes[predicate] >= LARGE * total:
            yield [predicate], low, high
        else:
            small.setdefault((low, high), []).append(predicate)
    for (low, high), predicates in small.items():
        for i in range(0, len(predicates), _MOST_PREDICATES):
            yield predicates[i : i + _MOST_PREDICATES], low, high


class Drawer:
    """Draws from one pool.

    Args:
        endpoint: where to ask.
        pool: what to draw from.
        salt: of the digests.
        sizes: how many triples each predicate has.
        exact: whether the sizes are sure.
    """

    def __init__(
        self, endpoint: Endpoint, pool: Pool, salt: str, sizes: Mapping[str, int], *, exact: bool
    ) -> None:
        self._endpoint = endpoint
        self._pool = pool
        self._salt = salt
        self._sizes = sizes
        self._exact = exact

    def draw(self, predicates: Sequence[str], low: int, high: int) -> Draw:
        """All triples of these predicates with places from `low` to before `high`.

        Raises:
            EndpointError: the store has not given them, or others.
        """
        pool = self._pool.among(predicates)
        found, notes = self._rows(pool, predicates, low, high)
        if len({tuple(row[:3]) for row in found}) < len(found):
            raise InputError(
                f"{self._endpoint.name} gives the same triple several times, once for each of its graphs, so "
                "that it cannot be counted; name one graph with --graph"
            )
        return Draw(
            predicates=list(predicates),
            low=low,
            high=high,
            probability=(high - low) / FULL,
            rows=sorted(found, key=lambda row: row[3]),
            notes=notes,
        )

    def _rows(
        self, pool: Pool, predicates: Sequence[str], low: int, high: int
    ) -> tuple[list[list[str]], list[str]]:
        try:
            answer = self._endpoint.select(pool.draw(self._salt, low, high), [*pool.variables, "kgeval_h"])
        except IncompleteError as error:
            raise IncompleteError(
                f"{error} (it must look at all {sum(self._sizes[p] for p in predicates):,} triples of "
                f"{printable(predicates[0], 100)}{' and others' if len(predicates) > 1 else ''} to draw from "
                "them; give it longer with --timeout, or evaluate a dump)"
            ) from error
        came = len(answer.rows) + len(answer.skipped)
        if self._is_cut(pool, answer, low, high, sum(self._sizes[p] for p in predicates)):
            if high - low < 2:
                raise EndpointError(f"{self._endpoint.name} cuts its answers to {plural(came, 'row')}")
            middle = (low + high) // 2
            first, second = (self._rows(pool, predicates, *ends) for ends in ((low, middle), (middle, high)))
            return first[0] + second[0], list(dict.fromkeys(first[1] + second[1]))
        return self._checked(pool, answer.rows, answer.skipped)

    def _is_cut(self, pool: Pool, answer: SelectResult, low: int, high: int, size: int) -> bool:
        """Whether the server kept rows back, by its word, by its habit, or by a count."""
        came = len(answer.rows) + len(answer.skipped)
        if answer.limit is not None and came >= answer.limit:
            return True
        expected = size * (high - low) / FULL
        odd = self._exact and abs(came - expected) > _DEVIATIONS * math.sqrt(expected) + 3
        if not odd and came < self._most_rows:
            return False
        if count(self._endpoint, pool.count_drawn(self._salt, low, high)) > came:
            return True
        if odd:
            raise EndpointError(
                f"{self._endpoint.name} gives {plural(came, 'triple')} where about {expected:,.0f} were to "
                "be expected: its MD5 is not one, or it is being changed; run the command again, or leave "
                "--in-place out"
            )
        return False

    @cached_property
    def _most_rows(self) -> int:
        """An answer of fewer rows is not cut, though the server may cut answers without a word."""
        came = len(self._endpoint.select(self._pool.probe(_PROBE), ["kgeval_x"]).rows)
        whole = not self._exact or came >= min(_PROBE, sum(self._sizes.values()))
        return _PROBE if whole else came

    def _checked(
        self,
        pool: Pool,
        rows: Iterable[tuple[str | None, ...]],
        skipped: Sequence[str],
    ) -> tuple[list[list[str]], list[str]]:
        """The triples with their digests, which must be what we make of them."""
        found: list[list[str]] = []
        strange, recoded, bad = 0, 0, len(skipped)
        for *terms, said in rows:
            triple = pool.triple(terms)
            if triple is None or said is None:
                bad += 1
                continue
            digest = said.split('"')[1].lower()
            if digest != digest_of(triple, self._salt):
                if digest in recoded_digests(triple, self._salt):
                    recoded += 1
                else:
                    self._excuse(triple)
                    strange += 1
            found.append([*triple, digest])
        notes = []
        if recoded:
            notes.append(
                "this store digests letters outside ASCII in an encoding of its own: of triples with such "
                "letters, the same seed draws others than from other stores, with the same probability"
            )
        if strange:
            notes.append(
                f"{plural(strange, 'drawn literal')} came spelt otherwise than the store digests them; their "
                "places are the store's"
            )
        if bad:
            notes.append(
                f"{plural(bad, 'drawn triple')} with a term that is not valid RDF cannot be asked about; the "
                "sizes count such triples, and the estimate is of the others"
            )
        return found, notes

    def _excuse(self, triple: Triple) -> None:
        """Stores have spellings of their own for numbers and dates; anything else is a fault."""
        if not may_rewrite(triple[2]):
            raise EndpointError(
                f"{self._endpoint.name} gives a wrong MD5 for {printable(' '.join(triple), 200)}; it cannot "
                "be drawn from in place"
            )

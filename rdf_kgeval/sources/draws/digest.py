"""Draw triples from an endpoint by their digests, and check each digest against the triple."""

import math
from collections.abc import Iterable, Sequence
from functools import cached_property

from rdf_kgeval.beliefs.table import Triple
from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.errors import EndpointError, IncompleteError, InputError
from rdf_kgeval.sources.draws.log import CensusRecord, DrawRecord
from rdf_kgeval.sources.draws.pool import FULL, Pool, digest_of, recoded_digests
from rdf_kgeval.sources.endpoint.client import Endpoint, SelectResult
from rdf_kgeval.sources.endpoint.counts import count
from rdf_kgeval.sources.endpoint.quirks import may_rewrite

_PROBE = 1000
"""Rows of the query that finds the server's limit."""
_DEVIATIONS = 6.0
"""Standard deviations from its expectation at which a number of triples is not chance."""


class DigestDrawer:
    """Draw by FILTER on the MD5 of each triple, which any SPARQL 1.1 store can compute.

    Args:
        endpoint: where to ask.
        pool: what to draw from.
        census: the sizes of the predicates, and the salt of the digests.
    """

    def __init__(self, endpoint: Endpoint, pool: Pool, census: CensusRecord) -> None:
        self._endpoint = endpoint
        self._pool = pool
        self._salt = census.salt
        self._sizes = census.sizes
        self._exact = census.exact

    def draw(self, predicates: Sequence[str], low: int, high: int) -> DrawRecord:
        """Fetch all triples of these predicates with places from `low` to before `high`.

        Raises:
            EndpointError: the store does not return exactly these.
        """
        pool = self._pool.among(predicates)
        found, notes = self._rows(pool, predicates, low, high)
        if len({tuple(row[:3]) for row in found}) < len(found):
            raise InputError(
                f"{self._endpoint.name} gives the same triple several times, once for each of its graphs, so "
                "that it cannot be counted; name one graph with --graph"
            )
        return DrawRecord(
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
        """Return whether the server held rows back, by its header, by its usual limit, or by COUNT."""
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
        """Find the number of rows below which an answer is whole, for servers that cut answers silently."""
        came = len(self._endpoint.select(self._pool.probe(_PROBE), ["kgeval_x"]).rows)
        whole = not self._exact or came >= min(_PROBE, sum(self._sizes.values()))
        return _PROBE if whole else came

    def _checked(
        self,
        pool: Pool,
        rows: Iterable[tuple[str | None, ...]],
        skipped: Sequence[str],
    ) -> tuple[list[list[str]], list[str]]:
        """Pair the triples with their digests, and compare each digest with our own."""
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
        """Accept a number or date that the store may have rewritten; refuse any other wrong digest."""
        if not may_rewrite(triple[2]):
            raise EndpointError(
                f"{self._endpoint.name} gives a wrong MD5 for {printable(' '.join(triple), 200)}; it cannot "
                "be drawn from in place"
            )

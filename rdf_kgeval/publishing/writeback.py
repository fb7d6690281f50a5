"""Writing a record to a store: the graph holds the old record or the new one, never a part of either.

The record goes to a staging graph first, in batches that may be sent twice, is counted there, and takes the
old one's place by a single MOVE, which Virtuoso and Oxigraph do as one transaction. Whatever breaks before
leaves a staging graph behind, which the next write-back clears.
"""

import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator

from rdf_kgeval.beliefs.terms import iri
from rdf_kgeval.common.progress import Progress
from rdf_kgeval.errors import EndpointError, IncompleteError, InputError
from rdf_kgeval.namespaces import DQV, KGE, VOID
from rdf_kgeval.publishing.rdf import lines_of
from rdf_kgeval.publishing.record import Form, Record, integer, text
from rdf_kgeval.sources.endpoint.client import Endpoint, RetryPolicy
from rdf_kgeval.sources.endpoint.counts import count
from rdf_kgeval.sources.endpoint.quirks import INSERT_CHARACTERS, INSERT_TRIPLES

_RETRY = RetryPolicy(timeout=1800.0, deadline=7200.0)
_LOOKS = 6


class Target:
    """A named graph of a store, by its endpoints for queries and for updates."""

    def __init__(self, graph: str, query: str, update: str | None = None) -> None:
        """Make ready to write.

        Args:
            graph: the graph's IRI, as a term.
            query: URL for queries.
            update: URL for updates, by default the same.
        """
        self.graph = graph
        self.staging = f"<{iri(graph)}.kgeval-staging>"
        remedy = "see the store's log, and run the command again"
        self._query = Endpoint(query, retry=_RETRY, remedy=remedy)
        self._update = Endpoint(update or query, retry=_RETRY, remedy=remedy)

    def write(
        self,
        record: Record,
        progress: Progress = lambda *_: None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> int:
        """Replace the record that the graph holds, and return the number of triples of the new one.

        Raises:
            InputError: the graph holds something else than a record.
            EndpointError: the store refused or broke off; what the graph held stands.
        """
        if record.options.form is Form.NAMED_GRAPHS:
            raise InputError("a record in several named graphs cannot be written back; choose another form")
        self._refuse_others()
        self._update.update(f"DROP SILENT GRAPH {self.staging}")
        sent = total = 0
        with tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n") as file:
            for chunk in lines_of(record):
                file.write(chunk)
                total += chunk.count("\n")
                progress("making the record", total, None)
            file.seek(0)
            for batch, triples in batches(file):
                self._update.update(f"INSERT DATA {{ GRAPH {self.staging} {{\n{batch}\n}} }}")
                sent += triples
                progress("writing back", sent, total)
        found = self._count(self.staging)
        if found != sent:
            raise EndpointError(
                f"{self._update.name} took {sent:,} triples and has {found:,} of them; the old record "
                "stands, so run the command again when nobody else writes"
            )
        self._swap(record, sent, sleep)
        return sent

    def _swap(self, record: Record, triples: int, sleep: Callable[[float], None]) -> None:
        """Move the staged record; sent once, because a second MOVE would find nothing to move."""
        try:
            self._update.update(f"MOVE GRAPH {self.staging} TO GRAPH {self.graph}", once=True)
        except IncompleteError as error:
            for look in range(_LOOKS):
                sleep(2.0**look - 1)
                if self._holds(record, triples):
                    return
            raise EndpointError(
                f"{error} (the graph holds the old record, or will hold the new one; both are whole)"
            ) from error
        if not self._holds(record, triples):
            raise EndpointError(
                f"{self._update.name} did not put the new record in place; run the command again"
            )

    def _holds(self, record: Record, triples: int) -> bool:
        digest = text(record.verdicts_digest)
        pattern = f"GRAPH {self.graph} {{ {record.graph} <{KGE}verdictsDigest> {digest} ; ?p ?o }}"
        found = self._query.select(f"SELECT ?p WHERE {{ {pattern} }} LIMIT 1", ["p"]).rows
        return bool(found) and self._count(self.graph) == triples

    def _refuse_others(self) -> None:
        """Refuse to replace anything but an empty graph, or one record and nothing else."""
        found = self._count(self.graph)
        stated = self._query.select(
            f"SELECT ?n WHERE {{ GRAPH {self.graph} {{ ?record a <{DQV}QualityMetadata> ; "
            f"<{KGE}verdictsDigest> ?digest ; <{VOID}triples> ?n }} }}",
            ["n"],
        ).rows
        if found and [row[0] for row in stated] != [integer(found)]:
            raise InputError(
                f"the graph {self.graph} holds triples that are no record of kgeval, and writing back would "
                "replace them; choose another graph"
            )

    def _count(self, graph: str) -> int:
        return count(self._query, f"SELECT (COUNT(*) AS ?n) WHERE {{ GRAPH {graph} {{ ?s ?p ?o }} }}")


def batches(chunks: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield lines of N-Triples as SPARQL triples, in batches with their sizes."""
    batch: list[str] = []
    size = 0
    for chunk in chunks:
        for line in chunk.split("\n")[:-1]:
            if batch and (len(batch) == INSERT_TRIPLES or size + len(line) > INSERT_CHARACTERS):
                yield "\n".join(batch), len(batch)
                batch, size = [], 0
            batch.append(as_sparql(line))
            size += len(line)
    if batch:
        yield "\n".join(batch), len(batch)


def as_sparql(line: str) -> str:
    r"""Convert a line of N-Triples for an update.

    SPARQL replaces \u escapes before it looks at anything else, be it after an escaped backslash; so the u
    that follows one is escaped itself.

    >>> print(as_sparql('<x:s> <x:p> "\\\\u0022 }" .'))
    <x:s> <x:p> "\\\U000000750022 }" .
    """
    if "\\" not in line:
        return line
    return re.sub(r"\\\\([uU])|\\.", lambda m: f"\\\\\\U{ord(m[1]):08X}" if m[1] else m[0], line)

"""The beliefs as a SPARQL store in memory, and the rows that its answers mean."""

import io
from functools import cached_property

import pyoxigraph as ox

from rdf_kgeval.beliefs.table import Beliefs


class BeliefStore:
    """A pyoxigraph store of the beliefs, built on first use.

    It keeps the value of a number, not its lexical form: `"01"^^xsd:integer` comes back as
    `"1"^^xsd:integer`, so that an answer means every term of the graph that has this value.
    """

    def __init__(self, beliefs: Beliefs) -> None:
        self.beliefs = beliefs

    @cached_property
    def store(self) -> ox.Store:
        """The store with all rows, in their graphs."""
        store = ox.Store()
        text = io.BytesIO()
        for _, (s, p, o, g) in self.beliefs.quads():
            text.write(f"{s} {p} {o} {g} .\n".encode())
        text.seek(0)
        # The store's own loader would rename blank nodes, so that no answer could be mapped back.
        store.bulk_extend(ox.parse(text, format=ox.RdfFormat.N_QUADS))
        return store

    def rows(self, s: str, p: str, o: str) -> list[int]:
        """Find the rows that a triple of the store means."""
        found = (self.beliefs.find(s, p, spelling) for spelling in self.spellings(o))
        return [row for row in found if row is not None]

    def spellings(self, term: str) -> list[str]:
        """List the terms of the graph that the store returns as this one: itself, and other lexical forms."""
        return [term, *self._respelt.get(term, [])]

    @cached_property
    def _respelt(self) -> dict[str, list[str]]:
        terms = self.beliefs.terms
        literals = [t for t in terms[terms.starting('"')] if t.endswith(">")]
        store = ox.Store()
        store.bulk_load(
            "".join(f"<x:{i}> <x:> {t} .\n" for i, t in enumerate(literals)), format=ox.RdfFormat.N_TRIPLES
        )
        respelt: dict[str, list[str]] = {}
        for quad in store:
            spelt, original = str(quad.object), literals[int(str(quad.subject)[3:-1])]
            if spelt != original:
                respelt.setdefault(spelt, []).append(original)
        return {spelt: sorted(originals) for spelt, originals in respelt.items()}

"""A store for rdflib that shows only triples believed true."""

import math
from collections.abc import Generator, Iterator
from typing import Any

from rdflib.plugins.stores.memory import Memory
from rdflib.store import VALID_STORE, Store
from rdflib.term import Literal

from rdf_kgeval.plugin import lookup
from rdf_kgeval.plugin.lookup import PublishedEvaluation, PublishedFile, PublishedStore


class KGEvalStore(Store):
    """Wrap a store, and show the triples that a published evaluation holds to be true.

    Use it as `Graph(store="KGEval")`. `graph.open("record.trig")` loads the evaluation; without that, it is
    looked for in the wrapped store and in the record that `rdf_kgeval.register` loaded.
    """

    def __init__(
        self,
        configuration: str | None = None,
        identifier: Any = None,
        *,
        store: Store | None = None,
        confidence: float = 0.8,
        unknown: bool = False,
    ) -> None:
        """Wrap a store.

        Args:
            configuration: the file of a published evaluation, as for `open`.
            identifier: the graph's name, as rdflib gives it.
            store: the store to wrap; by default a new one in memory.
            confidence: the least soft truth of triples that are shown.
            unknown: whether triples that the evaluation does not mention are shown too.
        """
        self.behind = Memory() if store is None else store
        """The wrapped store, with all triples."""
        self.confidence = confidence
        self.unknown = unknown
        self._loaded: PublishedEvaluation | None = None
        for name in ("context_aware", "formula_aware", "graph_aware", "transaction_aware"):
            setattr(self, name, getattr(self.behind, name))
        super().__init__(configuration, identifier)

    def open(self, configuration: Any, create: bool = False) -> int | None:
        """Load a published evaluation."""
        self._loaded = PublishedFile(configuration)
        return VALID_STORE

    def _is_believed(self, triple: Any) -> bool:
        for source in (self._loaded, PublishedStore(self.behind), lookup.registered):
            belief = source.belief(triple) if source is not None else None
            if belief is not None:
                return _number(belief.truth) >= self.confidence
        return self.unknown

    def triples(self, triple_pattern: Any, context: Any = None) -> Iterator[Any]:
        """Yield the matching triples that are believed true."""
        for triple, contexts in self.behind.triples(triple_pattern, context):
            if self._is_believed(triple):
                yield triple, contexts

    def __len__(self, context: Any = None) -> int:
        return sum(1 for _ in self.triples((None, None, None), context))

    def contexts(self, triple: Any = None) -> Generator[Any, None, None]:
        """Yield all graphs, or those with a triple that is shown."""
        if triple is None or self._is_believed(triple):
            yield from self.behind.contexts(triple)

    def add(self, triple: Any, context: Any, quoted: bool = False) -> None:
        """Add to the wrapped store."""
        self.behind.add(triple, context, quoted)

    def remove(self, triple: Any, context: Any = None) -> None:
        """Remove from the wrapped store, shown or not."""
        self.behind.remove(triple, context)

    def add_graph(self, graph: Any) -> None:
        """Add a graph to the wrapped store."""
        self.behind.add_graph(graph)

    def remove_graph(self, graph: Any) -> None:
        """Remove a graph from the wrapped store."""
        self.behind.remove_graph(graph)

    def bind(self, prefix: str, namespace: Any, override: bool = True) -> None:
        """Bind a prefix in the wrapped store."""
        self.behind.bind(prefix, namespace, override)

    def namespace(self, prefix: str) -> Any:
        """Return the namespace of a prefix."""
        return self.behind.namespace(prefix)

    def prefix(self, namespace: Any) -> str | None:
        """Return the prefix of a namespace."""
        return self.behind.prefix(namespace)

    def namespaces(self) -> Iterator[Any]:
        """List all prefixes and namespaces."""
        return self.behind.namespaces()

    def commit(self) -> None:
        """Commit the wrapped store's transaction."""
        self.behind.commit()

    def rollback(self) -> None:
        """Roll the wrapped store's transaction back."""
        self.behind.rollback()

    def close(self, commit_pending_transaction: bool = False) -> None:
        """Close the wrapped store."""
        self.behind.close(commit_pending_transaction)


def _number(truth: Any) -> float:
    """Read a soft truth; NaN, which is never believed, where it is not a number."""
    try:
        return float(truth) if isinstance(truth, Literal) else math.nan
    except ValueError:
        return math.nan

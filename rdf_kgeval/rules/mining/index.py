"""Index a graph for mining; mined rules as numbers."""

from functools import cached_property
from math import ceil
from typing import NamedTuple

import numpy as np

from rdf_kgeval.beliefs.table import Beliefs, Role
from rdf_kgeval.common.text import printable
from rdf_kgeval.common.types import Bools, Int32s, Int64s
from rdf_kgeval.namespaces import RDF_TYPE
from rdf_kgeval.rules.mining.options import MiningOptions
from rdf_kgeval.rules.mining.walks import degrees, make_graph, two_walks


class MinedRule(NamedTuple):
    """A mined rule as numbers; each end of its path is a constant or a variable."""

    head: int
    """The step of the head."""
    head_end: int
    """The constant at the head's end, or -1 where it is the body's end."""
    path: tuple[int, ...]
    """The steps of the body from the near end of the head."""
    body_end: int
    """The constant at the body's end, or -1."""
    support: int
    head_size: int
    pca_body: int
    hits: int
    """Number of pairs that the body connects and that are asserted heads, by any grounding."""
    pairs: int = -1
    """Number of pairs that the body connects; -1 before they are counted."""

    @property
    def confidence(self) -> float:
        """The PCA confidence."""
        return self.support / self.pca_body

    @property
    def body(self) -> int:
        """The denominator of the standard confidence."""
        return self.pairs - self.hits + self.support


class MiningIndex:
    """The triples of beliefs, by predicate, and as a graph to walk on."""

    def __init__(self, beliefs: Beliefs, options: MiningOptions) -> None:
        self.beliefs = beliefs
        self.options = options
        self.predicates, p = np.unique(beliefs.p, return_inverse=True)
        self.graph = make_graph(beliefs.s, p.astype(np.int32), beliefs.o, len(beliefs.terms))
        by_predicate = np.argsort(p, kind="stable").astype(np.int32)
        sizes = np.bincount(p, minlength=len(self.predicates))
        self.rows = np.split(by_predicate, np.cumsum(sizes)[:-1])
        """The rows of each predicate."""
        settled = np.isin(beliefs.role, (Role.GIVEN, Role.BACKGROUND))
        self.heads = [q for q, rows in enumerate(self.rows) if not settled[rows].all()]
        """The predicates that can be concluded."""
        self.nameable: Bools = np.ones(len(beliefs.terms), dtype=bool)
        """Marks the terms that a rule can name."""
        for prefix in ("_:", "<<"):
            self.nameable[beliefs.terms.starting(prefix)] = False

    @cached_property
    def type(self) -> int | None:
        """The number of rdf:type among the predicates."""
        term = self.beliefs.terms.find(f"<{RDF_TYPE}>")
        at = np.flatnonzero(self.predicates == (-1 if term is None else term))
        return int(at[0]) if len(at) else None

    @cached_property
    def degree(self) -> Int64s:
        """The number of triples of each node."""
        return degrees(self.graph)

    @cached_property
    def two_walks(self) -> Int64s:
        """The number of walks of two steps from each node."""
        return two_walks(self.graph)

    def predicate(self, step: int) -> str:
        """Return the predicate of a step."""
        return self.beliefs.terms[int(self.predicates[step >> 1])]

    def name(self, step: int) -> str:
        """Name a step in messages, as in a SPARQL path."""
        return "^" * (step & 1) + printable(self.predicate(step), 120)

    def nodes(self, step: int) -> Int32s:
        """List the nodes that can take a step."""
        column = self.beliefs.o if step & 1 else self.beliefs.s
        return np.unique(column[self.rows[step >> 1]])

    def needed(self, head_size: int) -> int:
        """Return the least support of rules for a head of this size."""
        least = max(self.options.min_support, ceil(self.options.min_head_coverage * head_size) - 1)
        while least / head_size < self.options.min_head_coverage:
            least += 1
        return least

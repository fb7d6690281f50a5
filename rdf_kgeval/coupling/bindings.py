"""Bindings from a SPARQL engine, for the patterns that are more than joins and filters.

A solution stands for every spelling of its literals; the joins keep those that fit the rule's triples.
"""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyoxigraph as ox

from rdf_kgeval.beliefs.sparql import BeliefStore
from rdf_kgeval.beliefs.terms import oxigraph_text
from rdf_kgeval.common.text import printable
from rdf_kgeval.common.types import Int32s
from rdf_kgeval.errors import InputError
from rdf_kgeval.rules.rule import Rule, variables


@dataclass(frozen=True)
class Bindings:
    """Solutions in columns: `cells` numbers `terms`, -1 is unbound."""

    variables: tuple[str, ...]
    terms: tuple[str, ...]
    cells: Int32s
    """One row for each solution."""


def find_bindings(store: BeliefStore, rule: Rule, limit: int) -> Bindings | None:
    """Find all solutions for the rule's variables; return None if there are more than `limit`."""
    wanted = sorted({v for p in (*rule.body, rule.head) for v in variables(p)})
    try:
        found = store.store.query(rule.to_select(), use_default_graph_as_union=True)
    except (SyntaxError, ValueError, RuntimeError) as error:
        raise InputError(
            f"rule {rule.name} cannot be evaluated ({printable(str(error), 200)}); correct its pattern"
        ) from error
    assert isinstance(found, ox.QuerySolutions)  # noqa: S101
    given = {str(v): i for i, v in enumerate(found.variables)}
    names = tuple(v for v in wanted if v in given)
    numbers: dict[str, int] = {}
    cells = array("i")
    n = 0
    for solution in found:
        for row in _spellings(store, [solution[given[v]] for v in names]):
            cells.extend(-1 if text is None else numbers.setdefault(text, len(numbers)) for text in row)
            n += 1
        if n > limit:
            return None
    table = (
        np.frombuffer(cells, dtype=np.int32).reshape(n, len(names)) if names else np.zeros((n, 0), np.int32)
    )
    return Bindings(names, tuple(numbers), table)


def _spellings(store: BeliefStore, row: Iterable[Any]) -> Iterator[tuple[str | None, ...]]:
    return product(*([None] if term is None else store.spellings(oxigraph_text(term)) for term in row))

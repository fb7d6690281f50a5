"""Name the ways to aggregate votes. A new one is a function and a line here."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from rdf_kgeval.common.registry import Entry, Registry

if TYPE_CHECKING:
    from rdf_kgeval.verdicts.votes import Aggregate, Votes

Aggregator = Callable[["Votes"], "Aggregate"]
"""Aggregates votes; labels do not depend on how tasks and annotators are numbered."""

AGGREGATORS = Registry(
    "vote aggregation",
    Entry(
        "dawid-skene",
        "verdicts.votes:dawid_skene",
        "annotators are weighed by how often they are right, which follows from whom they agree with",
    ),
    Entry("majority", "verdicts.votes:majority_vote", "all annotators count the same"),
)
"""Ways to aggregate votes, for `--votes`; the first is the default."""

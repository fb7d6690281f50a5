"""Accounts: what became of every triple that was read."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from rdf_kgeval.common.text import plural


class Account(NamedTuple):
    """What became of some triples."""

    meaning: str
    option: str
    """What changes it."""


BELIEFS, GIVEN, UNKNOWN = "beliefs", "context_given", "context_unknown"
NAMES, RECORDS, LINKS, SCHEMA = "names", "records", "links", "schema"
OTHER_GRAPHS, OTHER_PREDICATES, OUTSIDE_QUERY = "other_graphs", "other_predicates", "outside_query"
BLANK_NODES, REPEATS, INVALID = "blank_nodes", "repeats", "invalid"
ACCOUNTS = {
    BELIEFS: Account("beliefs to evaluate", "--predicate, --scope"),
    GIVEN: Account("context, taken as true", "--context"),
    UNKNOWN: Account("context that may be true", "--context-unknown"),
    NAMES: Account("names and descriptions", "--predicate"),
    RECORDS: Account("dates and numbers of records", "--predicate"),
    LINKS: Account("links and identifiers", "--predicate"),
    SCHEMA: Account("schema: what classes and properties are", "--predicate"),
    OTHER_GRAPHS: Account("in other graphs", "--graph"),
    OTHER_PREDICATES: Account("of other predicates", "--predicate"),
    OUTSIDE_QUERY: Account("not named by the query", "--scope"),
    BLANK_NODES: Account("with a blank node", "--scope"),
    REPEATS: Account("repeats of a triple, there or in another graph or file", ""),
    INVALID: Account("not valid RDF", ""),
}
"""Every triple that is read is in exactly one of these; those of people's choice are first."""


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """How many triples were read, and how many of them are in which account."""

    read: int
    counts: dict[str, int]
    """By the name of the account; they add up to `read`."""
    by_store: bool = False
    """Whether the store counted them, where they stay at their endpoint."""

    def entries(self) -> Iterator[tuple[int, Account]]:
        """Yield each account that has triples, with their number."""
        for name, account in ACCOUNTS.items():
            if self.counts.get(name):
                yield self.counts[name], account

    @property
    def all_beliefs(self) -> bool:
        """Whether every triple is a belief, each read once."""
        return self.counts.get(BELIEFS) == self.read

    @property
    def headline(self) -> str:
        """How many triples were read, in a few words."""
        return f"{plural(self.read, 'triple')} read{', as the store counts them' if self.by_store else ''}"

    def lines(self) -> Iterator[str]:
        """Write a line for each account that has triples, with the option that changes it."""
        entries = list(self.entries())
        if len(entries) == 1:
            yield f"{self.headline}: {entries[0][1].meaning}"
            return
        yield f"{self.headline}:"
        width = max((len(f"{count:,}") for count, _ in entries), default=0)
        for count, account in entries:
            option = f" ({account.option})" if account.option else ""
            yield f"  {count:>{width},}  {account.meaning}{option}"

    def to_json(self) -> dict[str, Any]:
        """Return what programs read: `read`, and all accounts under `accounts`."""
        return {"read": self.read, "accounts": {name: self.counts.get(name, 0) for name in ACCOUNTS}}

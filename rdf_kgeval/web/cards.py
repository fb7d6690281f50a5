"""Make cards: a belief as the page shows it, with neighbouring triples."""

import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rdf_kgeval.beliefs.terms import iri
from rdf_kgeval.common.text import printable
from rdf_kgeval.evaluation.state import State
from rdf_kgeval.namespaces import PROVENANCE

NEIGHBOURS = 5
"""Triples shown about the subject, and about the object."""
LONGEST = 300
"""Longer texts are cut."""


@dataclass(frozen=True)
class Link:
    """A text, with its address if it has one on the web."""

    text: str
    href: str | None


@dataclass(frozen=True, kw_only=True)
class Card:
    """A belief on the page; all texts are printable, but not yet escaped for HTML."""

    belief: str
    """The belief's id."""
    sentence: str
    triple: tuple[Link, ...]
    """Subject, predicate and object as in the graph."""
    around: tuple[str, ...]
    """Sentences of neighbouring triples."""
    sources: tuple[Link, ...]
    """Sources that the graph names."""
    search: str


def make_card(evaluation: State, position: int) -> Card:
    """Make the card of a belief."""
    beliefs, names = evaluation.graph.beliefs, evaluation.names
    row = int(beliefs.rows[position])
    question = evaluation.question(position)
    around = dict.fromkeys(
        shown(names.sentence(other))
        for term in (beliefs.s[row], beliefs.o[row])
        for other in _near(evaluation, int(term), row)
    )
    return Card(
        belief=beliefs.id(row),
        sentence=shown(question.sentence),
        triple=tuple(Link(shown(iri(term)), web_address(term)) for term in question.triple),
        around=tuple(around),
        sources=tuple(dict.fromkeys(_sources(evaluation, row))),
        search=question.search,
    )


def shown(text: str) -> str:
    """Make a text from the graph printable, and cut it where it is long."""
    return printable(text, LONGEST)


def web_address(term: str) -> str | None:
    """Return the address of a term on the web; None for scripts, files and the like."""
    if not term.startswith("<http"):
        return None
    address = iri(term)
    try:
        parts = urllib.parse.urlsplit(address)
    except ValueError:
        return None
    return address if parts.scheme in ("http", "https") and parts.netloc and address.isprintable() else None


def _near(evaluation: State, term: int, row: int) -> Iterator[int]:
    """List the first rows about a term that tell something besides its name."""
    beliefs, silent = evaluation.graph.beliefs, evaluation.names.label_predicates
    low, high = (int(np.searchsorted(beliefs.s, term, side)) for side in ("left", "right"))
    found = (r for r in range(low, high) if r != row and int(beliefs.p[r]) not in silent)
    for _, other in zip(range(NEIGHBOURS), found, strict=False):
        yield other


def _sources(evaluation: State, row: int) -> Iterator[Link]:
    """List the named graphs of the row, and the sources that the graph names for its subject."""
    beliefs = evaluation.graph.beliefs
    low, high = (int(np.searchsorted(beliefs.graph_row, row, side)) for side in ("left", "right"))
    for term in beliefs.graph_term[low:high]:
        text = beliefs.terms[term]
        yield Link(shown(iri(text)), web_address(text))
    known = {beliefs.terms.find(f"<{predicate}>") for predicate in PROVENANCE}
    low, high = (int(np.searchsorted(beliefs.s, beliefs.s[row], side)) for side in ("left", "right"))
    for other in range(low, min(high, low + 1000)):
        if int(beliefs.p[other]) in known:
            text = beliefs.terms[beliefs.o[other]]
            yield Link(shown(iri(text)), web_address(text))

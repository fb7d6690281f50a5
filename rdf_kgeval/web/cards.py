"""Make cards: a belief as the page shows it, with neighbouring triples."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from rdf_kgeval.beliefs.names import Part, is_right_to_left
from rdf_kgeval.beliefs.terms import iri
from rdf_kgeval.common.text import printable, web_address
from rdf_kgeval.evaluation.state import State

NEIGHBOURS = 5
"""Triples shown about the subject, and about the object."""
LONGEST = 300
"""Of longer texts the page shows the beginning; the whole can be opened."""
LONGEST_WHOLE = 100_000
"""Even longer ones are cut."""


@dataclass(frozen=True)
class Shown:
    """A text, printable, but not yet escaped for HTML."""

    text: str
    """The text, or the beginning of it."""
    whole: str = ""
    """The whole text, where `text` is only the beginning."""
    left: int = 0
    """How many characters even `whole` lacks."""
    name: bool = True
    """Whether it comes from the graph, in whatever script."""


@dataclass(frozen=True)
class Link:
    """A text, with its address if it has one on the web."""

    text: Shown
    href: str | None


Sentence = tuple[Shown, ...]
"""The parts of a sentence."""


@dataclass(frozen=True, kw_only=True)
class Card:
    """A belief on the page."""

    belief: str
    """The belief's id."""
    sentence: Sentence
    right_to_left: bool
    """Whether the sentence runs from right to left, as its predicate does."""
    triple: tuple[Link, ...]
    """Subject, predicate and object as in the graph."""
    description: tuple[Sentence, ...]
    """What the graph says that they are."""
    evidence: tuple[Link, ...]
    """Where the belief comes from."""
    around: tuple[Sentence, ...]
    """Sentences of neighbouring triples."""
    search: str


def make_card(evaluation: State, position: int) -> Card:
    """Make the card of a belief."""
    beliefs, names = evaluation.graph.beliefs, evaluation.names
    row = int(beliefs.rows[position])
    question = evaluation.question(position)
    around = dict.fromkeys(
        _sentence(names.parts(beliefs.triple(other)))
        for term in (beliefs.s[row], beliefs.o[row])
        for other in _near(evaluation, int(term), row)
    )
    return Card(
        belief=beliefs.id(row),
        sentence=_sentence(question.parts),
        right_to_left=is_right_to_left(names.name(question.triple[1])),
        triple=tuple(Link(shown(iri(term)), web_address(iri(term))) for term in question.triple),
        description=tuple(
            (shown(name), Shown(": ", name=False), shown(text)) for name, text in question.descriptions
        ),
        evidence=tuple(Link(shown(piece.text), piece.url) for piece in question.evidence),
        around=tuple(around),
        search=question.search,
    )


def shown(text: str, name: bool = True) -> Shown:
    """Make a text from the graph printable, line by line; of a long one, also the beginning."""
    whole = _by_line(text[:LONGEST_WHOLE])
    if len(text) <= LONGEST:
        return Shown(whole, name=name)
    return Shown(_by_line(text[: LONGEST - 1]) + "…", whole, max(len(text) - LONGEST_WHOLE, 0), name)


def _by_line(text: str) -> str:
    return "\n".join(map(printable, text.splitlines()))


def _sentence(parts: Iterable[Part]) -> Sentence:
    return tuple(shown(part.text, part.name) if part.name else Shown(part.text, name=False) for part in parts)


def _near(evaluation: State, term: int, row: int) -> Iterator[int]:
    """List the first rows about a term that tell something besides its name, description and sources."""
    beliefs, silent = evaluation.graph.beliefs, evaluation.names.shown_apart
    low, high = (int(np.searchsorted(beliefs.s, term, side)) for side in ("left", "right"))
    found = (r for r in range(low, high) if r != row and int(beliefs.p[r]) not in silent)
    for _, other in zip(range(NEIGHBOURS), found, strict=False):
        yield other

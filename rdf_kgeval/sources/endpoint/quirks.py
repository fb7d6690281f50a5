"""Quirks: what stores do differently from the standards and from each other, in one place.

Two quirks shape queries, and are handled in `pull_plan`: Virtuoso sorts far pages only in a sub-SELECT
(`Unit.page`), and finds nothing where a part of a UNION is VALUES alone (`_decoration_units`).
"""

import re
from email.message import Message
from typing import Any

from rdf_kgeval.namespaces import XSD

INSERT_TRIPLES, INSERT_CHARACTERS = 1000, 1_000_000
"""The most to send in one INSERT DATA: Virtuoso fails at 5,000 triples."""

NODE_ID = b"nodeID:"
"""Marks an answer with blank nodes of Virtuoso, which strict parsers take for IRIs."""

_STORES = re.compile("Virtuoso|Oxigraph|Fuseki|GraphDB|Blazegraph|Stardog", re.IGNORECASE)

# Stores that renumber blank nodes in each response, such as Jena, use labels of this form. Literals and IRIs
# of a triple term are matched first, so that no part of them is taken for a label.
_RENUMBERED = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>]*>|_:(b\d+)(?![\w.-])')
_RENUMBERED_IN_JSON = re.compile(r'"type": "bnode", "value": "b\d+"')
_LOCALISED = re.compile(r"_:b\d+p\d+[a-z]x\d+(?![\w.-])")

_REWRITTEN_TYPES = (
    "integer decimal double float boolean dateTime date time int long short byte nonNegativeInteger "
    "positiveInteger nonPositiveInteger negativeInteger unsignedInt unsignedLong unsignedShort unsignedByte "
    "gYear gYearMonth hexBinary base64Binary duration dayTimeDuration yearMonthDuration"
)
_REWRITTEN = (
    *(f"^^<{XSD}{name}>" for name in _REWRITTEN_TYPES.split()),
    "^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral>",
    "^^<http://www.opengis.net/ont/geosparql#wktLiteral>",
    # Virtuoso's own name for the type above.
    "^^<http://www.openlinksw.com/schemas/virtrdf#Geometry>",
)


def store_name(server: str) -> str:
    """Name the store by its Server header; "the store" where that does not say."""
    found = _STORES.search(server)
    return found[0] if found else "the store"


def reads_every_graph(store: str) -> bool:
    """Return whether a query without a graph reads all named graphs, with the store's system graphs."""
    return store == "Virtuoso"


def is_partial(headers: Message) -> bool:
    """Return whether Virtuoso ran out of its own time and sent only some rows, with status 200."""
    return "S1TAT" in headers.get("X-SQL-State", "")


def row_limit(headers: Message) -> int | None:
    """Read the server's own limit on rows, which Virtuoso names."""
    limit = re.fullmatch("[1-9][0-9]{0,8}", headers.get("X-SPARQL-MaxRows", "").strip())
    return int(limit[0]) if limit else None


def standard_binding(binding: dict[str, Any]) -> dict[str, Any]:
    """Rewrite a binding of SPARQL JSON in the standard's words.

    Virtuoso writes nodeID://b10001 for a blank node, and typed-literal, from a draft, for a literal.
    """
    value = binding.get("value")
    if binding.get("type") in ("uri", "bnode") and isinstance(value, str) and value.startswith("nodeID://"):
        return {"type": "bnode", "value": value.replace("nodeID://", "nodeID")}
    if binding.get("type") == "typed-literal":
        return {**binding, "type": "literal"}
    return binding


def localise(term: str, place: str) -> str:
    """Add the response to the labels of blank nodes that the store renumbers in each response."""
    if not term.startswith(("_:", "<<")):
        return term
    return _RENUMBERED.sub(lambda found: f"{found[0]}p{place}" if found[1] else found[0], term)


def localise_row(row: str, place: str) -> str:
    """Add the response to a row in JSON that has such blank nodes."""
    return f"{row} {place}" if is_renumbered_row(row) else row


def is_localised(text: str) -> bool:
    """Return whether `localise` has renamed a blank node in a text."""
    return bool(_LOCALISED.search(text))


def is_renumbered_row(row: str) -> bool:
    """Return whether a row in JSON has a blank node that is renumbered in each response."""
    return bool(_RENUMBERED_IN_JSON.search(row))


def may_rewrite(term: str) -> bool:
    """Return whether stores may return a literal in another lexical form than it was loaded in."""
    return term.endswith(_REWRITTEN)


def encodings(text: str) -> set[str]:
    """List the texts that a store may hash in place of a text.

    Virtuoso takes the UTF-8 of a stored term for Latin-1 before MD5() encodes it once more.
    """
    return {text, text.encode().decode("latin-1")}

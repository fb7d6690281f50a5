"""Endpoint: the SPARQL protocol.

Modules, in reading order:
    client: sends queries and updates, and retries.
    results: parses SPARQL results in JSON.
    counts: counts triples, in all and by predicate.
    quirks: what stores do differently from the standards and from each other.
"""

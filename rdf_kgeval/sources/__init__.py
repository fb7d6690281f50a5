"""Sources: where beliefs come from.

Modules, in reading order:
    load: reads RDF files, rdflib graphs and SPARQL endpoints (`SOURCES`).
    scope: the triples to evaluate, and their selection from what was read.
    unjudged: what nobody can judge; the list of predicates is `unjudged.toml`.
    sparql_tokens: the tokens of a SPARQL query.
    files: opens RDF files, and the table of their formats.
    pull: fetches all triples of a scope from an endpoint, verified by counts.
    pull_plan: the units in which a pull is counted and fetched.
    pull_pages: the fetched triples on disk.
    endpoint/: the SPARQL protocol.
    draws/: samples of an endpoint, for evaluation in place.
"""

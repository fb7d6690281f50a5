"""HTTP: for the endpoint's client and for documents.

Modules, in reading order:
    transport: one deadline over a whole answer; credentials stay at their host.
    credentials: from the environment or netrc, never shown.
    fetch: one RDF document by its IRI.
"""

"""HTTP with one deadline, credentials that stay at their host, documents by IRI."""

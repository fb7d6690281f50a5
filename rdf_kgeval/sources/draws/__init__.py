"""Draws: samples of an endpoint, for evaluation in place.

Modules, in reading order:
    sampler: counts, draws and fetches neighbours; the ways to draw (`DRAWERS`).
    pool: the beliefs of a scope at an endpoint, and the queries that draw from them.
    census: the number of beliefs of each predicate.
    digest: draws by the MD5 of each triple.
    neighbourhood: fetches what people and rules need around a drawn belief.
    log: everything that was fetched, in an append-only file.
"""

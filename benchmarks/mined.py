"""Closed-path rules counted from the beliefs themselves, for benchmarks on the real evaluation sets.

For each head predicate q and each path of one to three predicates, forwards or backwards, from x to y: support
is the number of pairs (x, y) that both the path and q connect, PCA confidence is support over the pairs of the
path whose x has any q at all (Galárraga et al., AMIE, WWW 2013).
"""

from itertools import product

import numpy as np
from scipy import sparse

from rdf_kgeval.beliefs import Beliefs
from rdf_kgeval.rule import Rule

Step = tuple[str, bool]
"""A predicate as an N-Triples term, and whether it is walked backwards."""


def mine(
    beliefs: Beliefs, *, max_length: int = 3, min_support: int = 2, min_confidence: float = 0.1
) -> list[Rule]:
    """All closed-path rules that are frequent and confident enough, in a fixed order."""
    rows = beliefs.rows
    n = len(beliefs.terms)
    matrix = {}
    for p in np.unique(beliefs.p[rows]):
        of_p = rows[beliefs.p[rows] == p]
        cells = (np.ones(len(of_p), dtype=bool), (beliefs.s[of_p], beliefs.o[of_p]))
        matrix[beliefs.terms[int(p)]] = sparse.csr_array(cells, shape=(n, n))
    steps = [(p, back) for p in matrix for back in (False, True)]
    walk = {(p, back): (m.T.tocsr() if back else m) for p, m in matrix.items() for back in (False, True)}
    paths: dict[tuple[Step, ...], sparse.csr_array] = {(): sparse.eye_array(n, dtype=bool, format="csr")}
    rules = []
    for _ in range(max_length):
        longer = {
            (*path, step): (reached @ walk[step]).astype(bool)
            for (path, reached), step in product(paths.items(), steps)
        }
        paths = {path: reached for path, reached in longer.items() if reached.nnz >= min_support}
        for path, reached in paths.items():
            for q, head in matrix.items():
                if path == ((q, False),):
                    continue
                support = reached.multiply(head).nnz
                known = np.diff(head.indptr) > 0
                possible = int(np.diff(reached.indptr)[known].sum())
                if support >= min_support and support / possible >= min_confidence:
                    rules.append(_rule(path, q, support / possible))
    return rules


def _rule(path: tuple[Step, ...], q: str, confidence: float) -> Rule:
    ends = ["?x", *(f"?z{i}" for i in range(1, len(path))), "?y"]
    body = []
    for i, (p, back) in enumerate(path):
        start, end = (ends[i + 1], ends[i]) if back else (ends[i], ends[i + 1])
        body.append((start, p, end))
    names = " ".join(("^" if back else "") + p for p, back in path)
    return Rule(id=f"{names} -> {q}", body=tuple(body), head=("?x", q, "?y"), confidence=confidence)

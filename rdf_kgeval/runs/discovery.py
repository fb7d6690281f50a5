"""Default rules, where the user gives none."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rdf_kgeval.beliefs.table import Beliefs
from rdf_kgeval.beliefs.terms import parse_term, to_rdflib
from rdf_kgeval.common.progress import Progress
from rdf_kgeval.common.text import plural
from rdf_kgeval.rules.rule import Rule
from rdf_kgeval.sources.unjudged import is_schema

if TYPE_CHECKING:
    from rdf_kgeval.rules.mining.options import MiningOptions

MOST_TRIPLES = 1_000_000
"""Above this, rules are mined only if the user asks for it."""
MOST_AXIOMS = 5_000
"""Above this, closing a schema takes longer than users who asked for nothing would wait."""
_WALKS = 5e8


def propose_rules(beliefs: Beliefs, progress: Progress = lambda *_: None) -> tuple[list[Rule], Sequence[str]]:
    """Propose the axioms that a graph states about itself and rules mined from it, with notes."""
    axioms, notes = _own_axioms(beliefs)
    options = mining_options()
    if len(beliefs) < options.min_support:
        return axioms, notes
    if len(beliefs) > MOST_TRIPLES:
        note = (
            f"rules are mined from more than {MOST_TRIPLES:,} triples only if you say --mine, since that "
            "takes long; without rules nothing is inferred, but the accuracy is estimated all the same"
        )
        return axioms, [*notes, note]
    from rdf_kgeval.rules.mining.mine import mine  # with numba, which nothing else needs here

    judged = {f"<{name}>" for name in beliefs.by_predicate()}
    found = mine(beliefs, options, known=axioms, progress=progress)
    mined = [rule for rule in found if rule.head is not None and rule.head[1] in judged]
    mined.sort(key=lambda rule: -(rule.confidence or 0))
    note = (
        f"as no rules are given, {len(mined):,} are mined from the beliefs; kgeval show --rules lists them, "
        "--no-mine does without"
        if mined
        else "no rules are given, and none can be mined from the beliefs"
    )
    return [*axioms, *mined], [*notes, note]


def mining_options() -> "MiningOptions":
    """Return options to mine rules for users who did not ask for it: within a minute or so."""
    from rdf_kgeval.rules.mining.options import MiningOptions

    return MiningOptions(max_length=2, max_walks=_WALKS, max_per_head=10, max_groundings=100_000)


def _own_axioms(beliefs: Beliefs) -> tuple[list[Rule], Sequence[str]]:
    rows = np.flatnonzero(is_schema(beliefs)).tolist()
    if not rows:
        return [], ()
    if len(rows) > MOST_AXIOMS:
        return [], (
            f"the graph states {len(rows):,} triples about its own schema, too many to be used unasked; "
            "give them as a file by --ontology",
        )
    import rdflib

    from rdf_kgeval.rules.axioms import axiom_rules
    from rdf_kgeval.rules.expressions import TemplateError

    graph = rdflib.Graph(bind_namespaces="none")
    for triple in map(beliefs.triple, rows):
        if not any(term.startswith("<<") for term in triple):  # rdflib has no triple terms
            graph.add(tuple(to_rdflib(parse_term(term)) for term in triple))  # type: ignore[arg-type]
    try:
        rules = axiom_rules(graph, "the graph")
    except TemplateError as error:
        return [], (f"the graph's own schema is not used: {error}",)
    return rules, (f"{plural(len(rules), 'rule')} from the graph's own schema",) if rules else ()

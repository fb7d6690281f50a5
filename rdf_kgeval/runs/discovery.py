"""What to make of a graph of which nobody said anything: what in it to evaluate, and by which rules."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rdf_kgeval.beliefs.table import Beliefs, Role
from rdf_kgeval.beliefs.terms import local_name, parse_term, to_rdflib
from rdf_kgeval.common.progress import Progress
from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.common.types import Bools
from rdf_kgeval.namespaces import OWL, PROVENANCE, RDF, RDF_TYPE, RDFS, SKOS
from rdf_kgeval.rules.rule import Rule

if TYPE_CHECKING:
    from rdf_kgeval.rules.mining.options import MiningOptions

MOST_TRIPLES = 1_000_000
"""Above this, rules are mined only if the user asks for it."""
MOST_AXIOMS = 5_000
"""Above this, closing a schema takes longer than users who asked for nothing would wait."""
_WALKS = 5e8
_NAMED = 8
_NOTES = ("note", "definition", "example", "scopeNote", "editorialNote", "changeNote", "historyNote")
_ANNOTATIONS = {
    *(f"{RDFS}{name}" for name in ("label", "comment", "seeAlso", "isDefinedBy")),
    *(f"{SKOS}{name}" for name in ("prefLabel", "altLabel", "hiddenLabel", *_NOTES)),
    *PROVENANCE,
}
_FACTS = {RDF_TYPE, f"{OWL}sameAs", f"{OWL}differentFrom"}
"""What the vocabularies of schemas say of things."""

Rows = Bools


def propose_scope(beliefs: Beliefs, label_properties: Sequence[str]) -> tuple[Beliefs, Sequence[str]]:
    """Names, annotations and the schema made background, unless nothing else is there, and notes."""
    annotation, schema = _annotations(beliefs, label_properties), _schema(beliefs)
    role = beliefs.role.copy()
    role[(annotation | schema) & (role == Role.BELIEF)] = Role.BACKGROUND
    chosen = beliefs.with_roles(role)
    left = beliefs.n_beliefs - chosen.n_beliefs
    if not left or not chosen.n_beliefs:
        return beliefs, ()
    kinds = (("annotations", annotation), ("schema", schema & ~annotation))
    parts = [
        f"{what}: {_names(beliefs.with_roles(np.where(rows, beliefs.role, Role.BACKGROUND)))}"
        for what, rows in kinds
        if (rows & (beliefs.role == Role.BELIEF)).any()
    ]
    note = (
        f"beliefs to evaluate: {plural(chosen.n_beliefs, 'triple')} ({_names(chosen)}); background: "
        f"{plural(left, 'triple')} ({'; '.join(parts)}); --predicate IRI or --scope F.rq chooses otherwise"
    )
    return chosen, (note,)


def _names(beliefs: Beliefs) -> str:
    """The predicates, those with most beliefs first."""
    names = [printable(local_name(name) or name, 60) for name in beliefs.by_predicate()]
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _numbers(beliefs: Beliefs, iris: Sequence[str]) -> list[int]:
    found = (beliefs.terms.find(f"<{name}>") for name in iris)
    return [number for number in found if number is not None]


def _annotations(beliefs: Beliefs, label_properties: Sequence[str]) -> Rows:
    """Triples for people who read the graph."""
    typed = np.isin(beliefs.p, _numbers(beliefs, [RDF_TYPE]))
    declared = beliefs.s[typed & np.isin(beliefs.o, _numbers(beliefs, [f"{OWL}AnnotationProperty"]))]
    known = _numbers(beliefs, sorted(_ANNOTATIONS.union(label_properties)))
    rows: Rows = np.isin(beliefs.p, np.concatenate([declared, known]))
    return rows


def _schema(beliefs: Beliefs) -> Rows:
    """Triples that say what classes and properties are, not what is so."""
    of_schemas = np.zeros(len(beliefs.terms), dtype=bool)
    for space in (RDF, RDFS, OWL):
        of_schemas[beliefs.terms.starting(f"<{space}")] = True
    typed = np.isin(beliefs.p, _numbers(beliefs, [RDF_TYPE]))
    rows: Rows = of_schemas[beliefs.p] & ~np.isin(beliefs.p, _numbers(beliefs, sorted(_FACTS)))
    rows |= typed & of_schemas[beliefs.o]
    return rows


def propose_rules(beliefs: Beliefs, progress: Progress = lambda *_: None) -> tuple[list[Rule], Sequence[str]]:
    """The axioms that a graph states about itself and rules mined from it, the surest first, and notes."""
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
    """How rules are mined for users who did not ask for it: within a minute or so."""
    from rdf_kgeval.rules.mining.options import MiningOptions

    return MiningOptions(max_length=2, max_walks=_WALKS, max_per_head=10, max_groundings=100_000)


def _own_axioms(beliefs: Beliefs) -> tuple[list[Rule], Sequence[str]]:
    rows = np.flatnonzero(_schema(beliefs)).tolist()
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

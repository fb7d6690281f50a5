"""Mine Horn rules from the beliefs themselves, with the measures of AMIE (Galárraga et al., WWW 2013).

Three kinds: closed paths of up to three triples, forwards or backwards, from ?x to ?y; rules with constants,
`p(x, c) -> q(x, d)`; and type signatures, `p(x, y) -> x is a C` or `y is a C`. A grounding whose head is one
of its own body's triples never counts. With that,

- support is the number of distinct heads that are asserted and have a body that holds;
- head coverage is support over the number of asserted triples that match the head;
- standard confidence is support over the number of distinct heads with a body that holds;
- PCA confidence is support over those of them whose more functional argument has some triple of the head's
  predicate: the subject unless the predicate has more distinct objects than subjects. Of a head with a
  constant, it is the variable that must have one.

Every triple counts, whatever its role, because every triple can ground a rule; but a predicate whose triples
are all given as true or not evaluated is never a head, because nothing about it is to be inferred.
"""

import hashlib
import os
import re
import urllib.parse
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, permutations

from rdf_kgeval.beliefs.names import Names, last_part, readable
from rdf_kgeval.beliefs.table import Beliefs
from rdf_kgeval.common.arguments import expect, expect_all
from rdf_kgeval.common.jit import sized
from rdf_kgeval.common.progress import Progress
from rdf_kgeval.namespaces import RDF_TYPE
from rdf_kgeval.rules.mining.constants import mine_constants, mine_signatures
from rdf_kgeval.rules.mining.index import MinedRule, MiningIndex
from rdf_kgeval.rules.mining.options import MiningOptions
from rdf_kgeval.rules.mining.paths import PathMiner
from rdf_kgeval.rules.rule import Measures, Pattern, Rule, verbalise

_LONGEST_ID = 150
"""Characters of an id, which must fit in a file name."""

_Shape = tuple[tuple[str, ...], ...]
_Patterned = tuple[MinedRule, tuple[Pattern, ...], Pattern]


def mine(
    beliefs: Beliefs,
    options: MiningOptions | None = None,
    *,
    known: Iterable[Rule] = (),
    progress: Progress = lambda *_: None,
    threads: int | None = None,
) -> list[Rule]:
    """Mine rules from beliefs, the best first for each head.

    Args:
        beliefs: the graph.
        options: what to look for, and which rules to keep.
        known: rules from elsewhere, such as an ontology's, which are not mined again.
        progress: called as the mining goes on.
        threads: number of threads, by default one for each core; the result does not depend on it.
    """
    remedy = "read_beliefs(source) makes beliefs of a file or an rdflib Graph: mine(beliefs)"
    expect(beliefs, Beliefs, "mine takes beliefs", remedy)
    if options is not None:
        need = "mine takes MiningOptions after the beliefs"
        expect(options, MiningOptions, need, "write mine(beliefs, MiningOptions(min_support=5))")
    remedy = "read_rules(path) and read_ontology(path) make rules"
    known = [rule.resolved(beliefs) for rule in expect_all(known, Rule, "known takes rules", remedy)]
    with sized(len(beliefs)):
        return _mine(beliefs, options or MiningOptions(), known, progress, threads or os.cpu_count() or 1)


def _mine(
    beliefs: Beliefs, options: MiningOptions, known: list[Rule], progress: Progress, threads: int
) -> list[Rule]:
    index = MiningIndex(beliefs, options)
    paths = PathMiner(index, progress, threads)
    found = [*paths.mine(), *mine_signatures(index, known), *mine_constants(index, progress)]
    if not index.options.keep_redundant:
        found = list(_without_redundant(found))
    stated = {_shape(rule.body, rule.head) for rule in known if rule.is_plain}
    rules = [(f, *_patterns(index, f)) for f in found if _is_writable(index, f)]
    rules = [rule for rule in rules if _shape(*rule[1:]) not in stated]
    rules.sort(key=lambda rule: (rule[0].head >> 1, -rule[0].confidence, -rule[0].support, *rule[1:]))
    kept = list(_capped(index, rules, paths))
    pairs = paths.count_pairs([f for f, *_ in kept])
    names = Names(beliefs=beliefs)
    return _distinct_ids(
        [
            _rule(f._replace(pairs=n), body, head, names)
            for (f, body, head), n in zip(kept, pairs, strict=True)
            if n >= 0
        ]
    )


def _is_writable(index: MiningIndex, found: MinedRule) -> bool:
    """Return whether SPARQL parsers agree on the rule's constants; they do not on a backslash before a u."""
    ends = [end for end in (found.head_end, found.body_end) if end >= 0]
    return not any("\\u" in index.beliefs.terms[end].lower() for end in ends)


def _capped(index: MiningIndex, rules: Iterable[_Patterned], paths: PathMiner) -> Iterator[_Patterned]:
    """Yield the best rules for each head's predicate or class, without those of too many groundings."""
    kept: Counter[tuple[int, int]] = Counter()
    for rule in rules:
        found = rule[0]
        is_class = index.type is not None and found.head == 2 * index.type
        key = found.head >> 1, found.head_end if is_class else -1
        is_full = index.options.max_per_head is not None and kept[key] >= index.options.max_per_head
        if not is_full and paths.is_wieldy(found):
            kept[key] += 1
            yield rule


def _patterns(index: MiningIndex, found: MinedRule) -> tuple[tuple[Pattern, ...], Pattern]:
    """Convert a mined rule into body and head."""
    terms = index.beliefs.terms
    inner = {1: [], 2: ["?z"], 3: ["?z", "?w"]}[len(found.path)]
    end = "?y" if found.body_end < 0 else terms[found.body_end]
    stops = ["?x", *inner, end]
    body = tuple(_pattern(index, step, *stops[i : i + 2]) for i, step in enumerate(found.path))
    return body, _pattern(index, found.head, "?x", end if found.head_end < 0 else terms[found.head_end])


def _pattern(index: MiningIndex, step: int, near: str, far: str) -> Pattern:
    predicate = index.predicate(step)
    return (far, predicate, near) if step & 1 else (near, predicate, far)


def _rule(f: MinedRule, body: tuple[Pattern, ...], head: Pattern, names: Names) -> Rule:
    return Rule(
        id=_id(body, head),
        summary=verbalise(body, head, names.name),
        body=body,
        head=head,
        confidence=round(f.confidence, 6),
        measures=Measures(f.support, f.support / f.head_size, f.support / f.body),
    )


def _id(body: Sequence[Pattern], head: Pattern) -> str:
    """Make a name such as `playsSport-if-playsForTeam-teamPlaysSport`; inverse steps start with `inv-`."""
    return f"{_side([head])}-if-{_side(body)}"


def _side(patterns: Iterable[Pattern]) -> str:
    names, here = [], "?x"
    for s, p, o in patterns:
        backwards = o == here and s != here
        here = s if backwards else o
        end = [] if here.startswith("?") else [_slug(here)]
        name = "type" if p == f"<{RDF_TYPE}>" else _slug(p)
        names += [f"inv-{name}" if backwards else name, *end]
    return "-".join(names)


def _slug(term: str) -> str:
    """Return the last part of a term in letters that are safe in file names and IRIs.

    >>> _slug("<http://example.org/nell/Joe%20Louis_Arena>")
    'Joe-Louis_Arena'
    """
    name = last_part(term) if term.startswith("<") else readable(term)
    slug = re.sub(r"[^A-Za-z0-9_]+", "-", urllib.parse.unquote(name)).strip("-")
    return slug[:40] or "x"


def _distinct_ids(rules: Sequence[Rule]) -> list[Rule]:
    """Add a digest to ids that are too long, or that differ from others at most in case."""
    taken = Counter(rule.id.lower() for rule in rules)
    return [
        replace(rule, id=f"{rule.id[:_LONGEST_ID]}-{_digest(rule)}")
        if taken[rule.id.lower()] > 1 or len(rule.id) > _LONGEST_ID
        else rule
        for rule in rules
    ]


def _digest(rule: Rule) -> str:
    text = " ".join(term for pattern in (*rule.body, rule.head or ()) for term in pattern)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _without_redundant(found: Sequence[MinedRule]) -> Iterator[MinedRule]:
    """Leave out rules that are no better than a simpler one for the same head."""
    best = {(f.head, f.head_end, f.path, f.body_end): f.confidence for f in found}
    for f in found:
        if all(best.get(key, -1.0) < f.confidence for key in _simpler(f)):
            yield f


def _simpler(f: MinedRule) -> Iterator[tuple[int, int, tuple[int, ...], int]]:
    """Yield the shorter and more general forms of a rule."""
    for n in range(1, len(f.path)):
        for path in combinations(f.path, n):
            yield f.head, f.head_end, path, f.body_end
    if f.body_end >= 0:
        yield f.head, f.head_end, f.path, -1
        if f.body_end == f.head_end:
            general = f.path if not f.head & 1 else tuple(step ^ 1 for step in f.path)
            yield f.head & ~1, -1, general, -1


def _shape(body: Sequence[Pattern], head: Pattern | None) -> _Shape:
    """Return a rule's form, whatever the names of its variables and the order of its body."""
    return min(_renamed((*order, head or ("", "", ""))) for order in permutations(body[:4]))


def _renamed(patterns: Sequence[Pattern]) -> _Shape:
    names: dict[str, str] = {}
    return tuple(
        tuple(names.setdefault(t, f"?{len(names)}") if t.startswith("?") else t for t in p) for p in patterns
    )

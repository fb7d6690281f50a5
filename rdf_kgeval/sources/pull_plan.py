"""Plan a pull: units of triples that the endpoint counts, to be fetched and verified one by one."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rdf_kgeval.beliefs.table import Role, Triple
from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.errors import EndpointError, InputError
from rdf_kgeval.namespaces import DESCRIPTION_PROPERTIES, RDF_TYPE, WIKIBASE
from rdf_kgeval.sources.endpoint.client import Endpoint
from rdf_kgeval.sources.endpoint.counts import count, count_by_predicate
from rdf_kgeval.sources.scope import Scope, ScopeQuery, variables_of

PAGE = 50_000
"""Triples to ask for at once, at most."""
_MOST_PREDICATES = 100


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A set of triples that is fetched and verified as one."""

    name: str
    """For messages."""
    prologue: str = ""
    dataset: str = ""
    """The FROM clause, if any."""
    template: Triple
    """Subject, predicate and object: variables of the pattern, or constants."""
    pattern: str
    rows: int
    """The number of distinct rows by COUNT."""
    role: Role

    @property
    def variables(self) -> tuple[str, ...]:
        """The template's variables, without question marks."""
        return variables_of(self.template)

    def page(self, size: int, offset: int, *, ordered: bool) -> str:
        """Write the query for one page."""
        names = " ".join(f"?{v}" for v in self.variables)
        # Virtuoso refuses ORDER BY with a large OFFSET unless the sorting is done in a sub-SELECT.
        pattern = f"{{ {self._distinct(names)} ORDER BY {names} }}" if ordered else self.pattern
        return (
            f"{self.prologue}SELECT {names} {self.dataset}WHERE {{ {pattern} }} LIMIT {size} OFFSET {offset}"
        )

    def count_distinct(self, *, named: bool = False) -> str:
        """Write the query for the number of distinct rows, or of those without a blank node."""
        names = " ".join(f"?{v}" for v in self.variables)
        test = " && ".join(f"!isBlank(?{v})" for v in self.variables)
        rows = f"{{ {self._distinct(names)} }}" + (f" FILTER({test})" if named else "")
        return f"{self.prologue}SELECT (COUNT(*) AS ?n) {self.dataset}WHERE {{ {rows} }}"

    def _distinct(self, names: str) -> str:
        return f"SELECT DISTINCT {names} WHERE {{ {self.pattern} }}"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The units to fetch."""

    units: list[Unit]
    left_out: int = 0
    """Number of triples whose predicate is not a valid IRI, and which cannot be asked for."""
    absent: tuple[str, ...] = ()
    """Predicates that the scope names and no triple has."""


def make_plan(endpoint: Endpoint, scope: Scope, decorations: Sequence[str], lang: str = "en") -> Plan:
    """Count the triples of a scope, and divide them into units."""
    query = scope.query
    plan = Plan(units=_query_units(endpoint, scope, query)) if query else _plan_by_predicate(endpoint, scope)
    units = plan.units
    if sum(unit.rows for unit in units) == 0:
        raise InputError(_nothing_there(endpoint, scope))
    if scope.predicates or scope.query:
        units = [*units, *_decoration_units(endpoint, scope, decorations, lang)]
    return replace(plan, units=[unit for unit in units if unit.rows])


def _nothing_there(endpoint: Endpoint, scope: Scope) -> str:
    asked = f"the graph {printable(scope.graph)}" if scope.graph else "the default graph"
    if scope.query is not None:
        return f"{scope.query.name} finds no triple at {endpoint.name}; try it there with LIMIT 10 to see why"
    if scope.predicates:
        names = ", ".join(map(printable, scope.predicates))
        return (
            f"{asked} of {endpoint.name} has no triple with the predicate {names}; "
            "check --predicate and --graph"
        )
    answer = endpoint.select("SELECT DISTINCT ?g WHERE { GRAPH ?g { ?s ?p ?o } } LIMIT 5", ["g"])
    graphs = ", ".join(printable(g) for (g,) in answer.rows if g)
    hint = (
        f"name one of its graphs with --graph, such as {graphs}" if graphs else "load something into it first"
    )
    return f"{asked} of {endpoint.name} is empty; {hint}"


def _in_graph(scope: Scope, pattern: str) -> str:
    return f"GRAPH {scope.graph} {{ {pattern} }}" if scope.graph else pattern


def _plan_by_predicate(endpoint: Endpoint, scope: Scope) -> Plan:
    only = f"VALUES ?p {{ {' '.join(scope.predicates)} }} " if scope.predicates else ""
    pattern = only + _in_graph(scope, "?s ?p ?o")
    total = count(endpoint, f"SELECT (COUNT(*) AS ?n) WHERE {{ {pattern} }}")
    counts = count_by_predicate(endpoint, f"SELECT ?p (COUNT(*) AS ?n) WHERE {{ {pattern} }} GROUP BY ?p")
    if sum(counts.values()) != total:
        raise EndpointError(
            f"{endpoint.name} counts {plural(total, 'triple')} in all but {sum(counts.values()):,} by "
            "predicate; its answers are cut short or it is being changed: run the command again"
        )
    valid = {p: n for p, n in counts.items() if p.startswith("<")}
    groups = _groups(sorted(valid.items()))
    return Plan(
        units=[_unit(scope, group, sum(valid[p] for p in group)) for group in groups],
        left_out=total - sum(valid.values()),
        absent=tuple(p for p in scope.predicates if p not in valid),
    )


def _groups(counts: list[tuple[str, int]]) -> Iterator[list[str]]:
    """Group predicates as long as their triples fit in one page."""
    group: list[str] = []
    size = 0
    for predicate, n in counts:
        if group and (size + n > PAGE or len(group) == _MOST_PREDICATES):
            yield group
            group, size = [], 0
        group.append(predicate)
        size += n
    if group:
        yield group


def _unit(scope: Scope, predicates: list[str], rows: int) -> Unit:
    if len(predicates) == 1:
        template, pattern = ("?s", predicates[0], "?o"), f"?s {predicates[0]} ?o"
    else:
        template, pattern = ("?s", "?p", "?o"), "?s ?p ?o"
    values = f"VALUES ?p {{ {' '.join(predicates)} }} " if len(predicates) > 1 else ""
    name = printable(predicates[0], 100) + (f" and {len(predicates) - 1} more" if values else "")
    return Unit(
        name=name,
        template=template,
        pattern=values + _in_graph(scope, pattern),
        rows=rows,
        role=Role.BELIEF,
    )


def _query_units(endpoint: Endpoint, scope: Scope, query: ScopeQuery) -> list[Unit]:
    units = []
    for part in query.parts:
        unit = Unit(
            name=query.name,
            prologue=query.prologue,
            dataset=scope.dataset,
            template=part.template,
            pattern=part.pattern,
            rows=0,
            role=Role.BELIEF,
        )
        units.append(replace(unit, rows=count(endpoint, unit.count_distinct())))
    return units


def _decoration_units(endpoint: Endpoint, scope: Scope, decorations: Sequence[str], lang: str) -> list[Unit]:
    """Plan to fetch labels, types and descriptions of the beliefs' entities, for people and rules."""
    direct = f"<{WIKIBASE}directClaim>"
    described = [f"<{p}>" for p in DESCRIPTION_PROPERTIES]
    wanted = " ".join(sorted({f"<{RDF_TYPE}>", direct, *described, *(f"<{p}>" for p in decorations)}))
    # Descriptions are long, and there may be one in each of a hundred languages.
    tags = dict.fromkeys(("", "en", lang.lower(), lang.lower().split("-")[0]))
    spoken = ", ".join(f'"{tag}"' for tag in tags if re.fullmatch("[a-z0-9-]*", tag))
    only = (
        f"FILTER(?kgeval_p NOT IN ({', '.join(described)}) || "
        f"(isLiteral(?kgeval_o) && LCASE(LANG(?kgeval_o)) IN ({spoken})))"
    )
    if scope.query is not None:
        parts = scope.query.parts
        ends = [
            f"{{ SELECT ({end} AS ?kgeval_s) WHERE {{ {{ {part.select}\n }} }} }}"
            for part in parts
            for end in dict.fromkeys(part.template)
            if end.startswith("?")
        ]
        constants = sorted({t for part in parts for t in part.template if t.startswith("<")})
    else:
        predicates = f"VALUES ?q {{ {' '.join(scope.predicates)} }}"
        ends = [f"{{ {predicates} {p} }}" for p in ("?kgeval_s ?q ?x", "?x ?q ?kgeval_s")]
        constants = list(scope.predicates)
    # Virtuoso finds nothing where a part of a UNION is VALUES alone, so the constants are a unit apart.
    entities = [f"{{ SELECT DISTINCT ?kgeval_s WHERE {{ {' UNION '.join(ends)} }} }}"]
    if constants:
        values = " ".join(constants)
        entities.append(f"VALUES ?kgeval_s {{ {values} }}")
        claims = f"VALUES ?kgeval_c {{ {values} }} ?kgeval_s {direct} ?kgeval_c"
        entities.append(f"{{ SELECT DISTINCT ?kgeval_s WHERE {{ {claims} }} }}")
    units = [
        Unit(
            name="labels and types",
            prologue=scope.query.prologue if scope.query else "",
            dataset=scope.dataset,
            template=("?kgeval_s", "?kgeval_p", "?kgeval_o"),
            pattern=f"{which} VALUES ?kgeval_p {{ {wanted} }} ?kgeval_s ?kgeval_p ?kgeval_o {only}",
            rows=0,
            role=Role.BACKGROUND,
        )
        for which in entities
    ]
    return [replace(unit, rows=count(endpoint, unit.count_distinct())) for unit in units]

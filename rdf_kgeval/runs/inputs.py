"""Inputs: what a user hands to `evaluate`, in whatever form, and the run that it makes or goes on with."""

import inspect
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any, TypedDict, TypeVar, get_type_hints

import numpy as np

from rdf_kgeval.beliefs.table import Beliefs
from rdf_kgeval.common.arguments import expect, expect_all, several, wrong
from rdf_kgeval.common.memory import parse_size
from rdf_kgeval.common.registry import suggest
from rdf_kgeval.common.text import printable
from rdf_kgeval.coupling.graph import CouplingGraph
from rdf_kgeval.coupling.grounding import MAX_GROUNDINGS
from rdf_kgeval.errors import InputError, RunError
from rdf_kgeval.evaluation.settings import MethodOptions, Settings
from rdf_kgeval.namespaces import LABEL_PROPERTIES
from rdf_kgeval.rules.rule import Rule
from rdf_kgeval.runs.config import ScopeConfig
from rdf_kgeval.runs.create import Coupling
from rdf_kgeval.runs.layout import RunLayout
from rdf_kgeval.runs.run import Run, open_run
from rdf_kgeval.sources.endpoint.client import Endpoint
from rdf_kgeval.sources.load import InPlace, Sources, load, parse_source
from rdf_kgeval.sources.scope import Scope

Names = str | Sequence[str]
"""One name, or several."""
Paths = str | Path | Sequence[str | Path]
"""One file, or several."""
Call = TypeVar("Call", bound=Callable[..., Any])
Rules = Rule | str | Path | Iterable[Rule | str | Path]
"""Rules, files and folders of rules, or a list of such."""


class InputOptions(TypedDict, total=False):
    """Options of `evaluate` that say what is evaluated: the fields of `Inputs` that have a default."""

    predicates: Names
    graph: str | None
    scope: str | Path | None
    context: Paths
    context_unknown: Paths
    format: str | None
    prefixes: Mapping[str, str]
    label_properties: Names
    lang: str
    mine: bool | None
    max_groundings: int
    memory_limit: str | None
    in_place: bool
    hops: int


class Options(MethodOptions, InputOptions, total=False):
    """Options of `evaluate`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Inputs:
    """What to evaluate, as a user named it."""

    source: Any
    rules: Rules
    ontology: Any
    run: Path | None
    """The run directory to make or to go on with; without one, a temporary one that goes with the inputs."""
    given: frozenset[str] = frozenset()
    """Options that the user gave, by name."""
    predicates: Names = ()
    """IRIs or CURIEs of the predicates to evaluate."""
    graph: str | None = None
    """IRI or CURIE of the named graph to evaluate."""
    scope: str | Path | None = None
    """File of a query that names the triples to evaluate."""
    context: Paths = ()
    """Files of triples taken as true."""
    context_unknown: Paths = ()
    """Files of triples that may be true, but are not evaluated."""
    format: str | None = None
    """Ending or media type of the files, where their names do not tell."""
    prefixes: Mapping[str, str] = field(default_factory=dict)
    """Namespaces of prefixes for CURIEs, beside those of the source and well-known ones."""
    label_properties: Names = LABEL_PROPERTIES
    """Properties with names for people, best first."""
    lang: str = "en"
    """Language of names for people."""
    mine: bool | None = None
    """Whether to mine rules from the beliefs, beside those given; by default only where none are given."""
    max_groundings: int = MAX_GROUNDINGS
    """Rules with more groundings are refused."""
    memory_limit: str | None = None
    """Memory to keep to, such as "2GB"; the rest goes to disk."""
    in_place: bool = False
    """Whether the beliefs stay at the endpoint, and a sample is drawn there."""
    hops: int = 1
    """How far to fetch around a sample in place."""

    @classmethod
    def of(
        cls, source: object, rules: Any, ontology: Any, run: object, options: Mapping[str, Any]
    ) -> tuple["Inputs", dict[str, Any]]:
        """Check what a user gave, before anything is read.

        Returns:
            What to evaluate, and the options of `Settings`.
        """
        if source is None and isinstance(options.get("graph"), CouplingGraph | Run):
            options = dict(options)
            source = options.pop("graph")  # the first parameter's former name
        method = {name: value for name, value in options.items() if name in _METHOD}
        own = {name: value for name, value in options.items() if name not in _METHOD}
        for name in own:
            if name not in InputOptions.__annotations__:
                raise InputError(
                    f"evaluate has no option {printable(name, 40)!r}; {suggest(name, [*_METHOD, *_OWN])}"
                )
        if run is not None:
            expect(run, (str, Path), "run takes the path of a run directory", "give for example run='run'")
        Settings().changed(**method)
        folder = Path(run) if isinstance(run, str | Path) else None
        inputs = cls(source=source, rules=rules, ontology=ontology, run=folder, given=frozenset(own), **own)
        inputs.check()
        return inputs, method

    def check(self) -> None:
        """Refuse what does not go together."""
        if isinstance(self.source, Run | CouplingGraph | Beliefs):
            refused = sorted(self.given & _READING)
            if refused:
                raise InputError(
                    f"{refused[0]} says how to read a source, and this one is read already; give it to "
                    "read_beliefs, or give evaluate the file"
                )
        if isinstance(self.source, Run | CouplingGraph) and (self.has_rules or self.mine):
            raise InputError(
                "this graph is coupled already; give evaluate the beliefs to couple by these rules"
            )
        if isinstance(self.source, Run) and self.run is not None:
            raise InputError(f"this run is in {printable(str(self.source.folder))} already; leave run= out")
        if self.run is not None and self.run.exists() and not self.run.is_dir():
            raise InputError(
                f"run={printable(str(self.run))!r} is a file; name a run directory, or one to make"
            )
        if self.source is None and (self.run is None or not self.run.exists()):
            raise InputError(
                "there is nothing to evaluate; give a file, an rdflib Graph, beliefs or an endpoint's URL"
            )
        if self.in_place and self.endpoint is None:
            raise InputError("in_place draws from an endpoint; give its URL as the source")

    @property
    def has_rules(self) -> bool:
        """Return whether any rules or an ontology are given."""
        return any(value is not None and several(value) for value in (self.rules, self.ontology))

    @property
    def endpoint(self) -> Endpoint | None:
        """Return the endpoint, where the source is one."""
        return self._parsed.endpoint

    @cached_property
    def _parsed(self) -> Sources:
        if isinstance(self.source, Run | CouplingGraph):
            return Sources(beliefs=self.source.beliefs)
        return Sources() if self.source is None else parse_source(self.source, "evaluate", self._temporary)

    @cached_property
    def _temporary(self) -> Path:
        """A folder that is removed with the inputs."""
        folder = tempfile.mkdtemp(prefix="kgeval-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)

    @property
    def folder(self) -> Path:
        """Return the run directory."""
        return self._temporary / "run" if self.run is None else self.run

    @property
    def memory(self) -> int | None:
        """Return the limit of memory in bytes."""
        return None if self.memory_limit is None else parse_size(self.memory_limit)

    def sources(self, seed: int = 0) -> Sources:
        """Return what to read; the seed is for a sample in place."""
        return replace(
            self._parsed,
            in_place=InPlace(seed=seed, hops=self.hops) if self.in_place else None,
            context=[Path(file) for file in several(self.context)],
            context_unknown=[Path(file) for file in several(self.context_unknown)],
            scope=Scope.of(predicates=several(self.predicates), graph=self.graph, scope=self.scope),
            format=self.format,
            label_properties=several(self.label_properties),
            prefixes=self.prefixes,
        )

    @cached_property
    def coupling(self) -> Coupling:
        """Return by what to couple: by the rules given or, without any, by rules to be found."""
        from rdf_kgeval.rules.mining.options import MiningOptions
        from rdf_kgeval.rules.ontology import read_ontology

        ontology = read_ontology(self.ontology) if hasattr(self.ontology, "triples") else self.ontology
        ontologies, axioms = _sorted(ontology, "ontology takes RDFS or OWL files, an rdflib Graph, or rules")
        files, rules = _sorted(self.rules, "rules takes rules, or files and folders of rules")
        return Coupling(
            ontologies=ontologies,
            rules=files,
            given=[*axioms, *rules],
            max_groundings=self.max_groundings,
            mine=MiningOptions() if self.mine else None,
            discover=not self.has_rules and self.mine is None and not self.in_place,
            graph=self.source if isinstance(self.source, CouplingGraph) else None,
        )

    def preparation(self, seed: int) -> dict[str, Any]:
        """Return what `prepare` takes; the seed is for a sample in place."""
        return {
            "folder": self.folder,
            "sources": self.sources(seed),
            "coupling": self.coupling,
            "lang": self.lang,
            "memory_limit": self.memory,
        }

    def opened(self) -> CouplingGraph | Run | None:
        """Return the graph or run that is there already; None where a run is to be made."""
        if self.run is not None:
            return self._resumed(open_run(self.run)) if self.run.exists() else None
        if isinstance(self.source, Run | CouplingGraph):
            return self.source
        files = self._parsed.files
        if len(files) == 1 and Path(files[0]).is_dir():
            if not RunLayout(Path(files[0])).config.exists():
                raise InputError(f"{printable(str(files[0]))} is a folder; give the files in it")
            return open_run(Path(files[0]))
        return None

    def _resumed(self, run: Run) -> Run:
        """Return a run to go on with, if it was made from the same.

        Raises:
            RunError: it was made from something else, or by other rules or options.
        """
        differs = self._difference(run)
        if differs:
            raise RunError(
                f"{printable(str(run.folder))} was made with {differs}; go on with the same, or choose "
                "another run="
            )
        return run

    def _difference(self, run: Run) -> str | None:
        kept, labels = run.config, run.config.labels
        sources = self.sources().resolved(run.beliefs.prefixes, run.beliefs)
        scope = sources.scope
        if self.source is not None:
            run.check_sources(sources)
            if not self._is_same_graph(run):
                return "another graph"
        if self.given & {"predicates", "graph", "scope"} and kept.scope != ScopeConfig(
            predicates=tuple(scope.predicates),
            graph=scope.graph,
            query=scope.query.text if scope.query else None,
        ):
            return "another scope"
        if "lang" in self.given and self.lang != labels.lang:
            return f"lang={labels.lang!r}"
        if "label_properties" in self.given and tuple(sources.label_properties) != labels.properties:
            return "other label_properties"
        if self.mine is not None and self.mine != (kept.mine is not None):
            return f"mine={not self.mine}"
        return "other rules" if self.has_rules and not self._has_same_rules(run) else None

    def _is_same_graph(self, run: Run) -> bool:
        if isinstance(self.source, CouplingGraph) and not _equal(self.source, run.graph, _COUPLED):
            return False
        own = self._parsed
        if own.beliefs is not None:
            return _equal(own.beliefs, run.beliefs, (*_TRIPLES, "role"))
        return not own.graphs or _equal(load(own, Path()).beliefs, run.beliefs, _TRIPLES)

    def _has_same_rules(self, run: Run) -> bool:
        rules = {rule.id: replace(rule.resolved(run.beliefs), source=None) for rule in self.coupling.read()}
        kept = {rule.id: replace(rule, source=None) for rule in run.graph.rules}
        if run.config.mine is not None:
            kept = {name: rule for name, rule in kept.items() if name in rules}
        return rules == kept


def spell_out(call: Call) -> Call:
    """Show each of the `Options` of a call, with its type and default, in its signature and in help."""
    whole = inspect.signature(call)
    known = [one for one in whole.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    defaults = {one.name: one for kind in (Settings, Inputs) for one in fields(kind)}
    options = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=defaults[name].default if defaults[name].default is not MISSING else None,
            annotation=kind,
        )
        for name, kind in get_type_hints(Options).items()
    ]
    call.__signature__ = whole.replace(parameters=[*known, *options])  # type: ignore[attr-defined]
    return call


_METHOD = tuple(MethodOptions.__annotations__)
_OWN = tuple(InputOptions.__annotations__)
_READING = frozenset(_OWN) - {"mine", "max_groundings", "memory_limit", "lang", "label_properties"}


def _sorted(given: Any, need: str) -> tuple[list[Path], list[Rule]]:
    """Sort what a user gave for rules into paths and rules."""
    if isinstance(given, Beliefs | CouplingGraph):
        raise wrong(given, need, "the beliefs are the first argument")
    remedy = "read_rules(path) and read_ontology(path) make rules of files"
    parts: list[Any] = [] if given is None else expect_all(given, (Rule, str, Path), need, remedy)
    paths = [Path(part) for part in parts if not isinstance(part, Rule)]
    return paths, [part for part in parts if isinstance(part, Rule)]


def _equal(one: Any, other: Any, columns: Sequence[str]) -> bool:
    """Return whether some arrays of two graphs, or of two tables of beliefs, are equal."""
    return all(np.array_equal(attrgetter(name)(one), attrgetter(name)(other)) for name in columns)


_TRIPLES = ("terms.block", "s", "p", "o")
_COUPLED = ("start", "atom", "sign", "offset", "rule_start", "rule", "count", "latent")

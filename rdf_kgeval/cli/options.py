"""Describe options that several commands share, each once."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from rdf_kgeval.cli.config_file import long_name, read_config_file
from rdf_kgeval.cli.help import COMPUTING, GENERAL, IN_PLACE, METHOD, NAMES, OUTPUT, PEOPLE, RULES, SOURCE
from rdf_kgeval.cli.terminal import complain, hush, progress_bar, say_loaded
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.settings import Option, Settings, parse_share
from rdf_kgeval.namespaces import LABEL_PROPERTIES, RECORD_SUFFIXES
from rdf_kgeval.rules.dialects import DIALECTS

if TYPE_CHECKING:
    from rdf_kgeval.engines.engine import Engine
    from rdf_kgeval.runs.create import Coupling
    from rdf_kgeval.runs.run import Run
    from rdf_kgeval.sources.load import Sources

RECORD_ENDINGS = f"{', '.join(RECORD_SUFFIXES[:-1])} or {RECORD_SUFFIXES[-1]}"
_RULE_FILES = ", ".join(dialect.files for dialect in DIALECTS.values())
Chosen = dict[str, Any]
"""Fields of `Settings` that the user gave, by name; the others are as the run has them."""
_Command = Callable[..., None]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.", rich_help_panel=OUTPUT)]


def _run_directory(context: typer.Context, path: Path) -> Path:
    if path.is_file() and not context.resilient_parsing:
        name = printable(str(path))
        raise InputError(
            f"{name} is a file. First: kgeval init run {name}; then: kgeval {context.info_name} run."
        )
    return path


RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.", callback=_run_directory)]


def share(given: str | float) -> float:
    """Parse a share for Typer, which also hands over defaults."""
    try:
        return given if isinstance(given, float) else parse_share(given)
    except InputError as error:
        raise typer.BadParameter(str(error)) from error


MinAccuracy = Annotated[
    float | None,
    typer.Option(
        parser=share,
        metavar="A",
        help="Exit with code 3 if the accuracy is below this: 0.9 or 90%.",
        rich_help_panel=OUTPUT,
    ),
]
MaxMargin = Annotated[
    float | None,
    typer.Option(
        parser=share,
        metavar="M",
        help="Exit with code 3 if the interval is wider than twice this, such as 0.05 or 5%, or missing.",
        rich_help_panel=OUTPUT,
    ),
]


Prefix = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=IRI",
        help="Prefix for CURIEs, beside those of the files and well-known ones (repeatable).",
        rich_help_panel=NAMES,
    ),
]


def _annotations(panel: str | None = None) -> Any:
    return typer.Option(
        metavar="known|asked|wrong|all",
        help="Which beliefs the record annotates: those asked about, those held to be wrong, both and all "
        "others with an inferred label (known), or all.",
        rich_help_panel=panel,
    )


AnnotationsOption = Annotated[str, _annotations()]


def _configure(context: typer.Context, path: Path | None) -> Path | None:
    """Take defaults from a configuration file."""
    if path is not None:
        commands: Mapping[str, Any] = context.find_root().command.commands  # type: ignore[attr-defined]
        context.default_map = read_config_file(path, commands["evaluate"].callback)
    return path


Config = Annotated[
    Path | None,
    typer.Option(
        metavar="kgeval.toml",
        help="Take options from this file; those of the command line win.",
        is_eager=True,
        callback=_configure,
    ),
]


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """Say where beliefs and rules come from."""

    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="RDF files, gzipped or not; - is standard input.",
            rich_help_panel=SOURCE,
        ),
    ] = None
    endpoint: Annotated[
        str | None, typer.Option(metavar="URL", help="SPARQL endpoint to pull from.", rich_help_panel=SOURCE)
    ] = None
    in_place: Annotated[
        bool,
        typer.Option(
            "--in-place",
            help="Leave the beliefs at the endpoint, and draw a sample there.",
            rich_help_panel=IN_PLACE,
        ),
    ] = False
    hops: Annotated[
        int,
        typer.Option(
            min=1,
            max=5,
            metavar="K",
            help="With --in-place: how far to fetch around the sample.",
            rich_help_panel=IN_PLACE,
        ),
    ] = 1
    rate: Annotated[
        float | None,
        typer.Option(
            metavar="N", help="At most so many requests to the endpoint in a second.", rich_help_panel=SOURCE
        ),
    ] = None
    parallel: Annotated[
        int,
        typer.Option(
            min=1,
            max=32,
            metavar="N",
            help="With --in-place: requests at the same time.",
            rich_help_panel=IN_PLACE,
        ),
    ] = 1
    graph: Annotated[
        str | None,
        typer.Option(metavar="IRI", help="Only this named graph: an IRI or a CURIE.", rich_help_panel=SOURCE),
    ] = None
    predicate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="IRI",
            help="Only this predicate: an IRI or a CURIE such as ex:capital (repeatable).",
            rich_help_panel=SOURCE,
        ),
    ] = None
    scope: Annotated[
        Path | None,
        typer.Option(
            metavar="F.rq",
            help="Only what this SELECT ?s ?p ?o or CONSTRUCT returns.",
            rich_help_panel=SOURCE,
        ),
    ] = None
    context: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Triples taken as true (repeatable).", rich_help_panel=SOURCE),
    ] = None
    context_unknown: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Triples that may be true but are not evaluated (repeatable).",
            rich_help_panel=SOURCE,
        ),
    ] = None
    ontology: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="RDFS or OWL ontology (repeatable).", rich_help_panel=RULES),
    ] = None
    rules: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            help=f"Rules: {_RULE_FILES} files, or folders (repeatable).",
            rich_help_panel=RULES,
        ),
    ] = None
    mine: Annotated[
        bool | None,
        typer.Option(
            "--mine/--no-mine", help="Mine rules from the beliefs themselves.", rich_help_panel=RULES
        ),
    ] = None
    follow_imports: Annotated[
        bool,
        typer.Option(
            "--follow-imports/--no-follow-imports",
            help="Fetch what the ontology's owl:imports name.",
            rich_help_panel=RULES,
        ),
    ] = False
    max_groundings: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Refuse rules with more groundings than this.", rich_help_panel=RULES
        ),
    ] = 50_000_000
    memory_limit: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Keep to so much memory, such as 2GB, and put the rest on disk.",
            rich_help_panel=COMPUTING,
        ),
    ] = None
    label_property: Annotated[
        list[str] | None,
        typer.Option(
            metavar="IRI",
            help="Property with names for people, best first (repeatable).",
            rich_help_panel=NAMES,
        ),
    ] = None
    prefix: Prefix = None
    lang: Annotated[
        str, typer.Option(metavar="TAG", help="Language of names for people.", rich_help_panel=NAMES)
    ] = "en"
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="EXT",
            help="Format of the files: ttl, nt, nq, trig, ...",
            rich_help_panel=SOURCE,
        ),
    ] = None
    timeout: Annotated[
        float,
        typer.Option(
            min=1,
            metavar="SECONDS",
            help="Give up on a silent endpoint after this time.",
            rich_help_panel=SOURCE,
        ),
    ] = 60

    @property
    def given(self) -> bool:
        """Return whether there is anything to read."""
        return bool(self.files or self.endpoint)

    def sources(self, *, seed: int = 0) -> "Sources":
        """Return what to read; the seed is for a sample in place."""
        from rdf_kgeval.beliefs.prefixes import parse_prefixes
        from rdf_kgeval.sources.endpoint.client import Endpoint, RetryPolicy
        from rdf_kgeval.sources.files import check_files
        from rdf_kgeval.sources.load import InPlace, Sources
        from rdf_kgeval.sources.scope import Scope, named

        if not self.given:
            raise typer.BadParameter("give a FILE, - for standard input, or --endpoint URL")
        if self.in_place and not self.endpoint:
            raise typer.BadParameter("--in-place draws from an endpoint; give --endpoint URL")
        check_files(*(self.files or ()), *(self.context or ()), *(self.context_unknown or ()))
        retry = RetryPolicy(timeout=self.timeout, rate=self.rate)
        return Sources(
            files=self.files or [],
            endpoint=Endpoint(self.endpoint, retry=retry) if self.endpoint else None,
            in_place=InPlace(seed=seed, hops=self.hops, parallel=self.parallel) if self.in_place else None,
            context=self.context or [],
            context_unknown=self.context_unknown or [],
            scope=Scope.of(predicates=self.predicate or [], graph=self.graph, scope=self.scope),
            format=self.format_,
            label_properties=[named(p) for p in self.label_property or LABEL_PROPERTIES],
            lang=self.lang,
            prefixes=parse_prefixes(self.prefix or ()),
        )

    @property
    def memory(self) -> int | None:
        """Return the limit of memory in bytes."""
        from rdf_kgeval.common.memory import parse_size

        return None if self.memory_limit is None else parse_size(self.memory_limit)

    @property
    def says_no_rules(self) -> bool:
        """Return whether the user gave no option about rules, not even --no-mine."""
        return not self.ontology and not self.rules and self.mine is None

    def chosen(self) -> dict[str, Any]:
        """Return what was given, by long names, for a configuration file that repeats it."""
        given = ((field, getattr(self, field.name)) for field in fields(self))
        return {
            long_name(field.name): _plain(value)
            for field, value in given
            if value not in (None, field.default)
        }

    def prepare(
        self,
        folder: Path,
        engine: "Engine",
        method: Chosen | None = None,
        *,
        discover: bool = False,
    ) -> "Run":
        """Read the sources into a new run directory, and print notes about them."""
        from rdf_kgeval.pipeline import prepare

        options = self.chosen()
        discover = discover and not self.in_place
        sources = self.sources(seed=(method or {}).get("seed", 0))
        coupling = self.coupling(engine, discover=discover)
        if sources.endpoint is not None:
            options["endpoint"] = sources.endpoint.name
        try:
            made = prepare(
                folder,
                sources,
                coupling,
                lang=self.lang,
                memory_limit=self.memory,
                settings=Settings().changed(**method) if method else None,
                options=options,
                show=progress_bar,
            )
        except KeyboardInterrupt:
            complain("kgeval: stopped; the same command goes on from what was fetched")
            raise typer.Exit(130) from None
        say_loaded(made.config.accounts, made.config.notes)
        return made

    def coupling(self, engine: "Engine", *, discover: bool = False) -> "Coupling":
        """Return how to couple beliefs: by the rules given or, with `discover`, by rules to be found."""
        from rdf_kgeval.runs.create import Coupling

        mining = None
        if self.mine:
            from rdf_kgeval.rules.mining.options import MiningOptions

            mining = MiningOptions()
        return Coupling(
            ontologies=self.ontology or [],
            rules=self.rules or [],
            follow_imports=self.follow_imports,
            max_groundings=self.max_groundings,
            mine=mining,
            discover=discover and self.says_no_rules,
            engine=engine,
        )


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """Say on what to compute."""

    engine: Annotated[
        str,
        typer.Option(
            metavar="local|spark",
            help="What grounds the rules and solves the model.",
            rich_help_panel=COMPUTING,
        ),
    ] = "local"
    master: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Spark's master; by default all cores of this machine, local[*].",
            rich_help_panel=COMPUTING,
        ),
    ] = None

    def chosen(self) -> "Engine":
        """Return the engine."""
        from rdf_kgeval.engines.engine import engine_of

        return engine_of(self.engine, self.master)


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Say where to write the result, besides the terminal."""

    publish: Annotated[
        Path | None,
        typer.Option(
            metavar="F.trig",
            help=f"Write the record here: {RECORD_ENDINGS}.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    write_back: Annotated[
        str | None,
        typer.Option(
            metavar="GRAPH-IRI",
            help="Write the record to this graph of the endpoint.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    update_endpoint: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Where the endpoint takes updates, if elsewhere.", rich_help_panel=OUTPUT
        ),
    ] = None
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="F.html",
            help="Write the report here: .html, .md, .xml (JUnit) or .csv.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    annotations: Annotated[str, _annotations(OUTPUT)] = "known"


def _plain(value: Any) -> Any:
    """Convert a value to one that JSON and TOML have."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return printable(str(value)) if isinstance(value, (str, Path)) else value


def takes(*kinds: type[Any], only: Sequence[str] = (), fresh: bool = False) -> Callable[[_Command], _Command]:
    """Give a command the options of dataclasses; its last arguments are these dataclasses.

    For `Settings`, the argument is what the user chose.

    Args:
        kinds: the dataclasses.
        only: the fields of `Settings` to take, if not all.
        fresh: whether they have their defaults, for a command without a run.
    """

    def decorate(command: _Command) -> _Command:
        all_ = list(inspect.signature(command, eval_str=True).parameters.values())
        own, last = all_[: -len(kinds)], all_[-len(kinds) :]
        shared = [
            _settings_parameters(only, fresh=fresh) if kind is Settings else _parameters(kind)
            for kind in kinds
        ]

        def filled(**given: Any) -> None:
            for parameter, kind, options in zip(last, kinds, shared, strict=True):
                values = {option.name: given.pop(option.name) for option in options}
                if kind is Settings:
                    given[parameter.name] = {k: v for k, v in values.items() if fresh or v is not None}
                else:
                    given[parameter.name] = kind(**values)
            command(**given)

        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
        parameters += [option for options in shared for option in options]
        return _signed(filled, command, parameters)

    return decorate


def hushed(command: _Command) -> _Command:
    """Give a command the option --quiet."""

    def filled(**given: Any) -> None:
        hush(given.pop("quiet"))
        command(**given)

    info = typer.Option("--quiet", "-q", help="Print no notes and no progress.", rich_help_panel=GENERAL)
    parameters = inspect.signature(command, eval_str=True).parameters.values()
    return _signed(filled, command, [*parameters, _parameter("quiet", Annotated[bool, info], False)])


def _signed(filled: _Command, command: _Command, parameters: Sequence[inspect.Parameter]) -> _Command:
    """Make a function look to Typer like a command with other parameters."""
    filled.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    filled.__annotations__ = {p.name: p.annotation for p in parameters}
    filled.__name__, filled.__doc__ = command.__name__, command.__doc__
    return filled


def _parameters(kind: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    return [_parameter(field.name, hints[field.name], field.default) for field in fields(kind)]


def _settings_parameters(only: Sequence[str], *, fresh: bool) -> list[inspect.Parameter]:
    hints = get_type_hints(Settings)
    made = []
    for field in fields(Settings):
        option: Option | None = field.metadata.get("option")
        if option is not None and (not only or field.name in only):
            kind = str if option.parsed else hints[field.name]
            info = typer.Option(
                metavar=option.metavar,
                help=option.help,
                parser=share if option.share else None,
                show_default=_shown(field.default),
                rich_help_panel=PEOPLE if option.people else METHOD,
            )
            annotation = Annotated[kind | None, info]  # type: ignore[valid-type]
            made.append(_parameter(field.name, annotation, field.default if fresh else None))
    return made


def _shown(default: Any) -> str | bool:
    """Write the default of a setting; where it is as the run has it, Typer does not know it."""
    if default is None or isinstance(default, bool):
        return False
    return f"{default:g}" if isinstance(default, float) else str(default)


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)

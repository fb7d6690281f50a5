"""Learn rules from a graph: `mine`."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from rdf_kgeval.cli.help import OUTPUT, RULES, SOURCE
from rdf_kgeval.cli.options import Prefix
from rdf_kgeval.cli.terminal import progress_bar, say, say_loaded
from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.rules.mining.options import MiningOptions

_USUAL = MiningOptions()


def mine(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="RDF files, or a run directory; - is standard input.",
            rich_help_panel=SOURCE,
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="The folder to make, or a .ttl file.",
            rich_help_panel=OUTPUT,
        ),
    ] = Path("rules"),
    endpoint: Annotated[
        str | None, typer.Option(metavar="URL", help="SPARQL endpoint to pull from.", rich_help_panel=SOURCE)
    ] = None,
    graph: Annotated[
        str | None,
        typer.Option(metavar="IRI", help="Only this named graph: an IRI or a CURIE.", rich_help_panel=SOURCE),
    ] = None,
    context: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Triples taken as true (repeatable).", rich_help_panel=SOURCE),
    ] = None,
    context_unknown: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Triples that may be true but are not evaluated (repeatable).",
            rich_help_panel=SOURCE,
        ),
    ] = None,
    ontology: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Ontology whose rules need not be found again (repeatable).",
            rich_help_panel=RULES,
        ),
    ] = None,
    prefix: Prefix = None,
    max_length: Annotated[
        int, typer.Option(min=0, max=3, help="Longest path.", rich_help_panel=RULES)
    ] = _USUAL.max_length,
    min_support: Annotated[
        int, typer.Option(min=1, metavar="N", help="Least support.", rich_help_panel=RULES)
    ] = _USUAL.min_support,
    min_head_coverage: Annotated[
        float, typer.Option(min=0, max=1, help="Least head coverage.", rich_help_panel=RULES)
    ] = _USUAL.min_head_coverage,
    min_confidence: Annotated[
        float, typer.Option(min=0, max=1, metavar="C", help="Least PCA confidence.", rich_help_panel=RULES)
    ] = _USUAL.min_confidence,
    constants: Annotated[
        bool, typer.Option(help="Look for rules with constants.", rich_help_panel=RULES)
    ] = _USUAL.constants,
    types: Annotated[
        bool, typer.Option(help="Look for type signatures.", rich_help_panel=RULES)
    ] = _USUAL.types,
    max_per_head: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Most rules for a predicate.", rich_help_panel=RULES),
    ] = _USUAL.max_per_head,
    max_walks: Annotated[
        float,
        typer.Option(
            min=1,
            metavar="N",
            help="Leave out the costliest paths past so many walks.",
            rich_help_panel=RULES,
        ),
    ] = _USUAL.max_walks,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="rq|shacl",
            help="Write a folder of templates or a file of SHACL rules; by default as -o says.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="EXT",
            help="Format of the files: ttl, nt, nq, trig, ...",
            rich_help_panel=SOURCE,
        ),
    ] = None,
    input_format: Annotated[
        str | None, typer.Option(metavar="EXT", hidden=True, help="The same as --format.")
    ] = None,
) -> None:
    """Learn rules from a graph and write them as files to review, edit and use with --rules.

    Examples:
      kgeval mine kg.ttl -o rules

      kgeval mine --endpoint http://localhost:7878/query -o rules.ttl
    """
    from rdf_kgeval.beliefs.prefixes import parse_prefixes
    from rdf_kgeval.rules.mining.mine import mine as mine_rules
    from rdf_kgeval.rules.ontology import read_ontology
    from rdf_kgeval.rules.write import WRITERS, check_absent
    from rdf_kgeval.runs.run import open_run
    from rdf_kgeval.sources.endpoint.client import Endpoint
    from rdf_kgeval.sources.files import check_files
    from rdf_kgeval.sources.load import Sources, load
    from rdf_kgeval.sources.scope import Scope

    if not files and not endpoint:
        raise typer.BadParameter("give a FILE, a run directory, - for standard input, or --endpoint URL")
    if format_ in WRITERS:  # what --format once was
        to, format_ = to or format_, None
    to = to or ("shacl" if output.suffix.lower() == ".ttl" else "rq")
    if to not in WRITERS:
        raise typer.BadParameter(f"give {' or '.join(f'--to {name}' for name in WRITERS)}")
    options = MiningOptions(
        max_length=max_length,
        constants=constants,
        types=types,
        min_support=min_support,
        min_head_coverage=min_head_coverage,
        min_confidence=min_confidence,
        max_per_head=max_per_head,
        max_walks=max_walks,
    )
    check_absent(output)
    check_files(*(files or ()), *(context or ()), *(context_unknown or ()))
    known = read_ontology(*ontology) if ontology else []
    with progress_bar() as progress, tempfile.TemporaryDirectory(prefix="kgeval-") as pages:
        if files and len(files) == 1 and files[0].is_dir():
            beliefs = open_run(files[0]).beliefs
        else:
            sources = Sources(
                files=files or [],
                endpoint=Endpoint(endpoint) if endpoint else None,
                context=context or [],
                context_unknown=context_unknown or [],
                scope=Scope.of(predicates=[], graph=graph, scope=None),
                format=format_ or input_format,
                prefixes=parse_prefixes(prefix or ()),
            )
            loaded = load(sources, Path(pages) / "pages", progress)
            beliefs = loaded.beliefs
            say_loaded(beliefs.accounts, loaded.notes)
        mined = mine_rules(beliefs, options, known=known, progress=progress)
    if not mined:
        raise InputError(
            f"no rule has a support of {min_support}, a head coverage of {min_head_coverage:g} and a "
            f"confidence of {min_confidence:g} in this graph of {plural(len(beliefs), 'triple')}; lower "
            "--min-support, --min-head-coverage or --min-confidence"
        )
    WRITERS[to](mined, output)
    say(f"{plural(len(mined), 'rule')}: {printable(str(output))}")

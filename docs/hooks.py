"""What mkdocs needs beyond Markdown: reference pages made from the program, and formulas as MathML."""

import os
import re
from dataclasses import fields
from html import unescape
from pathlib import Path

import rdflib
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from rdflib.namespace import DCTERMS, OWL, RDF, RDFS
from typer.main import get_command
from typer.testing import CliRunner

import rdf_kgeval
from rdf_kgeval.cli import app

ROOT = Path(__file__).parents[1]
NOTE = re.compile(r"^```(\w+) (?:file=(\S+)|\S+)$", re.MULTILINE)
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
SECTIONS = (
    ("Classes", (OWL.Class,), {"subclass of": RDFS.subClassOf}),
    (
        "Properties",
        (OWL.ObjectProperty, OWL.DatatypeProperty),
        {"of": RDFS.domain, "value": RDFS.range},
    ),
    ("Individuals", (OWL.NamedIndividual,), {"a": RDF.type}),
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the reference pages."""
    for name, make in (("cli", cli), ("api", api), ("vocabulary", vocabulary)):
        files.append(File.generated(config, f"reference/{name}.md", content=make()))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Take off the notes by which tests know what to do with a block; a file's name becomes its title."""
    return NOTE.sub(lambda m: f"```{m[1]}" + (f' title="{m[2]}"' if m[2] else ""), markdown)


def on_page_content(html: str, **_: object) -> str:
    """Formulas as MathML, which browsers draw without a script."""

    def draw(match: re.Match[str]) -> str:
        return convert(unescape(match[2]), display="block" if match[1] == "div" else "inline")

    return FORMULA.sub(draw, html)


def cli() -> str:
    """Every command, as `--help` describes it."""
    os.environ["COLUMNS"] = "86"
    parts = ["# Commands", "What `kgeval --help` and `--help` of each command print."]
    for name in ("", *get_command(app).commands):  # type: ignore[attr-defined]
        help_ = CliRunner().invoke(app, [*name.split(), "--help"], prog_name="kgeval").stdout
        text = "\n".join(line.rstrip() for line in help_.strip().splitlines())
        parts += [f"## kgeval {name}", f"```text\n{text}\n```"]
    return "\n\n".join(parts)


def api() -> str:
    """Every public name, from its docstring."""
    parts = ["# Python", "All of these are names of the package: `import rdf_kgeval as kgeval`."]
    for name in sorted(rdf_kgeval.__all__, key=lambda name: (name[0].isupper(), name)):
        value = getattr(rdf_kgeval, name)
        parts.append(f"::: {value.__module__}.{name}")
        if name == "Settings":
            rows = (
                f"| `{f.name}` | `{f.default}` | {f.metadata['option'].help} |"
                for f in fields(value)
                if f.metadata
            )
            parts.append("\n".join(("| option | default | |", "| --- | --- | --- |", *rows)))
    return "\n\n".join(parts)


def vocabulary() -> str:
    """Every term of `ontologies/kgeval.ttl`."""
    graph = rdflib.Graph().parse(ROOT / "ontologies" / "kgeval.ttl")

    def names(term: rdflib.term.Node, *properties: rdflib.URIRef) -> str:
        found = {value for p in properties for value in graph.objects(term, p)} - {OWL.NamedIndividual}
        return ", ".join(sorted(f"`{graph.qname(value)}`" for value in found))

    parts = [
        "# Vocabulary",
        str(graph.value(rdflib.URIRef("https://w3id.org/rdf-kgeval"), DCTERMS.description)),
        "The prefix `kge:` is `https://w3id.org/rdf-kgeval#`. The vocabulary is `ontologies/kgeval.ttl`; "
        "`ontologies/kgeval-shapes.ttl` are SHACL shapes for what `kgeval publish` writes.",
    ]
    for title, kinds, columns in SECTIONS:
        rows = [["term", "what it says", *columns], ["---"] * (2 + len(columns))]
        for term in sorted({term for kind in kinds for term in graph.subjects(RDF.type, kind)}):
            meaning = str(graph.value(term, RDFS.comment))
            rows.append([f"`{graph.qname(term)}`", meaning, *(names(term, p) for p in columns.values())])
        parts += [f"## {title}", "\n".join(f"| {' | '.join(cells)} |" for cells in rows)]
    return "\n\n".join(parts)

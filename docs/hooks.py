"""What mkdocs needs beyond Markdown: pages and tables made from the program, and formulas as MathML."""

import ast
import os
import re
import tomllib
from dataclasses import fields
from html import unescape
from importlib import import_module
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
NOTE = re.compile(r"^```(\w+) (?:(?:file|patch)=(\S+)|(?!title=)\S+)$", re.MULTILINE)
INCLUDED = re.compile(r"^```(\w+) from=([^\s:]+):(\S+)\n.*?^```$", re.MULTILINE | re.DOTALL)
LINES = re.compile(r"<!-- lines of (\S+) -->")
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
DOORS = {
    "Methods (`--policy`, `--estimator`): people are asked about ...": "evaluation.methods:METHODS",
    "Rules (`--rules`), by the suffix of a file": "rules.dialects:DIALECTS",
    "Sources": "sources.load:SOURCES",
    "Oracles (`--oracle`); another name is a file with labels": "verdicts.oracles:ORACLES",
    "Drawers (`--in-place`), by what the store can do": "sources.draws.sampler:DRAWERS",
    "Several answers on a belief (`--votes`)": "verdicts.aggregation:AGGREGATORS",
    "Formats of the report, by the file's ending": "publishing.outputs:OUTPUTS",
}
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
    for name, make in (("cli", cli), ("choices", choices), ("api", api), ("vocabulary", vocabulary)):
        files.append(File.generated(config, f"reference/{name}.md", content=make()))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Fill in what is made from the source; take off the notes by which tests know what a block is for."""
    files = LINES.findall(markdown)
    markdown = markdown.replace("<!-- rooms -->", rooms())
    markdown = markdown.replace("<!-- lines in all -->", f"{sum(map(lines_of, files)):,}")
    markdown = LINES.sub(lambda m: f"{lines_of(m[1]):,}", markdown)
    markdown = INCLUDED.sub(
        lambda m: f'```{m[1]} title="{m[2]}"\n{part_of(ROOT / m[2], m[3])}\n```', markdown
    )
    return NOTE.sub(lambda m: f"```{m[1]}" + (f' title="{m[2]}"' if m[2] else ""), markdown)


def on_page_content(html: str, **_: object) -> str:
    """Formulas as MathML, which browsers draw without a script."""

    def draw(match: re.Match[str]) -> str:
        return convert(unescape(match[2]), display="block" if match[1] == "div" else "inline")

    return FORMULA.sub(draw, html)


def lines_of(file: str) -> int:
    """Count the lines of a file of the repository."""
    return len((ROOT / file).read_text().splitlines())


def part_of(file: Path, name: str) -> str:
    """Return a definition of a module with its docstring, or the tables of a TOML file below a name."""
    text = file.read_text()
    if file.suffix == ".toml":
        tables = re.split(r"\n(?=\[)", text)
        return "\n".join(table for table in tables if table.lstrip("[").startswith(name)).rstrip()
    body = ast.parse(text).body
    for at, node in enumerate(body):
        targets = node.targets if isinstance(node, ast.Assign) else [node]
        if name in (getattr(target, "name", getattr(target, "id", None)) for target in targets):
            first = min([node, *getattr(node, "decorator_list", [])], key=lambda part: part.lineno).lineno
            documented = at + 1 < len(body) and isinstance(node, ast.Assign) and _is_text(body[at + 1])
            last = (body[at + 1] if documented else node).end_lineno
            return "\n".join(text.splitlines()[first - 1 : last])
    raise LookupError(f"{file} defines no {name}")


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def rooms() -> str:
    """List the rooms from the highest layer of the import contract to the lowest, by their docstrings."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    rows = ["| room | what it is for |", "| --- | --- |"]
    for name in " | ".join(layers).split(" | "):
        folder = ROOT / "rdf_kgeval" / name
        if folder.is_dir():
            text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
            rows.append(f"| `{name}/` | {' '.join(text.split(chr(10) * 2)[0].split())} |")
    return "\n".join(rows)


def cli() -> str:
    """Every command, as `--help` describes it."""
    os.environ["COLUMNS"] = "86"
    parts = ["# Commands", "What `kgeval --help` and `--help` of each command print."]
    for name in ("", *get_command(app).commands):  # type: ignore[attr-defined]
        help_ = CliRunner().invoke(app, [*name.split(), "--help"], prog_name="kgeval").stdout
        text = "\n".join(line.rstrip() for line in help_.strip().splitlines())
        parts += [f"## kgeval {name}", f"```text\n{text}\n```"]
    return "\n\n".join(parts)


def choices() -> str:
    """Every member of every registry, by its sentence."""
    parts = ["# Choices", "What can be chosen by name, and what each name stands for."]
    for title, where in DOORS.items():
        module, _, name = where.partition(":")
        registry = getattr(import_module(f"rdf_kgeval.{module}"), name)
        rows = [f"| `{entry.name}` | {entry.sentence} |" for entry in registry.values()]
        parts += [f"## {title}", "\n".join(["| name | what it is |", "| --- | --- |", *rows])]
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

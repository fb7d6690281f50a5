"""HTML templates: whatever is put into one is escaped."""

from pathlib import Path
from typing import Any

import jinja2

from rdf_kgeval.common.text import plural, printable
from rdf_kgeval.publishing.report.content import percent

_HERE = Path(__file__).parent


def environment(folder: Path) -> jinja2.Environment:
    """Set up the templates of a folder."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.policies["json.dumps_kwargs"] = {"sort_keys": False}  # a JSON-LD context goes first
    return made


def render(template: str, **values: Any) -> str:
    """Fill in a template of this folder; the same values give the same bytes."""
    templates = environment(_HERE)
    filters = {"percent": percent, "plural": plural, "printable": printable, "thousands": _thousands}
    templates.filters.update(filters)
    return templates.get_template(template).render(values)


def _thousands(value: int) -> str:
    return f"{value:,}"

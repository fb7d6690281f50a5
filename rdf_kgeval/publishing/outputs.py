"""The formats of a report. A new one is a module with a function, and a line here."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from rdf_kgeval.common.registry import Entry, Registry

if TYPE_CHECKING:
    from rdf_kgeval.publishing.report.content import Report

Output = Callable[["Report"], str]
"""Writes a report; the same report gives the same text, and no text of a graph becomes markup."""

OUTPUTS = Registry(
    "output format",
    Entry("html", "publishing.report.page:page", "a page"),
    Entry("markdown", "publishing.report.markdown:markdown", "text"),
    Entry("junit", "publishing.report.junit:junit", "XML for CI"),
)

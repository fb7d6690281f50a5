"""Checks what the pages for engineers say of the package: files, counts, figures, versions."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.whole.test_readme import figures

ROOT = Path(__file__).parents[2]
DEVELOP = ROOT / "docs" / "develop"
ARCHITECTURE = (DEVELOP / "architecture.md").read_text()
PAGES = [*sorted(DEVELOP.rglob("*.md")), ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
CITED = re.compile(r"`benchmarks/(\w+\.md)`")
PATH = re.compile(r"`((?:\w+/)*\w+(?:\.py|/))`")


def changes() -> list[list[str]]:
    """The rows of the table of changes."""
    table = ARCHITECTURE.split("## Twelve changes")[1]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if re.match(r"\| \d", line)]
    assert len(rows) == 12
    return rows


@pytest.mark.parametrize("row", changes(), ids=lambda row: row[1])
def test_a_change_touches_as_many_files_as_the_page_names(row: list[str]) -> None:
    *_, now, files = row
    assert len(PATH.findall(files)) + files.count("a new file") == int(now)


def test_files_that_the_pages_name_are_there() -> None:
    for page in PAGES:
        text = re.sub(r"```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for name in PATH.findall(text):
            assert any((folder / name).exists() for folder in (ROOT, ROOT / "rdf_kgeval")), (
                f"{page.name}: {name}"
            )


def test_the_core_is_a_dozen_modules() -> None:
    names = re.findall(r"^\| `(\S+)` \| <!-- lines of rdf_kgeval/(\S+) -->", ARCHITECTURE, re.MULTILINE)
    assert len(names) == 12
    assert all(shown == counted for shown, counted in names)


def test_contributing_names_every_room() -> None:
    (listed,) = re.findall(r"```text\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    rooms = {path.parent.name for path in (ROOT / "rdf_kgeval").glob("*/__init__.py")}
    assert set(re.findall(r"(\w+)/", listed)) == rooms
    assert len(rooms) == 15


def decided() -> list[tuple[str, str]]:
    """What decisions say with figures, and the benchmark that it cites."""
    texts = [page.read_text() for page in sorted((DEVELOP / "decisions").glob("*.md"))]
    assert len(texts) == 5
    units = [unit for text in texts for unit in re.split(r"\n(?=- )|\n\n", text)]
    return [(unit, found[0]) for unit in units if (found := CITED.findall(unit))]


@pytest.mark.parametrize(("unit", "file"), decided())
def test_each_figure_of_a_decision_is_in_one_line_of_the_file_that_it_cites(unit: str, file: str) -> None:
    wanted = figures(re.sub(r"`[^`]*`", "", unit))
    assert wanted
    lines = (ROOT / "benchmarks" / file).read_text().splitlines()
    best = min((wanted - figures(line) for line in lines), key=len)
    assert not best, f"{sorted(best)} are not beside the others in a line of {file}:\n{unit}"


def test_the_citation_is_of_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (cited["version"], cited["license"]) == (project["version"], project["license"])
    assert cited["keywords"] == project["keywords"]

"""Runs the README and the pages of docs/: files are written, commands and Python run, outputs are compared."""

import re
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from tests.conftest import Server, free_port
from tests.support.blocks import Block, Reader, blocks, pattern

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
EXTENDING = ROOT / "docs" / "develop" / "extending.md"
"""Changes the package, so `test_extending.py` runs it in a copy."""
PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted({*(ROOT / "docs").rglob("*.md")} - {EXTENDING})]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_page_runs(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    text = page.read_text()
    addresses = {"localhost:7878": f"127.0.0.1:{free_port()}"}
    if "--engine spark" in text:
        request.getfixturevalue("java")
    if "localhost:8890" in text:
        virtuoso: Server = request.getfixturevalue("virtuoso")
        addresses["localhost:8890"] = urlsplit(virtuoso.query).netloc
    reader = Reader(tmp_path, addresses)
    reader.follow(blocks(text))


def test_what_is_not_run_is_make_alone() -> None:
    skipped = [block.body for page in PAGES for block in blocks(page.read_text()) if block.note == "skip"]
    assert [body for body in skipped if not all(line.startswith("make ") for line in body.splitlines())] == []


def test_an_output_block_tells_what_comes_out() -> None:
    assert pattern("a ... c\n...\nd").fullmatch("a b c\nx\ny\nd\n")
    for other in ("a b c\nd\ne\n", "b c\nd\n", "a c\nd\n", "a b c d\n"):
        assert not pattern("a ... c\n...\nd").fullmatch(other)


def test_a_page_that_errs_is_noticed(tmp_path: Path) -> None:
    for number, (page, complaint) in enumerate(
        [
            ("```sh\nfalse\n```", "false"),
            ("```sh\necho a\n```\n```text output\nb\n```", "is not"),
            ("```sh skpi\necho a\n```", "unknown note"),
            ("```text output\nb\n```", "nothing ran"),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises(AssertionError, match=complaint):
            Reader(folder, {}).follow(blocks(page))


def test_the_workflow_runs(tmp_path: Path) -> None:
    page = blocks((ROOT / "docs" / "howto" / "ci.md").read_text())
    (workflow,) = [block.body for block in page if block.language == "yaml"]
    steps = yaml.safe_load(workflow)["jobs"]["accuracy"]["steps"]
    commands = [step["run"] for step in steps if step.get("run", "").startswith("kgeval")]
    assert len(commands) == 1
    files = [block for block in page if block.note.startswith("file=")]
    Reader(tmp_path, {}).follow([*files, Block("sh", "", commands[0])])
    assert (tmp_path / "accuracy.html").exists()


@pytest.mark.stress
def test_it_installs(tmp_path: Path) -> None:
    """What pages say of installing, in a copy of the tree and a fresh environment."""
    commands = {block.body for page in PAGES for block in blocks(page.read_text()) if block.note == "install"}
    assert commands
    tree = tmp_path / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "build"))
    for command in commands:
        script = f"{command}\ncd / && which kgeval && kgeval demo"
        done = subprocess.run(["bash", "-ec", script], cwd=tree, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert f"\n{tree}/env/bin/kgeval\n" in done.stdout
        assert "accuracy 75.0%" in done.stdout


def test_the_readme_links_to_what_is_there() -> None:
    links = re.findall(r"\]\(([^)#]+)", README.read_text())
    assert len(links) > 10
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []


def test_the_site_builds(tmp_path: Path) -> None:
    command = [Path(sys.executable).with_name("mkdocs"), "build", "--strict", "--site-dir", tmp_path / "site"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = {path.relative_to(tmp_path / "site"): path.read_text() for path in tmp_path.rglob("*.html")}
    assert all('<script src="http' not in page and "googleapis" not in page for page in pages.values())
    assert [str(path) for path, page in pages.items() if "```" in page] == []  # no fence was misread
    assert "<math" in pages[Path("method.html")]
    assert "arithmatex" not in pages[Path("method.html")]
    architecture, extending = (
        pages[Path("develop", f"{name}.html")] for name in ("architecture", "extending")
    )
    for room in (ROOT / "rdf_kgeval").glob("*/__init__.py"):
        assert f"<code>{room.parent.name}/</code></td>" in architecture
    core = (ROOT / "rdf_kgeval" / "pipeline.py").read_text().count("\n")
    assert f'<code>pipeline.py</code></td>\n<td style="text-align: right;">{core}</td>' in architecture
    assert "acyclic_siblings" in architecture
    assert (
        len(re.findall("""<span class="nc">(?:Design|Source|Oracle|Drawer|Votes)</span>""", extending)) == 5
    )
    assert "<!-- " not in re.sub("<head>.*</head>", "", architecture, flags=re.DOTALL)


FIGURE = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
CITED = re.compile(r"\]\(benchmarks/(\w+\.md)\)")


def figures(text: str) -> set[Decimal]:
    return {Decimal(found.replace(",", "")) for found in FIGURE.findall(text)}


def cited() -> list[tuple[str, str]]:
    """Table rows, list items and sentences of the README that cite a benchmark, with its name."""
    text = README.read_text().split("## Figures")[0]
    text = re.sub(r"```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    units: list[str] = []
    for part in re.split(r"\n(?=[|-] )|\n\n", text):
        units += [part] if part.startswith(("| ", "- ")) else re.split(r"(?<=[.:;])\s", part)
    return [(unit, found[0]) for unit in units if (found := CITED.findall(unit))]


def test_there_are_figures_to_check() -> None:
    assert sum(bool(figures(CITED.sub("", unit))) for unit, _ in cited()) >= 12


@pytest.mark.parametrize(("unit", "file"), cited())
def test_each_figure_is_in_the_file_that_it_cites(unit: str, file: str) -> None:
    """All figures of a unit are in one line of the file; a percentage may be a share there."""
    wanted = figures(CITED.sub("", re.sub(r"`[^`]*`", "", unit)))
    methods = re.findall(r"`(\w+/[\w-]+)`", unit)
    lines = (ROOT / "benchmarks" / file).read_text().splitlines()
    rows = [figures(line) for line in lines if all(f" {method} " in line for method in methods)]
    best = min((wanted - row - {100 * figure for figure in row} for row in rows), key=len)
    assert not best, f"{sorted(best)} are not beside the others in a line of {file}:\n{unit}"

"""Runs the README and the pages of docs/: files are written, commands and Python run, outputs are compared."""

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.blocks import Reader, blocks
from tests.conftest import Server, free_port

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_page_runs(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    text = page.read_text()
    addresses = {"localhost:7878": f"127.0.0.1:{free_port()}"}
    if "localhost:8890" in text:
        virtuoso: Server = request.getfixturevalue("virtuoso")
        addresses["localhost:8890"] = urlsplit(virtuoso.query).netloc
    reader = Reader(tmp_path, addresses)
    reader.follow(blocks(text))


def test_what_is_not_run_cannot_run() -> None:
    skipped = [block.body for page in PAGES for block in blocks(page.read_text()) if block.note == "skip"]
    assert all(re.match("(make|git|mkdocs) ", body) for body in skipped), skipped


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
    assert "<math" in pages[Path("method.html")]
    assert "arithmatex" not in pages[Path("method.html")]

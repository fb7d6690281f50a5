"""The report in a real browser: it fits a phone and a desk, runs no script and fetches nothing."""

import html
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rdf_kgeval.pipeline import Evaluation
from rdf_kgeval.publishing.report.content import gather
from rdf_kgeval.publishing.report.page import page
from tests.support.records import hostile, motivating

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is absent: apt-get install chromium")

MEASURE = """
<iframe id="page" style="border:0;width:{width}px;height:900px" srcdoc="{page}"></iframe>
<script>
document.getElementById("page").onload = (event) => {{
  const shown = event.target.contentDocument;
  const wide = [...shown.querySelectorAll("section, .row, .gauge, svg, h1, code, dd, p, li")]
    .filter((element) => element.getBoundingClientRect().right > {width} + 1).length;
  document.title = [shown.documentElement.scrollWidth, wide, shown.querySelectorAll("section").length].join(" ");
}};
</script>
"""


def measure(text: str, width: int, folder: Path) -> tuple[int, int, int]:
    """How wide the page wants to be, how many elements stick out, and how many sections there are."""
    (folder / "frame.html").write_text(MEASURE.format(width=width, page=html.escape(text)))
    done = subprocess.run(
        [
            str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}",
            "--window-size=1400,1000", "--virtual-time-budget=5000", "--dump-dom", f"file://{folder / 'frame.html'}",
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )  # fmt: skip
    found = re.search(r"<title>(\d+) (\d+) (\d+)</title>", done.stdout)
    assert found, done.stderr[-500:]
    scroll, wide, sections = map(int, found.groups())
    return scroll, wide, sections


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("name", ["motivating", "hostile"])
def test_the_page_fits(name: str, width: int, tmp_path: Path) -> None:
    evaluation: Evaluation = motivating(policy="stratified") if name == "motivating" else hostile(tmp_path)
    scroll, wide, sections = measure(page(gather(evaluation)), width, tmp_path)
    assert scroll <= width
    assert wide == 0
    assert sections >= 9

"""Draws the pictures of the README and of docs/ from real runs on the tutorial's graph.

`python docs/pictures.py` needs the `test` extra and Chromium. The terminal shows what the commands print, the
pages are what the browser shows.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "figures"
SESSION = (
    "kgeval mine league.nt -o rules --no-constants",
    "kgeval evaluate league.nt --rules rules --oracle gold.csv --run run --report report.html",
    "kgeval labels run --wrong | cut -d, -f2-4 | head -3",
    "kgeval explain run $(kgeval labels run | grep inferred | cut -d, -f1 | head -1)",
)
LINK = re.compile(r"ada: (http://\S+)")


def main() -> None:
    """Draw all."""
    FIGURES.mkdir(exist_ok=True)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path, "COLUMNS": "100", "FORCE_COLOR": "1"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tutorial = (ROOT / "docs" / "tutorial.md").read_text()
        (program,) = re.findall(r"```python file=league.py\n(.*?)```", tutorial, re.DOTALL)
        (folder / "league.py").write_text(program)
        subprocess.run([sys.executable, "league.py"], cwd=folder, check=True)
        draw_session(folder, environ)
        draw_pages(folder, environ)


def draw_session(folder: Path, environ: dict[str, str]) -> None:
    """The terminal, as SVG without fonts from elsewhere."""
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=104, file=nowhere, force_terminal=True)
        for command in SESSION:
            console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
            shell = ["bash", "-c", f"{command} 2>&1"]
            printed = subprocess.run(
                shell, cwd=folder, env=environ, capture_output=True, text=True, check=True
            )
            console.print(Text.from_ansi(printed.stdout))
        svg = console.export_svg(title="rdf_kgeval", unique_id="kgeval")
    (FIGURES / "terminal.svg").write_text(re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL))


def draw_pages(folder: Path, environ: dict[str, str]) -> None:
    """The report and the page with one belief, as a browser shows them."""
    command = ["kgeval", "serve", "planned", "--annotator", "ada", "--port", "0"]
    make = ["kgeval", "init", "planned", "league.nt"]
    subprocess.run(make, cwd=folder, env=environ, check=True, capture_output=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1000, "height": 1080})
        page.goto(f"file://{folder / 'report.html'}")
        page.screenshot(path=FIGURES / "report.png")
        served = subprocess.Popen(command, cwd=folder, env=environ, stderr=subprocess.PIPE, text=True)
        try:
            assert served.stderr
            said = ""
            while "Ctrl-C" not in said:
                said += served.stderr.readline()
            page.set_viewport_size({"width": 800, "height": 620})
            page.goto(LINK.findall(said)[0])
            page.screenshot(path=FIGURES / "judge.png")
        finally:
            served.kill()
            served.communicate()
        browser.close()


if __name__ == "__main__":
    main()

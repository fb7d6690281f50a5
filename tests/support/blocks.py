"""Runs the blocks of a Markdown page, in order, in one folder, as a reader would.

A word after the language says what a block is:

- `file=NAME` is written to that file;
- `patch=NAME` is a change to that file: lines with `+` are added between the others, which it must have once;
- `from=NAME:PART` is filled in from that file when the site is built;
- `output` is what the block before it prints; `...` stands for anything, on a line of its own for any lines;
- `serve` is a server that runs until the end of the page;
- `people` is a kgeval that shows pages to annotators: here they answer by the folder's `gold.csv`, or by that
  of the motivating example where there is none;
- `types=LETTERS` is answered at the terminal, one letter to a line;
- `install` is run by itself, in a fresh virtual environment (`make stress`);
- `skip` is not run.

Whatever else is `sh` or `python` is run and must end with exit code 0. What `sh` exports lasts to the end of the page.
"""

import asyncio
import hashlib
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from rdf_kgeval.verdicts.gold import read_gold
from tests.support.annotators import Client, form_of

BLOCK = re.compile(r"^```(\w+) ?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"^(?!dashboard)\S+: (http://\S+/in/\S+)$", re.MULTILINE)
COMPILING = re.compile(r"^compiling .*\n", re.MULTILINE)
COLUMNS = 100
EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Block:
    language: str
    note: str
    body: str


def blocks(text: str) -> list[Block]:
    """All blocks of a page."""
    return [Block(*found) for found in BLOCK.findall(text)]


class Reader:
    """Somebody who follows a page.

    Args:
        folder: where to work.
        addresses: what stands in for the addresses that the page names, such as {"localhost:7878": ...}.
        environ: variables to set.
    """

    def __init__(self, folder: Path, addresses: Mapping[str, str], **environ: str) -> None:
        self.ran = 0
        self._folder = folder
        self._addresses = addresses
        self._output: str | None = None
        self._servers: list[subprocess.Popen[str]] = []
        home = folder / ".home"
        home.mkdir()
        (folder / "examples").symlink_to(EXAMPLES)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environ = {**os.environ, "PATH": path, "COLUMNS": str(COLUMNS), "HOME": str(home), **environ}

    def follow(self, page: list[Block]) -> None:
        """Do what the page says; fails where something else happens."""
        try:
            for block in page:
                self._follow(block)
        finally:
            for server in self._servers:
                os.killpg(server.pid, signal.SIGKILL)
                server.communicate()

    def _follow(self, block: Block) -> None:
        note, _, value = block.note.partition("=")
        if note == "file":
            path = self._folder / value
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.body)
        elif note == "patch":
            patch(self._folder / value, block.body)
        elif note == "output":
            assert self._output is not None, f"nothing ran before\n{block.body}"
            assert pattern(block.body).fullmatch(self._output), f"{self._output}\nis not\n{block.body}"
        elif block.language in ("sh", "python") and note not in ("skip", "install", "from"):
            assert note in ("", "serve", "people", "types"), f"unknown note {block.note}"
            self.ran += 1
            if note == "serve":
                self._serve(block.body)
            elif note == "people":
                self._output = self._tidy(self._judge(block.body))
            else:
                answers = "".join(f"{letter}\n" for letter in value)
                self._output = self._tidy(self._run(block, answers))

    def _run(self, block: Block, answers: str) -> str:
        process = self._start(block)
        output, _ = process.communicate(answers, timeout=600)
        assert process.returncode == 0, f"{block.body}\n{output}"
        return output

    def _start(self, block: Block) -> "subprocess.Popen[str]":
        body = block.body
        for address, stand_in in self._addresses.items():
            body = body.replace(address, stand_in)
        kept = shlex.quote(str(self._folder / ".home" / "exported"))
        shell = f"[ ! -e {kept} ] || . {kept}\n{body}\nexport -p > {kept}"
        command = ["bash", "-ec", shell] if block.language == "sh" else [sys.executable, "-c", body]
        return subprocess.Popen(
            command,
            cwd=self._folder,
            env=self._environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def _serve(self, body: str) -> None:
        self._servers.append(self._start(Block("sh", "", f"exec {body}")))
        (stand_in,) = (self._addresses[a] for a in self._addresses if a in body)
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://{stand_in}/query?query=ASK%7B%7D", timeout=5).close()
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise RuntimeError(f"no answer at {stand_in}")

    def _judge(self, body: str) -> str:
        """Start the command and answer everything on its pages; `kgeval serve` is then stopped by Ctrl-C."""
        if "kgeval serve" in body:
            body = f"{body.rstrip()} --port 0\n"
        process = self._start(Block("sh", "", f"exec {body}"))
        said = ""
        assert process.stdout
        for line in process.stdout:
            said += line
            if line.startswith("Ctrl-C"):
                break
        links = LINK.findall(said)
        asyncio.run(self._answer(links))
        if "kgeval serve" in body:
            os.killpg(process.pid, signal.SIGINT)
        rest, _ = process.communicate(timeout=120)
        assert process.returncode == 0, f"{body}\n{said}{rest}"
        return said + rest

    async def _answer(self, links: list[str]) -> None:
        own = self._folder / "gold.csv"
        gold = read_gold(own if own.exists() else EXAMPLES / "motivating" / "gold.csv")
        label = {hashlib.sha256(f"{' '.join(t)} .".encode()).hexdigest(): true for t, true in gold.items()}
        async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
            for link in links:
                tasks.create_task(_answer(link, label))

    def _tidy(self, output: str) -> str:
        for address, stand_in in self._addresses.items():
            output = output.replace(stand_in, address)
        lines = (line.rstrip() for line in COMPILING.sub("", output).splitlines())
        return "\n".join(lines).strip("\n") + "\n"


def patch(file: Path, change: str) -> None:
    """Apply a change as `diff` shows it; only additions are known."""
    lines = change.splitlines()
    before = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
    after = "".join(f"{line[1:]}\n" for line in lines)
    text = file.read_text()
    assert text.count(before) == 1, f"{file} does not have once\n{before}"
    file.write_text(text.replace(before, after))


async def _answer(link: str, label: Mapping[str, bool]) -> None:
    client = Client(urlsplit(link).port or 0, link)
    try:
        page = await client.enter()
        while 'data-state="over"' not in page:
            form = form_of(page)
            if "belief" in form:
                answer = "true" if label[form["belief"]] else "false"
                page = await client.post({**form, "answer": answer})
            else:
                await asyncio.sleep(0.1)
                page = await client.get("/")
    except ConnectionError:
        pass  # the evaluation has come to its end
    finally:
        client.close()


def pattern(shown: str) -> re.Pattern[str]:
    """What an output block allows."""
    lines = (line.rstrip() for line in shown.strip("\n").splitlines())
    return re.compile(
        "".join(
            "(?:.*\n)*" if line == "..." else ".*".join(map(re.escape, line.split("..."))) + "\n"
            for line in lines
        )
    )

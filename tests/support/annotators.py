"""Simulated annotators: they load the page, think, answer, and now and then click twice, skip or undo."""

import asyncio
import random
import re
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

FIELD = re.compile(r'name="(key|turn|belief)" value="([^"]*)"')


@dataclass
class Served:
    """A `kgeval serve` at work."""

    process: subprocess.Popen[str]
    links: dict[str, str]
    said: str = ""
    """What it said until the pages could be opened."""

    @property
    def port(self) -> int:
        return urllib.parse.urlsplit(self.links["dashboard"]).port or 0

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def stop(self) -> str:
        """Ctrl-C; what it said at the end."""
        self.process.send_signal(2)
        return self.process.communicate(timeout=60)[0]


def start(run: Path, *options: str, port: int = 0) -> Served:
    """Serve a run; returns when the pages can be opened."""
    return launch("serve", str(run), "--port", str(port), *options)


def launch(*arguments: str) -> Served:
    """A kgeval that serves pages; returns when they can be opened."""
    command = [Path(sys.executable).with_name("kgeval"), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    links, said = {}, []
    assert process.stderr
    for line in process.stderr:
        said.append(line)
        if match := re.match(r"(\S+): (http://\S+/in/\S+)", line):
            links[match[1]] = match[2]
        if line.startswith("Ctrl-C"):
            return Served(process, links, "".join(said))
    raise RuntimeError("".join(said))


@dataclass
class Seen:
    """What annotators met."""

    told: list[tuple[str, str, str]] = field(default_factory=list)
    """Annotator, belief and answer, for every answer that was acknowledged."""
    undone: list[tuple[str, str]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """From each answer to the next belief."""
    waits: int = 0
    """How often there was nothing to judge."""
    errors: int = 0


class Client:
    """A browser of one annotator, as little of it as is needed."""

    def __init__(self, port: int, link: str) -> None:
        self._port = port
        self._token = link.rpartition("/")[2]
        self._cookie = ""
        self._stream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, path: str) -> str:
        return await self._send(f"GET {path} HTTP/1.1\r\n", b"")

    async def post(self, form: dict[str, str]) -> str:
        body = urllib.parse.urlencode(form).encode()
        head = f"POST /answer HTTP/1.1\r\nX-Kgeval: 1\r\nContent-Length: {len(body)}\r\n"
        return await self._send(head, body)

    async def enter(self) -> str:
        await self.get(f"/in/{self._token}")
        return await self.get("/")

    async def _send(self, head: str, body: bytes) -> str:
        if self._stream is None:
            self._stream = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._stream
        host = f"Host: 127.0.0.1:{self._port}\r\n"
        writer.write((head + host + f"Cookie: {self._cookie}\r\n\r\n").encode() + body)
        try:
            answer = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = re.search(r"content-length: (\d+)", answer, re.IGNORECASE)
            content = await reader.readexactly(int(length[1]) if length else 0)
        except (OSError, asyncio.IncompleteReadError):
            self.close()
            raise ConnectionError from None
        if cookie := re.search(r"set-cookie: ([^;]+)", answer, re.IGNORECASE):
            self._cookie = cookie[1]
        if int(answer.split(" ", 2)[1]) >= 400:
            raise RuntimeError(answer)
        return content.decode()

    def close(self) -> None:
        if self._stream:
            self._stream[1].close()
            self._stream = None


def form_of(page: str) -> dict[str, str]:
    return dict(FIELD.findall(page))


async def annotate(
    name: str, link: str, port: int, seconds: float, think: float, seen: Seen, seed: int, busy: bool = True
) -> None:
    """One annotator; a server that dies is met again when it is back."""
    rng = random.Random(seed)
    end = time.monotonic() + seconds
    client, page = Client(port, link), None
    previous: dict[str, str] | None = None
    while time.monotonic() < end:
        try:
            if page is None:
                page = await client.enter()
            form = form_of(page)
            if "belief" not in form:
                seen.waits += 1
                await asyncio.sleep(0.2)
                page = await client.get("/")
                continue
            await asyncio.sleep(rng.uniform(0, 2 * think))
            kind = rng.random() if busy else 1.0
            if kind < 0.01 and int(form["turn"]):
                before = int(form["turn"])
                page = await client.post({**form, "answer": "undo"})
                if int(form_of(page)["turn"]) > before:
                    seen.undone.append((name, form_of(page)["belief"]))
                continue
            if kind < 0.02:
                page = await client.post({**form, "answer": "skip"})
                continue
            if kind < 0.05 and previous:
                await client.post(previous)  # an old form, sent again
            answer = "false" if rng.random() < 0.1 else "true"
            previous = {**form, "answer": answer}
            begin = time.monotonic()
            page = await client.post(previous)
            seen.seconds.append(time.monotonic() - begin)
            if int(form_of(page)["turn"]) == int(form["turn"]) + 1:
                seen.told.append((name, form["belief"], answer))
        except (ConnectionError, OSError):
            client.close()
            page = previous = None
            await asyncio.sleep(0.2)
        except RuntimeError:
            seen.errors += 1
            page = None
            await asyncio.sleep(0.2)
    client.close()


async def crowd(
    served: Served, names: Sequence[str], seconds: float, think: float, busy: bool = True
) -> Seen:
    """All annotators at once."""
    seen = Seen()
    async with asyncio.TaskGroup() as tasks:
        for seed, name in enumerate(names):
            tasks.create_task(
                annotate(name, served.links[name], served.port, seconds, think, seen, seed, busy)
            )
    return seen

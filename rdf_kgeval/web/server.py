"""Serve the pages until the evaluation stops."""

import asyncio
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import uvicorn

from rdf_kgeval.common.disk import read_plain
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.pipeline import Evaluation, evaluation_of
from rdf_kgeval.runs.run import Run
from rdf_kgeval.web.access import OWNER, Access, open_access
from rdf_kgeval.web.desk import Desk
from rdf_kgeval.web.overview import Overview
from rdf_kgeval.web.pages import Site
from rdf_kgeval.web.people import Person

GRACE = 3.0
"""Seconds between the end of the evaluation and that of the server, so that people see that it is over."""
LONGEST_GUIDELINES = 100_000


@dataclass(frozen=True, kw_only=True)
class Serving:
    """Who is served, and where."""

    annotators: Sequence[str]
    experts: Sequence[str] = ()
    host: str = "127.0.0.1"
    port: int = 8000
    until_stopped: bool = False
    """End when there is no more to ask."""


class Pages:
    """A `Consult`: serves pages on which people judge the beliefs of a run.

    Args:
        serving: who is served, and where; after a further draw the port stays the same.
        on_links: called with the links once the pages can be opened; the owner's has the empty name.
    """

    def __init__(self, serving: Serving, on_links: Callable[[Evaluation, Mapping[str, str]], None]) -> None:
        self._serving = serving
        self._on_links = on_links

    def __call__(self, evaluation: Evaluation) -> bool:
        """Serve until the evaluation stops or more must be drawn (true), or Ctrl-C (false)."""
        run, serving = evaluation.run, self._serving
        if run is None:
            raise InputError("pages need a run directory, which keeps the links; make one first")
        people = [Person(name) for name in serving.annotators]
        people += [Person(name, expert=True) for name in serving.experts]
        access = open_access(run.folder, [person.name for person in people])
        with _listen(serving.host, serving.port) as listener:
            self._serving = replace(serving, port=listener.getsockname()[1])
            links = _links(access, listener)
            evaluation.position(evaluation.belief(0))  # makes the table of ids before the first answer
            try:
                asyncio.run(self._serve(evaluation, run, people, access, listener, links))
            except KeyboardInterrupt:
                return False
        return True

    async def _serve(
        self,
        evaluation: Evaluation,
        run: Run,
        people: Sequence[Person],
        access: Access,
        listener: socket.socket,
        links: Mapping[str, str],
    ) -> None:
        """Run the desk and, once there is something to show, the server; the first to end ends the other."""
        desk = Desk(evaluation, people)
        overview = Overview(lambda: evaluation_of(run))
        site = Site(
            access=access,
            desk=desk,
            overview=overview,
            title=printable(run.folder.resolve().name, 60),
            guidelines=read_guidelines(run.layout.guidelines),
        )
        working = asyncio.create_task(desk.run())
        try:
            await asyncio.wait([working, asyncio.ensure_future(desk.ready())], return_when="FIRST_COMPLETED")
            if not working.done():
                self._on_links(evaluation, links)
                await self._serve_site(site, listener, working)
        finally:
            overview.close()
            working.cancel()
            await asyncio.wait([working])
            if not working.cancelled() and (error := working.exception()):
                raise error.exceptions[0] if isinstance(error, ExceptionGroup) else error

    async def _serve_site(self, site: Site, listener: socket.socket, working: "asyncio.Task[None]") -> None:
        """Answer requests until the server is stopped, or the desk fails."""
        config = uvicorn.Config(
            site.app(),
            log_level="error",
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=5,
            limit_concurrency=2000,
        )
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        watching = asyncio.create_task(_watch(site.desk, server, self._serving.until_stopped))
        await asyncio.wait([working, serving], return_when="FIRST_COMPLETED")
        server.should_exit = True
        await serving
        watching.cancel()


async def _watch(desk: Desk, server: uvicorn.Server, until_stopped: bool) -> None:
    """Stop the server when more must be drawn or, if wanted, some time after the evaluation stopped."""
    while True:
        await asyncio.sleep(0.1)
        if desk.status.starved:
            server.should_exit = True
        elif until_stopped and desk.status.stopped:
            await asyncio.sleep(GRACE)
            server.should_exit = bool(desk.status.stopped)


def _listen(host: str, port: int) -> socket.socket:
    """Bind a port; port 0 is any free one."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise InputError(
            f"cannot listen on {printable(host, 100)} port {port}: {error.strerror}; choose another --port"
        ) from error


def _links(access: Access, listener: socket.socket) -> dict[str, str]:
    """Make everybody's personal link, by name."""
    host, port = listener.getsockname()[:2]
    base = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    return {name: f"{base}/in/{access.token(name)}" for name in (*access.names, OWNER)}


def read_guidelines(path: Path) -> str:
    """Read the owner's guidelines for annotators; empty where there are none.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        text = read_plain(path).decode() if os.path.lexists(path) else ""
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{printable(str(path))} cannot be read as UTF-8 text; correct it") from error
    if len(text) > LONGEST_GUIDELINES:
        raise InputError(f"{printable(str(path))} is too long for people to read; shorten it")
    return text

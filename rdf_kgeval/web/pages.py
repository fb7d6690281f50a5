"""Serve the pages: routes, who may see what, and protection against other sites."""

import re
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jinja2
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rdf_kgeval.errors import InputError, RunError
from rdf_kgeval.publishing.report.templates import environment
from rdf_kgeval.verdicts.log import LONGEST_NOTE, LONGEST_SOURCE, Answer, Judgement
from rdf_kgeval.verdicts.oracles import Wish
from rdf_kgeval.web.access import OWNER, Access
from rdf_kgeval.web.desk import Desk
from rdf_kgeval.web.overview import Overview

LARGEST = 65_536
"""Bytes of the largest form that is read."""
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
WORDS = {
    401: "Open the personal link that you were given: it is your key to this page.",
    403: "This page is not for you, or the form did not come from your own page. Open your link again.",
    404: "There is nothing here.",
    405: "That is not how this page is used.",
    413: "That is more than this page takes.",
    503: "Your answer could not be saved. Tell the owner of this evaluation, then try again.",
}
_HERE = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Site:
    """The pages, and what they show."""

    access: Access
    desk: Desk
    overview: Overview
    title: str
    guidelines: str

    def app(self) -> Starlette:
        """Make the web application."""
        routes = [
            Route("/", self.judge),
            Route("/in/{token}", self.enter),
            Route("/answer", self.answer, methods=["POST"]),
            Route("/dashboard", self.dashboard),
            Mount("/static", StaticFiles(directory=_HERE / "static")),
        ]
        handlers: Mapping[Any, Callable[..., Any]] = {HTTPException: self.trouble, 500: self.trouble}
        app = Starlette(routes=routes, exception_handlers=handlers, middleware=[Middleware(_Guarded)])
        app.router.redirect_slashes = False  # it fails over a query that is not UTF-8
        return app

    async def enter(self, request: Request) -> Response:
        """Let a person in: the token moves from the address into a cookie."""
        token = request.path_params["token"]
        name = self.access.name_of(token)
        if name is None:
            raise HTTPException(401)
        response = RedirectResponse("/dashboard" if name == OWNER else "/", 303)
        response.set_cookie(self._cookie, token, httponly=True, samesite="lax", max_age=90 * 24 * 3600)
        return response

    async def judge(self, request: Request) -> Response:
        """Show the belief that waits for an annotator."""
        name = self._name(request)
        return RedirectResponse("/dashboard", 303) if name == OWNER else await self._belief_for(name)

    async def answer(self, request: Request) -> Response:
        """Take an answer, a skip or an undo, and show the next belief."""
        name = self._name(request)
        form = await read_form(request)
        own = name != OWNER and self.access.owns_form(name, form.get("key", ""))
        if not own or from_elsewhere(request):
            raise HTTPException(403)
        belief, said, turn = form.get("belief", ""), form.get("answer", ""), form.get("turn", "")
        if not re.fullmatch("[0-9]{1,9}", turn) or said not in (*Answer, Wish.SKIP, Wish.UNDO):
            raise HTTPException(400)
        try:
            if said == Wish.UNDO:
                await self.desk.undo(name, int(turn))
            elif said == Wish.SKIP:
                self.desk.skip(name, belief, int(turn))
            else:
                given = Judgement(answer=Answer(said), note=form.get("note"), source=form.get("source"))
                await self.desk.answer(name, belief, int(turn), given)
        except InputError as error:
            return await self._belief_for(name, 422, trouble=str(error), form=form)
        except RunError as error:
            raise HTTPException(503) from error
        # The page's own script takes the next belief at once; without it, reloading must not send again.
        return await self._belief_for(name) if "x-kgeval" in request.headers else RedirectResponse("/", 303)

    async def dashboard(self, request: Request) -> Response:
        """Show the state of the evaluation to its owner."""
        if self._name(request) != OWNER:
            raise HTTPException(403)
        values = await self.overview.values(self.desk)
        if request.query_params.get("seen") == values["seen"]:
            return Response(status_code=204)
        return self._page("dashboard.html", **values)

    async def trouble(self, _: Request, error: Exception) -> Response:
        """Say what went wrong."""
        code = error.status_code if isinstance(error, HTTPException) else 500
        words = WORDS.get(code, "Something went wrong here. What you answered before is kept.")
        return self._page("message.html", code, words=words)

    async def _belief_for(
        self, name: str, code: int = 200, trouble: str = "", form: Mapping[str, str] = MappingProxyType({})
    ) -> Response:
        """Show a belief; with trouble, also what the person had written."""
        card = await self.desk.show(name)
        return self._page(
            "judge.html",
            code,
            trouble=trouble,
            form=form,
            longest={"note": LONGEST_NOTE, "source": LONGEST_SOURCE},
            card=card,
            person=self.desk.people[name],
            key=self.access.form_key(name),
            status=self.desk.status,
            thinking=self.desk.thinking,
            answers=self.desk.answers,
            guidelines=self.guidelines,
        )

    def _name(self, request: Request) -> str:
        name = self.access.name_of(request.cookies.get(self._cookie, ""))
        if name is None:
            raise HTTPException(401)
        return name

    @cached_property
    def _cookie(self) -> str:
        # Browsers share cookies among the ports of a host; runs must not.
        return f"kgeval-{self.access.form_key(OWNER)[:8]}"

    def _page(self, template: str, code: int = 200, **values: Any) -> Response:
        text = self._templates.get_template(template).render(title=self.title, **values)
        return HTMLResponse(text, code, {"cache-control": "no-store"})

    @cached_property
    def _templates(self) -> jinja2.Environment:
        return environment(_HERE / "templates")


def from_elsewhere(request: Request) -> bool:
    """Return whether a browser says that another site sent this."""
    site = request.headers.get("sec-fetch-site", "same-origin")
    origin = request.headers.get("origin")
    host = request.headers.get("host", "")
    own = origin is None or urllib.parse.urlsplit(origin).netloc == host
    return site not in ("same-origin", "none") or not own


async def read_form(request: Request) -> dict[str, str]:
    """Read the fields of a form; a large one is refused."""
    length = request.headers.get("content-length", "0")
    if not length.isdigit() or int(length) > LARGEST:
        raise HTTPException(413)
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST:
            raise HTTPException(413)
    try:
        return dict(urllib.parse.parse_qsl(body.decode(), strict_parsing=True, max_num_fields=10))
    except ValueError as error:
        raise HTTPException(400) from error


class _Guarded:
    """Adds the headers that keep pages to themselves."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        await self._app(scope, receive, guarded)

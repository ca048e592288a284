"""The pages for people: ``routes`` of Starlette, and the page that says what went wrong."""

from __future__ import annotations

import html

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from ..problems import Problem
from ..state import Snapshot
from ..tables import tables
from ..work import answer

_PAGE = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'
    "<body><main><h1>{title}</h1>{body}</main></body></html>"
)


def _page(title: str, body: str) -> str:
    return _PAGE.format(title=html.escape(title), body=body)


async def start(request: Request) -> Response:
    """The datasets, each with its tables."""

    def ask(snapshot: Snapshot) -> str:
        names = "".join(f"<li>{html.escape(each.name)}</li>" for each in tables(snapshot))
        return f"<h2>{html.escape(snapshot.name)}</h2><ul>{names}</ul>"

    pieces = [await answer(request, each, ask) for each in request.app.state.served.values()]
    return HTMLResponse(_page("harvest", "".join(pieces)))


def problem(request: Request, problem: Problem) -> Response:
    """The page that says what went wrong."""
    said = [problem.where, problem.remedy, *problem.problems]
    body = "".join(f"<p>{html.escape(each)}</p>" for each in said if each)
    return HTMLResponse(_page(problem.message, body), problem.status)


routes = [Route("/", start)]

"""The ASGI application: its routes and its error handlers."""

from collections.abc import Mapping

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from harvest import HarvestError
from harvest.commands import remark
from harvest.toolkit.texts import printable_line

from . import api, pages
from .guard import Access, Guard
from .mcp.transport import Program
from .problems import Problem, problem_of
from .state import Served
from .work import Left, Turns


def application(served: Mapping[str, Served], access: Access) -> Guard:
    """Build the application for some datasets, behind its guard."""
    handlers = {
        HarvestError: _report_failure,
        HTTPException: _not_found,
        Left: _nobody_reads,
        Exception: _report_failure,
    }
    turns = Turns()
    app = Starlette(
        routes=[
            Mount("/static", StaticFiles(packages=[("harvest_serve", "static")])),
            Mount("/api", routes=api.routes),
            # POST only: a request has one answer, not a stream
            Route("/mcp", Program(served, turns), methods=["POST"]),
            *pages.routes,
        ],
        exception_handlers=handlers,  # type: ignore[arg-type]
    )
    app.state.served = dict(served)
    app.state.turns = turns
    app.state.downloads = Turns(at_once=2)
    return Guard(app, access)


def _answer(request: Request, problem: Problem) -> Response:
    if request.url.path.startswith(("/api", "/mcp")):
        return api.problem(request, problem)
    return pages.problem(request, problem)


async def _report_failure(request: Request, error: Exception) -> Response:
    problem = problem_of(error)
    if problem.status == 500:
        said = printable_line(f"{type(error).__name__}: {error}")
        remark(f"{request.method} {printable_line(request.url.path)}: {said}")
    return _answer(request, problem)


async def _not_found(request: Request, error: HTTPException) -> Response:
    message = "no such page" if error.status_code == 404 else str(error.detail)
    answer = _answer(request, Problem(message=message, status=error.status_code))
    answer.headers.update(error.headers or {})
    return answer


async def _nobody_reads(request: Request, error: Left) -> Response:
    return Response(status_code=499)

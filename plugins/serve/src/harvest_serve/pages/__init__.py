"""The pages for people: their ``routes``, and the error page.

Each kind of page has a module. It asks one snapshot, in one question, and passes the result to a
template, which escapes it. A page's address holds all of its state.
"""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..problems import NotFound
from . import history, meaning, query, report, start, table
from .render import problem_page as problem

__all__ = ["problem", "routes"]


async def _nothing(request: Request) -> Response:
    raise NotFound("no such page", where=request.url.path)


_OF = {
    "/": start.start,
    "/tables": meaning.table_list,
    "/table/{table}": table.table,
    "/meaning/{table}": meaning.meaning,
    "/reports": report.report_list,
    "/report/{report}": report.report,
    "/report/{report}/page": report.report_page,
    "/finding/{rule}/{number}": start.finding,
    "/sql": query.query,
    "/sql/file": query.query_file,
    "/runs": history.runs,
    "/runs/{run}": history.run,
    "/rejects": history.rejects,
    "/{rest:path}": _nothing,
}

routes = [
    Route("/", start.datasets),
    *(Route(f"/d/{{dataset}}{path}", function) for path, function in _OF.items()),
]

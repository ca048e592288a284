"""Responses for programs: JSON or Arrow; ``docs/how-to/serve.md`` shows each."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

import attrs
import orjson
import polars as pl
import pyarrow as pa
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from harvest import UsageError
from harvest.model.json import encode_frame

from . import downloads, reports, sql, tables
from .downloads import FORMS, Form, form_of, frame_of
from .problems import NotFound, Problem, Refused
from .questions import Question, number, question
from .state import Snapshot, find_served
from .work import Turns, answer

_ARROW: Final = FORMS["arrow"].media_type
ROWS: Final = 1_000
"""Rows of a response without a limit."""


def _json(value: Any, status: int = 200) -> Response:
    data = orjson.dumps(value, option=orjson.OPT_UTC_Z, default=_plain)
    return Response(data, status, media_type="application/json")


def _plain(value: Any) -> Any:
    if attrs.has(type(value)):
        return attrs.asdict(value, recurse=False)
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def problem(_: Request, problem: Problem) -> Response:
    """Respond with an error as JSON."""
    answered = _json(problem.to_dict(), problem.status)
    if problem.status == 503:
        answered.headers["retry-after"] = "1"
    return answered


Asking: TypeAlias = Callable[[Snapshot, Request], Mapping[str, Any]]
"""A function that returns the values of an answer or a page, for a snapshot and a request."""


async def _respond(request: Request, ask: Asking) -> Response:
    """Respond with the result of a question on the current snapshot, and its commit."""
    written = request.method == "POST" or bool(request.query_params.get("condition"))

    def of_state(snapshot: Snapshot) -> Mapping[str, Any]:
        return {"commit": snapshot.commit, **ask(snapshot, request)}

    return _json(await answer(request, find_served(request), of_state, written=written))


def _objects(frame: pa.Table | pl.DataFrame) -> list[orjson.Fragment]:
    """Return an object per row, encoded as by ``harvest view --json``."""
    rows = frame if isinstance(frame, pl.DataFrame) else frame_of(frame)
    return [orjson.Fragment(text) for text in encode_frame(rows)]


def _question(request: Request, *others: str) -> tuple[str, Question]:
    name: str = request.path_params["name"]
    return name, question(request.query_params.multi_items(), others)


async def datasets(request: Request) -> Response:
    """List the datasets that are served."""
    known = request.app.state.served.values()
    return _json({"datasets": [{"name": s.name, "location": str(s.location)} for s in known]})


def _table(snapshot: Snapshot, request: Request) -> Any:
    name, asked = _question(request)
    return _plain(tables.describe(snapshot, name, asked.settings))


async def rows(request: Request) -> Response:
    """Give rows of a table; with ``form``, all matching rows as a file."""
    name, asked = _question(request, "form")
    form, written = _form(request), asked.condition is not None
    if form is not None:
        open_ = partial(downloads.stream, table=name, form=form, asked=asked)
        return await download(request, open_, form, name, written=written)
    limited = asked if asked.limit is not None else attrs.evolve(asked, limit=ROWS)

    def ask(snapshot: Snapshot, _: Request) -> Mapping[str, Any]:
        found, total = tables.rows(snapshot, name, limited)
        about = {"table": name, "total": total, "offset": asked.offset}
        return {**about, "rows": _objects(found)}

    return await _respond(request, ask)


def _facets(snapshot: Snapshot, request: Request) -> dict[str, Any]:
    """Count the values of columns that have few of them."""
    name, asked = _question(request, "most")
    most = number(request.query_params.get("most"), "most")
    found = tables.facets(snapshot, name, asked, tables.FEW if most is None else most)
    return {"table": name, "facets": found}


async def query(request: Request) -> Response:
    """Run one SQL query: ``{"query": TEXT, "limit": N, "settings": {VIEW: {...}}}``."""
    given = await _body(request)
    text, limit = given.get("query"), given.get("limit", ROWS)
    settings = given.get("settings", {})
    known = isinstance(settings, dict) and all(isinstance(s, dict) for s in settings.values())
    known = known and given.keys() <= {"query", "limit", "settings"}
    if not known or not isinstance(text, str) or type(limit) is not int or limit < 0:
        raise UsageError(
            "this is not a question", remedy='send {"query": "select ...", "limit": 100} as JSON'
        )
    form = _form(request)
    if form is not None:
        open_ = partial(downloads.stream_sql, text=text, form=form, settings=settings)
        return await download(request, open_, form, "query", written=True)

    def ask(snapshot: Snapshot, _: Request) -> Mapping[str, Any]:
        found, cut = sql.ask(snapshot, text, limit=limit, settings=settings)
        return {"cut": cut, "rows": _objects(found)}

    return await _respond(request, ask)


async def _body(request: Request) -> dict[str, Any]:
    sent = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if sent != "application/json":
        # a form on another site cannot send this type
        raise Refused(
            f"the body is of the type {sent!r}" if sent else "the body has no type",
            status=415,
            remedy="send it with the header Content-Type: application/json",
        )
    try:
        given = orjson.loads(await request.body())
    except orjson.JSONDecodeError as error:
        raise UsageError(f"the body is not JSON: {error}", remedy="send JSON") from error
    if not isinstance(given, dict):
        raise UsageError("the body is not a JSON object", remedy='send {"query": "select ..."}')
    return given


def _findings(snapshot: Snapshot, _: Request) -> dict[str, Any]:
    """List findings, the worst first, each with its first rows of evidence."""
    verdict = reports.findings(snapshot)
    found = verdict.to_dict()
    for plain, each in zip(found["findings"], verdict.found, strict=True):
        plain["first"] = _objects(each.evidence.first)
    return {"summary": verdict.summary(), **found}


def _report(snapshot: Snapshot, request: Request) -> Any:
    name, asked = _question(request)
    return reports.report(snapshot, name, asked.settings).to_dict()


def _form(request: Request) -> Form | None:
    """Return the file format in which a program wants all rows; None for JSON."""
    name = request.query_params.get("form")
    if name is not None:
        return form_of(name)
    return FORMS["arrow"] if _ARROW in request.headers.get("accept", "") else None


async def download(
    request: Request,
    open_: Callable[[Snapshot], Iterator[bytes]],
    form: Form,
    name: str,
    *,
    written: bool = False,
) -> Response:
    """Send a file of rows while they are read; ``open_`` returns its bytes.

    written: whether the question contains a user's own SQL.
    The first bytes are read before anything is sent, so that an error has its own status. Raises
    Refused where too many other downloads run.
    """
    turns: Turns = request.app.state.downloads

    def begin(snapshot: Snapshot) -> tuple[Iterator[bytes], bytes]:
        pieces = open_(snapshot)
        try:
            return pieces, next(pieces, b"")
        except BaseException:
            pieces.close()  # type: ignore[attr-defined]
            raise

    try:
        await turns.take()
    except Refused:
        raise Refused(
            "too many downloads at the same time", status=503, remedy="try again in a minute"
        ) from None
    try:
        pieces, first = await answer(
            request, find_served(request), begin, time_s=downloads.TIME_S, written=written
        )
    except BaseException:
        turns.give_back()
        raise

    async def sent() -> AsyncIterator[bytes]:
        try:
            yield first
            while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
                if piece:
                    yield piece
        finally:
            turns.give_back()
            await asyncio.to_thread(pieces.close)  # type: ignore[attr-defined]

    named = {"content-disposition": f'attachment; filename="{name}{form.suffix}"'}
    headers = {} if form.name == "arrow" else named
    return StreamingResponse(sent(), headers=headers, media_type=form.media_type)


async def nothing(request: Request) -> Response:
    """Refuse an address that the API does not have."""
    raise NotFound("no such address", where=request.url.path, remedy="see /api/")


_OF: Final[Mapping[str, Asking]] = {
    "": lambda snapshot, _: snapshot.summary(),
    "/commit": lambda snapshot, _: {},  # its token, which changes with each commit
    "/tables": lambda snapshot, _: {"tables": tables.tables(snapshot)},
    "/tables/{name}": _table,
    "/tables/{name}/facets": _facets,
    "/findings": _findings,
    "/reports": lambda snapshot, _: {"reports": reports.reports(snapshot)},
    "/reports/{name}": _report,
}

routes = [
    Route("/", datasets),
    *(Route(f"/{{dataset}}{path}", partial(_respond, ask=ask)) for path, ask in _OF.items()),
    Route("/{dataset}/tables/{name}/rows", rows),
    Route("/{dataset}/sql", query, methods=["POST"]),
    Route("/{rest:path}", nothing),
]

"""SQL: a query with its result, and the tables that it can read."""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from harvest import UsageError
from harvest.commands.tables import how_many
from harvest.errors import UnknownTypeError

from .. import sql, tables
from ..api import download
from ..downloads import form_of, frame_of, stream_sql
from ..engine.guarded import quote_name
from ..problems import Refused, problem_of
from ..state import Snapshot
from ..work import TIME_S
from .asked import OFFERED
from .render import page
from .shown import page_table

ROWS: Final = 500
"""Rows of a result on a page; a download has all."""


@page("sql.html.j2", section="sql")
def query(snapshot: Snapshot, request: Request) -> dict[str, Any]:
    """Show a query and its result."""
    text = request.query_params.get("query", "")
    found: dict[str, Any] = {
        "title": "SQL",
        "query": text,
        "limits": f"at most {TIME_S:.0f} s",
        "schema": _schema(snapshot, request.query_params.get("table", "")),
        "examples": _examples(snapshot),
        "problem": None,
        "shown": None,
    }
    if text.strip():
        try:
            rows, has_more = sql.ask(snapshot, text, limit=ROWS)
            shown = page_table(frame_of(rows), {})
            found |= {
                "shown": shown,
                "counted": f"the first {ROWS} rows" if has_more else how_many(rows.num_rows, "row"),
                "caption": "Times in UTC" if any(c.kind == "time" for c in shown.columns) else "",
                "files": [
                    (label, snapshot.to("sql", "file", query=text, form=form))
                    for label, form in OFFERED
                ],
            }
        except (UsageError, Refused) as error:
            found["problem"] = problem_of(error)
    return found


async def query_file(request: Request) -> Response:
    """Send the whole result of a query as a file."""
    text = request.query_params.get("query", "")
    form = form_of(request.query_params.get("form", ""))
    return await download(
        request, lambda snapshot: stream_sql(snapshot, text, form), form, "query", written=True
    )


def _schema(snapshot: Snapshot, about: str) -> dict[str, list[dict[str, Any]]]:
    """Return record types and views, with the columns of record types and of the view ``about``.

    The columns of other views are None, because they may take as long to compute as the view.
    """
    found: dict[str, list[dict[str, Any]]] = {"Record types": [], "Views": []}
    for each in tables.tables(snapshot):
        columns, problem = None, ""
        try:
            if each.kind == "record type" or each.name == about:
                columns = tables.describe(snapshot, each.name).columns
        except UnknownTypeError:
            continue  # no plugin declares its columns, so no query can read it
        except UsageError as error:
            problem = str(error)
        shown = {"name": each.name, "columns": columns, "problem": problem}
        kind = "Views" if each.kind == "view" else "Record types"
        found[kind].append({**shown, "open": each.name == about})
    return found


def _examples(snapshot: Snapshot) -> list[str]:
    """Return queries that this dataset can answer: rows, and the number of rows by value."""
    texts = ["show tables"]
    held = [each for each in tables.tables(snapshot) if each.rows]
    for each in sorted(held, key=lambda each: -(each.rows or 0))[:2]:
        if each.name not in snapshot.dataset.plugins.record_type_names():
            continue
        described = tables.describe(snapshot, each.name)
        texts.append(f"select * from {each.name} limit 20")
        by = next((c.name for c in described.columns if c.type == "text"), None)
        if by is not None:
            texts.append(
                f"select {quote_name(by)}, count(*) as rows from {each.name} group by all "
                "order by rows desc limit 20"
            )
    return texts

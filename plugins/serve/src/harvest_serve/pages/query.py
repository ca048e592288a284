"""SQL: a query with its result, and beside it the tables that it can read."""

from __future__ import annotations

from typing import Any, Final

import attrs
from starlette.requests import Request
from starlette.responses import Response

from harvest import UsageError
from harvest.commands.tables import how_many
from harvest.errors import UnknownTypeError

from .. import sql, tables
from ..api import download
from ..downloads import form_of, stream_sql
from ..engine.guarded import quote_name
from ..problems import Refused, problem_of
from ..state import Snapshot, find_served
from ..work import TIME_S, answer
from .render import Here, here_of, respond, snapshot_values
from .shown import page_table

ROWS: Final = 500
"""Rows of a result that a page shows; a download has all."""


@attrs.frozen(kw_only=True)
class Listed:
    """A table that a query can read.

    meaning: the address of its documentation; here: of this page with its columns.
    columns: None where it is a view that was not asked about: to know them may take as long as it;
    open: whether they are shown; problem: why they are not known.
    """

    name: str
    meaning: str
    here: str
    columns: tuple[tables.Described, ...] | None = None
    open: bool = False
    problem: str = ""


async def query(request: Request) -> Response:
    """A query and its result."""
    text, about = request.query_params.get("query", ""), request.query_params.get("table", "")

    def ask(snapshot: Snapshot) -> dict[str, Any]:
        here = here_of(snapshot)
        found: dict[str, Any] = {
            **snapshot_values(snapshot),
            "schema": _schema(snapshot, here, text, about),
            "examples": _examples(snapshot, here),
            "problem": None,
            "shown": None,
        }
        if text.strip():
            try:
                found |= _result(snapshot, here, text)
            except (UsageError, Refused) as error:
                found["problem"] = problem_of(error)
        return found

    values = await answer(request, find_served(request), ask, written=bool(text.strip()))
    return respond(
        "sql.html.j2",
        title="SQL",
        section="sql",
        query=text,
        limits=f"at most {TIME_S:.0f} s",
        **values,
    )


async def query_file(request: Request) -> Response:
    """The whole result of a query as a file."""
    text, form = (
        request.query_params.get("query", ""),
        form_of(request.query_params.get("form", "")),
    )
    return await download(
        request, lambda snapshot: stream_sql(snapshot, text, form), form, "query", written=True
    )


def _result(snapshot: Snapshot, here: Here, text: str) -> dict[str, Any]:
    result = sql.ask(snapshot, text, limit=ROWS)
    table, _ = page_table(result.table, {})
    counted = f"the first {ROWS} rows" if result.cut else how_many(result.table.num_rows, "row")
    return {
        "shown": table,
        "counted": counted,
        "caption": "Times in UTC" if any(c.kind == "time" for c in table.columns) else "",
        "files": [
            (label, here.to("sql", "file", query=text, form=form))
            for label, form in (("CSV", "csv"), ("Parquet", "parquet"), ("JSON Lines", "jsonl"))
        ],
    }


def _schema(
    snapshot: Snapshot, here: Here, text: str, about: str
) -> list[tuple[str, list[Listed]]]:
    """Record types and views, with the columns of each record type and of the view ``about``."""
    found: dict[str, list[Listed]] = {"record type": [], "view": []}
    for each in tables.tables(snapshot):
        listed = Listed(
            name=each.name,
            meaning=here.to("meaning", each.name),
            here=here.to("sql", query=text or None, table=each.name),
            open=each.name == about,
        )
        try:
            if each.kind == "record type" or listed.open:
                columns = tables.describe(snapshot, each.name).columns
                listed = attrs.evolve(listed, columns=columns)
        except UnknownTypeError:
            continue  # nothing declares its columns; a query cannot read it
        except UsageError as error:
            listed = attrs.evolve(listed, problem=str(error))
        found[each.kind].append(listed)
    return [("Record types", found["record type"]), ("Views", found["view"])]


def _examples(snapshot: Snapshot, here: Here) -> list[dict[str, str]]:
    """Queries that this dataset can answer: rows, and how many have each value."""
    texts = ["show tables"]
    held = [each for each in tables.tables(snapshot) if each.rows]
    largest = sorted(held, key=lambda each: -(each.rows or 0))[:2]
    for each in largest:
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
    return [{"text": text, "address": here.to("sql", query=text)} for text in texts]

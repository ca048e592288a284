"""Rows of a record type or a view: filtered, sorted, page by page; and a page of one row."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
import polars as pl
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from harvest import Column, UsageError
from harvest.commands.declared import settings_of
from harvest.commands.tables import how_many
from harvest_report.values import form_of, texts_of

from .. import tables
from ..downloads import frame_of
from ..problems import NotFound, Refused, problem_of
from ..questions import WORDS, Question
from ..settings import offered_settings
from ..state import Snapshot, find_served
from . import asked as address
from .asked import Asked, asked_of, complete
from .render import page
from .shown import page_table, without_empty

COLUMNS: Final = 12
"""Columns that are shown by default: the most important ones that have values."""

_TRIED: Final = 3 * COLUMNS
"""Columns that are read to find these, because some may have no value on a page."""

_NESTED: Final = ("list", "map", "structure", "bytes")
_LAST: Final = ("extra", "origin", "position")

FACETS: Final = 5
"""Columns whose values are counted by default."""

VALUES: Final = 5
"""Values that are listed of each such column."""

_MOST_COUNTED: Final = 10_000_000
"""Rows up to which values are counted by default."""

_UNITS: Final = ("bytes", "seconds", "duration")
_WHOLE: Final = 100_000


async def table(request: Request) -> Response:
    """Show a page of a table's rows, with the forms that select them; or a page of one row."""
    asked = asked_of(request)
    if asked.row:
        return await _row(request)
    more = complete(request, asked)
    if more is None:
        return await _table(request)
    name = request.path_params["table"]
    return RedirectResponse(find_served(request).rows(name, more.pairs()), 303)


@page("table.html.j2", section="tables")
def _table(snapshot: Snapshot, request: Request) -> dict[str, Any]:
    name, asked = request.path_params["table"], asked_of(request)
    plugins = snapshot.dataset.plugins
    tables.check_table(snapshot, name)
    view, kind = plugins.views.get(name), plugins.record_types([name]).get(name)
    roles = kind.roles if kind else {}
    found: dict[str, Any] = {
        "title": name,
        "asked": asked,
        "doc": view.doc if view else kind.doc.partition("\n\n")[0] if kind else "",
        "meaning": snapshot.to("meaning", name, **address.as_parameters(asked.settings)),
        "settings": settings_of(offered_settings(view)) if view else (),
        "problem": None,
        "columns": (),
        "operators": WORDS,
        "shown": None,
        "page_sizes": sorted({*address.PAGE_SIZES, asked.rows}),
        "countable": (),
        "facets": (),
    }
    try:
        described = tables.describe(snapshot, name, asked.settings)
        kept = {column for column, _ in asked.sort} | set(roles.values())
        kept |= {each.column for each in asked.where}
        wanted = _wanted(described, asked, kept)
        found |= {"columns": described.columns, "wanted": wanted}
        found |= _rows(snapshot, described, asked, wanted, kept)
        names = [head.name for head in found["shown"].columns]
        found |= _facets(snapshot, described, asked, found["total"], names, roles.get("subject"))
    except NotFound:
        raise
    except (UsageError, Refused) as error:
        found["problem"] = problem_of(error)
    return found


def _wanted(described: tables.Description, asked: Asked, kept: set[str]) -> Sequence[str]:
    """Return the columns to read: the chosen ones, or the most important ones.

    kept: columns that are always shown: those of filters and sorting, and those with a role in all
    record types, such as time and user.
    """
    if asked.columns:
        return asked.columns
    plain = [
        each.name
        for each in described.columns
        if each.type not in _NESTED and (described.kind == "view" or each.name not in _LAST)
    ]
    first = {*plain[:_TRIED], *kept}
    names = [each.name for each in described.columns if each.name in first]
    return names or [each.name for each in described.columns][:COLUMNS]


def _rows(
    snapshot: Snapshot,
    described: tables.Description,
    asked: Asked,
    wanted: Sequence[str],
    kept: set[str],
) -> dict[str, Any]:
    name = described.name
    page = attrs.evolve(asked, columns=tuple(wanted), limit=asked.rows)
    found, total = tables.rows(snapshot, name, page)
    rows, empty = frame_of(found), list[str]()
    if asked.columns is None:
        rows, empty = without_empty(rows)
        # the columns that are always shown, then the first of the others
        others = [column for column in rows.columns if column not in kept]
        chosen = kept.union(others[: max(2, COLUMNS - rows.width + len(others))])
        rows = rows.select(column for column in rows.columns if column in chosen)
    all_ = None
    if asked.where or asked.condition:
        _, all_ = tables.rows(snapshot, name, Question(settings=asked.settings, limit=0))
    order = ", ".join(
        f"{column}, {'largest' if down else 'smallest'} first" for column, down in asked.sort
    )
    return {
        "shown": page_table(rows, tables.declared_columns(snapshot, name), exactly=asked.exact),
        "empty": empty,
        "total": total,
        "counted": how_many(total, "row", all_),
        "caption": f"By {order}" if order else "In the order of the dataset",
        "files": address.downloads(snapshot, name, asked.of_rows().pairs()),
        "last": asked.offset + rows.height,
    }


def _facets(
    snapshot: Snapshot,
    described: tables.Description,
    asked: Asked,
    rows: int,
    shown: Sequence[str],
    subject: str | None,
) -> dict[str, Any]:
    """Count values of the chosen columns, or of some with few values; and offer other columns.

    subject: the column that identifies what a row is about, mostly different in each row.
    """
    name = described.name
    few = tables.facet_columns(snapshot, name, asked.settings)
    texts = [
        each.name
        for each in described.columns
        if each.type == "text" and each.format != "path" and each.name not in (*_LAST, subject)
    ]
    chosen = asked.facets
    if not chosen and rows <= _MOST_COUNTED:
        filtered = {each.column for each in asked.where}
        names = dict.fromkeys([*shown, *texts])
        first = [each for each in names if each in few and each in texts and each not in filtered]
        chosen = tuple(first[:FACETS])
    wanted = asked.of_rows(columns=chosen, sort=())  # the same on each page
    most = tables.FEW if asked.facets else VALUES
    found = tables.facets(snapshot, name, wanted, most) if chosen else []
    formats = {each.name: each.format for each in described.columns}
    return {
        "countable": dict.fromkeys([*few, *texts[:COLUMNS], *asked.facets]),
        "counting": attrs.evolve(asked, facets=chosen),
        "facets": [
            (facet, texts_of([v["value"] for v in facet["values"]], formats[facet["column"]]))
            for facet in found
        ],
    }


@page("row.html.j2", section="tables")
def _row(snapshot: Snapshot, request: Request) -> dict[str, Any]:
    """Show all columns of one row in a list, each with its meaning."""
    name, asked = request.path_params["table"], asked_of(request)
    described = tables.describe(snapshot, name, asked.settings)
    number = asked.row or 1
    one = attrs.evolve(asked, columns=None, offset=number - 1, limit=1)
    found, total = tables.rows(snapshot, name, one)
    if not found.num_rows:
        raise NotFound(f"{name} has no row {number:,}", remedy=f"it has {total:,}")
    known = tables.declared_columns(snapshot, name)
    rows = frame_of(found).select(list(described.types))
    as_people = page_table(rows, known, longest=_WHOLE)
    exactly = page_table(rows, known, exactly=True, longest=_WHOLE)
    values = [
        {
            "name": each.name,
            "unit": head.unit,
            "text": text,
            "exact": _exact(rows[each.name], known, text, whole),
            "doc": each.doc,
        }
        for each, head, text, whole in zip(
            described.columns, as_people.columns, as_people.rows[0], exactly.rows[0], strict=True
        )
    ]
    page = (number - 1) // asked.rows * asked.rows
    return {
        "title": f"Row {number:,} of {name}",
        "number": number,
        "values": values,
        "name": name,
        "total": total,
        "asked": asked,
        "back": snapshot.rows(name, asked.change(offset=page, row=None).pairs()),
    }


def _exact(
    values: pl.Series, known: Mapping[str, Column], text: str | None, whole: str | None
) -> str:
    """Return a value with all its digits and its unit, where these say more than its text."""
    is_measured = values.dtype.is_numeric() or values.dtype.is_temporal()
    if text is None or whole == text.replace(",", "") or not is_measured:
        return ""
    column = known.get(values.name) or Column(values.name)
    form, _ = form_of(column, values.dtype)
    return f"{whole} {column.unit}" if column.unit and form in _UNITS else f"{whole}"

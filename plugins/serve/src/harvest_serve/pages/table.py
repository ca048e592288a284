"""Rows of a record type or a view: filtered, sorted, page by page; and a page of one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from harvest import Column, UsageError
from harvest.commands.declared import settings_of
from harvest.commands.tables import how_many
from harvest.toolkit.amounts import share_in_words
from harvest_report.values import form_of, texts_of

from .. import facets, tables
from ..downloads import frame_of
from ..filters import OPERATORS, WORDS, kind_of
from ..problems import NotFound, Refused, problem_of
from ..questions import Question
from ..settings import offered_settings
from ..state import Place, Snapshot, find_served
from . import asked as address
from .asked import Asked, add_filter, asked_of, complete
from .render import page
from .shown import Head, Shown, meanings, page_table

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

SORT: Final = {"ascending": False, "descending": True}
DOWN_FIRST: Final = ("integer", "number", "time", "date")


async def table(request: Request) -> Response:
    """Show a page of a table's rows, with the forms that select them."""
    more = complete(request, asked_of(request))
    if more is None:
        return await _table(request)
    name = request.path_params["table"]
    return RedirectResponse(find_served(request).rows(name, more.pairs()), 303)


@page("table.html.j2", section="tables")
def _table(snapshot: Snapshot, request: Request) -> dict[str, Any]:
    name, asked = request.path_params["table"], asked_of(request)
    plugins = snapshot.dataset.plugins
    tables.check_table(snapshot, name)
    view = plugins.views.get(name)
    found: dict[str, Any] = {
        "title": name,
        "name": name,
        "asked": asked,
        "doc": view.doc if view else _doc(snapshot, name),
        "meaning": snapshot.to("meaning", name, **address.as_parameters(asked.settings)),
        "settings": settings_of(offered_settings(view)) if view else (),
        "problem": None,
        "columns": [],
        "shown": None,
        "chips": _chips(snapshot, name, asked),
        "without_filters": snapshot.rows(name, asked.change(where=(), condition=None).pairs()),
        "page_sizes": sorted({*address.PAGE_SIZES, asked.rows}),
        "example": "",
        "facets_of": [],
        "facets": [],
    }
    try:
        described = tables.describe(snapshot, name, asked.settings)
        kept = _kept(snapshot, name, asked)
        wanted = _wanted(described, asked, kept)
        found |= _columns(described, wanted)
        found |= _rows(snapshot, described, asked, wanted, kept)
        found |= _facets(
            snapshot,
            described,
            asked,
            found["total"],
            [head.name for head in found["shown"].columns],
        )
    except NotFound:
        raise
    except (UsageError, Refused) as error:
        found["problem"] = problem_of(error)
    return found


def _doc(snapshot: Snapshot, name: str) -> str:
    kind = snapshot.dataset.plugins.record_types([name]).get(name)
    return "" if kind is None else kind.doc.partition("\n\n")[0]


def _chips(here: Place, name: str, asked: Asked) -> list[dict[str, str]]:
    """Return the active filters, each with the address of the page without it."""
    where = asked.question.where
    chips = [
        {
            "text": address.filter_in_words(each),
            "without": here.rows(name, asked.change(where=where[:i] + where[i + 1 :]).pairs()),
        }
        for i, each in enumerate(where)
    ]
    if asked.condition:
        without = here.rows(name, asked.change(condition=None).pairs())
        chips.append({"text": asked.condition, "without": without})
    return chips


def _columns(described: tables.Description, wanted: Sequence[str]) -> dict[str, Any]:
    """Return what forms need to know of the columns, and an example of a condition."""
    kinds = {each.name: kind_of(each.type) for each in described.columns}
    number = next((c for c in described.columns if c.type in ("number", "integer")), None)
    return {
        "columns": [
            {
                "name": each.name,
                "kind": kinds[each.name],
                "on": each.name in wanted,
            }
            for each in described.columns
        ],
        "chosen": described.columns[0].name if described.columns else "",
        "operators": {
            kind: [(operator, WORDS[operator]) for operator in OPERATORS[kind]]
            for kind in dict.fromkeys(kinds.values())
        },
        "example": f"{number.name} > 1e6" if number else "",
    }


def _kept(snapshot: Snapshot, name: str, asked: Asked) -> set[str]:
    """Return columns that are always shown: those of filters and sorting, and those with a role in
    all record types, such as time and user.
    """
    question = asked.question
    kept = {each.column for each in question.where} | {column for column, _ in question.sort}
    kind = snapshot.dataset.plugins.record_types([name]).get(name)
    return kept | (set(kind.roles.values()) if kind else set())


def _wanted(described: tables.Description, asked: Asked, kept: set[str]) -> Sequence[str]:
    """Return the columns to read: the chosen ones, or the most important ones."""
    if asked.question.columns:
        return asked.question.columns
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
    question, name = asked.question, described.name
    page = attrs.evolve(question, columns=tuple(wanted), limit=asked.rows)
    rows, total = tables.rows(snapshot, name, page)
    known = meanings(snapshot, name)
    chosen = question.columns is not None
    table, empty = page_table(rows, known, exactly=asked.exact, drop_empty=not chosen)
    if not chosen:
        table = _first(table, kept)
    first, last = question.offset + 1, question.offset + rows.num_rows
    pairs = [pair for pair in asked.pairs() if pair[0] not in ("offset", "facet")]
    table = attrs.evolve(
        table,
        columns=[_link(head, snapshot, described, asked) for head in table.columns],
        first_number=first,
        rows_at=[snapshot.rows(name, [*pairs, ("row", str(n))]) for n in range(first, last + 1)],
    )
    counted = how_many(total, "row")
    if question.where or question.condition:
        _, all_ = tables.rows(snapshot, name, Question(settings=asked.settings, limit=0))
        counted = how_many(total, "row", all_)
    order = ", ".join(
        f"{column}, {'largest' if down else 'smallest'} first" for column, down in question.sort
    )
    size = asked.rows

    def at(offset: int) -> str:
        return snapshot.rows(name, asked.change(offset=offset).pairs())

    return {
        "shown": table,
        "empty": empty,
        "total": total,
        "counted": counted,
        "caption": f"By {order}" if order else "In the order of the dataset",
        "files": address.downloads(snapshot, name, asked.pairs_of_all()),
        "range": f"rows {first:,} to {last:,} of {total:,}",
        "first_page": at(0),
        "before": at(max(0, first - 1 - size)) if first > 1 else "",
        "after": at(last) if last < total else "",
        "last_page": at(max(0, (total - 1) // size * size)),
    }


def _first(table: Shown, kept: set[str]) -> Shown:
    """Keep the default number of columns: the always shown ones, then the first of the others."""
    names = [head.name for head in table.columns]
    others = [name for name in names if name not in kept]
    shown_ = kept | set(others[: max(2, COLUMNS - len(kept & set(names)))])
    at = [i for i, name in enumerate(names) if name in shown_]
    return attrs.evolve(
        table,
        columns=[table.columns[i] for i in at],
        rows=[[row[i] for i in at] for row in table.rows],
    )


def _link(head: Head, here: Place, described: tables.Description, asked: Asked) -> Head:
    """Link a heading to the page sorted by its column, and mark the current order."""
    kind = described.types[head.name]
    if kind in _NESTED:
        return head
    now = dict(asked.question.sort[:1]).get(head.name)
    words = {value: word for word, value in SORT.items()}
    after = asked.sorted_by(head.name, down_first=kind in DOWN_FIRST)
    return attrs.evolve(
        head,
        address=here.rows(described.name, after.pairs()),
        sort="none" if now is None else words[now],
    )


def _facets(
    snapshot: Snapshot, described: tables.Description, asked: Asked, rows: int, shown: Sequence[str]
) -> dict[str, Any]:
    name, question, plain = described.name, asked.question, asked
    kind = snapshot.dataset.plugins.record_types([name]).get(name)
    subject = kind.roles.get("subject") if kind else None  # mostly different in each row
    few = facets.facet_columns(snapshot, name, asked.settings)
    texts = [
        each.name
        for each in described.columns
        if each.type == "text" and each.format != "path" and each.name not in (*_LAST, subject)
    ]
    offered = list(dict.fromkeys([*few, *texts[:COLUMNS], *asked.facets]))
    most = facets.FEW if asked.facets else VALUES
    if not asked.facets and rows <= _MOST_COUNTED:
        filtered = {each.column for each in question.where}
        names = dict.fromkeys([*shown, *texts])
        first = [each for each in names if each in few and each in texts and each not in filtered]
        asked = attrs.evolve(asked, facets=tuple(first[:FACETS]))
    counted = attrs.evolve(question, columns=asked.facets)
    found = facets.facets(snapshot, name, counted, most) if asked.facets else []
    known = meanings(snapshot, name)
    return {
        "facets_of": [
            {
                "name": each,
                "on": each in asked.facets,
                "address": snapshot.rows(name, asked.toggle_facet(each).pairs()),
            }
            for each in offered
        ],
        "facets": [_facet(snapshot, name, plain, each, known) for each in found],
    }


def _facet(
    here: Place, name: str, asked: Asked, facet: facets.Facet, known: Mapping[str, Column]
) -> dict[str, Any]:
    values = [value for value, _ in facet.values]
    column = known.get(facet.column)
    texts = texts_of(values, column.format if column else None)
    total = sum(count for _, count in facet.values) + facet.others
    return {
        "name": facet.column,
        "others": facet.others,
        "rows": [
            {
                "text": None if value is None else text,
                "count": count,
                "share": share_in_words(count / total),
                "width": f"{100 * count / total:.1f}",
                "address": here.rows(name, add_filter(asked, facet.column, value).pairs()),
            }
            for (value, count), text in zip(facet.values, texts, strict=True)
        ],
    }


@page("row.html.j2", section="tables")
def row(snapshot: Snapshot, request: Request) -> dict[str, Any]:
    """Show all columns of one row in a list, each with its meaning."""
    name, asked = request.path_params["table"], asked_of(request)
    number = int(request.query_params["row"])
    described = tables.describe(snapshot, name, asked.settings)
    one = attrs.evolve(asked.question, columns=None, offset=number - 1, limit=1)
    found, total = tables.rows(snapshot, name, one)
    if not found.num_rows:
        raise NotFound(f"{name} has no row {number:,}", remedy=f"it has {total:,}")
    known, frame = meanings(snapshot, name), frame_of(found)
    as_people, _ = page_table(frame, known, longest=100_000)
    exactly, _ = page_table(frame, known, exactly=True, longest=100_000)
    by_name = {
        head.name: (head, text, whole)
        for head, text, whole in zip(
            as_people.columns, as_people.rows[0], exactly.rows[0], strict=True
        )
    }
    pairs = [pair for pair in asked.pairs() if pair[0] != "row"]
    page = (number - 1) // asked.rows * asked.rows
    at = [pair for pair in pairs if pair[0] != "offset"]
    return {
        "title": f"Row {number:,} of {name}",
        "number": number,
        "values": [
            _value(each, *by_name[each.name], frame[each.name].dtype, known)
            for each in described.columns
        ],
        "back": snapshot.rows(name, asked.change(offset=page).pairs()),
        "before": snapshot.rows(name, [*at, ("row", str(number - 1))]) if number > 1 else "",
        "after": snapshot.rows(name, [*at, ("row", str(number + 1))]) if number < total else "",
    }


def _value(
    each: tables.Described,
    head: Head,
    text: str | None,
    whole: str | None,
    dtype: Any,
    known: Mapping[str, Column],
) -> dict[str, Any]:
    """Return a value as people read it, and with all its digits where these say more."""
    form, _ = form_of(known.get(each.name) or Column(each.name), dtype)
    plain = (text or "").replace(",", "")
    says_more = text is not None and whole != plain and (dtype.is_numeric() or dtype.is_temporal())
    unit = f" {each.unit}" if each.unit and form in ("bytes", "seconds", "duration") else ""
    return {
        "name": each.name,
        "unit": head.unit,
        "text": text,
        "exact": f"{whole}{unit}" if says_more else "",
        "doc": each.doc,
    }

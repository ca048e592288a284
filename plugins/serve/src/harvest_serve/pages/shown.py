"""Rows as the table of a page, with cells as ``harvest view`` prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs
import polars as pl
import pyarrow as pa

from harvest import Column
from harvest.commands.declared import columns_of, columns_of_record
from harvest.errors import UnknownTypeError
from harvest_report.values import exact, form_of, texts_of

from ..downloads import frame_of
from ..state import Snapshot

BRIEF: Final = 26
"""Most characters of a column whose texts never break."""

LONGEST: Final = 300
"""Characters of a cell in a table; the page of one row shows all."""


@attrs.frozen(kw_only=True)
class Head:
    """A column's heading: name, unit, and style.

    kind: ``number``, ``time``, ``brief`` (never broken) or ``text``.
    address: of the page sorted by the column; sort: for ``aria-sort``.
    """

    name: str
    unit: str | None
    kind: str
    address: str | None = None
    sort: str | None = None


@attrs.frozen(kw_only=True)
class Shown:
    """A table: its columns, and the texts of each row, None for an unknown value.

    first_number: number of the first row; rows_at: the address of each row's own page.
    """

    columns: Sequence[Head]
    rows: Sequence[Sequence[str | None]]
    first_number: int | None = None
    rows_at: Sequence[str] = ()


def meanings(snapshot: Snapshot, table: str) -> Mapping[str, Column]:
    """Return the declared columns of a record type or view; empty for an unknown one."""
    plugins = snapshot.dataset.plugins
    if table in plugins.views:
        return columns_of(plugins.views[table], plugins)
    try:
        return columns_of_record(snapshot.dataset.record_type(table))
    except UnknownTypeError:
        return {}


def page_table(
    table: pa.Table | pl.DataFrame,
    known: Mapping[str, Column],
    *,
    exactly: bool = False,
    longest: int = LONGEST,
    drop_empty: bool = False,
    at_most: int | None = None,
) -> tuple[Shown, list[str]]:
    """Build a table of rows, and return the names of the empty columns that were left out.

    exactly: show values with all their digits. longest: characters of a cell.
    drop_empty: leave out columns without a value in these rows, unless all are empty.
    at_most: number of columns to show, from the first.
    """
    frame = table if isinstance(table, pl.DataFrame) else frame_of(table)
    empty = [n for n in frame.columns if frame.height and frame[n].null_count() == frame.height]
    if not drop_empty or len(empty) == frame.width:
        empty = []
    names = [name for name in frame.columns if name not in empty][:at_most]
    columns = [_column(frame[name], known, exactly, longest) for name in names]
    rows = list(zip(*(texts for _, texts in columns), strict=True)) if columns else []
    return Shown(columns=[head for head, _ in columns], rows=rows), empty


def _column(
    values: pl.Series, known: Mapping[str, Column], exactly: bool, longest: int
) -> tuple[Head, list[str | None]]:
    column = known.get(values.name) or Column(values.name)
    form, unit = form_of(column, values.dtype)
    listed = values.to_list()
    if exactly:
        texts, unit = list(map(exact, listed)), column.unit if column.scale == 1 else None
    else:
        texts = texts_of(listed, form, scale=column.scale)
    if isinstance(values.dtype, pl.Datetime) and values.dtype.time_zone and not exactly:
        unit = values.dtype.time_zone
    cut = [text if len(text) <= longest else f"{text[:longest]}…" for text in texts]
    is_brief = max(map(len, cut), default=0) <= BRIEF
    kind = "number" if values.dtype.is_numeric() else "time" if values.dtype.is_temporal() else ""
    head = Head(name=values.name, unit=unit, kind=kind or ("brief" if is_brief else "text"))
    return head, [None if v is None else t for v, t in zip(listed, cut, strict=True)]

"""Rows as the table of a page, with cells as ``harvest view`` prints them."""

from collections.abc import Mapping, Sequence
from typing import Final

import attrs
import polars as pl

from harvest import Column
from harvest_report.values import exact, form_of, texts_of

BRIEF: Final = 26
"""Most characters of a column whose texts never break."""

LONGEST: Final = 300
"""Characters of a cell in a table; the page of one row shows all."""


@attrs.frozen(kw_only=True)
class Head:
    """A column's heading: name, unit, and style.

    kind: ``number``, ``time``, ``brief`` (never broken) or ``text``.
    down_first: whether a sort begins with the largest values; None where rows have no such order.
    """

    name: str
    unit: str | None
    kind: str
    down_first: bool | None


@attrs.frozen(kw_only=True)
class Shown:
    """A table: its columns, and the texts of each row, None for an unknown value."""

    columns: Sequence[Head]
    rows: Sequence[Sequence[str | None]]


def without_empty(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Drop the columns without a value, unless all are empty; also return their names."""
    empty = [column.name for column in rows if rows.height and column.null_count() == rows.height]
    return (rows, []) if len(empty) == rows.width else (rows.drop(empty), empty)


def page_table(
    rows: pl.DataFrame,
    known: Mapping[str, Column],
    *,
    exactly: bool = False,
    longest: int = LONGEST,
) -> Shown:
    """Build a table of rows.

    known: declared columns, by name.
    exactly: show values with all their digits. longest: characters of a cell.
    """
    columns = [_column(values, known, exactly, longest) for values in rows]
    texts = zip(*(texts for _, texts in columns), strict=True)
    return Shown(columns=[head for head, _ in columns], rows=list(texts))


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
    is_nested = values.dtype.is_nested() or values.dtype == pl.Binary
    head = Head(
        name=values.name,
        unit=unit,
        kind=kind or ("brief" if is_brief else "text"),
        down_first=None if is_nested else bool(kind) and values.dtype != pl.Time,
    )
    return head, [None if v is None else t for v, t in zip(listed, cut, strict=True)]

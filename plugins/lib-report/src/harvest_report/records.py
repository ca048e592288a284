"""Rows of records on a terminal: as a table that fits, or as JSON lines.

Records have more columns than a terminal has room for.  A few rows are therefore shown one below
the other, column by column; many rows as a table of the columns that matter most, with columns of
a single value shown once above it and those that do not fit named below it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import polars as pl
from rich.cells import cell_len

from harvest import Column
from harvest.commands import print_json_line
from harvest.commands.tables import how_many, print_heading, print_plain, width_of_terminal
from harvest.toolkit.layout import GAP, fold, shorten, table_lines
from harvest.toolkit.texts import printable_line

from .values import exact, texts_of

__all__ = ["Style", "print_records", "print_rows_as_json"]

FEW_ROWS = 3
LEAST = 24
"""Characters of a text that a table keeps at least; numbers are never shortened."""
LINES_OF_A_VALUE = 3


@attrs.frozen(kw_only=True)
class Style:
    """How values are shown.

    exact: with all their digits and in full, as CSV has them, instead of for people.
    wide: all columns in full, in lines as long as they are.
    rest: how to see what is not shown.
    """

    exact: bool = False
    wide: bool = False
    rest: str = "--wide shows all"


@attrs.frozen(kw_only=True, eq=False)
class _Cells:
    """A column as it is shown: its heading and its texts, in full."""

    name: str
    values: list[Any]
    heading: str
    texts: list[str]
    form: str | None
    is_number: bool

    @property
    def natural(self) -> int:
        return max(map(cell_len, (self.heading, *self.texts)))

    def least(self, wanted: int) -> int:
        """What the column needs where there is little room: a text has ``wanted`` at least."""
        if self.is_number:
            return self.natural
        return min(self.natural, max(wanted, cell_len(self.heading)))

    @property
    def is_single(self) -> bool:
        """Whether all rows hold one value, which is more than being shown alike."""
        return len(set(self.texts)) == 1 and len(set(map(exact, self.values))) == 1

    def shortened(self, width: int) -> _Cells:
        """The column no wider than ``width``; itself where it is not."""
        if self.natural <= width:
            return self
        return attrs.evolve(self, texts=[shorten(t, width, self.form) for t in self.texts])


def print_rows_as_json(title: str, table: Any) -> None:
    """Print an object per row of an Arrow table or a polars frame."""
    for row in _frame(table).iter_rows(named=True):
        print_json_line({"record_type": title, **row})


def print_records(
    title: str,
    table: Any,
    columns: Mapping[str, Column] | None = None,
    style: Style | None = None,
    *,
    total: int | None = None,
    more: bool = False,
) -> None:
    """Print rows of an Arrow table or a polars frame.

    columns: what is known of them, the most important first; they are shown in this order, and
        the others behind them.
    total: how many rows there are where these are the first of them; more: or at least so many.
    """
    frame, columns, style = _frame(table), columns or {}, style or Style()
    print(f"{title}: {how_many(frame.height, 'row', total, more=more)}")
    order = [n for n in columns if n in frame.columns]
    order += [n for n in frame.columns if n not in columns]
    if style.wide:
        _print_table([_cells(frame[n], columns.get(n), exactly=style.exact) for n in order])
        print()
        return
    filled = [n for n in order if frame[n].null_count() < frame.height]
    cells = [_cells(frame[n], columns.get(n), exactly=style.exact) for n in filled]
    room = width_of_terminal()
    if _needed([c.natural for c in cells]) <= room:
        _print_table(cells)
    elif frame.height <= FEW_ROWS:
        _print_one_below_the_other(cells, room, style)
    else:
        _print_narrow_table(cells, room, style)
    empty = [n for n in order if n not in filled]
    if empty and frame.height:
        _print_names("empty", empty, room)
    print()


def _frame(table: Any) -> pl.DataFrame:
    frame = table if isinstance(table, pl.DataFrame) else pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _cells(values: pl.Series, column: Column | None, *, exactly: bool) -> _Cells:
    column = column or Column(values.name)
    form, unit = _format(column, values.dtype)
    listed = values.to_list()
    texts = list(map(exact, listed)) if exactly else texts_of(listed, form, scale=column.scale)
    return _Cells(
        name=values.name,
        values=listed,
        heading=printable_line(f"{values.name} ({unit})" if unit and not exactly else values.name),
        texts=texts,
        form=form,
        is_number=values.dtype.is_numeric(),
    )


def _format(column: Column, dtype: pl.DataType) -> tuple[str | None, str | None]:
    """The format of a column, and its unit where the cells do not name it."""
    if dtype.is_temporal():
        return column.format, None
    if not dtype.is_numeric():
        return column.format if column.format in ("id", "path") else None, None
    if column.format is None and column.scale == 1 and column.unit in _IN_WORDS:
        return _IN_WORDS[column.unit], None
    return column.format, column.shown_unit


_IN_WORDS = {"s": "seconds", "bytes": "bytes"}


def _needed(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _print_table(cells: Sequence[_Cells], widths: Sequence[int] | None = None) -> None:
    if not cells:
        return
    widths = widths or [c.natural for c in cells]
    right = [c.is_number for c in cells]
    print_heading(table_lines([[c.heading for c in cells]], widths, right))
    print_plain(table_lines(list(zip(*(c.texts for c in cells), strict=True)), widths, right))


def _print_one_below_the_other(cells: Sequence[_Cells], room: int, style: Style) -> None:
    names = min(max(cell_len(c.heading) for c in cells), room // 2)
    widths = [names, room - names - GAP]
    cut = False
    for number in range(len(cells[0].texts)):
        if number:
            print()
        rows = []
        for column in cells:
            text = column.texts[number]
            if column.values[number] is None:
                continue
            if not style.exact:
                text = shorten(text, LINES_OF_A_VALUE * widths[1], column.form)
                cut = cut or text != column.texts[number]
            rows.append([column.heading, text])
        print_plain(table_lines(rows, widths, [False, False]))
    if cut:
        print(f"shortened: … ({style.rest})")


def _print_narrow_table(cells: Sequence[_Cells], room: int, style: Style) -> None:
    single = [c for c in cells if c.is_single]
    for column in single:
        text = f"{column.heading}: {column.texts[0]}"
        if not style.exact and cell_len(text) > room:
            space = max(LEAST, room - cell_len(column.heading) - 2)
            text = f"{column.heading}: {shorten(column.texts[0], space, column.form)}"
        print_plain(fold(text, room, "  "))
    several = [c for c in cells if c not in single]
    shown, widths = _chosen(several, room, style)
    texts = [
        c if style.exact or c.is_number else c.shortened(width)
        for c, width in zip(shown, widths, strict=True)
    ]
    _print_table(texts, widths)
    left_out = [c.name for c in several if c not in shown]
    if left_out:
        _print_names("not shown here", left_out, room)
    if left_out or texts != shown:
        print_plain(fold(f"({style.rest})", room, "  "))


def _chosen(cells: Sequence[_Cells], room: int, style: Style) -> tuple[list[_Cells], list[int]]:
    """The first columns that fit, and their widths: what is left goes to the first of them."""
    shown: list[_Cells] = []
    widths: list[int] = []
    for column in cells:
        least = column.natural if style.exact else column.least(LEAST if shown else room // 2)
        if not shown:
            shown, widths = [column], [min(least, room)]
        elif _needed([*widths, least]) <= room:
            shown.append(column)
            widths.append(least)
    left = room - _needed(widths)
    for index, column in enumerate(shown):
        given = min(left, column.natural - widths[index])
        widths[index] += given
        left -= given
    return shown, widths


def _print_names(what: str, names: list[str], room: int) -> None:
    print_plain(fold(f"{what}: {', '.join(map(printable_line, names))}", room, "  "))

"""Print rows of records on a terminal, as a table that fits or as JSON lines.

Records have more columns than a terminal has room for.  So a single row is printed column by
column.  Several rows become a table of the most important columns and those that distinguish
rows.  Columns with one value are printed once above it, and columns that do not fit are named
below it.  Columns that the user asked for are all shown.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import polars as pl
from rich.cells import cell_len

from harvest import Column
from harvest.commands import print_json_line
from harvest.commands.tables import how_many, print_columns, print_plain, width_of_terminal
from harvest.toolkit.layout import GAP, fold, shorten, table_lines
from harvest.toolkit.texts import printable_line

from .columns import LEAST, Cells, chosen, needed, parted
from .values import exact, form_of, texts_of

__all__ = ["Style", "print_records", "print_rows_as_json"]

LINES_OF_A_VALUE = 3
"""Most lines of a nested value or a path next to its name; notes are never shortened."""


@attrs.frozen(kw_only=True)
class Style:
    """How to print values.

    exact: with all digits and in full, as in CSV, instead of rounded for people.
    wide: with all columns in full, in lines of any length.
    every: whether the user asked for all columns, so that none may be left out.
    rest: the hint how to see what is not shown.
    """

    exact: bool = False
    wide: bool = False
    every: bool = False
    rest: str = "--wide shows all"


def print_rows_as_json(title: str, table: Any) -> None:
    """Print one JSON object per row of an Arrow table or a polars frame."""
    for row in pl.DataFrame(table).iter_rows(named=True):
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

    columns: known columns by name, the most important first; other columns follow them.
    total: number of all rows when these are only the first; more: whether it is a lower bound.
    """
    frame, columns, style = pl.DataFrame(table), columns or {}, style or Style()
    print(f"{title}: {how_many(frame.height, 'row', total, more=more)}")
    order = [n for n in columns if n in frame.columns]
    order += [n for n in frame.columns if n not in columns]
    if style.wide:
        _print_table([_cells(frame[n], columns.get(n), exactly=style.exact) for n in order])
        print()
        return
    filled = [n for n in order if style.every or frame[n].null_count() < frame.height]
    cells = [_cells(frame[n], columns.get(n), exactly=style.exact) for n in filled]
    room = width_of_terminal()
    if needed([c.natural for c in cells]) <= room:
        _print_table(cells)
    elif style.every and frame.height > 1 and (parts := parted(cells, room)):
        for number, (part, widths) in enumerate(parts):
            if number:
                print()
            _print_table(part, widths)
    elif style.every or frame.height == 1:
        _print_one_below_the_other(cells, room, style)
    else:
        _print_narrow_table(cells, room, style)
    empty = [n for n in order if n not in filled]
    if empty and frame.height:
        _print_names("empty", empty, room)
    print()


def _cells(values: pl.Series, column: Column | None, *, exactly: bool) -> Cells:
    column = column or Column(values.name)
    form, unit = form_of(column, values.dtype)
    listed = values.to_list()
    texts = list(map(exact, listed)) if exactly else texts_of(listed, form, scale=column.scale)
    return Cells(
        name=values.name,
        values=listed,
        heading=printable_line(f"{values.name} ({unit})" if unit and not exactly else values.name),
        texts=texts,
        form=form,
        dtype=values.dtype,
    )


def _print_table(cells: Sequence[Cells], widths: Sequence[int] | None = None) -> None:
    """Print a table; headings that are wider than their column get several lines."""
    if not cells:
        return
    widths = widths or [c.natural for c in cells]
    right = [c.dtype.is_numeric() for c in cells]
    heads = [c.heading_lines(width) for c, width in zip(cells, widths, strict=True)]
    height = max(map(len, heads))
    rows = list(zip(*([""] * (height - len(head)) + head for head in heads), strict=True))
    print_columns(rows, list(zip(*(c.texts for c in cells), strict=True)), widths, right)


def _print_one_below_the_other(cells: Sequence[Cells], room: int, style: Style) -> None:
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
            if not style.exact and not column.is_prose:
                text = shorten(text, LINES_OF_A_VALUE * widths[1], column.form)
                cut = cut or text != column.texts[number]
            rows.append([column.heading, text])
        print_plain(table_lines(rows, widths, [False, False]))
    if cut:
        print(f"shortened: … ({style.rest})")


def _print_narrow_table(cells: Sequence[Cells], room: int, style: Style) -> None:
    single = [c for c in cells if c.is_single]
    for column in single:
        text = f"{column.heading}: {column.texts[0]}"
        if not style.exact and not column.is_prose and cell_len(text) > room:
            space = max(LEAST, room - cell_len(column.heading) - 2)
            text = f"{column.heading}: {shorten(column.texts[0], space, column.form)}"
        print_plain(fold(text, room, "  "))
    several = [c for c in cells if c not in single]
    shown, widths = chosen(several, room, exactly=style.exact)
    texts = shown
    if not style.exact:
        texts = [c.narrowed(width) for c, width in zip(shown, widths, strict=True)]
    _print_table(texts, widths)
    left_out = [c.name for c in several if c not in shown]
    if left_out:
        _print_names("not shown here", left_out, room)
    if left_out or texts != shown:
        print_plain(fold(f"({style.rest})", room, "  "))


def _print_names(what: str, names: list[str], room: int) -> None:
    print_plain(fold(f"{what}: {', '.join(map(printable_line, names))}", room, "  "))

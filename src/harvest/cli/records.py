"""Rows of records on a terminal: as a table that fits, or as JSON lines.

Records have more columns than a terminal has room for.  A few rows are therefore shown one below
the other, column by column; many rows as a table, with columns of a single value shown once above
it and those that do not fit named below it.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
from datetime import datetime
from typing import Any

import orjson
import polars as pl

from harvest.toolkit.texts import printable_line

from .tables import harmless, how_many, print_table

__all__ = ["print_records"]

CELL_WIDTH = 40
FEW_ROWS = 3


def print_records(
    title: str, table: Any, *, json: bool = False, total: int | None = None, more: bool = False
) -> None:
    """Print rows of an Arrow table or a polars frame.

    total: how many there are where these are the first of them; more: or at least so many.
    """
    frame = _frame(table)
    if json:
        for row in frame.iter_rows(named=True):
            sys.stdout.write(_json_text({"record_type": title, **row}) + "\n")
        return
    print(f"{title}: {how_many(frame.height, 'row', total, more=more)}")
    room = shutil.get_terminal_size((80, 24)).columns
    filled = [n for n in frame.columns if frame[n].null_count() < frame.height]
    empty = [n for n in frame.columns if n not in filled]
    if _width(frame, filled) <= room:
        _as_table(frame, filled)
    elif frame.height <= FEW_ROWS:
        _one_below_the_other(frame, filled, room)
    else:
        _as_narrow_table(frame, filled, room)
    if empty and frame.height:
        _names("empty", empty, room)
    print()


def _frame(table: Any) -> Any:
    return table if isinstance(table, pl.DataFrame) else pl.from_arrow(table)


def _cells(frame: Any, name: str) -> list[str]:
    return [_cell(value) for value in frame[name].to_list()]


def _width(frame: Any, names: list[str]) -> int:
    return sum(max(map(len, [name, *_cells(frame, name)])) + 2 for name in names)


def _as_table(frame: Any, names: list[str]) -> None:
    if names:
        right = [n for n in names if frame[n].dtype.is_numeric()]
        cells = [_cells(frame, n) for n in names]
        print_table(names, zip(*cells, strict=True), right=right)


def _one_below_the_other(frame: Any, names: list[str], room: int) -> None:
    indent = max(map(len, names)) + 2
    for number, row in enumerate(frame.select(names).iter_rows(named=True)):
        if number:
            print()
        for name, value in row.items():
            if value is None:
                continue
            text = printable_line(_text(value))
            most = max(20, 3 * (room - indent - 2))
            text = text if len(text) <= most else text[: most - 1] + "…"
            pieces = [text[i : i + room - indent] for i in range(0, len(text), room - indent)]
            for index, piece in enumerate(pieces or [""]):
                print(f"{name if index == 0 else '':<{indent}}{piece}")


def _as_narrow_table(frame: Any, names: list[str], room: int) -> None:
    single = [n for n in names if not frame[n].dtype.is_nested() and frame[n].n_unique() == 1]
    for name in single:
        print(f"{name}: {printable_line(_text(frame[name][0]))}")
    shown: list[str] = []
    used = 0
    for name in names:
        width = _width(frame, [name])
        if name not in single and (not shown or used + width <= room):
            shown.append(name)
            used += width
    _as_table(frame, shown)
    _names("not shown here", [n for n in names if n not in shown and n not in single], room)


def _names(what: str, names: list[str], room: int) -> None:
    if names:
        print(textwrap.fill(f"{what}: {', '.join(names)}", room, subsequent_indent="  "))


def _cell(value: Any) -> str:
    text = "" if value is None else printable_line(_text(value))
    return text if len(text) <= CELL_WIDTH else text[: CELL_WIDTH - 1] + "…"


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f").rstrip("0").rstrip(".")
    if isinstance(value, (list, dict)):
        return _json_text(value)
    return str(value)


def _json_text(value: Any) -> str:
    def plain(item: Any) -> Any:
        if isinstance(item, bytes):
            return item.decode("utf-8", "backslashreplace")
        return str(item)

    return harmless(orjson.dumps(value, default=plain, option=orjson.OPT_UTC_Z))

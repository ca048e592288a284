"""Rows of records on a terminal: as a table that fits, or as JSON lines."""

from __future__ import annotations

import shutil
import sys
from typing import Any

from harvest.run.text import printable_line

from .tables import print_table

__all__ = ["print_records"]

CELL_WIDTH = 40
MIN_CELL = 12


def print_records(title: str, table: Any, *, json: bool = False) -> None:
    """Print rows of an Arrow table or a polars frame.

    Columns that hold no value are left out, and where the terminal is too narrow the last ones
    are; a line says which.
    """
    frame = _frame(table)
    if json:
        for row in frame.iter_rows(named=True):
            sys.stdout.write(_json_line({"record_type": title, **row}) + "\n")
        return
    names = [n for n in frame.columns if frame[n].null_count() < frame.height]
    empty = [n for n in frame.columns if n not in names]
    room = shutil.get_terminal_size((80, 24)).columns
    shown: list[str] = []
    used = 0
    cells = {n: [_cell(v) for v in frame[n].to_list()] for n in names}
    for name in names:
        width = max([len(name), *(len(c) for c in cells[name])], default=len(name)) + 2
        if shown and used + width > room:
            continue
        shown.append(name)
        used += width
    rows = list(zip(*(cells[n] for n in shown), strict=True)) if shown else []
    print_table(shown, rows, title=f"{title}: {frame.height:,} rows")
    left_out = [n for n in names if n not in shown]
    if left_out:
        print(f"not shown here: {', '.join(left_out)}")
    if empty:
        print(f"empty: {', '.join(empty)}")
    print()


def _frame(table: Any) -> Any:
    import polars as pl

    if isinstance(table, pl.DataFrame):
        return table
    return pl.from_arrow(table)


def _cell(value: Any) -> str:
    text = "" if value is None else printable_line(_text(value))
    return text if len(text) <= CELL_WIDTH else text[: CELL_WIDTH - 1] + "…"


def _text(value: Any) -> str:
    from datetime import datetime

    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f").rstrip("0").rstrip(".")
    if isinstance(value, (list, dict)):
        return _json_line(value)
    return str(value)


def _json_line(value: Any) -> str:
    import orjson

    def plain(item: Any) -> Any:
        if isinstance(item, bytes):
            return item.decode("utf-8", "backslashreplace")
        return str(item)

    return orjson.dumps(value, default=plain, option=orjson.OPT_UTC_Z).decode()

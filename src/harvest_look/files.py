"""Write one table to a file in the format of its suffix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polars.selectors import datetime

from harvest import UsageError
from harvest.toolkit.files import replacing
from harvest.toolkit.texts import printable_line
from harvest_report.csv import CSV_TIME, csv_columns
from harvest_report.table_files import WRITERS

if TYPE_CHECKING:
    import polars as pl

SUFFIXES = (".parquet", ".jsonl", ".ndjson", ".csv", ".txt")


def export(frame: pl.LazyFrame, path: Path, *, text: Callable[..., Any] | None = None) -> int:
    """Write a table to ``path``, replacing it atomically, and return the number of rows.

    text: renders the collected frame as one text per row, for ``.txt``; by default each row is a
        block of lines with name and value.
    Raises UsageError for an unknown suffix or a missing directory.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(
            f"unknown file ending {suffix!r}", where=str(path), remedy="use " + ", ".join(SUFFIXES)
        )
    if not path.parent.is_dir():
        raise UsageError("no such directory", where=str(path.parent), remedy="make it first")
    table = frame.collect()
    with replacing(path) as temporary:
        if suffix == ".txt":
            with temporary.open("w", encoding="utf-8") as file:
                file.writelines(f"{block}\n" for block in (text or blocks_of_text)(table))
        else:
            WRITERS[suffix.replace(".ndjson", ".jsonl")](table, temporary)
    return int(table.height)


def blocks_of_text(table: pl.DataFrame) -> Iterator[str]:
    """Yield each row as lines of name and value, without nulls; nested values as JSON."""
    plain = csv_columns(table, defuse=False).with_columns(datetime().dt.strftime(CSV_TIME))
    indent = max(map(len, plain.columns), default=0) + 2
    for row in plain.iter_rows(named=True):
        lines = [
            f"{name:<{indent}}{printable_line(str(value))}"
            for name, value in row.items()
            if value is not None
        ]
        yield "\n".join(lines) + "\n"

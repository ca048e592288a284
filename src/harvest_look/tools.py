"""Helpers of commands that query a dataset; imported when one is called, not for its help."""

import re
from collections.abc import Callable, Collection, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final, TypeVar

import polars as pl
from polars.selectors import datetime
from rich.console import Console as Console

from harvest import Dataset, UsageError
from harvest.commands import asking, remark
from harvest.commands.progress import working
from harvest.commands.tables import how_many as how_many
from harvest.commands.tables import print_json as print_json
from harvest.toolkit.files import replacing
from harvest.toolkit.texts import printable_line
from harvest_report.records import Style as Style
from harvest_report.records import print_records as print_records
from harvest_report.records import print_rows_as_json as print_rows_as_json
from harvest_report.table_files import CSV_TIME, WRITERS, csv_columns

from .asked import named as named
from .choice import Choice as Choice
from .where import refused_values as refused_values

SUFFIXES: Final = (".parquet", ".jsonl", ".ndjson", ".csv", ".txt")
"""Endings of files that a table is written to."""

GROUP: Final = "harvest_look.query_remarks"
"""The entry-point group of remarks on queries, whose names are record types.

Each function takes a dataset and a query that names the record type, and returns sentences."""


_Answer = TypeVar("_Answer")


def answer(
    location: Path, ask: Callable[[Dataset], _Answer], doing: str, kinds: Collection[str] = ()
) -> _Answer:
    """Return the answer of a query as ``asking`` does, and remark on input that it lacks.

    doing: name of the work, ``building dask.run``; kinds: record types that the query reads; all
    unless given.
    """
    with working(doing):
        found, lacking = asking.answer(location, lambda opened: (ask(opened), opened.unread(kinds)))
    for each in lacking:
        remark(each)
    return found


def remarks(dataset: Dataset, sql: str) -> Iterator[str]:
    """Yield the plugins' remarks on a query, for example that it combines scans of two days."""
    plain = sql.replace('"', "").lower()
    for point in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        if point.name in dataset and re.search(rf"\b{re.escape(point.name)}\b", plain):
            yield from point.load()(dataset, sql)


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

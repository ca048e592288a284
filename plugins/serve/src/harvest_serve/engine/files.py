"""The Parquet files of a table's rows: those of the dataset, or one written from them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from polars import selectors

from harvest.model.frames import seconds
from harvest_serve.settings import settings_key

from .guarded import literal, names_and_types, quote_name, types_of

if TYPE_CHECKING:
    from harvest_serve.state import Snapshot

FILE: Final = "harvest file"
ROW: Final = "harvest row"
"""Columns in addition to a table's own, which give a row's position in the dataset."""


MOST_PICKED: Final = 200
"""Most files from which rows are picked individually."""


@attrs.frozen
class Files:
    """Parquet files with a table's rows, in its order.

    select: the SQL of all its rows, with its columns as they are declared, FILE and ROW.
    types: the SQL type of each column, by name, without FILE and ROW.
    """

    paths: tuple[Path, ...]
    select: str
    types: Mapping[str, str]

    def pick(self, places: Iterable[tuple[int, int]]) -> str:
        """Return the SQL of the rows at some places (FILE, ROW), in no order; columns as
        ``select``.

        Each file is read only for its own rows; a plain condition makes DuckDB search every file.
        """
        by_file: dict[int, list[int]] = {}
        for file, row in places:
            by_file.setdefault(file, []).append(row)
        if len(by_file) > MOST_PICKED or not by_file:
            wanted = ", ".join(f"({file}, {row})" for file, row in places) or "(-1, -1)"
            place = f"({quote_name(FILE)}, {quote_name(ROW)})"
            return f"SELECT * FROM ({self.select}) WHERE {place} IN ({wanted})"
        return " UNION ALL ".join(
            f"{self._of_one(file)} WHERE file_row_number IN ({', '.join(map(str, rows))})"
            for file, rows in by_file.items()
        )

    def _of_one(self, number: int) -> str:
        there = set(pq.read_schema(self.paths[number]).names)
        columns = [_cast(name, kind, name in there) for name, kind in self.types.items()]
        return (
            f"SELECT {', '.join(columns)}, {number} AS {quote_name(FILE)}, file_row_number "
            f"AS {quote_name(ROW)} FROM read_parquet({literal([self.paths[number]])})"
        )


@contextlib.contextmanager
def files_of(
    snapshot: Snapshot, table: str, settings: Mapping[str, Any] | None = None
) -> Iterator[Files]:
    """Give the files of a record type or view, which exist inside this context.

    Raises UsageError for an unknown name, or for settings that the view does not take.
    """
    direct = None
    if table not in snapshot.dataset.plugins.views:
        direct = snapshot.keep(("files", table), lambda: _in_place(snapshot, table))
    if direct is not None:
        yield direct
        return
    given = dict(settings or {})
    key = (snapshot.name, snapshot.commit, table, settings_key(given))

    def make(path: Path) -> None:
        views = snapshot.dataset.plugins.views
        frame = snapshot.view(table, given) if table in views else snapshot.dataset[table]
        # Parquet and SQL have seconds for durations, and text for categories and nulls
        plain = frame.with_columns(
            seconds(selectors.duration().dt.total_microseconds()),
            (selectors.categorical() | selectors.enum()).cast(pl.String),
            selectors.by_dtype(pl.Null).cast(pl.String),
        )
        plain.sink_parquet(path, compression="zstd", compression_level=1)

    with snapshot.scratch.file(key, make) as path:
        yield _files((path,), None)


def _in_place(snapshot: Snapshot, name: str) -> Files | None:
    """Return the dataset's files of a record type, if these are Parquet files of its rows alone."""
    kind = snapshot.dataset.record_type(name)
    files = snapshot.dataset.files(name)
    taken: dict[str, int] = {}
    for file in files:
        whole = file.offset is None and file.path.endswith(".parquet")
        if file.record_type != name or not whole:
            return None
        taken[file.path] = taken.get(file.path, 0) + file.rows
    if not files or any(f.file_rows not in (None, taken[f.path]) for f in files):
        return None  # no rows, or a file also has rows of another commit
    paths = dict.fromkeys(map(snapshot.dataset.sink.held_in, files))
    return _files(tuple(paths), kind.arrow_schema)


def _files(paths: tuple[Path, ...], declared: pa.Schema | None) -> Files:
    source = f"read_parquet({literal(paths)}{', union_by_name = true' if len(paths) > 1 else ''})"
    there = names_and_types(source, paths)
    wanted = types_of(declared) if declared else there
    columns = [
        quote_name(name) if there.get(name) == kind else _cast(name, kind, name in there)
        for name, kind in wanted.items()
    ]
    select = (
        f"SELECT {', '.join(columns)}, file_index AS {quote_name(FILE)}, "
        f"file_row_number AS {quote_name(ROW)} FROM {source}"
    )
    return Files(paths, select, wanted)


def _cast(name: str, kind: str, is_there: bool) -> str:
    """Return the SQL of a column as a type; NULL where the file has no such column."""
    value = quote_name(name) if is_there else "NULL"
    return f"CAST({value} AS {kind}) AS {quote_name(name)}"

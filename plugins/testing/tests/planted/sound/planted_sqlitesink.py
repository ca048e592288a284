"""The sink sqlitesink: one SQLite database for each partition, a table for each record type.

A file ``<record type>/<part>.sqlite`` holds one table ``rows``, as any reader of SQLite finds it;
maps, lists and structs are JSON texts.  What SQLite has no type for is written so that it comes
back: times are whole microseconds since 1970, large whole numbers texts.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa
from planted_csvsink import plain, simple, understood

import harvest
from harvest import PartFile, RecordType, conform
from harvest.model.frames import frame_of


@contextlib.contextmanager
def told_as_errors_of_the_disk() -> Iterator[None]:
    """Raise OSError in place of SQLite's own errors."""
    try:
        yield
    except sqlite3.Error as error:
        raise OSError(f"SQLite says: {error}") from error


class SqliteWriter(harvest.PartWriter):
    """Writes the rows of one partition."""

    def __init__(self, sink: harvest.DirectorySink, staging: Path, part: str) -> None:
        self.sink, self.staging, self.part = sink, staging, part
        self.open: dict[str, sqlite3.Connection] = {}
        self.rows: dict[str, int] = {}

    def write(self, record_type: RecordType, table: pa.Table) -> None:
        """Append rows to the table of their record type."""
        with told_as_errors_of_the_disk():
            self._append(record_type, table)

    def _append(self, record_type: RecordType, table: pa.Table) -> None:
        name = record_type.name
        if name not in self.open:
            path = self.staging / self.sink.place(name, self.part)
            path.parent.mkdir(parents=True)
            database = self.open[name] = sqlite3.connect(path)
            database.execute("PRAGMA journal_mode = MEMORY")
            names = ", ".join(quoted(column) for column in table.column_names)
            database.execute(f"CREATE TABLE rows ({names})")
        database = self.open[name]
        places = ", ".join("?" * table.num_columns)
        columns = [cells(table.column(n).combine_chunks()) for n in range(table.num_columns)]
        done = database.executemany(
            f"INSERT INTO rows VALUES ({places})", zip(*columns, strict=True)
        )
        self.rows[name] = self.rows.get(name, 0) + done.rowcount
        database.commit()

    def close(self) -> Sequence[tuple[str, str, int]]:
        """Finish all files."""
        with told_as_errors_of_the_disk():
            for database in self.open.values():
                database.commit()
                database.close()
        return [(self.sink.place(n, self.part), n, rows) for n, rows in self.rows.items()]

    def abort(self) -> None:
        """Let go of open files."""
        for database in self.open.values():
            database.close()


class SqliteSink(harvest.DirectorySink):
    """A directory of SQLite databases."""

    name = "planted-sqlitesink"
    suffix = ".sqlite"

    def writer(self, staging: Path, part: str) -> SqliteWriter:
        """A writer of one partition."""
        return SqliteWriter(self, staging, part)

    def scan(self, files: Sequence[PartFile], record_type: RecordType) -> pl.LazyFrame:
        """The rows of a record type."""
        tables = [record_type.arrow_schema.empty_table()]
        for path in self.paths(f for f in files if f.record_type == record_type.name):
            tables.append(conform(record_type, read(path, record_type)))
        return frame_of(record_type, pa.concat_tables(tables)).lazy()


def quoted(name: str) -> str:
    """A name as SQL takes it."""
    return '"' + name.replace('"', '""') + '"'


def cells(column: pa.Array) -> list[object]:
    """Values as SQLite has them."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if is_plain(column.type):
        return column.to_pylist()
    values = (simple(value, column.type) for value in column.to_pylist())
    return [None if v is None else json.dumps(v, ensure_ascii=False) for v in values]


def is_plain(kind: pa.DataType) -> bool:
    """Whether SQLite has such values itself."""
    return (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_boolean(kind)
        or (pa.types.is_integer(kind) and not pa.types.is_uint64(kind))
    )


def read(path: Path, record_type: RecordType) -> pa.Table:
    """The rows of a file, of columns that the record type has."""
    database = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    try:
        found = database.execute("SELECT * FROM rows ORDER BY rowid")
        names = [column[0] for column in found.description]
        rows = found.fetchall()
    finally:
        database.close()
    schema = record_type.arrow_schema
    columns = {}
    for place, name in enumerate(names):
        if name in schema.names:
            kind = plain(schema.field(name).type)
            values = [row[place] for row in rows]
            if pa.types.is_boolean(kind):
                values = [None if v is None else bool(v) for v in values]
            elif not is_plain(kind):
                values = [None if v is None else understood(json.loads(v), kind) for v in values]
            columns[name] = pa.array(values, kind).cast(schema.field(name).type)
    return pa.table(columns)

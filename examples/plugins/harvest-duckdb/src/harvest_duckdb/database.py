"""Building a database, and reading rows of one.

A database is never changed.  The next one is built beside it, in one transaction: for each table,
the rows that stay come from the present one, new rows from staged Parquet, in the dataset's order.
So the rows of a partition lie together, from its first row on, and rows count from 0.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import duckdb
import pyarrow as pa

from harvest import DatasetError

__all__ = ["Piece", "build", "read"]


@attrs.frozen
class Piece:
    """Rows of a table: all of a Parquet file, or some that a database has of it.

    path: the file; rows: how many.
    first_row: where they begin in the database's table, from 0; None for a Parquet file.
    """

    path: Path
    rows: int
    first_row: int | None = None

    def followed_by(self, other: Piece) -> Piece | None:
        """Both as one piece, where they are rows of one table that follow each other."""
        if self.first_row is None or self.path != other.path:
            return None
        if self.first_row + self.rows != other.first_row:
            return None
        return Piece(self.path, self.rows + other.rows, self.first_row)


def build(path: Path, tables: Mapping[str, Sequence[Piece]]) -> None:
    """Write the database ``path`` with these tables; durable is what the caller makes it.

    Databases that pieces are of are only read.
    Raises DatasetError when rows are missing there, OSError when the database cannot be written.
    """
    every = [piece for pieces in tables.values() for piece in pieces]
    sources = {piece.path: "" for piece in every if piece.first_row is not None}
    with _opened(path) as database:
        for number, source in enumerate(sources):
            sources[source] = f"source_{number}."
            database.execute(f"ATTACH {_text(str(source))} AS source_{number} (READ_ONLY)")
        database.execute("BEGIN")
        for name, pieces in tables.items():
            _fill(database, name, pieces, sources)
        database.execute("COMMIT")
        database.execute("CHECKPOINT")


def _fill(database: Any, name: str, pieces: Sequence[Piece], sources: Mapping[Path, str]) -> None:
    """Make a table and insert its rows, piece by piece, so that their order is the table's."""
    table = quoted(name)
    for number, piece in enumerate(pieces):
        if piece.first_row is None:
            rows = f"FROM read_parquet({_text(_literal(str(piece.path)))})"
        else:
            rows = _stretch(sources[piece.path] + table, piece)
        if number == 0:
            database.execute(f"CREATE TABLE {table} AS {rows} LIMIT 0")
        _add_columns(database, table, rows)
        (count,) = database.execute(f"INSERT INTO {table} BY NAME {rows}").fetchone()
        if count != piece.rows:
            raise DatasetError(
                f"table {name!r} holds {count} of the {piece.rows} rows that are to be kept",
                remedy="restore the database from a backup, or run again with --force",
            )


def _add_columns(database: Any, table: str, rows: str) -> None:
    """Columns that a later version of the record type brought; null in rows of before."""
    known = {column for column, *_ in database.execute(f"DESCRIBE {table}").fetchall()}
    for column, kind, *_ in database.execute(f"DESCRIBE {rows}").fetchall():
        if column not in known:
            database.execute(f"ALTER TABLE {table} ADD COLUMN {quoted(column)} {kind}")


def read(path: Path, name: str, pieces: Sequence[Piece]) -> pa.Table:
    """Rows of a database's table, by piece; raises DatasetError where they are not all there."""
    with _opened(path, read_only=True) as database:
        tables = [database.sql(_stretch(quoted(name), piece)).to_arrow_table() for piece in pieces]
    table = pa.concat_tables(tables, promote_options="default")
    missing = sum(piece.rows for piece in pieces) - table.num_rows
    if missing:
        raise DatasetError(
            f"table {name!r} lacks {missing} rows",
            where=str(path),
            remedy="restore the database from a backup, or run again with --force",
        )
    return table


def _stretch(table: str, piece: Piece) -> str:
    first = piece.first_row or 0
    beyond = first + piece.rows
    return f"FROM {table} WHERE rowid >= {first} AND rowid < {beyond} ORDER BY rowid"


@contextlib.contextmanager
def _opened(path: Path, *, read_only: bool = False) -> Iterator[Any]:
    """A connection; errors of DuckDB become DatasetError, those of the disk OSError."""
    try:
        with duckdb.connect(str(path), read_only=read_only) as database:
            database.execute("SET TimeZone = 'UTC'")
            database.execute("SET preserve_insertion_order = true")
            yield database
    except duckdb.IOException as error:
        raise OSError(str(error)) from error
    except duckdb.Error as error:
        raise DatasetError(
            f"DuckDB says: {error}",
            where=str(path),
            remedy="restore the database from a backup, or harvest into a new one",
        ) from error


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _literal(path: str) -> str:
    """A path that is no pattern."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in path)

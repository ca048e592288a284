"""DuckDB that reaches some Parquet files and nothing else, with limits, for one question.

Each question has an instance of its own, so that none sees, slows by its settings, or takes the
memory of another.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from harvest import DatasetError, UsageError
from harvest_serve.problems import Refused
from harvest_serve.work import Left, stopped, stopping

MEMORY_MB: Final = 100
"""What one question of a page may hold."""

SPILL: Final = "1GB"
"""What one question may put on disk where memory is short."""

THREADS: Final = max(1, min(4, os.cpu_count() or 1))

BATCH_ROWS: Final = 65_536

_CONFIG: Final = {
    "threads": THREADS,
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
}
_USERS_FAULT: Final = (
    duckdb.ParserException,
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.ConversionException,
    duckdb.InvalidInputException,
    duckdb.OutOfRangeException,
    duckdb.PermissionException,
    duckdb.NotImplementedException,
)


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text in SQL."""
    return "'" + value.replace("'", "''") + "'"


def literal(paths: Iterable[Path]) -> str:
    """A list of paths in SQL."""
    return f"[{', '.join(text(str(path)) for path in paths)}]"


class Guarded:
    """One instance of DuckDB; ``opened`` makes it."""

    def __init__(self, connection: Any, memory_mb: int, *, written: bool) -> None:
        self._connection = connection
        self._memory_mb = memory_mb
        self._written = written

    def table(self, sql: str, values: Sequence[Any] = ()) -> pa.Table:
        """The result of a query, whole."""
        with self._running():
            return self._connection.sql(sql, params=list(values)).to_arrow_table()

    def batches(self, sql: str, values: Sequence[Any] = ()) -> Iterator[pa.RecordBatch]:
        """The result of a query, batch by batch: no more is read than is taken."""
        with self._running():
            reader = self._connection.sql(sql, params=list(values)).to_arrow_reader(BATCH_ROWS)
            yield pa.RecordBatch.from_pylist([], reader.schema)
        while True:
            with self._running():
                batch = next(reader, None)
            if batch is None:
                return
            yield batch

    @contextlib.contextmanager
    def _running(self) -> Iterator[None]:
        try:
            with stopping(self._connection.interrupt):
                yield
        except duckdb.InterruptException as error:
            if stopped():
                raise Left from error
            raise
        except duckdb.OutOfMemoryException as error:
            raise Refused(
                f"this needs more memory than the {self._memory_mb} MB that one question may take",
                remedy="ask for less: fewer columns, a condition, a coarser grouping",
            ) from error
        except _USERS_FAULT as error:
            if self._written:
                raise UsageError(f"the query failed: {error}") from error
            raise DatasetError(f"its rows cannot be read: {error}") from error
        except duckdb.Error as error:
            raise DatasetError(f"its rows cannot be read: {error}") from error


@contextlib.contextmanager
def opened(
    paths: Iterable[Path],
    *,
    setup: Iterable[str] = (),
    memory_mb: int = MEMORY_MB,
    spill: Path | None = None,
    written: bool = False,
) -> Iterator[Guarded]:
    """A DuckDB that can read these files alone; no setting of it can be changed any more.

    setup: statements that are run before it is locked, such as views.
    memory_mb: what it may hold; spill: a directory for what is beyond, up to SPILL; none without.
    written: whether a user's text is in its queries, so that what is wrong may be theirs.
    """
    connection = duckdb.connect(":memory:", config={**_CONFIG, "memory_limit": f"{memory_mb}MB"})
    try:
        for statement in (
            "SET TimeZone = 'UTC'",
            f"SET temp_directory = {text(str(spill or ''))}",
            *([f"SET max_temp_directory_size = '{SPILL}'"] if spill else []),
            f"SET allowed_paths = {literal(paths)}",
            *setup,
            "SET enable_external_access = false",
            "SET lock_configuration = true",
        ):
            connection.execute(statement)
        yield Guarded(connection, memory_mb, written=written)
    finally:
        connection.close()


def names_and_types(source: str, paths: Iterable[Path]) -> dict[str, str]:
    """The columns of a source of rows, each with its type in SQL."""
    with opened(paths) as guarded:
        found = guarded.table(f"DESCRIBE FROM {source}")
    return dict(
        zip(found["column_name"].to_pylist(), found["column_type"].to_pylist(), strict=True)
    )

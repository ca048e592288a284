"""DuckDB for one question, limited, with access to some Parquet files and nothing else.

Each question has its own instance, so that none sees another's data, changes its settings, or takes
its memory.
"""

import contextlib
import itertools
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from harvest import DatasetError, HarvestError, UsageError
from harvest_serve.problems import Refused
from harvest_serve.work import Left, is_stopped, stopping

from .apart import TIME_S, Apart

MEMORY_MB: Final = 100
"""Memory for one question."""

WIDE_MB: Final = 200
"""Memory for a question with a user's SQL, or that sorts all rows."""

SPILL: Final = "4GB"
"""Disk space for one question that exceeds its memory."""

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
_USERS_FAULT: Final = frozenset(
    f"{kind}Exception"
    for kind in (
        *("Parser", "Binder", "Catalog", "Conversion", "InvalidInput", "OutOfRange"),
        *("Permission", "NotImplemented", "Syntax", "InvalidType", "TypeMismatch", "Sequence"),
    )
)
"""DuckDB exceptions that the text of a query may cause, by name."""

_ADVICE: Final = re.compile(r"[^.\n]*\b(?:SET|PRAGMA|INSTALL|LOAD) [^\n]*")
"""DuckDB's advice to change a setting, which is not possible here."""

_SIZE: Final = frozenset({"OutOfMemoryException", "MemoryError", "ArrowMemoryError"})

_numbers: Final = itertools.count(1)


def quote_name(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """Quote a text for SQL."""
    return "'" + value.replace("'", "''") + "'"


def literal(paths: Iterable[Path]) -> str:
    """Return a list of paths in SQL."""
    return f"[{', '.join(text(str(path)) for path in paths)}]"


class Guarded:
    """An instance of DuckDB in this process; ``open_engine`` makes it."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def table(self, sql: str, values: Sequence[Any] = ()) -> pa.Table:
        """Return the whole result of a query."""
        with self._running():
            return self._connection.sql(sql, params=list(values)).to_arrow_table()

    def batches(
        self, sql: str, values: Sequence[Any] = (), time_s: float = TIME_S
    ) -> Iterator[pa.RecordBatch]:
        """Yield the result of a query in batches, the first of which is empty.

        Rows are read as they are consumed. time_s: seconds for the query and the consumer of its
        rows, checked between batches.
        """
        end = time.monotonic() + time_s
        with self._running():
            reader = self._connection.sql(sql, params=list(values)).to_arrow_reader(BATCH_ROWS)
        yield pa.RecordBatch.from_pylist([], reader.schema)
        while True:
            if time.monotonic() > end:
                raise Refused(f"this took longer than {time_s:g} s", remedy="ask for fewer rows")
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
        except duckdb.Error as error:
            if is_stopped():
                raise Left from error
            raise _error_of(type(error).__name__, str(error), written=False) from error


def _error_of(kind: str, said: str, *, written: bool = True) -> HarvestError:
    """Translate an error of DuckDB; written: whether the user's text may have caused it."""
    if kind in _SIZE:
        return Refused(
            "this needs more memory than one question may take",
            remedy="ask for less: fewer columns, a condition, a coarser grouping",
        )
    if written and kind == "InternalException":
        return UsageError("DuckDB cannot answer this", remedy="write it otherwise")
    if written and kind in _USERS_FAULT:
        plain = _ADVICE.sub("", said).strip()
        remedy = None if plain == said.strip() else "write it simpler: no setting can be changed"
        return UsageError(f"the query failed: {plain}", remedy=remedy)
    return DatasetError(f"its rows cannot be read: {said}")


@contextlib.contextmanager
def open_engine(
    paths: Iterable[Path],
    *,
    setup: Iterable[str] = (),
    spill: Path | None = None,
    written: bool = False,
    whole: bool = False,
) -> Iterator[Guarded | Apart]:
    """Open a DuckDB that can read only these files, with locked settings.

    setup: statements to run before the lock, such as views.
    spill: a directory for data above the memory limit, up to SPILL; None for no such data.
    written: whether queries contain a user's text. Each then runs in its own process, and errors
    may be the user's.
    whole: whether one thread may have to sort all columns of all rows.
    """
    own = None if spill is None else spill / str(next(_numbers))
    config = {**_CONFIG, "memory_limit": f"{MEMORY_MB}MB"}
    if written or whole:
        config |= {"memory_limit": f"{WIDE_MB}MB", "threads": 1 if whole else THREADS}
    statements = [
        "SET TimeZone = 'UTC'",
        f"SET temp_directory = {text(str(own or ''))}",
        *([f"SET max_temp_directory_size = '{SPILL}'"] if own else []),
        f"SET allowed_paths = {literal(paths)}",
        *setup,
        "SET enable_external_access = false",
        "SET lock_configuration = true",
    ]
    try:
        if written:
            yield Apart(config, statements, _error_of)
            return
        connection = duckdb.connect(":memory:", config=config)
        try:
            for statement in statements:
                connection.execute(statement)
            yield Guarded(connection)
        finally:
            connection.close()
    finally:
        if own is not None:
            shutil.rmtree(own, ignore_errors=True)


def parse(query: str) -> tuple[list[str], str | None]:
    """Return the types of a text's statements, and as JSON the tree of a single SELECT.

    Raises UsageError where the text is not SQL.
    """
    with open_engine((), written=True) as engine:
        assert isinstance(engine, Apart)
        return engine.parse(query)


def names_and_types(source: str, paths: Iterable[Path]) -> dict[str, str]:
    """Return the columns of a row source, each with its SQL type."""
    with open_engine(paths) as guarded:
        found = guarded.table(f"DESCRIBE FROM {source}").to_pylist()
    return {each["column_name"]: each["column_type"] for each in found}


def types_of(schema: pa.Schema) -> dict[str, str]:
    """Return the columns of an Arrow schema, each with its SQL type."""
    with duckdb.connect(":memory:") as connection:
        found = connection.from_arrow(schema.empty_table())
        return dict(zip(found.columns, map(str, found.types), strict=True))

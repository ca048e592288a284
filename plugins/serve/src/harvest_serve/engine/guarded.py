"""DuckDB that reaches some Parquet files and nothing else, with limits, for one question.

Each question has an instance of its own, so that none sees, slows by its settings, or takes the
memory of another.
"""

from __future__ import annotations

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
"""What one question may hold."""

WIDE_MB: Final = 200
"""What one that a user wrote, or that puts all rows in order, may hold."""

SPILL: Final = "4GB"
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
_USERS_FAULT: Final = frozenset(
    f"{kind}Exception"
    for kind in (
        *("Parser", "Binder", "Catalog", "Conversion", "InvalidInput", "OutOfRange"),
        *("Permission", "NotImplemented", "Syntax", "InvalidType", "TypeMismatch", "Sequence"),
    )
)
"""What the text of a query may have done, by the names of DuckDB's exceptions."""

_ADVICE: Final = re.compile(r"[^.\n]*\b(?:SET|PRAGMA|INSTALL|LOAD) [^\n]*")
"""A sentence of DuckDB's that advises to change a setting, which nobody can here."""

_SIZE: Final = frozenset({"OutOfMemoryException", "MemoryError", "TooWide", "ArrowMemoryError"})

_numbers: Final = itertools.count(1)


def quote_name(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text in SQL."""
    return "'" + value.replace("'", "''") + "'"


def literal(paths: Iterable[Path]) -> str:
    """A list of paths in SQL."""
    return f"[{', '.join(text(str(path)) for path in paths)}]"


class Guarded:
    """One instance of DuckDB in this process; ``open_engine`` makes it."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def table(self, sql: str, values: Sequence[Any] = ()) -> pa.Table:
        """The result of a query, whole."""
        with self._running():
            return self._connection.sql(sql, params=list(values)).to_arrow_table()

    def batches(
        self, sql: str, values: Sequence[Any] = (), time_s: float = TIME_S
    ) -> Iterator[pa.RecordBatch]:
        """The result of a query, batch by batch, the first of which is empty.

        No more is read than is taken.  time_s: how long the query, and who takes its rows, may
        take; looked at between batches.
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
    """What an error of DuckDB means to who asked; written: whether their text may be at fault."""
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
    """A DuckDB that can read these files alone; no setting of it can be changed any more.

    setup: statements that are run before it is locked, such as views.
    spill: a directory for what is more than MEMORY_MB, up to SPILL; none without.
    written: whether a user's text is in its queries: then each runs in a process of its own, and
        what is wrong may come from them.
    whole: whether all columns of all rows may have to be put in order, by one thread.
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
    """The types of the statements in a text, and as JSON the tree of one that is a SELECT.

    Raises UsageError where it is not SQL.
    """
    with open_engine((), written=True) as engine:
        assert isinstance(engine, Apart)
        return engine.parse(query)


def names_and_types(source: str, paths: Iterable[Path]) -> dict[str, str]:
    """The columns of a source of rows, each with its type in SQL."""
    with open_engine(paths) as guarded:
        found = guarded.table(f"DESCRIBE FROM {source}")
    return dict(
        zip(found["column_name"].to_pylist(), found["column_type"].to_pylist(), strict=True)
    )


def types_of(schema: pa.Schema) -> dict[str, str]:
    """The columns of Arrow's schema, each with its type in SQL."""
    with duckdb.connect(":memory:") as connection:
        found = connection.from_arrow(schema.empty_table())
        return dict(zip(found.columns, map(str, found.types), strict=True))

"""A user's own SQL: one query that reads tables of the dataset, within limits."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl
import pyarrow as pa

from harvest import UsageError
from harvest.errors import suggestion
from harvest.model.frames import check_times

from .engine.apart import TIME_S
from .engine.files import FILE, ROW, files_of
from .engine.guarded import open_engine, quote_name
from .engine.statements import lowered, reads, select
from .problems import Refused
from .state import Snapshot
from .tables import MOST_ROWS, tables

MOST_BYTES: Final = 64 * 2**20
"""Largest size of the rows of one answer."""

_DAY_NS: Final = 86_400 * 10**9
_MONTH_DAYS: Final = 30
"""As SQL's ``epoch`` counts an interval."""

_SHOW_TABLES: Final = re.compile(r"\s*show\s+tables\s*;?\s*", re.IGNORECASE)

_ROWS_OF_NOTHING: Final = frozenset(
    {"range", "generate_series", "unnest", "repeat", "repeat_row", "json_each", "json_tree"}
)
"""Table functions that make rows from their arguments alone."""


def ask(
    snapshot: Snapshot,
    text: str,
    *,
    limit: int = MOST_ROWS,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[pa.Table, bool]:
    """Run one query; record types and views are its tables, and ``show tables`` lists them.

    Returns its first rows, and whether it has more.
    limit: most rows of the result, up to MOST_ROWS. settings: of views, by the view's name.
    Raises UsageError for a text that is not one query, or reads anything else; Refused for a query
    that takes too much.
    """
    limit = max(0, min(limit, MOST_ROWS))
    with query(snapshot, text, settings) as batches:
        taken: list[pa.RecordBatch] = []
        for batch in batches:
            taken.append(batch)
            if sum(each.nbytes for each in taken) > MOST_BYTES:
                raise Refused("its rows hold too much", remedy="ask for fewer columns or rows")
            if sum(each.num_rows for each in taken) > limit:
                break
        table = pa.Table.from_batches(taken)
        return table.slice(0, limit), table.num_rows > limit


@contextlib.contextmanager
def query(
    snapshot: Snapshot,
    text: str,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    time_s: float = TIME_S,
) -> Iterator[Iterator[pa.RecordBatch]]:
    """Run one query; yield its batches, the first of which is empty; raises as ``ask``.

    time_s: seconds for the query and for the consumer of its rows.
    """
    if _SHOW_TABLES.fullmatch(text):
        found = tables(snapshot)
        columns = {
            "name": [each.name for each in found],
            "kind": [each.kind for each in found],
            "rows": pa.array([each.rows for each in found], pa.int64()),
        }
        yield iter([pa.RecordBatch.from_pydict(columns)])
        return
    tree = select(text)
    given = settings or {}
    named = _tables_of(tree, snapshot)
    for name in given:
        if name not in named:
            raise UsageError(
                f"settings for {name}, which the query does not name",
                remedy="remove them, or query this view",
            )
    with contextlib.ExitStack() as stack:
        setup: list[str] = []
        paths: list[Path] = []
        for name in named:
            files = stack.enter_context(files_of(snapshot, name, given.get(name)))
            paths += files.paths
            body = f"SELECT * EXCLUDE ({quote_name(FILE)}, {quote_name(ROW)}) FROM ({files.select})"
            schema, dot, rest = name.partition(".")
            if dot:
                setup.append(f"CREATE SCHEMA IF NOT EXISTS {quote_name(schema)}")
                setup.append(f"CREATE VIEW {quote_name(schema)}.{quote_name(rest)} AS {body}")
            setup.append(f"CREATE VIEW {quote_name(name)} AS {body}")
        spill = snapshot.scratch.spill
        engine = stack.enter_context(
            open_engine(dict.fromkeys(paths), setup=setup, spill=spill, written=True)
        )
        yield map(_plain_rows, engine.batches(text, time_s=time_s))


def tables_of(snapshot: Snapshot, text: str) -> list[str]:
    """Return the record types and views that a query reads; raises UsageError as ``ask``."""
    return [] if _SHOW_TABLES.fullmatch(text) else _tables_of(select(text), snapshot)


def _tables_of(tree: dict[str, Any], snapshot: Snapshot) -> list[str]:
    plugins = snapshot.dataset.plugins
    known = {
        lowered(name): name
        for name in (*plugins.record_type_names(), *plugins.views, *snapshot.dataset.record_types)
    }
    named: list[str] = []
    for name, is_function in reads(tree):
        if not is_function and lowered(name) in known:
            named.append(known[lowered(name)])
        elif not is_function:
            raise UsageError(f"no table {name!r}", remedy=suggestion(name, set(known.values())))
        elif name not in _ROWS_OF_NOTHING:
            raise UsageError(
                f"{name}() reads what is not a table of this dataset",
                remedy="name a record type or a view; 'show tables' lists them",
            )
    return list(dict.fromkeys(named))


def _plain_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Convert large integers to 64 bits, decimals to floats, and intervals to seconds.

    Repeated column names are numbered. Raises UsageError for a number or a time that is too large.
    """
    seen: dict[str, int] = {}
    names, columns = [], []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name}_{seen[name] - 1}")
        columns.append(_plain(name, column))
    return pa.RecordBatch.from_arrays(columns, names=names)


def _plain(name: str, column: Any) -> Any:
    kind = column.type
    if pa.types.is_decimal(kind):
        try:
            return column.cast(pa.float64() if kind.scale else pa.int64())
        except pa.ArrowInvalid as error:
            raise UsageError(
                f"a number in {name!r} has more than 64 bits",
                remedy=f"write CAST({name} AS DOUBLE), or VARCHAR",
            ) from error
    if kind == pa.month_day_nano_interval():
        return pa.array([_seconds(value) for value in column.to_pylist()], pa.float64())
    if pa.types.is_temporal(kind) or pa.types.is_nested(kind):
        check_times(pl.DataFrame({name: pl.from_arrow(column)}))
    return column


def _seconds(interval: Any) -> float | None:
    if interval is None:
        return None
    months, days, nanoseconds = interval
    return float(((months * _MONTH_DAYS + days) * _DAY_NS + nanoseconds) / 10**9)

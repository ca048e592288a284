"""SQL over a dataset, by DuckDB: record types and views are tables."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from harvest.errors import HarvestError, UsageError, error_within
from harvest.model.frames import DUCKDB_ONLY, check_times
from harvest.storage.history import changed

if TYPE_CHECKING:
    from .dataset import Dataset


SHOW_TABLES: Final = re.compile(r"\s*show\s+tables\s*;?\s*", re.IGNORECASE)
"""Handled here: DuckDB would show only the opened tables, which are those a query names."""
READING: Final = ("SELECT", "EXPLAIN", "MULTI")
"""Types of read-only statements that return rows; PIVOT is a group of statements (MULTI)."""
_Settings = Mapping[str, Mapping[str, Any]]
_NO_TABLE: Final = re.compile(r"Table with name \"?(.+?)\"? does not exist")


def queries(dataset: Dataset, text: str, settings: _Settings) -> list[pl.DataFrame]:
    """Return the results of SQL queries, separated by semicolons; ``show tables`` lists tables.

    settings: settings of views, by the view's name.

    Tables have the names of record types and views (``dask.transfer``, ``dask.tasks``): quoted
    whole, or as schema and table. Only tables that the queries name are opened. A query cannot
    write files or read others. A statement that makes or changes something raises UsageError before
    the first is run.
    """
    if SHOW_TABLES.fullmatch(text):
        return [_tables(dataset)]
    try:
        import duckdb  # of the extra `sql`
    except ImportError as error:
        remedy = "install hpc-harvest with the extra 'sql'"
        raise HarvestError("SQL needs duckdb, which is not installed", remedy=remedy) from error
    connection = duckdb.connect(":memory:")
    number = of = 0
    try:
        statements = connection.extract_statements(text)
        _check(statements)
        connection.execute("SET TimeZone = 'UTC'")
        known = [*dataset.plugins.record_type_names(), *dataset.plugins.views]
        _register_all(connection, dataset, _named(text, known), settings)
        # tables are registered; from here on, a query sees only these tables
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        found: list[pl.DataFrame] = []
        of = len(statements)
        for number, statement in enumerate(statements, start=1):  # noqa: B007 - for error messages
            shown = SHOW_TABLES.fullmatch(statement.query)
            found.append(_tables(dataset) if shown else _rows(connection.sql(statement.query)))
        return found
    except duckdb.Error as error:
        # a lazy table may raise an error of this package while the query runs
        within = error_within(error) if isinstance(error, duckdb.InvalidInputException) else None
        if within is not None:
            raise within from error
        wrong = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)
        if not isinstance(error, wrong) and not dataset.is_current():
            raise changed(dataset.sink) from error
        for name in _named(text, dataset):
            dataset.record_type(name)  # raises an error with a remedy for an undeclared type
        raise _wrong(dataset, str(error), f"query {number}" if of > 1 else "the query") from error
    finally:
        connection.close()


def _rows(answer: Any) -> pl.DataFrame:
    """Return the rows of a result; convert intervals to durations, with 30 days per month."""
    kinds = list(zip(answer.columns, map(str, answer.types), strict=True))
    spans = [name for name, kind in kinds if kind == "INTERVAL"]
    for name, kind in kinds:
        if DUCKDB_ONLY.match(kind):
            problem = f"{name} has the type {kind}, which only DuckDB can hold"
            raise UsageError(problem, remedy="CAST(... AS VARCHAR) makes text of it")
    if spans:
        quoted = ['"' + name.replace('"', '""') + '"' for name in spans]
        made = ", ".join(f"epoch_us({name}) AS {name}" for name in quoted)
        answer = answer.project(f"* REPLACE ({made})")
    rows: pl.DataFrame = answer.pl().with_columns(pl.col(spans).cast(pl.Duration("us")))
    check_times(rows)
    return rows


def _check(statements: Sequence[Any]) -> None:
    """Raise UsageError without a statement, or for one that does not only read."""
    if not statements:
        raise UsageError("0 statements where a query is expected", remedy="use SELECT or FROM")
    for number, statement in enumerate(statements, start=1):
        if (kind := statement.type.name) not in READING:
            problem = f"statement {number} is of the type {kind}, but a dataset is read-only"
            raise UsageError(problem, remedy="use SELECT or FROM")


def _wrong(dataset: Dataset, problem: str, which: str) -> UsageError:
    """Build the error for a failed query; for an unknown table, suggest similar names."""
    missing = _NO_TABLE.search(problem)
    if missing is None:
        return UsageError(f"{which} failed: {problem}", remedy=None)
    known = [*dataset.record_types, *dataset.views()]
    last = {name.rpartition(".")[2]: name for name in known}
    near = difflib.get_close_matches(missing[1].rpartition(".")[2], last, n=3, cutoff=0.6)
    # DuckDB's own suggestion covers only the tables that were registered
    return UsageError(
        f"{which} failed: no table {missing[1]!r}",
        remedy=(f"did you mean {' or '.join(last[name] for name in near)}? " if near else "")
        + "'show tables' lists them",
    )


def _tables(dataset: Dataset) -> pl.DataFrame:
    held = [(name, "record type", rows) for name, rows in dataset.record_types.items()]
    views = [(name, "view", None) for name in dataset.views()]
    schema = {"name": pl.String, "kind": pl.String, "rows": pl.Int64}
    return pl.DataFrame([*held, *views], schema=schema, orient="row")


def _named(text: str, names: Iterable[str]) -> list[str]:
    """Return the names of record types and views that occur in the query."""
    plain = text.replace('"', "").lower()
    return [name for name in names if name.lower() in plain]


def _register_all(
    connection: Any, dataset: Dataset, names: Sequence[str], settings: _Settings
) -> None:
    for name in settings:
        dataset.plugins.view(name)
        if name not in names:
            remedy = "remove them, or query this view"
            raise UsageError(f"settings for {name}, which the query does not name", remedy=remedy)
    for name in names:
        is_view, given = name in dataset.plugins.views, settings.get(name, {})
        # DuckDB reads the lazy frame itself, and asks it for the columns and rows it needs
        table = f"source of {name}"
        connection.register(table, dataset.view(name, **given) if is_view else dataset[name])
        schema, dot, rest = name.partition(".")
        if dot:
            connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
            connection.execute(f'CREATE VIEW "{schema}"."{rest}" AS FROM "{table}"')
        connection.execute(f'CREATE VIEW "{name}" AS FROM "{table}"')

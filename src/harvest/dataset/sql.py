"""SQL over a dataset, by DuckDB: record types and views are tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harvest.errors import HarvestError, UsageError, told_within

if TYPE_CHECKING:
    import polars as pl

    from .dataset import Dataset

__all__ = ["query"]


def query(dataset: Dataset, text: str) -> pl.DataFrame:
    """The result of one SQL query.

    Tables are named as the record types and views are (``dask.transfer``, ``dask.tasks``): quoted
    whole, or as schema and table.  Only tables that the query names are opened.  The query cannot
    write files or read others.

    Raises UsageError for wrong SQL, HarvestError when duckdb is not installed.
    """
    try:
        import duckdb
    except ImportError as error:
        raise HarvestError(
            "SQL needs duckdb, which is not installed",
            remedy="install hpc-harvest with the extra 'sql'",
        ) from error
    connection = duckdb.connect(":memory:")
    try:
        connection.execute("SET TimeZone = 'UTC'")
        for name in _named(dataset, text):
            _register(connection, dataset, name)
        # names are bound; from here on the query sees nothing but these tables
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        result: pl.DataFrame = connection.sql(text).pl()
        return result
    except duckdb.Error as error:
        # rows are read while the query runs
        told = told_within(error) if isinstance(error, duckdb.InvalidInputException) else None
        if told is not None:
            raise told from error
        raise UsageError(
            f"the query failed: {error}",
            remedy="tables are named like " + ", ".join(f'"{n}"' for n in list(dataset)[:3]),
        ) from error
    finally:
        connection.close()


def _named(dataset: Dataset, text: str) -> list[str]:
    """Record types and views whose names occur in the query."""
    plain = text.replace('"', "").lower()
    names = [*dataset.plugins.record_types(), *dataset.plugins.views]
    return [name for name in names if name.lower() in plain]


def _register(connection: Any, dataset: Dataset, name: str) -> None:
    views = dataset.plugins.views
    frame = dataset.view(name) if name in views else dataset[name]
    # DuckDB reads the lazy frame itself, and asks it for the columns and rows it needs
    table = f"source of {name}"
    connection.register(table, frame)
    schema, dot, rest = name.partition(".")
    if dot:
        connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        connection.execute(f'CREATE VIEW "{schema}"."{rest}" AS FROM "{table}"')
    connection.execute(f'CREATE VIEW "{name}" AS FROM "{table}"')

"""SQL over a dataset, by DuckDB: record types and views are tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from harvest.errors import HarvestError, UsageError, error_within

if TYPE_CHECKING:
    from .dataset import Dataset

__all__ = ["query"]


SHOW_TABLES: Final = re.compile(r"\s*show\s+tables\s*;?\s*", re.IGNORECASE)
"""DuckDB would show the tables that were opened, and only those that a query names are."""


def query(
    dataset: Dataset, text: str, settings: Mapping[str, Mapping[str, Any]] | None = None
) -> pl.DataFrame:
    """The result of one SQL query; ``show tables`` lists what can be asked.

    settings: of views, by the view's name.

    Tables are named as the record types and views are (``dask.transfer``, ``dask.tasks``): quoted
    whole, or as schema and table.  Only tables that the query names are opened.  The query cannot
    write files or read others.

    Raises UsageError for wrong SQL, or settings of a view that the query does not name;
    HarvestError when duckdb is not installed.
    """
    if SHOW_TABLES.fullmatch(text):
        return _tables(dataset)
    try:
        import duckdb  # of the extra `sql`
    except ImportError as error:
        raise HarvestError(
            "SQL needs duckdb, which is not installed",
            remedy="install hpc-harvest with the extra 'sql'",
        ) from error
    connection = duckdb.connect(":memory:")
    try:
        statements = connection.extract_statements(text)
        if len(statements) != 1:
            raise UsageError(
                f"{len(statements)} statements where one query is expected",
                remedy="ask each query in a command of its own",
            )
        connection.execute("SET TimeZone = 'UTC'")
        _register_all(connection, dataset, _tables_in(dataset, text), settings or {})
        # names are bound; from here on the query sees nothing but these tables
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        relation = connection.sql(text)
        if relation is None:
            raise UsageError("the statement gives no rows", remedy="ask with SELECT or FROM")
        result: pl.DataFrame = relation.pl()
        return result
    except duckdb.Error as error:
        # rows are read while the query runs
        within = error_within(error) if isinstance(error, duckdb.InvalidInputException) else None
        if within is not None:
            raise within from error
        for name in _undeclared_types(dataset, text):
            dataset.record_type(name)  # its error says what to install
        raise UsageError(
            f"the query failed: {error}",
            remedy="tables are named like " + ", ".join(f'"{n}"' for n in list(dataset)[:3]),
        ) from error
    finally:
        connection.close()


def _tables(dataset: Dataset) -> pl.DataFrame:
    """What can be asked: record types with their rows, and views."""
    held = dataset.record_types
    views = dataset.views()
    return pl.DataFrame(
        {
            "name": [*held, *views],
            "kind": ["record type"] * len(held) + ["view"] * len(views),
            "rows": [*held.values(), *[None] * len(views)],
        },
        schema={"name": pl.String, "kind": pl.String, "rows": pl.Int64},
    )


def _tables_in(dataset: Dataset, text: str) -> list[str]:
    """Record types and views whose names occur in the query."""
    plain = text.replace('"', "").lower()
    names = [*dataset.plugins.record_types(), *dataset.plugins.views]
    return [name for name in names if name.lower() in plain]


def _undeclared_types(dataset: Dataset, text: str) -> list[str]:
    """Record types of the dataset that the query names and no installed plugin declares."""
    plain = text.replace('"', "").lower()
    known = dataset.plugins.record_types()
    return [name for name in dataset if name not in known and name.lower() in plain]


def _register_all(
    connection: Any,
    dataset: Dataset,
    names: Sequence[str],
    settings: Mapping[str, Mapping[str, Any]],
) -> None:
    for name in settings:
        dataset.plugins.view(name)
        if name not in names:
            raise UsageError(
                f"settings for {name}, which the query does not name",
                remedy="take them away, or ask this view",
            )
    for name in names:
        _register(connection, dataset, name, settings.get(name, {}))


def _register(connection: Any, dataset: Dataset, name: str, settings: Mapping[str, Any]) -> None:
    views = dataset.plugins.views
    frame = dataset.view(name, **settings) if name in views else dataset[name]
    # DuckDB reads the lazy frame itself, and asks it for the columns and rows it needs
    table = f"source of {name}"
    connection.register(table, frame)
    schema, dot, rest = name.partition(".")
    if dot:
        connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        connection.execute(f'CREATE VIEW "{schema}"."{rest}" AS FROM "{table}"')
    connection.execute(f'CREATE VIEW "{name}" AS FROM "{table}"')

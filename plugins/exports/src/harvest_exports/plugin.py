"""What this distribution offers to harvest: databases."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from harvest import ExporterSpec, Setting, hookimpl

harvest_api = 1

_VIEWS: Final = (
    "views as tables, each NAME or NAME:KEY=VALUE,KEY=VALUE; semicolons between them; "
    "all: every view that the dataset serves without a setting; none: no view"
)


@hookimpl
def harvest_exporters() -> Iterable[ExporterSpec]:
    """The exporters ``postgresql`` and ``duckdb``."""
    return [
        ExporterSpec(
            name="postgresql",
            doc="tables in a schema of a PostgreSQL; what changed since the last export is sent",
            write="harvest_exports.postgresql.export:write",
            targets=("postgresql://", "postgres://"),
            settings={
                "schema": Setting("the schema that holds the tables", type=str, default="harvest"),
                "views": f"{_VIEWS}; unless given, those exported before",
            },
        ),
        ExporterSpec(
            name="duckdb",
            doc="one file for DuckDB: record types and views as tables, with what columns mean",
            write="harvest_exports.duckdb_file:write",
            targets=(".duckdb",),
            settings={
                "views": Setting(_VIEWS, default="all"),
                "memory": Setting("memory that DuckDB may take", type=str, default="512MB"),
            },
        ),
    ]

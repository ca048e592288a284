"""What this distribution offers to harvest: databases and tables of Delta Lake."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from harvest import ExporterSpec, Setting, hookimpl
from harvest.toolkit.settings import at_least

harvest_api = 1

_VIEWS: Final = (
    "views as tables, each NAME or NAME:KEY=VALUE,KEY=VALUE; semicolons between them; "
    "all: every view that the dataset serves without a setting; none: no view"
)


@hookimpl
def harvest_exporters() -> Iterable[ExporterSpec]:
    """The exporters ``postgresql``, ``duckdb`` and ``delta``."""
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
        ExporterSpec(
            name="delta",
            doc="tables of Delta Lake in a directory or an object store; what changed is written",
            write="harvest_exports.delta:write",
            settings={
                "views": f"{_VIEWS}; unless given, those exported before",
                "partition": Setting(
                    "a column that divides new tables; or day, month or year, of their time",
                    type=str,
                ),
                "keep": Setting(
                    "days of old versions that stay; older ones are removed for good",
                    type=int,
                    check=at_least(1),
                ),
                "optimize": Setting("make few files of many", type=bool, default=False),
                "check": Setting(
                    "write nothing, and say of which commit each table is", type=bool, default=False
                ),
                "storage": Setting("a TOML file with options of an object store", type=str),
            },
        ),
    ]

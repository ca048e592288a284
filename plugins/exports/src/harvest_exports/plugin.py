"""Plugin with the exporters for databases and Delta Lake."""

from typing import Final

from harvest import ExporterSpec, Setting, declare
from harvest.toolkit.settings import matches, within

_SIZE: Final = matches(r"(?i)\d+(\.\d+)? ?[kmgt](i?b)?", "write it like 2GB")
_VIEWS: Final = (
    "views to export as tables, each NAME or NAME:KEY=VALUE,KEY=VALUE, separated by semicolons; "
    "all: every view that needs no setting; none: no view"
)

harvest_exporters = declare(
    ExporterSpec(
        name="postgresql",
        doc="tables in a PostgreSQL schema; sends what changed since the last export",
        write="harvest_exports.postgresql.export:write",
        targets=("postgresql://", "postgres://"),
        settings={
            "schema": Setting("schema of the tables", type=str, default="harvest"),
            "views": f"{_VIEWS}; by default those of the last export",
        },
    ),
    ExporterSpec(
        name="duckdb",
        doc="one DuckDB file with record types and views as tables, with column comments",
        write="harvest_exports.duckdb_file:write",
        targets=(".duckdb",),
        settings={
            "views": Setting(_VIEWS, default="all"),
            "memory": Setting("memory limit of DuckDB", str, "512MB", _SIZE),
        },
    ),
    ExporterSpec(
        name="delta",
        doc="tables of Delta Lake in a directory or an object store; writes what changed",
        write="harvest_exports.delta:write",
        settings={
            "views": f"{_VIEWS}; by default those of the last export",
            "partition": Setting(
                "column that partitions new tables; or day, month or year of their time", str
            ),
            "keep": Setting(
                "days to keep old versions; older ones are removed", int, check=within(1, 10**6)
            ),
            "optimize": Setting("merge small files", type=bool, default=False),
            "check": Setting("write nothing; show the commit of each table", bool, default=False),
            "storage": Setting("a TOML file with options of an object store", type=str),
        },
    ),
)

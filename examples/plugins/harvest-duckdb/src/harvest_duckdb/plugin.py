"""What this plugin offers."""

from collections.abc import Iterable

from harvest import SinkSpec, hookimpl

harvest_api = 1


@hookimpl
def harvest_sinks() -> Iterable[SinkSpec]:
    """The sink duckdb."""
    return [
        SinkSpec(
            name="duckdb",
            doc="One DuckDB database, a table for each record type.",
            factory="harvest_duckdb.sink:DuckdbSink",
            suffixes=(".duckdb",),
        )
    ]

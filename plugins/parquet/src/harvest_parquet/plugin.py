"""The sink that this plugin offers."""

from collections.abc import Iterable

from harvest import SinkSpec, hookimpl

harvest_api = 1


@hookimpl
def harvest_sinks() -> Iterable[SinkSpec]:
    """Declare the sink ``parquet``."""
    return [
        SinkSpec(
            name="parquet",
            doc="directory of Parquet files, one per partition and record type",
            factory="harvest_parquet.sink:ParquetSink",
        )
    ]

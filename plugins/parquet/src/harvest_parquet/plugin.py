"""The sink that this plugin offers."""

from harvest import SinkSpec, declare

harvest_sinks = declare(
    SinkSpec(
        name="parquet",
        doc="directory of Parquet files, one per partition and record type",
        factory="harvest_parquet.sink:ParquetSink",
    )
)

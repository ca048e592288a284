"""The sink ``parquet`` keeps what all sinks promise."""

import polars as pl

from harvest_parquet.sink import ParquetSink
from harvest_testing import SinkConformance


class TestParquet(SinkConformance):
    sink = ParquetSink

    def read_natively(self, location, record_type):
        return pl.read_parquet(f"{location}/{record_type.name}/*.parquet")

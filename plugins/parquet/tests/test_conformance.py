"""The sink ``parquet`` keeps what all sinks promise."""

from __future__ import annotations

from harvest.testing import SinkConformance
from harvest_parquet.sink import ParquetSink


class TestParquet(SinkConformance):
    sink = ParquetSink

"""The sink ``parquet``: a directory of Parquet files, one per partition and record type."""

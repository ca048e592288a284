"""Reading Parquet files back as lazy frames, whole or in part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from harvest import DirectorySink, PartFile, RecordType
from harvest.model.frames import native_schema, plain_columns, polars_schema

__all__ = ["scan"]


def scan(sink: DirectorySink, files: Sequence[PartFile], record_type: RecordType) -> pl.LazyFrame:
    """The rows of one record type; see :meth:`harvest_parquet.sink.ParquetSink.scan`."""
    wanted = [file for file in files if file.record_type == record_type.name]
    if not wanted:
        return pl.LazyFrame(schema=polars_schema(record_type))
    # some files hold rows of several partitions, and not all of these need be asked for
    taken = Counter[str]()
    for file in wanted:
        taken[file.path] += file.rows
    whole = [file for file in wanted if file.file_rows in (None, taken[file.path])]
    partly = [file for file in wanted if file.file_rows not in (None, taken[file.path])]
    frames = [
        _scan(sink.paths([file]), record_type).slice(file.first_row or 0, file.rows)
        for file in partly
    ]
    if whole:
        frames.insert(0, _scan(list(dict.fromkeys(sink.paths(whole))), record_type))
    frame = pl.concat(frames) if len(frames) > 1 else frames[0]
    return frame.select(plain_columns(record_type))


def _scan(paths: Sequence[Path], record_type: RecordType) -> pl.LazyFrame:
    return pl.scan_parquet(
        paths,
        schema=native_schema(record_type),
        missing_columns="insert",
        extra_columns="ignore",
        cast_options=pl.ScanCastOptions(
            integer_cast="upcast",
            float_cast="upcast",
            missing_struct_fields="insert",
            extra_struct_fields="ignore",
        ),
        glob=False,
        hive_partitioning=False,
    )

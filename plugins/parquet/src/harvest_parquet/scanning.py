"""Read Parquet files as lazy frames, completely or only some of their rows."""

from collections import Counter
from collections.abc import Sequence

import polars as pl

from harvest import DirectorySink, PartFile, RecordType
from harvest.model.frames import no_rows, plain_columns, scan_parquet


def scan(sink: DirectorySink, files: Sequence[PartFile], record_type: RecordType) -> pl.LazyFrame:
    """Scan the rows of one record type; see :meth:`harvest_parquet.sink.ParquetSink.scan`."""
    wanted = [file for file in files if file.record_type == record_type.name]
    if not wanted:
        return no_rows(record_type)
    # a shared file holds rows of several partitions, perhaps not all of them requested
    taken = Counter[str]()
    for file in wanted:
        taken[file.path] += file.rows
    whole = [file for file in wanted if file.file_rows in (None, taken[file.path])]
    partly = [file for file in wanted if file.file_rows not in (None, taken[file.path])]
    frames = [
        scan_parquet(sink.paths([file]), record_type).slice(file.first_row or 0, file.rows)
        for file in partly
    ]
    if whole:
        frames.insert(0, scan_parquet(list(dict.fromkeys(sink.paths(whole))), record_type))
    frame = pl.concat(frames) if len(frames) > 1 else frames[0]
    return frame.select(plain_columns(record_type))

"""Encode rows in the shape of the events model as JSON Lines."""

import polars as pl
import pyarrow as pa

from harvest import RecordType
from harvest.model.events import event_columns
from harvest.model.frames import frame_of
from harvest.model.json import lines_of

from .decoding import TIME_FORMAT

__all__ = ["encode_event_lines"]


def encode_event_lines(record_type: RecordType, table: pa.Table) -> memoryview:
    """Encode a table's rows in the shape of the events model; return the bytes to write.

    Each line begins with ``{"record_type":"<name>",`` and ends with ``data``, an object.
    Raises RecordTypeError if a column's type does not fit its role.
    """
    rows = frame_of(record_type, table).select(event_columns(record_type))
    times = {name: pl.col(name).dt.strftime(TIME_FORMAT) for name in ("time", "end_time")}
    start = pl.struct(times.get(name, pl.col(name)) for name in rows.columns if name != "data")
    line = pl.concat_str(
        start.struct.json_encode().str.strip_suffix("}"),
        pl.lit(',"data":'),
        pl.col("data"),
        pl.lit("}\n"),
    )
    return lines_of(rows.select(line.alias("line")).to_series())

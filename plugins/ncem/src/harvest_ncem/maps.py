"""Frames whose column ``extra`` is to become an Arrow map."""

from __future__ import annotations

import polars as pl
import pyarrow as pa

__all__ = ["EXTRA", "with_extra"]

EXTRA = pl.List(pl.Struct({"key": pl.String, "value": pl.String}))
"""The polars type in which ``extra`` is put together."""


def with_extra(frame: pl.DataFrame) -> pa.Table:
    """The frame as Arrow, its list of key-value structs ``extra`` as a map."""
    table = frame.drop("extra").to_arrow()
    lists = frame["extra"]
    if lists.null_count() == len(lists):
        return table
    pair = pa.struct([("key", pa.string()), ("value", pa.string())])
    array = lists.to_arrow().cast(pa.list_(pair))
    values = array.values
    maps = pa.MapArray.from_arrays(
        array.offsets, values.field("key"), values.field("value"), mask=array.is_null()
    )
    return table.append_column("extra", maps)

"""Small helpers to build Arrow arrays."""

from collections.abc import Mapping

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["flags", "list_array", "text_map"]


def flags(array: pa.BooleanArray) -> NDArray[np.bool_]:
    """Convert booleans to a numpy array; through polars, since pyarrow would import pandas."""
    return pl.Series(array).to_numpy(writable=True)


def text_map(columns: Mapping[str, pa.Array]) -> pa.MapArray:
    """Combine text columns into one map per row, without null values; null if all are null."""
    names, arrays = list(columns), list(columns.values())
    rows = len(arrays[0])
    filled = np.column_stack([flags(a.is_valid()) for a in arrays])
    row, column = np.nonzero(filled)
    counts = filled.sum(axis=1)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    values = pa.concat_arrays([a.cast(pa.string()) for a in arrays])
    return pa.MapArray.from_arrays(
        pa.array(offsets, mask=np.append(counts == 0, False)),
        pa.array(names, pa.string()).take(pa.array(column)),
        values.take(pa.array(column * rows + row)),
    )


def list_array(
    lengths: NDArray[np.int64], values: pa.Array, null: NDArray[np.bool_] | None = None
) -> pa.ListArray:
    """Build lists of the given lengths from consecutive ``values``.

    null: mask of the lists that are null; their length must be 0.
    """
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    mask = np.append(null, False) if null is not None and null.any() else None
    return pa.ListArray.from_arrays(pa.array(offsets, mask=mask), values)

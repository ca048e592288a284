"""Kinds of Dask's stimuli, which cause state changes of tasks."""

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["stimulus_kinds"]


def stimulus_kinds(ids: pa.Array) -> pa.Array:
    """Return the kind of each stimulus: its id without the trailing ``-<epoch seconds>``."""
    trimmed = pc.ascii_rtrim(ids, characters="0123456789.")
    taken = pc.subtract(pc.binary_length(ids), pc.binary_length(trimmed))
    timed = pc.and_(pc.ends_with(trimmed, "-"), pc.greater_equal(taken, 9))
    return pc.if_else(timed, pc.utf8_slice_codeunits(trimmed, 0, -1), ids)

"""Rows of a dataset in batches, so that memory does not grow with them."""

import contextlib
from collections.abc import Iterator
from typing import Final

import polars as pl
import pyarrow as pa

BATCH_ROWS: Final = 65_536
"""Rows in memory at a time.  The batches of polars itself are read far ahead of their use."""


def batches(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Yield the rows in order, at most BATCH_ROWS at a time; an empty frame yields nothing."""
    first = 0
    while True:
        batch = frame.slice(first, BATCH_ROWS).collect()
        if batch.height:
            yield batch
        if batch.height < BATCH_ROWS:
            return
        first += BATCH_ROWS


@contextlib.contextmanager
def streamed(schema: pa.Schema, made: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatchReader]:
    """Stream rows to a database; errors raised while rows are made pass through unchanged."""
    failed: list[BaseException] = []

    def kept() -> Iterator[pa.RecordBatch]:
        try:
            yield from made
        except BaseException as error:
            failed.append(error)
            raise

    try:
        yield pa.RecordBatchReader.from_batches(schema, kept())
    except Exception:
        if failed:
            raise failed[0] from None
        raise

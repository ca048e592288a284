"""Rows of a dataset in batches, so that memory does not grow with them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

import polars as pl
import pyarrow as pa

BATCH_ROWS: Final = 65_536
"""Rows in memory together: polars' own batches are read far ahead of who takes them."""


def batches(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """All rows of files in order, so many at a time; nothing where there is none."""
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
    """Rows for a database to read; an error of who makes them is raised as it is."""
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

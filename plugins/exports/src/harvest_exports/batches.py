"""Rows of a dataset in batches, so that memory does not grow; what of them an export wrote."""

import contextlib
from collections.abc import Iterator
from typing import Final

import attrs
import polars as pl
import pyarrow as pa

from harvest import Dataset, DatasetChanged
from harvest.toolkit.amounts import count_in_words

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


def check_current(dataset: Dataset) -> None:
    """Raise DatasetChanged if the dataset has a later commit than the opened one."""
    if not dataset.is_current():
        raise DatasetChanged("the dataset has changed since it was opened", remedy="open it again")


@attrs.define
class Written:
    """Counts of an export: rows written, rows removed, and tables changed."""

    rows: int = 0
    removed: int = 0
    tables: int = 0

    def __str__(self) -> str:
        rows, removed = count_in_words(self.rows, "row"), count_in_words(self.removed, "row")
        tables = count_in_words(self.tables, "table")
        return f"{rows} written and {removed} removed in {tables}"

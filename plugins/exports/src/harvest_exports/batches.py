"""Rows of a dataset in batches, so that memory does not grow with them."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl

from harvest import Dataset

from .chosen import ViewChoice, left_out_where_refused

__all__ = ["BATCH_ROWS", "batches", "stored_view"]

BATCH_ROWS: Final = 65_536
"""Rows in memory at once: polars' own batches are read far ahead of who takes them."""


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
def stored_view(dataset: Dataset, view: ViewChoice) -> Iterator[Path | None]:
    """The rows of a view in an Arrow file, as long as the context lasts: it is computed once.

    None where only ``all`` asks for it and it wants a choice of its own, which is said.
    """
    with tempfile.TemporaryDirectory(prefix="harvest-") as scratch:
        path, is_whole = Path(scratch) / "view.arrow", False
        with left_out_where_refused(view):
            dataset.view(view.name, **view.settings).sink_ipc(path, compression="lz4")
            is_whole = True  # one that is refused once it is computed leaves a beginning
        yield path if is_whole else None

"""The view ``dask.critical_path``."""

from __future__ import annotations

import polars as pl

from harvest import DatasetReader

from ..critical.path import critical_path
from ..executions.executions import executions
from ..frames import load
from ..record_names import WAITED


def critical_path_view(dataset: DatasetReader, *, run: str | None = None) -> pl.LazyFrame:
    """The critical path of each run, in order of time."""
    frames = load(dataset, WAITED, run=run)
    return critical_path(executions(frames).collect(), frames).lazy()

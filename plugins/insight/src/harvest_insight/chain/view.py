"""The view ``run.chain``: every link across sources, with how it was made and how sure it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from .files import entries_of_files, files_of_logs
from .jobs import jobs_of_logs, jobs_of_runs
from .links import LINK
from .microscope import scans_and_jobs
from .runs import processes_and_logs, runs_of

if TYPE_CHECKING:
    from harvest import DatasetReader

__all__ = ["chain", "links_of"]


def chain(dataset: DatasetReader) -> pl.LazyFrame:
    """One row per link; ``harvest_insight.columns`` has what the columns mean."""
    return pl.concat([pl.LazyFrame(schema=LINK), *links_of(dataset)])


def links_of(dataset: DatasetReader) -> Iterator[pl.LazyFrame]:
    """The links, kind by kind."""
    runs = runs_of(dataset, frozenset(dataset.views()))
    yield from jobs_of_runs(dataset, runs)
    yield from processes_and_logs(dataset, runs)
    yield from jobs_of_logs(dataset, runs.logs)
    yield from files_of_logs(dataset)
    yield from entries_of_files(dataset)
    yield from scans_and_jobs(dataset)

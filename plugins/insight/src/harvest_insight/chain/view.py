"""The view ``run.chain``: every link across sources, with how it was made and how sure it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .files import entries_of_files, files_of_logs
from .jobs import jobs_of_logs, jobs_of_runs
from .links import links_together
from .microscope import scans_and_jobs
from .runs import processes_and_logs, runs_of

if TYPE_CHECKING:
    import polars as pl

    from harvest import DatasetReader


def chain(dataset: DatasetReader) -> pl.LazyFrame:
    """One row per link; ``harvest_insight.views`` has what the columns mean."""
    runs = runs_of(dataset)
    return links_together(
        *jobs_of_runs(dataset, runs),
        *processes_and_logs(dataset, runs),
        *jobs_of_logs(dataset, runs.logs),
        *files_of_logs(dataset),
        *entries_of_files(dataset),
        *scans_and_jobs(dataset),
    )

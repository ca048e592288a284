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
    from harvest.dataset import Dataset

__all__ = ["chain", "links_of"]


def chain(dataset: Dataset) -> pl.LazyFrame:
    """One row per link.

    Columns:

    - link: ``job to run``, ``run to process``, ``process to log``, ``run to log``, ``job to log``,
      ``log to file``, ``file to entry``; ``scan to Distiller``, ``Distiller to job``,
      ``job to file``;
    - how: what it was made from; sure: ``certain`` (both records hold the same id, or one lies
      within the other), ``likely`` (they fit by place and time, and nothing else does) or
      ``possible`` (others fit too); candidates: how many fit;
    - found: whether the dataset holds the record whose id is named, as a job's;
    - the keys of its two ends, the others null: cluster and job_id (``slurm.job.job_id_raw``),
      run, process (a worker's or another process's address) with host and pid, log (``origin``
      of Darshan's records), record_id, path, inode and generation with the scan's time,
      scan_number (the microscope's) and scan_id (Distiller's).
    """
    return pl.concat([pl.LazyFrame(schema=LINK), *links_of(dataset)])


def links_of(dataset: Dataset) -> Iterator[pl.LazyFrame]:
    """The links, kind by kind."""
    runs = runs_of(dataset, frozenset(dataset.views()))
    yield from jobs_of_runs(dataset, runs)
    yield from processes_and_logs(dataset, runs)
    yield from jobs_of_logs(dataset, runs.logs)
    yield from files_of_logs(dataset)
    yield from entries_of_files(dataset)
    yield from scans_and_jobs(dataset)

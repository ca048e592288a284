"""Links of the microscope: from scan to Distiller to Slurm job to the files that the job wrote."""

from collections.abc import Iterator
from typing import Final

import polars as pl

from harvest import DatasetReader

from .links import CERTAIN, LIKELY, links, rows

_FILE: Final = ("scan_number", "distiller_id", "kind", "path", "modify_time")
_JOB: Final = ("cluster", "job_id_raw", "start_time", "end_time")
_LATE: Final = pl.duration(minutes=1)
"""Maximum time from a job's end to the modification of its file, since clocks differ."""


def scans_and_jobs(dataset: DatasetReader) -> Iterator[pl.LazyFrame]:
    """Yield the links ``scan to Distiller``, ``Distiller to job`` and ``job to file``.

    The name of a processed file holds both the microscope's number and Distiller's id of the scan.
    Distiller records the Slurm job's id. A file belongs to a job if it is of the job's scan and
    was last modified while the job ran.
    """
    files = rows(dataset, "ncem.data_file", *_FILE).filter(
        pl.col("kind") == "h5", pl.col("distiller_id") > 0
    )
    started = rows(dataset, "distiller.job", "scan_id", "slurm_id")
    jobs = _jobs_of(started, rows(dataset, "slurm.job", *_JOB))
    ids = started.select("scan_id", known=pl.lit(value=True)).unique()
    named = files.select("scan_number", scan_id="distiller_id").unique()
    yield links(
        named.join(ids, on="scan_id", how="left").sort("scan_number", "scan_id"),
        "scan to Distiller",
        how="both ids in a processed file's name",
        sure=CERTAIN,
        found=pl.col("known").fill_null(value=False),
    )
    yield links(
        jobs,
        "Distiller to job",
        how="Slurm id in Distiller",
        sure=CERTAIN,
        found=pl.col("start_time").is_not_null(),
    )
    yield _written(files, jobs)


def _jobs_of(started: pl.LazyFrame, jobs: pl.LazyFrame) -> pl.LazyFrame:
    """Return the Slurm jobs that Distiller names, one row for each cluster that has the id."""
    whole = jobs.group_by("cluster", job_id="job_id_raw").agg(
        pl.col("start_time").min(), pl.col("end_time").max()
    )
    submitted = started.drop_nulls().rename({"slurm_id": "job_id"}).unique()
    return (
        submitted.join(whole, on="job_id", how="left")
        .with_columns(candidates=pl.len().over("scan_id", "job_id").cast(pl.Int64))
        .sort("scan_id", "job_id", "cluster")
    )


def _written(files: pl.LazyFrame, jobs: pl.LazyFrame) -> pl.LazyFrame:
    ran = jobs.drop("candidates").drop_nulls(["start_time", "end_time"])
    during = (
        files.rename({"distiller_id": "scan_id"})
        .join(ran, on="scan_id")
        .filter(
            pl.col("modify_time") >= pl.col("start_time"),
            pl.col("modify_time") <= pl.col("end_time") + _LATE,
        )
    )
    several = pl.len().over("scan_id", "scan_number", "path", "modify_time").cast(pl.Int64)
    order = ("scan_id", "job_id", "cluster", "path", "modify_time")
    return links(
        during.with_columns(candidates=several).sort(*order),
        "job to file",
        how="scan, and written while the job ran",
        sure=LIKELY,
    )

"""The views ``slurm.jobs`` and ``slurm.efficiency``, of chosen jobs."""

from __future__ import annotations

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import fraction

from .period import selection_of


def chosen_jobs(data: DatasetReader, **choice: str | None) -> pl.LazyFrame:
    """The rows of ``jobs``.  choice: which; see ``period.selection_of``."""
    return selection_of(data, choice).jobs(data).drop("at", "again", "run_again")


def efficiency(data: DatasetReader, **choice: str | None) -> pl.LazyFrame:
    """How much of what a job was given it used; null where a part was not measured.

    ``cpu_eff`` = CPU seconds of all steps / those allocated (elapsed x CPUs); ``mem_eff`` = most
    memory of a step / memory allocated; ``gpu_eff`` = utilisation of GPUs / (100 % x GPUs);
    ``timelimit_eff`` = elapsed / time limit.  choice: which jobs; see ``period.selection_of``.
    """
    return chosen_jobs(data, **choice).select(
        pl.col("job_id", "submit_time", "restart", "cluster"),
        pl.col("name", "user", "account", "partition", "qos", "state"),
        pl.col("elapsed_s", "alloc_cpus", "cpu_s"),
        fraction("cpu_s", "cpu_time_s").alias("cpu_eff"),
        pl.col("alloc_mem_bytes", "mem_used_bytes"),
        fraction("mem_used_bytes", "alloc_mem_bytes").alias("mem_eff"),
        pl.col("alloc_gpus"),
        fraction("gpu_util_percent", pl.col("alloc_gpus") * 100).alias("gpu_eff"),
        pl.col("timelimit_s"),
        fraction("elapsed_s", "timelimit_s").alias("timelimit_eff"),
        (pl.col("cpu_time_s") / 3600).alias("cpu_hours"),
        (pl.col("elapsed_s") * pl.col("alloc_gpus") / 3600).alias("gpu_hours"),
        pl.col("start_time", "end_time"),
    )

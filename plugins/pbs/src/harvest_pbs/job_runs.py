"""The frame of PBS job runs."""

import polars as pl

from harvest import DatasetReader
from harvest_accounting.frame import complete, once, rows_of

from .plugin import JOB_RUNS


def runs(data: DatasetReader) -> pl.LazyFrame:
    """Build the frame; a later run of a job waited from the end of the run before it.

    The log repeats the first submission in all runs of a job.
    """
    every = _ended_by_deletion(rows_of(data, JOB_RUNS), data)
    # an array is a row while it waits; its tasks may be in the next log
    whole = pl.col("job_id").str.contains("[]", literal=True)
    begun = pl.col("array_task_id").is_not_null().any().over("cluster", "job_id_raw")
    rows = once(every.filter(~(whole & begun)), JOB_RUNS.order)
    job = ("cluster", "job_id")
    before = pl.col("end_time").shift(1).over(job, order_by="start_time")
    again = (pl.col("restart") > 0) | (pl.col("restarts") > 0)
    rows = rows.with_columns(submit_time=pl.when(again).then(before).otherwise("submit_time"))
    eligible = pl.max_horizontal("eligible_time", "submit_time")
    of_again = pl.when(pl.col("submit_time").is_not_null()).then(eligible)
    rows = rows.with_columns(eligible_time=pl.when(again).then(of_again).otherwise("eligible_time"))
    # mem=0kb: the job ended before the first sample; cput may be 0 or known
    sampled = (pl.col("mem_used_bytes") != 0).fill_null(value=True)
    # a job has a start unless it was deleted while it waited
    never = (pl.col("state") == "cancelled") & pl.col("start_time").is_null()
    rows = rows.with_columns(
        elapsed_s=pl.coalesce("elapsed_s", pl.when(never).then(0.0)),
        cpu_s=pl.when(sampled | (pl.col("cpu_s") > 0)).then("cpu_s"),
        mem_used_bytes=pl.when(sampled).then("mem_used_bytes"),
    )
    return complete(rows, fills=JOB_RUNS.fills)


def _ended_by_deletion(rows: pl.LazyFrame, data: DatasetReader) -> pl.LazyFrame:
    """End waiting jobs that a later log deletes; ``Runs`` ends those that their own log deletes."""
    if "pbs.event" not in data:
        return rows
    gone = pl.col("code").is_in(["D", "A"]) & pl.col("job_id").is_not_null()
    first = (
        data["pbs.event"]
        .filter(gone)
        .group_by("job_id")
        .agg(
            deleted=pl.col("time").min(),
            deleted_by=pl.col("requestor").sort_by("time", "origin", "position").first(),
        )
    )
    # some versions write no submit time
    later = pl.col("deleted") >= pl.coalesce("submit_time", "deleted")
    waited = (pl.col("state") == "pending") & later
    return rows.join(first, on="job_id", how="left", maintain_order="left").with_columns(
        pl.when(waited).then(new).otherwise(old).alias(old)
        for old, new in {
            "state": pl.lit("cancelled"),
            "end_time": pl.col("deleted"),
            "state_by": pl.col("deleted_by"),
        }.items()
    )

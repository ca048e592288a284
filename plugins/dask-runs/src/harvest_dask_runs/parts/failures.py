"""Executions that failed, with what they raised, and tasks that ran more than once."""

from __future__ import annotations

import polars as pl

from ..executions.prefixes import prefix_of
from ..executions.windows import RUNNING
from ..frames import Frames


def failed_tasks(frames: Frames) -> pl.LazyFrame:
    """One row per task of which an execution failed: run, key, prefix, failed, unseen, error.

    failed: how many; unseen: of these, in the scheduler's record alone, and so no executions.

    Each failure counts once, whether the worker recorded it, the scheduler, or both; tasks that
    erred since another did were not executed.  error: what the last one raised, as the scheduler
    recorded it or the log of a worker has it; null where neither does.
    """
    one = ["run", "key"]
    by_worker = (
        frames["dask.worker_transition"]
        .filter(pl.col("start_state").is_in(RUNNING) & (pl.col("finish_state") == "error"))
        .group_by(one)
        .agg(by_worker=pl.len().cast(pl.Int64))
    )
    by_scheduler = (
        frames["dask.task_transition"]
        .filter((pl.col("start_state") == "processing") & (pl.col("finish_state") == "erred"))
        .sort("time", "position")
        .group_by(one)
        .agg(
            by_scheduler=pl.len().cast(pl.Int64),
            prefix=pl.col("prefix").drop_nulls().first(),
            exception=pl.col("exception").drop_nulls().last(),
        )
    )
    return (
        by_worker.join(by_scheduler, on=one, how="full", coalesce=True)
        .join(_errors_in_logs(frames["dask.log_event"]), on=one, how="left")
        .select(
            *one,
            pl.coalesce("prefix", prefix_of(pl.col("key"))).alias("prefix"),
            failed=pl.max_horizontal("by_worker", "by_scheduler"),
            unseen=(pl.col("by_scheduler").fill_null(0) - pl.col("by_worker").fill_null(0)).clip(
                lower_bound=0
            ),
            error=pl.coalesce("exception", "logged"),
        )
    )


def _errors_in_logs(log: pl.LazyFrame) -> pl.LazyFrame:
    """What tasks raised, as workers log it: run, key, logged."""
    message = pl.col("message")
    return (
        log.filter(message.str.starts_with("Compute Failed"))
        .select(
            "run",
            "time",
            "position",
            key=message.str.extract(r"(?m)^Key:\s+(.*\S)"),
            logged=message.str.extract(r"(?m)^Exception:\s+(.*\S)").str.strip_chars("\"'"),
        )
        .drop_nulls("key")
        .sort("time", "position", nulls_last=True)
        .group_by("run", "key")
        .agg(logged=pl.col("logged").drop_nulls().last())
    )


def repeated_tasks(found: pl.LazyFrame) -> pl.LazyFrame:
    """One row per task that was executed more than once: run, key, repeated, repeated_s.

    repeated: how often beyond the first; repeated_s: the time of all executions but the last, null
    where of none it is known.
    """
    ordered = found.sort("recorded", nulls_last=False)
    return (
        ordered.group_by("run", "key", maintain_order=True)
        .agg(
            repeated=pl.len().cast(pl.Int64) - 1,
            known=pl.col("seconds").head(pl.len() - 1).is_not_null().any(),
            repeated_s=pl.col("seconds").head(pl.len() - 1).sum(),
        )
        .with_columns(repeated_s=pl.when("known").then("repeated_s"))
        .filter(pl.col("repeated") > 0)
    )

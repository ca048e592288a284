"""Executions that failed, with what they raised, and tasks that ran more than once."""

from __future__ import annotations

from typing import Final

import polars as pl

from harvest_dask.records.literals import text_of_literal
from harvest_toolkit.frames import known_sum

from ..executions.prefixes import prefix_of
from ..executions.windows import RUNNING
from ..frames import Frames
from ..record_names import KILLED

_TYPE: Final = r"^(?:<(?:class ')?)?([\p{L}_][\p{L}\p{N}_.]*)"
_TYPES: Final = (rf"{_TYPE}(?:\(|$|: )", r"^<(?:class ')?([\p{L}_][\p{L}\p{N}_.]*)")
"""How a text names the type of an exception: ``KeyError('x')``, ``<HTTPError 404: ...>``."""
_VARYING: Final = r"0x[0-9a-fA-F]+|\b[0-9a-fA-F]{8,}\b|[0-9]+"
"""What differs between texts that say the same: numbers, addresses, hashes."""


def failed_tasks(frames: Frames) -> pl.LazyFrame:
    """One row per task of which an execution failed: run, key, prefix, failed, unseen, error.

    failed: how many; unseen: of these, in the scheduler's record alone, and so no executions.

    Each failure counts once, whether the worker recorded it, the scheduler, or both; tasks that
    erred since another did were not executed.  error: what the last one raised, as the scheduler
    recorded it or the log of a worker or the scheduler has it; null where none does.
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
    """What tasks raised, as workers and the scheduler log it: run, key, logged."""
    message = pl.col("message")
    given_up = message.str.extract(r"(?s)^Task (.*) marked as failed because \d+ workers died\b")
    text = message.str.extract(r"(?m)^Exception:\s+(.*\S)")
    return (
        log.filter(message.str.contains(r"^\s*Compute Failed") | given_up.is_not_null())
        .select(
            "run",
            "time",
            "position",
            key=pl.coalesce(given_up, message.str.extract(r"(?m)^Key:\s+(.*\S)")),
            logged=pl.when(given_up.is_not_null())
            .then(pl.lit(KILLED))
            # the log prints the text as a literal, with quotes and escapes of its own
            .otherwise(text.map_batches(_unquoted, return_dtype=pl.String)),
        )
        .drop_nulls("key")
        .sort("time", "position", nulls_last=True)
        .group_by("run", "key")
        .agg(logged=pl.col("logged").drop_nulls().last())
    )


def _unquoted(texts: pl.Series) -> pl.Series:
    each = texts.drop_nulls().unique()
    return texts.replace(each, pl.Series(map(text_of_literal, each), dtype=pl.String))


def commonest_errors(failed: pl.DataFrame) -> pl.DataFrame:
    """What most of the failures of each kind raised, from rows of ``failed_tasks``.

    Columns: run, prefix; error_type: null where the text names none; error_type_failed: failures of
    this type, or of this text but for numbers where it names none; error: the commonest text of
    them, by what is left without numbers and addresses; error_failed: failures with just this text.
    """
    one, error = ["run", "prefix"], pl.col("error")
    known = failed.drop_nulls("error").with_columns(
        error_type=pl.coalesce(error.str.extract(pattern) for pattern in _TYPES),
        alike=error.str.replace_all(_VARYING, "N"),
    )
    same, times = pl.coalesce("error_type", "alike"), pl.col("failed").sum()
    return (
        known.with_columns(same=same)
        .with_columns(
            error_type_failed=times.over(*one, "same"),
            alike_failed=times.over(*one, "same", "alike"),
            error_failed=times.over(*one, "error"),
        )
        .sort(
            *("error_type_failed", "alike_failed", "error_failed"),
            *("same", "alike", "error"),
            descending=[True] * 3 + [False] * 3,
        )
        .group_by(one, maintain_order=True)
        .agg(pl.col("error", "error_failed", "error_type", "error_type_failed").first())
    )


def repeated_tasks(found: pl.LazyFrame) -> pl.LazyFrame:
    """One row per task that was executed more than once: run, key, and four sums.

    repeated: how often beyond the first; repeated_s: the time of all executions but the last, null
    where of none it is known; rescheduled, rescheduled_s: those that Dask itself, or the task,
    asked to be run elsewhere.
    """
    before, seconds = pl.len() - 1, pl.col("seconds")
    sent = (pl.col("outcome").head(before) == "rescheduled").fill_null(value=False)
    return (
        found.sort("recorded", nulls_last=False)
        .group_by("run", "key", maintain_order=True)
        .agg(
            repeated=before.cast(pl.Int64),
            repeated_s=known_sum(seconds.head(before)),
            rescheduled=sent.sum().cast(pl.Int64),
            rescheduled_s=known_sum(seconds.head(before).filter(sent)),
        )
        .filter(pl.col("repeated") > 0)
    )

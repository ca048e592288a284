"""The view ``dask.prefixes``: kinds of tasks, with their time, failures, repeats and I/O."""

from typing import Final

import polars as pl

from harvest import DatasetReader
from harvest.model.frames import types_of
from harvest_dask.records.key_prefixes import prefix_of
from harvest_dask.records.literals import text_of_literal
from harvest_toolkit.frames import deferred, fraction, known_sum, mapped, sum_or_none

from ..executions import executions
from ..frames import Frames, exact_sum, load
from ..record_names import COUNTED, DASK_TYPES, KILLED, SEGMENT
from ..windows import RUNNING
from .declared.tasks import PREFIX_COLUMNS
from .task_io import TASK_IO, io_of_tasks, once
from .workers import whole_runs

_TYPE: Final = r"^(?:<(?:class ')?)?([\p{L}_][\p{L}\p{N}_.]*)"
_TYPES: Final = (rf"{_TYPE}(?:\(|$|: )", r"^<(?:class ')?([\p{L}_][\p{L}\p{N}_.]*)")
"""Patterns of the exception type in a text: ``KeyError('x')``, ``<HTTPError 404: ...>``."""
_VARYING: Final = r"0x[0-9a-fA-F]+|\b[0-9a-fA-F]{8,}\b|[0-9]+"
"""Parts in which texts of the same error may differ: numbers, addresses, hashes."""


def failed_tasks(frames: Frames) -> pl.LazyFrame:
    """Find the tasks with failed executions: run, key, prefix, failed, unseen, error.

    failed: how many; unseen: those only in the scheduler's record, which are not executions.

    Each failure counts once, whether the worker, the scheduler or both recorded it; tasks that
    erred because another did were not executed.  error: exception of the last failure, from the
    scheduler's record, else from a log of a worker or the scheduler; null if none has it.
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
            unseen=pl.max_horizontal(pl.col("by_scheduler") - pl.col("by_worker").fill_null(0), 0),
            error=pl.coalesce("exception", "logged"),
        )
    )


def _errors_in_logs(log: pl.LazyFrame) -> pl.LazyFrame:
    """Extract exceptions of tasks from the logs of workers and the scheduler: run, key, logged."""
    message = pl.col("message")
    given_up = message.str.extract(r"(?s)^Task (.*) marked as failed because \d+ workers died\b")
    text = message.str.extract(r"(?m)^Exception:\s+(.*\S)")
    return (
        log.filter(message.str.contains(r"^\s*Compute Failed") | given_up.is_not_null())
        .select(
            *("run", "time", "position"),
            key=pl.coalesce(given_up, message.str.extract(r"(?m)^Key:\s+(.*\S)")),
            logged=pl.when(given_up.is_not_null())
            .then(pl.lit(KILLED))
            # the log prints the text as a literal, with quotes and escapes of its own
            .otherwise(mapped(text, text_of_literal)),
        )
        .drop_nulls("key")
        .sort("time", "position", nulls_last=True)
        .group_by("run", "key")
        .agg(logged=pl.col("logged").drop_nulls().last())
    )


def commonest_errors(failed: pl.DataFrame) -> pl.DataFrame:
    """Find the exception of most failures of each kind, from rows of ``failed_tasks``.

    Columns: run, prefix; error_type: null if the text names none; error_type_failed: failures of
    this type, or if there is none, with the same text apart from numbers; error: their commonest
    text, ignoring numbers and addresses; error_failed: failures with exactly this text.
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
            *("error_type_failed", "alike_failed", "error_failed", "same", "alike", "error"),
            descending=[True] * 3 + [False] * 3,
        )
        .group_by(one, maintain_order=True)
        .agg(pl.col("error", "error_failed", "error_type", "error_type_failed").first())
    )


def prefixes(dataset: DatasetReader, *, run: str | None = None) -> pl.LazyFrame:
    """Compute one row per kind of task and run, the kind with the most time first."""
    frames = load(dataset, DASK_TYPES, run=run)

    def compute() -> pl.DataFrame:
        found = executions(frames).collect()
        return kinds_of(found, frames, io_by_task(dataset, run, found))

    return deferred(compute, types_of(PREFIX_COLUMNS))


def io_by_task(dataset: DatasetReader, run: str | None, found: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of ``dask.task_io``, each operation once; none without Darshan's logs.

    found: the executions.
    """
    if not any(name in dataset for name in (SEGMENT, *COUNTED)):
        return pl.DataFrame(schema=TASK_IO)
    return once(io_of_tasks(dataset, run, found.lazy())).collect()


def kinds_of(found: pl.DataFrame, frames: Frames, io: pl.DataFrame) -> pl.DataFrame:
    """Compute the view from executions and rows of ``dask.task_io``."""
    one = ["run", "prefix"]
    seconds = pl.col("seconds")
    sums = found.group_by(one).agg(
        executions=pl.len().cast(pl.Int64),
        unended=seconds.is_null().sum().cast(pl.Int64),
        tasks=pl.col("key").n_unique().cast(pl.Int64),
        total_s=known_sum("seconds"),
        mean_s=seconds.mean(),
        median_s=seconds.median(),
        max_s=seconds.max(),
        size_bytes=known_sum("size_bytes"),
    )
    failed = failed_tasks(frames).collect()
    failures = failed.group_by(one).agg(pl.col("failed", "unseen").sum())
    of_key = found.select("run", "key", "prefix").unique(["run", "key"])
    total = pl.col("total_s").sum().over("run")
    # in other runs, there may be failures and repeats that are not recorded
    whole = whole_runs(frames).collect()
    none = pl.when("whole").then(0)
    return (
        # also kinds of which only failures are recorded
        sums.join(failures, on=one, how="full", coalesce=True)
        .join(commonest_errors(failed), on=one, how="left")
        .join(_repeats(found, of_key), on=one, how="left")
        .join(_io(io, found, of_key), on=one, how="left")
        .join(whole.with_columns(whole=True), on="run", how="left")
        .with_columns(
            *(pl.coalesce(n, none).alias(n) for n in ("failed", "repeated", "rescheduled")),
            *(
                # no executions took no time; the time of some may be unknown
                pl.when(pl.coalesce(name, none) == 0)
                .then(0.0)
                .otherwise(f"{name}_s")
                .alias(f"{name}_s")
                for name in ("repeated", "rescheduled")
            ),
            pl.when((pl.col("unended") > 0) | pl.col("whole")).then("unended"),
            attempts=pl.col("executions").fill_null(0) + pl.col("unseen").fill_null(0),
        )
        .sort("run", "total_s", "prefix", descending=[False, True, False], nulls_last=True)
        # of sorted rows: a sum of floats depends on their order
        .with_columns(share=fraction("total_s", total), io_share=fraction("io_s", "io_busy_s"))
        .select(column.name for column in PREFIX_COLUMNS)
    )


def _repeats(found: pl.DataFrame, of_key: pl.DataFrame) -> pl.DataFrame:
    """Sum up repeats by run and prefix, for kinds whose tasks were executed more than once.

    repeated: executions beyond the first; repeated_s: the time of all executions but the last, null
    if none is known; rescheduled, rescheduled_s: the same for executions that ended because Dask or
    the task asked for another worker.
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
        .join(of_key, on=["run", "key"])
        .group_by("run", "prefix")
        .agg(
            pl.col("repeated", "rescheduled").sum(),
            *map(known_sum, ("repeated_s", "rescheduled_s")),
        )
    )


def _io(io: pl.DataFrame, found: pl.DataFrame, of_key: pl.DataFrame) -> pl.DataFrame:
    """Sum up I/O by run and prefix, in runs whose processes are known: all io_* but io_share.

    The I/O of executions in other processes is unknown, so io_busy_s leaves them out.
    """
    one = ["run", "prefix"]
    how, op, size = pl.col("how"), pl.col("op"), pl.col("bytes")
    # the I/O of executions in other processes is unknown
    homes = io.drop_nulls("worker").select("run", "worker").unique()
    there = found.join(homes, on=["run", "worker"])
    known = io.group_by("run").agg(traced=(how == "traced").any(), counted=(how == "counted").any())
    seconds, tied = pl.col("seconds"), pl.lit(value=True)
    timed = pl.when(seconds.is_not_null().any()).then(exact_sum(seconds))
    busy = there.group_by(one).agg(here=tied, io_busy_s=known_sum("seconds"))
    of_tasks = io.join(of_key, on=["run", "key"])
    own = of_tasks.group_by(one).agg(
        of_task=tied,
        io_read_bytes=sum_or_none(size.filter(op == "read")),
        io_write_bytes=sum_or_none(size.filter(op == "write")),
        io_s=timed,
    )
    of_kinds = io.drop_nulls("beside").group_by("run", prefix="beside")
    beside = of_kinds.agg(of_kind=tied, io_beside_bytes=sum_or_none(size), io_beside_s=timed)
    return (
        found.select(one)
        .unique()
        .join(known, on="run")
        .join(busy, on=one, how="left")
        .join(own, on=one, how="left")
        .join(beside, on=one, how="left")
        # without a trace, tasks may have done I/O that is not known to be theirs
        .with_columns(
            pl.when(pl.col("of_task").is_null() & pl.col("traced") & pl.col("here"))
            .then(0)
            .otherwise(pl.col("io_read_bytes", "io_write_bytes", "io_s"))
            .name.keep(),
            pl.when(pl.col("of_kind").is_null() & pl.col("counted") & pl.col("here"))
            .then(0)
            .otherwise(pl.col("io_beside_bytes", "io_beside_s"))
            .name.keep(),
        )
        .select(*one, "^io_.*$")
    )

"""Build the view ``io.timeline``: bytes per second of each host over time."""

import polars as pl

from harvest import DatasetReader, UsageError
from harvest.model.frames import types_of
from harvest_toolkit.frames import deferred, known_sum, safe_sum

from .declared.files import TIMELINE_COLUMNS
from .grouping import named_run, number_sessions, once
from .layers import SEGMENTS, run_of, traced_once

BINS = 200
"""Maximum number of intervals of a session by default."""

_STEPS = pl.Series(
    [step * 10**power for power in range(3, 16) for step in (1, 2, 5)], dtype=pl.Int64
)
"""Lengths of an interval to choose from: 1, 2, 5, 10, 20, ... milliseconds, in microseconds."""

_LONGEST = _STEPS * BINS
"""Longest session that each length divides into at most BINS intervals."""

MOST_BINS = 1_000_000
_LONG = 2**31
"""Microseconds; the square of twice this number fits 64 bits."""


def timeline(
    dataset: DatasetReader,
    *,
    run: str | None = None,
    bin: float | None = None,  # noqa: A002
) -> pl.LazyFrame:
    """Return the bytes that each host read and wrote per interval of time, as DXT traced them.

    bin: length of an interval in seconds. The default is the shortest of 1, 2, 5, 10, ...
        milliseconds that divides a session into at most 200 intervals.

    Each session of ``number_sessions``, for example a Dask run, has its own intervals. Intervals
    without I/O have no row. The bytes of an operation are spread evenly over its time, as whole
    bytes that add up exactly.

    Raises UsageError if bin is not a positive number, or too small for a session.
    """
    wanted = named_run(dataset, run)
    micros = None
    if bin is not None:
        if not 1e-6 <= bin <= 1e12:
            raise UsageError(
                f"bin must be a number of seconds, not {bin!r}",
                remedy="write bin=0.5 for half a second; a microsecond is the least",
            )
        micros = round(bin * 1_000_000)
        # checked now, not when the rows are collected, so that the user gets this error
        span = max(_logs(once(dataset, wanted))["span"].to_list(), default=0)
        if span / micros > MOST_BINS:
            raise UsageError(
                f"a bin of {micros / 1e6:g} s cuts {span / 1e6:g} s into too many intervals",
                remedy=f"use {span / MOST_BINS / 1e6:.2g} s or more",
            )
    return deferred(lambda: _timeline(once(dataset, wanted), micros), types_of(TIMELINE_COLUMNS))


def _trace(dataset: DatasetReader) -> pl.LazyFrame:
    return traced_once(
        dataset[SEGMENTS].select(
            *("origin", "record_id", "module", "op"),
            length=pl.when(pl.col("length") >= 0).then("length"),
            host="hostname",
            start=pl.col("start_time").dt.epoch("us"),
            end=pl.max_horizontal("start_time", "end_time").dt.epoch("us"),
        )
    )


def _logs(dataset: DatasetReader) -> pl.DataFrame:
    """Return a row per traced log: origin, run, uid, and began and span (us) of its session."""
    jobs = dataset["darshan.job"].select(
        "origin",
        "uid",
        job_start=pl.col("start_time").dt.epoch("us"),
        job_end=pl.col("end_time").dt.epoch("us"),
    )
    spans = (
        _trace(dataset)
        .group_by("origin")
        .agg(pl.col("start").min(), pl.col("end").max())
        .join(jobs, on="origin", how="left")
        .collect(engine="streaming")
        .with_columns(
            run=run_of(),
            # a process without I/O holds a session together if it runs during that of others
            from_us=pl.min_horizontal("start", "job_start"),
            to_us=pl.max_horizontal("end", "job_end"),
        )
    )
    one = ["run", "uid"]
    return (
        number_sessions(spans)
        .with_columns(
            began=pl.col("from_us").min().over(*one, "session"),
            # only from the first to the last operation, since other intervals have no row
            span=(pl.col("end").max() - pl.col("start").min()).over(*one, "session").fill_null(0),
        )
        .select("origin", "run", "uid", "began", "span")
    )


def _timeline(dataset: DatasetReader, micros: int | None) -> pl.DataFrame:
    logs = _logs(dataset)
    shortest = _STEPS.gather(_LONGEST.search_sorted(logs["span"], "left"))
    logs = logs.with_columns(width=shortest if micros is None else pl.lit(micros, pl.Int64))
    sums = (
        _spread(_trace(dataset).join(logs.select("origin", "width").lazy(), on="origin"))
        .group_by("origin", "host", "op", "bin")
        .agg(known_sum("bytes"), operations=pl.col("begins").sum().cast(pl.Int64))
        .collect(engine="streaming")
    )
    micros_of, session = pl.col("width"), ["run", "uid", "began"]
    return (
        sums.join(logs, on="origin")
        .group_by(*session, "host", "op", "width", "bin")
        .agg(known_sum("bytes"), safe_sum("operations"))
        .sort("run", "began", "uid", "host", "op", "bin", nulls_last=True)
        .with_columns(
            time=pl.from_epoch(pl.col("bin") * micros_of, "us").dt.replace_time_zone("UTC"),
            began=pl.from_epoch("began", "us").dt.replace_time_zone("UTC"),
            # polars divides by a constant by multiplying, so the last digit may be wrong
            bin_s=(micros_of / 1e6).round(6),
        )
        .with_columns(bytes_per_s=pl.col("bytes") / pl.col("bin_s"))
    )


def _spread(trace: pl.LazyFrame) -> pl.LazyFrame:
    """Return a row per operation and interval that it touches, with its bytes in the interval."""
    start, end, length, micros = (pl.col(name) for name in ("start", "end", "length", "width"))
    last = pl.max_horizontal(start, end - 1).floordiv(micros)

    # whole numbers, since rounded quotients of floats may lose a byte; steps are microseconds,
    # or longer for operations of hours, so that the products do not overflow
    step = (end - start).floordiv(_LONG) + 1
    steps = (end - start).floordiv(step)

    def until(moment: pl.Expr) -> pl.Expr:
        """Return the bytes moved until a moment: 0 at the operation's start, all at its end."""
        passed = (moment - start).floordiv(step)
        each, rest = length.floordiv(steps), length % steps
        return each * passed + (rest * passed).floordiv(steps)

    first, number = pl.col("first"), pl.col("bin")
    left = pl.max_horizontal(start, number * micros)
    right = pl.min_horizontal(end, (number + 1) * micros)
    # null without a time; then all bytes have no interval
    whole = first.eq_missing(pl.col("last"))
    return (
        trace.with_columns(first=start.floordiv(micros), last=last)
        .with_columns(bin=pl.int_ranges("first", pl.col("last") + 1))
        .explode("bin")
        .select(
            *("origin", "host", "op", "bin"),
            bytes=pl.when(whole).then(length).otherwise(until(right) - until(left)),
            begins=number.eq_missing(first),
        )
    )

"""The view ``io.timeline``: bytes per second of each host over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from harvest import UsageError
from harvest.toolkit.deferred import deferred

from .views_frames import TIME, run_of, segments, traced_once

if TYPE_CHECKING:
    from harvest import DatasetReader

__all__ = ["timeline"]

TIMELINE: dict[str, pl.DataType] = {
    "run": pl.String(),
    "host": pl.String(),
    "op": pl.String(),
    "time": TIME,
    "bin_s": pl.Float64(),
    "bytes": pl.Int64(),
    "bytes_per_s": pl.Float64(),
    "operations": pl.Int64(),
}

BINS = 200
"""Bins of the longest run, at most, where none are asked for."""

MOST_BINS = 1_000_000
_LONG = 2**31
"""Microseconds; the square of its double fits 64 bits."""


def timeline(
    dataset: DatasetReader,
    *,
    run: str | None = None,
    bin: float | str | None = None,  # noqa: A002
) -> pl.LazyFrame:
    """Bytes that each host read and wrote in each interval of time, as DXT traced them.

    run: keeps one run (the directory of its logs, or the directory's name).
    bin: seconds of an interval.  The default is the shortest of 1, 2, 5, 10, ... milliseconds
        that divides the longest run into 200 intervals at most.

    Intervals without I/O have no row.  The bytes of an operation are spread evenly over its time;
    in whole bytes, rounded down up to each border between intervals, so that they add up exactly.
    Where a log traces a file in both DXT_POSIX and DXT_MPIIO, only the former counts.

    Columns: run (directory of the logs), host, op (read or write), time (start of the interval;
    null for operations without a time), bin_s, bytes, bytes_per_s, operations (that began in it).

    Raises UsageError for a bin that is no positive number, or too small for the run.
    """
    micros = None if bin is None else _micros(bin)
    if micros is not None:
        # looked at now and not when the rows are asked for, so that the error reaches the user
        span = _span(_trace(dataset, run))
        if span / micros > MOST_BINS:
            raise UsageError(
                f"a bin of {micros / 1e6:g} s cuts {span / 1e6:g} s into too many intervals",
                remedy=f"use {span / MOST_BINS / 1e6:.2g} s or more",
            )
    return deferred(lambda: _timeline(_trace(dataset, run), micros), TIMELINE)


def _micros(text: float | str) -> int:
    try:
        micros = round(float(text) * 1_000_000)
    except (ValueError, OverflowError):
        micros = 0
    if micros < 1:
        raise UsageError(
            f"bin must be a number of seconds, not {text!r}",
            remedy="write bin=0.5 for half a second; a microsecond is the least",
        )
    return micros


def _trace(dataset: DatasetReader, run: str | None) -> pl.LazyFrame:
    return traced_once(
        segments(dataset, run).select(
            *("origin", "record_id", "module", "op", "length"),
            host="hostname",
            start=pl.col("start_time").dt.epoch("us"),
            end=pl.max_horizontal("start_time", "end_time").dt.epoch("us"),
        )
    )


def _span(trace: pl.LazyFrame) -> int:
    """Microseconds from the first operation to the end of the last, of the longest run."""
    spans = (
        trace.group_by("origin")
        .agg(pl.col("start").min(), pl.col("end").max())
        .collect(engine="streaming")
        .group_by(run_of(pl.col("origin")).alias("run"))
        .agg(span=pl.col("end").max() - pl.col("start").min())
    )
    return max(spans["span"].drop_nulls().to_list(), default=0)


def _timeline(trace: pl.LazyFrame, micros: int | None) -> pl.DataFrame:
    if micros is None:
        micros = _nice(_span(trace) / BINS)
    sums = (
        _spread(trace, micros)
        .group_by("origin", "host", "op", "bin")
        .agg(pl.col("bytes").sum(), operations=pl.col("begins").sum().cast(pl.Int64))
        .collect(engine="streaming")
    )
    return (
        sums.group_by("host", "op", "bin", run=run_of(pl.col("origin")))
        .agg(pl.col("bytes", "operations").sum())
        .sort("run", "host", "op", "bin", nulls_last=True)
        .with_columns(
            time=pl.from_epoch(pl.col("bin") * micros, "us").dt.replace_time_zone("UTC"),
            bin_s=pl.lit(micros / 1e6),
            bytes_per_s=pl.col("bytes") / (micros / 1e6),
        )
    )


def _nice(least: float) -> int:
    """The least of 1, 2, 5, 10, 20, ... milliseconds that is no less, in microseconds."""
    size = 1_000
    while True:
        for step in (1, 2, 5):
            if size * step >= least:
                return size * step
        size *= 10


def _spread(trace: pl.LazyFrame, micros: int) -> pl.LazyFrame:
    """A row per operation and interval that it touches, with its bytes there."""
    start, end, length = pl.col("start"), pl.col("end"), pl.col("length")
    first = start.floordiv(micros)
    last = pl.max_horizontal(start, end - 1).floordiv(micros)

    # whole numbers throughout: a quotient of floats may be off by a digit, and a byte be lost.
    # Steps are microseconds, or longer for operations of hours, lest the products overflow.
    step = (end - start).floordiv(_LONG) + 1
    steps = (end - start).floordiv(step)

    def until(moment: pl.Expr) -> pl.Expr:
        """Bytes moved until a moment within the operation: 0 at its start, all at its end."""
        passed = (moment - start).floordiv(step)
        each, rest = length.floordiv(steps), length % steps
        return each * passed + (rest * passed).floordiv(steps)

    number = pl.col("bin")
    left = pl.max_horizontal(start, number * micros)
    right = pl.min_horizontal(end, (number + 1) * micros)
    inside = until(right) - until(left)
    begun = trace.with_columns(first=first, last=last)
    one = (pl.col("first") == pl.col("last")) | start.is_null()
    # most operations lie within one interval and need no list
    single = begun.filter(one).with_columns(bin="first", bytes=length, begins=True)
    several = (
        begun.filter(~one)
        .with_columns(bin=pl.int_ranges("first", pl.col("last") + 1))
        .explode("bin")
        .with_columns(bytes=inside, begins=number == pl.col("first"))
    )
    shape = ["origin", "host", "op", "bin", "bytes", "begins"]
    return pl.concat([single.select(shape), several.select(shape)])

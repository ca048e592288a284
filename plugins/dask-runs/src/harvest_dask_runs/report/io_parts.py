"""Sections on I/O: by kind of task, by what is known of its task, and over time."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import polars as pl

from harvest.toolkit.amounts import bytes_in_words
from harvest_report import Column, Plot, Table, bytes_axis, seconds_axis
from harvest_toolkit.frames import fraction, sum_or_none

from ..io.match import MOVED

NO_TASK: Final = "(in no task)"
NOT_KNOWN: Final = "(unknown task)"
OTHER_THREADS: Final = "(other threads)"
OTHER_PROCESSES: Final = "(other processes)"

TASK, BESIDE, OUTSIDE, ELSEWHERE = range(4)
"""Origin of a row's I/O: a task, one of a kind of tasks, a worker, or anything else."""

SUMS: Final = ("operations", "bytes", "seconds", "counted_operations", "counted_bytes", "counted_s")


def by_kind(
    tied: pl.DataFrame, traced: pl.DataFrame, untraced: pl.DataFrame, tasks: pl.DataFrame
) -> pl.DataFrame:
    """Sum up all I/O of a run by kind of task and op; I/O without a known task has its own rows.

    tied: rows of ``dask.task_io``; traced: sums of the trace by op; untraced: counted but untraced
    I/O of all processes; tasks: executions.

    operations, bytes and seconds add up to the trace; the counted ones to the untraced I/O.
    """
    sums = _of_workers(tied, tasks)
    rest = untraced.group_by("op").agg(
        counted_operations=pl.col("count").sum(),
        counted_bytes=pl.col("bytes").cast(pl.Int128).sum(),
        counted_s=pl.col("nanoseconds").cast(pl.Int128).sum() / 1e9,
    )
    others = [_left_over(traced, sums, OTHER_THREADS), _left_over(rest, sums, OTHER_PROCESSES)]
    some = pl.any_horizontal(pl.col("operations", "bytes", "counted_bytes") != 0)
    return (
        pl.concat([sums, *others], how="diagonal_relaxed")
        .with_columns(pl.col(SUMS).fill_null(0))
        .filter(some)
        .sort(
            "rank",
            pl.col("bytes") + pl.col("counted_bytes"),
            *("prefix", "op"),
            descending=[False, True, False, False],
        )
    )


def _of_workers(tied: pl.DataFrame, tasks: pl.DataFrame) -> pl.DataFrame:
    prefixes = tasks.select("key", "prefix").unique("key")
    counted, size = pl.col("how") == "counted", pl.col("bytes").cast(pl.Int128)
    of_task = pl.col("key").is_not_null()
    beside = pl.col("beside").is_not_null()
    placed = tied.join(prefixes, on="key", how="left").with_columns(
        rank=pl.when(of_task).then(TASK).when(beside).then(BESIDE).otherwise(OUTSIDE),
        prefix=pl.when(of_task)
        .then("prefix")
        .when(beside)
        .then(pl.concat_str(pl.lit("(during "), "beside", pl.lit(")")))
        .when(counted)
        .then(pl.lit(NOT_KNOWN))
        .otherwise(pl.lit(NO_TASK)),
    )
    return placed.group_by("rank", "prefix", "op").agg(
        tasks=pl.when(of_task.any()).then(pl.col("key").n_unique().cast(pl.Int64)),
        files=pl.col("file").n_unique().cast(pl.Int64),
        operations=pl.col("count").filter(~counted).sum(),
        bytes=size.filter(~counted).sum(),
        seconds=pl.col("seconds").filter(~counted).sum(),
        counted_operations=pl.col("count").filter(counted).sum(),
        counted_bytes=size.filter(counted).sum(),
        counted_s=pl.col("seconds").filter(counted).sum(),
    )


def _left_over(whole: pl.DataFrame, sums: pl.DataFrame, name: str) -> pl.DataFrame:
    """Compute the part of sums by op that is in no row of workers."""
    measures = [column for column in SUMS if column in whole.columns]
    taken = sums.group_by("op").agg(pl.col(m).sum().alias(f"{m}_taken") for m in measures)
    left = whole.join(taken, on="op", how="left").with_columns(
        pl.col(m) - pl.col(f"{m}_taken").fill_null(0) for m in measures
    )
    operations, size, spent = measures
    return (
        left.filter((pl.col(operations) > 0) | (pl.col(size) != 0))
        .with_columns(
            pl.col(spent).clip(lower_bound=0), rank=pl.lit(ELSEWHERE), prefix=pl.lit(name)
        )
        .drop(taken.drop("op").columns)
    )


def kinds_table(rows: pl.DataFrame, why: str) -> Table:
    """Build the table of I/O by kind of task; why: a sentence on missing matches, or empty."""
    return Table(
        "io-by-prefix",
        rows,
        (
            *("prefix", "op", "tasks", "files"),
            Column("operations", doc="that were traced"),
            Column("bytes", "traced", "bytes", doc="bytes that traced operations asked for"),
            Column("seconds", "time", "s", ",.3f", doc="of all these operations together"),
            Column("counted_bytes", "untraced", "bytes", doc="counted only"),
            Column("counted_s", "untraced time", "s", ",.3f", doc="in untraced operations"),
        ),
        title="I/O of tasks",
        note=f"{why}Untraced I/O belongs to a task if only that task ran in the process from the "
        "first operation on the file to the last. (during ...): only tasks of this kind ran in the "
        f"process then. {NOT_KNOWN}: any other untraced I/O of a worker. {NO_TASK}: traced on a "
        f"worker thread between tasks. {OTHER_THREADS}: on threads that ran no recorded task. "
        f"{OTHER_PROCESSES}: in processes other than the known workers.",
    )


def known_table(rows: pl.DataFrame) -> Table:
    """Build the table of counted bytes: how many are traced, and how many have a known task."""
    parts = (
        ("traced, in a task", "bytes", "seconds", (TASK,)),
        ("counted only, in one task", "counted_bytes", "counted_s", (TASK,)),
        ("counted only, while one kind of tasks ran", "counted_bytes", "counted_s", (BESIDE,)),
        ("traced, in no known task", "bytes", "seconds", (OUTSIDE, ELSEWHERE)),
        ("counted only, unknown task", "counted_bytes", "counted_s", (OUTSIDE, ELSEWHERE)),
    )
    found = pl.concat(
        rows.filter(pl.col("rank").is_in(ranks))
        .group_by("op")
        .agg(bytes=pl.col(size).sum(), seconds=pl.col(spent).sum())
        .with_columns(how=pl.lit(name), order=pl.lit(order))
        for order, (name, size, spent, ranks) in enumerate(parts)
    )
    whole = pl.col("bytes").sum().over("op")
    return Table(
        "io-known",
        found.with_columns(share=fraction("bytes", whole))
        .filter(pl.col("bytes") != 0)
        .sort("op", "order"),
        (
            "op",
            Column("how", "what is known"),
            Column("bytes", unit="bytes"),
            Column("share", "share", None, ".1%"),
            Column("seconds", "time", "s", ",.3f", doc="of all these operations together"),
        ),
        title="I/O by what is known",
        group="op",
        note="All rows add up to Darshan's counters. Traced bytes are those that operations asked "
        "for; bytes below 0 are those that they did not get.",
    )


IO_BINS = 120


def io_plot(segments: pl.LazyFrame, first: int, counted: Mapping[str, int]) -> Plot | None:
    """Draw bytes per second that traced operations read and wrote, over time; None without times.

    An operation counts where it begins.

    segments: rows of darshan.dxt_segment; first: start of the run, in microseconds of the epoch;
    counted: total bytes by op, if known.
    """
    timed = segments.drop_nulls("start_time").select(
        "op", "length", begin=pl.col("start_time").dt.epoch("us") - first
    )
    begin = pl.col("begin")
    ends = timed.select(low=begin.min(), high=begin.max()).collect().row(0)
    low, high = (end or 0 for end in ends)
    width = max(-(-(high - low + 1) // IO_BINS), 1)
    bins = (
        timed.group_by("op", begin=(begin - low) // width * width + low)
        .agg(bytes=sum_or_none(MOVED).fill_null(0))
        .sort("op", "begin")
        .collect(engine="streaming")
    )
    if bins.is_empty():
        return None
    untimed = segments.select(pl.col("start_time").is_null().sum()).collect().item()
    ops = sorted(bins["op"].unique())
    totals = {op: int(bins.filter(pl.col("op") == op)["bytes"].sum()) for op in ops}
    last = int(bins["begin"].max() or 0)  # type: ignore[arg-type]

    def draw(figure: Any) -> None:
        many = figure.subplots(len(ops), 1, sharex=True, squeeze=False)[:, 0]
        edges = np.arange(low, last + 2 * width, width)[: (last - low) // width + 2]
        for number, (op, axes) in enumerate(zip(ops, many, strict=True)):
            mine = bins.filter(pl.col("op") == op)
            values = np.zeros(len(edges) - 1)
            rates = (mine["bytes"] / (width / 1e6)).to_numpy()
            values[((mine["begin"] - low) // width).to_numpy()] = rates
            axes.stairs(values, edges / 1e6, color=f"C{number}", fill=True, alpha=0.4)
            axes.stairs(values, edges / 1e6, color=f"C{number}", linewidth=1.0)
            axes.set_title(op)
            axes.set_ylim(bottom=0)
            bytes_axis(axes.yaxis, float(values.max()), per="/s")
        seconds_axis(many[-1].xaxis, float(edges[-1]) / 1e6, "since the first event of the run")

    sums = ", ".join(
        f"{op} {bytes_in_words(size)}"
        + (f" of {bytes_in_words(counted[op])} counted" if op in counted else "")
        for op, size in totals.items()
    )
    return Plot(
        "io",
        draw,
        "Traced I/O over time",
        f"Bytes per second that traced operations asked for, in parts of {width / 1e6:.3g} s: "
        f"{sums}." + (f" {untimed:,} operations without a time are left out." if untimed else ""),
        size=(9.4, 0.8 + 1.5 * max(len(ops), 1)),
    )

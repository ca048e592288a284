"""Traced I/O over time, as a plot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
import polars as pl

from harvest.toolkit.amounts import bytes_in_words
from harvest_report import Plot, bytes_axis, seconds_axis

__all__ = ["IO_BINS", "IoOverTime", "io_over_time", "io_plot"]

IO_BINS = 120


@attrs.frozen
class IoOverTime:
    """What the traced operations of a run moved, per op and equal part of the traced time.

    bins: op, begin (microseconds of the run), bytes, operations; an operation counts where it
        begins.  width: of a part, in microseconds.  untimed: how many operations have no time.
    """

    bins: pl.DataFrame
    width: int
    untimed: int


def io_over_time(segments: pl.LazyFrame, first: int) -> IoOverTime:
    """Bytes per op and equal part of the traced time.

    segments: rows of darshan.dxt_segment; first: start of the run, in microseconds of the epoch.
    """
    timed = segments.filter(pl.col("start_time").is_not_null()).select(
        "op", "length", begin=pl.col("start_time").dt.epoch("us") - first
    )
    low, high = (
        timed.select(pl.col("begin").min().alias("low"), pl.col("begin").max().alias("high"))
        .collect()
        .row(0)
    )
    width = max(-(-((high or 0) - (low or 0) + 1) // IO_BINS), 1)
    bins = (
        timed.group_by("op", begin=(pl.col("begin") - (low or 0)) // width * width + (low or 0))
        .agg(bytes=pl.col("length").sum(), operations=pl.len().cast(pl.Int64))
        .sort("op", "begin")
        .collect(engine="streaming")
    )
    untimed = segments.select(pl.col("start_time").is_null().sum()).collect().item()
    return IoOverTime(bins, width, int(untimed))


def io_plot(io: IoOverTime, counted: Mapping[str, int]) -> Plot:
    """Bytes per second that traced operations read and wrote, over time.

    counted: bytes by op that were moved in all, as far as that is known.
    """
    bins, width = io.bins, io.width
    ops = sorted(bins["op"].unique())
    totals = {op: int(bins.filter(pl.col("op") == op)["bytes"].sum()) for op in ops}
    low, high = int(bins["begin"].min() or 0), int(bins["begin"].max() or 0)  # type: ignore[arg-type]

    def draw(figure: Any) -> None:
        many = figure.subplots(len(ops), 1, sharex=True, squeeze=False)[:, 0]
        edges = np.arange(low, high + 2 * width, width)[: (high - low) // width + 2]
        for number, (op, axes) in enumerate(zip(ops, many, strict=True)):
            mine = bins.filter(pl.col("op") == op)
            values = np.zeros(len(edges) - 1)
            values[((mine["begin"] - low) // width).to_numpy()] = (
                mine["bytes"] / (width / 1e6)
            ).to_numpy()
            axes.stairs(values, edges / 1e6, color=f"C{number}", fill=True, alpha=0.4)
            axes.stairs(values, edges / 1e6, color=f"C{number}", linewidth=1.0)
            axes.set_title(op)
            axes.set_ylim(bottom=0)
            bytes_axis(axes.yaxis, float(values.max()), per="/s")
        seconds_axis(many[-1].xaxis, float(edges[-1]) / 1e6, "since the first event of the run")

    sums = ", ".join(
        f"{op} {bytes_in_words(size)}"
        + (f" of {bytes_in_words(counted[op])} that were counted" if op in counted else "")
        for op, size in totals.items()
    )
    return Plot(
        "io",
        draw,
        "Traced I/O over time",
        "Bytes per second that traced operations asked for, in all processes of the run, in parts "
        f"of {width / 1e6:.3g} s each. Traced: {sums}. What was not traced, as buffered I/O, is "
        "not in it."
        + (f" {io.untimed:,} operations without a time are left out." if io.untimed else ""),
        size=(9.4, 0.8 + 1.5 * max(len(ops), 1)),
    )

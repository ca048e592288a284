"""Traced I/O over time, as a plot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from harvest.toolkit.amounts import bytes_in_words
from harvest_report import Plot, bytes_axis, seconds_axis
from harvest_toolkit.frames import sum_or_none

from ..io.match import MOVED

IO_BINS = 120


def io_plot(segments: pl.LazyFrame, first: int, counted: Mapping[str, int]) -> Plot | None:
    """Bytes per second that traced operations read and wrote, over time; None without times.

    An operation counts where it begins.

    segments: rows of darshan.dxt_segment; first: start of the run, in microseconds of the epoch;
    counted: bytes by op that were moved in all, as far as that is known.
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
        "not in it." + (f" {untimed:,} operations without a time are left out." if untimed else ""),
        size=(9.4, 0.8 + 1.5 * max(len(ops), 1)),
    )

"""Helpers for plots with a line per process: their labels and time axis."""

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from harvest.toolkit.layout import shorten
from harvest_report.over_time import Window

from ..views.grouping import program_of

LABELLED: Final = 32


def window(logs: pl.DataFrame, last_us: int | None, columns: int) -> Window:
    """Return the window from the first start of logs to their last end, or to later I/O."""
    begin = pl.col("start_time").dt.epoch("us")
    # logs without fractions of seconds include their last second
    ran = (pl.col("run_time_s") * 1_000_000).round(0).cast(pl.Int64)
    start, end = logs.select(start=begin.min(), end=(begin + ran).max()).row(0)
    last = max(start + 1, end or 0, last_us or 0)
    return Window(start, last - start, columns)


def part_of_logs(lines: pl.DataFrame, logs: pl.DataFrame) -> str:
    """Format `` 3 of 33 logs have any.``; empty if all have. lines: have ``origin``."""
    some = lines["origin"].n_unique()
    return f" {some:,} of {logs.height:,} logs have any." if some < logs.height else ""


def named(lines: pl.DataFrame, logs: pl.DataFrame) -> pl.DataFrame:
    """Add a ``label`` to lines: the rank if there is one log, else the program and process.

    lines: have origin, rank and pid.
    """
    known = logs.select("origin", "nprocs", program=program_of(pl.col("exe")))
    number = pl.col("pid").cast(pl.String).fill_null("")
    one = pl.format("rank {}", "rank")
    process = pl.concat_str(pl.col("program").fill_null("process"), pl.lit(" "), number)
    if logs.height == 1:
        label = one
    else:
        several = pl.concat_str(process, pl.lit(" "), one)
        label = pl.when(pl.col("nprocs") > 1).then(several).otherwise(process)
    return lines.join(known, on="origin", how="left", maintain_order="left").with_columns(
        label=label.str.strip_chars()
    )


def label_lines(axes: Any, labels: Sequence[str]) -> None:
    """Label the lines: all of them if there is room, else some."""
    step = -(-len(labels) // LABELLED) or 1
    axes.set_yticks(
        range(0, len(labels), step), [shorten(name, 30, "id") for name in labels[::step]]
    )
    axes.tick_params(axis="y", length=0, labelsize=7)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.grid(visible=False)

"""Plot traced operations over time, with a line per process and thread."""

from functools import partial
from typing import Any, Final

import polars as pl

from harvest import DatasetReader
from harvest.model.frames import seconds
from harvest.toolkit.amounts import count_in_words, share_in_words
from harvest_report import MOST_MARKS, Column, Marks, Notes, Plot, legend, seconds_axis
from harvest_report.over_time import Window
from harvest_toolkit.frames import safe_sum

from ..views.layers import SEGMENTS, traced_once
from .over_time import label_lines, named, part_of_logs, window

ONE: Final = ("origin", "rank", "thread")
COLUMNS: Final = 600
LINES: Final = 60
TITLE: Final = "Traced operations"
COLOURS: Final = {"read": "#0072b2", "write": "#d55e00"}


def traced_plots(dataset: DatasetReader, logs: pl.DataFrame, which: str) -> list[Plot | Notes]:
    """Plot when each process and thread read or wrote, as DXT traced it.

    If both layers were traced, MPI-IO has its own plot, which includes the time that ranks wait.

    logs: the logs of one job. which: the job, for the title.
    """
    segments = dataset[SEGMENTS]
    plot = _plot("traced", f"{TITLE}{which}", _trace(traced_once(segments)), logs)
    if plot is None:
        text = "The logs have no trace. Run the program with DXT_ENABLE_IO_TRACE=1 to record one."
        return [Notes("traced", [text], title=f"{TITLE}{which}")]
    modules = segments.select(pl.col("module").unique()).collect()["module"]
    if set(modules) != {"DXT_POSIX", "DXT_MPIIO"}:
        return [plot]
    upper = _trace(segments.filter(pl.col("module") == "DXT_MPIIO"))
    below = _plot("traced-mpiio", f"{TITLE} of MPI-IO{which}", upper, logs)
    return [plot] if below is None else [plot, below]


def _plot(name: str, title: str, trace: pl.LazyFrame, logs: pl.DataFrame) -> Plot | None:
    """Plot a line per process and thread; return None if no operation has a time."""
    totals, last = pl.collect_all([_lines(trace), trace.select(pl.col("end").max())])
    if totals.is_empty():
        return None
    extent = window(logs, last.item(), COLUMNS)
    # sorted by rank; processes of several logs by their start
    first = pl.col("begin").min().over("origin", "rank")
    order = ["rank"] if logs.height == 1 else [first, "origin", "rank"]
    kept = totals.head(LINES).sort(*order, "begin", "thread", nulls_last=True)
    several = pl.when(pl.col("threads") > 1).then(pl.format("{} thread {}", "label", "number"))
    shown = named(kept, logs).with_columns(label=several.otherwise("label")).with_row_index("line")
    cells = _cells(trace, shown.select(*ONE, "line"), extent)
    labels = shown["label"].to_list()
    operations = int(totals["operations"].sum())
    limited = (
        f" Shown: the longest {shown.height} of {totals.height:,} lines, with "
        f"{share_in_words(int(shown['operations'].sum()) / operations)} of the operations."
        if shown.height < totals.height
        else ""
    )
    return Plot(
        name,
        partial(_draw, cells=cells, labels=labels, extent=extent),
        title,
        f"{count_in_words(operations, 'operation')} on {count_in_words(totals.height, 'line')}, "
        "one for each process or recorded thread. A cell has the colour of its longest kind of "
        f"operation.{part_of_logs(totals, logs)}{limited}",
        size=(9.4, 1.3 + 0.16 * max(len(labels), 4)),
        marks=lambda: _marks(trace, shown, extent),
    )


def _marks(trace: pl.LazyFrame, lines: pl.DataFrame, extent: Window) -> Marks:
    rows = (
        trace.join(lines.lazy().select(*ONE, "line", "label"), on=ONE, nulls_equal=True)
        .select(
            *("label", "op", "length"),
            took=pl.col("end") - pl.col("start"),
            left=pl.col("start") - extent.start_us,
            right=pl.col("end") - extent.start_us,
            bottom=pl.col("line") + 0.4,
            top=pl.col("line") - 0.4,
            colour=pl.col("op").replace_strict(COLOURS, default="C5", return_dtype=pl.String),
        )
        .head(MOST_MARKS + 1)
        .collect(engine="streaming")
        # in one order, so that the same data give the same page
        .sort("bottom", "left", "right", "op", "length")
        .with_columns(seconds(pl.col("took", "left", "right")))
    )
    tips = (
        Column("label", "process"),
        *("op", Column("length", "bytes", format=","), Column("took", "time", "s", "g")),
    )
    names = {float(line): label for line, label in lines.select("line", "label").iter_rows()}
    return Marks(rows, tips, "seconds since the job began", names, "op")


def _trace(segments: pl.LazyFrame) -> pl.LazyFrame:
    """Return the operations that have a time, in microseconds since the epoch."""
    return segments.filter(pl.col("start_time").is_not_null()).select(
        *("origin", "rank", "thread", "pid", "op", "length"),
        start=pl.col("start_time").dt.epoch("us"),
        end=pl.max_horizontal("start_time", "end_time").dt.epoch("us"),
    )


def _lines(trace: pl.LazyFrame) -> pl.LazyFrame:
    """Return a row per process and thread, the longest time in operations first.

    threads: number of threads of the process. number: which of them this is, by their start.
    """
    process = ["origin", "rank"]
    return (
        trace.group_by(ONE)
        .agg(
            pl.col("pid").max(),
            begin=pl.col("start").min(),
            operations=pl.len(),
            spent=safe_sum(pl.col("end") - pl.col("start")),
        )
        .sort("begin", "thread")
        .with_columns(
            number=pl.int_range(1, pl.len() + 1).over(process), threads=pl.len().over(process)
        )
        .sort("spent", "begin", *ONE, descending=[True, *[False] * 4], nulls_last=True)
    )


def _cells(trace: pl.LazyFrame, lines: pl.DataFrame, extent: Window) -> pl.DataFrame:
    shown = trace.join(lines.lazy(), on=ONE, nulls_equal=True)
    numbers = dict(zip(COLOURS, range(len(COLOURS)), strict=True))
    kind = pl.col("op").replace_strict(numbers, default=None, return_dtype=pl.Int64)
    return (
        extent.in_columns(shown.select("line", "start", "end", kind=kind).drop_nulls("kind"))
        .group_by("line", "kind", "column")
        .agg(pl.col("inside").sum())
        .collect(engine="streaming")
    )


def _draw(figure: Any, cells: pl.DataFrame, labels: list[str], extent: Window) -> None:
    from matplotlib.patches import Patch  # optional: the extra "report"

    axes = figure.subplots()
    # short operations stay visible
    extent.draw_longest(axes, cells, list(COLOURS.values()), lines=len(labels), faint=0.3)
    label_lines(axes, labels)
    seconds_axis(axes.xaxis, extent.seconds, "since the job began")
    legend(figure, [Patch(color=colour, label=op) for op, colour in COLOURS.items()])

"""Plot bytes over time by process, from the heat maps of the logs, or else the trace.

The labels and the time axis also serve other plots with a line per process.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from harvest import DatasetReader
from harvest.toolkit.amounts import LONGEST_S, bytes_in_words, count_in_words, share_in_words
from harvest.toolkit.layout import shorten
from harvest_report import Notes, Plot, bytes_axis, seconds_axis
from harvest_report.over_time import Window, shades
from harvest_toolkit.frames import known_sum, possible, safe_sum

from ..views.grouping import program_of
from ..views.layers import OPS, SEGMENTS, traced_once

COLUMNS: Final = 200
LINES: Final = 300
LABELLED: Final = 32
TITLE: Final = "Bytes over time by process"

_Bytes: TypeAlias = tuple[pl.DataFrame, str]
"""Bytes per piece of time, and their source in words.

Columns: origin, rank, pid, op, bytes, and start and end in microseconds since the epoch.
"""


def heat_map(dataset: DatasetReader, logs: pl.DataFrame, which: str) -> Plot | Notes:
    """Plot a line per process, with a stronger colour for more bytes.

    logs: the logs of one job. which: the job, for the title.
    """
    found = _from_heat_maps(dataset) or _from_trace(dataset)
    if found is None:
        text = "The logs have no heat map (Darshan 3.4 and later) and no trace (DXT)."
        return Notes("heat-map", [text], title=f"{TITLE}{which}")
    pieces, said = found
    extent = window(logs, int(pieces["end"].max() or 0), COLUMNS)  # type: ignore[arg-type]
    one = ["origin", "rank"]
    lines = (
        pieces.group_by(one)
        .agg(safe_sum("bytes"), pl.col("start").min(), pl.col("pid").max())
        .sort("bytes", *one, descending=[True, False, False])
    )
    total = int(pieces["bytes"].sum())
    # sorted by rank; processes of several logs by their start
    order = one if logs.height == 1 else ["start", *one]
    shown = named(lines.head(LINES).sort(order), logs).with_row_index("line")
    places = pieces.join(shown.select(*one, "line"), on=one)
    grids = {op: _grid(places.filter(pl.col("op") == op), shown.height, extent) for op in OPS}
    labels = shown["label"].to_list()
    left_out = part_of_logs(pieces, logs)
    if shown.height < lines.height:
        share = share_in_words(int(shown["bytes"].sum()) / total)
        left_out += f" Shown: {shown.height} of {lines.height:,} processes, with {share} of bytes."
    sums = " and ".join(
        f"{bytes_in_words(int(pieces.filter(pl.col('op') == op)['bytes'].sum()))} {done}"
        for op, done in (("read", "read"), ("write", "written"))
    )
    return Plot(
        "heat-map",
        partial(_draw, grids=grids, labels=labels, extent=extent),
        f"{TITLE}{which}",
        f"{sums}, {said}. Above, all processes together; below, a line for each of "
        f"{count_in_words(shown.height, 'process', 'processes')} with I/O.{left_out}",
        size=(7.5, min(3.0 + 0.09 * max(len(labels), 4), 6.6)),
    )


def _from_heat_maps(dataset: DatasetReader) -> _Bytes | None:
    """Read the heat maps of POSIX, STDIO and DFS; of MPI-IO or DAOS in logs without these."""
    held = dataset["darshan.heatmap"].select("origin", "path").unique().collect()

    def having(*modules: str) -> pl.DataFrame:
        return held.filter(pl.col("path").is_in([f"heatmap:{name}" for name in modules]))

    kept = pl.concat(
        [
            having("POSIX", "STDIO", "DFS"),
            having("DAOS").join(having("DFS"), on="origin", how="anti"),
            having("MPIIO").join(having("POSIX", "DFS", "DAOS"), on="origin", how="anti"),
        ]
    )
    maps = (
        dataset["darshan.heatmap"]
        .join(kept.lazy(), on=["origin", "path"], how="semi")
        .select(
            *("origin", "rank", "pid"),
            at=pl.col("first_time").dt.epoch("us"),
            width=pl.col("HEATMAP_F_BIN_WIDTH_SECONDS") * 1e6,
            read="HEATMAP_READ_BINS",
            write="HEATMAP_WRITE_BINS",
        )
        # intervals without a length have no time
        .filter(pl.col("width") > 0, pl.col("width") * pl.col("read").list.len() < LONGEST_S * 1e6)
    )
    interval = ("origin", "rank", "pid", "at", "width", "number")
    pieces = (
        maps.with_columns(number=pl.int_ranges(pl.col("read").list.len()))
        .explode(*OPS, "number")
        .unpivot(OPS, index=interval, variable_name="op", value_name="bytes")
        .filter(pl.col("bytes") > 0)
        .select(
            *("origin", "rank", "pid", "op", pl.col("bytes").cast(pl.Int128)),
            start=(pl.col("at") + pl.col("number") * pl.col("width")).cast(pl.Int64),
            end=(pl.col("at") + (pl.col("number") + 1) * pl.col("width")).cast(pl.Int64),
        )
        .collect(engine="streaming")
    )
    modules = kept["path"].str.strip_prefix("heatmap:").replace("MPIIO", "MPI-IO")
    said = f"from the heat maps of {' and '.join(sorted(modules.unique()))}"
    return (pieces, said) if pieces.height else None


def _from_trace(dataset: DatasetReader) -> _Bytes | None:
    """Sum traced operations by the millisecond of their start."""
    begin = pl.col("start_time").dt.epoch("us")
    step = 1000
    pieces = (
        traced_once(dataset[SEGMENTS])
        .filter(pl.col("start_time").is_not_null())
        .group_by("origin", "rank", "op", start=begin.floordiv(step) * step)
        .agg(bytes=known_sum(possible("length")), pid=pl.col("pid").max())
        .with_columns(end=pl.col("start") + step)
        .collect(engine="streaming")
        .select("origin", "rank", "pid", "op", "bytes", "start", "end")
    )
    said = "from the trace (DXT), each operation at its start, without buffered I/O"
    return (pieces, said) if pieces.height else None


def _grid(places: pl.DataFrame, lines: int, extent: Window) -> NDArray[np.float64]:
    """Return the bytes by line (row) and time (column), spread evenly over each piece."""
    part = pl.col("inside") / (pl.col("end") - pl.col("start"))
    cells = (
        extent.in_columns(places.lazy().select("line", "start", "end", "bytes"))
        .group_by("line", "column")
        .agg(moved=(pl.col("bytes").cast(pl.Float64) * part).sum())
        .collect(engine="streaming")
    )
    grid = np.zeros((lines, extent.columns))
    grid[cells["line"].to_numpy(), cells["column"].to_numpy()] = cells["moved"].to_numpy()
    return grid


def _draw(
    figure: Any, grids: dict[str, NDArray[np.float64]], labels: list[str], extent: Window
) -> None:
    """Draw for each op a curve of all processes, and below a line of cells for each."""
    edges = np.linspace(0, extent.seconds, extent.columns + 1)
    width = extent.seconds / extent.columns
    grid = figure.subplots(
        2, 2, sharex=True, squeeze=False, height_ratios=[1.0, max(0.09 * len(labels), 1.2)]
    )
    for column, (op, values) in enumerate(grids.items()):
        above, axes = grid[:, column]
        most = float(values.max()) / width
        above.stairs(values.sum(axis=0) / width, edges, color=f"C{column}", fill=True, alpha=0.4)
        above.set_title(op)
        above.set_ylim(0, float(values.sum(axis=0).max()) / width * 1.05 or 1)
        bytes_axis(above.yaxis, above.get_ylim()[1], per="/s")
        image = axes.pcolormesh(
            edges,
            np.arange(len(labels) + 1) - 0.5,
            # the square root, so that small amounts stay visible
            np.sqrt(values / width / (most or 1)),
            cmap=shades(("#0072b2", "#d55e00")[column]),
            vmin=0,
            vmax=1,
            rasterized=True,
        )
        label_lines(axes, labels, shown=column == 0)
        axes.set_xlim(0, extent.seconds)
        seconds_axis(axes.xaxis, extent.seconds, "since the job began")
        bar = figure.colorbar(image, ax=axes, orientation="horizontal", fraction=0.06, pad=0.03)
        rates = ["0", *(f"{bytes_in_words(part * most)}/s" for part in (0.25, 1))]
        bar.set_ticks([0, 0.5, 1], labels=rates if most else ["0", "", ""])
        bar.ax.tick_params(labelsize=7)
        bar.outline.set_visible(False)


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


def label_lines(axes: Any, labels: Sequence[str], *, shown: bool = True) -> None:
    """Label the lines if ``shown``: all of them if there is room, else some."""
    places = range(0, len(labels), -(-len(labels) // LABELLED) or 1) if shown else ()
    axes.set_yticks(places, [shorten(labels[place], 30, "id") for place in places])
    axes.tick_params(axis="y", length=0, labelsize=7)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.grid(visible=False)

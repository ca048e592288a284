"""What moved in a run: data between workers, and bytes to and from files."""

from __future__ import annotations

from typing import Any

import polars as pl

from harvest.report import Column, Plot, Table

from .report_figures import INK, bytes_in_words, shades, short
from .views_frames import moved_bytes

__all__ = ["CLIENT", "IO_BINS", "io_over_time", "io_plot", "matrix", "pairs_of", "pairs_table"]

CLIENT = "a client"
IO_BINS = 120
NUMBERED = 12
"""Workers up to which a matrix bears its numbers."""


def pairs_of(transfers: pl.LazyFrame) -> pl.DataFrame:
    """One row per pair of workers: source, target, movements, bytes, seconds, and who told.

    A movement is told by the side that sends and the side that receives, or by one of them: per
    pair the larger of the two accounts is taken.
    """
    pair = ["source", "target"]
    told = transfers.select(
        "direction",
        "duration_s",
        source=pl.col("fulfiller").fill_null(CLIENT),
        target=pl.col("requestor").fill_null(CLIENT),
        bytes=moved_bytes(),
    )
    return (
        told.group_by(*pair, "direction")
        .agg(
            movements=pl.len().cast(pl.Int64),
            bytes=pl.col("bytes").sum(),
            seconds=pl.col("duration_s").sum(),
        )
        .group_by(pair)
        .agg(
            pl.col("movements").max(),
            pl.col("bytes").max(),
            pl.col("seconds").max(),
            sides=pl.when(pl.len() > 1)
            .then(pl.lit("both sides"))
            .when((pl.col("direction") == "outgoing").all())
            .then(pl.lit("the sender"))
            .otherwise(pl.lit("the receiver")),
        )
        .sort("bytes", *pair, descending=[True, False, False])
        .collect()
    )


def pairs_table(pairs: pl.DataFrame, top: int) -> Table:
    """The pairs that moved most."""
    rate = pl.when(pl.col("seconds") > 0).then(pl.col("bytes") / pl.col("seconds") / 1e6)
    return Table(
        "transfers",
        pairs.head(top).with_columns(mb_per_s=rate),
        (
            Column("source", "from"),
            Column("target", "to"),
            Column("movements"),
            Column("bytes", unit="bytes"),
            Column("seconds", "time", "s", ",.3f"),
            Column("mb_per_s", "rate", "MB/s", ",.1f"),
            Column(
                "sides",
                "told by",
                doc="who told of the movements; of two accounts the larger counts",
            ),
        ),
        title="Transfers between workers",
        note=None if pairs.height <= top else f"The {top} largest of {pairs.height:,} pairs.",
    )


def matrix(pairs: pl.DataFrame) -> Plot:
    """Bytes from each worker (rows) to each (columns)."""
    sources = sorted(pairs["source"].unique(), key=_client_last)
    targets = sorted(pairs["target"].unique(), key=_client_last)
    total = int(pairs["bytes"].sum() or 0)
    largest = pairs.row(0, named=True)
    side = max(len(sources), len(targets))
    numbered = side <= NUMBERED

    def draw(figure: Any) -> None:
        import numpy as np
        from matplotlib.colors import LogNorm

        axes = figure.subplots()
        grid = np.full((len(sources), len(targets)), np.nan)
        for source, target, size in pairs.select("source", "target", "bytes").iter_rows():
            grid[sources.index(source), targets.index(target)] = size or np.nan
        sizes = grid[~np.isnan(grid)]
        wide = len(sizes) > 1 and sizes.max() / sizes.min() > 50
        norm = LogNorm(sizes.min() / 3, sizes.max()) if wide else None
        limits = {} if wide else {"vmin": 0, "vmax": sizes.max() if len(sizes) else 1}
        cells = shades(0.6 if numbered else 1.0)
        image = axes.pcolormesh(grid, cmap=cells, norm=norm, rasterized=True, **limits)
        if numbered:
            for (y, x), size in np.ndenumerate(grid):
                if not np.isnan(size):
                    axes.text(x + 0.5, y + 0.5, bytes_in_words(size), ha="center", va="center",
                              fontsize=7.5, color=INK)  # fmt: skip
        _names(axes.xaxis, targets)
        _names(axes.yaxis, sources)
        axes.set_xlim(0, len(targets))
        axes.set_ylim(len(sources), 0)
        axes.tick_params(axis="x", rotation=35 if len(targets) <= 12 else 90)
        for label in axes.get_xticklabels():
            label.set_ha("right")
            label.set_rotation_mode("anchor")
        axes.tick_params(length=0)
        axes.set_xlabel("to")
        axes.set_ylabel("from")
        axes.grid(visible=False)
        bar = figure.colorbar(image, ax=axes, fraction=0.03, pad=0.01)
        bar.ax.yaxis.set_major_formatter(lambda value, _: bytes_in_words(value))
        bar.ax.minorticks_off()
        bar.outline.set_visible(False)

    return Plot(
        "transfer-matrix",
        draw,
        "Bytes moved between workers",
        f"Bytes from each worker (rows) to each worker or client (columns), "
        f"{bytes_in_words(total)} in all; most went from {short(largest['source'])} to "
        f"{short(largest['target'])}: {bytes_in_words(largest['bytes'])}.",
        size=(7.5 if side <= NUMBERED else 8.6, min(2.0 + 0.32 * len(sources), 8.0)),
    )


def io_over_time(segments: pl.LazyFrame, first: int) -> tuple[pl.DataFrame, int]:
    """Bytes per op and equal part of the traced time, and the length of a part in microseconds.

    segments: rows of darshan.dxt_segment; first: start of the run, in microseconds of the epoch.
    Gives op, begin (microseconds of the run), bytes, operations.  An operation counts where it
    begins.
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
    return bins, width


def io_plot(bins: pl.DataFrame, width: int) -> Plot:
    """Bytes per second that were read and written, over time."""
    ops = sorted(bins["op"].unique())
    totals = {op: int(bins.filter(pl.col("op") == op)["bytes"].sum()) for op in ops}
    low, high = int(bins["begin"].min() or 0), int(bins["begin"].max() or 0)  # type: ignore[arg-type]

    def draw(figure: Any) -> None:
        import numpy as np

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
            axes.yaxis.set_major_formatter(lambda v, _: f"{bytes_in_words(v)}/s" if v else "0")
        many[-1].set_xlabel("seconds since the first event of the run")

    told = ", ".join(f"{op} {bytes_in_words(size)}" for op, size in totals.items())
    return Plot(
        "io",
        draw,
        "I/O over time",
        f"Bytes per second, as traced in all processes of the run, in parts of {width / 1e6:.3g} s "
        f"each. In all: {told}.",
        size=(9.4, 0.8 + 1.5 * max(len(ops), 1)),
    )


def _client_last(name: str) -> tuple[bool, str]:
    return (name == CLIENT, name)


def _names(axis: Any, names: list[str]) -> None:
    step = -(-len(names) // 40) or 1
    axis.set_ticks([i + 0.5 for i in range(0, len(names), step)], [short(n) for n in names[::step]])

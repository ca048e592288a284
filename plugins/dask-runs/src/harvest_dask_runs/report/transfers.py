"""Transfers between the workers of a run, and to clients."""

from typing import Any

import numpy as np
import polars as pl

from harvest.toolkit.amounts import bytes_in_words
from harvest_report import INK, Column, Plot, Table
from harvest_report.over_time import shades

from ..frames import CLIENT
from .stream import short

NUMBERED = 12
"""Maximum workers of a matrix with numbers in its cells."""


def pairs_table(pairs: pl.DataFrame, top: int) -> Table:
    """Build the table of the pairs that moved most."""
    rate = pl.when(pl.col("seconds") > 0).then(pl.col("bytes") / pl.col("seconds") / 1e6)
    return Table(
        "transfers",
        pairs.head(top).with_columns(mb_per_s=rate),
        (
            Column("source", "from", format="id"),
            Column("target", "to", format="id"),
            "movements",
            Column("bytes", unit="bytes"),
            Column("seconds", "time", "s", ",.3f"),
            Column("mb_per_s", "rate", "MB/s", ",.1f"),
            Column(
                "sides",
                "reported by",
                doc="the side that reported; of two reports the larger counts",
            ),
        ),
        title="Transfers between workers",
        note=None if pairs.height <= top else f"The {top} largest of {pairs.height:,} pairs.",
    )


def matrix(pairs: pl.DataFrame) -> Plot:
    """Draw the bytes from each worker (rows) to each worker (columns)."""
    sources, targets = (
        sorted(pairs[end].unique(), key=lambda name: (name == CLIENT, name))
        for end in ("source", "target")
    )
    total = int(pairs["bytes"].sum() or 0)
    largest = pairs.row(0, named=True)
    side = max(len(sources), len(targets))

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        image = _cells(axes, pairs, sources, targets, numbered=side <= NUMBERED)
        _label(axes, sources, targets)
        bar = figure.colorbar(image, ax=axes, fraction=0.03, pad=0.01)
        bar.ax.yaxis.set_major_formatter(lambda value, _: bytes_in_words(value))
        bar.ax.minorticks_off()
        bar.outline.set_visible(False)

    return Plot(
        "transfer-matrix",
        draw,
        "Bytes moved between workers",
        f"Bytes from each worker (rows) to each worker or client (columns), "
        f"{bytes_in_words(total)} in all. Most went from {short(largest['source'])} to "
        f"{short(largest['target'])}: {bytes_in_words(largest['bytes'])}.",
        size=(7.5 if side <= NUMBERED else 8.6, min(2.0 + 0.32 * len(sources), 8.0)),
    )


def _cells(
    axes: Any, pairs: pl.DataFrame, sources: list[str], targets: list[str], *, numbered: bool
) -> Any:
    """Draw a cell for each pair, the more bytes the stronger its colour.

    numbered: write the bytes into the cells.
    """
    from matplotlib.colors import LogNorm  # optional: the extra "report"

    grid = np.full((len(sources), len(targets)), np.nan)
    for source, target, size in pairs.select("source", "target", "bytes").iter_rows():
        grid[sources.index(source), targets.index(target)] = size or np.nan
    sizes = grid[~np.isnan(grid)]
    wide = len(sizes) > 1 and sizes.max() / sizes.min() > 50
    norm = LogNorm(sizes.min() / 3, sizes.max()) if wide else None
    limits = {} if wide else {"vmin": 0, "vmax": sizes.max() if len(sizes) else 1}
    colours = shades(most=0.6 if numbered else 1.0)
    image = axes.pcolormesh(grid, cmap=colours, norm=norm, rasterized=True, **limits)
    if numbered:
        for (y, x), size in np.ndenumerate(grid):
            if not np.isnan(size):
                axes.text(x + 0.5, y + 0.5, bytes_in_words(size), ha="center", va="center",
                          fontsize=7.5, color=INK)  # fmt: skip
    return image


def _label(axes: Any, sources: list[str], targets: list[str]) -> None:
    for axis, names in ((axes.xaxis, targets), (axes.yaxis, sources)):
        step = -(-len(names) // 40) or 1
        places = [place + 0.5 for place in range(0, len(names), step)]
        axis.set_ticks(places, [short(name) for name in names[::step]])
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

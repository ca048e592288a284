"""How fast scans' data moved: a point for each scan, by size and method."""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import Any, Final

import polars as pl

from harvest_report import Plot, legend
from harvest_toolkit.frames import fraction

LABELS: Final = {"file_transfer": "file transfer", "streaming": "streaming"}
"""The methods, in words, in the order of the report."""

WIDTH: Final = 0.36
"""Of the points of a method at a size, where sizes are 1 apart."""


def rates(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with a throughput: size, method, ``gib_per_s``; in their order."""
    rate = fraction(pl.col("data_gb") * (1e9 / 2**30), "duration_s")
    return rows.select("size", "method", gib_per_s=rate).drop_nulls()


def throughput_plot(rows: pl.DataFrame, sizes: list[str]) -> Plot | None:
    """Data volume over duration of each scan that counts; None where none is known.

    rows: the durations that count, outliers too, by size and method in order of scans or jobs.
    """
    known = rates(rows)
    groups = [
        (sizes.index(size), method, values)
        for size in sizes
        for method in LABELS
        if (values := _of(known, size, method))
    ]
    if not groups:
        return None

    said = "; ".join(
        f"{sizes[place]} by {LABELS[method]} {median(values):.3g} GiB/s"
        for place, method, values in groups
    )
    return Plot(
        "throughput",
        partial(_draw, groups=groups, sizes=sizes),
        "Throughput per scan",
        "Points: data volume of a scan over its duration, outliers too; lines: medians. On a "
        f"logarithmic scale. Medians: {said}.",
        size=(7.5, 4.0),
    )


def _draw(figure: Any, groups: list[tuple[int, str, list[float]]], sizes: list[str]) -> None:
    """Points of each group in order, side by side, with a line at their median.

    groups: place of the size, method, and throughputs.
    """
    axes = figure.subplots()
    for place, method, values in groups:
        number = list(LABELS).index(method)
        left = place + (number - 0.5) * (WIDTH + 0.04) - WIDTH / 2
        step = WIDTH / len(values)
        axes.scatter(
            [left + (i + 0.5) * step for i in range(len(values))],
            values,
            s=6,
            color=f"C{1 - number}",
            alpha=0.6,
            linewidths=0,
            rasterized=True,
        )
        axes.hlines(median(values), left, left + WIDTH, color="#1f2430", linewidth=1.6)
    for number, method in enumerate(LABELS):
        if any(method == other for _, other, _ in groups):
            axes.scatter([], [], s=40, color=f"C{1 - number}", label=LABELS[method])
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.set_xticks(range(len(sizes)), sizes)
    axes.set_xlim(-0.5, len(sizes) - 0.5)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("scan size (positions); within a size, scans or jobs in their order")
    axes.set_ylabel("throughput (GiB/s)")
    legend(figure)


def _of(known: pl.DataFrame, size: str, method: str) -> list[float]:
    mine = (pl.col("size") == size) & (pl.col("method") == method)
    return known.filter(mine)["gib_per_s"].to_list()

"""Two sections of the report: throughput of scans, and lost scans."""

from collections.abc import Iterator
from functools import partial
from statistics import median
from typing import Any, Final

import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import count_in_words
from harvest_report import INK, Column, Plot, Table, legend
from harvest_toolkit.frames import fraction

from .study import Study

LABELS: Final = {"file_transfer": "file transfer", "streaming": "streaming"}
"""Display names of the methods, in the order of the report."""

WIDTH: Final = 0.36
"""Width of a method's points at a size, if sizes are 1 apart."""


def rates(rows: pl.DataFrame) -> pl.DataFrame:
    """Select rows with a throughput, in order: size, method, ``gib_per_s``."""
    rate = fraction(pl.col("data_gb") * (1e9 / 2**30), "duration_s")
    return rows.select("size", "method", gib_per_s=rate).drop_nulls()


def throughput_plot(rows: pl.DataFrame, sizes: list[str]) -> Plot | None:
    """Plot the throughput of each scan (data volume / duration); None if none is known.

    rows: included durations, with outliers, by size and method in order of scans or jobs.
    """
    by_group = rates(rows).group_by("size", "method", maintain_order=True).agg("gib_per_s")
    groups = sorted((sizes.index(size), *group) for size, *group in by_group.iter_rows())
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
    """Draw the points of each group in order, side by side, with a line at their median.

    groups: position of the size, method, and throughputs.
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
        axes.hlines(median(values), left, left + WIDTH, color=INK, linewidth=1.6)
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


SHOWN: Final = 40
"""Maximum number of table rows; the view lists all."""

_FATES: Final = {"lost": "lost", "failed": "failed", "gapped": "with gaps"}
_SAME: Final = ("fate", "method", "size", "problem")


def failed_table(dataset: DatasetReader, study: Study) -> Iterator[Table]:
    """Tabulate the scans that were lost, failed or have gaps, if any."""
    if "ncem.receiver_status" not in dataset or "ncem.data_file" not in dataset:
        return
    found = dataset.view("ncem.failed_scans", study=study).collect()
    if found.is_empty():
        return
    lines = together(found)
    left = lines.height - SHOWN
    counts = dict(found.group_by("fate").agg(pl.col("numbers").sum()).iter_rows())
    said = ", ".join(
        f"{counts[fate]:,} {words}" for fate, words in _FATES.items() if fate in counts
    )
    yield Table(
        "failed-scans",
        lines.head(SHOWN),
        (
            *("fate", "scans"),
            Column("n", doc="how many"),
            *("method", "size", "problem"),
            Column("begin", "begin", None, "%Y-%m-%d %H:%M:%S", doc="first receiver time"),
        ),
        title="Scans that were lost, failed or have gaps",
        group="fate",
        note=f"{count_in_words(sum(counts.values()), 'scan')}: {said}; those in a row with the "
        "same problem are one line. The view ncem.failed_scans lists each"
        + (f"; {count_in_words(left, 'line')} more are not shown." if left > 0 else "."),
    )


def together(found: pl.DataFrame) -> pl.DataFrame:
    """Merge consecutive scans with the same problems into one row."""
    number, end = pl.col("scan_number"), pl.col("scan_number") + pl.col("numbers")
    follows = pl.all_horizontal(
        number == end.shift(1), *(pl.col(name).eq_missing(pl.col(name).shift(1)) for name in _SAME)
    )
    ranks = {fate: rank for rank, fate in enumerate(_FATES)}
    first, last = number.first(), end.last() - 1
    return (
        found.with_columns(group=(~follows.fill_null(value=False)).cum_sum())
        .group_by("group", maintain_order=True)
        .agg(
            *(pl.col(name).first() for name in _SAME),
            first=first,
            scans=pl.when(first == last)
            .then(first.cast(pl.String))
            .otherwise(pl.format("{} to {}", first, last)),
            n=pl.col("numbers").sum(),
            begin=pl.col("first_receiver_time").min(),
        )
        .sort(pl.col("fate").replace_strict(ranks, return_dtype=pl.Int64), "first")
    )

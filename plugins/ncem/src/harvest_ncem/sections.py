"""Sections of the report: its plots, and the table of lost scans."""

import math
import re
from collections.abc import Iterator
from functools import partial
from statistics import median
from typing import Any, Final

import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import count_in_words
from harvest_report import INK, Column, Plot, Table, legend, legend_below
from harvest_toolkit.frames import fraction

from .study import Study

LABELS: Final = {"file_transfer": "file transfer", "streaming": "streaming"}
"""Display names of the methods, in the order of the report."""

MAX_BINS: Final = 60
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


def overview(table: pl.DataFrame) -> Plot:
    """Plot the mean duration of each size and method, with the speed-up of streaming."""
    shown = table.filter(pl.col("outliers") == "removed")
    sizes = shown["size"].unique(maintain_order=True).to_list()
    streamed = shown.filter(pl.col("method") == "streaming").drop_nulls("speed_up")
    top = pl.col("mean_s") + pl.col("std_s").fill_null(0.0)
    factors = streamed.select("size", "speed_up", top).rows()

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for number, method in enumerate(LABELS):
            _bars(axes, number, sizes, shown.filter(pl.col("method") == method))
        for size, factor, height in factors:
            axes.annotate(
                f"{factor:.2f}×",
                (sizes.index(size) + 0.01, height),
                xytext=(0, 5),
                textcoords="offset points",
                fontweight="bold",
            )
        axes.set_xticks(range(len(sizes)), sizes)
        axes.grid(visible=False, axis="x")
        axes.margins(y=0.12)
        axes.set_ylim(bottom=0)
        above = "; above streaming, its speed-up" if factors else ""
        axes.set_xlabel(f"scan size (positions){above}")
        axes.set_ylabel("duration per scan (s)")
        legend(figure)

    said = "; ".join(f"{size} {value:.2f} times" for size, value, _ in factors)
    return Plot(
        "speed-up",
        draw,
        "Mean duration and speed-up",
        "Bars: mean duration per scan by size and method, without outliers; whiskers: one "
        "standard deviation. Speed-up of streaming: " + (said or "no size has both methods") + ".",
        size=(7.5, 3.8),
    )


def _bars(axes: Any, number: int, sizes: list[str], rows: pl.DataFrame) -> None:
    """Draw the mean of a method at each size, with a whisker of one standard deviation."""
    means = rows["mean_s"].to_list()
    # a single value has no deviation, so no whisker is drawn
    spread = rows["std_s"].fill_null(math.nan).to_list()
    axes.bar(
        [sizes.index(size) + (number - 0.5) * 0.36 for size in rows["size"]],
        means,
        width=0.34,
        color=f"C{1 - number}",
        label=list(LABELS.values())[number],
        # a whisker below zero would mean a negative time
        yerr=[[min(s, m) for m, s in zip(means, spread, strict=True)], spread],
        error_kw={"elinewidth": 1, "capsize": 3, "ecolor": INK},
    )


def histograms(size: str, rows: pl.DataFrame) -> Plot:
    """Plot the durations at a size, a histogram per method."""
    groups = [(m, rows.filter(pl.col("method") == m)) for m in LABELS]
    groups = [(method, found) for method, found in groups if found.height]

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(groups), squeeze=False)[0]
        for axes, (method, found) in zip(panels, groups, strict=True):
            _histogram(axes, method, found)

    said = "; ".join(
        f"{LABELS[method]}: {found.height:,} values, median "
        f"{_short(found['duration_s'].median())} s, {found['outlier'].sum():,} outliers"
        for method, found in groups
    )
    return Plot(
        f"histogram-{re.sub('[^0-9A-Za-z]', '-', size)}",
        draw,
        f"Durations at {size}",
        f"Histograms of the durations at {size}. {said[0].upper()}{said[1:]}.",
        size=(7.5, 3.4),
    )


def _histogram(axes: Any, method: str, rows: pl.DataFrame) -> None:
    """Draw bins for values within the fences, and one paler bar for all values beyond each."""
    colour = f"C{1 - list(LABELS).index(method)}"
    values = rows["duration_s"]
    inside = rows.filter(~pl.col("outlier"))["duration_s"]
    edges = bin_edges(inside)
    axes.hist(inside.to_list(), bins=edges, color=colour, histtype="stepfilled")
    width = edges[1] - edges[0]
    below = values.filter(rows["outlier"] & (values < inside.min()))
    above = values.filter(rows["outlier"] & (values > inside.max()))
    low, high = axes.get_xlim()
    ticks = [(x, f"{x:,g}") for x in axes.get_xticks() if max(low, edges[0]) <= x <= edges[-1]]
    for part, place, end in (
        (below, edges[0] - 2 * width, f"down to {_short(below.min())} s"),
        (above, edges[-1] + 2 * width, f"up to {_short(above.max())} s"),
    ):
        if part.len():
            label = f"{count_in_words(part.len(), 'outlier')}, {end}"
            axes.bar(place, part.len(), width=2 * width, color=colour, alpha=0.4, label=label)
            room = 0.12 * (high - low) + width
            ticks = [(x, text) for x, text in ticks if abs(x - place) > room]
            ticks.append((place, "beyond"))
    axes.set_xticks([x for x, _ in ticks], [text for _, text in ticks])
    for name, measured, style in (("mean", values.mean(), "-"), ("median", values.median(), "--")):
        drawn = {"color": INK, "linewidth": 1.1, "linestyle": style}
        place = float(measured)  # type: ignore[arg-type]
        if edges[0] <= place <= edges[-1]:
            axes.axvline(place, label=f"{name} {_short(place)} s", **drawn)
        else:
            axes.plot([], [], label=f"{name} {_short(place)} s (beyond)", **drawn)
    axes.set_title(f"{LABELS[method]}, n = {values.len():,}")
    axes.set_xlabel("duration (s)")
    axes.set_ylabel("jobs" if method == "file_transfer" else "scans")
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.grid(visible=False, axis="x")
    legend_below(axes)


def bin_edges(values: pl.Series) -> list[float]:
    """Return the edges of at most 60 equal bins, with the width of Freedman and Diaconis.

    If all values are integers, the edges lie between them, so that no bin contains more integers
    than its neighbour.
    """
    low, high = float(values.min()), float(values.max())  # type: ignore[arg-type]
    first, third = (values.quantile(q, interpolation="linear") or 0.0 for q in (0.25, 0.75))
    width = max(2.0 * (third - first) / values.len() ** (1 / 3), (high - low) / MAX_BINS)
    if (values == values.round()).all():
        low, high = low - 0.5, high + 0.5
        width = max(1.0, round(width), math.ceil((high - low) / MAX_BINS))
    elif high <= low:
        low, width = low - 0.5, 1.0
    count = max(1, math.ceil((high - low) / width - 1e-9))
    edges = [low + i * width for i in range(count + 1)]
    return [*edges[:-1], max(edges[-1], high)]  # rounding may lower the last edge


def _short(value: Any) -> str:
    return "" if value is None else f"{value:,.1f}"


SHOWN: Final = 40
"""Maximum number of table rows; the view lists all."""

_FATES: Final = {"lost": "lost", "failed": "failed", "gapped": "with gaps"}
_ABSENT: Final = "without status or file"
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
    nothing = (pl.col("fate") == "gapped") & pl.col("take").is_null()
    fate = pl.when(nothing).then(pl.lit(_ABSENT)).otherwise(pl.col("fate").replace(_FATES))
    counts = dict(found.group_by(fate).agg(pl.col("numbers").sum()).iter_rows())
    fates = [words for words in (*_FATES.values(), _ABSENT) if words in counts]
    said = ", ".join(f"{counts[words]:,} {words}" for words in fates)
    noun = "scan number" if _ABSENT in counts else "scan"
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
        note=f"{count_in_words(sum(counts.values()), noun)}: {said}; those in a row with the same "
        "problem are one line. The view ncem.failed_scans lists each"
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

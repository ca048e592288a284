"""The report of the study: file transfer compared with streaming, size by size.

The views define durations and exclusions; the report only describes them.
"""

import math
from collections.abc import Iterator
from typing import Any

import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import count_in_words
from harvest_report import (
    INK,
    Column,
    LazySection,
    Notes,
    Plot,
    Report,
    Table,
    Tile,
    legend,
    legend_below,
)
from harvest_toolkit.frames import fraction

from .sections import LABELS, failed_table, throughput_plot
from .study import Study, load_study
from .views.declared import OUTLIER_COLUMNS
from .views.outliers import durations, fences, outliers
from .views.scans import positions

METHODS = ("file_transfer", "streaming")
MAX_BINS = 60
TILES = 4
"""Maximum number of sizes whose speed-up is a key number."""

COLUMNS = (
    *map(Column, ("size", "method", "outliers", "n")),
    Column("mean_s", "mean", "s", ",.2f"),
    Column("median_s", "median", "s", ",.2f"),
    Column("std_s", "std dev", "s", ",.2f",
           doc="standard deviation of the sample: n − 1 in the denominator"),
    Column("data_gb", "data", "GB", ",.2f", doc="data volume of one scan"),
    Column("speed_up", "speed-up", None, ".2f",
           doc="mean of file transfer / mean of streaming, of the same size and outliers"),
    Column("bytes_per_s", "GiB/s", None, ",.2f", scale=2**30,
           doc="throughput: data volume of one scan / mean duration"),
)  # fmt: skip


def comparison(
    dataset: DatasetReader,
    study: Any = None,
    max_elapsed: str | None = None,
    save_correction: bool = True,
) -> Report:
    """Build the report ``ncem.comparison``.

    study: path of the study's TOML, or a Study; max_elapsed, save_correction: as for the view
        ncem.file_transfer.
    """
    made = load_study(study)
    rows = durations(dataset, made, max_elapsed, save_correction)
    used = rows.filter(pl.col("excluded").is_null()).drop("excluded")
    marked = outliers(used)
    table, limits = describe(marked), fences(marked)
    sizes = table["size"].unique(maintain_order=True).to_list()
    moved = throughput_plot(marked, sizes)
    return Report(
        made.name or "File transfer compared with streaming",
        intro=list(_intro(table, rows, limits)),
        sections=[
            Table(
                "comparison",
                table,
                COLUMNS,
                title="Duration per scan, by size and method",
                group="size",
            ),
            *([_overview(table)] if sizes else []),
            *([moved] if moved else []),
            *([_fences(limits)] if sizes else []),
            *(_histograms(size, marked.filter(pl.col("size") == size)) for size in sizes),
            LazySection("failed-scans", lambda: failed_table(dataset, made)),
            _left_out(rows),
            _definitions(made, save_correction),
        ],
        tiles=_tiles(table, rows),
        picture="speed-up",
    )


def describe(marked: pl.DataFrame) -> pl.DataFrame:
    """Compute statistics by size, outliers kept or removed, and method, from marked rows.

    The columns are those of the report's CSV file. The standard deviation of one value is null.
    """
    kept = marked.with_columns(outliers=pl.lit("kept"))
    removed = marked.filter(~pl.col("outlier")).with_columns(outliers=pl.lit("removed"))
    value = pl.col("duration_s")
    statistics = (
        pl.concat([kept, removed])
        .group_by("size", "outliers", "method")
        .agg(
            pl.len().cast(pl.Int64).alias("n"),
            value.mean().alias("mean_s"),
            value.median().alias("median_s"),
            value.std(ddof=1).alias("std_s"),
            pl.col("data_gb").drop_nulls().first(),
        )
    )
    mean = {
        method: pl.col("mean_s").filter(pl.col("method") == method).first().over("size", "outliers")
        for method in METHODS
    }
    return (
        statistics.with_columns(
            (mean["file_transfer"] / mean["streaming"]).alias("speed_up"),
            bytes_per_s=fraction(pl.col("data_gb") * 1e9, "mean_s"),
        )
        .sort(positions(), "size", "outliers", "method")
        .select(column.name for column in COLUMNS)
    )


def _speed_ups(table: pl.DataFrame) -> pl.DataFrame:
    shown = table.filter(pl.col("outliers") == "removed", pl.col("method") == "streaming")
    return shown.select("size", "speed_up").drop_nulls("speed_up")


def _intro(table: pl.DataFrame, rows: pl.DataFrame, limits: pl.DataFrame) -> Iterator[str]:
    """Say why nothing can be compared, then warn of clocks; rows: also the excluded durations."""
    measured = rows.drop_nulls("duration_s")
    drafts = "the study: --set study=FILE. `harvest ncem study DIRECTORY` drafts one."
    if not table.height and measured.height:
        reason = measured["excluded"].value_counts(sort=True).sort("count", "excluded").row(-1)
        yield (
            f"0 of {count_in_words(measured.height, 'measured duration')} count. "
            f"{reason[1]:,} were left out because: {reason[0]}. Sizes and scan ranges come from "
            f"{drafts}"
        )
    elif not table.height:
        yield (
            "The dataset has no durations of either method. The last table lists what was left out."
        )
    elif _speed_ups(table).is_empty():
        yield (
            "No size has both methods, so nothing can be compared. Sizes and scan ranges come from "
            f"{drafts}"
        )
    found = limits.select("size", "method", "warning").drop_nulls("warning")
    for size, method, warning in found.iter_rows():
        yield f"Warning: {LABELS[method]} at {size}: {warning}."


def _tiles(table: pl.DataFrame, rows: pl.DataFrame) -> Iterator[Tile]:
    factors = _speed_ups(table).head(TILES)
    for size, value in factors.iter_rows():
        yield Tile(f"speed-up of streaming, {size}", f"{value:.2f}×", "of means, without outliers")
    if factors.is_empty():
        yield Tile("speed-up of streaming", "unknown", "no size has both methods")
    counted = table.filter(pl.col("outliers") == "kept")["n"].sum()
    measured = rows["duration_s"].count()
    yield Tile("durations compared", f"{counted:,}", f"of {measured:,} measured")


def _fences(limits: pl.DataFrame) -> Table:
    return Table(
        "outliers",
        limits,
        (
            *("size", "method", "n"),
            Column("n_outliers", "outliers", doc="values beyond a fence"),
            Column("first_quartile_s", "q1", doc="first quartile"),
            Column("third_quartile_s", "q3", doc="third quartile"),
            Column("low_fence_s", "from", doc="the low fence"),
            Column("high_fence_s", "to", doc="the high fence"),
            Column(
                "clock_step_s", "clock", None, "g", "the step in which the coarser clock counts"
            ),
        ),
        of=OUTLIER_COLUMNS,
        title="Fences of the outliers",
        group="size",
        note="A value on a fence is inside. Where the quartiles are closer than a step of the "
        "clock, a warning stands at the beginning of the report.",
    )


def _left_out(rows: pl.DataFrame) -> Table:
    counted = (
        rows.filter(pl.col("excluded").is_not_null())
        .group_by("method", "size", "excluded")
        .agg(pl.len().cast(pl.Int64).alias("n"))
        .sort(
            *("method", positions(), "size", "n", "excluded"),
            descending=[False, False, False, True, False],
            nulls_last=True,
        )
    )
    return Table(
        "left-out",
        counted,
        ("method", "size", Column("excluded", "reason"), "n"),
        title="What was left out, and why",
        group="method",
        note="Rows of the views ncem.file_transfer and ncem.streaming that do not count.",
    )


def _definitions(study: Study, save_correction: bool) -> Notes:
    items = [
        "file_transfer: elapsed time of the Slurm job, plus the mean offload of its size, less "
        "the save-time correction. One value per job.",
        "streaming: from the first receiver time of a scan to the write of its HDF5 file at "
        "NERSC. One value per scan.",
        "Outliers lie more than 1.5 interquartile ranges below the first quartile or above "
        "the third, within their size and method. Quartiles interpolate linearly.",
        "Receivers whose time lies whole or half hours from the others', as of another time zone, "
        "are left out of both.",
        f"Save-time correction: {'on' if save_correction else 'off'}; twice the difference "
        "between saving a real and a blank scan, where the study gives it for the size.",
    ]
    if study.path:
        items.append(f"Study: {study.path}")
    return Notes("definitions", items, title="Definitions")


def _overview(table: pl.DataFrame) -> Plot:
    shown = table.filter(pl.col("outliers") == "removed")
    sizes = shown["size"].unique(maintain_order=True).to_list()
    factors = {size: value for size, value in shown.select("size", "speed_up").iter_rows() if value}

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for number, method in enumerate(METHODS):
            _bars(axes, number, sizes, shown.filter(pl.col("method") == method))
        top = (pl.col("mean_s") + pl.col("std_s").fill_null(0.0)).max()
        tops = dict(shown.group_by("size").agg(top).iter_rows())
        for size, factor in factors.items():
            axes.annotate(
                f"{factor:.2f}×",
                (sizes.index(size), tops[size]),
                xytext=(0, 5),
                textcoords="offset points",
                ha="center",
                fontweight="bold",
            )
        axes.set_xticks(range(len(sizes)), sizes)
        axes.grid(visible=False, axis="x")
        axes.margins(y=0.12)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("scan size (positions)")
        axes.set_ylabel("duration per scan (s)")
        legend(figure)

    said = "; ".join(f"{size} {value:.2f} times" for size, value in factors.items())
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
        label=LABELS[METHODS[number]],
        # a whisker below zero would mean a negative time
        yerr=[[min(s, m) for m, s in zip(means, spread, strict=True)], spread],
        error_kw={"elinewidth": 1, "capsize": 3, "ecolor": INK},
    )


def _histograms(size: str, rows: pl.DataFrame) -> Plot:
    groups = [(m, rows.filter(pl.col("method") == m)) for m in METHODS]
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
        f"histogram-{_word(size)}",
        draw,
        f"Durations at {size}",
        f"Histograms of the durations at {size}. {said[0].upper()}{said[1:]}.",
        size=(7.5, 3.4),
    )


def _histogram(axes: Any, method: str, rows: pl.DataFrame) -> None:
    """Draw bins for values within the fences, and one paler bar for all values beyond each."""
    colour = f"C{1 - METHODS.index(method)}"
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


def _word(text: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in text)

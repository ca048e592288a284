"""The report of the study: file transfer compared with streaming, size by size.

The views define durations and exclusions; the report only describes them.
"""

from collections.abc import Iterator
from typing import Any

import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import count_in_words
from harvest_report import Column, LazySection, Notes, Report, Table, Tile
from harvest_toolkit.frames import fraction

from .sections import LABELS, failed_table, histograms, overview, throughput_plot
from .study import Study, load_study
from .views.declared import OUTLIER_COLUMNS
from .views.outliers import durations, fences, outliers
from .views.scans import positions

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
            *([overview(table)] if sizes else []),
            *([moved] if moved else []),
            *([_fences(limits)] if sizes else []),
            *(histograms(size, marked.filter(pl.col("size") == size)) for size in sizes),
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
        for method in LABELS
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

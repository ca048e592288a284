"""Time until the detector's data reached the disks at NCEM.

The offload of a scan is the last write of its data files minus its earliest receiver time.
"""

from typing import Any

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import count_if_known, first_text

from ..study import Range, load_study
from . import scans


def build(dataset: DatasetReader, study: Any = None, per: str = "scan") -> pl.LazyFrame:
    """Build one row per take of a scan, or with ``per="range"`` one per scan range.

    study: path of the study's TOML, or a Study.
    Scans are assigned to the study's ranges with method file_transfer.
    """
    made = load_study(study)
    ranges = [r for r in made.ranges if r.method == "file_transfer"]
    found = (
        scans.in_ranges(written(dataset), made, "file_transfer")
        .with_columns(_exclusion(has_ranges=bool(ranges)))
        # the order decides the last digits of a mean; polars would leave out a sort before it
        .map_batches(lambda takes: takes.sort("scan_number", "take"))
    )
    if per == "range":
        return _per_range(found, ranges)
    real, placed = pl.col("scan_number") != 0, pl.col("size").is_not_null()
    # null in no range, and if no data file of any scan was harvested
    wanted = pl.when(placed & pl.col("data_files").is_not_null()).then(pl.lit(True))
    due = wanted.when(~placed & scans.within(made, "streaming")).then(pl.lit(False))
    found = found.with_columns(due=due).drop("begin_undecided", "end_undecided")
    counted = pl.col("offload_s").filter(pl.col("excluded").is_null())
    place = ["size", "first_scan", "last_scan"]
    return found.with_columns(
        counted.count().over(place).cast(pl.Int64).alias("range_n"),
        counted.mean().over(place).alias("range_mean_s"),
        (real & ~pl.col("due")).sum().cast(pl.Int64).alias("n_streamed"),
        (real & pl.col("due").is_null()).sum().cast(pl.Int64).alias("n_unplaced"),
    )


def _per_range(found: pl.LazyFrame, ranges: list[Range]) -> pl.LazyFrame:
    """Compute a row per range, even without scans; without ranges, one row for all scans."""
    counted = pl.col("offload_s").filter(pl.col("excluded").is_null())
    statistics = found.group_by("first_scan").agg(
        counted.count().cast(pl.Int64).alias("n"),
        pl.col("excluded").count().cast(pl.Int64).alias("n_excluded"),
        counted.mean().alias("mean_s"),
        counted.median().alias("median_s"),
        counted.std().alias("std_s"),
        counted.min().alias("min_s"),
        counted.max().alias("max_s"),
    )
    places: list[Any] = [(r.size, r.first, r.last) for r in ranges] or [(None, None, None)]
    schema = {"size": pl.String, "first_scan": pl.Int64, "last_scan": pl.Int64}
    return (
        pl.LazyFrame(places, schema, orient="row")
        .join(statistics, on="first_scan", how="left", nulls_equal=True)
        .with_columns(pl.col("n", "n_excluded").fill_null(0))
        .sort("first_scan")
    )


def means(dataset: DatasetReader, study: Any) -> pl.LazyFrame:
    """Compute the mean offload per size over scans in ranges for file transfer: size, offload_s."""
    return (
        build(dataset, study)
        .filter(pl.col("excluded").is_null() & pl.col("size").is_not_null())
        .group_by("size")
        .agg(pl.col("offload_s").mean())
    )


def written(dataset: DatasetReader) -> pl.LazyFrame:
    """Return takes with columns of their data files: last_written, data_files, empty_files.

    The numbers are null if no data file of any scan was harvested.
    """
    takes = scans.takes(dataset)
    files = scans.files(dataset, "data").select(
        "scan_number", "modify_time", "size_bytes", "module", "undecided_times"
    )
    placed = (
        scans.of_last_take(files, "modify_time", takes)
        .group_by("scan_number", "take")
        .agg(
            pl.col("modify_time").max().alias("last_written"),
            pl.col("undecided_times").is_not_null().any().alias("end_undecided"),
            pl.len().cast(pl.Int64).alias("data_files"),
            count_if_known(pl.col("size_bytes") == 0).alias("empty_files"),
            modules=pl.when(pl.col("module").is_not_null().any()).then(
                pl.col("module").drop_nulls().n_unique().cast(pl.Int64)
            ),
        )
    )
    joined = takes.join(placed, on=["scan_number", "take"], how="full", coalesce=True)
    return joined.with_columns(
        data_files=scans.number_of_files("data_files"),
        offload_s=scans.seconds_between("first_receiver_time", "last_written"),
    )


def _exclusion(*, has_ranges: bool) -> pl.Expr:
    return first_text(
        (pl.col("scan_number") == 0, scans.BOGUS),
        (pl.lit(has_ranges) & pl.col("size").is_null(), "in no scan range for file_transfer"),
        (pl.col("first_receiver_time").is_null(), scans.NO_BEGIN),
        (pl.col("last_written").is_null(), "no data file"),
        (scans.IS_UNDECIDED, scans.UNDECIDED),
        (pl.col("offload_s") < 0, "last written before the first receiver time"),
    ).alias("excluded")

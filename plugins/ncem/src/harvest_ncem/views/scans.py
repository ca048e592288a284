"""Scans and their takes: what the views share.

A scan number may have been used again; then the receivers' UUIDs differ.  A *take* is one
acquisition: a scan number with one UUID.  Takes of a scan number are numbered in order of time
from 1.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from harvest import DatasetReader, UsageError
from harvest.model.frames import seconds

from .. import durations
from ..study import Method, Study
from .zones import with_zones

__all__ = [
    "BOGUS",
    "begins_unknown",
    "begun",
    "duration",
    "in_ranges",
    "rows_of",
    "seconds_between",
    "statuses",
    "takes",
    "volume",
    "within",
]

BOGUS = "scan number 0 is bogus"


def rows_of(dataset: DatasetReader, record_type: str, plugin: str) -> pl.LazyFrame:
    """All rows of a record type of another plugin, or an error that says what to install."""
    try:
        return dataset[record_type]
    except KeyError as error:
        raise UsageError(
            f"the record type {record_type} is not known",
            remedy=f"install hpc-harvest-{plugin}, harvest its source, and ask again",
        ) from error


def duration(name: str, value: Any, example: str) -> float:
    """Seconds of a setting that is a duration, such as ``example``."""
    try:
        return durations.seconds(value)
    except ValueError as error:
        raise UsageError(f"setting {name}: {error}", remedy=f"write it like {example}") from error


def seconds_between(start: str, end: str) -> pl.Expr:
    """Seconds from one column of times to another."""
    return seconds((pl.col(end) - pl.col(start)).dt.total_microseconds())


def statuses(dataset: DatasetReader) -> pl.LazyFrame:
    """One row per take and receiver: scan_number, take, uuid, receiver, time, progress.

    ``zone_offset_s`` and ``trusted`` say whether its time is one to start from (see ``zones``).
    - Of several rows of a take and receiver (copies of a file) the earliest time counts, and
      the largest progress.
    - A row without UUID, from a CSV table, is left out where a receiver status says the same:
      same scan and receiver, and the same time to the second.
    - Where no UUID is shared by two receivers of a scan number, UUIDs do not show which rows
      belong together; then the n-th UUID of each receiver, by time, makes the n-th take.
    """
    scan = "scan_number"
    key = (
        pl.when("apart")
        .then(pl.format("#{}", "rank"))
        .otherwise(pl.col("uuid").fill_null(""))
        .alias("key")
    )
    return with_zones(
        _without_copies(dataset)
        .with_columns(
            pl.len().over(scan, "uuid").alias("sharing"),
            pl.col("receiver").n_unique().over(scan).alias("receivers"),
            pl.struct("time", pl.col("uuid").fill_null(""))
            .rank("ordinal")
            .over(scan, "receiver")
            .cast(pl.Int64)
            .alias("rank"),
        )
        .with_columns(
            ((pl.col("sharing").max().over(scan) == 1) & (pl.col("receivers") > 1)).alias("apart")
        )
        .with_columns(key)
        .with_columns(pl.col("time").min().over(scan, "key").alias("begin"))
        .select(
            scan,
            pl.struct("begin", "key").rank("dense").over(scan).cast(pl.Int64).alias("take"),
            "uuid",
            "receiver",
            "time",
            "progress",
        )
    )


def _without_copies(dataset: DatasetReader) -> pl.LazyFrame:
    """One row per scan number, receiver and UUID."""
    scan, receiver = "scan_number", "receiver"
    rows = dataset["ncem.receiver_status"].select(
        scan,
        receiver,
        "uuid",
        "time",
        "progress",
        pl.coalesce("recorded_time", "time").dt.truncate("1s").alias("second"),
    )
    known = rows.filter(pl.col("uuid").is_not_null())
    plain = rows.filter(pl.col("uuid").is_null()).join(
        known.select(scan, receiver, "second").unique(), on=[scan, receiver, "second"], how="anti"
    )
    return (
        pl.concat([known, plain])
        .group_by(scan, receiver, "uuid")
        .agg(pl.col("time").min(), pl.col("progress").max())
    )


def takes(dataset: DatasetReader) -> pl.LazyFrame:
    """One row per take.

    Columns: scan_number, take, uuid, receivers (how many reported it), receivers_left_out (how
    many of them by a wrong zone), progress (the least of them); and of the others first_receiver
    (lowest number of the earliest), first_receiver_time, last_receiver_time: null without any.
    """
    in_order = statuses(dataset).sort("scan_number", "take", "time", "receiver")
    trusted = pl.col("trusted")
    return in_order.group_by("scan_number", "take", maintain_order=True).agg(
        pl.col("uuid").first(),
        pl.col("receiver").n_unique().cast(pl.Int64).alias("receivers"),
        (~trusted).sum().cast(pl.Int64).alias("receivers_left_out"),
        pl.col("progress").min(),
        pl.col("receiver").filter(trusted).first().alias("first_receiver"),
        pl.col("time").filter(trusted).first().alias("first_receiver_time"),
        pl.col("time").filter(trusted).last().alias("last_receiver_time"),
    )


def begun(scans: pl.LazyFrame) -> pl.LazyFrame:
    """The takes whose begin is known, in its order: what files are given to by their times."""
    known = scans.filter(pl.col("first_receiver_time").is_not_null())
    return known.sort("first_receiver_time")


def begins_unknown() -> pl.Expr:
    """Why no receiver time of a take can be trusted; null where one can, or there is none."""
    none_trusted = (pl.col("receivers_left_out") > 0) & pl.col("first_receiver_time").is_null()
    return pl.when(none_trusted).then(
        pl.lit("the receivers' zones differ, and none is known to be right")
    )


def in_ranges(frame: pl.LazyFrame, study: Study, method: Method) -> pl.LazyFrame:
    """The frame with size, first_scan and last_scan of the range each scan number is in."""
    scan = pl.col("scan_number")
    ranges = [r for r in study.ranges if r.method == method]
    size, first, last = (
        pl.lit(None, pl.String),
        pl.lit(None, pl.Int64),
        pl.lit(None, pl.Int64),
    )
    for r in ranges:
        inside = scan.is_between(r.first, r.last)
        size = pl.when(inside).then(pl.lit(r.size)).otherwise(size)
        first = pl.when(inside).then(pl.lit(r.first, pl.Int64)).otherwise(first)
        last = pl.when(inside).then(pl.lit(r.last, pl.Int64)).otherwise(last)
    return frame.with_columns(
        size.alias("size"), first.alias("first_scan"), last.alias("last_scan")
    )


def within(study: Study, method: Method) -> pl.Expr:
    """Whether a scan number is in one of the study's ranges of a method."""
    scan = pl.col("scan_number")
    ranges = [scan.is_between(r.first, r.last) for r in study.ranges if r.method == method]
    return pl.any_horizontal(pl.lit(False), *ranges)


def volume(study: Study) -> pl.Expr:
    """Data volume of a scan in 10^9 bytes, by its size."""
    size = pl.col("size")
    sides = size.str.split("x").list.eval(pl.element().cast(pl.Float64, strict=False))
    pixel_bytes = study.volume_gb("1x1")
    computed = sides.list.eval(pl.element().product()).list.first() * pixel_bytes
    given = {made.name: made.data_gb for made in study.sizes.values()}
    if not given:
        return computed.alias("data_gb")
    known = size.replace_strict(given, default=None, return_dtype=pl.Float64)
    return pl.coalesce(known, computed).alias("data_gb")

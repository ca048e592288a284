"""Comparison of the receivers' clocks.

All receivers are notified of a scan at the same moment, so differences between their times are
differences between their clocks. The reference is the median of the receivers' times of the scan.
It excludes times in a wrong zone (see ``scans.with_zones``), unless all do.
"""

from typing import Any

import polars as pl

from harvest import DatasetReader
from harvest.model.frames import seconds
from harvest_toolkit.frames import first_text

from ..study import load_study
from .scans import BOGUS, duration, statuses


def build(
    dataset: DatasetReader, study: Any = None, per: str = "scan", threshold: str | None = None
) -> pl.LazyFrame:
    """Build one row per take of a scan, or with ``per="receiver"`` one per receiver.

    study: path of the study's TOML, or a Study; its threshold is the default threshold.
    """
    limit = load_study(study).clock_threshold_s
    if threshold is not None:
        limit = duration("threshold", threshold, "2s")
    take = ["scan_number", "take"]
    time = pl.col("time").dt.epoch("us")
    since, trusted = pl.col("since"), pl.col("trusted")
    reference = pl.coalesce(since.filter(trusted).median().over(take), since.median().over(take))
    reports = (
        statuses(dataset)
        # whole microseconds since the earliest time: exact, unlike epochs as floats
        .with_columns(since=time - time.min().over(take), receivers=pl.len().over(take))
        # a median of integers is an integer or a half, which a float represents exactly
        .with_columns(pl.col("receivers").cast(pl.Int64), offset_us=since - reference)
        .with_columns(offset_s=_seconds_of_halves(pl.col("offset_us")))
    )
    return _per_receiver(reports, limit) if per == "receiver" else _per_scan(reports, limit)


def _per_scan(reports: pl.LazyFrame, limit: float) -> pl.LazyFrame:
    offset = pl.col("offset_s")
    trusted = pl.col("since").filter(pl.col("trusted"))
    several = pl.col("receivers") > 1

    def of_worst(column: str) -> pl.Expr:
        return pl.col(column).sort_by(offset.abs(), descending=True, maintain_order=True).first()

    return (
        reports.sort("scan_number", "take", "receiver")
        .group_by("scan_number", "take", maintain_order=True)
        .agg(
            uuid=pl.col("uuid").sort_by("time", "receiver").first(),
            receivers=pl.col("receivers").first(),
            first_receiver_time=pl.col("time").filter("trusted").min(),
            last_receiver_time=pl.col("time").filter("trusted").max(),
            receivers_left_out=(~pl.col("trusted")).sum().cast(pl.Int64),
            spread_s=seconds(pl.col("since").max()),
            # a single receiver has no spread
            clock_spread_s=pl.when(trusted.len() > 1).then(seconds(trusted.max() - trusted.min())),
            worst_receiver=of_worst("receiver"),
            worst_offset_s=of_worst("offset_s"),
            **{f"offset{n}_s": offset.filter(pl.col("receiver") == n).first() for n in range(4)},
        )
        .with_columns(
            unsynchronised=pl.when(several).then(pl.col("spread_s") > limit),
            excluded=first_text(
                (pl.col("scan_number") == 0, BOGUS), (~several, "fewer than two receivers")
            ),
        )
    )


def _per_receiver(reports: pl.LazyFrame, limit: float) -> pl.LazyFrame:
    several = pl.col("receivers") > 1
    exact, offset = (pl.col(name).filter(several) for name in ("offset_us", "offset_s"))
    wrong = pl.col("zone_offset_s")
    in_zone = pl.col("offset_s").filter(several & wrong.is_null())
    lacking = pl.col("clock_offset_s").fill_null(0) - pl.col("offset_s")
    median, low, high = (pl.col(f"{which}_offset_s") for which in ("median", "low", "high"))
    steady = (pl.max_horizontal(median - low, high - median) <= limit).fill_null(value=True)
    return (
        reports.filter(pl.col("scan_number") != 0)
        .group_by("receiver")
        .agg(
            n=several.sum().cast(pl.Int64),
            # use the exact offsets: a median of floats may be a digit above the limit
            median_offset_s=_seconds_of_halves(exact.median()),
            low_offset_s=in_zone.quantile(0.1),
            high_offset_s=in_zone.quantile(0.9),
            # the setting takes whole microseconds
            suggested_clock_offset_s=lacking.filter(several).median().round(6),
            mean_offset_s=exact.mean() / 1e6,
            min_offset_s=offset.min(),
            max_offset_s=offset.max(),
            n_beyond=pl.when(several.any()).then((offset.abs() > limit).sum().cast(pl.Int64)),
            n_zone=pl.when(several.any()).then(wrong.count().cast(pl.Int64)),
            # of equally frequent zones (summer and winter), take the first
            zone_offset_s=wrong.drop_nulls().mode().sort().first(),
        )
        .with_columns(
            pl.when(steady).then("suggested_clock_offset_s"),
            unsynchronised=(median.abs() > limit) | ~steady,
        )
        .sort("receiver")
    )


def _seconds_of_halves(microseconds: pl.Expr) -> pl.Expr:
    """Convert half microseconds to seconds, rounded like ``seconds`` for whole microseconds."""
    return (microseconds / 1e6).round(7)

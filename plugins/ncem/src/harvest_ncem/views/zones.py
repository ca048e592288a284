"""Receivers that stamp a time of another zone, found by comparing the receivers of a scan.

Receivers get word of a scan at the same moment.  One whose time lies whole or half hours from the
others', but for a rest that clocks without synchronisation may be off by, took local time for UTC
or the reverse: its time says when the scan began only after somebody corrects it.
"""

from __future__ import annotations

from typing import Final

import polars as pl

REST_MINUTES: Final = 5
"""Minutes that clocks may be off besides: at NCEM those without synchronisation were by four."""

_HALF_HOUR: Final = 30 * 60 * 1_000_000
_TAKE: Final = ("scan_number", "take")


def with_zones(reports: pl.LazyFrame) -> pl.LazyFrame:
    """Reports of receivers (scan_number, take, receiver, time) with what is wrong about their zone.

    zone_offset_s: whole half hours that the time lies after those of the receivers that are right;
        null where it is right, as far as is known.
    trusted: whether it says when the scan began: no where the zone is wrong, nor where the
        receivers of a take differ by a zone and nothing shows which of them are right.

    The majority of a take is right.  Where there is none (two receivers, or two against two), and
    for a receiver alone, what was found of the receiver in most other scans decides.
    """
    since = pl.col("#us") - pl.col("#us").min().over(_TAKE)
    compared = (
        reports.with_columns(pl.col("time").dt.epoch("us").alias("#us"))
        .with_columns(since.alias("#since"), pl.len().over(_TAKE).alias("#n"))
        .with_columns(_half_hours(_middle(pl.col("#since"))).alias("#steps"))
        .with_columns(((pl.col("#steps") != 0) & (pl.col("scan_number") != 0)).alias("#off"))
        .with_columns(pl.col("#off").sum().over(_TAKE).alias("#differ"))
        .with_columns(((pl.col("#n") > 2) & (pl.col("#differ") * 2 < pl.col("#n"))).alias("#clear"))
    )
    usual = (
        compared.filter("#clear", pl.col("scan_number") != 0)
        .group_by("receiver")
        .agg(
            (pl.col("#off").mean() > 0.5).alias("#usually"),
            pl.col("#steps").filter("#off").median().round().cast(pl.Int64).alias("#usual steps"),
        )
    )
    usually = pl.col("#usually").fill_null(value=False) & (pl.col("scan_number") != 0)
    # receivers that agree are right, unless each of them is usually wrong
    by_habit = usually & ((pl.col("#differ") > 0) | usually.all().over(_TAKE))
    wrong = pl.when("#clear").then("#off").otherwise(by_habit)
    right = pl.col("#since").filter(~pl.col("#wrong"))
    return (
        compared.join(usual, on="receiver", how="left")
        .with_columns(wrong.alias("#wrong"))
        .with_columns(_half_hours(_middle(right)).alias("#steps"))
        .with_columns(
            (~pl.col("#wrong") & (pl.col("#steps") != 0) & (pl.col("scan_number") != 0))
            .any()
            .over(_TAKE)
            .alias("#doubtful")
        )
        .with_columns(
            pl.when("#wrong")
            .then(pl.coalesce("#steps", "#usual steps") * (_HALF_HOUR / 1e6))
            .alias("zone_offset_s"),
            (~pl.col("#wrong") & ~pl.col("#doubtful")).alias("trusted"),
        )
        .drop("^#.*$")
    )


def _middle(values: pl.Expr) -> pl.Expr:
    """The lower median of a take: a time that a receiver said, null without any."""
    return values.sort().get((values.len() - 1) // 2, null_on_oob=True).over(_TAKE)


def _half_hours(reference: pl.Expr) -> pl.Expr:
    """Half hours after a reference; 0 where that is not a zone's offset and a small rest."""
    offset = pl.col("#since") - reference
    steps = (offset + _HALF_HOUR // 2) // _HALF_HOUR
    rest = (offset - steps * _HALF_HOUR).abs()
    return pl.when(rest <= REST_MINUTES * 60_000_000).then(steps).otherwise(0 * offset)

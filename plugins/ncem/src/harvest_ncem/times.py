"""Times as the experiment's tools write them, parsed by column.

ISO 8601 with a zone offset, which may stand there twice (``...+00:00+00:00``), or without one:
then the declared zone says which instant is meant.  A local time that the clocks skipped is no
instant; of one that they showed twice, the first is taken.
"""

from __future__ import annotations

from typing import Final

import attrs
import polars as pl

__all__ = ["ParsedTimes", "as_seconds", "parse_times"]

_FORM: Final = (
    r"^\s*(\d{4}-\d{2}-\d{2})[T ](\d{2}:[0-5]\d:[0-5]\d)(?:[.,](\d{1,9}))?"
    r"\s?(Z|[+-]\d{2}:?[0-5]\d)?(Z|[+-]\d{2}:?[0-5]\d)?\s*$"
)


@attrs.frozen
class ParsedTimes:
    """The outcome for a column of texts, all of its length.

    times: timestamps (us, UTC); null where ``reasons`` says what was wrong.
    reasons: null where all is well.
    doubled, naive, ambiguous: how many texts had their zone offset twice, had none, or named a
        local time that the clocks showed twice.
    """

    times: pl.Series
    reasons: pl.Series
    doubled: int
    naive: int
    ambiguous: int

    def notes(self, zone: str) -> list[str]:
        """Remarks for the user, most general first."""
        found = []
        if self.naive:
            found.append(
                f"{_count(self.naive, 'time')} without a zone read as {zone} "
                "(setting ncem.timezone)"
            )
        if self.ambiguous:
            found.append(
                f"{_count(self.ambiguous, 'local time')} occurred twice in {zone} when the clocks "
                "went back; the first occurrence was taken"
            )
        if self.doubled:
            found.append(
                f"{_count(self.doubled, 'time')} had the zone offset doubled; it was taken once"
            )
        return found


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def parse_times(texts: pl.Series, zone: str) -> ParsedTimes:
    """Parse a column of texts without nulls; ``zone`` is the IANA zone of naive ones."""
    text = pl.col("text")
    local = pl.col("local")
    offset = pl.col("offset")
    frame = (
        pl.DataFrame({"text": texts.cast(pl.String)})
        .with_columns(text.str.extract_groups(_FORM).alias("parts"))
        .with_columns(
            pl.col("parts").struct.field("1").alias("date"),
            pl.col("parts").struct.field("2").alias("clock"),
            pl.col("parts").struct.field("3").fill_null("").alias("fraction"),
            pl.col("parts").struct.field("4").alias("offset"),
            pl.col("parts").struct.field("5").alias("second"),
        )
        .with_columns(
            (
                (pl.col("date") + "T" + pl.col("clock")).str.to_datetime(
                    "%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False
                )
                + pl.duration(
                    # digits beyond the microsecond are finer than the model's clock
                    microseconds=pl.col("fraction")
                    .str.pad_end(6, "0")
                    .str.slice(0, 6)
                    .cast(pl.Int64)
                )
            ).alias("local"),
            _minutes(offset).alias("shift"),
        )
    )
    frame = frame.with_columns(
        local.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null").alias("first"),
        local.dt.replace_time_zone(zone, ambiguous="latest", non_existent="null").alias("last"),
        (offset.is_null() & local.is_not_null()).alias("is_naive"),
        (pl.col("second").is_not_null() & (offset == pl.col("second"))).alias("is_doubled"),
    ).with_columns(
        pl.when(local.is_null() & pl.col("date").is_not_null())
        .then(pl.lit("no such date or time of day"))
        .when(local.is_null())
        .then(pl.lit("no ISO 8601 time"))
        .when(pl.col("second").is_not_null() & ~pl.col("is_doubled"))
        .then(pl.lit("two different zone offsets"))
        .when(pl.col("shift").abs() > 18 * 60)
        .then(pl.lit("no such zone offset"))
        .when(pl.col("is_naive") & pl.col("first").is_null())
        .then(pl.lit(f"a local time that does not exist in {zone}, where the clocks skipped it"))
        .alias("reason")
    )
    frame = frame.with_columns(
        pl.when(pl.col("reason").is_null())
        .then(
            pl.when(pl.col("is_naive"))
            .then(pl.col("first").dt.convert_time_zone("UTC"))
            .otherwise((local - pl.duration(minutes=pl.col("shift"))).dt.replace_time_zone("UTC"))
        )
        .alias("time")
    )
    good = pl.col("reason").is_null()
    counts = frame.select(
        (good & pl.col("is_doubled")).sum().alias("doubled"),
        (good & pl.col("is_naive")).sum().alias("naive"),
        (good & pl.col("is_naive") & (pl.col("first") != pl.col("last"))).sum().alias("ambiguous"),
    ).row(0)
    return ParsedTimes(frame["time"], frame["reason"], *counts)


def _minutes(offset: pl.Expr) -> pl.Expr:
    digits = offset.str.replace_all(":", "", literal=True)
    amount = digits.str.slice(1, 2).cast(pl.Int64, strict=False) * 60 + digits.str.slice(3, 2).cast(
        pl.Int64, strict=False
    )
    return (
        pl.when(offset.is_null() | (offset == "Z"))
        .then(0)
        .when(digits.str.starts_with("-"))
        .then(-amount)
        .otherwise(amount)
    )


def as_seconds(micros: pl.Expr) -> pl.Expr:
    """Seconds of a column of microseconds, or of their halves: the nearest float to each.

    polars divides by a constant by multiplying, which may miss it by a digit; a value equal to a
    limit must not.
    """
    return (micros / 1e6).round(7)

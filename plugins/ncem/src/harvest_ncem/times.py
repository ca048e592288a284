"""Times as the experiment's tools write them, parsed by column.

ISO 8601 with a zone offset, which may stand there twice (``...+00:00+00:00``), or without one:
then the declared zone says which instant is meant.  A local time that the clocks skipped is no
instant; of one that they showed twice, the first is taken.
"""

from __future__ import annotations

from typing import Literal

import attrs
import polars as pl

from harvest_toolkit.frames import first_text

from .headers import MOMENT


@attrs.frozen
class ZoneCounts:
    """How many texts had their zone offset twice, had none, or named an hour that came twice."""

    doubled: int = 0
    naive: int = 0
    ambiguous: int = 0

    def __add__(self, other: ZoneCounts) -> ZoneCounts:
        return ZoneCounts(
            self.doubled + other.doubled,
            self.naive + other.naive,
            self.ambiguous + other.ambiguous,
        )

    def notes(self, zone: str) -> list[str]:
        """Remarks for the user, most general first."""
        again = (
            f"occurred twice in {zone} when the clocks went back; the first occurrence was taken"
        )
        said = (
            (self.naive, "time", f"without a zone read as {zone} (setting ncem.timezone)"),
            (self.ambiguous, "local time", again),
            (self.doubled, "time", "had the zone offset doubled; it was taken once"),
        )
        return [f"{_count(number, noun)} {what}" for number, noun, what in said if number]


@attrs.frozen
class ParsedTimes:
    """The outcome for a column of texts, all of its length.

    times: timestamps (us, UTC); null where ``reasons`` says what was wrong.
    reasons: null where all is well.
    """

    times: pl.Series
    reasons: pl.Series
    zones: ZoneCounts


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def parse_times(texts: pl.Series, zone: str) -> ParsedTimes:
    """Parse a column of texts without nulls; ``zone`` is the IANA zone of naive ones."""
    frame = (
        _with_parts(texts)
        .with_columns(
            first=_in_zone(zone, "earliest"),
            last=_in_zone(zone, "latest"),
            is_naive=pl.col("offset").is_null() & pl.col("local").is_not_null(),
            is_doubled=pl.col("second").is_not_null() & (pl.col("offset") == pl.col("second")),
        )
        .with_columns(reason=_reason(zone))
        .with_columns(time=pl.when(pl.col("reason").is_null()).then(_instant()))
    )
    good = frame.filter(pl.col("reason").is_null())
    counts = good.select(
        pl.col("is_doubled").sum(),
        pl.col("is_naive").sum(),
        (pl.col("is_naive") & (pl.col("first") != pl.col("last"))).sum().alias("ambiguous"),
    ).row(0)
    return ParsedTimes(frame["time"], frame["reason"], ZoneCounts(*counts))


def _in_zone(zone: str, ambiguous: Literal["earliest", "latest"]) -> pl.Expr:
    local = pl.col("local").dt
    return local.replace_time_zone(zone, ambiguous=ambiguous, non_existent="null")


def _with_parts(texts: pl.Series) -> pl.DataFrame:
    """The texts with ``local``, date and time of day, and ``shift``, the offset in minutes."""
    part = pl.col("text").str.extract_groups(MOMENT).struct
    # digits beyond the microsecond are finer than the model's clock
    micros = pl.col("fraction").str.pad_end(6, "0").str.slice(0, 6).cast(pl.Int64)
    seconds = (pl.col("date") + "T" + pl.col("clock")).str.to_datetime(
        "%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False
    )
    return (
        pl.DataFrame({"text": texts.cast(pl.String)})
        .with_columns(
            part.field("1").alias("date"),
            part.field("2").alias("clock"),
            part.field("3").fill_null("").alias("fraction"),
            part.field("4").alias("offset"),
            part.field("5").alias("second"),
        )
        .with_columns(
            local=seconds + pl.duration(microseconds=micros), shift=_minutes(pl.col("offset"))
        )
    )


def _reason(zone: str) -> pl.Expr:
    """What is wrong with a text; null where all is well."""
    no_local = pl.col("local").is_null()
    skipped = f"a local time that does not exist in {zone}, where the clocks skipped it"
    return first_text(
        (no_local & pl.col("date").is_not_null(), "no such date or time of day"),
        (no_local, "no ISO 8601 time"),
        (pl.col("second").is_not_null() & ~pl.col("is_doubled"), "two different zone offsets"),
        (pl.col("shift").abs() > 18 * 60, "no such zone offset"),
        (pl.col("is_naive") & pl.col("first").is_null(), skipped),
    )


def _instant() -> pl.Expr:
    """The instant that a time names, in UTC."""
    shift = pl.duration(minutes=pl.col("shift"))
    return (
        pl.when(pl.col("is_naive"))
        .then(pl.col("first").dt.convert_time_zone("UTC"))
        .otherwise((pl.col("local") - shift).dt.replace_time_zone("UTC"))
    )


def _minutes(offset: pl.Expr) -> pl.Expr:
    digits = offset.str.replace_all(":", "", literal=True)
    hours, minutes = (digits.str.slice(at, 2).cast(pl.Int64, strict=False) for at in (1, 3))
    amount = hours * 60 + minutes
    return (
        pl.when(offset.is_null() | (offset == "Z"))
        .then(0)
        .when(digits.str.starts_with("-"))
        .then(-amount)
        .otherwise(amount)
    )

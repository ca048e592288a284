"""Parsing columns of times as the experiment's tools write them.

ISO 8601, with a zone offset that may be repeated (``...+00:00+00:00``), or without one. Times
without an offset are in the declared zone. A local time that the clocks skipped is invalid. A local
time that occurs twice is read as the first occurrence.
"""

from __future__ import annotations

import attrs
import numpy as np
import polars as pl

from harvest.toolkit.amounts import count_in_words
from harvest_toolkit.clocks import Shown, undecided_note
from harvest_toolkit.frames import first_text

from .headers import MOMENT


@attrs.frozen
class ZoneCounts:
    """Numbers of times with a repeated zone offset, without one, or in a repeated hour."""

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
        """Describe the counts for the user, most general first."""
        said = (
            (self.naive, f"without a zone read as {zone} (setting ncem.timezone)"),
            (self.doubled, "had the zone offset doubled; it was taken once"),
        )
        notes = [f"{count_in_words(number, 'time')} {what}" for number, what in said if number]
        return notes + ([undecided_note(self.ambiguous, zone)] if self.ambiguous else [])


@attrs.frozen
class ParsedTimes:
    """The result of parsing a column of texts; all series have its length.

    times: timestamps (us, UTC); null if there is a reason.
    undecided: whether the time may also be the second occurrence of the local time.
    reasons: why a text could not be parsed; null if it could.
    """

    times: pl.Series
    undecided: pl.Series
    reasons: pl.Series
    zones: ZoneCounts


def parse_times(texts: pl.Series, zone: str) -> ParsedTimes:
    """Parse a column of texts without nulls; ``zone``: IANA zone of times without an offset."""
    frame = _with_parts(texts).with_columns(
        naive=pl.when(pl.col("offset").is_null()).then("local"),
        is_doubled=pl.col("second").is_not_null() & (pl.col("offset") == pl.col("second")),
    )
    shown = Shown.of(frame["naive"], zone)
    offset = pl.duration(minutes=pl.col("shift"))
    instant = pl.coalesce("placed", (pl.col("local") - offset).dt.replace_time_zone("UTC"))
    twice = pl.Series(np.isin(np.arange(frame.height), shown.rows))
    frame = (
        frame.with_columns(shown.first.alias("placed"), twice.alias("twice"))
        .with_columns(reason=_reason(zone))
        .with_columns(time=pl.when(pl.col("reason").is_null()).then(instant))
    )
    counts = frame.filter(pl.col("reason").is_null()).select(
        pl.col("is_doubled").sum(), pl.col("naive").count(), pl.col("twice").sum()
    )
    return ParsedTimes(frame["time"], frame["twice"], frame["reason"], ZoneCounts(*counts.row(0)))


def _with_parts(texts: pl.Series) -> pl.DataFrame:
    """Split texts into columns, with ``local`` (date and time of day) and ``shift`` (minutes)."""
    part = pl.col("text").str.extract_groups(MOMENT).struct
    # drop digits beyond microseconds, the resolution of the records
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
    """Return why a text is invalid; null if it is valid."""
    no_local = pl.col("local").is_null()
    skipped = f"a local time that does not exist in {zone}, where the clocks skipped it"
    return first_text(
        (no_local & pl.col("date").is_not_null(), "no such date or time of day"),
        (no_local, "no ISO 8601 time"),
        (pl.col("second").is_not_null() & ~pl.col("is_doubled"), "two different zone offsets"),
        (pl.col("shift").abs() > 18 * 60, "no such zone offset"),
        (pl.col("naive").is_not_null() & pl.col("placed").is_null(), skipped),
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

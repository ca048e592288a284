"""Parsing columns of times as the experiment's tools write them.

ISO 8601, with a zone offset that may be repeated (``...+00:00+00:00``), or without one. Times
without an offset are in the declared zone. A local time that the clocks skipped is invalid. A local
time that occurs twice is read as the first occurrence.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import polars as pl

from harvest.toolkit.amounts import count_in_words
from harvest_toolkit.clocks import Shown, undecided_note
from harvest_toolkit.frames import first_text

from .recognition import MOMENT


def parse_times(rows: pl.DataFrame, zone: str) -> tuple[pl.DataFrame, Counter[str]]:
    """Parse the column ``text``, without nulls; ``zone``: IANA zone of times without an offset.

    Returns the rows with these columns, and the numbers of times for ``zone_notes``.
    time: timestamps (us, UTC); null if there is a reason.
    undecided: whether the time may also be the second occurrence of the local time.
    reason: why a text could not be parsed; null if it could.
    """
    frame = _with_parts(rows["text"]).with_columns(
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
        doubled=pl.col("is_doubled").sum(),
        naive=pl.col("naive").count(),
        twice=pl.col("twice").sum(),
    )
    parsed = frame.select("time", "reason", undecided="twice")
    return rows.hstack(parsed), Counter(counts.row(0, named=True))


def zone_notes(counts: Counter[str], zone: str) -> Iterator[str]:
    """Describe times without a zone offset, with a repeated one, or in a repeated hour."""
    if counts["naive"]:
        times = count_in_words(counts["naive"], "time")
        yield f"{times} without a zone read as {zone} (setting ncem.timezone)"
    if counts["doubled"]:
        times = count_in_words(counts["doubled"], "time")
        yield f"{times} had the zone offset doubled; it was taken once"
    if counts["twice"]:
        yield undecided_note(counts["twice"], zone)


def _with_parts(texts: pl.Series) -> pl.DataFrame:
    """Split texts into columns, with ``local`` (date and time of day) and ``shift`` (minutes)."""
    # drop digits beyond microseconds, the resolution of the records
    micros = pl.col("fraction").fill_null("").str.pad_end(6, "0").str.slice(0, 6).cast(pl.Int64)
    seconds = (pl.col("date") + "T" + pl.col("clock")).str.to_datetime(
        "%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False
    )
    parts = texts.cast(pl.String).str.extract_groups(MOMENT).struct.unnest()
    return parts.with_columns(
        local=seconds + pl.duration(microseconds=micros), shift=_minutes(pl.col("offset"))
    )


def _reason(zone: str) -> pl.Expr:
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
    amount = (hours * 60 + minutes).fill_null(0)  # without an offset, or with Z
    return pl.when(digits.str.starts_with("-")).then(-amount).otherwise(amount)

"""Scans and their takes: common parts of the views.

A scan number may be reused; then the receivers' UUIDs differ. A *take* is one acquisition: a scan
number with one UUID. Takes of a scan number are numbered in order of time from 1.

All receivers are notified of a scan at the same moment. If a receiver's time differs from the
others by whole or half hours, within the error of unsynchronised clocks, the receiver mistook local
time for UTC or the reverse. Such a time cannot be used as the start of a scan until it is
corrected.
"""

from typing import Final

import polars as pl

from harvest import DatasetReader, UsageError
from harvest.model.frames import seconds
from harvest_toolkit.frames import first_text, kept

from .. import durations
from ..study import Method, Range, Study

BOGUS = "scan number 0 is bogus"

REST_MINUTES: Final = 5
"""Tolerated clock error in minutes: unsynchronised clocks at NCEM were off by four minutes."""

_HALF_HOUR: Final = 30 * 60 * 1_000_000
_TAKE: Final = ("scan_number", "take")


def rows_of(dataset: DatasetReader, record_type: str, plugin: str) -> pl.LazyFrame:
    """Return all rows of another plugin's record type; raise UsageError if it is not installed."""
    try:
        return dataset[record_type]
    except KeyError as error:
        raise UsageError(
            f"the record type {record_type} is unknown",
            remedy=f"install hpc-harvest-{plugin}, harvest its source, and ask again",
        ) from error


def duration(name: str, value: str, example: str) -> float:
    """Parse the duration in a setting to seconds; ``example`` is used in the error message."""
    try:
        return durations.seconds(value)
    except ValueError as error:
        raise UsageError(f"setting {name}: {error}", remedy=f"write it like {example}") from error


UNDECIDED = "the clock showed one of its times twice, and nothing decides which is meant"
IS_UNDECIDED = pl.any_horizontal(pl.col("begin_undecided", "end_undecided").fill_null(value=False))
"""Whether the start or the end of a take is ambiguous, and the reason in words."""


def seconds_between(start: str, end: str) -> pl.Expr:
    """Compute the seconds between two time columns; null if one of the times is ambiguous."""
    passed = seconds((pl.col(end) - pl.col(start)).dt.total_microseconds())
    return pl.when(~IS_UNDECIDED).then(passed)


def statuses(dataset: DatasetReader) -> pl.LazyFrame:
    """Return one row per take and receiver: scan_number, take, uuid, receiver, time, progress.

    ``clock_offset_s`` is what the harvest added to the receiver's clock.
    ``zone_offset_s`` and ``trusted`` say whether the time is reliable: see ``with_zones``.
    - If a take and receiver have several rows (copies of a file), the earliest time, the smallest
      clock_offset_s and the largest progress are used.
    - A row without UUID, from a CSV table, is dropped if a receiver status has the same scan,
      receiver and time to the second.
    - If no two receivers of a scan number share a UUID, UUIDs do not show which rows belong
      together. Then the n-th UUID of each receiver, by time, forms the n-th take.
    """
    scan, uuid = "scan_number", pl.col("uuid").fill_null("")
    found = with_zones(
        _without_copies(dataset)
        .with_columns(
            sharing=pl.len().over(scan, "uuid"),
            receivers=pl.col("receiver").n_unique().over(scan),
            rank=pl.struct("time", uuid).rank("ordinal").over(scan, "receiver").cast(pl.Int64),
        )
        .with_columns(apart=(pl.col("sharing").max().over(scan) == 1) & (pl.col("receivers") > 1))
        .with_columns(key=pl.when("apart").then(pl.format("#{}", "rank")).otherwise(uuid))
        .with_columns(begin=pl.col("time").min().over(scan, "key"))
        .with_columns(take=pl.struct("begin", "key").rank("dense").over(scan).cast(pl.Int64))
        .select(*_TAKE, "uuid", "receiver", "time", "progress", "undecided", "clock_offset_s")
    )
    return kept(dataset, "ncem.statuses", found.collect).lazy()


def _without_copies(dataset: DatasetReader) -> pl.LazyFrame:
    same = ["scan_number", "receiver", "second"]
    rows = dataset["ncem.receiver_status"].select(
        *("scan_number", "receiver", "uuid", "time", "progress", "clock_offset_s"),
        undecided=pl.col("undecided_times").is_not_null(),
        second=pl.coalesce("recorded_time", "time").dt.truncate("1s"),
    )
    known = pl.col("uuid").is_not_null()
    return (
        rows.filter(known | ~known.any().over(same))
        .group_by("scan_number", "receiver", "uuid")
        .agg(pl.col("time", "clock_offset_s").min(), pl.col("progress", "undecided").max())
    )


def takes(dataset: DatasetReader) -> pl.LazyFrame:
    """Return one row per take.

    Columns: scan_number, take, uuid, receivers (number that reported it), receivers_left_out
    (number of them in a wrong zone), progress (minimum). From the other receivers: first_receiver
    (lowest number with the earliest time), first_receiver_time, last_receiver_time, all null
    without any; begin_undecided (whether one of their times is ambiguous).
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
        pl.col("undecided").filter(trusted).any().alias("begin_undecided"),
    )


def with_zones(reports: pl.LazyFrame) -> pl.LazyFrame:
    """Add to reports (scan_number, take, receiver, time) the errors of their zone.

    zone_offset_s: time minus that of the correct receivers, in whole half hours; null if correct,
        as far as is known.
    trusted: whether the time is usable as start of the scan. False if the zone is wrong, or if the
        receivers of a take are in different zones and nothing shows which are correct.

    The majority of a take is correct. If there is none (two receivers, or two against two), and for
    a single receiver, the majority of the receiver's other scans decides.
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
    # receivers that agree are correct, unless each of them is usually wrong
    by_habit = usually & ((pl.col("#differ") > 0) | usually.all().over(_TAKE))
    wrong = pl.when("#clear").then("#off").otherwise(by_habit)
    right = pl.col("#since").filter(~pl.col("#wrong"))
    doubtful = ~pl.col("#wrong") & (pl.col("#steps") != 0) & (pl.col("scan_number") != 0)
    return (
        compared.join(usual, on="receiver", how="left")
        .with_columns(wrong.alias("#wrong"))
        .with_columns(_half_hours(_middle(right)).alias("#steps"))
        .with_columns(
            zone_offset_s=pl.when("#wrong").then(
                pl.coalesce("#steps", "#usual steps") * (_HALF_HOUR / 1e6)
            ),
            trusted=~pl.col("#wrong") & ~doubtful.any().over(_TAKE),
        )
        .drop("^#.*$")
    )


def _middle(values: pl.Expr) -> pl.Expr:
    """Return the lower median of a take, which is the time of some receiver; null without any."""
    return values.sort().get((values.len() - 1) // 2, null_on_oob=True).over(_TAKE)


def _half_hours(reference: pl.Expr) -> pl.Expr:
    """Return the offset from a reference in half hours; 0 if it is not close to a half hour."""
    offset = pl.col("#since") - reference
    steps = (offset + _HALF_HOUR // 2) // _HALF_HOUR
    rest = (offset - steps * _HALF_HOUR).abs()
    return pl.when(rest <= REST_MINUTES * 60_000_000).then(steps).otherwise(0 * offset)


def files(dataset: DatasetReader, kind: str) -> pl.LazyFrame:
    """Return the files of a kind; what several copies of a table list has one row."""
    rows = dataset["ncem.data_file"].filter(pl.col("kind") == kind)
    return rows.unique(pl.exclude("origin", "position"))


def of_last_take(files: pl.LazyFrame, time: str, scans: pl.LazyFrame) -> pl.LazyFrame:
    """Match files to the last take of their scan that started before ``time``.

    Adds take, take_uuid and first_receiver_time. If the file is older than every take, the first
    take is used: a clock is wrong, or the scan number was reused.
    """
    begun = (
        scans.filter(pl.col("first_receiver_time").is_not_null())
        .sort("first_receiver_time")
        .select("scan_number", "take", "first_receiver_time", take_uuid="uuid")
    )
    return (
        files.sort(time)
        .join_asof(
            begun,
            left_on=time,
            right_on="first_receiver_time",
            by="scan_number",
            strategy="backward",
            check_sortedness=False,
        )
        .with_columns(pl.col("take").fill_null(1))
    )


def number_of_files(column: str) -> pl.Expr:
    """Return the files of a take, 0 without any; null if no such file of any scan was harvested."""
    return pl.when(pl.col(column).is_not_null().any()).then(pl.col(column).fill_null(0))


_NONE_TRUSTED = (pl.col("receivers_left_out") > 0) & pl.col("first_receiver_time").is_null()
ZONES_DIFFER = "the receivers' zones differ, and none is known to be right"
BEGINS_UNKNOWN = first_text((_NONE_TRUSTED, ZONES_DIFFER))
"""Why no receiver time of a take is reliable; null if one is, or there is none."""

NO_BEGIN = pl.coalesce(BEGINS_UNKNOWN, pl.lit("no receiver time"))
"""Why a take has no first receiver time."""


def in_ranges(frame: pl.LazyFrame, study: Study, method: Method) -> pl.LazyFrame:
    """Add size, first_scan and last_scan of the range that contains each scan number."""
    ranges = [r for r in study.ranges if r.method == method]

    def of_range(what: str, kind: type[pl.DataType]) -> pl.Expr:
        values = (pl.when(_holds(r)).then(pl.lit(getattr(r, what), kind)) for r in ranges)
        return pl.coalesce(pl.lit(None, kind), *values)

    return frame.with_columns(
        size=of_range("size", pl.String),
        first_scan=of_range("first", pl.Int64),
        last_scan=of_range("last", pl.Int64),
    )


def within(study: Study, method: Method) -> pl.Expr:
    """Test whether a scan number is in one of the study's ranges of a method."""
    ranges = [_holds(r) for r in study.ranges if r.method == method]
    return pl.any_horizontal(pl.lit(False), *ranges)


def _holds(scans: Range) -> pl.Expr:
    return pl.col("scan_number").is_between(scans.first, scans.last)


def volume(study: Study) -> pl.Expr:
    """Return the data volume of a scan in 10^9 bytes, by its size."""
    given = {name: size.data_gb for name, size in study.sizes.items()}
    known = pl.col("size").replace_strict(given, default=None, return_dtype=pl.Float64)
    return pl.coalesce(known, positions() * study.volume_gb("1x1")).alias("data_gb")


def positions() -> pl.Expr:
    """Return the number of positions of a size such as 128x128."""
    sides = pl.col("size").str.split("x").list.eval(pl.element().cast(pl.Float64, strict=False))
    return sides.list.eval(pl.element().product()).list.first()

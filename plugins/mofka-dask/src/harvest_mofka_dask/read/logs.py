"""Logs of Dask's scheduler and workers, and what the consumer could not parse.

Dask logs ``2024-04-19 19:01:36,147 - distributed.scheduler - INFO - Register worker ...``, by the
local clock of the machine.  Lines in another form (tracebacks, warnings) belong to the event
before them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import polars as pl
import pyarrow as pa

from harvest import Partition, ReadContext
from harvest_dask_records.arrays import text_map
from harvest_dask_records.log_kinds import FIELDS, KIND, WORKER
from harvest_dask_records.types import LogEvent

from .log_lines import log_events

__all__ = ["consumer_log", "dask_log"]

_BEGINS: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}[,. ]"
_HEAD: Final = (
    r"^(?<stamp>[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?:[,.][0-9]{1,6})?)"
    r" - (?<logger>[^ ]+) - (?<level>[A-Z]+) - (?<message>.*)$"
)
_STAMP: Final = "%Y-%m-%d %H:%M:%S%.f"
_FAILURE: Final = "data failure:"
_TOTAL: Final = "Total time taken"


def dask_log(partition: Partition, ctx: ReadContext, config: Any) -> Iterator[Any]:
    """``scheduler.e`` or ``worker.e``; ``position`` is the number of an event's first line."""
    source = partition.options["kind"].removesuffix("_log")
    ambiguous = 0
    for events in log_events(partition, ctx, pl.col("line").str.contains(_BEGINS)):
        parsed = (
            events.with_columns(head=pl.col("line").str.extract_groups(_HEAD))
            .unnest("head")
            .with_columns(*_moments(config.timezone))
        )
        ambiguous += int(parsed["twice"].sum())
        wrong = pl.col("stamp").is_not_null() & pl.col("time").is_null()
        for row in parsed.filter(wrong).iter_rows(named=True):
            ctx.reject(
                row["line"] + row["rest"],
                f"{row['stamp']} is not a time of the zone {config.timezone}",
                position=row["position"],
                record_type="dask.log_event",
            )
        yield LogEvent, _dask_table(parsed.filter(~wrong), source)
    if ambiguous:
        ctx.note(
            f"{ambiguous} times fall into the hour that the clock of {config.timezone} shows "
            "twice; they were taken as of its first passage"
        )


def _moments(zone: str) -> tuple[pl.Expr, pl.Expr]:
    """The time of a stamp in UTC, and whether the zone's clock shows it twice."""
    naive = (
        pl.col("stamp")
        .str.replace(",", ".", literal=True)
        .str.to_datetime(_STAMP, time_unit="us", strict=False)
    )
    # a time that the clock skips is null
    earlier, later = (
        naive.dt.replace_time_zone(zone, ambiguous=which, non_existent="null")
        for which in ("earliest", "latest")
    )
    time = earlier.dt.convert_time_zone("UTC")
    return time.alias("time"), (earlier != later).fill_null(value=False).alias("twice")


def _dask_table(parsed: pl.DataFrame, source: str) -> pa.Table:
    text = pl.col("message").fill_null(pl.col("line"))
    frame = parsed.with_columns(
        pl.col("level").str.to_lowercase(), said=text.str.strip_chars(), full=text + pl.col("rest")
    )
    frame = frame.select(
        "time",
        "level",
        "position",
        source=pl.lit(source),
        message=pl.col("full"),
        kind=KIND,
        worker=WORKER,
        **{f"field_{name}": value for name, value in FIELDS.items()},
    )
    return _with_fields(frame)


def consumer_log(partition: Partition, ctx: ReadContext, _: Any) -> Iterator[Any]:
    """``consumer.o``: an event for each message that the consumer could not parse."""
    failures = 0
    line = pl.col("line")
    begins = line.str.starts_with(_FAILURE) | line.str.starts_with(_TOTAL)
    failed = line.str.starts_with(_FAILURE)
    for events in log_events(partition, ctx, begins):
        frame = events.select(
            "position",
            source=pl.lit("consumer"),
            level=pl.when(failed).then(pl.lit("error")),
            message=pl.when(failed)
            .then(line.str.strip_prefix(_FAILURE).str.strip_chars_start() + pl.col("rest"))
            .otherwise(line + pl.col("rest")),
            kind=pl.when(failed).then(pl.lit("data_failure")).otherwise(pl.lit("other")),
            field_total_time_s=line.str.extract(rf"^{_TOTAL}\s*=\s*([0-9.]+)\s*s"),
        )
        failures += int((frame["kind"] == "data_failure").sum())
        yield LogEvent, _with_fields(frame)
    if failures:
        lost = "1 event" if failures == 1 else f"{failures:,} events"
        ctx.note(f"{lost} could not be parsed by the consumer")


def _with_fields(frame: pl.DataFrame) -> pa.Table:
    """The frame as a table, its columns ``field_*`` gathered into the map ``fields``."""
    names = [name for name in frame.columns if name.startswith("field_")]
    fields = text_map({name.removeprefix("field_"): frame[name].to_arrow() for name in names})
    table = frame.drop(names).to_arrow()
    return table.append_column("fields", fields)

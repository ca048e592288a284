"""Logs of Dask's scheduler and workers, and what the consumer could not parse.

Dask logs ``2024-04-19 19:01:36,147 - distributed.scheduler - INFO - Register worker ...``, by the
local clock of the machine; before 2022 without the time, and Coiled without the first dash.  Lines
in another form (tracebacks, warnings) belong to the event before them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import polars as pl
import pyarrow as pa

from harvest import Partition, ReadContext
from harvest_dask.records.arrays import text_map
from harvest_dask.records.log_kinds import FIELDS, KIND, WORKER
from harvest_dask.records.types import LogEvent
from harvest_toolkit.clocks import Shown, decide_in_order, named, undecided_note

from .log_lines import log_events

_MOMENT: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}"
_BEGINS: Final = rf"^(?:{_MOMENT}[,. ]|distributed[\w.]* - [A-Z]+ - )"
_HEAD: Final = (
    rf"^(?:(?<stamp>{_MOMENT}(?:[,.][0-9]{{1,6}})?)(?: -)? )?"
    r"(?<logger>[^ ]+) - (?<level>[A-Z]+) - (?<message>.*)$"
)
_STAMP: Final = "%Y-%m-%d %H:%M:%S%.f"
_NOTHING: Final = pl.lit(None, pl.String)
_FAILURE: Final = "data failure:"
_TOTAL: Final = "Total time taken"


def dask_log(partition: Partition, ctx: ReadContext, config: Any) -> Iterator[Any]:
    """``scheduler.e`` or ``worker.e``; ``position`` is the number of an event's first line."""
    source, zone = partition.options["kind"].removesuffix("_log"), config.timezone
    undecided, begun = 0, 0
    decided: pl.DataFrame | None = None
    for events in _stamped(partition, ctx):
        shown = Shown.of(events["local"], zone)
        times = shown.first.alias("time").to_frame().with_columns(undecided_times=_NOTHING)
        if len(shown.rows) and decided is None:
            decided = _by_all_lines(partition, ctx, zone)
        if decided is not None:
            times = decided.slice(begun, events.height)
        begun += events.height
        undecided += times["undecided_times"].count()
        parsed = pl.concat([events, times], how="horizontal")
        wrong = pl.col("stamp").is_not_null() & pl.col("time").is_null()
        for row in parsed.filter(wrong).iter_rows(named=True):
            ctx.reject(
                row["line"] + row["rest"],
                f"{row['stamp']} is not a time of the zone {zone}",
                position=row["position"],
                record_type="dask.log_event",
            )
        yield LogEvent, _dask_table(parsed.filter(~wrong), source)
    if undecided:
        ctx.note(undecided_note(undecided, zone))


def _stamped(partition: Partition, ctx: ReadContext) -> Iterator[pl.DataFrame]:
    """The events of a log with the parts of their first lines; ``local`` is the time of stamps."""
    stamp = pl.col("stamp").str.replace(",", ".", literal=True)
    for events in log_events(partition, ctx, pl.col("line").str.contains(_BEGINS)):
        yield (
            events.with_columns(head=pl.col("line").str.extract_groups(_HEAD))
            .unnest("head")
            .with_columns(local=stamp.str.to_datetime(_STAMP, time_unit="us", strict=False))
        )


def _by_all_lines(partition: Partition, ctx: ReadContext, zone: str) -> pl.DataFrame:
    """The times of all events, decided by the order of the log, which is read again for that."""
    again = ReadContext(ctx.origin, ctx.scratch)
    local = pl.concat([events["local"] for events in _stamped(partition, again)])
    decided = decide_in_order(Shown.of(local, zone))
    return pl.DataFrame(
        {"time": decided.times["time"], "undecided_times": named(decided.undecided, len(local))}
    )


def _dask_table(parsed: pl.DataFrame, source: str) -> pa.Table:
    text = pl.col("message").fill_null(pl.col("line"))
    frame = parsed.with_columns(
        pl.col("level").str.to_lowercase(), said=text.str.strip_chars(), full=text + pl.col("rest")
    )
    frame = frame.select(
        *("time", "undecided_times", "level", "position"),
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

"""Readers of the logs of Dask's scheduler and workers, and of the consumer's failures.

Dask logs ``2024-04-19 19:01:36,147 - distributed.scheduler - INFO - Register worker ...``, in the
local time of the machine; before 2022 without the time, and Coiled without the first dash.  Lines
of another form (tracebacks, warnings) belong to the event before them.
"""

from collections.abc import Iterator
from typing import Any, Final

import polars as pl
import pyarrow as pa

from harvest import Partition, ReadContext
from harvest.toolkit.texts import not_utf8
from harvest_dask.records.arrays import text_map
from harvest_dask.records.kinds import FIELDS, KIND, WORKER
from harvest_dask.records.types import LogEvent
from harvest_toolkit.clocks import Shown, decide_in_order, named, undecided_note
from harvest_toolkit.lines import BLOCK_BYTES, LongLine, blocks, decode

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
CONTINUED: Final = "continuation line"
EVENT_LINES: Final = 20_000
EVENT_BYTES: Final = 8 * 1024 * 1024
"""Maximum lines and bytes of an event; the rest becomes a new event."""


def dask_log(partition: Partition, ctx: ReadContext, config: Any) -> Iterator[Any]:
    """Read ``scheduler.e`` or ``worker.e``; ``position``: number of an event's first line."""
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
    """Yield the events of a log with the parts of their first lines; ``local``: their time."""
    stamp = pl.col("stamp").str.replace(",", ".", literal=True)
    for events in log_events(partition, ctx, pl.col("line").str.contains(_BEGINS)):
        yield (
            events.with_columns(head=pl.col("line").str.extract_groups(_HEAD))
            .unnest("head")
            .with_columns(local=stamp.str.to_datetime(_STAMP, time_unit="us", strict=False))
        )


def _by_all_lines(partition: Partition, ctx: ReadContext, zone: str) -> pl.DataFrame:
    """Decide the times of all events by the order of the log, which is read again for this."""
    again = ReadContext(ctx.origin, ctx.scratch)
    local = pl.concat([events["local"] for events in _stamped(partition, again)])
    decided = decide_in_order(Shown.of(local, zone))
    return pl.DataFrame(
        {"time": decided.times["time"], "undecided_times": named(decided.undecided, len(local))}
    )


def _dask_table(parsed: pl.DataFrame, source: str) -> pa.Table:
    text = pl.col("message").fill_null(pl.col("line"))
    said = parsed.with_columns(pl.col("level").str.to_lowercase(), said=text.str.strip_chars())
    frame = said.select(
        *("time", "undecided_times", "level", "position"),
        source=pl.lit(source),
        message=text + pl.col("rest"),
        kind=KIND,
        worker=WORKER,
        **{f"field_{name}": value for name, value in FIELDS.items()},
    )
    return _with_fields(frame)


def consumer_log(partition: Partition, ctx: ReadContext, _: Any) -> Iterator[Any]:
    """Read ``consumer.o``: an event for each message that the consumer could not parse."""
    failures = 0
    line = pl.col("line")
    failed = line.str.starts_with(_FAILURE)
    begins = failed | line.str.starts_with(_TOTAL)
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
    """Convert a frame to a table; combine its columns ``field_*`` into the map ``fields``."""
    names = [name for name in frame.columns if name.startswith("field_")]
    fields = text_map({name.removeprefix("field_"): frame[name].to_arrow() for name in names})
    table = frame.drop(names).to_arrow()
    return table.append_column("fields", fields)


def log_events(partition: Partition, ctx: ReadContext, begins: pl.Expr) -> Iterator[pl.DataFrame]:
    """Yield the events of a log, block by block.

    begins: whether a text in column ``line`` begins an event.  Lines before the first event are an
        event, too.

    Columns: ``position`` of the first line, ``line`` (its text), ``rest`` (the other lines, each
    after a newline; without trailing blanks).  All lines count as read, those in ``rest`` as
    merged, and blank ones before the first event as filtered.  Bytes that are not UTF-8 become
    ``\\xNN``.
    """
    held = pl.DataFrame(schema={"position": pl.Int64, "line": pl.String})
    for lines in _lines(partition, ctx):
        lines = pl.concat([held, lines]).with_columns(begins=begins.fill_null(value=False))
        marks = lines["begins"].arg_true()
        # the last event may continue in the next block
        keep = int(marks[-1]) if len(marks) else 0
        held = lines.slice(keep).select("position", "line")
        if held.height > EVENT_LINES or held["line"].str.len_bytes().sum() > EVENT_BYTES:
            keep, held = lines.height, held.clear()
        yield from _events(lines.slice(0, keep), ctx)
    if held.height:
        yield from _events(held.with_columns(begins=begins.fill_null(value=False)), ctx)


def _lines(partition: Partition, ctx: ReadContext) -> Iterator[pl.DataFrame]:
    """Yield the lines of a log as texts, with their numbers; reject lines that are too long."""
    number, ended = 1, True
    with partition.path.open("rb") as stream:
        for block in blocks(stream, line_limit=BLOCK_BYTES):
            if isinstance(block, LongLine):
                ctx.advance(block.size_bytes)
                ctx.reject(block.raw, block.reason, position=number, record_type="dask.log_event")
                count, ended = 1, block.ended
            else:
                ctx.advance(len(block))
                ended = block.endswith(b"\n")
                if not_utf8(block):
                    block = block.decode("utf-8", "backslashreplace").encode()
                lines = decode(block, number)
                count = lines.count
                # polars' own split would allocate sixteen bytes for each byte of the text
                texts = pl.Series(lines.texts, dtype=pl.String).str.strip_chars_end("\r")
                yield pl.DataFrame({"position": pl.Series(lines.numbers, dtype=pl.Int64),
                                    "line": texts})  # fmt: skip
            ctx.read(count)
            number += count
    if number == 1:
        ctx.note(f"{partition.path.name} is empty")
    elif not ended:
        ctx.note("the file has no final newline: its last line may be cut off")


def _events(lines: pl.DataFrame, ctx: ReadContext) -> Iterator[pl.DataFrame]:
    """Combine lines to events; the first line begins an event or is a stray continuation."""
    lines = lines.with_columns(event=pl.col("begins").cast(pl.UInt32).cum_sum())
    stray = (pl.col("event") == 0) & (pl.col("line").str.strip_chars() == "")
    blank = lines.filter(stray)
    if blank.height:
        ctx.filtered(blank.height, "blank line")
        lines = lines.filter(~stray)
    if not lines.height:
        return
    first = pl.col("event") != pl.col("event").shift(1)
    lines = lines.with_columns(first=first.fill_null(value=True))
    heads = lines.filter(pl.col("first")).select("event", "position", "line")
    others = lines.filter(~pl.col("first"))
    ctx.folded(others.height, CONTINUED)
    rests = others.group_by("event").agg(rest=pl.col("line").str.join("\n"))
    rest = "\n" + pl.col("rest").str.strip_chars_end()
    yield heads.join(rests, on="event", how="left", maintain_order="left").select(
        *("position", "line"),
        rest=pl.when(pl.col("rest").str.strip_chars() != "").then(rest).otherwise(pl.lit("")),
    )

"""The CSV tables in which the experiment's timestamps were gathered.

Receiver table: ``scan_number,time0,time1,...[,time_last_written]``.  A unit of input is a cell of
a time column: it becomes a row, or is counted as empty, or is rejected.  A line that cannot be
told apart into cells is one unit.

File table: ``distiller_id,scan_number,datetime``.  A unit is a line.

Columns that a table has beside these go to ``extra``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
import polars as pl
import pyarrow as pa

from harvest import ReadContext
from harvest.toolkit.csv_lines import Block, blocks, header
from harvest.toolkit.frames import TEXT_MAP

from .config import NcemConfig
from .records import DataFile, ReceiverStatus
from .times import ParsedTimes, as_seconds, parse_times

__all__ = ["Table", "read_table", "recognise"]

_TIME = re.compile(r"time(\d{1,3})")
LAST_WRITTEN = "time_last_written"
EMPTY_CELL = "receiver or file without a time"
BLANK_LINE = "blank line"


@attrs.frozen
class Table:
    """A recognised table.

    columns: of its header, in order.  receivers: column -> number, empty for a file table.
    """

    columns: list[str]
    receivers: dict[str, int]

    @property
    def extra(self) -> list[str]:
        """Columns that no record declares."""
        known = {"scan_number", "distiller_id", "datetime", LAST_WRITTEN, *self.receivers}
        if self.receivers:
            known -= {"distiller_id", "datetime"}
        else:
            known.discard(LAST_WRITTEN)
        return [name for name in self.columns if name not in known]


def recognise(path: Path) -> Table | None:
    """The table in a file, by its header; None where it is another."""
    columns = header(path)
    if columns is None or "scan_number" not in columns or len(set(columns)) != len(columns):
        return None
    if "line" in columns or "" in columns:  # no table of these tools, and names we use ourselves
        return None
    receivers = {name: int(m[1]) for name in columns if (m := _TIME.fullmatch(name))}
    if receivers or {"distiller_id", "datetime"} <= set(columns):
        return Table(columns, receivers)
    return None


def read_table(
    path: Path, table: Table, config: NcemConfig, ctx: ReadContext
) -> Iterator[tuple[type[ReceiverStatus] | type[DataFile], pa.Table]]:
    """Rows of a table as frames."""
    tally = _Tally()
    for block in blocks(path, table.columns):
        ctx.read(len(block.bad) + block.blank)
        ctx.filtered(block.blank, BLANK_LINE)
        for line, raw, reason in block.bad:
            ctx.reject(raw, reason, position=line)
        frame = _numbered(block, table, ctx)
        if table.receivers:
            yield from _receivers(frame, table, config, ctx, tally)
            if LAST_WRITTEN in table.columns:
                yield from _files(frame, table, LAST_WRITTEN, "data", config, ctx, tally)
        else:
            yield from _files(frame, table, "datetime", "h5", config, ctx, tally)
        ctx.advance(block.size)
    for note in tally.as_times().notes(config.timezone):
        ctx.note(note)


@attrs.define
class _Tally:
    """What all blocks of a table had in common, for one note each."""

    doubled: int = 0
    naive: int = 0
    ambiguous: int = 0

    def add(self, parsed: ParsedTimes) -> None:
        self.doubled += parsed.doubled
        self.naive += parsed.naive
        self.ambiguous += parsed.ambiguous

    def as_times(self) -> ParsedTimes:
        none = pl.Series([], dtype=pl.String)
        return ParsedTimes(none, none, self.doubled, self.naive, self.ambiguous)


def _numbered(block: Block, table: Table, ctx: ReadContext) -> pl.DataFrame:
    """The lines whose ids are numbers, with these as such and ``extra`` made; others rejected."""
    frame = block.frame
    ids = [name for name in ("scan_number", "distiller_id") if name not in table.extra]
    ids = [name for name in ids if name in table.columns]
    frame = frame.with_columns(
        *(pl.col(name).cast(pl.Int64, strict=False).alias(f"#{name}") for name in ids)
    )
    bad = pl.col("#scan_number").is_null()
    if "distiller_id" in ids:
        bad |= pl.col("#distiller_id").is_null() & (pl.col("distiller_id") != "")
    odd = frame.filter(bad)
    ctx.read(odd.height)
    for row in odd.iter_rows(named=True):
        name = next(n for n in ids if row[f"#{n}"] is None)
        raw = ",".join(row[column] for column in table.columns)
        ctx.reject(raw, f"{name} {row[name]!r} is no number", position=row["line"])
    return frame.filter(~bad).with_columns(_extra(table.extra).alias("extra"))


def _extra(names: Sequence[str]) -> pl.Expr:
    if not names:
        return pl.lit(None, dtype=TEXT_MAP)
    return pl.concat_list(
        pl.struct(pl.lit(name).alias("key"), pl.col(name).alias("value")) for name in names
    )


def _receivers(
    frame: pl.DataFrame,
    table: Table,
    config: NcemConfig,
    ctx: ReadContext,
    tally: _Tally,
) -> Iterator[tuple[type[ReceiverStatus], pa.Table]]:
    names = list(table.receivers)
    cells = (
        frame.unpivot(
            names, index=["line", "#scan_number", "extra"], variable_name="cell", value_name="text"
        )
        .with_columns(
            pl.col("cell")
            .replace_strict(
                {name: index for index, name in enumerate(names)}, return_dtype=pl.Int64
            )
            .alias("index")
        )
        .sort("line", "index", maintain_order=True)
    )
    good = _timed(cells, ctx, tally, config, "ncem.receiver_status")
    shift = {name: config.receiver_offset(number) for name, number in table.receivers.items()}
    good = good.with_columns(
        pl.col("cell").replace_strict(shift, return_dtype=pl.Int64).alias("shift")
    )
    if good.is_empty():
        return
    yield (
        ReceiverStatus,
        good.select(
            (pl.col("time") + pl.duration(microseconds="shift")).alias("time"),
            pl.col("#scan_number").alias("scan_number"),
            pl.col("cell").replace_strict(table.receivers, return_dtype=pl.Int64).alias("receiver"),
            pl.col("time").alias("recorded_time"),
            as_seconds(pl.col("shift")).alias("clock_offset_s"),
            "line",
            "extra",
            ((pl.col("line") - 2) * len(names) + pl.col("index") + 1).alias("position"),
        ),
    )


def _files(
    frame: pl.DataFrame,
    table: Table,
    column: str,
    kind: str,
    config: NcemConfig,
    ctx: ReadContext,
    tally: _Tally,
) -> Iterator[tuple[type[DataFile], pa.Table]]:
    cells = frame.with_columns(pl.lit(column).alias("cell"), pl.col(column).alias("text"))
    good = _timed(cells, ctx, tally, config, "ncem.data_file")
    shift = config.site_offset("nersc" if kind == "h5" else "ncem")
    if good.is_empty():
        return
    has_id = "#distiller_id" in good.columns
    yield (
        DataFile,
        good.select(
            pl.col("#scan_number").alias("scan_number"),
            (pl.col("#distiller_id") if has_id else pl.lit(None, pl.Int64)).alias("distiller_id"),
            pl.lit(kind).alias("kind"),
            (pl.col("time") + pl.duration(microseconds=shift)).alias("modify_time"),
            pl.col("time").alias("recorded_time"),
            pl.lit(shift / 1e6).alias("clock_offset_s"),
            "extra",
            pl.col("line").alias("position"),
        ),
    )


def _timed(
    cells: pl.DataFrame, ctx: ReadContext, tally: _Tally, config: NcemConfig, record_type: str
) -> pl.DataFrame:
    """The cells that hold a time, with it; the rest counted or rejected."""
    ctx.read(cells.height)
    full = cells.filter(~pl.col("text").str.to_lowercase().is_in(["", "null", "nan", "nat"]))
    ctx.filtered(cells.height - full.height, EMPTY_CELL)
    parsed = parse_times(full["text"], config.timezone)
    tally.add(parsed)
    full = full.with_columns(parsed.times.alias("time"), parsed.reasons.alias("reason"))
    for row in full.filter(pl.col("reason").is_not_null()).iter_rows(named=True):
        ctx.reject(
            row["text"],
            f"{row['cell']} of scan {row['#scan_number']}: {row['reason']}",
            position=row["line"],
            record_type=record_type,
        )
    return full.filter(pl.col("reason").is_null())

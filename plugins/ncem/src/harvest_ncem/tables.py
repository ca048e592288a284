"""Reading the CSV tables in which the experiment's timestamps were collected.

In a receiver table, a unit of input is a cell of a time column: it becomes a row, is counted as
empty, or is rejected. A line that cannot be split into cells is one unit. In a file table, a unit
is a line.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import attrs
import polars as pl

from harvest import ReadContext, SourceError
from harvest.model.frames import seconds
from harvest_toolkit.delimited import Block, tables
from harvest_toolkit.frames import extra_of
from harvest_toolkit.headless import misfit

from .config import NcemConfig
from .recognition import LAST_WRITTEN, ORDERS, Table, recognise
from .records import DataFile, ReceiverStatus
from .times import parse_times, zone_notes

_Frames: TypeAlias = Iterator[tuple[type[ReceiverStatus | DataFile], pl.DataFrame]]

EMPTY_CELL = "receiver or file without a time"
BLANK_LINE = "blank line"
LONGEST_LINE = 1024 * 1024
"""Maximum bytes of a line; of a longer one, only the beginning is kept for the reject."""


def read_table(path: Path, config: NcemConfig, ctx: ReadContext) -> _Frames:
    """Read a table and yield its rows as frames.

    Raises OSError if the file cannot be read, SourceError if it is not one of the experiment's.
    """
    table = recognise(path)
    if table is None:
        raise SourceError(
            f"neither the name nor the header is one of the experiment's{misfit(path, ORDERS)}",
            where=str(path),
            remedy="give a directory, a receiver status, or a table with the header "
            "scan_number,time0,... or distiller_id,scan_number,datetime",
        )
    yield from _TableReader(table, config, ctx).read(path)


@attrs.define
class _TableReader:
    """Reader of one table, block by block.

    zones: numbers of times for ``zone_notes``, in all blocks.
    """

    table: Table
    config: NcemConfig
    ctx: ReadContext
    zones: Counter[str] = attrs.field(factory=Counter)

    def read(self, path: Path) -> _Frames:
        columns, order = self.table.columns, self.table.order
        if order:
            self.ctx.note(order.note)
        found = tables(
            path,
            columns,
            header=order is None,
            record_limit=LONGEST_LINE,
            count_lines=True,
            require_final_newline=False,
        )
        for cells, block in found:
            self._account(block)
            texts = pl.DataFrame(cells).with_columns(pl.all().fill_null("").str.strip_chars())
            lines = self._with_ids(texts.with_columns(pl.Series("line", block.numbers, pl.Int64)))
            if self.table.receivers:
                yield from self._receivers(lines)
                if LAST_WRITTEN in columns:
                    yield from self._files(lines, LAST_WRITTEN, "data", site="ncem")
            else:
                yield from self._files(lines, "datetime", "h5", site="nersc")
            self.ctx.advance(block.read_bytes)
        for note in zone_notes(self.zones, self.config.timezone):
            self.ctx.note(note)

    def _account(self, block: Block) -> None:
        """Count the blank lines of a block, and reject lines that cannot be split into cells."""
        damages = [damage for damage in block.damages if damage.raw.strip()]
        blank = block.blank + len(block.damages) - len(damages)
        self.ctx.read(blank + len(damages))
        self.ctx.filtered(blank, BLANK_LINE)
        for damage in damages:
            self.ctx.reject(damage.raw, damage.reason, position=damage.number)

    def _with_ids(self, lines: pl.DataFrame) -> pl.DataFrame:
        """Add ids as numbers and ``extra`` to lines; reject lines whose ids are not numbers."""
        columns, extra = self.table.columns, self.table.extra
        ids = [n for n in ("scan_number", "distiller_id") if n in columns and n not in extra]
        lines = lines.with_columns(
            pl.col(name).cast(pl.Int64, strict=False).alias(f"#{name}") for name in ids
        )
        bad = pl.col("#scan_number").is_null()
        if "distiller_id" in ids:
            bad |= pl.col("#distiller_id").is_null() & (pl.col("distiller_id") != "")
        odd = lines.filter(bad)
        self.ctx.read(odd.height)
        for row in odd.iter_rows(named=True):
            name = next(n for n in ids if row[f"#{n}"] is None)
            raw = ",".join(row[column] for column in columns)
            self.ctx.reject(raw, f"{name} {row[name]!r} is not a number", position=row["line"])
        return lines.filter(~bad).with_columns(extra_of(extra))

    def _receivers(self, lines: pl.DataFrame) -> _Frames:
        """Build a row per cell with a time in a receiver's column."""
        numbers = self.table.receivers
        first = 1 if self.table.order else 2
        names = list(numbers)
        index = {name: place for place, name in enumerate(names)}
        kept = ["line", "#scan_number", "extra"]
        cells = (
            lines.unpivot(names, index=kept, variable_name="cell", value_name="text")
            .with_columns(index=pl.col("cell").replace_strict(index, return_dtype=pl.Int64))
            .sort("line", "index", maintain_order=True)
        )
        shift = {name: self.config.receiver_offset(number) for name, number in numbers.items()}
        good = self._with_times(cells, "ncem.receiver_status").with_columns(
            shift=pl.col("cell").replace_strict(shift, return_dtype=pl.Int64)
        )
        if good.is_empty():
            return
        yield (
            ReceiverStatus,
            good.select(
                *("line", "extra"),
                time=pl.col("time") + pl.duration(microseconds="shift"),
                undecided_times=pl.when("undecided").then(pl.lit("time")),
                scan_number="#scan_number",
                receiver=pl.col("cell").replace_strict(numbers, return_dtype=pl.Int64),
                recorded_time="time",
                clock_offset_s=seconds(pl.col("shift")),
                position=(pl.col("line") - first) * len(names) + pl.col("index") + 1,
            ),
        )

    def _files(self, lines: pl.DataFrame, column: str, kind: str, *, site: str) -> _Frames:
        """Build a row per line with a time in ``column``, on the clock of ``site``."""
        cells = lines.with_columns(cell=pl.lit(column), text=pl.col(column))
        good = self._with_times(cells, "ncem.data_file")
        if good.is_empty():
            return
        has_id = "#distiller_id" in good.columns
        shift = self.config.site_offset(site)
        yield (
            DataFile,
            good.select(
                "extra",
                scan_number="#scan_number",
                distiller_id="#distiller_id" if has_id else pl.lit(None, pl.Int64),
                kind=pl.lit(kind),
                modify_time=pl.col("time") + pl.duration(microseconds=shift),
                undecided_times=pl.when("undecided").then(pl.lit("modify_time")),
                recorded_time="time",
                clock_offset_s=pl.lit(shift / 1e6),
                position="line",
            ),
        )

    def _with_times(self, cells: pl.DataFrame, record_type: str) -> pl.DataFrame:
        """Parse the times of cells; count empty cells and reject invalid ones."""
        self.ctx.read(cells.height)
        full = cells.filter(~pl.col("text").str.to_lowercase().is_in(["", "null", "nan", "nat"]))
        self.ctx.filtered(cells.height - full.height, EMPTY_CELL)
        full, zones = parse_times(full, self.config.timezone)
        self.zones += zones
        for row in full.filter(pl.col("reason").is_not_null()).iter_rows(named=True):
            self.ctx.reject(
                row["text"],
                f"{row['cell']} of scan {row['#scan_number']}: {row['reason']}",
                position=row["line"],
                record_type=record_type,
            )
        return full.filter(pl.col("reason").is_null())

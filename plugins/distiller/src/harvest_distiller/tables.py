"""Distiller's CSV exports: ``id,slurm_id,elapsed``, a file per scan size."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa

from harvest import ReadContext
from harvest.toolkit.csv_header import column_names, header_line
from harvest.toolkit.delimited import tables
from harvest.toolkit.frames import TEXT_MAP

from .records import DistillerJob
from .rows import parsed

__all__ = ["read_table", "recognise", "size_of_name"]

LONGEST = 1024 * 1024
"""Bytes of a line; a longer one is rejected by its beginning."""

NEEDED = ("id", "slurm_id", "elapsed")
_SIZE = re.compile(r"(?<![0-9.])(\d{1,6})[_x](\d{1,6})(?![0-9])")


def recognise(path: Path) -> list[str] | None:
    """The columns of an export, by its header; None where the file is another."""
    names = column_names(header_line(path))
    if not set(NEEDED) <= set(names) or len(set(names)) != len(names):
        return None
    return None if {"", "line", "extra", "scan_id", "reason"} & set(names) else names


def size_of_name(path: Path) -> str | None:
    """The scan size in a file name: ``128_128.csv`` and ``jobs-128x128.csv`` give 128x128."""
    found = _SIZE.search(path.name)
    return f"{int(found[1])}x{int(found[2])}" if found else None


def read_table(
    path: Path, names: Sequence[str], size: str | None, ctx: ReadContext
) -> Iterator[tuple[type[DistillerJob], pa.Table]]:
    """The rows of an export; a unit of input is a line."""
    if size is None:
        ctx.note("the file name tells no scan size such as 128_128; set distiller.scan_size")
    other = [name for name in names if name not in NEEDED]
    extra = (
        pl.concat_list(
            pl.struct(pl.lit(name).alias("key"), pl.col(name).alias("value")) for name in other
        )
        if other
        else pl.lit(None, dtype=TEXT_MAP)
    )
    found = tables(path, names, record_limit=LONGEST, count_lines=True, require_final_newline=False)
    for table, block in found:
        ctx.advance(block.read_bytes)
        ctx.read(len(block) + len(block.damages) + block.blank)
        ctx.filtered(block.blank, "blank line")
        for damage in block.damages:
            ctx.reject(
                damage.raw, damage.reason, position=damage.number, record_type="distiller.job"
            )
        texts = pl.DataFrame(table).with_columns(pl.all().fill_null("").str.strip_chars())
        texts = texts.with_columns(
            pl.concat_str(names, separator=",").alias("raw"),
            pl.Series("line", block.numbers, pl.Int64),
        )
        rows = parsed(texts.with_columns(extra.alias("extra")).rename({"id": "scan_id"}))
        for line, raw, reason in (
            rows.filter(pl.col("reason").is_not_null()).select("line", "raw", "reason").iter_rows()
        ):
            ctx.reject(raw, reason, position=line, record_type="distiller.job")
        good = rows.filter(pl.col("reason").is_null())
        if not good.is_empty():
            yield (
                DistillerJob,
                good.select(
                    "scan_id",
                    "slurm_id",
                    "elapsed_s",
                    pl.lit(size, pl.String).alias("scan_size"),
                    "extra",
                    pl.col("line").alias("position"),
                ),
            )

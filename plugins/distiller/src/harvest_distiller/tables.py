"""Rows of Distiller's CSV exports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from harvest import ReadContext, SourceError
from harvest_toolkit.delimited import tables
from harvest_toolkit.frames import extra_of

from .exports import NEEDED, recognise, size_of_name
from .records import DistillerJob
from .rows import accepted

LONGEST = 1024 * 1024
"""Bytes of a line; a longer one is rejected by its beginning."""


def read_export(
    path: Path, scan_size: str | None, ctx: ReadContext
) -> Iterator[tuple[type[DistillerJob], pl.DataFrame]]:
    """The rows of an export; a unit of input is a line.

    scan_size: of all scans; None for that in the file's name.

    Raises SourceError for a file that cannot be read, or is not an export.
    """
    try:
        columns = recognise(path)
        if columns is None:
            raise SourceError(
                "the header does not have the columns id, slurm_id, elapsed",
                where=f"{path}, line 1",
                remedy="export them with COPY ... TO ... WITH CSV HEADER",
            )
        size = scan_size or size_of_name(path)
        if size is None:
            ctx.note("the file name has no scan size such as 128_128; set distiller.scan_size")
        for rows in _lines(path, columns, ctx):
            if not rows.is_empty():
                names = ("scan_id", "slurm_id", "elapsed_s", "extra", "position")
                yield DistillerJob, rows.select(*names, scan_size=pl.lit(size, pl.String))
    except OSError as error:
        raise SourceError(
            f"cannot be read: {error.strerror}", where=str(path), remedy="check the file"
        ) from error


def _lines(path: Path, names: Sequence[str], ctx: ReadContext) -> Iterator[pl.DataFrame]:
    """The lines of an export that fit, parsed; the others are rejected."""
    other = [name for name in names if name not in NEEDED]
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
            extra_of(other),
            pl.Series("#line", block.numbers, pl.Int64),
        )
        kept = ("raw", "extra", "slurm_id", "elapsed")
        yield accepted(texts.select(*kept, scan_id="id", position="#line"), ctx)

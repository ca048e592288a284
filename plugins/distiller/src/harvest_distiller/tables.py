"""Rows of Distiller's CSV exports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from harvest import ReadContext, SourceError
from harvest_toolkit.delimited import tables
from harvest_toolkit.frames import extra_of
from harvest_toolkit.headless import misfit

from .exports import MERGED, ORDERS, Export, recognise, size_of_name, slurm_column
from .records import DistillerJob
from .rows import accepted

SIZE = "size"
"""The column of a merged table with what else the file's name says."""

_SIDES = r"^(\d{1,6})\s*[_x×]\s*(\d{1,6})$"

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
        export = recognise(path)
        if export is None:
            raise SourceError(
                f"the header does not have the columns id, slurm_id, elapsed{misfit(path, ORDERS)}",
                where=f"{path}, line 1",
                remedy="export them with COPY ... TO ... WITH CSV HEADER",
            )
        if export.order:
            ctx.note(export.order.note)
        size = scan_size or size_of_name(path)
        if size is None and SIZE not in export.columns:
            ctx.note("the file name has no scan size such as 128_128; set distiller.scan_size")
        for rows in _lines(path, export, size, ctx):
            if not rows.is_empty():
                yield DistillerJob, rows
    except OSError as error:
        raise SourceError(
            f"cannot be read: {error.strerror}", where=str(path), remedy="check the file"
        ) from error


def _lines(
    path: Path, export: Export, size: str | None, ctx: ReadContext
) -> Iterator[pl.DataFrame]:
    """The lines of an export that fit, parsed; the others are rejected.

    size: of all scans; None for that in the column ``size``, where there is one.
    """
    names = export.columns
    slurm = slurm_column(names)
    own = size is None and SIZE in names
    other = [name for name in names if name not in ("id", slurm, "elapsed", SIZE if own else "id")]
    found = tables(
        path,
        names,
        header=export.order is None,
        record_limit=LONGEST,
        count_lines=True,
        require_final_newline=False,
    )
    for table, block in found:
        ctx.advance(block.read_bytes)
        ctx.read(len(block) + len(block.damages) + block.blank)
        ctx.filtered(block.blank, "blank line")
        for damage in block.damages:
            ctx.reject(
                damage.raw, damage.reason, position=damage.number, record_type="distiller.job"
            )
        texts = pl.DataFrame(table).with_columns(pl.all().fill_null("").str.strip_chars())
        rows = texts.select(
            pl.concat_str(names, separator=",").alias("raw"),
            extra_of(other),
            "elapsed",
            scan_id="id",
            slurm_id=slurm,
            scan_size=_size() if own else pl.lit(size, pl.String),
            position=pl.Series(block.numbers, dtype=pl.Int64),
        )
        if slurm == MERGED:  # with all of sacct's rows
            ours = rows.filter(pl.col("scan_id") != "")
            ctx.filtered(rows.height - ours.height, "a job that Distiller does not know")
            rows = ours
        good = accepted(rows, ctx)
        yield good.select("scan_id", "slurm_id", "elapsed_s", "extra", "position", "scan_size")


def _size() -> pl.Expr:
    """The scan size in a column: ``128x128`` from 128, as pandas writes it from 128.0 too."""
    text = pl.col(SIZE).str.replace(r"\.0*$", "")
    side, sides = text.str.extract(r"^(\d{1,6})$"), text.str.extract_groups(_SIDES).struct
    both = [sides.field(number) for number in ("1", "2")]
    return pl.coalesce(pl.format("{}x{}", side, side), pl.format("{}x{}", *both))

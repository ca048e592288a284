"""Read the rows of Distiller's CSV exports."""

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
"""Name of the column with the scan size in a merged table."""

_SIDES = r"^(\d{1,6})\s*[_x×]\s*(\d{1,6})$"

LONGEST = 1024 * 1024
"""Maximum bytes of a line; the reject of a longer line holds only its beginning."""


def read_export(
    path: Path, scan_size: str | None, ctx: ReadContext
) -> Iterator[tuple[type[DistillerJob], pl.DataFrame]]:
    """Yield the rows of an export, in batches; a unit of input is a line.

    scan_size: size of all scans; None to take the size from the file's name.

    Raises OSError if the file cannot be read, SourceError if it is not an export.
    """
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


def _lines(
    path: Path, export: Export, size: str | None, ctx: ReadContext
) -> Iterator[pl.DataFrame]:
    """Parse the lines of an export, and reject those that do not fit.

    size: size of all scans; None to take the size from the column ``size``, if present.
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
        if slurm == MERGED:  # the table also has sacct's rows of other jobs
            ours = rows.filter(pl.col("scan_id") != "")
            ctx.filtered(rows.height - ours.height, "a job that Distiller does not know")
            rows = ours
        good = accepted(rows, ctx)
        yield good.select("scan_id", "slurm_id", "elapsed_s", "extra", "position", "scan_size")


def _size() -> pl.Expr:
    """Return the scan size in the column ``size``: ``128x128`` for 128, or for pandas's 128.0."""
    text = pl.col(SIZE).str.replace(r"\.0*$", "")
    side, sides = text.str.extract(r"^(\d{1,6})$"), text.str.extract_groups(_SIDES).struct
    both = [sides.field(number) for number in ("1", "2")]
    return pl.coalesce(pl.format("{}x{}", side, side), pl.format("{}x{}", *both))

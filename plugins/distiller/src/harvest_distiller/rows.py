"""Parse texts of rows, which are the same in CSV exports and in the database.

Both have a scan id, a Slurm id and an elapsed time as text. A batch of rows is parsed by column.
Rows that do not fit are rejected with the reason.
"""

from typing import Final

import polars as pl

from harvest import ReadContext
from harvest_toolkit.frames import first_text

from .exports import ID

COLUMNS: Final = ("scan_id", "slurm_id", "elapsed")
"""Text columns of each row; a missing value is blank or null."""

_ELAPSED: Final = (
    r"^(-)?(?:(\d{1,6})(?:\s+days?,?\s*|-|$))?\s*(?:(\d{1,7}):(\d{2}):(\d{2})(\.\d+)?)?$"
)
_BLANK: Final = ["", "null", "none", "nan", "nat", "\\n"]


def accepted(rows: pl.DataFrame, ctx: ReadContext) -> pl.DataFrame:
    """Return the parsed rows that fit, and reject the others.

    rows: ``COLUMNS`` as texts, ``raw`` (the text of a reject), ``position``, and other columns.
    """
    parsed = _parse(rows)
    bad = parsed.filter(pl.col("reason").is_not_null())
    for raw, reason, position in bad.select("raw", "reason", "position").iter_rows():
        ctx.reject(raw, reason, position=position, record_type="distiller.job")
    return parsed.filter(pl.col("reason").is_null())


def _parse(rows: pl.DataFrame) -> pl.DataFrame:
    """Convert scan_id, slurm_id and elapsed_s to their types; ``reason`` is null for valid rows.

    Elapsed is ``[D days ]HH:MM:SS[.ffffff]``, as pandas and PostgreSQL write intervals, or
    ``D-HH:MM:SS``, as Slurm does. Other columns stay unchanged.
    """
    stripped = {name: pl.col(name).str.strip_chars() for name in COLUMNS}
    return (
        rows.with_columns(
            pl.when(text.str.to_lowercase().is_in(_BLANK)).then(None).otherwise(text).alias(name)
            for name, text in stripped.items()
        )
        .with_columns(
            pl.col("scan_id").str.extract(f"^{ID}$").cast(pl.Int64, strict=False).alias("#scan"),
            pl.col("slurm_id").str.extract(f"^{ID}$").cast(pl.Int64, strict=False).alias("#slurm"),
            *_elapsed(pl.col("elapsed")),
        )
        .with_columns(_reason().alias("reason"))
        .drop("elapsed", "scan_id", "slurm_id", "negative")
        .rename({"#scan": "scan_id", "#slurm": "slurm_id"})
    )


def _elapsed(text: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return ``elapsed_s``, null if the text is not a duration, and whether it is ``negative``."""
    parts = text.str.extract_groups(_ELAPSED).struct
    days, hours, minutes, whole = (
        parts.field(str(index)).cast(pl.Int64, strict=False) for index in (2, 3, 4, 5)
    )
    counted = pl.sum_horizontal(days * 86_400, hours * 3_600, minutes * 60, whole)
    # append the fraction as text: a sum of floats may be a digit off, and exceed a limit it equals
    amount = pl.concat_str(counted, parts.field("6").fill_null("")).cast(pl.Float64, strict=False)
    # a single number must be followed by "day", since it has no unit otherwise
    has_unit = hours.is_not_null() | (days.is_not_null() & text.str.contains("day", literal=True))
    fits = has_unit & (minutes.fill_null(0) < 60) & (whole.fill_null(0) < 60)
    return (
        pl.when(parts.field("1").is_null() & fits).then(amount).alias("elapsed_s"),
        parts.field("1").is_not_null().alias("negative"),
    )


def _reason() -> pl.Expr:
    scan, slurm, elapsed = (pl.col(name) for name in COLUMNS)
    return first_text(
        (scan.is_null(), "no scan id"),
        (pl.col("#scan").is_null(), pl.format("scan id '{}' is not a number", scan)),
        (
            slurm.is_not_null() & pl.col("#slurm").is_null(),
            pl.format("Slurm id '{}' is not a number", slurm),
        ),
        (pl.col("negative"), pl.format("elapsed '{}' is negative", elapsed)),
        (
            elapsed.is_not_null() & pl.col("elapsed_s").is_null(),
            pl.format("elapsed '{}' is not a duration such as 00:04:19", elapsed),
        ),
    )

"""From texts to rows: what the CSV exports and the database have in common.

Both give the id of a scan, a Slurm id and an elapsed time as text.  A batch of them is parsed by
column; rows that do not fit come back with the reason.
"""

from __future__ import annotations

from typing import Final

import polars as pl

__all__ = ["COLUMNS", "parsed"]

COLUMNS: Final = ("scan_id", "slurm_id", "elapsed")
"""The columns of text that every row has; blank or null where there is nothing."""

# pandas writes ids beside blanks as 58250603.0
_ID: Final = r"^(\d{1,18})(?:\.0*)?$"
_ELAPSED: Final = (
    r"^(-)?(?:(\d{1,6})(?:\s+days?,?\s*|-|$))?\s*(?:(\d{1,7}):(\d{2}):(\d{2})(\.\d+)?)?$"
)
_BLANK: Final = ["", "null", "none", "nan", "nat", "\\n"]


def parsed(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with scan_id, slurm_id, elapsed_s in their types and ``reason`` where one is wrong.

    Elapsed is ``[D days ]HH:MM:SS[.ffffff]`` as pandas and PostgreSQL write intervals, or
    ``D-HH:MM:SS`` as Slurm does.  Other columns stay as they are.
    """
    scan, slurm, elapsed = (pl.col(name) for name in COLUMNS)
    rows = rows.with_columns(
        pl.when(pl.col(name).str.strip_chars().str.to_lowercase().is_in(_BLANK))
        .then(None)
        .otherwise(pl.col(name).str.strip_chars())
        .alias(name)
        for name in COLUMNS
    )
    parts = elapsed.str.extract_groups(_ELAPSED).struct
    days, hours, minutes, whole = (
        parts.field(str(index)).cast(pl.Int64, strict=False) for index in (2, 3, 4, 5)
    )
    counted = (
        days.fill_null(0) * 86_400
        + hours.fill_null(0) * 3_600
        + minutes.fill_null(0) * 60
        + whole.fill_null(0)
    )
    # the fraction joins as text: a sum of floats may be a digit off, beyond a limit it is equal to
    amount = pl.concat_str(counted, parts.field("6").fill_null("")).cast(pl.Float64, strict=False)
    # a bare number of days needs its word: a lone number has no unit
    told = hours.is_not_null() | elapsed.str.contains("day", literal=True)
    fits = told & (minutes.fill_null(0) < 60) & (whole.fill_null(0) < 60)
    rows = rows.with_columns(
        scan.str.extract(_ID).cast(pl.Int64, strict=False).alias("#scan"),
        slurm.str.extract(_ID).cast(pl.Int64, strict=False).alias("#slurm"),
        pl.when(parts.field("1").is_null() & fits).then(amount).alias("elapsed_s"),
        parts.field("1").is_not_null().alias("negative"),
    )
    reason = (
        pl.when(scan.is_null())
        .then(pl.lit("no scan id"))
        .when(pl.col("#scan").is_null())
        .then(pl.format("scan id '{}' is no number", scan))
        .when(slurm.is_not_null() & pl.col("#slurm").is_null())
        .then(pl.format("Slurm id '{}' is no number", slurm))
        .when(elapsed.is_not_null() & pl.col("negative"))
        .then(pl.format("elapsed '{}' is negative", elapsed))
        .when(elapsed.is_not_null() & pl.col("elapsed_s").is_null())
        .then(pl.format("elapsed '{}' is no duration such as 00:04:19", elapsed))
    )
    return (
        rows.with_columns(reason.alias("reason"))
        .drop("elapsed", "scan_id", "slurm_id", "negative")
        .rename({"#scan": "scan_id", "#slurm": "slurm_id"})
    )

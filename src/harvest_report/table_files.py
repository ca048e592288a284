"""Write tables as files of data: CSV, Parquet and JSON Lines."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import polars as pl

from harvest.model.frames import seconds
from harvest.model.json import encode_frame

__all__ = ["CSV_TIME", "WRITERS", "csv_columns"]

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""First characters of a cell that a spreadsheet runs as a formula."""

CSV_TIME = "%Y-%m-%dT%H:%M:%S%.6fZ"
"""Format of times in CSV: UTC with microseconds."""


def csv_columns(table: pl.DataFrame, *, defuse: bool = True) -> pl.DataFrame:
    """Convert what CSV cannot hold: nested values to JSON, bytes to base64, durations to seconds.

    defuse: put an apostrophe before cells that a spreadsheet would run.
    """
    columns = []
    for name, kind in table.schema.items():
        column = table[name]
        if kind.is_nested():
            texts = encode_frame(table.select(pl.col(name).alias("v")))
            column = pl.Series(name, [None if t == '{"v":null}' else t[5:-1] for t in texts])
        if column.dtype == pl.Categorical:
            column = column.cast(pl.String)
        if column.dtype == pl.Duration:
            column = seconds(column.dt.total_microseconds())
        if column.dtype == pl.Binary:
            column = column.bin.encode("base64")
        if defuse and column.dtype == pl.String:
            column = _defuse(column)
        columns.append(column.alias(name))
    return pl.DataFrame(columns)


def _defuse(column: pl.Series) -> pl.Series:
    frame = column.to_frame("c")
    risky = pl.any_horizontal(pl.col("c").str.starts_with(s) for s in FORMULA_STARTS)
    defused = pl.when(risky).then(pl.lit("'") + pl.col("c")).otherwise(pl.col("c"))
    return frame.select(c=defused)["c"]


def _write_jsonl(table: pl.DataFrame, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for start in range(0, table.height, 65_536):
            file.writelines(f"{line}\n" for line in encode_frame(table.slice(start, 65_536)))


WRITERS: Final[dict[str, Callable[[pl.DataFrame, Path], None]]] = {
    ".csv": lambda t, path: csv_columns(t).write_csv(path, datetime_format=CSV_TIME),
    # by pyarrow, whose error says that a disk is full
    ".parquet": lambda t, path: t.write_parquet(path, compression="zstd", use_pyarrow=True),
    ".jsonl": _write_jsonl,
}
"""Functions that write a table to a file, by the file's suffix."""

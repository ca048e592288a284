"""Write tables as files of data: CSV, Parquet and JSON Lines."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import polars as pl

from harvest.model.json import encode_frame

from .csv import CSV_TIME, csv_columns

__all__ = ["WRITERS"]


def _write_jsonl(table: pl.DataFrame, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for start in range(0, table.height, 65_536):
            file.writelines(f"{line}\n" for line in encode_frame(table.slice(start, 65_536)))


WRITERS: Final[dict[str, Callable[[pl.DataFrame, Path], None]]] = {
    ".csv": lambda t, path: csv_columns(t).write_csv(path, datetime_format=CSV_TIME),
    ".parquet": lambda t, path: t.write_parquet(path, compression="zstd", statistics=True),
    ".jsonl": _write_jsonl,
}
"""Functions that write a table to a file, by the file's suffix."""

"""A result as a file: the same bytes for the same rows, whatever backend they come from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import polars as pl

from harvest import UsageError
from harvest.model.json import encode_frame
from harvest.toolkit.files import replacing
from harvest_report.csv import CSV_TIME, csv_columns

from .api import Result

__all__ = ["write_result"]


def write_result(result: Result | pl.DataFrame, path: str | Path) -> Path:
    """Write a result as ``.csv``, ``.parquet`` or ``.jsonl``, replacing a file atomically.

    In CSV, times are UTC to the microsecond, and text that a spreadsheet would run as a formula
    has an apostrophe before it.

    Raises UsageError for another ending, or a directory that does not exist.
    """
    frame = result if isinstance(result, pl.DataFrame) else result.frame
    target = Path(path).expanduser()
    write = _WRITERS.get(target.suffix.lower())
    if write is None:
        raise UsageError(
            f"unknown file ending {target.suffix!r}",
            where=str(target),
            remedy="use " + ", ".join(_WRITERS),
        )
    if not target.parent.is_dir():
        raise UsageError("no such directory", where=str(target.parent), remedy="make it first")
    with replacing(target) as temporary:
        # one chunk: what is written must not depend on how the rows were computed
        write(frame.rechunk(), temporary)
    return target


def _csv(frame: pl.DataFrame, path: Path) -> None:
    csv_columns(frame).write_csv(path, datetime_format=CSV_TIME)


def _parquet(frame: pl.DataFrame, path: Path) -> None:
    frame.write_parquet(path, compression="zstd", statistics=True)


def _jsonl(frame: pl.DataFrame, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for start in range(0, frame.height, 65_536):
            file.writelines(f"{line}\n" for line in encode_frame(frame.slice(start, 65_536)))


_WRITERS: Final[dict[str, Callable[[pl.DataFrame, Path], None]]] = {
    ".csv": _csv,
    ".parquet": _parquet,
    ".jsonl": _jsonl,
}

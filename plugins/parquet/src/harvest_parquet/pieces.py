"""Which rows are to be written together with others: known from the descriptions of parts alone.

What writes them (``sharing``) comes with Arrow, which a run without small partitions can spare.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from harvest import Publication

__all__ = ["ROWS", "broken_files", "small_parts"]

ROWS: Final = "rows.arrow"
"""The file, below a staging directory, that holds rows of small partitions."""


def small_parts(publication: Publication) -> set[str]:
    """Keys of staged parts whose rows are not in Parquet files yet."""
    return {
        key
        for key in publication.staged
        if any(file.path == ROWS for file in publication.parts.get(key, ()))
    }


def broken_files(publication: Publication) -> set[str]:
    """Paths of shared files in force that lose some of their rows, but not all."""
    kept: Counter[str] = Counter()
    rows: dict[str, int] = {}
    for key, files in publication.parts.items():
        if key in publication.staged:
            continue
        for file in files:
            if file.file_rows is not None:
                kept[file.path] += file.rows
                rows[file.path] = file.file_rows
    return {path for path, count in kept.items() if count != rows[path]}

"""Columns as blocks of bytes that a browser reads as typed arrays.

A block holds its columns one after the other, little-endian, those of eight bytes first so that
all are aligned; or texts as UTF-8, one on each line.  It is compressed by gzip, and in base64.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator
from typing import Any, Final

import attrs
import polars as pl

BLOCK_ROWS: Final = 16_384
COMPRESSION: Final = 6

ALONE: Final = {"start": "<f8", "dur": "<f8", "lane": "<u4", "name": "<u4"}
"""Columns of a block of slices.  Their ``args``, of which a reader sees few, are in the next block.

Whole microseconds are exact in eight bytes up to 2**53, 285 years."""
MERGED: Final = {"start": "<f8", "dur": "<f8", "busy": "<f8", "lane": "<u4", "name": "<u4",
                 "count": "<u4"}  # fmt: skip
"""Columns of a block of marks."""


@attrs.frozen
class Block:
    """Some rows of a level.

    level: its number; kind: ``alone``, ``args`` (of the block before) or ``merged``.
    begin, end: what it covers, in microseconds.  data: base64.
    """

    level: int
    kind: str
    rows: int
    begin: int
    end: int
    data: str

    def head(self) -> dict[str, Any]:
        """All but the data."""
        return attrs.asdict(self, filter=lambda field, _: field.name != "data")


def blocks(level: int, kind: str, rows: pl.DataFrame) -> Iterator[Block]:
    """Rows, which are ordered by start, in blocks."""
    columns = ALONE if kind == "alone" else MERGED
    for part in rows.iter_slices(BLOCK_ROWS):
        packed = [part[name].to_numpy().astype(kept).tobytes() for name, kept in columns.items()]
        begin, end = part.select(
            pl.col("start").min(), end=(pl.col("start") + pl.col("dur")).max()
        ).row(0)
        yield Block(level, kind, part.height, begin, end, _squeeze(b"".join(packed)))
        if kind == "alone":
            lines = "\n".join(part["args"]).encode()
            yield Block(level, "args", part.height, begin, end, _squeeze(lines))


def _squeeze(data: bytes) -> str:
    # no name and no time in it: the same rows give the same bytes
    return base64.b64encode(gzip.compress(data, COMPRESSION, mtime=0)).decode()

"""The rows of a small partition in staging: one Arrow file for all record types.

The file is a sequence of Arrow IPC streams, one per record type, each with its own schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa

__all__ = ["ROWS", "SMALL_BYTES", "read_staged", "size_of", "write_staged"]

ROWS: Final = "rows.arrow"
"""The file's name below a partition's staging directory."""

SMALL_BYTES: Final = 1 << 20
"""Arrow bytes of a partition that is staged so, at most."""


def size_of(table: pa.Table) -> int:
    """Arrow bytes of a table's rows."""
    # cheap, but it counts the whole buffers of a slice; exact is slow for wide tables
    size: int = table.get_total_buffer_size()
    return size if size <= SMALL_BYTES else table.nbytes


def write_staged(path: Path, tables: Iterable[pa.Table]) -> None:
    """Write tables one after the other."""
    memory = pa.BufferOutputStream()  # or each column would be a write of its own
    for table in tables:
        with pa.ipc.new_stream(memory, table.schema) as stream:
            stream.write_table(table)
    path.write_bytes(memory.getvalue())


def read_staged(path: Path, count: int) -> Iterator[tuple[pa.Table, int]]:
    """The tables of a file that holds ``count`` of them, each with its bytes in the file."""
    memory = pa.BufferReader(path.read_bytes())
    for _ in range(count):
        begin = memory.tell()
        with pa.ipc.open_stream(memory) as stream:
            table = stream.read_all()
        yield table, memory.tell() - begin

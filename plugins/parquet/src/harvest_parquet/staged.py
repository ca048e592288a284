"""The rows of small partitions in staging: one Arrow file for all record types.

The file is a sequence of Arrow IPC streams, one per record type, each with its own schema.  That
of a bundle, which holds the rows of several partitions, begins with an empty stream whose fields
are named like the record types of those that follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

__all__ = [
    "BUNDLE",
    "ROWS",
    "SMALL_BYTES",
    "read_bundle",
    "read_staged",
    "size_of",
    "write_bundle",
    "write_staged",
]

ROWS: Final = "rows.arrow"
"""The file's name below a partition's staging directory."""

BUNDLE: Final = "bundle.arrow"
"""Its name below that of a bundle."""

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
        yield _next(memory)


def _next(memory: pa.BufferReader) -> tuple[pa.Table, int]:
    begin = memory.tell()
    with pa.ipc.open_stream(memory) as stream:
        table = stream.read_all()
    return table, memory.tell() - begin


def write_bundle(path: Path, tables: Mapping[str, Sequence[pa.Table]]) -> None:
    """Write the rows of several partitions, by record type."""
    names = pa.schema([(name, pa.null()) for name in tables]).empty_table()
    together = (pa.concat_tables(each).unify_dictionaries() for each in tables.values())
    write_staged(path, [names, *(table.combine_chunks() for table in together)])


def read_bundle(path: Path) -> dict[str, tuple[pa.Table, int]]:
    """The tables of a bundle's file by record type, each with its bytes in the file."""
    memory = pa.BufferReader(path.read_bytes())
    with pa.ipc.open_stream(memory) as stream:
        names = stream.read_all().column_names
    return {name: _next(memory) for name in names}

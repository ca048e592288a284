"""The rows of small partitions in staging: one Arrow file for all record types.

The file is a sequence of Arrow IPC streams.  The first one lists, for each record type and
partition, how many rows there are and how many Arrow bytes they take; then comes one for each
record type, with its own schema, that holds the rows of all these partitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs
import pyarrow as pa

__all__ = ["SMALL_BYTES", "StagedRows", "joined", "read_staged", "size_of", "write_staged"]

SMALL_BYTES: Final = 1 << 20
"""Arrow bytes of a partition that is staged so, at most."""


def size_of(table: pa.Table) -> int:
    """Arrow bytes of a table's rows."""
    # cheap, but it counts the whole buffers of a slice; exact is slow for wide tables
    size: int = table.get_total_buffer_size()
    return size if size <= SMALL_BYTES else table.nbytes


def write_staged(path: Path, tables: Mapping[str, Sequence[pa.Table]]) -> None:
    """Write the rows of partitions, by record type in their order."""
    listed = [
        (name, table.num_rows, size_of(table) if table.num_rows else 0)
        for name, each in tables.items()
        for table in each
    ]
    names, rows, sizes = zip(*listed, strict=True)
    memory = pa.BufferOutputStream()  # or each column would be a write of its own
    _append(memory, pa.table({"record_type": names, "rows": rows, "bytes": sizes}))
    for each in tables.values():
        _append(memory, joined(each))
    path.write_bytes(memory.getvalue())


def joined(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of tables with the same columns, each column in one piece."""
    if len(tables) == 1:
        return tables[0]
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def _append(memory: pa.BufferOutputStream, table: pa.Table) -> None:
    with pa.ipc.new_stream(memory, table.schema) as stream:
        stream.write_table(table)


@attrs.frozen
class StagedRows:
    """The rows of one record type, and of which partitions they are.

    sizes: Arrow bytes of each partition's rows, by the first of them and how many there are; the
        same number, whichever other partitions are in the file.
    """

    table: pa.Table
    sizes: Mapping[tuple[int, int], int]


def read_staged(path: Path) -> dict[str, StagedRows]:
    """What a file holds, by record type."""
    memory = pa.BufferReader(path.read_bytes())
    listed = _following(memory).to_pydict()
    sizes: dict[str, dict[tuple[int, int], int]] = {}
    first: dict[str, int] = {}
    for name, rows, size in zip(*listed.values(), strict=True):
        sizes.setdefault(name, {})[first.get(name, 0), rows] = size
        first[name] = first.get(name, 0) + rows
    return {name: StagedRows(_following(memory), each) for name, each in sizes.items()}


def _following(memory: pa.BufferReader) -> pa.Table:
    with pa.ipc.open_stream(memory) as stream:
        return stream.read_all()

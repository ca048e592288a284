"""Write the rows of one partition to Parquet files, one per record type."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from harvest import PartWriter, RecordType
from harvest.model.arrow import size_of

from .encodings import choose, of_few_rows

GROUP_BYTES = 32 * 1024 * 1024
"""Maximum Arrow bytes of a row group; a single batch may exceed it."""

FEW_ROWS = 256
"""Maximum rows in the first row group of a file that is written without a choice of encodings."""

HELD_BYTES = 2 * GROUP_BYTES
"""Maximum Arrow bytes that wait for row groups to fill, over all record types of a partition."""

MANY_CHUNKS = 16
"""More chunks than this are copied into one: writing each of them costs more than the copy."""


@attrs.define(eq=False)
class ParquetPartWriter(PartWriter):
    """Collects tables into row groups, and writes a file for each record type.

    place: returns the path of a record type's file below ``staging``.
    options: keyword arguments of ``pyarrow.parquet.ParquetWriter``.
    """

    _staging: Path
    _place: Callable[[str], str]
    _group_rows: int
    _options: dict[str, Any]
    _files: dict[str, ParquetFile] = attrs.field(factory=dict, init=False)

    def write(self, record_type: RecordType, table: pa.Table) -> None:
        """Add rows to the row group of their type; write the group when it is full."""
        name = record_type.name
        file = self._files.get(name)
        if file is None:
            path = self._staging / self._place(name)
            file = self._files[name] = ParquetFile(path, table.schema, self._options)
        file.add(table)
        if file.held_rows >= self._group_rows or file.held_bytes >= GROUP_BYTES:
            file.flush()
        while sum(f.held_bytes for f in self._files.values()) > HELD_BYTES:
            max(self._files.values(), key=lambda f: f.held_bytes).flush()

    def close(self) -> Sequence[tuple[str, str, int]]:
        """Write all waiting rows, finish the files, and return each one's path, type and rows."""
        for file in self._files.values():
            file.close()
        return [(self._place(name), name, file.rows) for name, file in self._files.items()]

    def abort(self) -> None:
        """Drop the waiting rows and close all files, which will be deleted."""
        for file in self._files.values():
            file.abort()


@attrs.define(eq=False)
class ParquetFile:
    """A Parquet file, and the rows that wait for its next row group."""

    path: Path
    schema: pa.Schema
    options: Mapping[str, Any]
    rows: int = 0
    held_rows: int = 0
    held_bytes: int = 0
    _held: list[pa.Table] = attrs.field(factory=list)
    _writer: pq.ParquetWriter | None = None

    def add(self, table: pa.Table) -> None:
        """Add rows that wait for the next row group."""
        self._held.append(table)
        self.held_rows += table.num_rows
        self.held_bytes += size_of(table)

    def flush(self) -> None:
        """Write the waiting rows as one row group."""
        table = self.held
        self._held, self.held_rows, self.held_bytes = [], 0, 0
        if self._writer is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            few = table.num_rows <= FEW_ROWS
            options = {**self.options, **(of_few_rows(table.schema) if few else choose(table))}
            self._writer = pq.ParquetWriter(self.path, self.schema, **options)
        if table.num_rows:
            self._writer.write_table(table, row_group_size=table.num_rows)
            self.rows += table.num_rows

    @property
    def held(self) -> pa.Table:
        """The waiting rows as one table."""
        if len(self._held) == 1:
            return self._held[0]
        # use one dictionary per row group, since the writer drops its dictionaries otherwise
        table = pa.concat_tables([self.schema.empty_table(), *self._held]).unify_dictionaries()
        return table.combine_chunks() if len(self._held) > MANY_CHUNKS else table

    def close(self) -> None:
        """Write the waiting rows and the file's footer."""
        if self._held or self._writer is None:
            self.flush()
        assert self._writer is not None
        self._writer.close()

    def abort(self) -> None:
        """Drop the waiting rows and close the file, which will be deleted."""
        self._held = []
        if self._writer is not None:
            # the file will be deleted, so a failure to write its footer does not matter
            with contextlib.suppress(OSError):
                self._writer.close()

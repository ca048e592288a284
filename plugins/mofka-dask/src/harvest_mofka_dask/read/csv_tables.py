"""The CSVs of a run as tables of texts, block by block; faulty rows are rejected.

Every reader of a CSV uses :func:`chunks`.  It checks the header, counts the input, and yields each
block as a :class:`Chunk`: its columns as texts, by name, null for empty fields.  Converters mark
faults of single rows on the chunk; :meth:`Chunk.rows` returns the rows without a fault as a table
of the record type and rejects the others.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from harvest import Partition, ReadContext, Record, record_type
from harvest.toolkit.texts import excerpt
from harvest_dask.records.arrays import flags, text_map
from harvest_toolkit.csv_header import header_line
from harvest_toolkit.delimited import CUT, Block, blocks, columns
from harvest_toolkit.headless import fitting, misfit
from harvest_toolkit.live import unpacked

from .layout import CSV_KINDS, CsvKind, parse_header

SHOWN: Final = 800
"""Maximum characters of the header in a reason."""


class Chunk:
    """Some rows of a CSV: texts by column, and the faults found in them.

    table: all columns as texts.
    block: the records themselves; row ``i`` of the table is record ``i`` of the block.
    extra_names: columns that the kind does not have, in the order of the header.
    aside: values of known columns for ``extra``, since the record type has no column for them.
    """

    def __init__(self, table: pa.Table, block: Block, extra_names: list[str]):
        self.table = table
        self.block = block
        self.extra_names = extra_names
        self.faults: dict[int, str] = {}
        self.aside: dict[str, pa.Array] = {}

    def __len__(self) -> int:
        return len(self.block)

    def texts(self, name: str) -> pa.StringArray:
        """Return a column as texts; all null if the file has no such column."""
        if name not in self.table.column_names:
            return pa.nulls(len(self), pa.string())
        column = self.table.column(name)
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()

    def fault(self, row: int, reason: str) -> None:
        """Mark a row as faulty; the first reason for a row is kept."""
        self.faults.setdefault(row, reason)

    def refuse(self, row: int, name: str, text: str, expected: str) -> None:
        """Mark a row as faulty because of a column's text."""
        self.fault(row, f"column {name!r} is {excerpt(text)!r}, not {expected}")

    def require(self, name: str) -> pa.StringArray:
        """Return a column as texts; empty fields are faults."""
        column = self.texts(name)
        if column.null_count:
            for row in np.flatnonzero(flags(column.is_null())).tolist():
                self.fault(row, f"column {name!r} is empty")
        return column

    def good(self) -> NDArray[np.bool_]:
        """Return a mask of the rows without faults so far."""
        mask = np.ones(len(self), bool)
        mask[list(self.faults)] = False
        return mask

    def reject_faults(self, ctx: ReadContext, cls: type[Record]) -> None:
        """Reject the rows with faults, in the order of the file."""
        for row in sorted(self.faults):
            ctx.reject(
                self.block.raw(row),
                self.faults[row],
                position=int(self.block.numbers[row]),
                record_type=record_type(cls).name,
            )

    def extra(self) -> pa.MapArray | None:
        """Return the values of unknown columns as maps; None without any."""
        columns = {name: self.texts(name) for name in self.extra_names} | self.aside
        return text_map(columns) if columns else None

    def rows(
        self, cls: type[Record], columns: Mapping[str, pa.Array], ctx: ReadContext
    ) -> pa.Table:
        """Return the rows without faults, with ``position`` and ``extra``; reject the others."""
        every: dict[str, Any] = {**columns, "position": pa.array(self.block.numbers)}
        extra = self.extra()
        if extra is not None:
            every["extra"] = extra
        self.reject_faults(ctx, cls)
        table = pa.table(every)
        return table.filter(pa.array(self.good())) if self.faults else table


def chunks(
    partition: Partition, ctx: ReadContext, cls: type[Record], *, count: bool = True
) -> Iterator[Chunk]:
    """Yield the rows of a CSV, in blocks, as texts.

    Records that are not rows (cut off, a wrong number of fields, not UTF-8) are rejected here.
    count: whether each record counts as a unit read; False if the caller counts other units
        (rejects are always counted).

    A file without the required columns yields no rows and one reject; a file without a header
    whose lines have a known order is read, with a note.
    """
    kind = CSV_KINDS[partition.options["kind"]]
    known = kind.known
    # the known order of the lines of a file without a header
    named = set(kind.required) <= set(parse_header(header_line(partition.path)))
    order = None if named else fitting(partition.path, kind.orders)
    header = order.names if order else None
    if order:
        ctx.note(order.note)
    records = 0
    with unpacked(partition.path, partition.origin) as stream:
        for block in blocks(stream, header=order is None):
            ctx.advance(block.read_bytes)
            if header is None and (len(block) or block.damages):
                first, block = block.split_first()
                header = parse_header(first)
                if not _check_header(first, header, partition.path, kind, ctx, cls):
                    return
            table, block = columns(block, header or (), where=ctx.origin)
            _account(block, ctx, cls, count)
            records += len(block) + len(block.damages)
            if header and len(block):
                extra_names = [name for name in header if name and name not in known]
                yield Chunk(table, block, extra_names)
    if header is None:
        ctx.note(f"{partition.path.name} is empty")
    elif not records:
        ctx.note(f"{partition.path.name} has a header and no rows")


def _check_header(
    line: bytes, names: list[str], path: Path, kind: CsvKind, ctx: ReadContext, cls: type[Record]
) -> bool:
    missing = [name for name in kind.required if name not in names]
    if not missing:
        return True
    found = ", ".join(name for name in names if name) or "none that can be read"
    ctx.read(1)
    ctx.reject(
        line,
        f"the header lacks {', '.join(missing)} of a {kind.name}.csv (found: "
        f"{excerpt(found, SHOWN)}){misfit(path, kind.orders)}; the file was not read",
        record_type=record_type(cls).name,
    )
    return False


def _account(block: Block, ctx: ReadContext, cls: type[Record], count: bool) -> None:
    ctx.read(block.blank + len(block.damages) + (len(block) if count else 0))
    ctx.filtered(block.blank, "blank line")
    for damage in block.damages:
        if damage.reason == CUT:
            ctx.note("the file has no final newline: its last record may be cut off")
        ctx.reject(
            damage.raw, damage.reason, position=damage.number, record_type=record_type(cls).name
        )

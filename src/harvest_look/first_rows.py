"""The first rows of a source, without writing anything."""

from __future__ import annotations

import tempfile
from pathlib import Path

import attrs
import pyarrow as pa

from harvest import Partition, ReadContext, RecordType, SourceError, interrupt, record_type
from harvest.commands.inputs import Reader
from harvest.plugin_code import contained
from harvest.toolkit.texts import printable, printable_line


@attrs.frozen
class FirstRows:
    """The first rows of a record type, and how many of them were seen in all."""

    kind: RecordType
    rows: pa.Table
    seen: int


@attrs.define
class Preview:
    """First rows per record type, and what the source remarked on the way.

    complete: whether all rows there are were seen; reading stops where there are enough.
    """

    tables: dict[str, FirstRows] = attrs.field(factory=dict)
    remarks: list[str] = attrs.field(factory=list)
    complete: bool = True


@contained()
def first_rows(reader: Reader, count: int) -> Preview:
    """Up to ``count`` rows of every record type; stops reading once it has them all.

    Raises SourceError when no partition can be read.
    """
    preview = Preview()
    refused: SourceError | None = None
    for partition in reader.partitions():
        try:
            _add(preview, reader, partition, count)
        except SourceError as error:
            refused = refused or error
            preview.remarks.append(printable_line(str(error)))
        if _enough(preview, reader, count):
            preview.complete = False
            break
    if reader.cut is not None:
        preview.complete = False
        preview.remarks.append(reader.cut)
    if refused is not None and not preview.tables:
        raise refused
    preview.tables = dict(sorted(preview.tables.items()))
    return preview


def _enough(preview: Preview, reader: Reader, count: int) -> bool:
    full = {name for name, found in preview.tables.items() if found.rows.num_rows >= count}
    return full >= {record_type(cls).name for cls in reader.source.record_types}


def _add(preview: Preview, reader: Reader, partition: Partition, count: int) -> None:
    """Read a partition until there are enough rows."""
    with tempfile.TemporaryDirectory() as scratch:
        ctx = ReadContext(printable(partition.origin), Path(scratch))
        for kind, table in reader.tables(partition, ctx):
            interrupt.check()
            found = preview.tables.get(kind.name)
            found = found or FirstRows(kind, kind.arrow_schema.empty_table(), 0)
            need = max(0, count - found.rows.num_rows)
            rows = pa.concat_tables([found.rows, table.slice(0, need)])
            preview.tables[kind.name] = FirstRows(kind, rows, found.seen + table.num_rows)
            if _enough(preview, reader, count):
                break
    preview.remarks += [
        f"rejected {printable_line(r.origin)}"
        + (f", record {r.position}" if r.position is not None else "")
        + f": {printable_line(r.reason)}"
        for r in ctx.rejects[:count]
    ]
    if len(ctx.rejects) > count:
        preview.remarks.append(
            f"{len(ctx.rejects) - count:,} more rejected of {printable_line(partition.origin)}"
        )
    preview.remarks += [
        f"note {printable_line(n.origin)}: {printable_line(n.text)}" for n in ctx.notes
    ]

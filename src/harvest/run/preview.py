"""The first rows of a source, without writing anything."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from harvest.model import RecordType, record_type
from harvest.plugins.context import ReadContext
from harvest.plugins.source import Source

from .rows import typed_tables
from .text import printable, printable_line

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Preview", "first_rows"]


@attrs.frozen
class Preview:
    """First rows per record type, and what the source remarked on the way."""

    tables: list[tuple[RecordType, pa.Table]]
    remarks: list[str]


def first_rows(source: Source, count: int) -> Preview:
    """Up to ``count`` rows of every record type; stops reading once it has them all."""
    import pyarrow as pa

    wanted = {record_type(cls).name for cls in source.record_types}
    found: dict[str, tuple[RecordType, pa.Table]] = {}
    remarks: list[str] = []
    for partition in source.plan():
        with tempfile.TemporaryDirectory() as scratch:
            ctx = ReadContext(printable(partition.origin), Path(scratch))
            for kind, table in typed_tables(source, partition, ctx):
                _, before = found.get(kind.name, (kind, kind.arrow_schema.empty_table()))
                need = count - before.num_rows
                found[kind.name] = (kind, pa.concat_tables([before, table.slice(0, max(0, need))]))
                if all(name in found and found[name][1].num_rows >= count for name in wanted):
                    break
                if need <= 0 and len(wanted) == 1:
                    break
        remarks += [
            f"rejected {printable_line(r.origin)}"
            + (f", record {r.position}" if r.position is not None else "")
            + f": {printable_line(r.reason)}"
            for r in ctx.rejects[:count]
        ]
        remarks += [f"note {printable_line(n.origin)}: {printable_line(n.text)}" for n in ctx.notes]
        if all(name in found and found[name][1].num_rows >= count for name in wanted):
            break
    return Preview(sorted(found.values(), key=lambda item: item[0].name), remarks)

"""From parsed columns and single rows to tables of ``gpfs.file``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from typing import Any, Final

import numpy as np
import pyarrow as pa

from harvest import record_type

from ..records import GpfsFile
from .columnar import Parsed
from .layout import Layout
from .reference import Row

__all__ = ["TableMaker"]

_SCHEMA: Final = record_type(GpfsFile).arrow_schema


class TableMaker:
    """Makes tables of the lines of one list; all have the same columns in the same order."""

    def __init__(self, layout: Layout):
        self._layout = layout
        columns = {step.column for step in layout.steps} | {"path_raw", "kind", "position", "path"}
        if any(step.column is None and step.kept for step in layout.steps):
            columns.add("extra")
        self._schema = pa.schema([field for field in _SCHEMA if field.name in columns])

    def table(self, parsed: Parsed, first_line: int) -> pa.Table:
        """The rows of a block whose first line has this number in the list."""
        made = {**parsed.columns, "position": parsed.lines + first_line}
        if parsed.extra:
            made["extra"] = _maps(parsed.extra, len(parsed.lines))
        arrays = [_array(made[field.name], field.type) for field in self._schema]
        return pa.table(arrays, schema=self._schema)

    def rows(self, rows: Sequence[tuple[int, Row]]) -> pa.Table:
        """The rows of single lines, each with its number."""
        listed = [
            {**row, "position": line, "extra": list((row["extra"] or {}).items())}
            for line, row in rows
        ]
        return pa.Table.from_pylist(listed, schema=self._schema)

    def finished(self, table: pa.Table) -> pa.Table:
        """The table with the columns that are alike in all rows of the list."""
        if self._layout.scan_time is None:
            return table
        moment = self._layout.scan_time.astimezone(UTC)
        scan_time = pa.repeat(pa.scalar(moment, _SCHEMA.field("scan_time").type), table.num_rows)
        return table.append_column("scan_time", scan_time)


def merged(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables as one, in the order of their lines."""
    whole = pa.concat_tables(tables)
    order = np.argsort(whole.column("position").to_numpy(), kind="stable")
    return whole.take(pa.array(order))


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    """Values of a column: as they are, null for not-a-number, or eight bytes each, as they lie."""
    if isinstance(values, pa.Array):
        return values
    if kind == pa.float64():
        return pa.array(values, kind, from_pandas=True)
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(kind, len(values), [None, data])


def _maps(columns: dict[str, pa.Array], count: int) -> pa.Array:
    """For each row the pairs of all names and their texts."""
    width = len(columns)
    order = np.arange(width * count).reshape(width, count).T.ravel()
    items = pa.concat_arrays(list(columns.values())).take(pa.array(order))
    keys = pa.array(list(columns), pa.string()).take(pa.array(np.tile(np.arange(width), count)))
    offsets = pa.array(np.arange(count + 1) * width, pa.int32())
    return pa.MapArray.from_arrays(offsets, keys, items)

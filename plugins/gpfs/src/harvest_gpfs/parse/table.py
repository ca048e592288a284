"""From parsed columns and single rows to tables of ``gpfs.file``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from harvest import record_type

from ..records import GpfsFile
from .layout import Layout
from .program import KINDS, Parsed
from .reference import Row

__all__ = ["TableMaker"]

_SCHEMA: Final = record_type(GpfsFile).arrow_schema
_KINDS: Final = pa.array(KINDS, pa.string())


class TableMaker:
    """Makes tables of the lines of one list; all have the same columns in the same order."""

    def __init__(self, layout: Layout):
        self._layout = layout
        columns = {step.column for step in layout.steps} | {"path_raw", "kind", "position", "path"}
        if layout.extra:
            columns.add("extra")
        self._schema = pa.schema([field for field in _SCHEMA if field.name in columns])

    def table(self, parsed: Parsed, first_line: int) -> pa.Table:
        """The rows of a block whose first line has this number in the list."""
        count = parsed.rows
        made: dict[str, Any] = {"path": parsed.path, "kind": _kinds(parsed.kinds)}
        made["path_raw"] = (
            parsed.path_raw if parsed.path_raw is not None else pa.nulls(count, pa.binary())
        )
        made["position"] = _plain(parsed.lines + first_line, pa.int64())
        for name, values in parsed.numbers.items():
            made[name] = _plain(values, _SCHEMA.field(name).type)
        for name, values in parsed.reals.items():
            made[name] = pa.array(values, pa.float64(), from_pandas=True)
        extra: dict[str, pa.Array] = {}
        for key, texts in parsed.texts.items():
            if isinstance(key, tuple):
                extra[key[0]] = texts
            else:
                made[key] = _without_empty(texts)
        if extra:
            made["extra"] = _maps(extra, count)
        return pa.table([made[name] for name in self._schema.names], schema=self._schema)

    def rows(self, rows: Sequence[tuple[int, Row]]) -> pa.Table:
        """The rows of single lines, each with its number."""
        arrays = []
        for field in self._schema:
            if field.name == "position":
                values: list[Any] = [line for line, _ in rows]
            elif field.name == "extra":
                values = [list((row["extra"] or {}).items()) for _, row in rows]
            else:
                values = [row[field.name] for _, row in rows]
            arrays.append(pa.array(values, field.type))
        return pa.table(arrays, schema=self._schema)

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


def _plain(values: Any, kind: pa.DataType) -> pa.Array:
    """Eight bytes a value, as they lie."""
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(kind, len(values), [None, data])


def _kinds(places: Any) -> pa.Array:
    return _KINDS.take(pa.array(places))


def _without_empty(texts: pa.Array) -> pa.Array:
    """Null where a text is empty."""
    full = pc.greater(pc.binary_length(texts), 0)
    return texts if pc.all(full).as_py() is not False else pc.if_else(full, texts, None)


def _maps(columns: dict[str, pa.Array], count: int) -> pa.Array:
    """For each row the pairs of all names and their texts."""
    width = len(columns)
    order = np.arange(width * count).reshape(width, count).T.ravel()
    items = pa.concat_arrays(list(columns.values())).take(pa.array(order))
    keys = pa.array(list(columns), pa.string()).take(pa.array(np.tile(np.arange(width), count)))
    offsets = pa.array(np.arange(count + 1) * width, pa.int32())
    return pa.MapArray.from_arrays(offsets, keys, items)

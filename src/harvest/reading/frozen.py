"""Fit rows to the frozen columns of a dataset; surplus values go to ``extra``."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from harvest.model import RecordType
from harvest.model.contract import fit
from harvest.model.types import Types, declared_types, from_plain, holds, shapes_of, with_types


class FrozenColumns:
    """Converter of rows to the columns that a dataset keeps."""

    def __init__(self, frozen: Mapping[str, Mapping[str, Any]]):
        self._frozen = frozen
        self._shapes: dict[str, _Shape] = {}

    def fit(self, record_type: RecordType, table: pa.Table) -> tuple[RecordType, pa.Table]:
        name = record_type.name
        if name not in self._frozen:
            return record_type, table
        if name not in self._shapes:
            types = {column: from_plain(kind) for column, kind in self._frozen[name].items()}
            self._shapes[name] = _Shape(record_type, types)
        shape = self._shapes[name]
        return shape.record_type, shape.of(table)


class _Shape:
    """A record type with the columns of a dataset.

    record_type: with the dataset's columns; spilled: its own columns that go to ``extra``.
    """

    def __init__(self, record_type: RecordType, types: Types):
        declared = declared_types(record_type)
        kept = {name for name, kind in declared.items() if name in types}
        self._kept = {name for name in kept if holds(types[name], declared[name])}
        self.spilled = {name: kind for name, kind in declared.items() if name not in self._kept}
        self.record_type = with_types(record_type, types)

    def of(self, table: pa.Table) -> pa.Table:
        schema = self.record_type.arrow_schema
        columns = []
        for field in schema:
            if field.name == "extra":
                columns.append(self._extra(table))
            elif field.name in self._kept or field.name in ("origin", "position"):
                columns.append(table.column(field.name).cast(field.type))
            else:
                columns.append(pa.nulls(table.num_rows, field.type))
        return pa.table(columns, schema=schema)

    def _extra(self, table: pa.Table) -> pa.Array:
        from harvest.reading.extra import (
            with_entries,  # late: polars is slow to import and rarely needed here
        )

        spilled = {name: (its, table.column(name)) for name, its in self.spilled.items()}
        entries = with_entries(table.column("extra"), spilled)
        return fit(entries, shapes_of(self.record_type)["extra"])

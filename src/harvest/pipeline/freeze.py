"""Writing rows into a dataset that keeps its columns.

What a record type has beyond the columns of the dataset goes to ``extra``, as text: a column that
is new, and one whose type has values that the dataset's has not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harvest.model import RecordType

if TYPE_CHECKING:
    import pyarrow as pa

    from harvest.model.types import Types

__all__ = ["FrozenColumns"]


class FrozenColumns:
    """Brings rows to the columns that a dataset keeps.

    frozen: record type -> column -> type as the manifest has it; other record types stay as they
        are.
    """

    def __init__(self, frozen: Mapping[str, Mapping[str, Any]]):
        self._frozen = frozen
        self._shapes: dict[str, _Shape] = {}

    def fit(self, record_type: RecordType, table: pa.Table) -> tuple[RecordType, pa.Table]:
        """Rows, and their record type, with the dataset's columns."""
        name = record_type.name
        if name not in self._frozen:
            return record_type, table
        if name not in self._shapes:
            from harvest.model.types import from_plain

            types = {column: from_plain(kind) for column, kind in self._frozen[name].items()}
            self._shapes[name] = _Shape(record_type, types)
        shape = self._shapes[name]
        return shape.record_type, shape.of(table)


class _Shape:
    """A record type in the columns of a dataset.

    record_type: with the dataset's columns; spilled: its own columns that go to ``extra``.
    """

    def __init__(self, record_type: RecordType, types: Types):
        from harvest.model.types import declared_types, holds, with_types

        declared = declared_types(record_type)
        kept = {name for name, kind in declared.items() if name in types}
        self._kept = {name for name in kept if holds(types[name], declared[name])}
        self.spilled = {name: kind for name, kind in declared.items() if name not in self._kept}
        self.record_type = with_types(record_type, types)

    def of(self, table: pa.Table) -> pa.Table:
        """The rows of a table of the record type in the dataset's columns."""
        import pyarrow as pa

        schema = self.record_type.arrow_schema
        columns = []
        for field in schema:
            if field.name == "extra":
                columns.append(self._extra(table, field.type))
            elif field.name in self._kept or field.name in ("origin", "position"):
                columns.append(table.column(field.name).cast(field.type))
            else:
                columns.append(pa.nulls(table.num_rows, field.type))
        return pa.table(columns, schema=schema)

    def _extra(self, table: pa.Table, kind: pa.MapType) -> pa.Array:
        """The entries that each row has already, then one for each spilled value."""
        import polars as pl

        from harvest.model.arrow import as_maps
        from harvest.model.frames import without_maps
        from harvest.model.json import plain_text

        extra = pl.Series("extra", without_maps(table.column("extra")))
        rows = pl.DataFrame({"extra": extra}).with_row_index("row")
        own = rows.explode("extra").drop_nulls("extra").unnest("extra")
        pieces = [own]
        for name, its_kind in self.spilled.items():
            texts = pl.Series("value", plain_text(its_kind, table.column(name)), dtype=pl.String)
            taken = own.filter(pl.col("key") == name)["row"]
            key = pl.when(pl.col("row").is_in(taken.implode())).then(pl.lit(f"column {name}"))
            pieces.append(
                pl.DataFrame({"value": texts})
                .with_row_index("row")
                .drop_nulls("value")
                .select("row", key.otherwise(pl.lit(name)).alias("key"), "value")
            )
        entries = (
            pl.concat(pieces)
            .group_by("row", maintain_order=True)
            .agg(pl.struct("key", "value").alias("entries"))
        )
        # a row without an entry keeps what it had: nothing, or no entry
        made = rows.join(entries, on="row", how="left", maintain_order="left").select(
            pl.coalesce("entries", "extra")
        )
        return as_maps(made.to_arrow().column(0), kind)

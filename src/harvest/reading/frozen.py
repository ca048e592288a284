"""Fit rows to the frozen columns of a dataset; surplus values go to ``extra``."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson
import pyarrow as pa

from harvest.model import RecordType
from harvest.model.contract import fit
from harvest.model.types import from_plain, holds, shapes_of, with_types


def fit_frozen(
    record_type: RecordType, table: pa.Table, frozen: Mapping[str, Mapping[str, Any]]
) -> tuple[RecordType, pa.Table]:
    """Return rows with the columns that a dataset keeps, and the record type of these columns."""
    if record_type.name not in frozen:
        return record_type, table
    kept = _with_columns(record_type, orjson.dumps(frozen[record_type.name]))
    schema, surplus = kept.arrow_schema, {field.name: field.type for field in table.schema}
    columns = {field.name: pa.nulls(table.num_rows, field.type) for field in schema}
    for field in schema:
        if field.name in surplus and holds(field.type, surplus[field.name]):
            del surplus[field.name]
            columns[field.name] = table.column(field.name).cast(field.type)
    if surplus:
        # late: polars is slow to import and rarely needed here
        from harvest.reading.extra import with_entries

        spilled = {name: (its, table.column(name)) for name, its in surplus.items()}
        entries = with_entries(columns["extra"], spilled)
        columns["extra"] = fit(entries, shapes_of(kept)["extra"])
    return kept, pa.table(columns, schema=schema)


@lru_cache
def _with_columns(record_type: RecordType, columns: bytes) -> RecordType:
    types = {name: from_plain(kind) for name, kind in orjson.loads(columns).items()}
    return with_types(record_type, types)

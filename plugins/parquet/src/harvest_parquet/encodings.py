"""Which encoding pays for which column, told from a sample of its values.

Dictionaries everywhere, the writer's default, cost twice the time and a third more space where most
values of a column differ.  So columns with few values get a dictionary; of the others, integers and
times get deltas (positions and times shrink to almost nothing), floats are split by byte, and
texts stay as they are, for compression does the rest and plain text is fastest to scan.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Encodings", "choose"]

SAMPLE_ROWS = 4_096
FEW = 1 / 4
"""A column has few values when no more than this part of the sampled ones differ."""


@attrs.frozen
class Encodings:
    """Paths of columns that get a dictionary, and the encodings of others."""

    dictionary: list[str]
    other: dict[str, str]

    def options(self) -> dict[str, Any]:
        """As keyword arguments of ``pyarrow.parquet.ParquetWriter``."""
        return {"use_dictionary": self.dictionary, "column_encoding": self.other}


def choose(table: pa.Table) -> Encodings:
    """Encodings for data like that of ``table``."""
    chosen = Encodings([], {})
    sample = _sample(table)
    for field in table.schema:
        if pa.types.is_nested(field.type):
            chosen.dictionary.extend(_leaves(field.name, field.type))
        elif pa.types.is_dictionary(field.type) or _few_values(sample.column(field.name)):
            chosen.dictionary.append(field.name)
        elif pa.types.is_integer(field.type) or pa.types.is_timestamp(field.type):
            chosen.other[field.name] = "DELTA_BINARY_PACKED"
        elif pa.types.is_floating(field.type):
            chosen.other[field.name] = "BYTE_STREAM_SPLIT"
    return chosen


def _sample(table: pa.Table) -> pa.Table:
    """Rows from all over the table."""
    step = max(1, table.num_rows // SAMPLE_ROWS)
    flat = [field.name for field in table.schema if not pa.types.is_nested(field.type)]
    return table.select(flat).take(pa.array(range(0, table.num_rows, step), pa.int64()))


def _few_values(sample: pa.ChunkedArray) -> bool:
    return bool(pc.count_distinct(sample, mode="all").as_py() <= max(1, len(sample) * FEW))


def _leaves(path: str, kind: pa.DataType) -> Iterator[str]:
    """The paths of a nested column's leaves, as Parquet names them."""
    if pa.types.is_map(kind):
        yield from _leaves(f"{path}.key_value.key", kind.key_type)
        yield from _leaves(f"{path}.key_value.value", kind.item_type)
    elif pa.types.is_list(kind):
        yield from _leaves(f"{path}.list.element", kind.value_type)
    elif pa.types.is_struct(kind):
        for field in kind:
            yield from _leaves(f"{path}.{field.name}", field.type)
    else:
        yield path

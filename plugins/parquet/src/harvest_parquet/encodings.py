"""Which encoding pays for which column, by a sample of its values.

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
    for field, column in zip(table.schema, _sample(table).columns, strict=True):
        for path, values in _leaves(field.name, column.combine_chunks()):
            kind = values.type
            if pa.types.is_dictionary(kind) or _few_values(values):
                chosen.dictionary.append(path)
            elif pa.types.is_integer(kind) or pa.types.is_timestamp(kind):
                chosen.other[path] = "DELTA_BINARY_PACKED"
            elif pa.types.is_floating(kind):
                chosen.other[path] = "BYTE_STREAM_SPLIT"
    return chosen


def _sample(table: pa.Table) -> pa.Table:
    """Rows from all over the table."""
    step = max(1, table.num_rows // SAMPLE_ROWS)
    return table.take(pa.array(range(0, table.num_rows, step), pa.int64()))


def _few_values(values: pa.Array) -> bool:
    return bool(pc.count_distinct(values, mode="all").as_py() <= max(1, len(values) * FEW))


def _leaves(path: str, values: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """A column, or what it nests, with its path as Parquet names it."""
    kind = values.type
    if pa.types.is_map(kind):
        yield from _leaves(f"{path}.key_value.key", values.keys)
        yield from _leaves(f"{path}.key_value.value", values.items)
    elif pa.types.is_list(kind):
        yield from _leaves(f"{path}.list.element", values.flatten())
    elif pa.types.is_struct(kind):
        for field, inner in zip(kind, values.flatten(), strict=True):
            yield from _leaves(f"{path}.{field.name}", inner)
    else:
        yield path, values

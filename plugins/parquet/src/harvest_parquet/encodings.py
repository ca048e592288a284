"""Choose the encoding of each column by a sample of its values.

The writer's default is a dictionary for each column. If most values differ, it takes twice the time
and a third more space. So only columns with few values get a dictionary. Other integers and times
are stored as deltas (positions and times shrink to almost nothing), and floats are split by byte.
Texts stay plain: compression is enough, and plain text is fastest to scan. They get no statistics:
``IS NULL`` of DuckDB 2.0 is true for all rows if these say that all known texts are equal.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

SAMPLE_ROWS = 4_096
FEW = 1 / 4
"""A column has few values if at most this fraction of the sampled values is distinct."""


def choose(table: pa.Table) -> dict[str, Any]:
    """Choose encodings for data similar to that of ``table``.

    Returns them as keyword arguments of ``pyarrow.parquet.ParquetWriter``.
    """
    dictionary: list[str] = []
    other: dict[str, str] = {}
    statistics: list[str] = []
    for field, column in zip(table.schema, _sample(table).columns, strict=True):
        for path, values in _leaves(field.name, column.combine_chunks()):
            kind = values.type
            few = pa.types.is_dictionary(kind) or (
                pc.count_distinct(values, mode="all").as_py() <= max(1, len(values) * FEW)
            )
            if few or not _is_text(kind):
                statistics.append(path)
            if few:
                dictionary.append(path)
            elif pa.types.is_integer(kind) or pa.types.is_timestamp(kind):
                other[path] = "DELTA_BINARY_PACKED"
            elif pa.types.is_floating(kind):
                other[path] = "BYTE_STREAM_SPLIT"
    return {"use_dictionary": dictionary, "column_encoding": other, "write_statistics": statistics}


def of_few_rows(schema: pa.Schema) -> dict[str, Any]:
    """Return encodings for so few rows that a choice would cost more than it saves."""
    return {"use_dictionary": list(_texts("", schema)), "write_page_index": False}


def _texts(before: str, fields: Iterable[pa.Field]) -> Iterator[str]:
    """Yield the paths of texts outside of lists and maps."""
    for field in fields:
        if pa.types.is_struct(field.type):
            yield from _texts(f"{before}{field.name}.", field.type)
        elif pa.types.is_dictionary(field.type) or _is_text(field.type):
            yield before + field.name


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _sample(table: pa.Table) -> pa.Table:
    """Return about ``SAMPLE_ROWS`` rows at equal distances in the table."""
    step = max(1, table.num_rows // SAMPLE_ROWS)
    return table.take(pa.array(range(0, table.num_rows, step), pa.int64()))


def _leaves(path: str, values: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """Yield the path in Parquet and the values of a column, or of its nested columns."""
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

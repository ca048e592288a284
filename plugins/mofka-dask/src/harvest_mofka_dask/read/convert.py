"""Conversion of a CSV's texts to times, numbers and states; other texts are faults of their rows.

Whole columns are converted, and single texts only where that failed.
"""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any, Final

import polars as pl
import pyarrow as pa

from harvest import Record, record_type
from harvest_dask.records.captures.batches import whole_number
from harvest_toolkit.spans import epoch_microseconds, spans

from .csv_tables import Chunk

SPELLED_NULLS: Final = frozenset({"None", "nan", "NaN", "null", "<NA>"})
"""Spellings of a missing value by Python programs; null in columns that are not required."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = 253_402_300_800 * 1_000_000
"""Microseconds at the end of the year 9999."""
_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_LONGEST: Final = 100


def converted(chunk: Chunk, cls: type[Record], names: Mapping[str, str]) -> dict[str, pa.Array]:
    """Convert columns of a CSV to columns of a record type; names: that of the CSV by the other."""
    fields = map(record_type(cls).arrow_schema.field, names)
    return {field.name: _column(chunk, names[field.name], field) for field in fields}


def _column(chunk: Chunk, name: str, field: pa.Field) -> pa.Array:
    """Convert a column as a whole, then the other texts one by one."""
    texts = chunk.texts(name) if field.nullable else chunk.require(name)
    if field.type == pa.string():
        return texts
    convert_all, convert, expected = _CONVERTERS[field.type]
    values = convert_all(texts)
    odd = (values.is_null() & pl.Series(texts).is_not_null()).arg_true().to_list()
    found = [convert(texts[row].as_py()) for row in odd]
    for row, value in zip(odd, found, strict=True):
        text = texts[row].as_py()
        if value is None and not (field.nullable and text in SPELLED_NULLS):
            chunk.refuse(row, name, text, expected)
    if odd:
        values.scatter(odd, pl.Series(found, dtype=values.dtype))
    return values.to_arrow().cast(field.type)


def _times(texts: pa.Array) -> pl.Series:
    """Convert epoch seconds to microseconds, exactly."""
    values, good = epoch_microseconds(spans(texts))
    return pl.Series(pa.array(values, mask=~good))


def _integers(texts: pa.Array) -> pl.Series:
    """Convert whole numbers, possibly printed as floats (``2533.0``)."""
    return pl.Series(texts).str.strip_suffix(".0").cast(pl.Int64, strict=False)


def _floats(texts: pa.Array) -> pl.Series:
    """Convert numbers; ``nan`` is null."""
    return pl.Series(texts).cast(pl.Float64, strict=False).fill_nan(None)


def _integer(text: str) -> int | None:
    """Parse a whole number as Python may print it: ``7``, ``7.0``, ``2.25e+13``."""
    word = text.strip()
    try:
        return whole_number(int(word) if len(word) <= 20 else float(word))
    except ValueError:
        return whole_number(_float(word))


def _float(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def microseconds_of(text: str) -> int | None:
    """Parse a time, epoch seconds or ISO 8601 with an offset, to exact microseconds since 1970.

    Quotes around it are removed.  Returns None for any other text, and for a time that is not
    finite or outside the years 1970 to 9999.
    """
    word = text.strip()
    if len(word) >= 2 and word[0] == word[-1] and word[0] in "'\"":
        word = word[1:-1].strip()
    if len(word) > _LONGEST:
        return None
    if _NUMBER.fullmatch(word):
        seconds = Decimal(word)
        if seconds.adjusted() > 12:
            return None
        value = int((seconds * 1_000_000).to_integral_value(ROUND_HALF_EVEN))
    else:
        try:
            value = (datetime.fromisoformat(word) - _EPOCH) // timedelta(microseconds=1)
        except (ValueError, OverflowError, TypeError):  # no time, one out of range, no offset
            return None
    return value if 0 <= value < _LAST else None


_TIME: Final = "a time (epoch seconds, or ISO 8601 with an offset)"
_CONVERTERS: Final[dict[pa.DataType, tuple[Any, Any, str]]] = {
    pa.timestamp("us", "UTC"): (_times, microseconds_of, _TIME),
    pa.int64(): (_integers, _integer, "a whole number of 64 bits"),
    pa.float64(): (_floats, _float, "a number"),
}
"""By type: converters of a column and of a text, and the name of the expected text."""

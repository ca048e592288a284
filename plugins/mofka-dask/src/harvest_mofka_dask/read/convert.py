"""Conversion of a CSV's texts to times, numbers and states; other texts are faults of their rows.

Each function takes a :class:`Chunk` and the name of a column, converts the whole column, and
converts single texts only where that failed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from harvest_dask.records.arrays import flags
from harvest_toolkit.spans import epoch_microseconds, spans

from .csv_tables import Chunk

if TYPE_CHECKING:
    from numpy.typing import NDArray

TIME: Final = "a time (epoch seconds, or ISO 8601 with an offset)"
INTEGER: Final = "a whole number of 64 bits"
NUMBER: Final = "a number"

SPELLED_NULLS: Final = frozenset({"None", "nan", "NaN", "null", "<NA>"})
"""Spellings of a missing value by Python programs; null in columns that are not required."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = 253_402_300_800 * 1_000_000
"""Microseconds at the end of the year 9999."""
_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_LONGEST: Final = 100


def times(chunk: Chunk, name: str, *, required: bool = False) -> pa.Array:
    """Convert a column of epoch seconds to timestamps, exact to the microsecond."""
    texts = chunk.require(name) if required else chunk.texts(name)
    values, good = epoch_microseconds(spans(texts))
    null = flags(texts.is_null())
    odd = np.flatnonzero(~good & ~null)
    _mend(chunk, name, texts, values, null, odd, microseconds_of, TIME, required=required)
    return pa.array(values, pa.timestamp("us", tz="UTC"), mask=null)


def integers(chunk: Chunk, name: str) -> pa.Array:
    """Convert a column of whole numbers, possibly printed as floats (``2533.0``), to int64."""
    whole = pl.Series(chunk.texts(name)).str.strip_suffix(".0").cast(pl.Int64, strict=False)
    return _numbers(chunk, name, whole, _integer, INTEGER)


def floats(chunk: Chunk, name: str) -> pa.Array:
    """Convert a column of numbers to float64; ``nan`` is null."""
    numbers = pl.Series(chunk.texts(name)).cast(pl.Float64, strict=False).fill_nan(None)
    return _numbers(chunk, name, numbers, _float, NUMBER)


def _numbers(
    chunk: Chunk,
    name: str,
    numbers: pl.Series,
    convert: Callable[[str], float | None],
    expected: str,
) -> pa.Array:
    """Complete the numbers of a column: texts without one are converted one by one."""
    texts = chunk.texts(name)
    null = flags(texts.is_null())
    odd = np.flatnonzero(numbers.is_null().to_numpy() & ~null)
    if not len(odd):
        return numbers.to_arrow()
    values = numbers.fill_null(0).to_numpy(writable=True)
    _mend(chunk, name, texts, values, null, odd, convert, expected)
    return pa.array(values, mask=null)


def states(chunk: Chunk, name: str) -> pa.Array:
    """Convert a column of states to lower case; an empty state is a fault."""
    return pc.utf8_lower(chunk.require(name))


def _mend(
    chunk: Chunk,
    name: str,
    texts: pa.Array,
    values: NDArray[Any],
    null: NDArray[np.bool_],
    odd: NDArray[np.int64],
    convert: Callable[[str], float | None],
    expected: str,
    *,
    required: bool = False,
) -> None:
    """Convert the odd texts one by one, in place; texts that cannot be converted are faults."""
    for row in odd.tolist():
        text = texts[row].as_py()
        if text in SPELLED_NULLS and not required:
            null[row] = True
            continue
        value = convert(text)
        if value is None:
            chunk.refuse(row, name, text, expected)
            null[row] = True
        else:
            values[row] = value


def _integer(text: str) -> int | None:
    """Parse a whole number as Python may print it: ``7``, ``7.0``, ``2.25e+13``."""
    word = text.strip()
    try:
        value = int(word) if len(word) <= 20 else None
    except ValueError:
        value = None
    if value is None:
        try:
            number = float(word)
        except ValueError:
            return None
        # above 2**53 a float no longer says which integer was meant
        if not math.isfinite(number) or not number.is_integer() or abs(number) > 2**53:
            return None
        value = int(number)
    return value if -(2**63) <= value < 2**63 else None


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

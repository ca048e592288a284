"""Conversion of a capture file's rows to Arrow columns; faulty rows become rejects.

Frames hold rows column by column, as Python lists of plain values. Whole columns are converted;
values are converted one by one only if that fails or would lose data.
"""

import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from harvest import ReadContext, Record, record_type
from harvest.toolkit.texts import excerpt

from ..arrays import flags, list_array, text_map
from ..key_columns import KEY_SIZE
from ..types import Transfer

__all__ = [
    "FLOAT", "TEXT", "TIME", "TRANSFER", "Batch", "as_text", "converted", "time_of", "whole_number",
]  # fmt: skip

TEXT: Final = pa.string()
INTEGER: Final = pa.int64()
FLOAT: Final = pa.float64()
TIME: Final = pa.timestamp("us", "UTC")
_PAIRS: Final = record_type(Transfer).arrow_schema.field("keys").type
TRANSFER: Final = {
    "start_time": "start",
    "end_time": "stop",
    "middle": "middle",
    "duration_s": "duration",
    "total_bytes": "total",
    "compressed_bytes": "compressed",
    "bandwidth": "bandwidth",
}
"""Dask's name of each column of a transfer."""
_STATES: Final = ("start_state", "finish_state", "direction", "status")
"""Columns that are in lower case."""

_LAST_S: Final = 253_402_300_800
"""Seconds at the end of the year 9999."""

_DO_NOT_FIT: Final = (pa.ArrowException, OverflowError)
"""Errors that Arrow raises for numbers that are too large."""


class Batch:
    """Rows of one kind, from one or more frames, and the faults found in them.

    columns: columns by name, all of the same length.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.columns: dict[str, list[Any]] = {}
        self.frames: list[tuple[int, int]] = []
        self.faults: dict[int, str] = {}
        self.size = 0
        self._positions: list[NDArray[np.int64]] = []
        self._used: set[str] = set()

    def add(self, frame: int, columns: Mapping[str, Sequence[Any]], n: int, position: int) -> None:
        """Append ``n`` rows of a frame; ``position`` is that of the first row."""
        for name, values in columns.items():
            if name not in self.columns:
                self.columns[name] = [None] * self.size
            self.columns[name].extend(values)
        for name in self.columns.keys() - columns.keys():
            self.columns[name].extend([None] * n)
        self.frames.append((frame, self.size))
        self._positions.append(np.arange(position, position + n))
        self.size += n

    def values(self, name: str) -> list[Any]:
        """Return the original values of a column; None where a frame lacks it."""
        self._used.add(name)
        return self.columns.get(name) or [None] * self.size

    def column(self, name: str, kind: pa.DataType, *, required: bool = False) -> pa.Array:
        """Convert a column to texts, numbers or times; any other value is a fault of its row."""
        if kind == _PAIRS:
            return self._key_sizes(name)
        found, bad = converted(self.values(name), kind)
        self._refuse(name, bad, _CONVERTERS[kind][2])
        if required and found.null_count:
            for row in np.flatnonzero(flags(found.is_null())).tolist():
                self.faults.setdefault(row, f"column {name!r} is empty")
        return found

    def complete(
        self, cls: type[Record], made: Mapping[str, pa.Array], renamed: Mapping[str, str]
    ) -> dict[str, pa.Array]:
        """Return the columns of a record type: ``made``, and all others converted from the rows.

        renamed: name in the rows by column, for columns with another name there.
        """
        columns = dict(made)
        for field in record_type(cls).arrow_schema:
            name, kind = field.name, field.type
            if name in made or name == "position" or kind not in (*_CONVERTERS, _PAIRS):
                continue
            found = self.column(renamed.get(name, name), kind, required=not field.nullable)
            columns[name] = pc.utf8_lower(found) if name in _STATES else found
        return columns

    def _key_sizes(self, name: str) -> pa.Array:
        """Convert a column of lists of pairs of key and size."""
        values = self.values(name)
        null = np.array([value is None for value in values], bool)
        fit = [value is None or _is_pairs(value) for value in values]
        lists = [value if value and fits else () for value, fits in zip(values, fit, strict=True)]
        pairs = list(itertools.chain.from_iterable(lists))
        lengths = np.fromiter(map(len, lists), np.int64, len(lists))
        owners = np.repeat(np.arange(len(lists)), lengths)
        keys, odd = converted([key for key, _ in pairs], TEXT)
        sizes, wrong = converted([size for _, size in pairs], INTEGER)
        nameless = np.flatnonzero(flags(keys.is_null())).tolist()
        foreign = np.flatnonzero(~np.array(fit, bool)).tolist()
        bad = {*foreign, *owners[[*odd, *wrong, *nameless]].tolist()}
        self._refuse(name, bad, "a list of pairs of a key and a size")
        items = pa.StructArray.from_arrays([keys, sizes], fields=list(KEY_SIZE))
        return list_array(lengths, items, null)

    def refuse_where(self, wrong: pa.Array, name: str, expected: str) -> None:
        """Mark rows as faulty because of their values in a column."""
        self._refuse(name, np.flatnonzero(flags(wrong)).tolist(), expected)

    def fields(self, *names: str) -> pa.MapArray | None:
        """Combine columns of any values into one map of texts per row; null if all are null."""
        return text_map({name: as_text(self.values(name)) for name in names}) if names else None

    def others(self) -> list[str]:
        """Return the names of the columns that were not used so far, in order."""
        return [name for name in self.columns if name not in self._used]

    def table(self, cls: type[Record], columns: Mapping[str, pa.Array], ctx: ReadContext) -> Any:
        """Build the table of rows without faults, with position and extra; reject the others."""
        every = {**columns, "position": pa.array(np.concatenate(self._positions))}
        unknown = self.fields(*self.others())
        if unknown is not None:
            every["extra"] = unknown
        table = pa.table(every)
        if not self.faults:
            return table
        good = np.ones(self.size, bool)
        for row in sorted(self.faults):
            good[row] = False
            self._reject(row, ctx, record_type(cls).name)
        return table.filter(pa.array(good))

    def _refuse(self, name: str, rows: Iterable[int], expected: str) -> None:
        for row in rows:
            value = excerpt(repr(self.columns[name][row]))
            self.faults.setdefault(row, f"column {name!r} is {value}, not {expected}")

    def _reject(self, row: int, ctx: ReadContext, name: str) -> None:
        frame, start = next(f for f in reversed(self.frames) if f[1] <= row)
        values = {name: column[row] for name, column in self.columns.items()}
        ctx.reject(
            json.dumps(values, default=repr),
            f"row {row - start + 1} of frame {frame} ({self.kind}): {self.faults[row]}",
            position=frame,
            record_type=name,
        )


def _at_once(values: Sequence[Any], kind: pa.DataType, *types: type) -> pa.Array | None:
    """Convert a whole column if all values fit and are None or of these types; else return None."""
    if not {*map(type, values)} <= {type(None), *types}:
        return None
    try:
        return pa.array(values, kind)
    except _DO_NOT_FIT:
        return None


def converted(values: Sequence[Any], kind: pa.DataType) -> tuple[pa.Array, list[int]]:
    """Convert a column, as a whole if all values are of the type's own, else value by value.

    kind: TEXT, INTEGER, FLOAT (without NaN), or TIME from seconds since 1970.

    Returns the column and the rows that cannot be converted, which are null.
    """
    types, convert, _ = _CONVERTERS[kind]
    stored = FLOAT if kind == TIME else kind
    found, bad = _at_once(values, stored, *types), []
    if found is None:
        each = [None if value is None else convert(value) for value in values]
        bad = [row for row, value in enumerate(values) if value is not None and each[row] is None]
        found = pa.array(each, stored)
    if stored == FLOAT:
        nan = pc.fill_null(pc.is_nan(found), fill_value=False)
        found = pc.if_else(nan, pa.scalar(None, FLOAT), found)
    if kind != TIME:
        return found, bad
    micros, outside = _microseconds(found)
    return pa.array(micros, TIME, mask=flags(found.is_null())), sorted({*bad, *outside})


def _microseconds(seconds: pa.Array) -> tuple[NDArray[np.int64], list[int]]:
    """Convert epoch seconds to microseconds; return also rows outside the years 1970 to 9999.

    A float counts as Python prints it, as in the CSVs: with seven decimals for today's times.
    """
    values = seconds.fill_null(0.0).to_numpy(zero_copy_only=False)
    inside = (values >= 0) & (values < _LAST_S)
    values = np.where(inside, values, 0.0)
    whole = np.floor(values)
    micros, last = np.divmod(np.rint((values - whole) * 1e7).astype(np.int64), 10)
    micros += (last > 5) | ((last == 5) & (micros % 2 == 1))
    return whole.astype(np.int64) * 1_000_000 + micros, np.flatnonzero(~inside).tolist()


def time_of(value: Any) -> int | None:
    """Convert a time in epoch seconds to microseconds; return None if it is not a time."""
    found, bad = converted([value], TIME)
    return None if bad else found.cast(INTEGER)[0].as_py()


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def whole_number(value: Any) -> int | None:
    """Convert a whole number of 64 bits, which may be an exact float; None for another value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float):
        # above 2**53 a float no longer says which integer was meant
        if not value.is_integer() or abs(value) > 2**53:
            return None
        value = int(value)
    return value if -(2**63) <= value < 2**63 else None


def _number(value: Any) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        return float(value) if number else None
    except OverflowError:  # a whole number above the largest float, which only YAML has
        return None


_CONVERTERS: Final[dict[pa.DataType, tuple[tuple[type, ...], Callable[[Any], Any], str]]] = {
    TEXT: ((str,), _text, "a text"),
    INTEGER: ((int,), whole_number, "a whole number of 64 bits"),
    FLOAT: ((float, int), _number, "a number"),
    TIME: ((float, int), _number, "a time in seconds since 1970"),
}
"""Types of values that Arrow converts itself, the converter of others, and the expected value."""


def _is_pairs(value: Any) -> bool:
    """Return whether a value is a tuple of pairs; an empty text or map counts as empty tuple."""
    if isinstance(value, tuple):
        return all(isinstance(pair, tuple) and len(pair) == 2 for pair in value)
    return isinstance(value, str | bytes | dict) and not value


def as_text(values: Sequence[Any]) -> pa.Array:
    """Convert any values to texts: texts unchanged, None to null, everything else to JSON."""
    found = _at_once(values, TEXT, str)
    return pa.array(map(_json, values), TEXT) if found is None else found


def _json(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return json.dumps(value, ensure_ascii=False, default=repr)

"""Format the values of a column, and the cells of a table, as texts for people."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import orjson
import polars as pl

from harvest import Column
from harvest.toolkit.amounts import bytes_in_words, seconds_in_words, share_in_words
from harvest.toolkit.texts import printable_line

from .model import Table

__all__ = ["MISSING", "exact", "form_of", "texts_of"]

MISSING: Final = "–"
"""Text of a missing value."""

SHORT_SPAN_S: Final = 3600
"""Times that are all within so many seconds are shown with milliseconds."""


def texts_of(values: Sequence[Any], form: str | None = None, *, scale: float = 1) -> list[str]:
    """Format the cells of a column, one line each, with visible control characters.

    form: a format of :class:`harvest.Column`; by default one that suits all the values.
    scale: divisor of numbers.
    A number that rounds to zero is shown as ``<0.01``; one in words has a unit that fits it.
    """
    if form is None:
        form = default_format(v if scale == 1 or v is None else v / scale for v in values)
    return [_rounded(value, form, scale) for value in values]


def numeric(table: Table) -> list[bool]:
    """Return for each column whether it holds numbers, which are aligned right."""
    schema = table.rows.schema
    return [schema[c.name].is_numeric() for c in table.columns]


def leading(columns: Sequence[Sequence[str]]) -> int:
    """Return how many of the first three columns distinguish all rows; 1 when they do not."""
    rows = len(columns[0])
    enough = (n for n in (1, 2, 3) if len(set(zip(*columns[:n], strict=True))) == rows)
    return next(enough, 1)


def rows_of_text(table: Table) -> Iterator[tuple[str, ...]]:
    """Yield rows as text, one line per cell, with visible control characters."""
    texts = [
        texts_of(table.rows[c.name].to_list(), _format(table, c), scale=c.scale)
        for c in table.columns
    ]
    return zip(*texts, strict=True)


def _format(table: Table, column: Column) -> str | None:
    """Return the column's format; by default three decimals and whole seconds."""
    kind = table.rows.schema[column.name]
    if column.format is not None:
        return column.format
    if kind.is_float() or (column.scale != 1 and kind.is_numeric()):
        return ",.3f"
    return "%Y-%m-%d %H:%M:%S" if kind == pl.Datetime else None


def group_starts(table: Table) -> list[bool]:
    """Return for each row whether a rule goes above it, because the group's value changes."""
    if table.group is None:
        return [False] * table.rows.height
    listed = table.rows[table.group].to_list()
    return [i > 0 and value != listed[i - 1] for i, value in enumerate(listed)]


def form_of(column: Column, dtype: pl.DataType) -> tuple[str | None, str | None]:
    """Return the format (for ``texts_of``) of a column, and the unit that its heading must name.

    Bytes and seconds without a declared format are formatted in words, with the unit in the cell.
    """
    if dtype.is_temporal():
        return column.format, None
    if not dtype.is_numeric():
        return column.format if column.format in ("id", "path") else None, None
    if column.format is None and column.scale == 1 and column.unit in _IN_WORDS:
        return _IN_WORDS[column.unit], None
    fits = column.format != "d" or not dtype.is_float()  # plugins may declare other kinds
    return column.format if fits else None, column.shown_unit


def cell(value: Any, form: str) -> str:
    """Format a value by a format of :class:`harvest.Column`, in one line."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if form in _WORDS:
        return _WORDS[form](value) if math.isfinite(value) else str(value)
    if form == _MILLISECONDS:
        return f"{value:%Y-%m-%d %H:%M:%S.%f}"[:-3]
    if isinstance(value, (list, dict, bytes)):
        return _plain(value)
    if form in ("", "id", "path"):
        return printable_line(str(value))
    return printable_line(format(value, form))


def exact(value: Any) -> str:
    """Format a value with all digits, as CSV does: times in ISO 8601, durations in seconds."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        utc = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        # unlike strftime, this writes all four digits of an early year
        return utc.isoformat(timespec="microseconds") + ("" if value.tzinfo is None else "Z")
    if isinstance(value, timedelta):
        return str(value.total_seconds())
    return _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, (list, dict)):
        option = orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS
        value = orjson.dumps(value, default=_text, option=option)
    return printable_line(_text(value))


def _text(value: Any) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _rounded(value: Any, form: str, scale: float) -> str:
    """Format a number; one that rounds to zero and is not zero becomes ``<0.01``."""
    if value is None or not isinstance(value, (int, float, Decimal)) or isinstance(value, bool):
        return cell(value, form)
    text = cell(value if scale == 1 else float(value) / scale, form)
    number = text.removesuffix("%")
    if (
        value
        and form not in _WORDS
        and number.endswith("0")
        and not any(digit in number for digit in "123456789")
    ):
        return f"{'<' if value > 0 else '>'}{number[:-1]}1{text[len(number) :]}"
    return text


def default_format(values: Iterable[Any]) -> str:
    """Return a format that suits all values, which have one type; ignores None."""
    known = [v for v in values if v is not None]
    first = known[0] if known else None
    if isinstance(first, bool):
        return ""
    if isinstance(first, int):
        return ",d"
    if isinstance(first, (float, Decimal)):
        return _decimals([abs(float(v)) for v in known])
    if isinstance(first, timedelta):
        return "seconds"
    if isinstance(first, datetime):
        return _times(known)
    return "%Y-%m-%d" if isinstance(first, date) else ""


def _decimals(sizes: Sequence[float]) -> str:
    """Choose decimals for four digits of the largest number, and at least two if needed."""
    finite = [size for size in sizes if math.isfinite(size)]
    largest = max(finite, default=0.0)
    if largest and not 1e-6 < largest < 1e15:
        return ".4g"
    places = max(2, 3 - math.floor(math.log10(largest))) if largest else 0
    texts = [f"{size:.{places}f}".rstrip("0") for size in finite]
    if any(size and not text.strip("0.") for size, text in zip(finite, texts, strict=True)):
        return f",.{places}f"  # numbers that round to zero are shown as "<0.01"
    return f",.{max((len(text.partition('.')[2]) for text in texts), default=0)}f"


def _times(times: Sequence[datetime]) -> str:
    """Choose days, seconds or, for times close together, milliseconds."""
    if not any(t.hour or t.minute or t.second or t.microsecond for t in times):
        return "%Y-%m-%d"
    close = (max(times) - min(times)).total_seconds() < SHORT_SPAN_S
    if close and any(t.microsecond for t in times):
        return _MILLISECONDS
    return "%Y-%m-%d %H:%M:%S"


def _duration(seconds: float) -> str:
    """Format seconds as Slurm does, to the nearest second: 1-02:03:04, 2:03:04, 0:00:07."""
    minutes, second = divmod(round(abs(seconds)), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    clock = f"{hour:02d}:{minute:02d}:{second:02d}" if days else f"{hour}:{minute:02d}:{second:02d}"
    sign = "-" if seconds < 0 and minutes + second > 0 else ""
    return f"{sign}{days}-{clock}" if days else f"{sign}{clock}"


_MILLISECONDS = "milliseconds"
_WORDS: dict[str, Callable[[float], str]] = {
    "duration": _duration,  # seconds as days-hours:minutes:seconds
    "seconds": seconds_in_words,
    "bytes": bytes_in_words,
    "share": share_in_words,
}
_IN_WORDS: Final = {"s": "seconds", "bytes": "bytes"}

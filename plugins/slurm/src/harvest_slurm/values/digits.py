"""Numbers straight from the bytes of a column, in the spellings of nearly all texts of a dump.

Each reader returns the values of the texts of a column, and a mask of the texts it could read. It
never guesses: a text in another spelling is left to the functions of ``scalars``.
"""

from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from harvest_toolkit.spans import Spans, clock_seconds, date_days, strings, unsigned

Ints: TypeAlias = "npt.NDArray[np.int64]"
Floats: TypeAlias = "npt.NDArray[np.float64]"
Flags: TypeAlias = "npt.NDArray[np.bool_]"


def arrow(values: Any, valid: Flags, kind: Any) -> Any:
    """Return an Arrow array of numbers, null where ``valid`` is false."""
    bits = np.packbits(valid, bitorder="little")
    return pa.Array.from_buffers(
        kind, len(values), [pa.py_buffer(bits), pa.py_buffer(np.ascontiguousarray(values))]
    )


def whole(text: Spans) -> tuple[Ints, Flags]:
    """Read whole numbers (``42``)."""
    return unsigned(text.data, text.start, text.end)


def seconds(text: Spans) -> tuple[Floats, Flags]:
    """Read whole numbers of seconds."""
    values, good = whole(text)
    return values.astype(np.float64), good


def moment(text: Spans) -> tuple[Ints, Flags]:
    """Read ``YYYY-MM-DDTHH:MM:SS`` as microseconds since 1970, in UTC."""
    days, good = date_days(text.data, text.end - 19)
    clocks, fine = clock_seconds(text.data, text.end - 8)
    good &= fine & (text.length == 19) & (text.data[text.end - 9] == ord("T"))
    return (days * 86_400 + clocks) * 1_000_000, good


def clock(text: Spans) -> tuple[Floats, Flags]:
    """Read ``HH:MM:SS``, ``D-HH:MM:SS`` and ``MM:SS.mmm`` as seconds."""
    length = text.length
    clocks, good = clock_seconds(text.data, text.end - 8)
    value = clocks.astype(np.float64)
    fine = good & (length == 8)
    days = np.flatnonzero((length > 9) & (length < 17) & good)
    if len(days):
        dash = text.end[days] - 9
        number, dashed = unsigned(text.data, text.start[days], dash)
        value[days] += number * 86_400.0
        fine[days] = dashed & (text.data[dash] == ord("-"))
    short = np.flatnonzero(length == 9)
    if len(short):
        value[short], fine[short] = _thousandths(text.data, text.end[short])
    return value, fine


def _thousandths(data: Any, end: Ints) -> tuple[Floats, Flags]:
    mins, good = unsigned(data, end - 9, end - 7)
    secs, good_seconds = unsigned(data, end - 6, end - 4)
    rest, good_rest = unsigned(data, end - 3, end)
    good &= good_seconds & good_rest & (data[end - 7] == ord(":")) & (data[end - 4] == ord("."))
    # a single division of integers rounds as the decimal text does
    return ((mins * 60 + secs) * 1000 + rest) / 1000.0, good


_SCALE: Final = np.zeros(256, np.int64)
for _power, _unit in enumerate(b"KMGTP", start=1):
    _SCALE[_unit] = 1024**_power


def decimal(text: Spans) -> tuple[Ints, Flags]:
    """Read amounts with up to two decimals and a unit of 1024 (``3244K``, ``10.05M``, ``16``)."""
    data = text.data
    scale = _SCALE[data[text.end - 1]]
    united = (scale > 0) & (text.length > 1)
    scale = np.where(united, scale, 1)
    end = text.end - united
    amount, good = unsigned(data, text.start, end)
    good &= amount.astype(float) * scale < 2.0**62
    amount *= scale
    dotted = np.flatnonzero((data[end - 3] == ord(".")) & (end - text.start > 3))
    if len(dotted):
        tail, size = end[dotted], scale[dotted]
        units, fine = unsigned(data, text.start[dotted], tail - 3)
        part, also = unsigned(data, tail - 2, tail)
        hundredths = units * 100 + part
        fine &= also & (units < 10**12) & (hundredths <= (2**62) // size)
        amount[dotted[fine]] = (hundredths[fine] * size[fine] + 50) // 100
        good[dotted[fine]] = True
    return amount, good


def entries(text: Spans, kind: Any) -> tuple[Any, Flags] | None:
    """Read adjacent texts, lists of ``key=amount`` with commas between them, as maps.

    kind: the type of the maps. None unless every text is such a list or empty.
    """
    full = text.length > 0
    data, bounds = text.data, np.append(text.start, text.end[-1:])
    equals = np.flatnonzero(data == ord("="))
    commas = np.flatnonzero(data == ord(","))
    if not len(bounds):
        return None
    offsets = np.searchsorted(equals, bounds)
    counts = np.diff(offsets)
    separators = np.diff(np.searchsorted(commas, bounds))
    if not (np.where(full, counts - separators == 1, counts + separators == 0)).all():
        return None
    start, end = np.empty(len(equals), np.int64), np.empty(len(equals), np.int64)
    inner = np.ones(len(equals), bool)
    inner[offsets[:-1][full]] = False
    start[inner], start[~inner] = commas + 1, text.start[full]
    inner[:] = True
    inner[offsets[1:][full] - 1] = False
    end[inner], end[~inner] = commas, text.end[full]
    if not ((start < equals) & (equals < end)).all():
        return None
    values, fine = _amounts(Spans(data, equals + 1, end), kind.item_type)
    good = full.copy()
    good[np.repeat(np.arange(len(full)), counts)[~fine]] = False
    maps = pa.MapArray.from_arrays(
        pa.array(offsets.astype(np.int32), mask=np.append(~full, False)),
        strings(Spans(data, start, equals)),
        arrow(values, fine, kind.item_type),
    )
    return maps, good


def _amounts(text: Spans, kind: Any) -> tuple[Any, Flags]:
    values, good = decimal(text)
    found = values if pa.types.is_integer(kind) else values.astype(np.float64)
    if not good.all():
        other = np.flatnonzero(~good)
        seconds, fine = clock(Spans(text.data, text.start[other], text.end[other]))
        found[other[fine]] = seconds[fine]
        good[other[fine]] = True
    return found, good

"""Numbers read straight from the bytes of a text column.

The texts of an Arrow column lie one after the other in one buffer.  Eight bytes of each are
fetched as one 64-bit word, and all digits of a word are checked and added up at once, for all
rows in a handful of numpy operations.  Nothing is guessed: a text that is not exactly of the
shape asked for is left to the caller.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = [
    "FIRST_MONTH",
    "MONTH_DAYS",
    "MONTH_STARTS",
    "PAD",
    "SCALE",
    "Spans",
    "arrow",
    "clock",
    "decimal",
    "moment",
    "pair",
    "pieces",
    "spans",
    "spans_of",
    "unsigned",
    "whole",
]

Words: TypeAlias = "npt.NDArray[np.uint64]"
Ints: TypeAlias = "npt.NDArray[np.int64]"
Flags: TypeAlias = "npt.NDArray[np.bool_]"

PAD: Final = 16
"""Room before the first text and behind the last one of a buffer."""

_ZEROS: Final = np.uint64(0x3030303030303030)
_HIGH: Final = np.uint64(0x8080808080808080)
_OVER: Final = np.uint64(0x7676767676767676)  # added to a digit above 9 it sets the high bit
_LOW: Final = np.uint64(0xFF)
# masks of the last n bytes of a little-endian word, for n from 0 to 8
_LAST: Final = np.array(
    [0, *((2**64 - 1) ^ (2 ** (8 * (8 - n)) - 1) for n in range(1, 9))], np.uint64
)


@attrs.frozen
class Spans:
    """Texts as spans of one buffer.

    data: bytes, with room before the first and behind the last text.
    words: the eight bytes at each place of data, as a little-endian word.
    start, end: where each text begins and ends.
    """

    data: npt.NDArray[np.uint8]
    words: Words
    start: Ints
    end: Ints

    @property
    def length(self) -> Ints:
        """Bytes of each text."""
        return self.end - self.start

    def at(self, place: Ints) -> npt.NDArray[np.uint8]:
        """The byte at a place of each text."""
        return self.data[place]


def spans(column: Any) -> Spans:
    """The texts of an Arrow string column without nulls."""
    count = len(column)
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32, count + 1, column.offset * 4).astype(np.int64)
    first, last = int(ends[0]), int(ends[-1])
    padded = np.zeros(last - first + 2 * PAD, np.uint8)
    if last > first:
        padded[PAD:-PAD] = np.frombuffer(data, np.uint8, last - first, first)
    ends += PAD - first
    return spans_of(padded, ends[:-1], ends[1:])


def spans_of(padded: npt.NDArray[np.uint8], start: Ints, end: Ints) -> Spans:
    """Spans of a buffer that has room at both ends."""
    words = np.ndarray((len(padded) - 7,), "<u8", padded.data, strides=(1,))
    return Spans(padded, words, start, end)


def pieces(data: Any, start: Any, end: Any) -> Any:
    """Texts between places of a buffer, where none begins before the one before it ends."""
    marks = np.empty(2 * len(start) + 1, np.int32)
    marks[0:-1:2], marks[1:-1:2], marks[-1] = start, end, len(data)
    # texts and what lies between them share the buffer; every second one is wanted
    both = pa.Array.from_buffers(
        pa.string(), len(marks) - 1, [None, pa.py_buffer(marks), pa.py_buffer(data)]
    )
    return both.take(pa.array(np.arange(0, len(marks) - 1, 2)))


def whole(text: Spans) -> tuple[Ints, Flags]:
    """Whole numbers of 1 to 16 digits, and which texts are one."""
    return unsigned(text, text.start, text.end)


def unsigned(text: Spans, start: Ints, end: Ints) -> tuple[Ints, Flags]:
    """Whole numbers of 1 to 16 digits between two places of each text, and where they are."""
    length = end - start
    low, good = _eight(text, end, np.minimum(np.maximum(length, 0), 8))
    good &= (length >= 1) & (length <= 16)
    long = np.flatnonzero((length > 8) & good)
    if len(long):
        digits = np.minimum(length[long] - 8, 8)
        high, good_high = _eight(text, end[long] - 8, digits)
        low[long] += high * 100_000_000
        good[long] &= good_high
    return low, good


def _eight(text: Spans, end: Ints, digits: Ints) -> tuple[Ints, Flags]:
    """Numbers of the last ``digits`` (0 to 8) bytes before ``end``."""
    # digits become their values, and the bytes before them 0
    value = (text.words[end - 8] ^ _ZEROS) & _LAST[digits]
    good = ((value + _OVER) | value) & _HIGH == 0
    return _sum(value), good


def _sum(value: Words) -> Ints:
    """The number that eight digits make, the first in the lowest byte."""
    value = value * np.uint64(10) + (value >> np.uint64(8))
    ones = np.uint64(0x000000FF000000FF)
    value = (
        (value & ones) * np.uint64(0x000F424000000064)
        + ((value >> np.uint64(16)) & ones) * np.uint64(0x0000271000000001)
    ) >> np.uint64(32)
    return value.astype(np.int64)


_CLOCK: Final = np.frombuffer(b"00:00:00", "<u8")[0]
_COLONS: Final = np.uint64(0x0000FF0000FF0000)


def _clock_at(text: Spans, place: Ints, pattern: Any) -> tuple[Ints, Ints, Ints, Flags]:
    """Three numbers of two digits with two marks between them, in eight bytes."""
    value = text.words[place] ^ pattern
    good = (((value + _OVER) | value) & _HIGH == 0) & (value & _COLONS == 0)
    tens = value * np.uint64(10) + (value >> np.uint64(8))
    parts = [((tens >> np.uint64(shift)) & _LOW).astype(np.int64) for shift in (0, 24, 48)]
    return parts[0], parts[1], parts[2], good


_DATE: Final = np.frombuffer(b"0000-00-", "<u8")[0]
_DASHES: Final = np.uint64(0xFF0000FF00000000)
# months of the years that are read fast: the day before each begins, and how long it is
FIRST_MONTH: Final = 1900 * 12 + 1
_MONTHS: Final = np.arange("1900-01", "2100-02", dtype="datetime64[M]").astype("datetime64[D]")
MONTH_STARTS: Final = _MONTHS.astype(np.int64)[:-1] - 1
MONTH_DAYS: Final = np.diff(_MONTHS.astype(np.int64))


def moment(text: Spans) -> tuple[Ints, Flags]:
    """Microseconds since 1970 of ``YYYY-MM-DDTHH:MM:SS``, taken as UTC, and where there is one."""
    hours, minutes, seconds, good = _clock_at(text, text.end - 8, _CLOCK)
    good &= text.length == 19
    start = text.end - 19
    np.maximum(start, 0, out=start)
    value = text.words[start] ^ _DATE
    good &= (((value + _OVER) | value) & _HIGH == 0) & (value & _DASHES == 0)
    tens = value * np.uint64(10) + (value >> np.uint64(8))
    century, year, month = (
        ((tens >> np.uint64(shift)) & _LOW).astype(np.int64) for shift in (0, 16, 40)
    )
    high = text.at(start + 8).astype(np.int64) - ord("0")
    low = text.at(start + 9).astype(np.int64) - ord("0")
    good &= (high >= 0) & (high <= 3) & (low >= 0) & (low <= 9)
    good &= text.at(start + 10) == ord("T")
    day = high * 10 + low
    months = (century * 100 + year) * 12 + month - FIRST_MONTH
    good &= (month >= 1) & (month <= 12) & (months >= 0) & (months < len(MONTH_DAYS))
    good &= (hours < 24) & (minutes < 60) & (seconds < 60)
    np.minimum(np.maximum(months, 0, out=months), len(MONTH_DAYS) - 1, out=months)
    good &= (day >= 1) & (day <= MONTH_DAYS[months])
    total = (MONTH_STARTS[months] + day) * 86_400 + hours * 3600 + minutes * 60 + seconds
    return total * 1_000_000, good


def pair(text: Spans) -> tuple[Ints, Ints, Flags]:
    """Two numbers with a colon between them, the first of one digit (``0:15``)."""
    first = text.at(text.start).astype(np.int64) - ord("0")
    second, good = unsigned(text, text.start + 2, text.end)
    good &= (first >= 0) & (first <= 9) & (text.at(text.start + 1) == ord(":"))
    return first, second, good & (text.length > 2)


_SHORT: Final = np.frombuffer(b"00:00.00", "<u8")[0]


def clock(text: Spans) -> tuple[npt.NDArray[np.float64], Flags]:
    """Seconds of ``HH:MM:SS``, ``D-HH:MM:SS`` and ``MM:SS.mmm``, and where there is one."""
    length = text.length
    hours, minutes, seconds, good = _clock_at(text, text.end - 8, _CLOCK)
    value = (hours * 3600 + minutes * 60 + seconds).astype(np.float64)
    fine = good & (length == 8)
    days = np.flatnonzero((length > 9) & (length < 17) & good)
    if len(days):
        dash = text.end[days] - 9
        number, whole = unsigned(text, text.start[days], dash)
        whole &= text.at(dash) == ord("-")
        value[days] += number * 86_400.0
        fine[days] = whole
    short = length == 9
    if short.any():
        minutes, seconds, hundredths, good = _clock_at(text, text.end - 9, _SHORT)
        last = text.at(text.end - 1).astype(np.int64) - ord("0")
        good &= short & (last >= 0) & (last <= 9)
        # one division of whole numbers rounds as the decimal text does
        total = (minutes * 60 + seconds) * 1000 + hundredths * 10 + last
        value = np.where(good, total / 1000.0, value)
        fine |= good
    return value, fine


SCALE: Final = np.zeros(256, np.int64)
for _power, _unit in enumerate("KMGTP", start=1):
    SCALE[ord(_unit)] = 1024**_power


def decimal(text: Spans) -> tuple[Ints, Flags]:
    """Amounts with up to two decimals and a unit of 1024 (``3244K``, ``10.05M``, ``16``)."""
    scale = SCALE[text.at(text.end - 1)]
    united = (scale > 0) & (text.length > 1)
    scale = np.where(united, scale, 1)
    end = text.end - united
    amount, good = unsigned(text, text.start, end)
    good &= amount.astype(float) * scale < 2.0**62
    amount *= scale
    dotted = np.flatnonzero((text.at(end - 3) == ord(".")) & (end - text.start > 3))
    if len(dotted):
        tail, size = end[dotted], scale[dotted]
        whole, fine = unsigned(text, text.start[dotted], tail - 3)
        part, also = unsigned(text, tail - 2, tail)
        hundredths = whole * 100 + part
        fine &= also & (whole < 10**12) & (hundredths <= (2**62) // size)
        amount[dotted[fine]] = (hundredths[fine] * size[fine] + 50) // 100
        good[dotted[fine]] = True
    return amount, good


def arrow(values: Any, valid: Flags, kind: Any) -> Any:
    """An Arrow array of numbers, null where ``valid`` is false."""
    bits = np.packbits(valid, bitorder="little")
    return pa.Array.from_buffers(
        kind, len(values), [pa.py_buffer(bits), pa.py_buffer(np.ascontiguousarray(values))]
    )

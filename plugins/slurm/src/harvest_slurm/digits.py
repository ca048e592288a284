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

__all__ = ["Spans", "arrow", "clock", "decimal", "spans", "unsigned"]

Words: TypeAlias = "npt.NDArray[np.uint64]"
Ints: TypeAlias = "npt.NDArray[np.int64]"
Flags: TypeAlias = "npt.NDArray[np.bool_]"

_PAD: Final = 16

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
    padded = np.zeros(last - first + 2 * _PAD, np.uint8)
    if last > first:
        padded[_PAD:-_PAD] = np.frombuffer(data, np.uint8, last - first, first)
    ends += _PAD - first
    return spans_of(padded, ends[:-1], ends[1:])


def spans_of(padded: npt.NDArray[np.uint8], start: Ints, end: Ints) -> Spans:
    """Spans of a buffer that has room at both ends."""
    words = np.ndarray((len(padded) - 7,), "<u8", padded.data, strides=(1,))
    return Spans(padded, words, start, end)


def unsigned(text: Spans, start: Ints, end: Ints) -> tuple[Ints, Flags]:
    """Whole numbers of 1 to 16 digits between two places of each text, and where they are."""
    length = end - start
    low, good_low = _eight(text, end, np.clip(length, 0, 8))
    good = (length >= 1) & (length <= 16) & good_low
    if (length > 8).any():
        high, good_high = _eight(text, end - 8, np.clip(length - 8, 0, 8))
        return low + high * 100_000_000, good & good_high
    return low, good


def _eight(text: Spans, end: Ints, digits: Ints) -> tuple[Ints, Flags]:
    """Numbers of the last ``digits`` (0 to 8) bytes before ``end``."""
    mask = _LAST[digits]
    places = np.maximum(end - 8, 0)
    value = ((text.words[places] & mask) | (_ZEROS & ~mask)) ^ _ZEROS
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
    value = text.words[np.clip(place, 0, len(text.words) - 1)] ^ pattern
    good = (((value + _OVER) | value) & _HIGH == 0) & (value & _COLONS == 0)
    tens = value * np.uint64(10) + (value >> np.uint64(8))
    parts = [((tens >> np.uint64(shift)) & _LOW).astype(np.int64) for shift in (0, 24, 48)]
    return parts[0], parts[1], parts[2], good


_SHORT: Final = np.frombuffer(b"00:00.00", "<u8")[0]


def clock(text: Spans) -> tuple[npt.NDArray[np.float64], Flags]:
    """Seconds of ``HH:MM:SS``, ``D-HH:MM:SS`` and ``MM:SS.mmm``, and where there is one."""
    length = text.length
    hours, minutes, seconds, good = _clock_at(text, text.end - 8, _CLOCK)
    value = (hours * 3600 + minutes * 60 + seconds).astype(np.float64)
    fine = good & (length == 8)
    days = (length > 9) & (length < 17)
    if days.any():
        number, whole = unsigned(text, text.start, np.maximum(text.end - 9, text.start))
        dashed = text.at(np.maximum(text.end - 9, 0)) == ord("-")
        with_days = days & good & whole & dashed
        value = np.where(with_days, value + number * 86_400.0, value)
        fine |= with_days
    short = length == 9
    if short.any():
        minutes, seconds, hundredths, good = _clock_at(text, text.start, _SHORT)
        last = text.at(np.minimum(text.start + 8, len(text.data) - 1)).astype(np.int64) - ord("0")
        good &= short & (last >= 0) & (last <= 9)
        # one division of whole numbers rounds as the decimal text does
        total = (minutes * 60 + seconds) * 1000 + hundredths * 10 + last
        value = np.where(good, total / 1000.0, value)
        fine |= good
    return value, fine


_SCALE: Final = np.zeros(256, np.int64)
for _power, _unit in enumerate("KMGTP", start=1):
    _SCALE[ord(_unit)] = 1024**_power


def decimal(text: Spans) -> tuple[Ints, Flags]:
    """Amounts with up to two decimals and a unit of 1024 (``3244K``, ``10.05M``, ``16``)."""
    last = text.at(np.maximum(text.end - 1, 0))
    scale = _SCALE[last]
    united = (scale > 0) & (text.length > 1)
    scale = np.where(united, scale, 1)
    end = text.end - united
    value, good = unsigned(text, text.start, end)
    good &= value <= (2**62) // scale
    amount = np.where(good, value, 0) * scale
    dotted = (text.at(np.maximum(end - 3, 0)) == ord(".")) & (end - text.start > 3)
    if dotted.any():
        whole, fine = unsigned(text, text.start, np.maximum(end - 3, text.start))
        part, also = unsigned(text, end - 2, end)
        hundredths = whole * 100 + part
        fine &= also & dotted & (whole < 10**12)
        fine &= hundredths <= (2**62) // scale
        exact = (np.where(fine, hundredths, 0) * scale + 50) // 100
        amount = np.where(fine, exact, amount)
        good |= fine
    return amount, good


def arrow(values: Any, valid: Flags, kind: Any) -> Any:
    """An Arrow array of numbers, null where ``valid`` is false."""
    bits = np.packbits(valid, bitorder="little")
    return pa.Array.from_buffers(
        kind, len(values), [pa.py_buffer(bits), pa.py_buffer(np.ascontiguousarray(values))]
    )

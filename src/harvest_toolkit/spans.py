"""Numbers and times straight from bytes, for many texts together, with numpy.

Texts lie in one buffer; a ``Spans`` says where each begins and ends.  Eight bytes of each are
fetched as one 64-bit word, whose digits are checked and added up together.  Every function gives
values and where they hold; a text of another form is left to the caller, who reads it slowly or
rejects it::

    texts = spans(column)
    values, good = unsigned(texts.data, texts.start, texts.end)
    odd = np.flatnonzero(~good)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs
import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = [
    "PAD", "Spans", "bytes_before", "clock_seconds", "date_days", "days_since_1970",
    "digit_pairs", "digits_in", "epoch_microseconds", "leading_digits", "long_clock_seconds",
    "padded", "places", "spans", "strings", "unsigned", "word_at",
]  # fmt: skip

Bytes: TypeAlias = "npt.NDArray[np.uint8]"
Words: TypeAlias = "npt.NDArray[np.uint64]"
Ints: TypeAlias = "npt.NDArray[np.signedinteger]"
Flags: TypeAlias = "npt.NDArray[np.bool_]"

PAD: Final = 32
"""Zeros before the first text and behind the last one of a buffer."""

_PIECE: Final = 256 * 1024
"""Bytes that are searched at a time: what is found out about each stays in a processor's cache."""

_ONES: Final = 0x0101010101010101
_ZEROS: Final = np.uint64(ord("0") * _ONES)
_HIGH: Final = np.uint64(0x80 * _ONES)
_OVER: Final = np.uint64(0x76 * _ONES)  # added to a digit above 9 it sets the high bit
_LOW: Final = np.uint64(0xFF)
# masks of the last n bytes of a little-endian word, for n from 0 to 8
_LAST: Final = np.array([2**64 - 2 ** (8 * (8 - n)) for n in range(9)], np.uint64)
_TENS: Final = 10 ** np.arange(19, dtype=np.int64)

_FIRST_MONTH: Final = 1900 * 12 + 1
_MONTHS: Final = np.arange("1900-01", "2100-02", dtype="datetime64[M]").astype("datetime64[D]")
_MONTH_STARTS: Final = _MONTHS.astype(np.int64)[:-1] - 1
_MONTH_DAYS: Final = np.diff(_MONTHS.astype(np.int64))


@attrs.frozen
class Spans:
    """Texts in one buffer.

    data: bytes, with ``PAD`` of them before the first and behind the last text.
    start, end: where each text begins and ends.
    """

    data: Bytes
    start: Ints
    end: Ints

    @property
    def length(self) -> Ints:
        """Bytes of each text."""
        return self.end - self.start

    def raw(self, index: int) -> bytes:
        """The bytes of one text."""
        return self.data[self.start[index] : self.end[index]].tobytes()

    def only(self, keep: Flags) -> Spans:
        """These texts, empty where ``keep`` is false."""
        return Spans(self.data, self.start, np.where(keep, self.end, self.start))


def padded(data: bytes | memoryview) -> Bytes:
    """A copy of some bytes with ``PAD`` zeros at both ends."""
    room = np.zeros(len(data) + 2 * PAD, np.uint8)
    room[PAD : PAD + len(data)] = np.frombuffer(data, np.uint8)
    return room


def spans(column: Any) -> Spans:
    """The texts of an Arrow string column; a null is empty."""
    count = len(column)
    _, offsets, data = column.buffers()
    if not count or data is None:
        return Spans(padded(b""), np.full(count, PAD), np.full(count, PAD))
    ends = np.frombuffer(offsets, np.int32, count + 1, column.offset * 4).astype(np.int64)
    first, last = int(ends[0]), int(ends[-1])
    room = padded(memoryview(data)[first:last])
    ends += PAD - first
    return Spans(room, ends[:-1], ends[1:])


def places(data: Bytes, signs: bytes) -> Ints:
    """Where a byte is one of some signs, in order."""
    found = []
    for start in range(0, len(data), _PIECE):
        piece = data[start : start + _PIECE]
        hit = piece == signs[0]
        for sign in signs[1:]:
            hit |= piece == sign
        found.append(np.flatnonzero(hit) + start)
    return np.concatenate(found)


def strings(texts: Spans, there: Flags | None = None) -> pa.Array:
    """Texts as an Arrow column of strings; they must be UTF-8, and lie in the order of the buffer.

    there: where there is one; null elsewhere.
    """
    count = len(texts.start)
    # each text is followed by what lies between it and the next one
    offsets = np.empty(2 * count + 1, np.int32)
    offsets[0:-1:2], offsets[1::2], offsets[-1] = texts.start, texts.end, texts.end[-1:].sum()
    pieces = pa.StringArray.from_buffers(2 * count, pa.py_buffer(offsets), pa.py_buffer(texts.data))
    absent = None if there is None else ~there
    return pieces.take(pa.array(np.arange(0, 2 * count, 2), mask=absent))


def word_at(data: Bytes, place: Ints) -> Words:
    """The eight bytes from each place on, as a number whose lowest byte is the first."""
    words: Words = np.ndarray((len(data) - 7,), "<u8", data.data, strides=(1,))[place]
    return words


def unsigned(data: Bytes, start: Ints, end: Ints) -> tuple[Ints, Flags]:
    """Whole numbers of 1 to 18 digits between two places, and where there is one.

    Digits alone: no sign, no blanks.  Elsewhere the value means nothing.
    """
    length = end - start
    value, good = _last_digits(data, end, np.clip(length, 0, 8))
    good &= (length >= 1) & (length <= 18)
    for done in (8, 16):
        longer = np.flatnonzero(good & (length > done))
        if not len(longer):
            break
        more, fine = _last_digits(data, end[longer] - done, np.minimum(length[longer] - done, 8))
        value[longer] += more * _TENS[done]
        good[longer] = fine
    return value, good


def _last_digits(data: Bytes, end: Ints, count: Ints) -> tuple[Ints, Flags]:
    """Numbers of the last ``count`` (0 to 8) bytes before ``end``, and where these are digits."""
    # digits become their values, and the bytes before them 0
    word = (word_at(data, end - 8) ^ _ZEROS) & _LAST[count]
    return _sum(word), ((word + _OVER) | word) & _HIGH == 0


def _sum(digits: Words) -> Ints:
    """The number that eight digits make, the first in the lowest byte."""
    pairs = digits * np.uint64(10) + (digits >> np.uint64(8))
    ones = np.uint64(0x000000FF000000FF)
    odd = (pairs & ones) * np.uint64(0x000F424000000064)
    even = ((pairs >> np.uint64(16)) & ones) * np.uint64(0x0000271000000001)
    return ((odd + even) >> np.uint64(32)).view(np.int64)


def _number(words: Words) -> tuple[Ints, Ints]:
    """The number that the digits at the beginning of eight bytes make, and how many they are."""
    words = words ^ _ZEROS
    count = bytes_before(((words + _OVER) | words) & _HIGH)
    # the last digit becomes the highest byte, and those before the first are zeros
    words <<= ((8 - count) * 8).astype(np.uint64)
    value = _sum(words)
    value[count == 0] = 0
    return value, count


def leading_digits(data: Bytes, place: Ints) -> tuple[Ints, Ints]:
    """Numbers that begin at places and end where their digits do, and how many digits they have.

    0 digits, or more than 18, have no value.
    """
    return digits_in(lambda done, some: word_at(data, place[some] + done))


def digits_in(words: Callable[[int, Any], Words]) -> tuple[Ints, Ints]:
    """Numbers that texts begin with, and how many digits they have, as of ``leading_digits``.

    words: gives eight bytes of some texts, behind so many of each.
    """
    value, count = _number(words(0, slice(None)))
    for done in (8, 16):
        longer = np.flatnonzero(count == done)
        if not len(longer):
            break
        more, digits = _number(words(done, longer))
        few = digits <= 18 - done
        value[longer[few]] = value[longer[few]] * _TENS[digits[few]] + more[few]
        count[longer] += digits
    return value, count


def bytes_before(marks: Words) -> Ints:
    """How many of eight bytes stand before the first whose high bit is set; 8 without any."""
    lowest = marks & (~marks + np.uint64(1))
    count: Ints = (np.bitwise_count(lowest - np.uint64(1)) >> 3).astype(np.int64)
    return count


def digit_pairs(words: Words, form: bytes) -> tuple[list[Ints], Flags]:
    """Numbers of two digits among eight bytes of a form such as ``dd:dd:dd``.

    form: eight bytes; a zero byte may be anything.  Gives each number, and where the form holds.
    """
    digits = sum(0xFF << 8 * at for at, byte in enumerate(form) if byte == ord("d"))
    asked = sum(0xFF << 8 * at for at, byte in enumerate(form) if byte)
    zeros = int.from_bytes(form.replace(b"d", b"0"), "little")
    word = (words ^ np.uint64(zeros)) & np.uint64(asked)
    good = (((word + _OVER) | word) & _HIGH == 0) & (word & np.uint64(asked & ~digits) == 0)
    tens = word * np.uint64(10) + (word >> np.uint64(8))
    starts = [found.start() for found in re.finditer(b"dd", form)]
    return [((tens >> np.uint64(8 * at)) & _LOW).view(np.int64) for at in starts], good


def date_days(data: Bytes, place: Ints) -> tuple[Ints, Flags]:
    """Days since 1970 of ``YYYY-MM-DD`` at places, and where there is such a date.

    Years are 1900 to 2099.
    """
    (century, year, month), good = digit_pairs(word_at(data, place), b"dddd-dd-")
    (day,), fine = digit_pairs(word_at(data, place + 8), b"dd\0\0\0\0\0\0")
    days, there = days_since_1970(century * 100 + year, month, day)
    return days, good & fine & there


def days_since_1970(year: Ints, month: Ints, day: Ints) -> tuple[Ints, Flags]:
    """Days since 1970 of dates, and where there is such a date; years are 1900 to 2099."""
    months = year * 12 + month - _FIRST_MONTH
    good = (month >= 1) & (month <= 12) & (months >= 0) & (months < len(_MONTH_DAYS))
    good &= (day >= 1) & (day <= _MONTH_DAYS.take(months, mode="clip"))
    return _MONTH_STARTS.take(months, mode="clip") + day, good


def clock_seconds(data: Bytes, place: Ints) -> tuple[Ints, Flags]:
    """Seconds of ``HH:MM:SS`` at places, up to 23:59:59, and where there is such a time."""
    (hours, minutes, seconds), good = digit_pairs(word_at(data, place), b"dd:dd:dd")
    good &= (hours < 24) & (minutes < 60) & (seconds < 60)
    return hours * 3600 + minutes * 60 + seconds, good


def long_clock_seconds(texts: Spans) -> tuple[Ints, Flags]:
    """Seconds of ``HH:MM:SS`` with 1 to 9 digits of hours, and where there is such a duration."""
    tail = texts.end - 6
    hours, good = unsigned(texts.data, texts.start, tail)
    (minutes, seconds), fine = digit_pairs(word_at(texts.data, texts.end - 8), b"\0\0:dd:dd")
    good &= fine & (tail - texts.start <= 9) & (minutes < 60) & (seconds < 60)
    return np.where(good, hours * 3600 + minutes * 60 + seconds, 0), good


def epoch_microseconds(texts: Spans) -> tuple[Ints, Flags]:
    """Microseconds since 1970 of ``1713553304.3746524``, to the nearest, and where there is one.

    The form is ten digits (2001 to 2286), a point, and 1 to 9 digits.  A half is rounded to even.
    Read as decimal, since a float64 near today is exact to a quarter of a microsecond only.
    """
    point = texts.start + 10
    digits = texts.end - point - 1
    usual = (digits >= 1) & (digits <= 9)
    point = np.where(usual, point, PAD)
    end = np.where(usual, texts.end, PAD)
    seconds, good = unsigned(texts.data, point - 10, point)
    fraction, fine = unsigned(texts.data, point + 1, end)
    good &= fine & usual & (texts.data[point] == ord("."))
    nanos = fraction * _TENS[np.where(usual, 9 - digits, 0)]
    micros, rest = nanos // 1000, nanos % 1000
    micros += (rest > 500) | ((rest == 500) & (micros % 2 == 1))
    return np.where(good, seconds * 1_000_000 + micros, 0), good

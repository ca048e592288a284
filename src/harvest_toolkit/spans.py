"""Parse numbers and times of many texts together, from bytes with numpy.

Texts are in one buffer; ``Spans`` holds where each begins and ends.  Eight bytes of a text are one
64-bit word, whose digits are checked and summed together.  Every function returns values and a
mask of the valid ones; the caller reads the other texts slowly or rejects them::

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
"""Zero bytes before the first text and behind the last text of a buffer."""

_PIECE: Final = 256 * 1024
"""Bytes searched at a time, so that intermediate arrays stay in the processor's cache."""

_ONES: Final = 0x0101010101010101
_ZEROS: Final = np.uint64(ord("0") * _ONES)
_HIGH: Final = np.uint64(0x80 * _ONES)
_OVER: Final = np.uint64(0x76 * _ONES)  # adding it to a value above 9 sets the high bit
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

    data: bytes, with ``PAD`` zeros before the first text and behind the last one.
    start, end: where each text begins and ends.
    """

    data: Bytes
    start: Ints
    end: Ints

    @property
    def length(self) -> Ints:
        """Length of each text in bytes."""
        return self.end - self.start

    def raw(self, index: int) -> bytes:
        """Return the bytes of one text."""
        return self.data[self.start[index] : self.end[index]].tobytes()

    def only(self, keep: Flags) -> Spans:
        """Return the texts, with an empty one wherever ``keep`` is false."""
        return Spans(self.data, self.start, np.where(keep, self.end, self.start))


def padded(data: bytes | memoryview) -> Bytes:
    """Copy bytes, with ``PAD`` zeros at both ends."""
    room = np.zeros(len(data) + 2 * PAD, np.uint8)
    room[PAD : PAD + len(data)] = np.frombuffer(data, np.uint8)
    return room


def spans(column: Any) -> Spans:
    """Return the texts of an Arrow string column; a null is empty."""
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
    """Return the places of all bytes that are in ``signs``, in order."""
    found = []
    for start in range(0, len(data), _PIECE):
        piece = data[start : start + _PIECE]
        hit = piece == signs[0]
        for sign in signs[1:]:
            hit |= piece == sign
        found.append(np.flatnonzero(hit) + start)
    return np.concatenate(found)


def strings(texts: Spans, there: Flags | None = None) -> pa.Array:
    """Make an Arrow string column of texts, which must be UTF-8.

    there: where it is false, the string is null.
    """
    count = len(texts.start)
    place = np.arange(0, 2 * count, 2)
    if (texts.start[1:] < texts.start[:-1]).any():
        order = np.lexsort((texts.end, texts.start))
        texts, place[order] = Spans(texts.data, texts.start[order], texts.end[order]), place.copy()
    # strings 0, 2, 4, ... are the texts; 1, 3, ... the bytes between them
    offsets = np.empty(2 * count + 1, np.int32)
    offsets[0:-1:2], offsets[1::2], offsets[-1] = texts.start, texts.end, texts.end[-1:].sum()
    pieces = pa.StringArray.from_buffers(2 * count, pa.py_buffer(offsets), pa.py_buffer(texts.data))
    absent = None if there is None else ~there
    return pieces.take(pa.array(place, mask=absent))


def word_at(data: Bytes, place: Ints) -> Words:
    """Return the eight bytes at each place as a little-endian number."""
    words: Words = np.ndarray((len(data) - 7,), "<u8", data.data, strides=(1,))[place]
    return words


def unsigned(data: Bytes, start: Ints, end: Ints) -> tuple[Ints, Flags]:
    """Parse whole numbers of 1 to 18 digits; return values and where they are valid.

    Only digits are valid: no sign, no blanks.  An invalid value has no meaning.
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
    """Parse the last ``count`` (0 to 8) bytes before ``end``; also return which are all digits."""
    # digits become their values, and the bytes before them become 0
    word = (word_at(data, end - 8) ^ _ZEROS) & _LAST[count]
    return _sum(word), ((word + _OVER) | word) & _HIGH == 0


def _sum(digits: Words) -> Ints:
    """Return the number of eight digit values, the first in the lowest byte."""
    pairs = digits * np.uint64(10) + (digits >> np.uint64(8))
    ones = np.uint64(0x000000FF000000FF)
    odd = (pairs & ones) * np.uint64(0x000F424000000064)
    even = ((pairs >> np.uint64(16)) & ones) * np.uint64(0x0000271000000001)
    return ((odd + even) >> np.uint64(32)).view(np.int64)


def _number(words: Words) -> tuple[Ints, Ints]:
    """Return the number that the leading digits of eight bytes make, and their count."""
    words = words ^ _ZEROS
    count = bytes_before(((words + _OVER) | words) & _HIGH)
    # shift the last digit into the highest byte; zeros come before the first digit
    words <<= ((8 - count) * 8).astype(np.uint64)
    value = _sum(words)
    value[count == 0] = 0
    return value, count


def leading_digits(data: Bytes, place: Ints) -> tuple[Ints, Ints]:
    """Parse the digits from each place on; return the numbers and their counts of digits.

    A number of 0 or more than 18 digits has no valid value.
    """
    return digits_in(lambda done, some: word_at(data, place[some] + done))


def digits_in(words: Callable[[int, Any], Words]) -> tuple[Ints, Ints]:
    """Parse the leading digits of texts, as ``leading_digits`` does.

    words: returns eight bytes of each selected text, from the given offset on.
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
    """Count the bytes before the first byte whose high bit is set; 8 when there is none."""
    lowest = marks & (~marks + np.uint64(1))
    count: Ints = (np.bitwise_count(lowest - np.uint64(1)) >> 3).astype(np.int64)
    return count


def digit_pairs(words: Words, form: bytes) -> tuple[list[Ints], Flags]:
    """Parse the two-digit numbers in eight bytes of a form such as ``dd:dd:dd``.

    form: eight bytes, of which a zero byte matches anything.  Returns each number, and the mask
    of words that have the form.
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
    """Parse ``YYYY-MM-DD`` at places; return days since 1970 and the mask of valid dates.

    Years are 1900 to 2099.
    """
    (century, year, month), good = digit_pairs(word_at(data, place), b"dddd-dd-")
    (day,), fine = digit_pairs(word_at(data, place + 8), b"dd\0\0\0\0\0\0")
    days, there = days_since_1970(century * 100 + year, month, day)
    return days, good & fine & there


def days_since_1970(year: Ints, month: Ints, day: Ints) -> tuple[Ints, Flags]:
    """Return days since 1970 and the mask of valid dates; years are 1900 to 2099."""
    months = year * 12 + month - _FIRST_MONTH
    good = (month >= 1) & (month <= 12) & (months >= 0) & (months < len(_MONTH_DAYS))
    good &= (day >= 1) & (day <= _MONTH_DAYS.take(months, mode="clip"))
    return _MONTH_STARTS.take(months, mode="clip") + day, good


def clock_seconds(data: Bytes, place: Ints) -> tuple[Ints, Flags]:
    """Parse ``HH:MM:SS`` up to 23:59:59 at places; return seconds and the mask of valid times."""
    (hours, minutes, seconds), good = digit_pairs(word_at(data, place), b"dd:dd:dd")
    good &= (hours < 24) & (minutes < 60) & (seconds < 60)
    return hours * 3600 + minutes * 60 + seconds, good


def long_clock_seconds(texts: Spans) -> tuple[Ints, Flags]:
    """Parse ``HH:MM:SS`` with 1 to 9 digits of hours; return seconds and the mask of valid ones."""
    tail = texts.end - 6
    hours, good = unsigned(texts.data, texts.start, tail)
    (minutes, seconds), fine = digit_pairs(word_at(texts.data, texts.end - 8), b"\0\0:dd:dd")
    good &= fine & (tail - texts.start <= 9) & (minutes < 60) & (seconds < 60)
    return np.where(good, hours * 3600 + minutes * 60 + seconds, 0), good


def epoch_microseconds(texts: Spans) -> tuple[Ints, Flags]:
    """Parse ``1713553304.3746524``; return rounded microseconds since 1970 and the valid ones.

    The form is ten digits (2001 to 2286), a point, and 1 to 9 digits.  Halves round to even.
    Parsed as decimal, because a float64 near today is exact to a quarter of a microsecond only.
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

"""Parsing values and names of many lines together, directly from their bytes, with numpy.

Eight bytes of each line form one little-endian 64-bit word, so that they are tested and converted
together. A line with a malformed value is left to the reference parser. Escapes in names are
decoded, and bytes that are not UTF-8 are shown as ``\\xNN``.
"""

from __future__ import annotations

from typing import Any, Final

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from harvest_toolkit.spans import bytes_before, days_since_1970, digit_pairs, digits_in

from .reference import shown

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

DIGITS: Final = 24
"""Number of bytes that are searched for a number and its end."""

_ONES: Final = np.uint64(0x0101010101010101)
_HIGH: Final = np.uint64(0x80) * _ONES

HEX: Final = np.full(256, 255, np.uint8)
"""Value of each hexadecimal digit; 255 for any other byte."""
HEX[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)
HEX[np.frombuffer(b"ABCDEF", np.uint8)] = np.arange(10, 16)


@attrs.frozen
class Bytes:
    """A buffer of lines, followed by zeros."""

    data: Any

    def ahead(self, place: Ints, size: int) -> Ahead:
        """Return ``size`` bytes from each position."""
        every = np.ndarray((len(self.data) - size + 1,), f"V{size}", self.data, strides=(1,))
        return Ahead(every[place].view(np.uint8).reshape(-1, size))

    def stands(self, literal: bytes, place: Ints) -> Flags:
        return self.ahead(place, max(8, len(literal))).stands(literal)

    def digits(self, place: Ints) -> tuple[Ints, Ints]:
        return self.ahead(place, DIGITS).digits(0)

    def until(self, place: Ints, mark: int) -> Ints:
        """Find the next occurrence of a byte from each position, or the end of the line."""
        step = self._until(place, mark)
        place = place + step
        every = np.flatnonzero(step == 8)
        while every.size:
            step = self._until(place[every], mark)
            place[every] += step
            every = every[step == 8]
        return place

    def _until(self, place: Ints, mark: int) -> Ints:
        """Count the bytes, up to eight, before a mark or the end of the line."""
        word = self.ahead(place, 8).word(0)
        pattern, end = np.uint64(mark) * _ONES, np.uint64(10) * _ONES
        return bytes_before(_zero_bytes(word ^ pattern) | _zero_bytes(word ^ end))

    def text(self, place: Ints, literal: bytes) -> tuple[Ints, Flags]:
        """Find the next occurrence of a literal from each position, and flag where it was found."""
        end = self.until(place, literal[0])
        found = self.stands(literal, end)
        for _ in range(64):
            others = np.flatnonzero(~found & (self.data[end] == literal[0]))
            if not others.size:
                break
            end[others] = self.until(end[others] + 1, literal[0])
            found[others] = self.stands(literal, end[others])
        return end, found


@attrs.frozen
class Ahead:
    """Bytes of each line from some position, fetched together.

    Fetching many bytes costs hardly more than fetching one, and far more than computing with them.

    rows: the bytes, a row for each line; positions in methods are relative to the first column.
    """

    rows: Any

    def byte(self, at: int) -> Any:
        return self.rows[:, at]

    def word(self, at: int) -> Any:
        return self.rows[:, at : at + 8].view("<u8")[:, 0].copy()

    def stands(self, literal: bytes, at: int = 0) -> Flags:
        size = len(literal)
        if size < 8:
            unasked = np.uint64(8 * (8 - size))
            wanted = np.uint64(int.from_bytes(literal, "little")) << unasked
            return self.word(at) << unasked == wanted if size else np.ones(len(self.rows), bool)
        found = np.ones(len(self.rows), bool)
        for place in (*range(0, size - 8, 8), size - 8):  # the last word overlaps the previous one
            wanted = np.uint64(int.from_bytes(literal[place : place + 8], "little"))
            found &= self.word(at + place) == wanted
        return found

    def digits(self, at: int) -> tuple[Ints, Ints]:
        """Parse numbers of up to 18 digits; also return digit counts: 0 or above 18 if invalid."""
        return digits_in(lambda done, some: self.word(at + done)[some])

    def hexadecimal(self, at: int) -> tuple[Any, Ints]:
        """Parse numbers of up to 16 hexadecimal digits; also return digit counts, at most 17."""
        value = np.zeros(len(self.rows), np.uint64)
        count = np.zeros(len(self.rows), np.int64)
        running = np.ones(len(self.rows), bool)
        for place in range(at, at + 17):
            digit = HEX[self.byte(place)]
            running &= digit < 16
            if not running.any():
                break
            value[running] = (value[running] << np.uint64(4)) | digit[running]
            count += running
        return value, count

    def time(self, at: int, *, escaped: bool) -> tuple[Ints, Ints, Flags]:
        """Parse ``2026-01-31 12:00:00[.123456]`` to microseconds, lengths in bytes and validity."""
        (century, year, month), good = digit_pairs(self.word(at), b"dddd-dd-")
        if escaped:
            (day, hour), fine = digit_pairs(self.word(at + 8), b"dd%20dd%")
            (minute, second), also = digit_pairs(self.word(at + 18), b"dd%3Add\0")
            fine &= also & self.stands(b"3A", at + 16)
            size = 25
        else:
            (day,), fine = digit_pairs(self.word(at + 8), b"dd \0\0\0\0\0")
            (hour, minute, second), also = digit_pairs(self.word(at + 11), b"dd:dd:dd")
            fine &= also
            size = 19
        days, also = days_since_1970(century * 100 + year, month, day)
        good &= fine & also & (hour < 24) & (minute < 60) & (second < 60)
        value = days * 86_400 + hour * 3600 + minute * 60 + second
        value *= 1_000_000
        dotted = self.byte(at + size) == ord(".")
        if dotted.any():
            (high, middle, low), fine = digit_pairs(self.word(at + size - 1), b"\0.dddddd")
            good &= fine | ~dotted
            value += np.where(dotted, high * 10_000 + middle * 100 + low, 0)
        return value, size + dotted * 7, good


def _zero_bytes(word: Any) -> Any:
    """Set the high bit of each zero byte; only the lowest such bit is reliable."""
    return (word - _ONES) & ~word & _HIGH


def spans(data: Any, start: Ints, stop: Ints) -> pa.Array:
    """Build an array from pieces of a buffer, which must be in order and not overlap."""
    marks = np.empty(2 * len(start) + 1, np.int32)
    marks[0:-1:2], marks[1:-1:2], marks[-1] = start, stop, len(data)
    # pieces and the gaps between them share the buffer; take every second one
    both = pa.Array.from_buffers(
        pa.binary(), len(marks) - 1, [None, pa.py_buffer(marks), pa.py_buffer(data)]
    )
    return both.take(pa.array(np.arange(0, 2 * len(start), 2)))


def flags(values: pa.Array) -> Flags:
    """Convert an Arrow array of booleans to numpy."""
    found: Flags = values.to_numpy(zero_copy_only=False)
    return found


def unescaped(data: Any, start: Ints, stop: Ints, escape: bytes) -> tuple[pa.Array, Flags]:
    """Decode escaped names, and flag the damaged ones, whose result is invalid.

    Names are pieces of a buffer, each followed by at least one more byte.
    escape: the byte that starts an escape: ``%``, a backslash, or empty for none.
    """
    if escape == b"%":
        return _percent(data, start, stop)
    names = spans(data, start, stop)
    damaged = flags(pc.match_substring(names, b"\0"))
    if not escape:
        return names, damaged
    some = np.flatnonzero(flags(pc.match_substring(names, b"\\")) & ~damaged)
    if not len(some):
        return names, damaged
    # replace pairs of backslashes first, so that the next byte is not read as an escape
    part = pc.replace_substring(names.take(pa.array(some)), b"\\\\", b"\0")
    part = pc.replace_substring(part, b"\\n", b"\n")
    damaged[some] = flags(pc.match_substring(part, b"\\"))
    return replaced(names, some, pc.replace_substring(part, b"\0", b"\\")), damaged


_SLASH = np.frombuffer(b"%2F", np.uint8)


def _percent(data: Any, start: Ints, stop: Ints) -> tuple[pa.Array, Flags]:
    offsets, encoded = _contents(spans(data, start, stop + 1))
    data = np.zeros(len(encoded) + 2, np.uint8)
    data[:-2] = encoded
    data[offsets[1:] - 1] = 0  # each name ends with its only NUL
    damaged = np.zeros(len(start), bool)
    if np.count_nonzero(data) < len(encoded) - len(start):
        nul = np.setdiff1d(np.flatnonzero(data[:-2] == 0), offsets[1:] - 1)
        damaged |= _with(nul, offsets)
        data[nul] = 1
    # most escapes are slashes: decode them by a few operations on all bytes
    slash = (data[:-2] == _SLASH[0]) & (data[1:-1] == _SLASH[1]) & (data[2:] == _SLASH[2])
    places = np.flatnonzero((data[:-2] == _SLASH[0]) ^ slash)
    data[:-2] += slash * np.uint8(ord("/") - _SLASH[0])
    high, low = HEX[data[places + 1]], HEX[data[places + 2]]
    value = (high << 4) | low
    wrong = (high > 15) | (low > 15) | (value == 0)
    damaged |= _with(places[wrong], offsets)
    places = places[~wrong]
    data[places] = value[~wrong]
    kept = np.ones(len(data), bool)
    kept[1:-1] ^= slash
    kept[2:] ^= slash
    kept[places + 1] = False
    kept[places + 2] = False
    kept[-2:] = False
    out = data[kept]
    ends = np.flatnonzero(out == 0)
    begins = np.zeros_like(ends)
    begins[1:] = ends[:-1] + 1
    return spans(out, begins, ends), damaged


def _contents(names: pa.Array) -> tuple[Ints, Any]:
    """Return the offsets of all names and of the end, and the bytes of all names."""
    _, offsets_buffer, buffer = names.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int32, len(names) + 1, names.offset * 4)
    first, last = int(offsets[0]), int(offsets[-1])
    data = np.frombuffer(buffer or b"", np.uint8)[first:last]
    return offsets.astype(np.int64) - first, data


def _with(places: Ints, offsets: Ints) -> Flags:
    """Flag the names that contain one of these positions."""
    found = np.zeros(len(offsets) - 1, bool)
    found[np.searchsorted(offsets, places, "right") - 1] = True
    return found


def readable(names: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Convert names to text; also return their bytes where the text differs."""
    try:
        return names.cast(pa.string()), pa.nulls(len(names), pa.binary())
    except pa.ArrowInvalid:  # some are not UTF-8
        offsets, data = _contents(names)
    some = np.flatnonzero(_with(np.flatnonzero(data > 127), offsets))
    made = [shown(name) for name in names.take(pa.array(some)).to_pylist()]
    texts = pa.array([text.encode() for text, _ in made], pa.binary())
    where = np.full(len(names), len(made), np.int64)
    where[some] = np.arange(len(made))
    raw = pa.array([raw for _, raw in made], pa.binary())
    exact = raw.take(pa.array(where, mask=where == len(made)))
    return replaced(names, some, texts).cast(pa.string()), exact


def replaced(names: pa.Array, some: Ints, others: pa.Array) -> pa.Array:
    """Replace some names, and keep the order."""
    order = np.arange(len(names))
    order[some] = len(names) + np.arange(len(some))
    return pa.concat_arrays([names, others]).take(pa.array(order))

"""Reading values of many lines at once, straight from their bytes, with numpy.

Eight bytes of each line are fetched as one 64-bit word, in which the first one is lowest, and all
of them are tested and added up at once.  Every function takes the place of a value in each line;
a value that is not of its form leaves its line for the reference parser.
"""

from __future__ import annotations

from typing import Any, Final

import attrs
import numpy as np
import numpy.typing as npt

__all__ = ["Bytes", "Flags", "Ints"]

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_ONES: Final = 0x0101010101010101
_HIGH: Final = np.uint64(0x80 * _ONES)
_ZEROS: Final = np.uint64(ord("0") * _ONES)
_OVER: Final = np.uint64(0x76 * _ONES)  # added to a digit above 9 it sets the high bit
_LOW: Final = np.uint64(0xFF)
_LEAST: Final = np.uint64(_ONES)
_TENS: Final = 10 ** np.arange(19, dtype=np.int64)

_HEX: Final = np.full(256, 255, np.uint8)
_HEX[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)
_HEX[np.frombuffer(b"ABCDEF", np.uint8)] = np.arange(10, 16)

# the days of the years that are read here: when each month begins, and how long it is
_FIRST_MONTH: Final = 1900 * 12 + 1
_MONTHS: Final = np.arange("1900-01", "2100-02", dtype="datetime64[M]").astype("datetime64[D]")
_MONTH_STARTS: Final = _MONTHS.astype(np.int64)[:-1] - 1
_MONTH_DAYS: Final = np.diff(_MONTHS.astype(np.int64))


@attrs.frozen
class Bytes:
    """A buffer of lines, with zeros behind them.

    data: its bytes; words: the eight bytes at each place.
    """

    data: Any
    words: Any

    def stands(self, literal: bytes, place: Ints) -> Flags:
        """Where a literal stands at the place."""
        found = np.ones(len(place), bool)
        for at in range(0, len(literal), 8):
            piece = literal[at : at + 8]
            word = self.words[place + at] ^ np.uint64(int.from_bytes(piece, "little"))
            found &= word & np.uint64((1 << 8 * len(piece)) - 1) == 0
        return found

    def digits(self, place: Ints) -> tuple[Ints, Ints]:
        """Numbers of up to 18 digits, and how many digits; 0 or more than 18 without a number."""
        value, count = self._eight(place)
        if (longer := np.flatnonzero(count == 8)).size:
            more, digits = self._eight(place[longer] + 8)
            value[longer] = value[longer] * _TENS[digits] + more
            count[longer] += digits
            if (longest := np.flatnonzero(count == 16)).size:
                more, digits = self._eight(place[longest] + 16)
                few = digits <= 2
                value[longest[few]] = value[longest[few]] * _TENS[digits[few]] + more[few]
                count[longest] += digits
        return value, count

    def _eight(self, place: Ints) -> tuple[Ints, Ints]:
        """The number that the digits among eight bytes make, and how many they are."""
        word = self.words[place] ^ _ZEROS
        digits = _leading(((word + _OVER) | word) & _HIGH)
        # the last digit becomes the highest byte, and those before the first are zeros
        word <<= ((8 - digits) * 8).astype(np.uint64)
        word = word * np.uint64(10) + (word >> np.uint64(8))
        ones = np.uint64(0x000000FF000000FF)
        word = (
            (word & ones) * np.uint64(0x000F424000000064)
            + ((word >> np.uint64(16)) & ones) * np.uint64(0x0000271000000001)
        ) >> np.uint64(32)
        value = word.astype(np.int64)
        value[digits == 0] = 0
        return value, digits

    def hexadecimal(self, place: Ints) -> tuple[Any, Ints]:
        """Numbers of up to 16 hexadecimal digits, and how many digits, at most 17."""
        value = np.zeros(len(place), np.uint64)
        count = np.zeros(len(place), np.int64)
        running = np.ones(len(place), bool)
        for at in range(17):
            digit = _HEX[self.data[place + at]]
            running &= digit < 16
            if not running.any():
                break
            value[running] = (value[running] << np.uint64(4)) | digit[running]
            count += running
        return value, count

    def until(self, place: Ints, mark: int) -> Ints:
        """The first place from here on where this byte is, or the line's end."""
        place = place.copy()
        every = np.arange(len(place))
        pattern, end = np.uint64(mark * _ONES), np.uint64(10 * _ONES)
        while every.size:
            word = self.words[place[every]]
            step = _leading(_zero_bytes(word ^ pattern) | _zero_bytes(word ^ end))
            place[every] += step
            every = every[step == 8]
        return place

    def text(self, place: Ints, literal: bytes) -> tuple[Ints, Flags]:
        """The first place from here on where a literal stands, and where one does."""
        end = self.until(place, literal[0])
        found = self.stands(literal, end)
        for _ in range(64):
            others = np.flatnonzero(~found & (self.data[end] == literal[0]))
            if not others.size:
                break
            end[others] = self.until(end[others] + 1, literal[0])
            found[others] = self.stands(literal, end[others])
        return end, found

    def mark(self, place: Ints, byte: int, *, escaped: bool) -> Ints:
        """Bytes that a mark takes, itself or as ``%XX``; 0 where it does not stand."""
        size: Ints = (self.data[place] == byte).astype(np.int64)
        if escaped:
            size[self.stands(b"%%%02X" % byte, place)] = 3
        return size

    def time(self, place: Ints, *, escaped: bool) -> tuple[Ints, Ints, Flags]:
        """Microseconds of ``2026-01-31 12:00:00[.123456]``, the place after, where there is one."""
        (century, year, month), good = self._pairs(place, b"0000-00-", (0, 2, 5))
        if escaped:
            (day, hour), fine = self._pairs(place + 8, b"00%2000%", (0, 5))
            (minute, second), also = self._pairs(place + 18, b"00%3A00\0", (0, 5), skip=(7,))
            fine &= also & self.stands(b"3A", place + 16)
            place = place + 25
        else:
            (day,), fine = self._pairs(place + 8, b"00 \0\0\0\0\0", (0,), skip=(3, 4, 5, 6, 7))
            (hour, minute, second), also = self._pairs(place + 11, b"00:00:00", (0, 3, 6))
            fine &= also
            place = place + 19
        good &= fine
        months = (century * 100 + year) * 12 + month - _FIRST_MONTH
        good &= (month >= 1) & (month <= 12) & (months >= 0) & (months < len(_MONTH_DAYS))
        good &= (hour < 24) & (minute < 60) & (second < 60)
        np.clip(months, 0, len(_MONTH_DAYS) - 1, out=months)
        good &= (day >= 1) & (day <= _MONTH_DAYS[months])
        value = (_MONTH_STARTS[months] + day) * 86_400 + hour * 3600 + minute * 60 + second
        value *= 1_000_000
        dotted = self.data[place] == ord(".")
        if dotted.any():
            (high, middle, low), fine = self._pairs(place - 1, b"\0.000000", (2, 4, 6), skip=(0,))
            good &= fine | ~dotted
            value += np.where(dotted, high * 10_000 + middle * 100 + low, 0)
            place = place + dotted * 7
        return value, place, good

    def _pairs(
        self, place: Ints, form: bytes, pairs: tuple[int, ...], skip: tuple[int, ...] = ()
    ) -> tuple[list[Ints], Flags]:
        """Numbers of two digits at some of eight bytes that have a form, and where they have it.

        form: digits are ``0``; skip: bytes of it that may be anything.
        """
        digits = {at + step for at in pairs for step in (0, 1)}
        asked = sum(0xFF << 8 * at for at in range(8) if at not in skip)
        others = sum(0xFF << 8 * at for at in range(8) if at not in skip and at not in digits)
        word = (self.words[place] ^ np.uint64(int.from_bytes(form, "little"))) & np.uint64(asked)
        good = (((word + _OVER) | word) & _HIGH == 0) & (word & np.uint64(others) == 0)
        tens = word * np.uint64(10) + (word >> np.uint64(8))
        return [((tens >> np.uint64(8 * at)) & _LOW).astype(np.int64) for at in pairs], good


def _zero_bytes(word: Any) -> Any:
    """The high bit of each zero byte; those above the first one may be wrong."""
    return (word - _LEAST) & ~word & _HIGH


def _leading(marks: Any) -> Ints:
    """How many bytes stand before the first one whose high bit is set; 8 without any."""
    lowest = marks & (~marks + np.uint64(1))
    count: Ints = (np.bitwise_count(lowest - np.uint64(1)) >> 3).astype(np.int64)
    return count

"""One walk over the bytes of a block of lines, compiled by numba.

The kernel follows a program (see ``program``): before each value certain bytes must stand, each
value is of some type and goes to some column.  A line that is not exactly as the program says is
odd: it leaves no row, and its place is reported, so that the reference parser can say what it is.

Helpers are here and in no file of their own because what was compiled is kept on disk until this
file changes.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .compiled import inlined
from .native import native

__all__ = ["walk"]

# values of attributes.Type, which compiled code cannot import
_UNSIGNED: Final = 0
_SIGNED: Final = 2
_KIBIBYTES: Final = 3
_TIME: Final = 4
_REAL: Final = 5
_TEXT: Final = 6
_FLAGS: Final = 7
_MODE: Final = 8
_SKIPPED: Final = 9
_HEX_UNSIGNED: Final = 10
_HEX_WHOLE: Final = 11
_COUNTED_PATH: Final = 12
_COUNTED_TEXT: Final = 13
_SHOW_LENGTH: Final = 14
_FULL_PATH: Final = 15
_SAME_TEXT: Final = 16

_BAD: Final = np.int64(-(2**63))
_NEWLINE: Final = np.uint8(10)
_PERCENT: Final = np.uint8(37)
_BACKSLASH: Final = np.uint8(92)

_HEX: Final = np.full(256, 255, np.uint8)
for _digit, _letter in enumerate(b"0123456789abcdef"):
    _HEX[_letter] = _digit
for _digit, _letter in enumerate(b"ABCDEF", 10):
    _HEX[_letter] = _digit

_HEX_LETTERS: Final = np.frombuffer(b"0123456789abcdef", np.uint8).copy()
_POWERS: Final = 10.0 ** np.arange(23)
_TENS: Final = 10 ** np.arange(19, dtype=np.int64)


def _all(byte: int) -> np.uint64:
    """Eight times the same byte."""
    return np.uint64(byte * 0x0101010101010101)


def _form(text: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(text.ljust(8, b"\0"), "little"))


def _marks(text: bytes) -> np.uint64:
    """A mask of the bytes that are not digits in a form."""
    return _form(bytes(0 if byte == ord("d") else 255 for byte in text))


_NONE: Final = np.uint64(0)
_ONE: Final = np.uint64(1)
_EIGHT: Final = np.uint64(8)
_LOW: Final = np.uint64(0xFF)
_ONES: Final = _all(1)
_HIGH: Final = _all(0x80)
_ZEROS: Final = _all(ord("0"))
_OVER: Final = _all(0x76)  # added to a digit above 9 it sets the high bit
_COUNT: Final = np.uint64(0x0001020304050607)
_FOURTH: Final = np.uint64(0x000000FF000000FF)
_AFTER_PERCENT: Final = _all(ord("%") + 1)
_BLANKS: Final = _all(ord(" "))
_BACKSLASHES: Final = _all(ord("\\"))

_DATE: Final = _form(b"0000-00-")
_DATE_MARKS: Final = _marks(b"dddd-dd-")
_DAY: Final = _form(b"00 ")
_DAY_MARKS: Final = _marks(b"dd ")
_CLOCK: Final = _form(b"00:00:00")
_CLOCK_MARKS: Final = _marks(b"dd:dd:dd")
_DAY_ESCAPED: Final = _form(b"00%2000%")
_DAY_ESCAPED_MARKS: Final = _marks(b"dd%20dd%")
_CLOCK_ESCAPED: Final = _form(b"00%3A00")
_CLOCK_ESCAPED_MARKS: Final = _marks(b"dd%3Add")
_FRACTION: Final = _form(b"\0.000000")
_FRACTION_MARKS: Final = _marks(b"d.dddddd")
_THREE: Final = np.uint64(0xFFFFFF)
_SEVEN: Final = np.uint64(0xFFFFFFFFFFFFFF)
_NOT_FIRST: Final = np.uint64(0xFFFFFFFFFFFFFF00)

# the days of the years that are read here: when each month begins, and how long it is
_FIRST_MONTH: Final = 1900 * 12 + 1
_MONTHS: Final = np.arange("1900-01", "2100-02", dtype="datetime64[M]").astype("datetime64[D]")
_MONTH_STARTS: Final = _MONTHS.astype(np.int64)[:-1] - 1
_MONTH_DAYS: Final = np.diff(_MONTHS.astype(np.int64))


def _address(builder: Any, data: Any, place: Any) -> Any:
    """Where eight bytes begin, as a pointer to a word."""
    return builder.bitcast(builder.gep(data, [place]), ir.IntType(64).as_pointer())


@intrinsic  # type: ignore[untyped-decorator]
def _word(typing: Any, data: Any, place: Any) -> Any:
    """The eight bytes at a place, as a little-endian word."""

    def load(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_address(builder, *arguments), align=1)

    return types.uint64(data, types.int64), load


@intrinsic  # type: ignore[untyped-decorator]
def _put_word(typing: Any, data: Any, place: Any, word: Any) -> Any:
    """Write a word as eight bytes."""

    def store(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, at, value = arguments
        builder.store(value, _address(builder, to, at), align=1)
        return context.get_dummy_value()

    return types.void(data, types.int64, types.uint64), store


@inlined
def _matches(data: Any, place: Any, starts: Any, bits: Any, masks: Any, which: Any) -> Any:
    """Whether a literal stands at a place."""
    for index in range(starts[which], starts[which + 1]):
        if (_word(data, place) ^ bits[index]) & masks[index] != np.uint64(0):
            return False
        place += 8
    return True


@inlined
def _lowest(marks: Any) -> Any:
    """How many bytes stand before the first one whose high bit is set, where there is one."""
    return np.int64((((marks & (~marks + _ONE)) >> np.uint64(7)) * _COUNT) >> np.uint64(56))


@inlined
def _sum(word: Any) -> Any:
    """The number that eight digits make, the first in the lowest byte."""
    word = word * np.uint64(10) + (word >> np.uint64(8))
    return np.int64(
        (
            (word & _FOURTH) * np.uint64(0x000F424000000064)
            + ((word >> np.uint64(16)) & _FOURTH) * np.uint64(0x0000271000000001)
        )
        >> np.uint64(32)
    )


@inlined
def _digits(data: Any, place: Any) -> Any:
    """A number of 1 to 18 digits, and the place after it."""
    word = _word(data, place) ^ _ZEROS
    others = ((word + _OVER) | word) & _HIGH
    if others != _NONE:
        count = _lowest(others)
        if count == 0:
            return _BAD, place
        # the last digit becomes the highest byte, and those before the first are zeros
        return _sum(word << np.uint64(64 - 8 * count)), place + count
    value = _sum(word)
    for step in range(2):
        place += 8
        word = _word(data, place) ^ _ZEROS
        others = ((word + _OVER) | word) & _HIGH
        count = np.int64(8) if others == _NONE else _lowest(others)
        if step == 1 and count > 2:
            break
        if count:
            value = value * _TENS[count] + _sum(word << np.uint64(64 - 8 * count))
        if count < 8:
            return value, place + count
    return _BAD, place


@inlined
def _hex_digits(data: Any, place: Any) -> Any:
    """A number of 1 to 16 hexadecimal digits, and the place after it; -1 digits when bad."""
    first = place
    value = np.uint64(0)
    digit = _HEX[data[place]]
    while digit < 16:
        value = (value << np.uint64(4)) | np.uint64(digit)
        place += 1
        digit = _HEX[data[place]]
    return value, place, 1 <= place - first <= 16


@inlined
def _escape(data: Any, place: Any) -> Any:
    """The byte that ``%XX`` stands for; above 255 when it is none."""
    high = _HEX[data[place + 1]]
    low = _HEX[data[place + 2]]
    if high > 15 or low > 15:
        return np.int64(256)
    return np.int64(high) * 16 + np.int64(low)


@inlined
def _mark(data: Any, place: Any, wanted: Any, escaped: Any) -> Any:
    """The place after a mark that stands there itself or as ``%XX``; -1 where it does not."""
    if data[place] == wanted:
        return place + 1
    if escaped and data[place] == _PERCENT and _escape(data, place) == wanted:
        return place + 3
    return -1


@inlined
def _pair(word: Any, place: Any) -> Any:
    """The number of two digits at a place among eight bytes of digits."""
    return np.int64(((word * np.uint64(10) + (word >> _EIGHT)) >> np.uint64(8 * place)) & _LOW)


@inlined
def _fits(word: Any, marks: Any) -> Any:
    """Whether the bytes are digits, and zero where ``marks`` are."""
    return ((word + _OVER) | word) & _HIGH == _NONE and word & marks == _NONE


@inlined
def _time(data: Any, place: Any, escaped: Any) -> Any:
    """Microseconds of ``2026-01-31 12:00:00[.123456]``, and the place after it.

    Eight bytes at a time are compared with the form, which leaves the digits' values.
    """
    word = _word(data, place) ^ _DATE
    if not _fits(word, _DATE_MARKS):
        return _BAD, place
    months = (_pair(word, 0) * 100 + _pair(word, 2)) * 12 + _pair(word, 5) - _FIRST_MONTH
    month = _pair(word, 5)
    if month < 1 or month > 12 or months < 0 or months >= len(_MONTH_DAYS):
        return _BAD, place
    if escaped:
        word = _word(data, place + 8) ^ _DAY_ESCAPED
        clock = (_word(data, place + 18) ^ _CLOCK_ESCAPED) & _SEVEN
        if data[place + 16] != 51 or data[place + 17] != 65:  # the rest of %3A
            return _BAD, place
        if not (_fits(word, _DAY_ESCAPED_MARKS) and _fits(clock, _CLOCK_ESCAPED_MARKS)):
            return _BAD, place
        hour, minute, second = _pair(word, 5), _pair(clock, 0), _pair(clock, 5)
        place += 25
    else:
        word = (_word(data, place + 8) ^ _DAY) & _THREE
        clock = _word(data, place + 11) ^ _CLOCK
        if not (_fits(word, _DAY_MARKS) and _fits(clock, _CLOCK_MARKS)):
            return _BAD, place
        hour, minute, second = _pair(clock, 0), _pair(clock, 3), _pair(clock, 6)
        place += 19
    day = _pair(word, 0)
    if day < 1 or day > _MONTH_DAYS[months] or hour > 23 or minute > 59 or second > 59:
        return _BAD, place
    value = (_MONTH_STARTS[months] + day) * 86_400 + hour * 3600 + minute * 60 + second
    value *= 1_000_000
    if data[place] == 46:
        word = (_word(data, place - 1) ^ _FRACTION) & _NOT_FIRST
        if not _fits(word, _FRACTION_MARKS):
            return _BAD, place
        value += _pair(word, 2) * 10_000 + _pair(word, 4) * 100 + _pair(word, 6)
        place += 7
    return value, place


@inlined
def _real(data: Any, place: Any, escaped: Any) -> Any:
    """A decimal number, the place after it, and how it went: 0 bad, 1 exact, 2 not by this way.

    Of up to 15 digits with a power of ten up to 22, one multiplication or division of two exact
    numbers gives the nearest double.
    """
    sign = 1.0
    after = _mark(data, place, 43, escaped)
    if after > 0:
        place = after
    elif data[place] == 45:
        sign, place = -1.0, place + 1
    value, after = _digits(data, place)
    if value == _BAD:
        return 0.0, place, 0
    count = after - place
    place = after
    power = np.int64(0)
    if data[place] == 46:
        part, after = _digits(data, place + 1)
        power -= after - place - 1
        count -= power
        place = after
        if part == _BAD or count > 18:
            return 0.0, place, 0
        value = value * _TENS[-power] + part
    if data[place] == 69 or data[place] == 101:
        place += 1
        after = _mark(data, place, 43, escaped)
        minus = False
        if after > 0:
            place = after
        elif data[place] == 45:
            minus, place = True, place + 1
        exponent, after = _digits(data, place)
        if exponent == _BAD or after - place > 3:
            return 0.0, place, 0
        power += -exponent if minus else exponent
        place = after
    if value == 0:
        return sign * 0.0, place, 1
    if power > 280:
        return 0.0, place, 0
    if value >= 10**15 or power < -22 or power > 22:
        return 0.0, place, 2
    if power < 0:
        return sign * (value / _POWERS[-power]), place, 1
    return sign * (value * _POWERS[power]), place, 1


@inlined
def _character(data: Any, place: Any, end: Any) -> Any:
    """Bytes of the UTF-8 character that begins at a place; 0 where none does."""
    lead = data[place]
    if lead < 0x80:
        return 1
    if lead < 0xC2 or lead > 0xF4:
        return 0
    more = 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3
    if place + more >= end:
        return 0
    low, high = np.uint8(0x80), np.uint8(0xBF)
    if lead == 0xE0:
        low = np.uint8(0xA0)
    elif lead == 0xED:
        high = np.uint8(0x9F)
    elif lead == 0xF0:
        low = np.uint8(0x90)
    elif lead == 0xF4:
        high = np.uint8(0x8F)
    if data[place + 1] < low or data[place + 1] > high:
        return 0
    for step in range(2, more + 1):
        if data[place + step] & np.uint8(0xC0) != 0x80:
            return 0
    return more + 1


@inlined
def _is_utf8(data: Any, place: Any, end: Any) -> Any:
    while place < end:
        size = _character(data, place, end)
        if size == 0:
            return False
        place += size
    return True


@inlined
def _shown(raw: Any, place: Any, end: Any, out: Any, at: Any) -> Any:
    """Write bytes that are not UTF-8 as text with ``\\xNN``; the place after it."""
    while place < end:
        size = _character(raw, place, end)
        if size == 0:
            out[at] = _BACKSLASH
            out[at + 1] = 120
            out[at + 2] = _HEX_LETTERS[raw[place] >> 4]
            out[at + 3] = _HEX_LETTERS[raw[place] & np.uint8(15)]
            at += 4
            place += 1
            continue
        if raw[place] == _BACKSLASH:
            out[at] = _BACKSLASH
            at += 1
        for _ in range(size):
            out[at] = raw[place]
            at += 1
            place += 1
    return at


@inlined
def _unescape(data: Any, place: Any, end: Any, percent: Any, out: Any, at: Any) -> Any:
    """Decode a name up to ``end``, or a line end where that is earlier.

    Gives the place after it, the place after what was written, and whether a byte is above 127;
    the first is -1 for a damaged escape or a NUL.
    """
    high = _NONE
    while place < end:
        # eight bytes at once, up to the first one that may be no plain byte
        word = _word(data, place)
        _put_word(out, at, word)
        if percent:
            marks = (word - _AFTER_PERCENT) & ~word & _HIGH
        else:
            other = word ^ _BACKSLASHES
            marks = (((word - _BLANKS) & ~word) | ((other - _ONES) & ~other)) & _HIGH
        count = np.int64(8) if marks == _NONE else _lowest(marks)
        if count > end - place:
            count = end - place
        if count:
            high |= word << np.uint64(64 - 8 * count)
            place += count
            at += count
        if count == 8 or place >= end:
            continue
        byte = data[place]
        if byte == _PERCENT and percent:
            value = _escape(data, place)
            if value > 255 or value == 0:
                return -1, at, False
            byte = np.uint8(value)
            place += 3
        elif byte == _NEWLINE:
            break
        elif byte == _BACKSLASH and not percent:
            following = data[place + 1]
            if following == 110:
                byte = _NEWLINE
            elif following != _BACKSLASH:
                return -1, at, False
            place += 2
        elif byte == 0:
            return -1, at, False
        else:
            place += 1
        high |= np.uint64(byte)
        out[at] = byte
        at += 1
    return place, at, high & _HIGH != _NONE


@inlined
def _kind_of_flag(letter: Any) -> Any:
    """1 file, 2 directory, 3 symlink, 4 other; 0 for a flag without a kind."""
    if letter == 70:
        return 1
    if letter == 68:
        return 2
    if letter == 76:
        return 3
    if letter == 79:
        return 4
    return 0


@inlined
def _kind_of_mode(letter: Any) -> Any:
    """The same of a mode's first letter; 0 where it is none."""
    if letter == 45:
        return 1
    if letter == 100:
        return 2
    if letter == 108:
        return 3
    if letter == 98 or letter == 99 or letter == 112 or letter == 115:
        return 4
    return 0


@inlined
def _is_mode(text: Any, first: Any, end: Any) -> Any:
    if end - first < 10 or end - first > 11 or _kind_of_mode(text[first]) == 0:
        return False
    for place in range(first + 1, first + 10):
        letter = text[place]
        # one of -rwxsStTlL
        if not (
            letter == 45
            or letter == 114
            or letter == 119
            or letter == 120
            or letter == 115
            or letter == 83
            or letter == 116
            or letter == 84
            or letter == 108
            or letter == 76
        ):
            return False
    last = text[end - 1]
    # + @ .
    return end - first == 10 or last == 43 or last == 64 or last == 46


@inlined
def _text(
    data: Any,
    place: Any,
    starts: Any,
    bits: Any,
    masks: Any,
    which: Any,
    escaped: Any,
    out: Any,
    at: Any,
) -> Any:
    """Copy text up to where a literal stands: the place after it, and after what was written.

    The first is -1 where the line ends before, or the text is not plain ASCII.
    """
    first = bits[starts[which]] & np.uint64(255)
    while True:
        byte = data[place]
        if byte == first and _matches(data, place, starts, bits, masks, which):
            return place, at
        if byte == _PERCENT and escaped:
            value = _escape(data, place)
            if value > 255:
                return -1, at
            byte = np.uint8(value)
            place += 3
        elif byte in (_BACKSLASH, _NEWLINE):
            return -1, at
        else:
            place += 1
        if byte > 126 or byte < 32:
            return -1, at
        out[at] = byte
        at += 1


@inlined
def _ends_alike(
    data: Any, place: Any, end: Any, relative_from: Any, relative_to: Any, percent: Any
) -> Any:
    """Whether a path ends as a relative one does, behind a slash or as a whole."""
    size = relative_to - relative_from
    tail = end - size
    if tail < place or end == place:
        return False
    for at in range(size):
        if data[tail + at] != data[relative_from + at]:
            return False
    if size == 0 or tail == place or data[tail - 1] == 47:
        return True
    return percent and tail - place >= 3 and _escape_is_slash(data, tail - 3)


@inlined
def _escape_is_slash(data: Any, place: Any) -> Any:
    return data[place] == _PERCENT and _escape(data, place) == 47


_BYTES: Final = types.CPointer(types.uint8)
_WORDS: Final = types.CPointer(types.uint64)
_NUMBERS: Final = types.CPointer(types.int64)
_OFFSETS: Final = types.CPointer(types.int32)
_REALS: Final = types.CPointer(types.float64)
_KINDS: Final = types.CPointer(types.int8)


@native(
    types.void(
        *(_BYTES, types.int64, types.int64, types.int64),  # data to longest
        *(types.int64, _NUMBERS, _NUMBERS),  # steps to slots
        *(_NUMBERS, _WORDS, _WORDS, _NUMBERS),  # the literals
        *(types.int64, types.int64, types.int64),  # escaped, percent, record
        *(types.int64, types.int64),  # most, room
        *(_NUMBERS, _REALS, _NUMBERS, types.int64),  # numbers to hard_room
        *(types.int64, _BYTES, _OFFSETS, _NUMBERS),  # texts to text_at
        *(_BYTES, types.int64, _OFFSETS, _BYTES, _OFFSETS),  # path and raw
        *(_KINDS, _NUMBERS, _NUMBERS, _NUMBERS),  # kinds to result
    )
)
def walk(
    data: Any,
    start: Any,
    stop: Any,
    longest: Any,
    steps: Any,
    types: Any,
    slots: Any,
    starts: Any,
    bits: Any,
    masks: Any,
    lengths: Any,
    escaped: Any,
    percent: Any,
    record: Any,
    most: Any,
    room: Any,
    numbers: Any,
    reals: Any,
    hard: Any,
    hard_room: Any,
    texts: Any,
    text_data: Any,
    text_offsets: Any,
    text_at: Any,
    path_data: Any,
    path_room: Any,
    path_offsets: Any,
    raw_data: Any,
    raw_offsets: Any,
    kinds: Any,
    lines: Any,
    odd: Any,
    result: Any,
) -> None:
    """Read lines from ``start`` until the columns are full or ``stop`` is reached.

    data: bytes of whole lines up to ``stop``, with zeros behind them.
    longest: bytes of a line at most.
    types, slots: of the program's ``steps``; starts, bits, masks, lengths: its literals, as words.
    escaped: SHOW is percent-encoded; percent: paths are; record: the record format.
    most: lines at most, for which each column has room; room: bytes of a column of texts.
    numbers, reals, kinds, lines, and with their offsets text_data, path_data (``path_room`` bytes)
    and raw_data: columns to fill, those of one type one after the other.
    texts, text_at: how many columns of texts, and zero for each.
    hard: row, slot, first and last place of ``hard_room`` numbers that are not read exactly here.
    odd: number, first and last place of odd lines.
    result: rows, place after the last line, lines, odd lines, hard numbers.
    """
    row = line = strange = difficult = 0
    place = start
    while place < stop and line < most and difficult < hard_room:
        begin = place
        good: Any = True
        kind = mode_kind = 0
        path_from = np.int64(path_offsets[row])
        path_at = path_from
        raw_at = np.int64(raw_offsets[row])
        high = False
        relative_from = relative_to = np.int64(0)
        show_end = np.int64(-1)
        difficult_before = difficult
        for index in range(steps):
            if not _matches(data, place, starts, bits, masks, index):
                good = False
                break
            place += lengths[index]
            type_ = types[index]
            slot = slots[index]
            if type_ <= _KIBIBYTES or type_ == _SKIPPED:
                minus = type_ == _SIGNED and data[place] == 45
                if minus:
                    place += 1
                value, place = _digits(data, place)
                if value == _BAD:
                    good = False
                    break
                if type_ == _KIBIBYTES:
                    if value >= 2**53:
                        good = False
                        break
                    value *= 1024
                if minus:
                    value = -value
                if slot >= 0:
                    numbers[slot * most + row] = value
            elif type_ == _TIME:
                value, place = _time(data, place, escaped)
                if value == _BAD:
                    good = False
                    break
                numbers[slot * most + row] = value
            elif type_ <= _MODE and type_ >= _TEXT:
                before = slot * room + text_at[slot]
                place, after = _text(
                    data, place, starts, bits, masks, index + 1, escaped, text_data, before
                )
                if place < 0:
                    good = False
                    break
                if type_ == _FLAGS:
                    for at in range(before, after):
                        found = _kind_of_flag(text_data[at])
                        if found:
                            good = good and kind == 0
                            kind = found
                        good = good and text_data[at] != 32
                elif type_ == _MODE and after > before:
                    good = _is_mode(text_data, before, after)
                    mode_kind = _kind_of_mode(text_data[before])
                text_offsets[slot * (most + 1) + row + 1] = after - slot * room
            elif type_ == _REAL:
                if _matches(data, place, starts, bits, masks, index + 1):
                    reals[slot * most + row] = np.nan
                else:
                    first = place
                    amount, place, how = _real(data, place, escaped)
                    if how == 0:
                        good = False
                        break
                    reals[slot * most + row] = amount
                    if how == 2:
                        if difficult == hard_room:
                            good = False
                            break
                        hard[4 * difficult] = row
                        hard[4 * difficult + 1] = slot
                        hard[4 * difficult + 2] = first
                        hard[4 * difficult + 3] = place
                        difficult += 1
            elif type_ <= _HEX_WHOLE:
                unsigned, place, fine = _hex_digits(data, place)
                if not fine or (type_ == _HEX_WHOLE and unsigned >= np.uint64(2**63)):
                    good = False
                    break
                numbers[slot * most + row] = np.int64(unsigned)
            elif type_ == _FULL_PATH:
                # the literal that follows stands somewhere before the end of SHOW
                end = show_end + 1 - lengths[index + 1]
                while end >= place and not _matches(data, end, starts, bits, masks, index + 1):
                    end -= 1
                good = _ends_alike(data, place, end, relative_from, relative_to, percent)
                if not good:
                    break
                place, path_at, high = _unescape(data, place, end, percent, path_data, path_from)
                if place != end or path_data[path_from] != 47:
                    good = False
                    break
            elif type_ == _SAME_TEXT:
                offset = slot * (most + 1) + row
                for at in range(text_offsets[offset], text_offsets[offset + 1]):
                    good = good and data[place] == text_data[slot * room + at]
                    place += 1
                if not good:
                    break
            else:
                size, place = _digits(data, place)
                if size == _BAD or data[place] != 33 or place + 1 + size >= stop:
                    good = False
                    break
                place += 1
                end = place + size
                if type_ == _SHOW_LENGTH:
                    show_end = end
                    continue
                for at in range(place, end):
                    good = good and data[at] != _NEWLINE
                if not good:
                    break
                if type_ == _COUNTED_PATH:
                    relative_from, relative_to = place, end
                    place, path_at, high = _unescape(
                        data, place, end, percent, path_data, path_from
                    )
                    if place != end:
                        good = False
                        break
                    place = end
                else:
                    at = text_at[slot]
                    for source in range(place, end):
                        byte = data[source]
                        good = good and byte < 128 and byte > 31 and byte != _BACKSLASH
                        text_data[slot * room + at] = byte
                        at += 1
                    text_offsets[slot * (most + 1) + row + 1] = at
                    place = end
            if not good:
                break
        good = good and _matches(data, place, starts, bits, masks, steps)
        if good:
            place += lengths[steps]
            if record:  # the last literal has the line end
                place -= 1
                good = show_end < 0 or place == show_end
            else:
                place, path_at, high = _unescape(data, place, stop, percent, path_data, path_from)
                good = place > 0 and path_data[path_from] == 47
            good = (
                good and path_at > path_from and (mode_kind == 0 or kind == 0 or mode_kind == kind)
            )
            good = good and place - begin <= longest
        if good and high and not _is_utf8(path_data, path_from, path_at):
            size = path_at - path_from
            if path_from + 4 * size + (stop - place) > path_room:
                good = False
            else:
                for at in range(size):
                    raw_data[raw_at + at] = path_data[path_from + at]
                path_at = _shown(raw_data, raw_at, raw_at + size, path_data, path_from)
                raw_at += size
        if good:
            for slot in range(texts):
                text_at[slot] = text_offsets[slot * (most + 1) + row + 1]
            kinds[row] = kind if kind else mode_kind
            lines[row] = line
            row += 1
            path_offsets[row] = path_at
            raw_offsets[row] = raw_at
            place += 1
        else:
            difficult = difficult_before
            place = begin
            while data[place] != _NEWLINE:
                place += 1
            odd[3 * strange] = line
            odd[3 * strange + 1] = begin
            odd[3 * strange + 2] = place
            strange += 1
            place += 1
        line += 1
    result[0] = row
    result[1] = place
    result[2] = line
    result[3] = strange
    result[4] = difficult

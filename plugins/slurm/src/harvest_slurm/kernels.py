"""Loops over the bytes of a dump, compiled by numba; ``walked`` makes columns of what they give.

They accept the same texts and give the same values as the functions of ``digits``, ``parts`` and
``text`` that do their work column by column.  These loops go row by row, since the fields of a row
lie together and memory is slower than they are.

data: bytes, with room at both ends.  at: the eight bytes at each place of data, as one word.
marks: a line per row: begin and end of each of its fields.  rows: which of them to read.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from harvest.toolkit.compiled import kernel

from .digits import FIRST_MONTH, MONTH_DAYS, MONTH_STARTS, PAD, SCALE

__all__ = [
    *("NOTHING", "TEXT", "WHOLE", "CLOCK", "DECIMAL", "MOMENT", "PAIR"),
    *("NUMBERED", "TASKED", "BARRED", "STEPPED", "PLAIN"),
    *("copy", "entries", "ids", "lines", "sizes", "survey"),
]

NOTHING, TEXT, WHOLE, CLOCK, DECIMAL, MOMENT, PAIR = 0, 1, 2, 3, 4, 5, 6
"""What ``survey`` reads a column as."""

NUMBERED, TASKED, BARRED, STEPPED, PLAIN = 1, 2, 4, 8, 16
"""Bits that ``ids`` sets; see ``parts.IdParts``."""

_ONES: Final = np.uint64(0x0101010101010101)
_LOW: Final = np.uint64(0x7F7F7F7F7F7F7F7F)
_HIGH: Final = np.uint64(0x8080808080808080)
_PLACES: Final = np.uint64(0x0001020304050607)  # times 256^n, its highest byte is n
_ONE: Final = np.uint64(1)
_SEVEN: Final = np.uint64(7)
_TOP: Final = np.uint64(56)
_NEWLINES: Final = np.uint64(ord("\n")) * _ONES
_FAR: Final = 1 << 30


@kernel
def lines(
    data: Any, end: Any, due: Any, mark: Any, rare: Any, trailing: Any, crlf: Any, id_column: Any
) -> Any:
    """Where lines and their fields lie.

    end: of the last line.  due: fields of a row.  mark: the delimiter, without line ends; rare:
    which byte of it to look for.  trailing: whether one follows the last field.  crlf: whether
    lines end in CR LF.

    Gives begin and end of each line; of the lines with as many fields as are due, which ones they
    are, their marks (with room for as many more as there are lines), and whether their field
    ``id_column`` is certainly a job id.
    """
    count = 0
    for place in range(PAD, end):
        count += data[place] == 10
    first, last = np.empty(count, np.int64), np.empty(count, np.int64)
    places, certain = np.empty(count, np.int64), np.empty(count, np.bool_)
    marks = np.empty((count + 1, 2 * due), np.int32)
    words = data[: len(data) // 8 * 8].view(np.uint64)
    wanted, size = np.uint64(mark[rare]) * _ONES, len(mark)
    inner = due if trailing else due - 1
    line = good = found = 0
    begin, before, sound = PAD, -_FAR, True
    marks[0, 0] = begin
    for index in range(PAD // 8, len(words)):
        if line == count:
            break
        these, ends = words[index] ^ wanted, words[index] ^ _NEWLINES
        hits = ~((((these & _LOW) + _LOW) | these) & (((ends & _LOW) + _LOW) | ends)) & _HIGH
        while hits != 0 and line < count:
            here = index * 8 + np.int64((((hits & (~hits + _ONE)) >> _SEVEN) * _PLACES) >> _TOP)
            hits &= hits - _ONE
            if data[here] == 10:
                stop = here - 1 if crlf and here > begin and data[here - 1] == 13 else here
                first[line], last[line] = begin, stop
                if sound and found == inner and (not trailing or before + size == stop):
                    if not trailing:
                        marks[good, 2 * due - 1] = stop
                    places[good] = line
                    id_begin, id_end = marks[good, 2 * id_column], marks[good, 2 * id_column + 1]
                    certain[good] = _simple(_id(data, id_begin, id_end)[0])
                    good += 1
                line += 1
                begin, before, found, sound = here + 1, -_FAR, 0, True
                marks[good, 0] = begin
                continue
            start = here - rare
            if start < begin:
                continue
            same = True
            for k in range(size):
                same &= data[start + k] == mark[k]
            if same:
                sound &= start >= before + size  # a mark inside another one is none
                if found < inner:
                    marks[good, 2 * found + 1] = start
                    if found + 1 < due:
                        marks[good, 2 * found + 2] = start + size
                found, before = found + 1, start
    return first, last, places[:good], marks, certain[:good]


@kernel
def ids(data: Any, marks: Any, rows: Any, columns: Any) -> Any:
    """Job ids: bits that say what there is, the numbers, and the first dot or the end."""
    size = len(columns), len(rows)
    flags, dots = np.empty(size, np.uint8), np.empty(size, np.int32)
    number, task = np.empty(size, np.int64), np.empty(size, np.int64)
    for i in range(len(rows)):
        for k in range(len(columns)):
            begin, end = marks[rows[i], 2 * columns[k]], marks[rows[i], 2 * columns[k] + 1]
            flags[k, i], number[k, i], task[k, i], dots[k, i] = _id(data, begin, end)
    return flags, number, task, dots


@kernel
def sizes(marks: Any, rows: Any, columns: Any) -> Any:
    """Bytes of all texts of some columns."""
    total = np.zeros(len(columns), np.int64)
    for i in range(len(rows)):
        for k in range(len(columns)):
            total[k] += marks[rows[i], 2 * columns[k] + 1] - marks[rows[i], 2 * columns[k]]
    return total


@kernel
def survey(
    data: Any,
    at: Any,
    marks: Any,
    rows: Any,
    columns: Any,
    shapes: Any,
    slots: Any,
    full: Any,
    good: Any,
    values: Any,
    floats: Any,
    offsets: Any,
    bases: Any,
    to: Any,
) -> Any:
    """Read some columns, each as what ``shapes`` says.

    full, good: to be filled, per column, with which texts are not empty and which were read.
    slots: per column, the line of ``values`` (of a pair two, of clock times one of ``floats``,
    which is the same memory) or, for texts, of ``offsets`` and ``bases``, where it goes.
    offsets, bases, to: texts go to ``to``, those of a column one behind the other from its base;
    ``to`` has the words at each place, and room for seven bytes more behind each column.
    Gives, per column, how many texts are not empty, and how many of these were not read.
    """
    tally = np.zeros((len(columns), 2), np.int64)
    offsets[:, 0] = 0
    for i in range(len(rows)):
        row = rows[i]
        for k in range(len(columns)):
            shape, slot = shapes[k], slots[k]
            begin, end = marks[row, 2 * columns[k]], marks[row, 2 * columns[k] + 1]
            full[k, i] = end > begin
            if shape == TEXT:
                target = offsets[slot, i]
                offsets[slot, i + 1] = target + (end - begin)
                tally[k, 0] += end > begin
                for place in range(0, end - begin, 8):
                    to[bases[slot] + target + place] = at[begin + place]
                continue
            if end == begin:
                good[k, i] = False
                if shape != NOTHING:
                    values[slot, i] = 0
                if shape == PAIR:
                    values[slot + 1, i] = 0
                continue
            tally[k, 0] += 1
            fine = True
            if shape == WHOLE:
                number = _number(data, begin, end)
                fine = number >= 0
                values[slot, i] = number
            elif shape == CLOCK:
                seconds = _seconds(data, begin, end)
                fine = seconds >= 0
                floats[slot, i] = seconds
            elif shape == DECIMAL:
                number = _amount(data, begin, end)
                fine = number >= 0
                values[slot, i] = number
            elif shape == MOMENT:
                fine, values[slot, i] = _micros(data, begin, end)
            elif shape == PAIR:
                first = second = -1
                if end - begin > 2 and data[begin + 1] == 58:
                    first, second = _number(data, begin, begin + 1), _number(data, begin + 2, end)
                fine = first >= 0 and second >= 0
                values[slot, i], values[slot + 1, i] = first, second
            good[k, i] = fine
            tally[k, 1] += not fine
    return tally


@kernel
def copy(at: Any, begin: Any, end: Any, to: Any) -> Any:
    """Copy texts one behind the other, and give their offsets.

    to: the words at each place of where they go, with room for seven bytes more.
    """
    offsets = np.empty(len(begin) + 1, np.int32)
    offsets[0] = 0
    for i in range(len(begin)):
        target = offsets[i]
        for place in range(0, end[i] - begin[i], 8):
            to[target + place] = at[begin[i] + place]
        offsets[i + 1] = target + (end[i] - begin[i])
    return offsets


@kernel
def entries(data: Any, begin: Any, end: Any) -> Any:
    """Entries ``key=amount`` of lists.

    Gives where the entries of each text begin; which texts are lists, other texts have no entries;
    begin and end of the keys; the amounts as whole numbers and as floats, and which were read.
    """
    most = 0
    for i in range(len(begin)):
        for place in range(begin[i], end[i]):
            most += data[place] == 61
    offsets, listed = np.zeros(len(begin) + 1, np.int32), np.empty(len(begin), np.bool_)
    keys = np.empty((2, most), np.int32)
    amounts, exact = np.empty(most, np.int64), np.empty(most, np.float64)
    fine = np.empty(most, np.bool_)
    count = 0
    for i in range(len(begin)):
        start, equals, own = begin[i], -1, count
        sound = end[i] > begin[i]
        place = begin[i]
        while sound and place <= end[i]:
            if place == end[i] or data[place] == 44:
                sound = start < equals and equals + 1 < place
                if sound:
                    keys[0, own], keys[1, own] = start, equals
                    amount = _amount(data, equals + 1, place)
                    seconds = np.float64(amount)
                    if amount < 0:
                        seconds = _seconds(data, equals + 1, place)
                        amount = np.int64(seconds)
                    amounts[own], exact[own], fine[own] = amount, seconds, seconds >= 0
                    own += 1
                    start, equals = place + 1, -1
            elif data[place] == 61:
                sound = equals < 0
                equals = place
            place += 1
        listed[i] = sound
        if sound:
            count = own
        offsets[i + 1] = count
    return (
        offsets,
        listed,
        keys[0, :count],
        keys[1, :count],
        amounts[:count],
        exact[:count],
        fine[:count],
    )


@kernel
def _number(data: Any, begin: Any, end: Any) -> Any:
    """The number of 1 to 16 digits between two places, -1 if there is none."""
    if end - begin < 1 or end - begin > 16:
        return -1
    value = 0
    for place in range(begin, end):
        digit = np.int64(data[place]) - 48
        if digit < 0 or digit > 9:
            return -1
        value = value * 10 + digit
    return value


@kernel
def _two(data: Any, place: Any) -> Any:
    """The number of two digits at a place, -1 if there is none."""
    high, low = np.int64(data[place]) - 48, np.int64(data[place + 1]) - 48
    return high * 10 + low if 0 <= high <= 9 and 0 <= low <= 9 else -1


@kernel
def _hms(data: Any, place: Any) -> Any:
    """Hours, minutes and seconds of ``HH:MM:SS`` at a place, the first -1 if there are none."""
    hours, minutes, seconds = _two(data, place), _two(data, place + 3), _two(data, place + 6)
    if minutes < 0 or seconds < 0 or data[place + 2] != 58 or data[place + 5] != 58:
        return -1, 0, 0
    return hours, minutes, seconds


@kernel
def _seconds(data: Any, begin: Any, end: Any) -> Any:
    """Seconds of ``HH:MM:SS``, ``D-HH:MM:SS`` and ``MM:SS.mmm``, -1.0 if a text is none."""
    length = end - begin
    if length == 9:
        minutes, seconds, part = _two(data, begin), _two(data, begin + 3), _two(data, begin + 6)
        last = np.int64(data[end - 1]) - 48
        if minutes < 0 or seconds < 0 or part < 0 or last < 0 or last > 9:
            return -1.0
        if data[begin + 2] != 58 or data[begin + 5] != 46:
            return -1.0
        # one division of whole numbers rounds as the decimal text does
        return ((minutes * 60 + seconds) * 1000 + part * 10 + last) / 1000.0
    if length < 8 or length > 16:
        return -1.0
    hours, minutes, seconds = _hms(data, end - 8)
    if hours < 0:
        return -1.0
    total = np.float64(hours * 3600 + minutes * 60 + seconds)
    if length == 8:
        return total
    days = _number(data, begin, end - 9)
    return days * 86400.0 + total if days >= 0 and data[end - 9] == 45 else -1.0


@kernel
def _amount(data: Any, begin: Any, end: Any) -> Any:
    """An amount with up to two decimals and a unit of 1024, -1 if there is none."""
    scale = SCALE[data[end - 1]]
    if scale > 0 and end - begin > 1:
        end -= 1
    else:
        scale = 1
    if end - begin > 3 and data[end - 3] == 46:
        number, part = _number(data, begin, end - 3), _number(data, end - 2, end)
        if number < 0 or part < 0 or number >= 10**12:
            return -1
        hundredths = number * 100 + part
        return (hundredths * scale + 50) // 100 if hundredths <= 2**62 // scale else -1
    number = _number(data, begin, end)
    return number * scale if number >= 0 and np.float64(number) * scale < 2.0**62 else -1


@kernel
def _micros(data: Any, begin: Any, end: Any) -> Any:
    """Whether a text is ``YYYY-MM-DDTHH:MM:SS``, and its microseconds since 1970."""
    if end - begin != 19:
        return False, 0
    century, year = _two(data, begin), _two(data, begin + 2)
    month, day = _two(data, begin + 5), _two(data, begin + 8)
    hours, minutes, seconds = _hms(data, begin + 11)
    if century < 0 or year < 0 or hours < 0 or hours > 23 or minutes > 59 or seconds > 59:
        return False, 0
    if data[begin + 4] != 45 or data[begin + 7] != 45 or data[begin + 10] != 84:
        return False, 0
    months = (century * 100 + year) * 12 + month - FIRST_MONTH
    if month < 1 or month > 12 or months < 0 or months >= len(MONTH_DAYS):
        return False, 0
    if day < 1 or day > MONTH_DAYS[months]:
        return False, 0
    days = MONTH_STARTS[months] + day
    return True, (days * 86400 + hours * 3600 + minutes * 60 + seconds) * 1_000_000


@kernel
def _id(data: Any, begin: Any, end: Any) -> Any:
    """What there is in a job id, its number and task, and the place of the first dot or its end."""
    dot, bar = end, end
    for place in range(begin, end):
        if data[place] == 46:
            dot = place
            break
        if data[place] == 95 and bar == end:
            bar = place
    bar = min(bar, dot)
    number, task = _number(data, begin, bar), -1
    bits = NUMBERED if number >= 0 else 0
    if bar < dot:
        task = _number(data, bar + 1, dot)
        bits |= BARRED | (TASKED if task >= 0 else 0)
    if dot < end:
        bits |= STEPPED | (PLAIN if _is_word(data, dot + 1, end) else 0)
    return bits, max(number, 0), max(task, 0), dot


@kernel
def _simple(bits: Any) -> Any:
    """As ``parts.IdParts.simple``."""
    if bits & NUMBERED == 0 or bits & (STEPPED | PLAIN) == STEPPED:
        return False
    return bits & (BARRED | TASKED) != BARRED


@kernel
def _is_word(data: Any, begin: Any, end: Any) -> Any:
    """Whether a text is letters, digits and underscores."""
    for place in range(begin, end):
        byte = data[place]
        letter = 65 <= (byte & 0xDF) <= 90
        if not (letter or 48 <= byte <= 57 or byte == 95):
            return False
    return end > begin

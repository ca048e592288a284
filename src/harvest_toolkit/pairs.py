"""Parse texts such as ``key=value key2=value2`` into columns, without a loop over texts.

Blanks separate pairs.  A value that begins with a quote (``"`` or ``'``) ends with the same quote
before a blank or the end of the text; it may hold blanks, and its quotes are left out.  Any other
value ends at the next blank, and may be empty.  Nothing is escaped::

    KNOWN = {"user": ("user", TEXT), "Exit_status": ("exit_status", INTEGER)}
    table, faults = pairs(texts, KNOWN)

``fields`` splits texts at separators, for example a prefix from the pairs behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from harvest.toolkit.texts import excerpt

from .line_blocks import Faults
from .spans import Bytes, Flags, Ints, Spans, places, strings
from .values import Kind

__all__ = ["fields", "pairs"]

_BLANK, _EQUALS = b" ="
_QUOTES: Final = b"\"'"
_PIECE: Final = 1 << 20
"""Bytes of text split at a time, so that intermediate arrays stay in the processor's cache."""
_MARKED: Final = 1 << 24
"""Largest array of marks with which duplicates are found; more numbers are sorted."""

_UNCLOSED: Final = "a quote is never closed"
_NO_PAIR: Final = "is not key=value"


def fields(texts: Spans, separator: bytes, count: int) -> tuple[list[Spans], Flags]:
    """Split texts into ``count`` fields; also return the mask of texts that have as many.

    The last field may contain separators.  Where a text has fewer fields, all are empty.
    """
    marks = places(texts.data, separator)
    first = np.searchsorted(marks, texts.start)
    good = np.searchsorted(marks, texts.end) - first >= count - 1
    marks = np.append(marks, np.zeros(count, np.int64))
    found, start = [], texts.start
    for number in range(count - 1):
        end = np.where(good, marks[first + number], start)
        found.append(Spans(texts.data, start, end))
        start = end + good
    return [*found, Spans(texts.data, start, np.where(good, texts.end, start))], good


def pairs(texts: Spans, known: Mapping[str, tuple[str, Kind]]) -> tuple[pa.Table, Faults]:
    """Parse each text into one row.

    known: by key, the column and the kind of its values.  All other pairs go to the map column
        ``extra``, in order.
    Returns the columns, null where a text lacks the key, and the faults of texts that are not
    pairs, repeat a key, or have a value of another kind.  The rows of such texts have no meaning.
    """
    count, faults = len(texts.start), Faults()
    words = _words(texts, faults)
    keys = strings(Spans(texts.data, words.start, words.equals))
    names = keys.dictionary_encode()
    wanted = pc.index_in(names.dictionary, value_set=pa.array(list(known), pa.string()))
    code = wanted.fill_null(-1).take(names.indices).to_numpy()
    for place in np.flatnonzero(words.equals <= words.start).tolist():
        word = texts.data[words.start[place] : words.end[place]].tobytes().decode()
        faults.setdefault(int(words.text[place]), f"{excerpt(word)!r} {_NO_PAIR}")
    columns = _columns(words, code, known, texts, faults)
    rest = np.flatnonzero(code < 0)
    columns["extra"] = _maps(words, keys, rest, texts)
    pair = np.multiply(words.text, len(wanted), dtype=np.int64) + names.indices.to_numpy()
    for place in _again(pair, count * len(wanted)):
        faults.setdefault(int(words.text[place]), f"{excerpt(keys[place].as_py())} is there twice")
    return pa.table(columns), faults


def _columns(
    words: _Words, code: Ints, known: Mapping[str, tuple[str, Kind]], texts: Spans, faults: Faults
) -> dict[str, pa.Array]:
    """Make the columns of known keys; code: for each word the number of its key, -1 for others."""
    keys, (names, kinds) = list(known), zip(*known.values(), strict=True) if known else ((), ())
    distinct = list(dict.fromkeys(kinds))
    kind_of = np.array([*map(distinct.index, kinds), -1], np.int16)[code]
    count = len(texts.start)
    cells = np.full((len(known), count), -1)
    columns: dict[str, pa.Array] = dict.fromkeys(names)
    for which, kind in enumerate(distinct):
        # parse all values of a kind together, then put them into their columns
        mine = np.flatnonzero(kind_of == which)
        spans = Spans(texts.data, words.value[mine], words.end[mine])
        values, good = kind.read(spans, np.ones(len(mine), bool))
        for place in np.flatnonzero(~good).tolist():
            key, value = keys[code[mine[place]]], excerpt(spans.raw(place).decode())
            faults.setdefault(int(words.text[mine[place]]), f"{key}={value} is not {kind.what}")
        cells[code[mine], words.text[mine]] = np.arange(len(mine))
        numbers = [number for number, other in enumerate(kinds) if other == kind]
        chosen = cells[numbers].ravel()
        values = values.take(pa.array(chosen, mask=chosen < 0))
        for row, number in enumerate(numbers):
            columns[names[number]] = values.slice(row * count, count)
    return columns


@attrs.frozen(eq=False)
class _Words:
    """The words between blanks, in order.

    text: the number of each word's text.  equals: place of its first ``=``, or ``start`` without.
    value, end: where the value begins and ends.
    """

    text: Ints
    start: Ints
    equals: Ints
    value: Ints
    end: Ints


def _words(texts: Spans, faults: Faults) -> _Words:
    count = len(texts.start)
    step = 1 + count * _PIECE // (1 + int(texts.length.sum()))
    found = [(np.empty(0, np.int64),) * 5]
    for first in range(0, count, step):
        some = slice(first, first + step)
        words = _words_of(Spans(texts.data, texts.start[some], texts.end[some]), first)
        words = _without_quotes(words, texts.data, faults)
        found.append((words.text, words.start, words.equals, words.value, words.end))
    # 32 bits are enough for places in a buffer, and need half of the memory
    parts = zip(*found, strict=True)
    return _Words(*(np.concatenate(part, dtype=np.int32, casting="same_kind") for part in parts))


def _words_of(texts: Spans, number: int) -> _Words:
    """Split texts into words, with their quotes; number: number of the first text."""
    data, count = texts.data, len(texts.start)
    # a word begins behind a blank, or behind the byte before its text
    low, high = int(texts.start[0]) - 1, int(texts.end[-1]) + 1
    piece = data[low:high]
    hit = piece == _BLANK
    hit |= piece == _EQUALS
    hit[texts.start - 1 - low] = hit[-1] = True
    marks = np.flatnonzero(hit) + low
    begins = data[marks] == _BLANK
    begins[np.searchsorted(marks, texts.start - 1)] = True
    begin = np.flatnonzero(begins)
    start = marks[begin] + 1
    first = np.searchsorted(start, texts.start)
    text = np.repeat(np.arange(-1, count), np.diff(first, prepend=0, append=len(start)))
    # a word ends at the next blank, at the next text, or with its own text
    stop = start - 1
    stop[first] += data[texts.start - 1] != _BLANK
    end = np.minimum(np.append(stop, len(data))[1:], np.append(texts.end, 0)[text])
    keep = np.flatnonzero(end > start)
    text, start, end = text[keep], start[keep], end[keep]
    mark = marks[begin[keep] + 1]
    pair = (mark < end) & (data[mark] == _EQUALS)
    equals = np.where(pair, mark, start)
    return _Words(text + number, start, equals, equals + pair, end)


def _without_quotes(words: _Words, data: Bytes, faults: Faults) -> _Words:
    """Join words that one pair of quotes encloses, and drop these quotes; changes ``words``."""
    value, end = words.value, words.end
    first = data[value]
    quoted = np.flatnonzero((first == _QUOTES[0]) | (first == _QUOTES[1]))
    quoted = quoted[(value[quoted] < end[quoted]) & (words.equals[quoted] > words.start[quoted])]
    closed = (end[quoted] - value[quoted] >= 2) & (data[end[quoted] - 1] == first[quoted])
    opened, stops = _quotations(words, quoted[~closed], data, faults)
    begun = np.append(quoted[closed], opened)
    end[begun] = end[np.append(quoted[closed], stops)] - 1
    value[begun] += 1
    if not len(opened):
        return words
    inside = np.zeros(len(value) + 1, np.int8)
    inside[opened + 1] += 1
    inside[stops + 1] -= 1
    keep = np.flatnonzero(np.cumsum(inside[:-1], dtype=np.int8) == 0)
    return _Words(words.text[keep], words.start[keep], words.equals[keep], value[keep], end[keep])


def _quotations(words: _Words, waiting: Ints, data: Bytes, faults: Faults) -> tuple[Ints, Ints]:
    """Return the words that begin and end a quotation of several words.

    waiting: the words whose value begins with a quote that it does not end with.
    """
    if not len(waiting):
        return waiting, waiting
    affected = np.zeros(words.text[-1] + 1, bool)
    affected[words.text[waiting]] = True
    places = np.flatnonzero(affected[words.text])
    waiting = np.searchsorted(places, waiting)
    text = np.append(words.text[places], -1)
    quote, last = data[words.value[places]], data[words.end[places] - 1]
    closing = [np.append(np.flatnonzero(last == sign), len(places)) for sign in _QUOTES]
    begun, ended = [], []
    reached = np.full(text.max() + 1, -1)
    while len(waiting):
        # the first open quote of each text; words inside it cannot open another one
        opened = waiting[np.append(True, np.diff(text[waiting]) != 0)]
        stops = [close[np.searchsorted(close, opened, "right")] for close in closing]
        stop = np.where(quote[opened] == _QUOTES[0], *stops)
        found = text[stop] == text[opened]
        for row in text[opened[~found]].tolist():
            faults[row] = _UNCLOSED
        begun.append(places[opened[found]])
        ended.append(places[stop[found]])
        reached[text[opened]] = np.where(found, stop, len(places))
        waiting = waiting[waiting > reached[text[waiting]]]
    return np.concatenate(begun), np.concatenate(ended)


def _maps(words: _Words, keys: pa.Array, rest: Ints, texts: Spans) -> pa.Array:
    """Return the pairs of the words in ``rest`` as maps; null for texts without any."""
    count = np.bincount(words.text[rest], minlength=len(texts.start))
    offsets = np.append(0, np.cumsum(count)).astype(np.int32)
    values = strings(Spans(texts.data, words.value[rest], words.end[rest]))
    return pa.MapArray.from_arrays(
        pa.array(offsets), keys.take(pa.array(rest)), values, mask=pa.array(count == 0)
    )


def _again(numbers: Ints, limit: int) -> list[int]:
    """Return the places of repeated numbers, in order; all numbers are below ``limit``."""
    if limit <= _MARKED:
        marked = np.zeros(limit, bool)
        marked[numbers] = True
        if np.count_nonzero(marked) == len(numbers):
            return []
    order = np.argsort(numbers, kind="stable")
    found: list[int] = np.sort(order[1:][np.diff(numbers[order]) == 0]).tolist()
    return found

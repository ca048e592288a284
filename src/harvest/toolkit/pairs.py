"""Texts of the form ``key=value key2=value2`` as columns, without a loop over texts.

Pairs stand between blanks.  A value that begins with a quote (``"`` or ``'``) ends with the same
quote before a blank or the end of the text, and may hold blanks; its quotes are left out.  Any
other value goes to the next blank, and may be empty.  Nothing is escaped::

    KNOWN = {"user": ("user", TEXT), "Exit_status": ("exit_status", INTEGER)}
    table, faults = pairs(texts, KNOWN)

``fields`` cuts texts at separators, such as a head off the pairs behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from ._numpy import np
from .line_blocks import Faults
from .spans import Bytes, Flags, Ints, Spans, strings
from .texts import excerpt
from .values import Kind

__all__ = ["fields", "pairs"]

_BLANK, _EQUALS = b" ="
_QUOTES: Final = b"\"'"
_MARKED: Final = 1 << 24
"""Numbers for which a mark each may be held; more are sorted."""

_UNCLOSED: Final = "a quote is never closed"
_NO_PAIR: Final = "is not key=value"


def fields(texts: Spans, separator: bytes, count: int) -> tuple[list[Spans], Flags]:
    """Texts cut into so many fields, and where there are as many.

    The last field may hold separators itself.  Where there are fewer, all are empty.
    """
    marks = np.flatnonzero(texts.data == separator[0])
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
    """A row for each text.

    known: by key, the column that its values go to, and what they are.  All other pairs go to the
        column ``extra``, in their order.
    Gives the columns, null where a text lacks the key, and what is wrong with texts that are not
    pairs, have a key twice, or a value of another kind; their rows mean nothing.
    """
    count, faults = len(texts.start), Faults()
    words = _without_quotes(_words(texts), texts.data, faults)
    keys = strings(Spans(texts.data, words.start, words.equals))
    names = keys.dictionary_encode()
    wanted = pc.index_in(names.dictionary, value_set=pa.array(list(known), pa.string()))
    place_of = names.indices.to_numpy()
    code = wanted.fill_null(-1).to_numpy()[place_of]
    for place in np.flatnonzero(words.equals <= words.start).tolist():
        word = texts.data[words.start[place] : words.end[place]].tobytes().decode()
        faults.setdefault(int(words.text[place]), f"{excerpt(word)!r} {_NO_PAIR}")
    slots = np.full(len(known) * count, -1)
    mine = np.flatnonzero(code >= 0)
    slots[code[mine] * count + words.text[mine]] = mine
    columns = {}
    for number, (key, (name, kind)) in enumerate(known.items()):
        at = slots[number * count : (number + 1) * count]
        there = at >= 0
        start = np.where(there, words.value[at], texts.start) if len(words) else texts.start
        end = np.where(there, words.end[at], texts.start) if len(words) else texts.start
        spans = Spans(texts.data, start, end)
        columns[name], good = kind.read(spans, there)
        for row in np.flatnonzero(~good).tolist():
            value = excerpt(spans.raw(row).decode())
            faults.setdefault(row, f"{key}={value} is not {kind.what}")
    rest = np.flatnonzero(code < 0)
    columns["extra"] = _maps(words, keys, rest, texts)
    for place in _again(words.text * max(len(wanted), 1) + place_of, count * len(wanted)):
        faults.setdefault(int(words.text[place]), f"{excerpt(keys[place].as_py())} is there twice")
    return pa.table(columns), faults


@attrs.frozen(eq=False)
class _Words:
    """What stands between blanks, in order.

    text: which text each is of.  equals: where its first ``=`` is, or ``start`` where it has none.
    value, end: where the value begins and ends.
    """

    text: Ints
    start: Ints
    equals: Ints
    value: Ints
    end: Ints

    def __len__(self) -> int:
        return len(self.start)


def _words(texts: Spans) -> _Words:
    data, count = texts.data, len(texts.start)
    marks = np.flatnonzero((data == _BLANK) | (data == _EQUALS))
    low, high = np.searchsorted(marks, texts.start), np.searchsorted(marks, texts.end)
    inside = high - low
    stops = np.cumsum(inside)
    # the marks within texts, and one behind all
    marks = marks[np.arange(inside.sum()) + np.repeat(low - stops + inside, inside)]
    blank = np.flatnonzero(data[marks] == _BLANK)
    marks = np.append(marks, len(data))
    # a word begins with its text or behind a blank; the mark that follows may be its ``=``
    before = np.searchsorted(blank, stops - inside)
    blanks = np.searchsorted(blank, stops) - before
    first = np.arange(count) + before
    later, sooner = np.ones(count + len(blank), bool), np.ones(count + len(blank), bool)
    later[first] = sooner[first + blanks] = False
    start, end, mark = (np.empty(len(later), np.int64) for _ in range(3))
    start[first], start[later] = texts.start, marks[blank] + 1
    end[first + blanks], end[sooner] = texts.end, marks[blank]
    mark[first], mark[later] = stops - inside, blank + 1
    equals = marks[mark]
    keep = np.flatnonzero(end > start)
    text = np.repeat(np.arange(count), blanks + 1)[keep]
    start, end, equals = start[keep], end[keep], equals[keep]
    pair = equals < end
    pair &= data[np.minimum(equals, len(data) - 1)] == _EQUALS
    return _Words(
        text, start, np.where(pair, equals, start), np.where(pair, equals + 1, start), end
    )


def _without_quotes(words: _Words, data: Bytes, faults: Faults) -> _Words:
    """The words with values that stand in quotes as a whole, and without these quotes."""
    value, end = words.value.copy(), words.end.copy()
    first = data[value]
    quoted = np.flatnonzero((first == _QUOTES[0]) | (first == _QUOTES[1]))
    quoted = quoted[(value[quoted] < end[quoted]) & (words.equals[quoted] > words.start[quoted])]
    closed = (end[quoted] - value[quoted] >= 2) & (data[end[quoted] - 1] == first[quoted])
    value[quoted[closed]] += 1
    end[quoted[closed]] -= 1
    waiting = quoted[~closed]
    if not len(waiting):
        return attrs.evolve(words, value=value, end=end)
    affected = np.zeros(words.text[-1] + 1, bool)
    affected[words.text[waiting]] = True
    places = np.flatnonzero(affected[words.text])
    opened, stops = _quotations(places, np.searchsorted(places, waiting), words, data, faults)
    value[opened] += 1
    end[opened] = words.end[stops] - 1
    inside = np.zeros(len(words) + 1, np.int8)
    inside[opened + 1] += 1
    inside[stops + 1] -= 1
    keep = np.flatnonzero(np.cumsum(inside[:-1], dtype=np.int8) == 0)
    return _Words(words.text[keep], words.start[keep], words.equals[keep], value[keep], end[keep])


def _quotations(
    places: Ints, waiting: Ints, words: _Words, data: Bytes, faults: Faults
) -> tuple[Ints, Ints]:
    """Which words begin a quotation and which end it, among the words at some places.

    waiting: which of these begin with a quote that they do not end with.
    """
    text = np.append(words.text[places], -1)
    quote, last = data[words.value[places]], data[words.end[places] - 1]
    closing = [np.append(np.flatnonzero(last == sign), len(places)) for sign in _QUOTES]
    begun, ended = [], []
    reached = np.full(text.max() + 1, -1)
    while len(waiting):
        # the first open quote of each text; what it holds cannot open another one
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
    """The pairs of the words in ``rest`` as maps, null for texts that have none."""
    count = np.bincount(words.text[rest], minlength=len(texts.start))
    offsets = np.append(0, np.cumsum(count)).astype(np.int32)
    values = strings(Spans(texts.data, words.value[rest], words.end[rest]))
    return pa.MapArray.from_arrays(
        pa.array(offsets), keys.take(pa.array(rest)), values, mask=pa.array(count == 0)
    )


def _again(numbers: Ints, limit: int) -> list[int]:
    """The places of numbers below a limit that are there before, in order."""
    if limit <= _MARKED:
        marked = np.zeros(limit, bool)
        marked[numbers] = True
        if np.count_nonzero(marked) == len(numbers):
            return []
    order = np.argsort(numbers, kind="stable")
    found: list[int] = np.sort(order[1:][np.diff(numbers[order]) == 0]).tolist()
    return found

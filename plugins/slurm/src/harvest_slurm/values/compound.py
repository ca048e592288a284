"""Texts made of parts, found for a whole column at once: job ids and lists of resources.

As in ``digits``, only the common spellings are read here, and what is not exactly of their shape
is left to the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import attrs
import numpy as np

from harvest_toolkit.spans import Spans, unsigned, word_at

from .digits import clock, decimal, pieces


@attrs.frozen
class IdParts:
    """Job ids taken apart: ``number``, ``number_task``, each also with ``.step``.

    number, task: the numbers, where ``numbered`` and ``tasked`` say that there is one.
    barred, stepped: whether there is a ``_`` before the step, and whether there is a step.
    plain: whether the step is certainly a word (a number, ``batch``, ``extern``).
    places: where the texts lie: their begin, their first dot (or end), their end.
    texts: gives texts between some begins and ends.
    """

    number: Any
    numbered: Any
    task: Any
    tasked: Any
    barred: Any
    stepped: Any
    plain: Any
    places: tuple[Any, Any, Any]
    texts: Callable[[Any, Any], Any]

    def pick(self, index: Any) -> IdParts:
        """Those of some texts."""
        *columns, places, texts = attrs.astuple(self, recurse=False)
        return IdParts(
            *(column[index] for column in columns),
            tuple(place[index] for place in places),
            texts,
        )

    @property
    def simple(self) -> Any:
        """Which texts are ids in one of the spellings above, with a plain step or none."""
        return self.numbered & (~self.stepped | self.plain) & (self.tasked | ~self.barred)

    @property
    def jobs(self) -> Any:
        """The texts without their steps."""
        begin, dot, _ = self.places
        return self.texts(begin, dot)

    @property
    def steps(self) -> Any:
        """The texts of the steps, empty where there is none."""
        _, dot, end = self.places
        return self.texts(np.minimum(dot + 1, end), end)


def id_parts(text: Spans) -> IdParts:
    """Job ids taken apart; the texts lie without gaps."""
    dots = _first_outside_brackets(text)
    bars = _first(text, ord("_"), dots)
    number, numbered = unsigned(text.data, text.start, bars)
    barred = bars < dots
    task, tasked = unsigned(text.data, bars + 1, dots)
    return IdParts(
        number,
        numbered,
        task,
        tasked & barred,
        barred,
        dots < text.end,
        plain_step(text, dots),
        (text.start, dots, text.end),
        lambda begin, end: pieces(text.data, begin, end),
    )


def _first_outside_brackets(text: Spans) -> Any:
    """Place of the first dot of each text, or its end; the dots of ``1_[1,3,5...]`` do not count.

    The texts lie without gaps.
    """
    dots = _first(text, ord("."), text.end)
    within = np.flatnonzero(_first(text, ord("["), text.end) < dots)
    if len(within):
        dots = dots.copy()
        for row in within.tolist():
            listed = text.data[text.start[row] : text.end[row]].tobytes()
            dot = listed.find(b".", listed.find(b"]")) if b"]" in listed else -1
            dots[row] = text.end[row] if dot < 0 else text.start[row] + dot
    return dots


def simple_ids(text: Spans) -> Any:
    """Which texts are certainly job ids, as ``IdParts.simple``, wherever they lie."""
    dots = text.end.copy()
    for back in range(1, 8):  # .batch, .extern, or a number
        here = text.end - back
        np.copyto(dots, here, where=(here >= text.start) & (text.data[here] == ord(".")))
    numbered = unsigned(text.data, text.start, dots)[1]
    return numbered & ((dots == text.end) | plain_step(text, dots))


_COMMON_STEPS: Final = {len(name): int.from_bytes(name, "little") for name in (b"batch", b"extern")}


def plain_step(text: Spans, dots: Any) -> Any:
    """Which texts end in a step that is a number, ``batch`` or ``extern``."""
    start = np.minimum(dots + 1, text.end)
    length = text.end - start
    found = unsigned(text.data, start, text.end)[1]
    word = word_at(text.data, start)
    for size, value in _COMMON_STEPS.items():
        found |= (length == size) & (word & np.uint64(2 ** (8 * size) - 1) == np.uint64(value))
    return found


def _first(text: Spans, mark: int, end: Any) -> Any:
    """Place of the first such byte of each text, or ``end``; the texts lie without gaps."""
    marks = np.flatnonzero(text.data == mark)
    if not len(marks):
        return end
    after = np.searchsorted(marks, text.start)
    place = marks[np.minimum(after, len(marks) - 1)]
    return np.where((after < len(marks)) & (place < end), place, end)


@attrs.frozen
class Entries:
    """Lists of ``key=amount`` with commas between them.

    keys: text of each entry's key.  amounts: as whole numbers or floats; fine: which were read.
    offsets: of the entries of each text, and one more.  listed: which texts are such a list.
    """

    keys: Any
    amounts: Any
    fine: Any
    offsets: Any
    listed: Any


def entries(text: Spans, *, integers: bool) -> Entries | None:
    """The entries of texts that lie without gaps; None unless every text is a list or empty."""
    full = text.length > 0
    data, bounds = text.data, np.append(text.start, text.end[-1:])
    equals = np.flatnonzero(data == ord("="))
    commas = np.flatnonzero(data == ord(","))
    if not len(bounds):
        return None
    offsets = np.searchsorted(equals, bounds)
    counts = np.diff(offsets)
    separators = np.diff(np.searchsorted(commas, bounds))
    if not (np.where(full, counts - separators == 1, counts + separators == 0)).all():
        return None
    start, end = np.empty(len(equals), np.int64), np.empty(len(equals), np.int64)
    inner = np.ones(len(equals), bool)
    inner[offsets[:-1][full]] = False
    start[inner], start[~inner] = commas + 1, text.start[full]
    inner[:] = True
    inner[offsets[1:][full] - 1] = False
    end[inner], end[~inner] = commas, text.end[full]
    if not ((start < equals) & (equals < end)).all():
        return None
    values, fine = _amounts(Spans(data, equals + 1, end), integers=integers)
    return Entries(pieces(data, start, equals), values, fine, offsets.astype(np.int32), full)


def _amounts(text: Spans, *, integers: bool) -> tuple[Any, Any]:
    values, good = decimal(text)
    found = values if integers else values.astype(np.float64)
    if not good.all():
        other = np.flatnonzero(~good)
        clocks = Spans(text.data, text.start[other], text.end[other])
        seconds, fine = clock(clocks)
        found[other[fine]] = seconds[fine]
        good[other[fine]] = True
    return found, good

"""The columnar parser: a value of all lines of a block at a time, with numpy.

It goes through the steps of a layout with one place per line; a line that is not exactly as the
layout says is odd, and the reference finds out what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .attributes import Type
from .layout import LONGEST_LINE, Layout, Step
from .paths import readable, spans, unescaped
from .program import KINDS, Odd, Parsed, hard_reals, literals_of, words_of
from .reference import Damaged, text_value
from .vectors import Bytes, Flags, Ints

__all__ = ["Columnar"]

LINES: Final = 65_536
"""Lines of one batch at most."""

WINDOW_BYTES: Final = 4 << 20
"""Bytes parsed at a time: few enough to stay near the processor while all values are read."""

_POWERS: Final = 10.0 ** np.arange(23)
_SPECIAL: Final = "[^ -\\[\\]-~]|%"
"""In text, a byte that is not printable ASCII, or may begin an escape."""


class Columnar:
    """Parses blocks of lines with numpy and Arrow."""

    def __init__(self, layout: Layout):
        self._layout = layout
        self._literals = literals_of(layout)

    def parse(self, data: Any, start: int, stop: int) -> Parsed:
        """Rows of the first lines between two places of a buffer of whole lines.

        data: bytes, with at least 64 zeros behind ``stop``.
        """
        window = min(stop, start + WINDOW_BYTES)
        ends = np.flatnonzero(data[start:window] == ord("\n"))[:LINES] + start
        if not len(ends):
            ends = np.flatnonzero(data[start:stop] == ord("\n"))[:1] + start
        begins = np.empty_like(ends)
        begins[0], begins[1:] = start, ends[:-1] + 1
        lines = np.flatnonzero(ends - begins <= LONGEST_LINE)
        batch = _Batch(self._layout, self._literals, data, begins[lines], ends[lines])
        parsed = batch.parsed(lines)
        odd = np.ones(len(ends), bool)
        odd[parsed.lines] = False
        strange = np.flatnonzero(odd)
        parsed.odd = [
            Odd(*numbers)
            for numbers in np.stack([strange, begins[strange], ends[strange]], 1).tolist()
        ]
        parsed.count, parsed.stop = len(ends), int(ends[-1]) + 1
        return parsed


class _Batch:
    """Some lines while they are parsed.

    place: how far each of them is; good: which of them are as the layout says so far.  A line that
    is not waits at its end, where nothing can be read.
    """

    def __init__(self, layout: Layout, literals: list[bytes], data: Any, begins: Ints, ends: Ints):
        self.layout = layout
        self.literals = literals
        self.bytes = Bytes(data, words_of(data))
        self.data = data
        self.place = begins.copy()
        self.ends = ends
        self.good: Flags = np.ones(len(ends), bool)
        self.numbers: dict[str, Any] = {}
        self.reals: dict[str, Any] = {}
        self.texts: dict[Any, tuple[Step, Ints, Ints]] = {}
        self.same: list[tuple[Any, Ints, Ints]] = []
        self.relative: tuple[Ints, Ints] | None = None
        self.path: tuple[Ints, Ints] | None = None

    def parsed(self, lines: Ints) -> Parsed:
        """Rows of all lines that are good; ``lines`` are their numbers."""
        for index, step in enumerate(self.layout.steps):
            self._expect(self.literals[index])
            self._value(index, step)
        self._expect(self.literals[-1])
        if self.layout.record:
            path = self.path or self.relative
            assert path is not None
        else:
            path = (self.place, self.ends)
        return self._columns(lines, path)

    def _keep(self, fine: Flags) -> None:
        """Give up the lines that are not fine."""
        if not fine.all():
            self.good &= fine
            lost = ~self.good
            self.place[lost] = self.ends[lost]

    def _expect(self, literal: bytes) -> None:
        if literal:
            fine = self.bytes.stands(literal, self.place)
            self.place = self.place + len(literal)
            self._keep(fine)

    def _value(self, index: int, step: Step) -> None:
        kind = step.type
        after = self.literals[index + 1]
        name = self._name(step)
        if kind in (Type.TEXT, Type.FLAGS, Type.MODE, Type.SAME_TEXT):
            end, fine = self.bytes.text(self.place, after)
            start, self.place = self.place, end
            if kind is Type.SAME_TEXT:
                self.same.append((name, start, end))
            else:
                self.texts[name] = (step, start, end)
            self._keep(fine)
        elif kind is Type.TIME:
            value, self.place, fine = self.bytes.time(self.place, escaped=self.layout.escaped)
            self.numbers[name] = value
            self._keep(fine)
        elif kind is Type.REAL:
            self._real(name, after)
        elif kind in (Type.HEX_UNSIGNED, Type.HEX_WHOLE):
            bits, count = self.bytes.hexadecimal(self.place)
            self.place = self.place + count
            self.numbers[name] = bits.view(np.int64)
            fine = (count >= 1) & (count <= 16)
            self._keep(fine & ((kind is Type.HEX_UNSIGNED) | (self.numbers[name] >= 0)))
        elif kind is Type.FULL_PATH:
            self._full_path(after)
        elif kind in (Type.COUNTED_PATH, Type.COUNTED_TEXT, Type.SHOW_LENGTH):
            self._counted(kind, name, step)
        else:
            self._number(kind, name, kept=step.kept)

    def _name(self, step: Step) -> Any:
        return step.column if step.column is not None else (step.name,)

    def _number(self, kind: Type, name: Any, *, kept: bool) -> None:
        minus = None
        if kind is Type.SIGNED and (self.data[self.place] == ord("-")).any():
            minus = self.data[self.place] == ord("-")
            self.place = self.place + minus
        value, count = self.bytes.digits(self.place)
        self.place = self.place + count
        fine = (count >= 1) & (count <= 18)
        if kind is Type.KIBIBYTES:
            fine &= value < 2**53
            value *= 1024
        if minus is not None:
            value = np.where(minus, -value, value)
        if kept:
            self.numbers[name] = value
        self._keep(fine)

    def _real(self, name: Any, after: bytes) -> None:
        """Numbers as 1.5E-003.

        Of up to 15 digits with a power of ten up to 22, one multiplication or division of two
        exact numbers gives the nearest double; Arrow reads the others.
        """
        read, data, escaped = self.bytes, self.data, self.layout.escaped
        first = self.place
        missing = read.stands(after, first)
        sign = data[first] == ord("-")
        place = first + sign + read.mark(first, ord("+"), escaped=escaped)
        whole, count = read.digits(place)
        fine = (count >= 1) & (count <= 18)
        place = place + np.where(fine, count, 0)
        dotted = data[place] == ord(".")
        part, decimals = read.digits(place + dotted)
        decimals = np.where(dotted, decimals, 0)
        fine &= (decimals >= 1) | ~dotted
        fine &= count + decimals <= 18
        decimals = np.where(fine, decimals, 0)
        place = place + dotted + decimals
        value = whole * (10**decimals) + np.where(dotted, part, 0)
        raised = (data[place] == ord("E")) | (data[place] == ord("e"))
        minus = raised & (data[place + 1] == ord("-"))
        at = place + raised + minus
        at = at + np.where(raised, read.mark(at, ord("+"), escaped=escaped), 0) * ~minus
        power, digits = read.digits(at)
        fine &= ~raised | ((digits >= 1) & (digits <= 3))
        power = np.where(raised & fine, np.where(minus, -power, power), 0) - decimals
        place = np.where(raised & fine, at + digits, place)
        fine &= power <= 280
        easy = (value < 10**15) & (np.abs(power) <= 22)
        scale = _POWERS[np.where(easy, np.abs(power), 0)]
        amount = np.where(power < 0, value / scale, value * scale)
        amount = np.where(sign, -amount, amount)
        amount[value == 0] = np.where(sign, -0.0, 0.0)[value == 0]
        hard = np.flatnonzero(fine & ~missing & ~easy & (value != 0))
        if hard.size:
            amount[hard] = hard_reals(data, first[hard], place[hard])
        self.reals[name] = np.where(missing, np.nan, amount)
        self.place = np.where(missing, first, place)
        self._keep(fine | missing)

    def _counted(self, kind: Type, name: Any, step: Step) -> None:
        """A length, an exclamation mark, and as many bytes."""
        size, count = self.bytes.digits(self.place)
        fine = (count >= 1) & (count <= 9) & (self.data[self.place + np.minimum(count, 18)] == 33)
        start = self.place + np.where(fine, count + 1, 0)
        end = start + np.where(fine, size, 0)
        if kind is Type.SHOW_LENGTH:
            self.place = start
            self._keep(fine & (end == self.ends))
            return
        fine &= end <= self.ends
        self.place = np.where(fine, end, start)
        if kind is Type.COUNTED_PATH:
            self.relative = (start, self.place)
        else:
            self.texts[name] = (step, start, self.place)
        self._keep(fine)

    def _full_path(self, after: bytes) -> None:
        """Up to the last place where the bytes after it stand; it ends as the record's own path."""
        start, assumed = self.place, self.ends + 1 - len(after)
        end = assumed.copy()
        waiting = np.flatnonzero(self.good)
        while waiting.size:
            waiting = waiting[~self.bytes.stands(after, end[waiting])]
            end[waiting] -= 1
            waiting = waiting[end[waiting] >= start[waiting]]
            if waiting.size and (assumed[waiting[0]] - end[waiting[0]]) > 512:
                end[waiting] = start[waiting] - 1
                break
        fine = end >= start
        end = np.where(fine, end, start)
        self.path, self.place = (start, end), end
        self._keep(fine)
        if self.relative is not None:
            self._keep(self._ends_alike(start, end, *self.relative))

    def _ends_alike(self, start: Ints, end: Ints, first: Ints, last: Ints) -> Flags:
        """Where one span ends with another one, behind a slash."""
        size = last - first
        tail = end - size
        fine: Flags = self.good & (tail >= start)
        some = np.flatnonzero(fine)
        alike = pc.equal(
            spans(self.data, tail[some], end[some]), spans(self.data, first[some], last[some])
        )
        fine[some] = alike.to_numpy(zero_copy_only=False)
        slash = self.data[np.maximum(tail - 1, 0)] == ord("/")
        if self.layout.path_escaped:
            slash |= (tail - start >= 3) & self.bytes.stands(b"%2F", np.maximum(tail - 3, 0))
        fine &= (size == 0) | (tail == start) | slash
        return fine

    def _columns(self, lines: Ints, path: tuple[Ints, Ints]) -> Parsed:
        rows = np.flatnonzero(self.good)
        for name, start, end in self.same:
            _, first, last = self.texts[name]
            alike = pc.equal(
                spans(self.data, start[rows], end[rows]), spans(self.data, first[rows], last[rows])
            )
            rows = rows[alike.to_numpy(zero_copy_only=False)]
        fine = np.ones(len(rows), bool)
        kinds = {"flags": np.zeros(len(rows), np.int8), "mode": np.zeros(len(rows), np.int8)}
        texts: dict[Any, pa.Array] = {}
        for name, (step, start, end) in self.texts.items():
            raw = spans(self.data, start[rows], end[rows])
            texts[name], found = self._decoded(step, raw, fine)
            if step.type in (Type.FLAGS, Type.MODE):
                kinds[str(step.column)] = found
        by_flags, by_mode = kinds["flags"], kinds["mode"]
        fine &= (by_flags == 0) | (by_mode == 0) | (by_flags == by_mode)
        start, end = path[0][rows], path[1][rows]
        names, damaged = unescaped(spans(self.data, start, end), percent=self.layout.path_escaped)
        fine &= ~damaged
        rooted = not (self.layout.record and self.path is None)
        first = pc.starts_with(names, b"/") if rooted else pc.greater(pc.binary_length(names), 0)
        fine &= first.to_numpy(zero_copy_only=False)
        kind = np.where(by_flags > 0, by_flags, by_mode)
        keep: Callable[[Any], Any] = lambda values: values  # noqa: E731
        if not fine.all():
            chosen = np.flatnonzero(fine)
            rows, kind = rows[chosen], kind[chosen]
            keep = lambda values: values.take(pa.array(chosen))  # noqa: E731
        path_text, path_raw = readable(keep(names))
        whole = len(rows) == len(self.place)
        return Parsed(
            lines=lines[rows],
            numbers={
                name: values if whole else values[rows] for name, values in self.numbers.items()
            },
            reals={name: values[rows] for name, values in self.reals.items()},
            texts={name: keep(values) for name, values in texts.items()},
            path=path_text,
            path_raw=path_raw,
            kinds=kind,
            odd=[],
            count=0,
            stop=0,
        )

    def _decoded(self, step: Step, raw: pa.Array, fine: Flags) -> tuple[pa.Array, Any]:
        """Texts with their escapes undone, and the kinds that they say; clears ``fine``.

        Each different text is looked at once.
        """
        coded = raw.dictionary_encode()
        places = coded.indices.to_numpy()
        values = coded.dictionary
        odd = pc.match_substring_regex(values, _SPECIAL).to_numpy(zero_copy_only=False)
        if step.type in (Type.FLAGS, Type.MODE):
            odd[:] = True
        kinds = np.zeros(len(values), np.int8)
        some = np.flatnonzero(odd)
        if len(some):
            made: list[bytes] = []
            wrong = []
            escaped = self.layout.escaped and step.type is not Type.COUNTED_TEXT
            for at, value in zip(
                some.tolist(), values.take(pa.array(some)).to_pylist(), strict=True
            ):
                try:
                    text, kind = text_value(value, step, percent=escaped)
                except Damaged:
                    wrong.append(at)
                    made.append(b"")
                    continue
                made.append(text.encode())
                kinds[at] = KINDS.index(kind)
            order = np.arange(len(values))
            order[some] = len(values) + np.arange(len(some))
            values = pa.concat_arrays([values, pa.array(made, pa.binary())]).take(pa.array(order))
            if wrong:
                fine &= ~np.isin(places, np.array(wrong))
        return values.cast(pa.string()).take(coded.indices), kinds[places]

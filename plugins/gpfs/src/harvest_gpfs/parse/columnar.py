"""The columnar parser: reads one value of all lines in a block at a time, with numpy and Arrow.

It follows the steps of a layout with one position per line. A line that does not match the layout
exactly is odd; the reference parser finds its error.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from harvest import record_type

from ..records import GpfsFile
from .layout import LONGEST_LINE, Layout, Step, Type
from .reference import Damaged, Row, text_value
from .vectors import DIGITS, Bytes, Flags, Ints, flags, readable, replaced, spans, unescaped

_KINDS: Final = (None, "file", "directory", "symlink", "other")
_NUMBERS: Final = (Type.UNSIGNED, Type.WHOLE, Type.SIGNED, Type.KIBIBYTES, Type.SKIPPED)
_TEXTS: Final = (Type.TEXT, Type.FLAGS, Type.MODE, Type.SAME_TEXT)
_TIME_BYTES: Final = 32
SLACK: Final = 4096
"""Zeros after the last line, so that values are read without checking for the block's end."""
_COLD: Final = {True: b"%2B0.00000000000000E%2B000", False: b"+0.00000000000000E+000"}
"""Heat of files without heat, escaped and not escaped."""
_DECIMAL: Final = {
    escaped: rf"^(?:-|{plus})?\d{{1,18}}(?:\.\d{{1,18}})?"
    rf"(?:[eE](?:-\d{{1,3}}|(?:{plus})?0?\d{{1,2}}))?$"
    for escaped, plus in ((False, r"\+"), (True, r"\+|%2[Bb]"))
}
"""Pattern of decimal numbers in the range of a double, escaped and not escaped."""
_SPECIAL: Final = "[^ -\\[\\]-~]|%"
"""Pattern of bytes in text that are not printable ASCII, or may start an escape."""


def parse_block(
    layout: Layout, block: bytes, buffer: Any, first: int
) -> tuple[pa.Table, list[tuple[int, int, int]], int]:
    """Parse a block of whole lines.

    buffer: array of uint8 to work in, at least ``SLACK`` longer than the block.
    first: number of the block's first line.
    Returns the rows of lines that match the layout; number, start and end of each other line, in
    order; and the number of all lines.
    """
    data = buffer[: len(block) + SLACK]
    data[: len(block)] = np.frombuffer(block, np.uint8)
    data[len(block) :] = 0
    ends = np.flatnonzero(data == ord("\n"))
    begins = np.zeros_like(ends)
    begins[1:] = ends[:-1] + 1
    whole = np.flatnonzero(ends - begins <= LONGEST_LINE)
    rows, columns = _Lines(layout, data, begins[whole], ends[whole]).parsed()
    columns["position"] = whole[rows] + first
    schema = schema_of(layout)
    arrays = [_array(columns[field.name], field.type) for field in schema]
    odd = np.ones(len(ends), bool)
    odd[whole[rows]] = False
    numbers = (np.flatnonzero(odd) + first).tolist()
    places = zip(numbers, begins[odd].tolist(), ends[odd].tolist(), strict=True)
    return pa.table(arrays, schema=schema), list(places), len(ends)


def table_of(layout: Layout, rows: Iterable[tuple[int, Row]]) -> pa.Table:
    """Build a table like those of ``parse_block`` from line numbers and rows."""
    listed = [
        {**row, "position": line, "extra": list((row["extra"] or {}).items())} for line, row in rows
    ]
    return pa.Table.from_pylist(listed, schema=schema_of(layout))


_SCHEMA: Final = record_type(GpfsFile).arrow_schema


def schema_of(layout: Layout) -> pa.Schema:
    """Return the columns of tables from lines of a layout; all have the same order."""
    columns = {step.column for step in layout.steps} | {"path_raw", "kind", "position", "path"}
    if any(step.column is None and step.kept for step in layout.steps):
        columns.add("extra")
    return pa.schema([field for field in _SCHEMA if field.name in columns])


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    """Convert values to an Arrow array: NaN becomes null; integers share their memory."""
    if isinstance(values, pa.Array):
        return values
    if kind == pa.float64():
        return pa.array(values, kind, from_pandas=True)
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(kind, len(values), [None, data])


def _maps(columns: dict[str, pa.Array], count: int) -> pa.Array:
    """Build a map for each row: the names, and the row's text for each."""
    width = len(columns)
    order = np.arange(width * count).reshape(width, count).T.ravel()
    items = pa.concat_arrays(list(columns.values())).take(pa.array(order))
    keys = pa.array(list(columns), pa.string()).take(pa.array(np.tile(np.arange(width), count)))
    offsets = pa.array(np.arange(count + 1) * width, pa.int32())
    return pa.MapArray.from_arrays(offsets, keys, items)


class _Lines:
    """Lines of a block during parsing.

    place: current position in each line; good: whether each line matches the layout so far. A line
        that does not match is moved to its end, where nothing can be read.
    texts: start and end of each text; numbers: all other values.
    """

    def __init__(self, layout: Layout, data: Any, begins: Ints, ends: Ints):
        self.layout = layout
        self.bytes = Bytes(data)
        self.data = data
        self.place = begins.copy()
        self.ends = ends
        self.good: Flags = np.ones(len(ends), bool)
        self.numbers: dict[str, Any] = {}
        self.texts: list[tuple[Step, Ints, Ints]] = []
        self.relative: tuple[Ints, Ints] | None = None
        self.path: tuple[Ints, Ints] | None = None

    def parsed(self) -> tuple[Ints, dict[str, Any]]:
        """Return the indices of valid lines, and their columns.

        Text columns are Arrow arrays. Numbers and times are 64-bit integers, decimal numbers
        doubles with NaN for missing ones.
        """
        literals = self.layout.literals
        for step, (before, after) in zip(self.layout.steps, pairwise(literals), strict=True):
            self._value(step, before, after)
        self._expect(literals[-1])
        if not self.layout.record:
            return self._columns((self.place, self.ends), rooted=True)
        assert self.relative is not None
        return self._columns(self.path or self.relative, rooted=self.path is not None)

    def _keep(self, fine: Flags) -> None:
        if not fine.all():
            self.good &= fine
            lost = ~self.good
            self.place[lost] = self.ends[lost]

    def _expect(self, literal: bytes) -> None:
        if literal:
            fine = self.bytes.stands(literal, self.place)
            self.place = self.place + len(literal)
            self._keep(fine)

    def _value(self, step: Step, before: bytes, after: bytes) -> None:
        """Read the literal ``before`` and a value, which ends at the literal ``after``."""
        kind = step.type
        if kind is Type.TIME:
            self._time(step, before)
        elif kind in _NUMBERS:
            self._number(step, before)
        else:
            self._expect(before)
            if kind in _TEXTS:
                start = self.place
                self.place, fine = self.bytes.text(start, after)
                self.texts.append((step, start, self.place))
                self._keep(fine)
            elif kind is Type.REAL:
                self._real(step, after)
            elif kind is Type.FULL_PATH:
                self._full_path(after)
            elif kind in (Type.HEX_UNSIGNED, Type.HEX_WHOLE):
                self._hexadecimal(step)
            else:
                self._counted(step)

    def _time(self, step: Step, before: bytes) -> None:
        at = len(before)
        ahead = self.bytes.ahead(self.place, at + _TIME_BYTES)
        value, size, fine = ahead.time(at, escaped=self.layout.escaping.show)
        self._store(step, value)
        self.place = self.place + (at + size)
        self._keep(fine & ahead.stands(before))

    def _number(self, step: Step, before: bytes) -> None:
        at = len(before)
        ahead = self.bytes.ahead(self.place, at + DIGITS)
        fine = ahead.stands(before)
        place = self.place + at
        minus = None
        if step.type is Type.SIGNED and (signs := ahead.byte(at) == ord("-")).any():
            minus, place = signs, place + signs
            value, count = self.bytes.digits(place)
        else:
            value, count = ahead.digits(at)
        self.place = place + count
        fine &= (count >= 1) & (count <= 18)
        if step.type is Type.KIBIBYTES:
            fine &= value < 2**53
            value *= 1024
        self._store(step, value if minus is None else np.where(minus, -value, value))
        self._keep(fine)

    def _hexadecimal(self, step: Step) -> None:
        bits, count = self.bytes.ahead(self.place, DIGITS).hexadecimal(0)
        self.place = self.place + count
        value = bits.view(np.int64)
        self._store(step, value)
        signless = step.type is Type.HEX_UNSIGNED
        self._keep((count >= 1) & (count <= 16) & (signless | (value >= 0)))

    def _store(self, step: Step, value: Any) -> None:
        if step.column is not None:
            self.numbers[step.column] = value

    def _real(self, step: Step, after: bytes) -> None:
        """Read decimal numbers such as 1.5E-003, which may be missing; most files have no heat."""
        cold = _COLD[self.layout.escaping.show]
        some = np.flatnonzero(~self.bytes.stands(cold + after, self.place))
        start = self.place[some]
        end, found = self.bytes.text(start, after)
        texts = spans(self.data, start, end)
        read = found & flags(pc.match_substring_regex(texts, _DECIMAL[self.layout.escaping.show]))
        plain = texts.filter(pa.array(read))
        for plus in ("+", "%2B", "%2b"):
            plain = pc.replace_substring(plain, plus, "")
        value = np.zeros(len(self.place))
        value[some] = np.nan
        value[some[read]] = plain.cast(pa.string()).cast(pa.float64()).to_numpy()
        self.numbers[str(step.column)] = value
        self.place = self.place + len(cold)
        self.place[some] = end
        fine = np.ones(len(self.place), bool)
        fine[some] = read | (found & (start == end))
        self._keep(fine)

    def _counted(self, step: Step) -> None:
        """Read a length, an exclamation mark, and as many bytes."""
        size, count = self.bytes.digits(self.place)
        fine = (count >= 1) & (count <= 9) & (self.data[self.place + np.minimum(count, 18)] == 33)
        start = self.place + np.where(fine, count + 1, 0)
        end = start + np.where(fine, size, 0)
        if step.type is Type.SHOW_LENGTH:
            self.place = start
            self._keep(fine & (end == self.ends))
            return
        fine &= end <= self.ends
        self.place = np.where(fine, end, start)
        if step.type is Type.COUNTED_PATH:
            self.relative = (start, self.place)
        else:
            self.texts.append((step, start, self.place))
        self._keep(fine)

    def _full_path(self, after: bytes) -> None:
        """Read a path up to the last ``after``; the path must end with the record's own path."""
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
        if self.relative is None:
            return
        first, last = self.relative
        size = last - first
        tail = end - size
        fine = self.good & (tail >= start)
        some = np.flatnonzero(fine)
        fine[some] = self._alike(tail[some], end[some], first[some], last[some])
        slash = self.data[np.maximum(tail - 1, 0)] == ord("/")
        if self.layout.escaping.path:
            slash |= (tail - start >= 3) & self.bytes.stands(b"%2F", np.maximum(tail - 3, 0))
        self._keep(fine & ((size == 0) | (tail == start) | slash))

    def _alike(self, start: Ints, end: Ints, first: Ints, last: Ints) -> Flags:
        return flags(pc.equal(spans(self.data, start, end), spans(self.data, first, last)))

    def _columns(self, path: tuple[Ints, Ints], *, rooted: bool) -> tuple[Ints, dict[str, Any]]:
        """Decode the texts; ``rooted``: whether paths must start with a slash."""
        rows = np.flatnonzero(self.good)
        # the first text of a column fills it; other texts of the column must be equal
        first_of = {step.column: (first, last) for step, first, last in reversed(self.texts)}
        for step, start, end in self.texts:
            if step.type is Type.SAME_TEXT:
                first, last = first_of[step.column]
                rows = rows[self._alike(start[rows], end[rows], first[rows], last[rows])]
        fine = np.ones(len(rows), bool)
        kinds = {kind: np.zeros(len(rows), np.int8) for kind in (Type.FLAGS, Type.MODE)}
        columns: dict[str, Any] = {}
        extra: dict[str, pa.Array] = {}
        for step, start, end in self.texts:
            if step.type is Type.SAME_TEXT:
                continue
            raw = spans(self.data, start[rows], end[rows])
            texts, kinds[step.type] = self._decoded(step, raw, fine)
            if step.column is None:
                extra[step.name] = texts
            else:
                columns[step.column] = texts
        by_flags, by_mode = kinds[Type.FLAGS], kinds[Type.MODE]
        fine &= (by_flags == 0) | (by_mode == 0) | (by_flags == by_mode)
        names, damaged = unescaped(self.data, path[0][rows], path[1][rows], self.layout.path_escape)
        fine &= ~damaged
        first = pc.starts_with(names, b"/") if rooted else pc.greater(pc.binary_length(names), 0)
        fine &= flags(first)
        kind = np.where(by_flags > 0, by_flags, by_mode)
        columns["kind"] = pa.array(_KINDS, pa.string()).take(pa.array(kind))
        if not fine.all():
            chosen = pa.array(np.flatnonzero(fine))
            rows, names = rows[chosen], names.take(chosen)
            columns = {name: values.take(chosen) for name, values in columns.items()}
            extra = {name: values.take(chosen) for name, values in extra.items()}
        columns["path"], columns["path_raw"] = readable(names)
        if extra:
            columns["extra"] = _maps(extra, len(rows))
        if len(rows) < len(self.place):
            self.numbers = {name: values[rows] for name, values in self.numbers.items()}
        return rows, columns | self.numbers

    def _decoded(self, step: Step, raw: pa.Array, fine: Flags) -> tuple[pa.Array, Any]:
        """Decode texts, and return the file kinds that they state; clear ``fine`` for invalid ones.

        Each distinct text is decoded only once. In a column, an empty text becomes null.
        """
        coded = raw.dictionary_encode()
        places = coded.indices.to_numpy()
        values = coded.dictionary
        odd = flags(pc.match_substring_regex(values, _SPECIAL))
        if step.type in (Type.FLAGS, Type.MODE):
            odd[:] = True
        kinds = np.zeros(len(values), np.int8)
        some = np.flatnonzero(odd)
        if len(some):
            made = [b""] * len(some)
            wrong = []
            # a length with a minus sign marks escaped text: the reference parser reads those lines
            escape = b"" if step.type is Type.COUNTED_TEXT else self.layout.escape
            for number, value in enumerate(values.take(pa.array(some)).to_pylist()):
                try:
                    text, kind = text_value(value, step, escape)
                except Damaged:
                    wrong.append(some[number])
                    continue
                made[number] = text.encode()
                kinds[some[number]] = _KINDS.index(kind)
            values = replaced(values, some, pa.array(made, pa.binary()))
            if wrong:
                fine &= ~np.isin(places, np.array(wrong))
        if step.column is not None:
            values = pc.if_else(pc.equal(pc.binary_length(values), 0), None, values)
        return values.cast(pa.string()).take(coded.indices), kinds[places]

"""Rows of text read by compiled loops: the same columns as those of ``grid``, sooner.

Imported only where numba is installed and the input repays loading it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import attrs
import numpy as np
import pyarrow as pa

from . import kernels
from .digits import PAD
from .grid import Column, Read, Shape
from .parts import Entries, IdParts

__all__ = ["WalkedRows", "walk"]

_CODES: Final[dict[Shape, int]] = {
    "": kernels.NOTHING,
    "text": kernels.TEXT,
    "whole": kernels.WHOLE,
    "clock": kernels.CLOCK,
    "decimal": kernels.DECIMAL,
    "moment": kernels.MOMENT,
    "pair": kernels.PAIR,
}
_BITS: Final = (
    kernels.NUMBERED,
    kernels.TASKED,
    kernels.BARRED,
    kernels.STEPPED,
    kernels.PLAIN,
)
_SAMPLE: Final = 65_536


def walk(
    data: Any, end: int, names: Sequence[str], mark: bytes, id_name: str, **line_ends: bool
) -> tuple[Any, Any, WalkedRows, Any, Any]:
    """Lines of a block and their fields, in one pass over its bytes.

    data: whole lines from ``PAD`` to ``end``, with room at both ends.  names: fields of a row.
    mark: the delimiter, of no more than ``PAD`` bytes, without line ends.  id_name: of the field
    with the job id.  line_ends: ``trailing`` and ``crlf`` of the layout.

    Gives begin and end of each line; the lines with as many fields as are due as rows, which lines
    they are (also as their positions), and which certainly have a job id.
    """
    sample = data[PAD : min(end, PAD + _SAMPLE)].tobytes()
    rare = min(range(len(mark)), key=lambda place: sample.count(mark[place : place + 1]))
    first, last, places, marks, certain = kernels.lines(
        data,
        end,
        len(names),
        np.frombuffer(mark, np.uint8),
        rare,
        line_ends["trailing"],
        line_ends["crlf"],
        names.index(id_name),
    )
    rows = WalkedRows(names, data, marks, np.arange(len(places)), places)
    return first, last, rows, places, certain


@attrs.define
class WalkedRows:
    """Rows whose fields lie in one buffer, each with its neighbours.

    data: bytes, with room at both ends.  marks: per row, begin and end of each of its fields, with
    room for more rows.  rows: which rows of the marks these rows are.
    surveyed: columns that were read together.
    """

    names: Sequence[str]
    data: Any
    marks: Any
    rows: Any
    position: Any
    surveyed: _Survey | None = None

    def column(self, name: str) -> Column:
        """One field of all rows."""
        return _WalkedColumn(self, name)

    def pick(self, index: Any) -> WalkedRows:
        """Some of the rows, by their indices."""
        rows, position = self.rows[index], self.position[index]
        return WalkedRows(self.names, self.data, self.marks, rows, position)

    def extended(self, data: Any, begin: Any, end: Any) -> WalkedRows:
        """The same rows and more, whose fields lie in ``data`` behind what these rows' do."""
        count, old = len(self.rows) + len(begin), len(self.rows)
        marks = self.marks
        if count > len(marks):
            marks = np.concatenate([marks[:old], np.empty((count - old, marks.shape[1]), np.int32)])
        marks[old:count, 0::2], marks[old:count, 1::2] = begin, end
        return WalkedRows(self.names, data, marks, np.arange(count), np.arange(count))

    def expect(self, shapes: Mapping[str, Shape]) -> WalkedRows:
        """The same rows; these columns are read together, each as what it is to hold."""
        return attrs.evolve(self, surveyed=self.survey(shapes))

    def survey(self, shapes: Mapping[str, Shape]) -> _Survey:
        """Some columns, read together."""
        return _Survey(self.data, self.marks, self.rows, self._places(shapes), shapes)

    def id_parts(self, names: Sequence[str]) -> list[IdParts]:
        """Job ids of some columns taken apart."""
        flags, number, task, dots = kernels.ids(
            self.data, self.marks, self.rows, self._places(names)
        )
        found = []
        for k, name in enumerate(names):
            numbered, tasked, barred, stepped, plain = ((flags[k] & bit) != 0 for bit in _BITS)
            begin, end = self.bounds(name)
            found.append(
                IdParts(
                    *(number[k], numbered, task[k], tasked, barred, stepped, plain),
                    places=(begin, dots[k], end),
                    texts=self._between,
                )
            )
        return found

    def bounds(self, name: str, index: Any = slice(None)) -> tuple[Any, Any]:
        """Where texts of a column begin and end."""
        (place,), rows = self._places([name]), self.rows[index]
        return self.marks[rows, 2 * place], self.marks[rows, 2 * place + 1]

    def _between(self, begin: Any, end: Any) -> Any:
        return _texts(self.data, begin, end)

    def _places(self, names: Iterable[str]) -> Any:
        order = list(self.names)
        return np.array([order.index(name) for name in names], np.int64)


class _WalkedColumn(Column):
    """One field of rows whose fields lie in one buffer."""

    def __init__(self, rows: WalkedRows, name: str):
        self._rows = rows
        self._name = name

    @cached_property
    def _read(self) -> _Survey:
        expected = self._rows.surveyed
        if expected is not None and self._name in expected.shapes:
            return expected
        return self._rows.survey({self._name: "text"})

    @cached_property
    def full(self) -> Any:
        return self._read.full[self._read.places[self._name]]

    @cached_property
    def blank(self) -> bool:
        return bool(self._read.tally[self._read.places[self._name], 0] == 0)

    @cached_property
    def text(self) -> Any:
        if self._read.shapes[self._name] == "text":
            return self._read.text(self._name)
        return self.some(slice(None))

    def some(self, index: Any) -> Any:
        return _texts(self._rows.data, *self._rows.bounds(self._name, index))

    def read(self, shape: Shape) -> Read:
        if self._read.shapes[self._name] == shape:
            return self._read.read(self._name)
        return self._rows.survey({self._name: shape}).read(self._name)

    def id_parts(self) -> IdParts:
        return self._rows.id_parts([self._name])[0]

    def entries(self, *, integers: bool) -> Entries | None:
        data, *bounds = self._read.bounds(self._name)
        offsets, listed, begin, end, amounts, exact, fine = kernels.entries(data, *bounds)
        keys = _texts(data, begin, end)
        return Entries(keys, amounts if integers else exact, fine, offsets, listed)


class _Survey:
    """Some columns of some rows, read together."""

    def __init__(self, data: Any, marks: Any, rows: Any, columns: Any, shapes: Mapping[str, Shape]):
        self.shapes = shapes
        self.places = {name: place for place, name in enumerate(shapes)}
        codes = np.array([_CODES[shape] for shape in shapes.values()], np.int64)
        is_text = codes == kernels.TEXT
        width = np.where(codes == kernels.PAIR, 2, codes > kernels.TEXT)
        self.slots = np.where(is_text, np.cumsum(is_text) - 1, np.cumsum(width) - width)
        self.sizes = kernels.sizes(marks, rows, columns[is_text])
        self.bases = np.append(0, np.cumsum(self.sizes + _SLACK))
        self.bytes = np.empty(int(self.bases[-1]) + _SLACK, np.uint8)
        count = len(rows)
        self.full = np.empty((len(codes), count), np.bool_)
        self.good = np.empty((len(codes), count), np.bool_)
        self.values = np.empty((int(width.sum()), count), np.int64)
        self.offsets = np.empty((len(self.sizes), count + 1), np.int32)
        self.tally = kernels.survey(
            data,
            _at(data),
            marks,
            rows,
            columns,
            codes,
            self.slots,
            self.full,
            self.good,
            self.values,
            self.values.view(np.float64),
            self.offsets,
            self.bases,
            _at(self.bytes),
        )

    def text(self, name: str) -> Any:
        """A column that was read as text."""
        slot = self.slots[self.places[name]]
        begin = self.bases[slot]
        # a copy, for a column that is kept shall not keep the texts of all others
        text = self.bytes[begin : begin + self.sizes[slot]].copy()
        return _strings(self.offsets[slot], text)

    def bounds(self, name: str) -> tuple[Any, Any, Any]:
        """Bytes, with room behind them, and where the texts of a column begin and end there."""
        slot = self.slots[self.places[name]]
        places = self.offsets[slot] + self.bases[slot].astype(np.int32)
        return self.bytes, places[:-1], places[1:]

    def read(self, name: str) -> Read:
        """A column that was read as numbers."""
        place = self.places[name]
        slot, good = self.slots[place], self.good[place]
        values = self.values[slot : slot + (2 if self.shapes[name] == "pair" else 1)]
        if self.shapes[name] == "clock":
            values = values.view(np.float64)
        left = self.full[place] & ~good if self.tally[place, 1] else None
        return Read(tuple(values), good, left)


_SLACK: Final = 16
"""Room behind texts that are copied by eight bytes."""


def _texts(data: Any, begin: Any, end: Any) -> Any:
    size = int((end - begin).sum())
    out = np.empty(size + _SLACK, np.uint8)
    return _strings(kernels.copy(_at(data), begin, end, _at(out)), out[:size])


def _strings(offsets: Any, text: Any) -> Any:
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)


def _at(data: Any) -> Any:
    """The eight bytes at each place, as one word."""
    return np.ndarray((len(data) - 7,), "<u8", data.data, strides=(1,))

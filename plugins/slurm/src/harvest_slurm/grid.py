"""Rows of text: where each field lies in the bytes that were read.

A field becomes a text of its own only when something needs it as text; numbers are read where
they lie (see ``digits``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

import attrs
import numpy as np
import pyarrow as pa

from .digits import Spans, spans, spans_of

__all__ = ["BatchRows", "Column", "GridRows", "RawRows", "pieces"]


class Column:
    """One field of some rows, as spans of bytes and as an Arrow array of text."""

    def __init__(self, text: Any = None, made: tuple[GridRows, int] | None = None):
        self._text = text
        self._made = made

    def __len__(self) -> int:
        return len(self.spans.start)

    @cached_property
    def text(self) -> Any:
        """The texts; empty ones are empty, none is null."""
        if self._made is None:
            return self._text
        rows, place = self._made
        return rows.texts(place)

    @cached_property
    def spans(self) -> Spans:
        """Where the texts lie."""
        if self._made is None:
            return spans(self._text)
        rows, place = self._made
        return rows.spans(place)

    @cached_property
    def blank(self) -> bool:
        """Whether all texts are empty."""
        return not (self.spans.length > 0).any()


class RawRows(Protocol):
    """Some rows of a dump, in their order.

    names: sacct's fields (repeated ones numbered).  position: of each row in the input, from 1.
    """

    names: Sequence[str]
    position: Any

    def column(self, name: str) -> Column:
        """One field of all rows."""

    def pick(self, index: Any) -> RawRows:
        """Some of the rows, by their indices."""


@attrs.define
class GridRows:
    """Rows whose fields lie in one buffer.

    data: bytes, with room at both ends.  marks: per column, where the field of each row begins
    and ends, in turns, growing; the last mark is the end of the buffer.
    rows: which rows of the marks these rows are.
    """

    names: Sequence[str]
    data: Any
    marks: Any
    rows: Any
    position: Any

    def column(self, name: str) -> Column:
        """One field of all rows."""
        return Column(made=(self, list(self.names).index(name)))

    def pick(self, index: Any) -> GridRows:
        """Some of the rows, by their indices."""
        return attrs.evolve(self, rows=self.rows[index], position=self.position[index])

    def spans(self, place: int) -> Spans:
        """Where the fields of a column lie."""
        marks, begin = self.marks[place], self.rows * 2
        return spans_of(self.data, marks[begin].astype(np.int64), marks[begin + 1].astype(np.int64))

    def texts(self, place: int) -> Any:
        """The fields of a column as text."""
        return _every_second(self.data, self.marks[place], self.rows)


def pieces(data: Any, start: Any, end: Any) -> Any:
    """Texts between places of a buffer, where none begins before the one before it ends."""
    marks = np.empty(2 * len(start) + 1, np.int32)
    marks[0:-1:2], marks[1:-1:2], marks[-1] = start, end, len(data)
    return _every_second(data, marks, np.arange(len(start)))


def _every_second(data: Any, marks: Any, rows: Any) -> Any:
    # texts and what lies between them share the buffer; every second one is wanted
    both = pa.Array.from_buffers(
        pa.string(), len(marks) - 1, [None, pa.py_buffer(marks), pa.py_buffer(data)]
    )
    return both.take(pa.array(rows * 2))


@attrs.define
class BatchRows:
    """Rows that are columns of text already."""

    names: Sequence[str]
    batch: pa.RecordBatch
    position: Any

    def column(self, name: str) -> Column:
        """One field of all rows."""
        return Column(self.batch.column(list(self.names).index(name)))

    def pick(self, index: Any) -> BatchRows:
        """Some of the rows, by their indices."""
        taken = self.batch.take(pa.array(index))
        return BatchRows(self.names, taken, self.position[index])

"""Rows of text as places of fields in the bytes that were read.

A field becomes a text of its own only if something needs it as text. Numbers are read in place (see
``digits``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeAlias, cast

import attrs
import numpy as np
import polars as pl
import pyarrow as pa

from harvest_toolkit.spans import Spans, spans


def series(column: Any) -> pl.Series:
    """Return an Arrow column as a polars series, without copying text."""
    return cast("pl.Series", pl.from_arrow(column))


class Column:
    """One field of some rows, as an Arrow array of text and as spans of bytes."""

    def __init__(self, text: Any):
        self._text = text

    def __len__(self) -> int:
        return len(self.full)

    @property
    def text(self) -> Any:
        """The texts; an empty field is an empty text, never null."""
        return self._text

    @cached_property
    def spans(self) -> Spans:
        """The places of the texts in the bytes."""
        return spans(self.text)

    @cached_property
    def full(self) -> Any:
        """A mask of the texts that are not empty."""
        return self.spans.length > 0

    @cached_property
    def blank(self) -> bool:
        """Whether all texts are empty."""
        return not self.full.any()

    def some(self, index: Any) -> Any:
        """Return the texts of some rows."""
        return self.text.take(pa.array(index))

    def same(self, other: Column) -> bool:
        """Return whether another column of the same rows has the same values."""
        lengths = np.array_equal(self.spans.length, other.spans.length)
        return lengths and bool(self.text.equals(other.text))

    def left(self, good: Any) -> Any | None:
        """Return a mask of the texts that are neither empty nor read yet; None without any."""
        left = self.full & ~good
        return left if left.any() else None


@attrs.define
class GridRows:
    """Rows whose fields are in one buffer.

    data: the bytes, with room at both ends.
    marks: per column, the begin and end of each row's field, in turns, in ascending order; the last
        mark is the end of the buffer.
    rows: the rows of the marks that belong to these rows.
    """

    names: Sequence[str]
    data: Any
    marks: Any
    rows: Any
    position: Any

    def column(self, name: str) -> Column:
        """Return one field of all rows."""
        return _GridColumn(self.data, self.marks[list(self.names).index(name)], self.rows)

    def with_records(self, records: Sequence[tuple[int, Sequence[str]]]) -> BatchRows:
        """Append rows, each given by its position and its fields."""
        fields = zip(*(fields for _, fields in records), strict=True)
        columns = [
            pa.concat_arrays([self.column(name).text, pa.array(texts, pa.string())])
            for name, texts in zip(self.names, fields, strict=True)
        ]
        batch = pa.RecordBatch.from_arrays(columns, names=list(self.names))
        position = np.append(self.position, [place for place, _ in records])
        return BatchRows(self.names, batch, position)

    def pick(self, index: Any) -> GridRows:
        """Return some rows by index."""
        return attrs.evolve(self, rows=self.rows[index], position=self.position[index])


class _GridColumn(Column):
    """One field of rows whose fields are in one buffer."""

    def __init__(self, data: Any, marks: Any, rows: Any):
        self._data, self._marks, self._rows = data, marks, rows

    @cached_property
    def text(self) -> Any:
        return self.some(slice(None))

    @cached_property
    def spans(self) -> Spans:
        begin = self._rows * 2
        start, end = self._marks[begin], self._marks[begin + 1]
        return Spans(self._data, start.astype(np.int64), end.astype(np.int64))

    def some(self, index: Any) -> Any:
        # the buffer has texts and what is between them, in turns; only the texts are needed
        both = pa.Array.from_buffers(
            pa.string(),
            len(self._marks) - 1,
            [None, pa.py_buffer(self._marks), pa.py_buffer(self._data)],
        )
        return both.take(pa.array(self._rows[index] * 2))


@attrs.define
class BatchRows:
    """Rows that already are columns of text."""

    names: Sequence[str]
    batch: pa.RecordBatch
    position: Any

    def column(self, name: str) -> Column:
        """Return one field of all rows."""
        return Column(self.batch.column(list(self.names).index(name)))

    def pick(self, index: Any) -> BatchRows:
        """Return some rows by index."""
        taken = self.batch.take(pa.array(index))
        return BatchRows(self.names, taken, self.position[index])


RawRows: TypeAlias = GridRows | BatchRows
"""Rows of a dump, in order.

names: sacct's fields; repeated ones are numbered. position: the place of each row in the input,
    from 1.
"""

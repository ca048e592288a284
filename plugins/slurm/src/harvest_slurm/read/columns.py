"""Rows of text as places of fields in the bytes that were read.

A field becomes a text of its own only if something needs it as text. Numbers are read in place
(see ``digits``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, cast

import attrs
import numpy as np
import polars as pl

from harvest_toolkit.spans import PAD, Spans, padded, spans, strings


def series(column: Any) -> pl.Series:
    """Return an Arrow column as a polars series, without copying text."""
    return cast("pl.Series", pl.from_arrow(column))


class Column:
    """One field of some rows, given as an Arrow array of text or as spans of bytes."""

    def __init__(self, text: Any = None, spans: Spans | None = None):
        if text is not None:
            self.text = text
        if spans is not None:
            self.spans = spans

    def __len__(self) -> int:
        return len(self.full)

    @cached_property
    def text(self) -> Any:
        """The texts; an empty field is an empty text, never null."""
        return strings(self.spans)

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

    def pick(self, index: Any) -> Column:
        """Return the field of some rows, in ascending order."""
        here = self.spans
        return Column(spans=Spans(here.data, here.start[index], here.end[index]))

    def left(self, good: Any) -> Any | None:
        """Return a mask of the texts that are neither empty nor read yet; None without any."""
        left = self.full & ~good
        return left if left.any() else None


@attrs.define
class RawRows:
    """Rows of a dump, in order.

    names: sacct's fields; repeated ones are numbered. columns: one for each name.
    position: the place of each row in the input, from 1.
    """

    names: Sequence[str]
    columns: Sequence[Column]
    position: Any

    def column(self, name: str) -> Column:
        """Return one field of all rows."""
        return self.columns[list(self.names).index(name)]

    def pick(self, index: Any) -> RawRows:
        """Return some rows by index, in ascending order."""
        columns = [column.pick(index) for column in self.columns]
        return RawRows(self.names, columns, self.position[index])

    def with_records(self, records: Sequence[tuple[int, Sequence[str]]]) -> RawRows:
        """Insert rows, each given by its position and its fields."""
        position = np.append(self.position, [place for place, _ in records])
        order = np.argsort(position, kind="stable")
        added = [text.encode() for _, fields in records for text in fields]
        here = self.columns[0].spans.data  # all columns share it
        data = np.concatenate([here, padded(b"".join(added))])
        length = np.array([len(text) for text in added]).reshape(len(records), -1)
        end = length.cumsum().reshape(length.shape) + len(here) + PAD
        columns = []
        for column, first, last in zip(self.columns, (end - length).T, end.T, strict=True):
            start, stop = np.append(column.spans.start, first), np.append(column.spans.end, last)
            columns.append(Column(spans=Spans(data, start[order], stop[order])))
        return RawRows(self.names, columns, position[order])

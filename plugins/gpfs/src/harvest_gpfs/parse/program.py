"""A layout as the columnar parsers take it: which column each value fills, and as what.

Numbers and times share one block of 64-bit integers, reals another, texts a third; a slot is a
column's place in its block.
"""

from __future__ import annotations

from typing import Any, Final

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .attributes import Type
from .layout import Layout

__all__ = ["KINDS", "Odd", "Parsed", "Program", "hard_reals", "literals_of", "words_of"]

KINDS: Final = (None, "file", "directory", "symlink", "other")
"""Kinds of files by the numbers that the parsers give them."""

_REALS: Final = (Type.REAL,)
_TEXTS: Final = (Type.TEXT, Type.FLAGS, Type.MODE, Type.COUNTED_TEXT)
_NOT_STORED: Final = (Type.COUNTED_PATH, Type.SHOW_LENGTH, Type.FULL_PATH)


@attrs.frozen
class Program:
    """Where the values of a layout go.

    numbers, reals: columns by slot.  texts: columns by slot; a name of ``extra`` is ``(name,)``.
    slots: of each step; -1 where its value is not kept.
    """

    layout: Layout
    numbers: tuple[str, ...]
    reals: tuple[str, ...]
    texts: tuple[str | tuple[str], ...]
    slots: tuple[int, ...]

    @classmethod
    def of(cls, layout: Layout) -> Program:
        """The program of a layout."""
        numbers: list[Any] = []
        reals: list[Any] = []
        texts: list[Any] = []
        slots = []
        for step in layout.steps:
            if step.type is Type.SAME_TEXT:
                slots.append(texts.index(step.column))
                continue
            if not step.kept or step.type in _NOT_STORED:
                slots.append(-1)
                continue
            block = texts if step.type in _TEXTS else reals if step.type in _REALS else numbers
            slots.append(len(block))
            block.append(step.column if step.column is not None else (step.name,))
        return cls(layout, tuple(numbers), tuple(reals), tuple(texts), tuple(slots))


@attrs.frozen
class Odd:
    """A line that left no row: its number in the block, from 0, and where it lies there."""

    line: int
    start: int
    stop: int


@attrs.define
class Parsed:
    """What a columnar parser made of some lines.

    lines: number in the block, from 0, of each row's line.
    numbers: by column, 64-bit integers; reals: doubles, not-a-number where missing; texts: Arrow
        arrays of text, empty where missing.
    path, path_raw: Arrow arrays; path_raw is None where it is null in every row.
    kinds: places in ``KINDS``.
    odd: lines that left no row, in order.
    count: lines in all; stop: the place behind the last one.
    """

    lines: Any
    numbers: dict[str, Any]
    reals: dict[str, Any]
    texts: dict[str | tuple[str], pa.Array]
    path: pa.Array
    path_raw: pa.Array | None
    kinds: Any
    odd: list[Odd]
    count: int
    stop: int

    @property
    def rows(self) -> int:
        """How many lines left a row."""
        return len(self.lines)


def words_of(data: Any) -> Any:
    """The eight bytes at each place of a buffer, as little-endian words."""
    return np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))


def hard_reals(data: Any, first: Any, last: Any) -> Any:
    """The numbers between places of a buffer, read by Arrow."""
    texts = [data[at:to].tobytes() for at, to in zip(first.tolist(), last.tolist(), strict=True)]
    array = pa.array(texts, pa.binary()).cast(pa.string())
    plain = pc.replace_substring_regex(array, r"\+|%2[Bb]", "")
    return plain.cast(pa.float64()).to_numpy()


def literals_of(layout: Layout) -> list[bytes]:
    """The bytes before each value, and those after the last; a record's end with its line end."""
    end = layout.end + b"\n" if layout.record else layout.end
    return [*(step.before for step in layout.steps), end]

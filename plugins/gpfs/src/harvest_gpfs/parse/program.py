"""What the columnar parser makes of some lines, and what it asks of their bytes."""

from __future__ import annotations

from typing import Any, Final

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .layout import Layout

__all__ = ["KINDS", "Odd", "Parsed", "hard_reals", "literals_of", "words_of"]

KINDS: Final = (None, "file", "directory", "symlink", "other")
"""Kinds of files by the numbers that the columnar parser gives them."""


@attrs.frozen
class Odd:
    """A line that left no row: its number in the block, from 0, and where it lies there."""

    line: int
    start: int
    stop: int


@attrs.define
class Parsed:
    """What the columnar parser made of some lines.

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

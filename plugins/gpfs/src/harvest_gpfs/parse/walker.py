"""The parser with the compiled kernel: buffers for its columns, and these as Arrow arrays."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from . import native
from .layout import LONGEST_LINE
from .program import Odd, Parsed, Program, hard_reals, literals_of

__all__ = ["Walker"]

LINES: Final = 65_536
"""Lines of one batch at most."""

HARD: Final = 65_536
"""Numbers of one batch at most that the kernel leaves to Arrow."""


class Walker:
    """Parses blocks of lines with the compiled kernel."""

    def __init__(self, program: Program):
        layout = program.layout
        self._program = program
        self._walk = native.load("harvest_gpfs.parse.kernel", "walk")
        self._types = np.array([step.type for step in layout.steps], np.int64)
        self._slots = np.array(program.slots, np.int64)
        self._literals = _encode(literals_of(layout))

    def parse(self, data: Any, start: int, stop: int) -> Parsed:
        """Rows of the first lines between two places of a buffer of whole lines.

        data: bytes, with at least 64 zeros behind ``stop``.
        """
        program = self._program
        layout = program.layout
        room = stop - start + 64
        # fresh ones for every batch: Arrow keeps them until they are written
        numbers = np.empty((len(program.numbers), LINES), np.int64)
        reals = np.empty((len(program.reals), LINES), np.float64)
        texts = np.empty(len(program.texts) * room, np.uint8)
        text_offsets = np.zeros((len(program.texts), LINES + 1), np.int32)
        text_at = np.zeros(len(program.texts), np.int64)
        path = np.empty(room + room // 8, np.uint8)
        path_offsets = np.zeros(LINES + 1, np.int32)
        raw = np.empty(room, np.uint8)
        raw_offsets = np.zeros(LINES + 1, np.int32)
        kinds = np.empty(LINES, np.int8)
        lines = np.empty(LINES, np.int64)
        odd = np.empty((LINES, 3), np.int64)
        hard = np.empty((HARD, 4), np.int64)
        result = np.zeros(5, np.int64)
        self._walk(
            _at(data),
            start,
            stop,
            LONGEST_LINE,
            len(self._types),
            _at(self._types),
            _at(self._slots),
            *map(_at, self._literals),
            layout.escaped,
            layout.path_escaped,
            layout.record,
            LINES,
            room,
            _at(numbers),
            _at(reals),
            _at(hard),
            HARD,
            len(program.texts),
            _at(texts),
            _at(text_offsets),
            _at(text_at),
            _at(path),
            len(path),
            _at(path_offsets),
            _at(raw),
            _at(raw_offsets),
            _at(kinds),
            _at(lines),
            _at(odd),
            _at(result),
        )
        rows, place, count, odds, hards = result.tolist()
        if hards:
            rows_of, slots_of, first, last = hard[:hards].T
            reals[slots_of, rows_of] = hard_reals(data, first, last)
        return Parsed(
            lines=lines[:rows],
            numbers={name: numbers[slot, :rows] for slot, name in enumerate(program.numbers)},
            reals={name: reals[slot, :rows] for slot, name in enumerate(program.reals)},
            texts={
                name: _strings(pa.string(), text_offsets[slot, : rows + 1], texts[slot * room :])
                for slot, name in enumerate(program.texts)
            },
            path=_strings(pa.string(), path_offsets[: rows + 1], path),
            path_raw=_raw(raw_offsets[: rows + 1], raw),
            kinds=kinds[:rows],
            odd=[Odd(*numbers) for numbers in odd[:odds].tolist()],
            count=count,
            stop=place,
        )


def _at(array: Any) -> int:
    """The address of an array without gaps."""
    return int(array.ctypes.data)


def _encode(literals: list[bytes]) -> Any:
    """Literals as words with masks, eight bytes each; with where each begins and its length."""
    starts, bits, masks = [0], [], []
    for literal in literals:
        for at in range(0, len(literal), 8):
            piece = literal[at : at + 8]
            bits.append(int.from_bytes(piece, "little"))
            masks.append((1 << 8 * len(piece)) - 1)
        starts.append(len(bits))
    lengths = [len(literal) for literal in literals]
    return (
        np.array(starts, np.int64),
        np.array(bits, np.uint64),
        np.array(masks, np.uint64),
        np.array(lengths, np.int64),
    )


def _strings(kind: pa.DataType, offsets: Any, data: Any) -> pa.Array:
    used = int(offsets[-1])
    return pa.Array.from_buffers(
        kind, len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data[:used])]
    )


def _raw(offsets: Any, data: Any) -> pa.Array | None:
    if not offsets[-1]:
        return None
    found = _strings(pa.binary(), offsets, data)
    return pc.if_else(pc.greater(pc.binary_length(found), 0), found, None)

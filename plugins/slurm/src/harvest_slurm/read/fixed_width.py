"""Reading fixed-width output: every column as wide as the dashes below its name.

sacct pads by bytes, not by characters.  A line break inside a name makes two lines that are
together as long as one; values longer than their column are cut, with a ``+`` at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from harvest import ReadContext

from .columns import BatchRows, RawRows
from .form import LONGEST, Layout, reject_line
from .said import Said, kind_of
from .text import BLOCK_BYTES


def read_fixed(
    stream: IO[bytes], layout: Layout, ctx: ReadContext, *, block_bytes: int = BLOCK_BYTES
) -> Iterator[RawRows]:
    """Rows of a dump of kind ``fixed``; reports to ``ctx`` like ``read_text``."""
    said = Said(layout, ctx)
    said.skip(stream)
    reader = _Fixed(layout, ctx, said)
    carry = b""
    number = layout.skip + 1
    while True:
        data = stream.read(block_bytes)
        block = carry + data
        if data:
            end = block.rfind(b"\n") + 1
            block, carry = block[:end], block[end:]
        lines = block.split(b"\n")
        if lines[-1] == b"":
            lines.pop()
        if layout.crlf:
            lines = [line.removesuffix(b"\r") for line in lines]
        rows, done = reader.rows(lines, number, at_end=not data)
        if rows is not None:
            yield rows
        number += done
        if len(carry) > LONGEST:
            for index, line in enumerate(lines[done:]):  # it cannot go on in a line of that length
                ctx.read(1)
                ctx.reject(line, "the line after it is too long", position=number + index)
            number += len(lines) - done
            carry = reject_line(stream, carry, ctx, number)
            number += 1
        else:
            carry = b"".join(line + b"\n" for line in lines[done:]) + carry if data else b""
        ctx.advance(len(data))
        if not data:
            said.note()
            return


class _Fixed:
    def __init__(self, layout: Layout, ctx: ReadContext, said: Said):
        self.layout = layout
        self.ctx = ctx
        self.said = said
        dashes = b" ".join(b"-" * width for width in layout.widths)
        self.repeated = dashes, (layout.header or dashes).rstrip()
        self.length = sum(width + 1 for width in layout.widths) - layout.stripped

    def rows(
        self, lines: Sequence[bytes], number: int, *, at_end: bool
    ) -> tuple[RawRows | None, int]:
        """Rows of some lines, and how many lines are done with."""
        full: list[bytes] = []
        positions: list[int] = []
        index = 0
        while index < len(lines):
            line = lines[index]
            if kind_of(line):
                self.said.add(line, number + index)
                index += 1
                continue
            if line.rstrip() in self.repeated:
                self.ctx.read(1)
                self.ctx.folded(1, "repeated header")
                index += 1
                continue
            if len(line) == self.length - 1 and not self.layout.stripped:
                line += b" "  # which editors take away from a last line
            if len(line) == self.length:
                full.append(line)
                positions.append(number + index)
                index += 1
                continue
            taken = self._odd(lines, index, number, full, positions, at_end)
            if taken == 0:
                break
            index += taken
        if not full:
            return None, index
        return self._split(full, positions), index

    def _odd(
        self,
        lines: Sequence[bytes],
        index: int,
        number: int,
        full: list[bytes],
        positions: list[int],
        at_end: bool,
    ) -> int:
        """Deal with a line of another length; how many lines that took, 0 to wait for more."""
        line = lines[index]
        if not line.strip():
            taken = 1
            while not line and index + taken < len(lines) and not lines[index + taken]:
                taken += 1
            self.ctx.read(taken)
            self.ctx.folded(taken, "blank line")
            return taken
        if self.layout.stripped and len(line) < self.length:
            full.append(line.ljust(self.length))
            positions.append(number + index)
            return 1
        record, taken, said = line, 1, []
        while len(record) < self.length and taken < 100:
            if index + taken == len(lines):
                if not at_end:
                    return 0
                break
            if kind_of(lines[index + taken]):
                said.append(taken)
            else:
                record += b"\n" + lines[index + taken]
            taken += 1
        if len(record) == self.length and taken > 1 and len(lines[index + taken - 1]) < self.length:
            full.append(record)
            positions.append(number + index)
            for place in said:
                self.said.add(lines[index + place], number + index + place)
            return taken
        self.ctx.read(1)
        self.ctx.reject(
            line, f"{len(line)} bytes where the columns take {self.length}", position=number + index
        )
        return 1

    def _split(self, full: list[bytes], positions: list[int]) -> RawRows:
        whole = pa.array(full, pa.binary())
        columns, start = [], 0
        for width in self.layout.widths:
            piece = pc.binary_slice(whole, start, start + width)
            try:
                text = piece.cast(pa.string())
            except pa.ArrowInvalid:  # a character cut in the middle, or other bytes
                found = piece.to_pylist()
                text = pa.array([v.decode("utf-8", "backslashreplace") for v in found], pa.string())
            columns.append(pc.utf8_trim_whitespace(text))
            start += width + 1
        names = list(self.layout.columns)
        batch = pa.RecordBatch.from_arrays(columns, names=names)
        return BatchRows(names, batch, np.array(positions))

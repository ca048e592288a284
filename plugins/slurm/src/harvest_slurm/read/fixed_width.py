"""Reads output with fixed widths: each column is as wide as the dashes below its name.

sacct pads by bytes, not by characters. A line break in a name makes two lines that are together as
long as one. Values that are longer than their column are cut and end in ``+``.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from harvest import ReadContext
from harvest_toolkit.spans import PAD

from .blocks import BlockReader
from .columns import Column, RawRows
from .form import Layout, slices_of
from .said import Said, kind_of


class FixedReader(BlockReader):
    """Reads blocks of a dump of kind ``fixed``."""

    def __init__(self, layout: Layout, ctx: ReadContext, said: Said):
        super().__init__(layout, ctx, said)
        dashes = b" ".join(b"-" * width for width in layout.widths)
        self.repeated = dashes, (layout.header or dashes).rstrip()
        self.length = sum(width + 1 for width in layout.widths) - layout.stripped

    def rows(self, data: Any, end: int, line: int, *, at_end: bool) -> tuple[RawRows, int, bytes]:
        lines = data[PAD:end].tobytes().removesuffix(b"\n").split(b"\n")
        if self.layout.crlf:
            lines = [each.removesuffix(b"\r") for each in lines]
        records: dict[int, bytes] = {}
        index = 0
        while index < len(lines) and (taken := self._one(lines, index, line, records, at_end)):
            index += taken
        rest = b"".join(each + b"\n" for each in lines[index:])
        return self._split(records), index, rest

    def _one(
        self, lines: list[bytes], index: int, number: int, records: dict[int, bytes], at_end: bool
    ) -> int:
        """Read the record that begins in a line; return its number of lines, 0 to wait for more.

        records: number of the first line -> bytes of the record.
        """
        line, position = lines[index], number + index
        short, stripped = self.length - len(line), self.layout.stripped
        if kind_of(line):
            self.said.add(line, position)
            return 1
        aside = "repeated header" if line.rstrip() in self.repeated else ""
        # editors remove the last blank of a last line
        whole = short == 0 or (short == 1 and not stripped)
        if not whole and not line.strip():
            aside = "blank line"
        if aside:
            self.ctx.read(1)
            self.ctx.folded(1, aside)
            return 1
        if whole or (stripped and short > 0):
            records[position] = line.ljust(self.length)
            return 1
        record, taken, said = line, 1, {}
        while len(record) < self.length and taken < 100:
            if index + taken == len(lines):
                if not at_end:
                    return 0
                break
            more = lines[index + taken]
            if kind_of(more):
                said[position + taken] = more
            else:
                record += b"\n" + more
            taken += 1
        if len(record) == self.length and taken > 1 and len(lines[index + taken - 1]) < self.length:
            records[position] = record
            for place, message in said.items():
                self.said.add(message, place)
            return taken
        self.ctx.read(1)
        reason = f"{len(line)} bytes where the columns take {self.length}"
        self.ctx.reject(line, reason, position=position)
        return 1

    def _split(self, records: dict[int, bytes]) -> RawRows:
        whole = pa.array(records.values(), pa.binary())
        columns = []
        for place in slices_of(self.layout.widths):
            piece = pc.binary_slice(whole, place.start, place.stop)
            try:
                text = piece.cast(pa.string())
            except pa.ArrowInvalid:  # a character cut in the middle, or other bytes
                found = piece.to_pylist()
                text = pa.array([v.decode("utf-8", "backslashreplace") for v in found], pa.string())
            columns.append(Column(pc.utf8_trim_whitespace(text)))
        return RawRows(self.layout.columns, columns, np.array(list(records)))

"""Reading delimited text in blocks: where each row's fields lie, and what is odd set right.

The delimiters of a block of some megabytes are found all at once; a line with as many as are due
and a job id in its place is a row.  All other lines go to ``rejoin``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, Any, Final

import attrs
import numpy as np

from harvest import ReadContext

from .csvtext import CsvReader
from .digits import PAD, spans_of
from .grid import GridRows, RawRows
from .ids import is_id
from .layout import Layout
from .rejoin import Joined, Joiner

__all__ = ["BLOCK_BYTES", "read_text"]

BLOCK_BYTES: Final = 12 * 1024 * 1024
CARRY_BYTES: Final = 4 * 1024 * 1024


def read_text(
    stream: IO[bytes], layout: Layout, ctx: ReadContext, *, block_bytes: int = BLOCK_BYTES
) -> Iterator[RawRows]:
    """Rows of a dump of kind ``text`` or ``csv``.

    stream: at the first byte of the dump.  Reports rejects, folds and their units to ``ctx``;
    the rows given are the caller's to count.
    """
    reader = CsvReader(layout, ctx) if layout.kind == "csv" else _Lines(layout, ctx)
    for _ in range(layout.skip):
        stream.readline()
    carry = b""
    line = layout.skip + 1
    while True:
        # a growing carry is searched again only when as much has been added
        data = stream.read(max(block_bytes, len(carry)))
        block, carry = reader.cut(carry + data if carry else data, at_end=not data)
        if block:
            rows, lines, rest = reader.rows(block, line, at_end=not data)
            if len(rows.position):
                yield rows
            line += lines
            carry = rest + carry
        ctx.advance(len(data))
        if not data:
            return


@attrs.define(eq=False)
class _Block(Sequence[bytes]):
    """A block of whole lines.

    data: its bytes, with room at both ends.  first, last: where each line begins and ends.
    """

    text: bytes
    data: Any
    first: Any
    last: Any

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return self.text[self.first[index] - PAD : self.last[index] - PAD]


def _lines_of(text: bytes, *, crlf: bool) -> _Block:
    data = np.zeros(len(text) + 2 * PAD, np.uint8)
    data[PAD:-PAD] = np.frombuffer(text, np.uint8)
    last = np.flatnonzero(data == ord("\n"))
    first = np.empty_like(last)
    first[0], first[1:] = PAD, last[:-1] + 1
    if crlf:
        last = last - ((data[last - 1] == ord("\r")) & (last > first))
    return _Block(text, data, first, last)


class _Lines:
    """Text of which every record is a line, mostly."""

    def __init__(self, layout: Layout, ctx: ReadContext):
        self.layout = layout
        self.ctx = ctx
        self.joiner = Joiner(layout)
        self.mark = layout.delimiter.encode()
        self.names = list(layout.columns)
        self.id_place = self.names.index("JobID" if "JobID" in self.names else "JobIDRaw")

    def cut(self, data: bytes, *, at_end: bool) -> tuple[bytes, bytes]:
        """Whole lines to read now, and what must wait for more."""
        if at_end:
            return (data + b"\n" if data and not data.endswith(b"\n") else data), b""
        end = data.rfind(b"\n") + 1
        if self.joiner.last_free:
            # the last field may go on in lines without a delimiter
            end = data.rfind(b"\n", 0, max(data.rfind(self.mark, 0, end), 0)) + 1
        return data[:end], data[end:]

    def rows(self, text: bytes, line: int, *, at_end: bool) -> tuple[RawRows, int, bytes]:
        """Rows of a block, how many of its lines are done with, and the rest of it."""
        block = _lines_of(text, crlf=self.layout.crlf)
        marks, good = self._fields(block)
        places = np.flatnonzero(good)
        ids = marks[self.id_place]
        like = is_id(spans_of(block.data, ids[0:-1:2].astype(int), ids[1:-1:2].astype(int)))
        if like.all() and len(places) == len(block):
            every = np.arange(len(places))
            return GridRows(self.names, block.data, marks, every, places + line), len(block), b""
        return self._join(block, places, np.flatnonzero(like), marks, line, at_end)

    def _fields(self, block: _Block) -> tuple[Any, Any]:
        """Marks (see GridRows) of the fields of each good line, and which lines are good."""
        due, size = len(self.names), len(self.mark)
        inner = due - 1 + self.layout.trailing
        marks = _find(block.data, self.mark)
        before = np.searchsorted(marks, block.first)
        counts = np.diff(before, append=len(marks))
        good = counts == inner
        if size > 1 and len(marks):  # a mark that begins inside another one is none
            near = np.flatnonzero(np.diff(marks) < size)
            good[np.searchsorted(block.last, marks[near])] = False
        if not block.text.isascii():
            good &= _utf8(block)
        if self.layout.trailing and len(marks):
            ends = marks[np.minimum(before + inner, len(marks)) - 1] + size
            good &= ends == block.last
        first, last = block.first[good], block.last[good]
        chosen = marks if good.all() else marks[np.repeat(good, counts)] if len(marks) else marks
        # one line per column, so that each column's marks lie together
        grid = np.ascontiguousarray(chosen.astype(np.int32).reshape(len(first), inner).T)
        made = np.empty((due, 2 * len(first) + 1), np.int32)
        made[0, 0:-1:2] = first
        made[1:, 0:-1:2] = grid[: due - 1] + np.int32(size)
        made[: due - 1, 1:-1:2] = grid[: due - 1]
        made[-1, 1:-1:2] = grid[-1] if self.layout.trailing else last
        made[:, -1] = len(block.data)
        return made, good

    def _join(
        self, block: _Block, places: Any, rows: Any, marks: Any, line: int, at_end: bool
    ) -> tuple[RawRows, int, bytes]:
        """Set odd lines right, and give their records their place among the others.

        places: line of each row of the marks.  rows: those rows that are good.
        """
        odd = np.ones(len(block), bool)
        odd[places[rows]] = False
        waiting = np.flatnonzero(odd).tolist()
        done = self.joiner.join(block, waiting, at_end=at_end)
        count, rest = len(block), b""
        if done.resume is not None:
            count = done.resume
            rest = block.text[block.first[done.resume] - PAD :]
            if len(rest) > CARRY_BYTES:  # no record is that long: give up on waiting
                done, rest = self.joiner.join(block, waiting, at_end=True), b""
                count = len(block)
        self._report(done, line)
        stays = places[rows] < count
        if done.used:
            stays &= ~np.isin(places[rows], np.fromiter(done.used, np.int64))
        rows, data = rows[stays], block.data
        if done.records:
            rows = np.append(rows, len(places) + np.arange(len(done.records)))
            data, marks = _appended(data, marks, [fields for _, fields in done.records])
            places = np.append(places, [index for index, _ in done.records])
        rows = rows[np.argsort(places[rows], kind="stable")]
        return GridRows(self.names, data, marks, rows, places[rows] + line), count, rest

    def _report(self, done: Joined, line: int) -> None:
        self.ctx.read(len(done.rejects) + done.blanks + done.headers)
        for index, raw, reason in done.rejects:
            self.ctx.reject(raw, reason, position=line + index)
        self.ctx.folded(done.blanks, "blank line")
        self.ctx.folded(done.headers, "repeated header")


def _find(data: Any, mark: bytes) -> Any:
    """Every place of a delimiter."""
    found = data[: len(data) - len(mark) + 1] == mark[0]
    for shift in range(1, len(mark)):
        found &= data[shift : len(data) - len(mark) + 1 + shift] == mark[shift]
    return np.flatnonzero(found)


def _utf8(block: _Block) -> Any:
    """Which lines are text; those that are not are decoded one by one."""
    good = np.ones(len(block), bool)
    try:
        block.text.decode()
    except UnicodeDecodeError:
        high = np.flatnonzero(block.data >= 0x80)
        for index in np.unique(np.searchsorted(block.last, high)).tolist():
            try:
                block[index].decode()
            except UnicodeDecodeError:
                good[index] = False
    return good


def _appended(data: Any, marks: Any, records: list[list[str]]) -> tuple[Any, Any]:
    """The buffer with the fields of records behind it, and the marks with theirs."""
    texts = [[field.encode() for field in fields] for fields in records]
    sizes = np.array([[len(field) for field in fields] for fields in texts])
    ends = np.cumsum(sizes).reshape(sizes.shape) + len(data) - PAD
    whole = np.zeros(len(data) + int(sizes.sum()), np.uint8)
    whole[: len(data) - PAD] = data[:-PAD]
    joined = b"".join(field for fields in texts for field in fields)
    whole[len(data) - PAD : len(whole) - PAD] = np.frombuffer(joined, np.uint8)
    more = np.empty((len(marks), 2 * len(records) + 1), np.int32)
    more[:, 0:-1:2], more[:, 1:-1:2], more[:, -1] = (ends - sizes).T, ends.T, len(whole)
    return whole, np.concatenate([marks[:, :-1], more], axis=1)

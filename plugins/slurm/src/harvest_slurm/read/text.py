"""Reads delimited text in blocks: finds the fields of each row, and repairs odd lines.

The delimiters of a block of some megabytes are found together. A line with the right number of
delimiters and a job id in its place is a row. All other lines go to ``rejoin``.
"""

from collections.abc import Iterator
from typing import IO, Any, Final

import attrs
import numpy as np

from harvest import ReadContext
from harvest.toolkit.texts import not_utf8
from harvest_toolkit.lines import RAW_BYTES, skip_line
from harvest_toolkit.spans import PAD, Ints, Spans

from ..values.ids import is_id
from .blocks import BlockReader, after_last
from .columns import Column, RawRows
from .csvtext import CsvReader
from .fixed_width import FixedReader
from .form import LONGEST, Layout, refuse_names, too_long
from .rejoin import LINES, Joiner
from .said import Said, kind_of

BLOCK_BYTES: Final = 7 * 1024 * 1024
"""Bytes read at a time: more need more memory, fewer more time for each block."""


def read_text(
    stream: IO[bytes], layout: Layout, ctx: ReadContext, *, block_bytes: int = BLOCK_BYTES
) -> Iterator[RawRows]:
    """Return rows of a dump of kind ``text``, ``csv`` or ``fixed``.

    stream: at the first byte of the dump. Reports rejects, folds and their units to ``ctx``; the
        caller counts the returned rows.
    """
    said = Said(layout, ctx)
    said.skip(stream)
    read_as = {"csv": CsvReader, "fixed": FixedReader}.get(layout.kind, _LineReader)
    reader: BlockReader = read_as(layout, ctx, said)
    carry = b""
    line = layout.skip + 1
    while True:
        # search a growing carry again only after as much was added
        data, size = _block(stream, carry, max(block_bytes, len(carry)))
        stop = PAD + len(carry) + size
        if not size and carry and not carry.endswith(reader.line_end):
            data[stop] = ord(reader.line_end)
            stop += 1
        end = reader.cut(data, stop) if size else stop
        endless = stop - end > LONGEST
        if endless and layout.kind != "csv":  # inside quotes nothing is a record
            end = max(end, after_last(data, b"\n", stop))
        carry = data[end:stop].tobytes()
        if end > PAD:
            rows, lines, rest = reader.rows(data, end, line, at_end=endless or not size)
            if len(rows.position):
                yield rows
            line += lines
            carry = rest + carry
        if endless and len(carry) > LONGEST:
            # a whole line is within quotes, which are perhaps never closed
            begin, newline, carry = carry.partition(b"\n")
            reason = f"a record of more than {LONGEST} bytes begins in this line"
            if not newline:
                skipped, _, carry = skip_line(stream)
                ctx.advance(skipped + 1 + len(carry))
                reason = too_long(len(begin) + skipped)
            ctx.read(1)
            ctx.reject(begin[:RAW_BYTES], reason, position=line)
            line += 1
        ctx.advance(size)
        if not size:
            said.note()
            return


def _block(stream: IO[bytes], carry: bytes, size: int) -> tuple[Any, int]:
    """Return ``carry`` and up to ``size`` bytes more, with room around, and how many more."""
    begin = PAD + len(carry)
    data: Any = np.empty(begin + size + PAD + 1, np.uint8)
    data[:begin] = np.frombuffer(bytes(PAD) + carry, np.uint8)
    got: int = stream.readinto(memoryview(data)[begin : begin + size])  # type: ignore[attr-defined]
    data[begin + got : begin + got + PAD + 1] = 0
    return data, got


class _LineReader(BlockReader):
    """Reads text in which most records are one line."""

    def __init__(self, layout: Layout, ctx: ReadContext, said: Said):
        super().__init__(layout, ctx, said)
        self.joiner = Joiner(layout)
        self.mark = layout.delimiter.encode()
        self.names = list(layout.columns)
        self.id_name = "JobID" if "JobID" in self.names else "JobIDRaw"

    def cut(self, data: Any, stop: int) -> int:
        end = super().cut(data, stop)
        if self.joiner.last_free:
            # the last field may go on in lines without a delimiter
            end = after_last(data, b"\n", after_last(data, self.mark, end) - len(self.mark))
        return end

    def rows(self, data: Any, end: int, line: int, *, at_end: bool) -> tuple[RawRows, int, bytes]:
        last = np.flatnonzero(data[:end] == ord("\n"))
        first = np.append(PAD, last[:-1] + 1)
        if self.layout.crlf:
            last = last - ((data[last - 1] == ord("\r")) & (last > first))
        block = Spans(data, first, last)
        rows, marks = self._whole(block, end)
        like = is_id(rows.column(self.id_name)).copy()
        like[np.isin(rows.position, _undecodable(block, end))] = False
        like[block.length[rows.position] > LONGEST] = False
        if like.all() and len(like) == len(first):
            return attrs.evolve(rows, position=rows.position + line), len(first), b""
        return self._join(block, end, rows, like, marks, line, at_end)

    def _whole(self, block: Spans, end: int) -> tuple[RawRows, Ints]:
        """Return the lines with the right number of fields as rows, each with its line.

        Also return the number of delimiters before each line, and of all.
        """
        due, size = len(self.names), len(self.mark)
        inner = due - 1 + self.layout.trailing
        marks = _find(block.data[:end], self.mark)
        before = np.searchsorted(marks, block.start)
        counts = np.diff(before, append=len(marks))
        good = counts == inner
        if size > 1 and len(marks):  # a mark that begins inside another one is none
            near = np.flatnonzero(np.diff(marks) < size)
            good[np.searchsorted(block.end, marks[near])] = False
        if self.layout.trailing and len(marks):
            ends = marks[np.minimum(before + inner, len(marks)) - 1] + size
            good &= ends == block.end
        lines = np.flatnonzero(good)
        chosen = marks if good.all() else marks[np.repeat(good, counts)]
        # one row per column, so that the marks of a column are adjacent
        grid = np.ascontiguousarray(chosen.astype(np.int32).reshape(len(lines), inner).T)
        starts = [block.start[lines].astype(np.int32), *(grid[: due - 1] + np.int32(size))]
        ends = grid if self.layout.trailing else [*grid, block.end[lines].astype(np.int32)]
        pairs = zip(starts, ends, strict=True)
        columns = [Column(spans=Spans(block.data, *pair)) for pair in pairs]
        return RawRows(self.names, columns, lines), np.append(before, len(marks))

    def _join(
        self, block: Spans, end: int, rows: RawRows, good: Any, marks: Ints, line: int, at_end: bool
    ) -> tuple[RawRows, int, bytes]:
        """Repair odd lines, and put their records at their place among the good rows."""
        rows = rows.pick(np.flatnonzero(good))
        size, mark = len(block.start), self.layout.delimiter
        odd = np.ones(size, bool)
        odd[rows.position] = False
        said, number = self._messages(block, odd), np.arange(size)
        if said:
            number = np.delete(number, list(said))
            block = Spans(block.data, block.start[number], block.end[number])
            odd, rows.position = odd[number], np.searchsorted(number, rows.position)
            marks = marks[np.append(number, size)]
        gaps = self._gaps(block, odd)
        odd[gaps] = False
        waiting = np.flatnonzero(odd).tolist()
        done = self.joiner.join(block, waiting, marks, at_end=at_end)
        count, rest = len(number), b""
        if done.resume is not None:
            count = done.resume
            rest = block.data[block.start[count] : end].tobytes()
            if len(rest) > LONGEST:  # no record is that long: give up on waiting
                done, rest = self.joiner.join(block, waiting, marks, at_end=True), b""
                count = len(number)
        done.blanks += int(np.searchsorted(gaps, count))
        taken = int(number[count]) if rest else size
        self.ctx.read(len(done.rejects) + done.blanks + done.headers)
        for index, raw, reason in done.rejects:
            position = int(number[index]) + line
            fields = raw.decode("utf-8", "replace").removesuffix(mark).split(mark)
            refuse_names(fields, self.layout.columns, position)
            self.ctx.reject(raw, reason, position=position)
        self.ctx.folded(done.blanks, "blank line")
        self.ctx.folded(done.headers, "repeated header")
        for index, text in said.items():
            if index < taken:
                self.said.add(text, line + index)
        stays = (rows.position < count) & ~np.isin(rows.position, list(done.used))
        rows = rows.pick(np.flatnonzero(stays))
        if done.records:
            rows = rows.with_records(done.records)
        return attrs.evolve(rows, position=number[rows.position] + line), taken, rest

    def _messages(self, block: Spans, odd: Any) -> dict[int, bytes]:
        """Return odd lines that are messages of Slurm, and not records that begin with a name."""
        filled = np.flatnonzero(odd & (block.length > 0)).tolist()
        due = len(self.names) - 1
        return {
            index: text
            for index, text in ((index, block.raw(index)) for index in filled)
            if kind_of(text) and not (self.joiner.first_free and text.count(self.mark) >= due)
        }

    def _gaps(self, block: Spans, odd: Any) -> Any:
        """Return the empty lines that are part of no record, in order.

        They follow a whole record whose last field cannot go on, or more empty lines than a record
        may have.
        """
        empty = block.length == 0
        if not empty.any():
            return np.empty(0, np.int64)
        index = np.arange(len(empty))
        before = np.maximum.accumulate(np.where(empty, -1, index))
        gap = index - before > LINES
        if not (self.joiner.last_free or self.joiner.first_free):
            gap |= (before < 0) | ~odd[before]
        return np.flatnonzero(empty & gap)


def _find(data: Any, mark: bytes) -> Any:
    found = data[: len(data) - len(mark) + 1] == mark[0]
    for shift in range(1, len(mark)):
        found &= data[shift : len(data) - len(mark) + 1 + shift] == mark[shift]
    return np.flatnonzero(found)


def _undecodable(block: Spans, end: int) -> list[int]:
    """Return the lines that are not UTF-8; these are decoded one by one."""
    whole = block.data[PAD:end].tobytes()
    if whole.isascii() or not_utf8(whole) is None:
        return []
    high = np.flatnonzero(block.data[:end] >= 0x80)
    places = np.unique(np.searchsorted(block.end, high)).tolist()
    return [place for place in places if not_utf8(block.raw(place))]

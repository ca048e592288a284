"""Reading a list, or a range of it, into tables of rows, rejects and remarks."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC
from itertools import islice
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from harvest import ReadContext
from harvest_toolkit.lines import LongLine, blocks
from harvest_toolkit.streams import Stream

from .columnar import SLACK, parse_block, table_of
from .counting import Before, is_remark, trailer_rows
from .layout import LONGEST_LINE, Layout
from .reference import Damaged, Row, parse

_ROWS_TOGETHER: Final = 8_192
"""Number of rows from the reference parser that are collected into one table."""

_BLOCK_BYTES: Final = 4 << 20
_TIME: Final = pa.timestamp("us", "UTC")
_NOTED_MESSAGES: Final = 5
_TROUBLE: Final = re.compile(rb"^\[([EWX])[]:]")
_TOTAL: Final = re.compile(rb"^\[I[^]]*\] A total of (\d{1,18}) files have been ")
_SKIPPED: Final = re.compile(rb"(\d{1,18}) 'skipped' files and/or errors")

_DOUBT: Final = {
    escaped: "nothing in the list proves whether '%' in its paths begins an escape or is itself; "
    f"it was taken as {taken}, which gpfs.escape={setting} makes sure, and "
    f"gpfs.escape={other} changes"
    for escaped, taken, setting, other in (
        (True, "an escape", "percent", "none"),
        (False, "itself", "none", "percent"),
    )
}


class Reading:
    """State of reading one list; ``tables`` reads it.

    before: counts of the lines before the first one to read.
    to_end: whether the range includes the end of the list.
    """

    def __init__(self, layout: Layout, ctx: ReadContext, before: Before, *, to_end: bool):
        self._layout = layout
        self._ctx = ctx
        # reused for all blocks: filling new memory costs more than copying
        self._buffer = np.empty(0, np.uint8)
        self._lines = before.lines
        self._remarks = before.remarks
        self._at_trailer = before.at_trailer
        self._trailers = 0
        self._messages: Counter[bytes] = Counter()
        self._processed: int | None = None
        self._to_end = to_end
        self._complete = True
        # decoded paths do not show this doubt, so the first range notes it immediately
        percent, sure = layout.escaping.path, layout.escaping.sure
        if before.lines == 0 and percent and not sure:
            ctx.note(_DOUBT[True])
        self._doubtful = not percent and not sure

    def tables(self, stream: Stream, block_bytes: int = _BLOCK_BYTES) -> Iterator[pa.Table]:
        """Yield the rows of all lines, about ten thousand per table."""
        for block in blocks(stream, block_bytes=block_bytes, line_limit=block_bytes):
            raw = block.raw if isinstance(block, LongLine) else block
            if isinstance(block, LongLine) and block.ended:
                self._ctx.read(1)
                self._lines += 1
                size = f"a line of {block.size_bytes} bytes"
                reason = f"{size}, longer than any path makes it ({LONGEST_LINE})"
                self._reject(raw, reason, self._lines)
            elif raw.endswith(b"\n"):
                yield self._table(raw)
            elif stream.trouble is None and trailer_rows(raw) is not None:
                self._ctx.read(1)
                self._lines += 1
                self._remark(raw, self._lines)
            else:
                self._incomplete(raw, stream.trouble or "the list ends inside this line")
            self._ctx.advance(stream.consumed)
            stream.consumed = 0
        self._ctx.read(0)
        listed = self._lines - self._remarks
        self._end_of_messages(listed)
        if stream.trouble and self._complete:
            self._incomplete(b"", stream.trouble)
        # if lists of this kind have a trailer, it must be at the end
        ended = listed == self._at_trailer and (listed or self._trailers)
        if self._to_end and self._complete and self._layout.ends_with_trailer and not ended:
            self._incomplete(b"", "the list does not end with its trailer '# end rows=N'")

    def _table(self, block: bytes) -> pa.Table:
        if len(self._buffer) < len(block) + SLACK:
            self._buffer = np.empty(len(block) + SLACK, np.uint8)
        table, odd, count = parse_block(self._layout, block, self._buffer, self._lines + 1)
        tables = [table]
        rows = (
            (number, row)
            for number, start, stop in odd
            if (row := self._odd(block[start:stop], number)) is not None
        )
        while some := list(islice(rows, _ROWS_TOGETHER)):
            tables.append(table_of(self._layout, some))
        self._lines += count
        self._ctx.read(count)
        if len(tables) > 1:
            table = merged(tables)
        if self._doubtful and pc.any(pc.match_substring(table.column("path"), "%")).as_py():
            self._doubtful = False
            self._ctx.note(_DOUBT[False])
        if self._layout.scan_time is None:
            return table
        moment = pa.scalar(self._layout.scan_time.astimezone(UTC), _TIME)
        return table.append_column("scan_time", pa.repeat(moment, table.num_rows))

    def _odd(self, raw: bytes, number: int) -> Row | None:
        """Parse a line that the columnar parser left; None if it has no row."""
        if is_remark(raw):
            self._remark(raw, number)
            return None
        try:
            return parse(self._layout, raw)
        except Damaged as error:
            self._reject(raw, str(error), number)
            return None

    def _remark(self, raw: bytes, number: int) -> None:
        """Count a line that lists no file, and note errors and warnings; number: of the line."""
        due = trailer_rows(raw)
        listed = number - 1 - self._remarks
        self._remarks += 1
        if due is not None:
            self._trailers += 1
            found, self._at_trailer = listed - self._at_trailer, listed
            if found != due:
                what = "it is incomplete" if found < due else "it has more than it should"
                said = f"the list has {found} lines where its trailer says {due}: {what}"
                self._reject(raw, said, number)
            else:
                self._ctx.folded(1, "trailer")
        elif not raw or raw.startswith(b"#"):
            self._ctx.folded(1, "header" if raw else "blank line")
        else:
            self._ctx.folded(1, "message of the policy engine")
            kind, total, skipped = (form.search(raw) for form in (_TROUBLE, _TOTAL, _SKIPPED))
            if total:
                self._processed = (self._processed or 0) + int(total[1])
            if kind:
                self._messages[kind[1]] += 1
            is_noted = kind and self._messages[kind[1]] <= _NOTED_MESSAGES
            if is_noted or (skipped and int(skipped[1])):
                text = raw[:300].decode("utf-8", "backslashreplace").strip()
                self._ctx.note(f"line {number}: the policy engine said: {text}")

    def _end_of_messages(self, listed: int) -> None:
        """Note how many messages were omitted, and a summary whose count is wrong."""
        for kind, count in self._messages.items():
            if count > _NOTED_MESSAGES:
                more = count - _NOTED_MESSAGES
                self._ctx.note(f"the policy engine said [{kind.decode()}] {more} more times")
        if self._to_end and self._processed not in (None, listed):
            self._ctx.note(
                f"the policy engine says that it processed {self._processed} files, and the list "
                f"has {listed} lines of files"
            )

    def _incomplete(self, raw: bytes, reason: str) -> None:
        self._complete = False
        self._ctx.read(1)
        self._reject(raw, f"{reason}: it is incomplete", self._lines + 1)

    def _reject(self, raw: bytes, reason: str, number: int) -> None:
        self._ctx.reject(raw, reason, position=number, record_type="gpfs.file")


def merged(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate tables, and sort the rows by line."""
    whole = pa.concat_tables(tables)
    order = np.argsort(whole.column("position").to_numpy(), kind="stable")
    return whole.take(pa.array(order))

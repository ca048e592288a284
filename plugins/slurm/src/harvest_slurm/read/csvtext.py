"""Comma-separated values: finds dumps with CSV quotes, and reads them.

sacct itself quotes nothing: ``sacct --parsable2 --delimiter=,`` writes the quotes of a name as they
are. Spreadsheets and pandas quote fields that need it: such a field begins and ends with a
quote, and each quote inside is doubled.
"""

import re
from collections.abc import Sequence
from typing import IO, Any, Final

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from harvest import ReadContext
from harvest.toolkit.amounts import count_in_words
from harvest_toolkit.spans import PAD

from .blocks import BlockReader
from .columns import Column, RawRows
from .form import LONGEST, Layout
from .rejoin import Joiner
from .said import Said, kind_of

QUOTE: Final = ord('"')
LINE_END: Final = ord("\n")
BLOCK_BYTES: Final = 4 * 1024 * 1024
JOINED: Final = 20
"""The number of lines that are checked together for a record."""


def settle(stream: IO[bytes], layout: Layout, ctx: ReadContext) -> Layout:
    """Decide by its quotes whether a dump of kind ``csv`` is CSV; return its layout.

    stream: at its first byte; read to its end, or to the first quote that CSV does not allow. Then,
        and without any quotes, the kind is ``text``, as sacct writes it.
    """
    if layout.header is not None and b'"' in layout.header:
        return layout  # sacct writes no quotes around names of columns
    quoted, complaint = False, ""
    joiner = Joiner(attrs.evolve(layout, kind="text"))
    carry, line = b"", 1
    while not complaint:
        block = stream.read(BLOCK_BYTES)
        text = carry + block
        data = np.frombuffer(text, np.uint8)
        end = after_record(data) if block else len(data)
        quoted |= b'"' in text
        complaint = _complaint(data[:end], line, joiner)
        line += text.count(b"\n", 0, end)
        carry = text[end:]
        if not complaint and len(carry) > LONGEST:
            complaint = f"one in the record at line {line} is closed too late"
        if not block:
            break
    if complaint:
        ctx.note(
            f"quotes are not as CSV has them ({complaint}), so they were read as part of the text"
        )
    return attrs.evolve(layout, kind="csv" if quoted and not complaint else "text")


def _complaint(data: Any, line: int, joiner: Joiner) -> str:
    """Say why whole records are not CSV, or return nothing. line: the number of the first one."""
    if not len(data):
        return ""
    wrong = first_misplaced(data, ord(joiner.mark))
    if wrong >= 0:
        return f"see line {line + np.count_nonzero(data[:wrong] == LINE_END)}"
    if np.count_nonzero(data == QUOTE) % 2:
        return "the last one is never closed"
    outside, within = line_ends(data)
    begins, stops = np.append(0, outside + 1), np.append(outside, len(data))
    for place in np.unique(np.searchsorted(outside, within)).tolist():
        begin = begins[place]
        text = data[begin : stops[place]].tobytes().decode("utf-8", "backslashreplace")
        if _holds_records(text.split("\n"), joiner):
            number = line + np.count_nonzero(data[:begin] == LINE_END)
            return f"those at line {number} would stand around whole records"
    return ""


def _holds_records(lines: Sequence[str], joiner: Joiner) -> bool:
    """Return whether lines that CSV takes for one record hold several records."""
    found = begin = 0
    for stop in range(1, len(lines) + 1):
        starts = range(max(begin, stop - JOINED), stop)
        if any(joiner.may_be_record("\n".join(lines[start:stop])) for start in starts):
            found, begin = found + 1, stop
            if found > 1:
                return True
    return False


class CsvReader(BlockReader):
    """Reads blocks of a dump of kind ``csv``."""

    line_end = b""

    def __init__(self, layout: Layout, ctx: ReadContext, said: Said):
        super().__init__(layout, ctx, said)
        mark = re.escape(layout.delimiter.encode())
        field = rb'(?:"[^"]*+(?:""[^"]*+)*+"|[^"\n%b]*+)' % mark
        self.record = re.compile(rb"%b(?:%b%b)*+(?:\r?\n|\Z)" % (field, mark, field))
        self.unclosed = re.compile(rb'(?:%b%b)*+"[^"]*+(?:""[^"]*+)*+\Z' % (field, mark))

    def cut(self, data: Any, stop: int) -> int:
        return PAD + after_record(data[PAD:stop])

    def rows(self, data: Any, end: int, line: int, *, at_end: bool) -> tuple[RawRows, int, bytes]:
        """Return the rows; positions count records, the header being the first."""
        block, rest = data[PAD:end].tobytes(), b""
        damaged: list[int] = []
        quotes = np.count_nonzero(data[PAD:end] == QUOTE)
        if quotes % 2 or first_misplaced(data[PAD:end], ord(self.layout.delimiter)) >= 0:
            block, damaged, rest = self._mend(block, line, at_end)
        broken: list[tuple[int, str, int]] = []
        try:
            block.decode()
        except UnicodeDecodeError:
            block = block.decode("utf-8", "backslashreplace").encode()

        def note(row: pacsv.InvalidRow) -> str:
            broken.append((row.number - 1, row.text, row.actual_columns))
            return "skip"

        table = self._parse(block, note)
        count = table.num_rows + len(broken)
        # positions of the parsed records, without damaged ones
        every = np.setdiff1d(np.arange(count + len(damaged)), damaged)
        places = np.delete(every, [place for place, _, _ in broken])
        # Arrow reads an empty line as a row of empty fields
        filled = np.zeros(table.num_rows, bool)
        for column in table.columns:
            filled |= pc.binary_length(column).to_numpy() > 0
        table, places = table.filter(pa.array(filled)), places[filled]
        blank = int((~filled).sum())
        self.ctx.read(blank)
        self.ctx.folded(blank, "blank line")
        for place, text, fields in broken:
            position = line + int(every[place])
            if kind_of(text.encode()):
                self.said.add(text.encode(), position)
                continue
            self.ctx.read(1)
            reason = f"{count_in_words(fields, 'field')} instead of {len(self.layout.columns)}"
            self.ctx.reject(text, reason, position=position)
        columns = [Column(column.combine_chunks()) for column in table.columns]
        return RawRows(self.layout.columns, columns, places + line), count + len(damaged), rest

    def _mend(self, block: bytes, line: int, at_end: bool) -> tuple[bytes, list[int], bytes]:
        """Keep the records of a block with valid quotes.

        If a record's quotes are not valid, its first line is rejected and the next line begins a
        record. Returns the records, the places of the rejects, and the rest that may go on behind
        the block.
        """
        good: list[bytes] = []
        damaged: list[int] = []
        place = 0
        while place < len(block):
            found = self.record.match(block, place)
            if found:
                good.append(found[0])
                place = found.end()
                continue
            may_go_on = not at_end and len(block) - place <= LONGEST
            if may_go_on and self.unclosed.match(block, place):
                break
            text, _, _ = block[place : place + LONGEST].partition(b"\n")
            self.ctx.read(1)
            reason = "its quotes are not as CSV has them"
            self.ctx.reject(text, reason, position=line + len(good) + len(damaged))
            damaged.append(len(good) + len(damaged))
            place += len(text) + 1
        return b"".join(good), damaged, block[place:]

    def _parse(self, block: bytes, note: Any) -> pa.Table:
        types = dict.fromkeys(self.layout.columns, pa.string())
        if not block:
            return pa.schema(types).empty_table()
        return pacsv.read_csv(
            pa.BufferReader(block),
            read_options=pacsv.ReadOptions(
                use_threads=False, column_names=list(types), block_size=len(block) + 1
            ),
            parse_options=pacsv.ParseOptions(
                delimiter=self.layout.delimiter,
                newlines_in_values=True,
                ignore_empty_lines=False,
                invalid_row_handler=note,
            ),
            convert_options=pacsv.ConvertOptions(column_types=types, strings_can_be_null=False),
        )


def first_misplaced(data: Any, mark: int) -> int:
    """Return the place of the first quote that CSV does not allow there; -1 without any.

    data: bytes from the begin of a record. mark: the delimiter. A quote that is never closed is not
        misplaced.
    """
    quotes = np.flatnonzero(data == QUOTE)
    opening, closing, last = quotes[0::2], quotes[1::2], len(data) - 1
    # next to a quote, another one is the other half of a doubled quote
    neighbours = [QUOTE, mark, LINE_END]
    begins = np.isin(data[np.maximum(opening - 1, 0)], neighbours)
    after, second = data[np.minimum(closing + 1, last)], data[np.minimum(closing + 2, last)]
    ends = np.isin(after, neighbours)
    ends |= (after == ord("\r")) & ((second == LINE_END) | (closing + 1 == last))
    wrong = np.append(opening[~begins], closing[~ends])
    return int(wrong.min()) if len(wrong) else -1


def line_ends(data: Any) -> tuple[Any, Any]:
    """Return the places of the line ends outside quotes, and of those inside."""
    ends = np.flatnonzero(data == LINE_END)
    within = np.searchsorted(np.flatnonzero(data == QUOTE), ends) % 2 == 1
    return ends[~within], ends[within]


def after_record(data: Any) -> int:
    """Return the place behind the last line end outside quotes; 0 without any."""
    outside, _ = line_ends(data)
    return int(outside[-1]) + 1 if len(outside) else 0

"""Split a block into lines for columnar code: as spans of one buffer, or as a column.

Lines that are not UTF-8, and a line that the end of a file cuts off, are set aside::

    for block in blocks(stream, line_limit=1 << 20):
        lines = split(block, number)
        for line in lines.invalid:
            ctx.reject(line.raw, line.reason, position=line.number)
        texts = lines.column()  # the others, an Arrow column of strings
        number += lines.count

``LineSource`` does this for files, and also counts and rejects.
"""

import attrs
import numpy as np
import pyarrow as pa

from harvest import ReadContext
from harvest.toolkit.texts import not_utf8

from .delimited import CUT
from .lines import BOM, InvalidLine, decode
from .spans import PAD, Flags, Ints, Spans, padded, places, strings

__all__ = ["Faults", "Lines", "split"]

_LF, _CR = b"\n", ord("\r")


class Faults(dict[int, str]):
    """Reasons why texts are invalid, by their place; the first of several reasons stays."""

    def mark(self, bad: Flags, reason: str) -> None:
        """Set a reason for all texts where ``bad`` is true."""
        for place in np.flatnonzero(bad).tolist():
            self.setdefault(place, reason)


@attrs.frozen(eq=False)
class Lines:
    """Lines of a block, without their line ends.

    spans: the lines in the block's bytes.  numbers: their numbers in the file, from 1.
    invalid: the unreadable lines, in order.  blank: count of empty lines, which are in neither.
    """

    spans: Spans
    numbers: Ints
    invalid: list[InvalidLine]
    blank: int = 0

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def count(self) -> int:
        """Number of lines in the block, with unreadable and empty lines."""
        return len(self) + len(self.invalid) + self.blank

    def column(self) -> pa.Array:
        """Return the lines as an Arrow column of strings."""
        return strings(self.spans)

    def accept(
        self, table: pa.Table, faults: Faults, ctx: ReadContext, record_type: str | None = None
    ) -> pa.Table:
        """Return the rows of lines without faults, with ``position``; reject the other lines.

        table: one row for each line.
        """
        table = table.append_column("position", pa.array(self.numbers))
        if not faults:
            return table
        good = np.ones(len(self), bool)
        for place, reason in sorted(faults.items()):
            good[place] = False
            number = int(self.numbers[place])
            ctx.reject(self.spans.raw(place), reason, position=number, record_type=record_type)
        return table.filter(pa.array(good))


def split(block: bytes, first: int, *, require_final_newline: bool = True) -> Lines:
    """Split a block into lines that end with a newline, or a carriage return and a newline.

    first: number of the block's first line; a byte order mark before line 1 is left out.
    require_final_newline: whether a last line without a newline is invalid, because its program
        may have been stopped while it wrote.
    """
    body = block.removeprefix(BOM) if first == 1 else block
    data = padded(body)
    stops = places(data, _LF)
    if cut := bool(body) and not body.endswith(b"\n"):
        stops = np.append(stops, PAD + len(body))
    starts = np.concatenate([[PAD], stops[:-1] + 1])[: len(stops)]
    ends = stops - ((stops > starts) & (data[stops - 1] == _CR))
    invalid = decode(block, first).invalid if not_utf8(body) else []
    last = first + len(stops) - 1
    if cut and require_final_newline and not (invalid and invalid[-1].number == last):
        invalid.append(InvalidLine(last, body[starts[-1] - PAD :], CUT))
    numbers = np.arange(first, last + 1)
    blank = ends == starts
    if not invalid and not blank.any():
        return Lines(Spans(data, starts, ends), numbers, invalid)
    keep = ~blank
    keep[[line.number - first for line in invalid]] = False
    spans = Spans(data, starts[keep], ends[keep])
    return Lines(spans, numbers[keep], invalid, len(keep) - int(keep.sum()) - len(invalid))

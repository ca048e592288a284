"""The layout of a dump, the largest size of its lines, and what the readers of text share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import attrs

from harvest import ReadContext
from harvest_toolkit.lines import LongLine
from harvest_toolkit.spans import PAD

from ..values.fields import is_field

if TYPE_CHECKING:
    from .columns import RawRows
    from .said import Said

BOM: Final = b"\xef\xbb\xbf"
HEAD_BYTES: Final = 256 * 1024
"""The number of bytes at the begin of a file in which the layout is found."""

LONGEST_HEADER: Final = 64 * 1024


@attrs.frozen
class Layout:
    """The layout of a dump.

    kind: ``text`` (delimiter, nothing quoted), ``csv`` (quoted where needed; see ``settle``, which
        reads the whole file), ``fixed``, ``json``, ``yaml``, ``said`` (messages of Slurm, no rows).
    columns: sacct's fields in order, repeated ones numbered.
    delimiter: text between fields. trailing: whether one follows the last field as well.
    skip: lines before the first row. header: the line with the names, None without one.
    widths: bytes of each column of a ``fixed`` layout. stripped: lines lost trailing blanks.
    crlf: lines end in CR LF.
    order: of a dump without header whose columns nobody named, the known order that its lines fit,
        by the name that ``slurm.layout`` takes. fitting: the number of its checked lines that fit.
    """

    kind: Literal["text", "csv", "fixed", "json", "yaml", "said"]
    columns: tuple[str, ...] = ()
    delimiter: str = "|"
    trailing: bool = False
    skip: int = 0
    header: bytes | None = None
    widths: tuple[int, ...] = ()
    stripped: bool = False
    crlf: bool = False
    order: str = ""
    fitting: int = 0

    @property
    def known(self) -> float:
        """The share of its columns that are fields of sacct."""
        return sum(map(is_field, self.columns)) / len(self.columns)


LONGEST: Final = 4 * 1024 * 1024
"""The largest size of a line or record in bytes; only a part of a longer one is in memory."""


def too_long(size: int) -> str:
    """Return the reason to reject a line of that many bytes."""
    return LongLine(b"", size, LONGEST).reason


class BlockReader:
    """Cuts a stream into blocks of whole records, and reads each from ``PAD`` to some place in it.

    line_end: is added if the last line of the input does not end with it.
    """

    line_end = b"\n"

    def __init__(self, layout: Layout, ctx: ReadContext, said: Said):
        self.layout = layout
        self.ctx = ctx
        self.said = said

    def cut(self, data: Any, stop: int) -> int:
        """Return the end of the whole records to read now, if more follows behind ``stop``."""
        return after_last(data, b"\n", stop)

    def cut_anywhere(self, data: Any, stop: int) -> int:
        """Return the end of the whole lines, for a record that is longer than any allowed one."""
        return after_last(data, b"\n", stop)

    def rows(self, data: Any, end: int, line: int, *, at_end: bool) -> tuple[RawRows, int, bytes]:
        """Return the rows of a block, how many of its lines are done, and the rest of it.

        line: the number of its first line. at_end: no line follows the last one.
        """
        raise NotImplementedError


def after_last(data: Any, mark: bytes, end: int) -> int:
    """Return the place behind the last such mark before ``end``; ``PAD`` without any."""
    size = 65_536
    while end > PAD:
        begin = max(PAD, end - size)
        found = data[begin:end].tobytes().rfind(mark)
        if found >= 0:
            return int(begin + found + len(mark))
        if begin == PAD:
            break
        size *= 4
    return PAD

"""What the readers of text have in common: they cut a stream into blocks of whole records."""

from typing import Any

from harvest import ReadContext
from harvest_toolkit.spans import PAD

from .columns import RawRows
from .form import Layout
from .said import Said


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

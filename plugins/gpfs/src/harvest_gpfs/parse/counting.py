"""How many lines of a list lie before a byte range, so that its lines are numbered as the list's.

Lines are counted when a range is prepared, from where the range before it begins, at the speed of
memory; so a list whose rows are in the dataset already is not read, and the first range can be
parsed while the rest is counted.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Final

import attrs
import numpy as np

from harvest_toolkit.lines import blocks
from harvest_toolkit.streams import open_stream

_CHUNK: Final = 1 << 19
"""Bytes that are counted together: few enough to stay in the processor's cache."""

_TRAILER: Final = re.compile(rb"# end rows=(\d{1,18})\s*")
_SKIPPED: Final = b"'skipped' files and/or errors."
_SKIPPED_LINE: Final = re.compile(rb"^[ \t]+\d+ %b[ \t\r]*$" % _SKIPPED, re.MULTILINE)
"""The second line of the summary that the policy engine ends its output with."""

_NEWLINE: Final = 10


@attrs.frozen
class Before:
    """What lies before a place of a list.

    lines: how many; remarks: those of them that list no file; at_trailer: lines that list a file
    up to the last trailer.
    """

    lines: int = 0
    remarks: int = 0
    at_trailer: int = 0

    @property
    def listed(self) -> int:
        return self.lines - self.remarks


def is_remark(line: bytes) -> bool:
    """Whether a line lists no file: empty, a header or trailer, a message of the engine."""
    return not line or line[:1] in (b"#", b"[") or bool(_SKIPPED_LINE.fullmatch(line))


def trailer_rows(line: bytes) -> int | None:
    """How many lines a trailer says that the list has; None when the line is none."""
    found = _TRAILER.fullmatch(line)
    return int(found[1]) if found else None


class Counter:
    """Counts the lines of one list up to the begin of each of its ranges.

    Asked for the ranges in their order, it counts each line once.
    """

    def __init__(self, path: Path):
        self.path = path
        self._place = 0
        self._before = Before()

    def before(self, place: int) -> Before:
        """What lies before a place, at which a line begins."""
        if place < self._place:
            self._place, self._before = 0, Before()
        found = self._before
        with open_stream(self.path, self._place, place) as stream:
            for chunk in blocks(stream, block_bytes=_CHUNK):
                found = after(found, chunk)
        self._place, self._before = place, found
        return found


def after(before: Before, chunk: bytes) -> Before:
    """What lies before the end of a chunk of lines that follows; one without an end is left out."""
    lines, remarks = count(chunk)
    at_trailer = before.at_trailer
    if b"# end rows=" in chunk:
        listed = before.listed
        for line in io.BytesIO(chunk):
            text = line.removesuffix(b"\n")
            if text != line and trailer_rows(text) is not None:
                at_trailer = listed
            listed += not is_remark(text)
    return Before(before.lines + lines, before.remarks + remarks, at_trailer)


def count(chunk: bytes) -> tuple[int, int]:
    """How many lines end in a chunk, which begins with one, and how many of them list no file."""
    data = np.frombuffer(chunk, np.uint8)
    ends = np.flatnonzero(data == _NEWLINE)
    if not len(ends):
        return 0, 0
    first = np.append(data[:1], data[ends[:-1] + 1])
    remarks = np.count_nonzero((first == 35) | (first == 91) | (first == _NEWLINE))
    if _SKIPPED in chunk:
        remarks += len(_SKIPPED_LINE.findall(chunk, 0, int(ends[-1])))
    return len(ends), int(remarks)

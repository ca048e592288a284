"""Counting the lines before a byte range, so that its rows have the list's line numbers.

Lines are counted when a range is prepared, starting at the previous range, at the speed of memory.
So a list whose rows are already in the dataset is not read, and the first range can be parsed while
the rest is counted.
"""

import io
import re
from pathlib import Path
from typing import Final

import attrs
import numpy as np

from harvest_toolkit.lines import blocks
from harvest_toolkit.streams import open_stream

_CHUNK: Final = 1 << 19
"""Bytes that are counted together: few enough for the processor's cache."""

_TRAILER: Final = re.compile(rb"# end rows=(\d{1,18})\s*")
_SKIPPED: Final = b"'skipped' files and/or errors."
_SKIPPED_LINE: Final = re.compile(rb"^[ \t]+\d+ %b[ \t\r]*$" % _SKIPPED, re.MULTILINE)
"""Second line of the summary at the end of the policy engine's output."""

_FIRST: Final = np.frombuffer(b"\n \t#[", np.uint8)
"""First bytes of lines that may list no file: empty, the summary, header or trailer, message."""


@attrs.frozen
class Before:
    """Counts of the lines before a position in a list.

    lines: number of lines.  remarks: number of lines that list no file.
    at_trailer: lines before the last trailer that list a file.
    """

    lines: int = 0
    remarks: int = 0
    at_trailer: int = 0

    @property
    def listed(self) -> int:
        return self.lines - self.remarks


def is_remark(line: bytes) -> bool:
    """Check whether a line lists no file: empty, header, trailer, or message of the engine."""
    return not line or line[:1] in (b"#", b"[") or bool(_SKIPPED_LINE.fullmatch(line))


def trailer_rows(line: bytes) -> int | None:
    """Return the number of lines that a trailer states; None if the line is not a trailer."""
    found = _TRAILER.fullmatch(line)
    return int(found[1]) if found else None


def count_range(path: Path, start: int, stop: int, before: Before) -> Before:
    """Add the lines of a byte range, which starts and stops at line starts, to the counts."""
    with open_stream(path, start, stop) as stream:
        for chunk in blocks(stream, block_bytes=_CHUNK):
            before = after(before, chunk)
    return before


def after(before: Before, chunk: bytes) -> Before:
    """Add the lines of the next chunk to the counts; an unterminated last line is not counted."""
    data = np.frombuffer(chunk, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    first = np.append(data[: len(ends[:1])], data[ends[:-1] + 1])
    empty, blank, tab, hash_, bracket = np.bincount(first, minlength=128)[_FIRST].tolist()
    remarks = empty + hash_ + bracket
    if blank + tab and _SKIPPED in chunk:
        remarks += len(_SKIPPED_LINE.findall(chunk, 0, int(ends[-1])))
    at_trailer = before.at_trailer
    if hash_ and b"# end rows=" in chunk:
        listed = before.listed
        for line in io.BytesIO(chunk):
            text = line.removesuffix(b"\n")
            if text != line and trailer_rows(text) is not None:
                at_trailer = listed
            listed += not is_remark(text)
    return Before(before.lines + len(ends), before.remarks + remarks, at_trailer)

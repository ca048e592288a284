"""Recognise the format of a file by its first bytes, and read its lines."""

import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Final

from harvest_toolkit.lines import BOM, RAW_BYTES, LongLine, blocks

LONGEST: Final = RAW_BYTES
"""Maximum length of a line in bytes; Yappi writes no longer lines."""

HEAD: Final = 4096
REPORT: Final = 4 << 20
_CALLGRIND: Final = re.compile(rb"\A(#[^\n]*\n|\s)*(version|creator|events|pid):", re.IGNORECASE)
_REPORT: Final = re.compile(rb"\A\s*Clock type: ")
_TABLE: Final = re.compile(rb"^name +id +(tid +)?ttot +scnt *$", re.MULTILINE)
# a marshalled dict (0x7b, or 0xfb with the reference flag) whose first key is a tuple of three
_PSTAT: Final = re.compile(rb"\A[\x7b\xfb]([\x29\xa9]\x03|[\x28\xa8]\x03\0\0\0|0\Z)", re.DOTALL)
_PICKLE: Final = re.compile(rb"\A\x80[\x02-\x05].{0,40}yappi", re.DOTALL)


class Format(Enum):
    """Formats that Yappi saves or prints."""

    CALLGRIND = "callgrind"
    PSTAT = "pstat"
    YSTAT = "ystat"
    THREADS = "thread table"


def format_of(path: Path) -> Format | None:
    """Return the format of a file; None if it is not one of Yappi. Raises OSError."""
    with path.open("rb") as file:
        head = file.read(HEAD)
        if _REPORT.match(head):
            # a printed table of functions, perhaps followed by one of threads
            head += file.read(REPORT)
    if _PICKLE.match(head):
        return Format.YSTAT
    if _PSTAT.match(head):
        return Format.PSTAT
    if _CALLGRIND.match(head) and b"creator: yappi" in head:  # Valgrind counts instructions
        return Format.CALLGRIND
    if _TABLE.search(head):
        return Format.THREADS
    return None


def text_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file without line ends.

    A line that is too long is truncated and marked, but keeps more than LONGEST characters.
    Raises OSError.
    """
    with path.open("rb") as stream:
        if stream.peek(len(BOM)).startswith(BOM):
            stream.seek(len(BOM))
        for block in blocks(stream, line_limit=LONGEST):
            if isinstance(block, LongLine):
                # with ASCII, a byte is at least one character, so the line stays too long
                yield block.raw.decode("ascii", "backslashreplace") + " ..."
            else:
                text = block.decode("utf-8", "backslashreplace").removesuffix("\n")
                yield from (line.rstrip("\r") for line in text.split("\n"))

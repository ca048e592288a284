"""Files of lines: in blocks for big logs, or one by one for the small files of a job."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

__all__ = ["LINE_LIMIT", "line_blocks", "numbered_lines"]

BLOCK_BYTES: Final = 8 * 1024 * 1024
LINE_LIMIT: Final = 16 * 1024 * 1024
"""The longest line of a small file that is read as one; a longer one is no text, and is cut."""


def line_blocks(path: Path, block_bytes: int = BLOCK_BYTES) -> Iterator[tuple[bytes, int]]:
    """Whole lines of a file, a block at a time, each with its newline but perhaps the last.

    With each block comes how many bytes were read for it.  A line is cut that is longer than
    eight blocks, or than BLOCK_BYTES.
    """
    rest, want = b"", block_bytes
    with path.open("rb") as file:
        while piece := file.read(want):
            data = rest + piece
            cut = data.rfind(b"\n") + 1
            if not cut and len(data) < min(8 * block_bytes, BLOCK_BYTES):
                rest = data
                continue
            cut = cut or len(data)
            rest = data[cut:]
            yield data[:cut], len(piece)
    if rest:
        yield rest, 0


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Lines of a small file without their ends, numbered from 1."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(LINE_LIMIT):
            number += 1
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            yield number, line.rstrip(b"\r\n")

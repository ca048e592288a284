"""Lines longer than any that sacct writes: only a part of them is held in memory."""

from __future__ import annotations

from typing import IO, Final

from harvest import ReadContext
from harvest_toolkit.lines import RAW_BYTES, LongLine, skip_line

LONGEST: Final = 4 * 1024 * 1024
"""Bytes of a line or record, at most."""


def reject_line(stream: IO[bytes], begin: bytes, ctx: ReadContext, position: int) -> bytes:
    """Reject a line that begins like this and is too long; gives what was read behind its end."""
    skipped, behind = skip_line(stream)
    ctx.advance(skipped + 1 + len(behind))
    ctx.read(1)
    ctx.reject(begin[:RAW_BYTES], too_long(len(begin) + skipped), position=position)
    return behind


def too_long(size: int) -> str:
    """Why a line of that many bytes is a reject."""
    return LongLine(b"", size, LONGEST).reason

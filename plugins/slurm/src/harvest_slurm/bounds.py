"""Lines longer than any that sacct writes: only a part of them is held in memory."""

from __future__ import annotations

from typing import IO, Final

from harvest import ReadContext

__all__ = ["LONGEST", "reject_line", "too_long"]

LONGEST: Final = 4 * 1024 * 1024
"""Bytes of a line or record, at most."""

_BLOCK: Final = 1024 * 1024
_SHOWN: Final = 64 * 1024


def reject_line(stream: IO[bytes], begin: bytes, ctx: ReadContext, position: int) -> bytes:
    """Reject a line that begins like this and is too long; gives what was read behind its end."""
    size, rest = len(begin), b""
    while block := stream.read(_BLOCK):
        ctx.advance(len(block))
        line, end, rest = block.partition(b"\n")
        size += len(line)
        if end:
            break
    ctx.read(1)
    ctx.reject(begin[:_SHOWN], too_long(size), position=position)
    return rest


def too_long(size: int) -> str:
    """Why a line of that many bytes is a reject."""
    return f"a line of {size} bytes, more than {LONGEST}"

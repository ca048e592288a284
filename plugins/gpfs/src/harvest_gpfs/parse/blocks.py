"""Blocks of whole lines from a stream, in one buffer that is filled again and again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import attrs
import numpy as np

from harvest_toolkit.streams import Stream

BLOCK_BYTES: Final = 8 << 20
"""Bytes of a block at most: few enough to stay near the processor while all values are read."""

SLACK: Final = 4096
"""Zeros behind the last byte of a block, so that its lines are read without looking for its end."""

_KEPT: Final = 64 * 1024


@attrs.frozen
class Block:
    """Whole lines: the bytes of ``data`` up to ``stop``.

    data: reused for the next block; behind ``stop`` are ``SLACK`` zeros.
    """

    data: Any
    stop: int


@attrs.frozen
class Rest:
    """One line that is not in a block.

    raw: its first bytes; size: of the line.  ended: whether it has a line end; without one it is
    the last line of a list that was cut short.  Otherwise it did not fit in a block.
    """

    raw: bytes
    size: int
    ended: bool


def blocks(stream: Stream, block_bytes: int = BLOCK_BYTES) -> Iterator[Block | Rest]:
    """All lines of a stream, in order."""
    buffer = bytearray(block_bytes + SLACK)
    view = memoryview(buffer)
    data = np.frombuffer(buffer, np.uint8)
    used = searched = 0  # the bytes that are there, and those of them without a line end
    while True:
        while used < block_bytes:
            count = stream.fill(view[used:block_bytes])
            if count == 0:
                break
            used += count
        at_end = used < block_bytes
        stop = buffer.rfind(b"\n", searched, used) + 1
        if stop:
            behind = bytes(view[stop : stop + SLACK])
            view[stop : stop + SLACK] = bytes(SLACK)
            yield Block(data, stop)
            view[stop : stop + SLACK] = behind
            view[: used - stop] = bytes(view[stop:used])
            used -= stop
        searched = used
        if at_end:
            if used:
                yield Rest(bytes(view[: min(used, _KEPT)]), used, ended=False)
            return
        if used == block_bytes:
            raw, size, ended = bytes(view[:_KEPT]), used, False
            used = searched = 0
            while not ended and (count := stream.fill(view[:block_bytes])):
                end = buffer.find(b"\n", 0, count)
                if end < 0:
                    size += count
                    continue
                ended, size = True, size + end
                used = count - end - 1
                view[:used] = bytes(view[end + 1 : count])
            yield Rest(raw, size, ended=ended)
            if not ended:
                return

"""Lines of large texts, in blocks of whole lines; of small ones, one by one.

A block is a few megabytes, so that columnar code does the work and memory stays bounded; a line
that is cut off by a block is carried over to the next one.  Lines are counted from 1, and a byte
order mark at the beginning does not belong to the first::

    number = 1
    for block in blocks(stream, line_limit=1 << 20):
        if isinstance(block, LongLine):
            ctx.reject(block.raw, block.reason, position=number)
            number += 1
            continue
        lines = decode(block, number)
        for line in lines.invalid:
            ctx.reject(line.raw, line.reason, position=line.number)
        number += lines.count
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol, overload

import attrs

from harvest.toolkit.texts import not_utf8

__all__ = [
    "BLOCK_BYTES", "BOM", "RAW_BYTES", "DecodedLines", "InvalidLine", "Line", "LongLine",
    "Readable", "blocks", "count_lines", "decode", "line_starts", "numbered", "skip_line",
]  # fmt: skip

BLOCK_BYTES: Final = 8 * 1024 * 1024
"""Bytes that are read at a time."""

BOM: Final = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8."""

RAW_BYTES: Final = 64 * 1024
"""Bytes that are given of a line that is too long, as many as a reject keeps."""


class Readable(Protocol):
    """What bytes are read from: a file, or a stream of ``streams``."""

    def read(self, size: int, /) -> bytes:
        """Up to so many bytes; none at the end."""


@attrs.frozen
class LongLine:
    """A line that is longer than ``limit`` bytes.

    raw: its first 64 KiB.  size_bytes: of the whole line, without its newline.
    ended: whether it has a newline; the last line of a text may lack it.
    """

    raw: bytes
    size_bytes: int
    limit: int
    ended: bool = True

    @property
    def reason(self) -> str:
        """Why it is rejected."""
        return f"a line of {self.size_bytes} bytes, more than {self.limit}"


@overload
def blocks(stream: Readable, *, block_bytes: int | None = None) -> Iterator[bytes]: ...
@overload
def blocks(
    stream: Readable, *, block_bytes: int | None = None, line_limit: int
) -> Iterator[bytes | LongLine]: ...
def blocks(
    stream: Readable, *, block_bytes: int | None = None, line_limit: int | None = None
) -> Iterator[bytes | LongLine]:
    """All lines of a stream in order, many at a time, each with its newline.

    The last line may lack a newline; its block then ends without one.

    block_bytes: how much is read at a time, ``BLOCK_BYTES`` unless given; at most ``line_limit``.
    line_limit: bytes of the longest line, its newline not counted, that comes in a block; a longer
        one comes by itself as a ``LongLine``, and never more than this is held of it.  None: any.
    """
    size = block_bytes or BLOCK_BYTES
    if line_limit is not None:
        size = min(size, line_limit)
    carry: list[bytes] = []
    carried, piece = 0, b""
    while piece or (piece := stream.read(size)):
        first = piece.find(b"\n")
        length = carried + (first if first >= 0 else len(piece))
        if line_limit is not None and length > line_limit:
            raw = b"".join((*carry, piece))[: min(length, RAW_BYTES)]
            if ended := first >= 0:
                skipped, piece = 0, piece[first + 1 :]
            else:
                skipped, ended, piece = skip_line(stream, size)
            yield LongLine(raw, length + skipped, line_limit, ended)
            carry, carried = [], 0
            continue
        cut = piece.rfind(b"\n") + 1
        if cut:
            yield b"".join((*carry, memoryview(piece)[:cut]))
            carry, carried = [], 0
        if cut < len(piece):
            carry.append(piece[cut:])
            carried += len(piece) - cut
        piece = b""
    if carry:
        yield b"".join(carry)


def skip_line(stream: Readable, block_bytes: int = BLOCK_BYTES) -> tuple[int, bool, bytes]:
    """Read to the end of the line in which a stream stands, holding no more than a block of it.

    Gives how many bytes of the line were left, whether it has a newline, and what was read behind.
    """
    skipped = 0
    while piece := stream.read(block_bytes):
        line, newline, behind = piece.partition(b"\n")
        skipped += len(line)
        if newline:
            return skipped, True, behind
    return skipped, False, b""


class InvalidLine(NamedTuple):
    """A line that is not UTF-8: its number, its bytes, and which of them is wrong."""

    number: int
    raw: bytes
    reason: str


@attrs.frozen
class DecodedLines:
    """The lines of a block as texts, without their newlines.

    numbers, texts: of the lines that are UTF-8.  invalid: the others.  count: all of them.
    """

    numbers: Sequence[int]
    texts: list[str]
    invalid: list[InvalidLine]

    @property
    def count(self) -> int:
        """How many lines the block has."""
        return len(self.texts) + len(self.invalid)


def decode(block: bytes, first: int) -> DecodedLines:
    """The lines of a block as texts.

    first: number of the block's first line; a byte order mark before line 1 is left out.  A
    carriage return before a newline stays at the end of its text.
    """
    body = block.removesuffix(b"\n")
    if first == 1:
        body = body.removeprefix(BOM)
    try:
        texts = body.decode().split("\n")
    except UnicodeDecodeError:
        found = DecodedLines([], [], [])
        numbers = []
        for number, raw in enumerate(body.split(b"\n"), first):
            if reason := not_utf8(raw):
                found.invalid.append(InvalidLine(number, raw, reason))
            else:
                numbers.append(number)
                found.texts.append(raw.decode())
        return attrs.evolve(found, numbers=numbers)
    return DecodedLines(range(first, first + len(texts)), texts, [])


class Line(NamedTuple):
    """One line of a text.

    number: from 1.  raw: its first bytes, without the newline.  size_bytes: of the whole line.
    ended: whether it has a newline; the last line of a text may lack it.
    """

    number: int
    raw: bytes
    size_bytes: int
    ended: bool

    @property
    def whole(self) -> bool:
        """Whether ``raw`` is all of the line."""
        return len(self.raw) == self.size_bytes


def numbered(path: Path, line_limit: int) -> Iterator[Line]:
    """The lines of a file one by one; of each, at most ``line_limit`` bytes."""
    with path.open("rb") as stream:
        if stream.peek(len(BOM)).startswith(BOM):
            stream.seek(len(BOM))
        number = 0
        while raw := stream.readline(line_limit + 1):
            number += 1
            ended = raw.endswith(b"\n")
            size = len(raw) - ended
            while not ended and (more := stream.readline(RAW_BYTES)):
                ended = more.endswith(b"\n")
                size += len(more) - ended
            yield Line(number, raw[: min(size, line_limit)], size, ended)


def line_starts(path: Path, range_bytes: int, line_limit: int) -> list[int]:
    """Where byte ranges of a file begin that can be read each for itself, first to last.

    range_bytes: about how long a range is.  Each begins at a line; a range whose first line is
    longer than ``line_limit`` is joined with the one before it.
    """
    starts = [0]
    with path.open("rb", buffering=0) as file:
        for place in range(range_bytes, path.stat().st_size, range_bytes):
            file.seek(place - 1)
            piece = file.read(line_limit)
            start = place + piece.find(b"\n")
            if start >= place and starts[-1] < start < path.stat().st_size:
                starts.append(start)
    return starts


def count_lines(path: Path, start: int, stop: int) -> int:
    """How many newlines a byte range of a file has."""
    found = 0
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        while start < stop and (piece := file.read(min(stop - start, 1 << 20))):
            found += piece.count(b"\n")
            start += len(piece)
    return found

"""Read lines of large files in blocks of whole lines, or of small files one by one.

A block has a few megabytes, so that columnar code does the work in bounded memory; a line cut off
by a block is carried over to the next block.  Lines count from 1, and a byte order mark at the
beginning does not belong to line 1::

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
"""Bytes read at a time."""

BOM: Final = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8."""

RAW_BYTES: Final = 64 * 1024
"""Bytes returned of a line that is too long: as many as a reject keeps."""


class Readable(Protocol):
    """Anything that bytes are read from: a file, or a stream of ``streams``."""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes; none at the end."""


@attrs.frozen
class LongLine:
    """A line that is longer than ``limit`` bytes.

    raw: its first 64 KiB.  size_bytes: size of the whole line without its newline.
    ended: whether the line has a newline, which the last line of a file may lack.
    """

    raw: bytes
    size_bytes: int
    limit: int
    ended: bool = True

    @property
    def reason(self) -> str:
        """Reason of the reject."""
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
    """Yield all lines of a stream in order, in blocks of many lines with their newlines.

    Where the last line lacks a newline, its block ends without one.

    block_bytes: bytes read at a time, ``BLOCK_BYTES`` unless given; at most ``line_limit``.
    line_limit: bytes of the longest line in a block, without its newline.  A longer line is
        yielded alone as a ``LongLine``, and memory holds at most this many bytes of it.  None: no
        limit.
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
    """Read to the end of the current line of a stream, holding at most one block.

    Returns the count of skipped bytes, whether the line has a newline, and the bytes read behind.
    """
    skipped = 0
    while piece := stream.read(block_bytes):
        line, newline, behind = piece.partition(b"\n")
        skipped += len(line)
        if newline:
            return skipped, True, behind
    return skipped, False, b""


class InvalidLine(NamedTuple):
    """A line that cannot be read: its number, its bytes, and the reason."""

    number: int
    raw: bytes
    reason: str


@attrs.frozen
class DecodedLines:
    """The lines of a block as texts, without their newlines.

    numbers, texts: the lines that are UTF-8.  invalid: the other lines.
    """

    numbers: Sequence[int]
    texts: list[str]
    invalid: list[InvalidLine]

    @property
    def count(self) -> int:
        """Number of lines in the block."""
        return len(self.texts) + len(self.invalid)


def decode(block: bytes, first: int) -> DecodedLines:
    """Decode the lines of a block.

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
    """One line of a file.

    number: counts from 1.  raw: the first bytes, without the newline.
    size_bytes: size of the whole line.  ended: whether it has a newline.
    """

    number: int
    raw: bytes
    size_bytes: int
    ended: bool


def numbered(path: Path, line_limit: int) -> Iterator[Line]:
    """Yield the lines of a file one by one, each with at most ``line_limit`` of its bytes."""
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
    """Return the starts of byte ranges of a file that can be read independently, in order.

    range_bytes: approximate length of a range.  Each range begins at a line; a range whose first
    line is longer than ``line_limit`` joins the range before it.
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
    """Count the newlines in a byte range of a file."""
    found = 0
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        while start < stop and (piece := file.read(min(stop - start, 1 << 20))):
            found += piece.count(b"\n")
            start += len(piece)
    return found

"""A capture file as a sequence of frames, with damaged places between them.

A frame is a header of 16 bytes (magic, length, index, checksum) and its payload. The checksum
covers length, index and payload, so a frame is either complete or not valid. After damaged bytes,
reading continues at the next complete frame; the indices then show how many frames are lost.
``dump_format`` recognises the other kind of file, a cluster dump.
"""

import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

import attrs

MAGIC: Final = b"HDC1"
LONGEST: Final = 1 << 26
"""Maximum bytes of a payload."""

_HEAD: Final = struct.Struct("<4sIII")
_BLOCK: Final = 1 << 16
_KEPT: Final = 64 * 1024 + 1
"""Maximum bytes of a damaged place that are kept with its reject."""
_PATIENCE: Final = 1 << 26
"""Bytes to search for complete frames: at most this many plus four times the file's size."""


class MapFault(Exception):
    """A frame's map does not fit its kind."""


@attrs.frozen
class Piece:
    """A complete frame, or bytes that are not one.

    index: number of the frame in the file, from 1; of damage, that of the first frame concerned.
    size: bytes of the file that it takes; 0 where frames are missing.
    raw: the payload of a frame; else the first of the bytes.
    flaw: why it is not a frame to read; empty for a frame.
    cut: whether it is the beginning of a frame that was still being written.
    """

    index: int
    size: int
    raw: bytes
    flaw: str = ""
    cut: bool = False


def pieces(stream: IO[bytes], size: int) -> Iterator[Piece]:
    """Yield the pieces of a file of ``size`` bytes in order.

    Bytes that are appended after ``size`` in the meantime are left to a later read.
    """
    return _Walk(stream, size, _PATIENCE + 4 * size).pieces()


@attrs.define
class _Walk:
    stream: IO[bytes]
    size: int
    patience: int
    expected: int = 1

    def pieces(self) -> Iterator[Piece]:
        offset = 0
        while offset < self.size:
            piece = self._piece(offset)
            if piece.flaw:
                piece = self._damage(offset, piece)
            elif piece.index < self.expected:
                flaw = f"frame {piece.index} once more; its rows were taken from the first"
                piece = attrs.evolve(piece, raw=piece.raw[:_KEPT], flaw=flaw)
            else:
                if piece.index > self.expected:
                    yield Piece(self.expected, 0, b"", f"{self._lost(piece.index)} missing")
                self.expected = piece.index + 1
            yield piece
            offset += piece.size

    def _damage(self, offset: int, found: Piece) -> Piece:
        """Return all bytes up to the next frame, as damage or as a frame that was cut off."""
        after, index = self._next_frame(offset + 1), self.expected
        end = self.size if after is None else after
        self.stream.seek(offset)
        raw = self.stream.read(min(end - offset, _KEPT))
        if after is None and found.cut and self.patience > 0:
            return Piece(index, end - offset, raw, found.flaw, cut=True)
        flaw = f"bytes {offset} to {end - 1}, where frame {index} begins, are not a frame"
        if after is not None:
            following = self._piece(after).index
            if following > index:
                flaw += f"; {self._lost(following)} lost"
                self.expected = following
        return Piece(index, end - offset, raw, f"{flaw}: {found.flaw}")

    def _lost(self, until: int) -> str:
        first = self.expected
        return f"frame {first} is" if until == first + 1 else f"frames {first} to {until - 1} are"

    def _piece(self, offset: int) -> Piece:
        """Return the frame that begins here, or an empty piece with the reason why none does."""
        self.stream.seek(offset)
        left = self.size - offset
        head = self.stream.read(min(_HEAD.size, left))
        if not MAGIC.startswith(head[: len(MAGIC)]):
            return self._none("they do not begin with a frame's magic number")
        if len(head) < _HEAD.size:
            return self._none("the file ends within its head", cut=True)
        _, length, index, checksum = _HEAD.unpack(head)
        if length > LONGEST:
            return self._none(f"its length of {length} bytes is above {LONGEST}")
        if _HEAD.size + length > left:
            return self._none("the file ends within it", cut=index == self.expected)
        payload = self.stream.read(length)
        if zlib.crc32(payload, zlib.crc32(head[4:12])) != checksum:
            return self._none("its checksum does not fit")
        return Piece(index, _HEAD.size + length, payload)

    def _none(self, flaw: str, *, cut: bool = False) -> Piece:
        return Piece(self.expected, 0, b"", flaw, cut)

    def _next_frame(self, start: int) -> int | None:
        """Return where the next complete frame begins; None if none is found within the limit.

        The limit matters where many invalid frames overlap.
        """
        while start < self.size and self.patience > 0:
            self.stream.seek(start)
            block = self.stream.read(min(_BLOCK, self.size - start))
            self.patience -= len(block)
            at = block.find(MAGIC)
            while at >= 0 and self.patience > 0:
                if not self._piece(start + at).flaw:
                    return start + at
                self.patience -= self.stream.tell() - start - at
                at = block.find(MAGIC, at + 1)
            # a magic number may cross the end of the block
            start += max(1, len(block) - len(MAGIC) + 1)
        return None


def dump_format(path: Path) -> str | None:
    """Return the format of a cluster dump by its beginning, msgpack or yaml; None if not a dump."""
    with path.open("rb") as file:
        head = file.read(512)
    if head.startswith(b"\x1f\x8b"):
        try:
            head = zlib.decompressobj(31).decompress(head, 512)
        except zlib.error:
            return None
    if re.match(rb"[\x81-\x8f](?:\xa9scheduler|\xaescheduler_info)[\x80-\x8f\xde\xdf]", head):
        return "msgpack"
    begin = rb"scheduler(?:_info)?:\r?\n +(?:address|clients|events|extensions|id): ?"
    return "yaml" if re.match(begin, head) else None

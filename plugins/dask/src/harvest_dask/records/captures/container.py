"""A capture file as a sequence of frames, with damaged places between them.

A frame is a header of 16 bytes (magic, length, index, checksum) and its payload. The checksum
covers length, index and payload, so a frame is either complete or not valid. After damaged bytes,
reading continues at the next complete frame; the indices then show how many frames are lost.
"""

import struct
import zlib
from collections.abc import Iterator
from typing import IO, Final, NamedTuple, TypeAlias

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


@attrs.frozen
class Frame:
    """A complete frame: its index in the file, from 1, and its payload."""

    index: int
    payload: bytes


@attrs.frozen
class Damage:
    """Bytes that are not a frame, or frames that are missing or repeated.

    index: index of the first frame concerned; raw: the first of the bytes.
    """

    index: int
    raw: bytes
    reason: str


@attrs.frozen
class Cut:
    """The beginning of a frame that was still being written.

    size: number of bytes so far; raw: the first of them.
    """

    index: int
    size: int
    raw: bytes


Piece: TypeAlias = Frame | Damage | Cut


class _Flaw(NamedTuple):
    """The reason why a place has no frame; beyond: whether it would exceed the file's end."""

    reason: str
    beyond: bool = False


def frames(stream: IO[bytes], size: int) -> Iterator[tuple[Piece, int]]:
    """Yield the pieces of a file of ``size`` bytes in order, each with its number of bytes.

    Bytes that are appended after ``size`` in the meantime are left to a later read.
    """
    return _Walk(stream, size).pieces()


class _Walk:
    def __init__(self, stream: IO[bytes], size: int):
        self.stream = stream
        self.size = size
        self.patience = _PATIENCE + 4 * size
        self.expected = 1

    def pieces(self) -> Iterator[tuple[Piece, int]]:
        offset = 0
        while offset < self.size:
            found = self._frame_at(offset)
            if isinstance(found, Frame):
                taken = _HEAD.size + len(found.payload)
                yield from self._in_turn(found, taken)
            else:
                after = self._next_frame(offset + 1)
                taken = (self.size if after is None else after) - offset
                yield self._no_frame(offset, taken, found, last=after is None), taken
            offset += taken

    def _in_turn(self, frame: Frame, taken: int) -> Iterator[tuple[Piece, int]]:
        if frame.index < self.expected:
            reason = f"frame {frame.index} once more; its rows were taken from the first"
            yield Damage(frame.index, frame.payload[:_KEPT], reason), taken
            return
        if frame.index > self.expected:
            yield Damage(self.expected, b"", f"{self._lost(frame.index)} missing"), 0
        self.expected = frame.index + 1
        yield frame, taken

    def _no_frame(self, offset: int, taken: int, flaw: _Flaw, *, last: bool) -> Piece:
        index = self.expected
        self.stream.seek(offset)
        raw = self.stream.read(min(taken, _KEPT))
        if last and flaw.beyond and self.patience > 0:
            return Cut(index, taken, raw)
        reason = (
            f"bytes {offset} to {offset + taken - 1}, where frame {index} begins, are not a frame"
        )
        if not last:
            following = self._frame_at(offset + taken)
            assert isinstance(following, Frame)  # the search ends at one
            if following.index > index:
                reason += f"; {self._lost(following.index)} lost"
                self.expected = following.index
        return Damage(index, raw, f"{reason}: {flaw.reason}")

    def _lost(self, until: int) -> str:
        first = self.expected
        return f"frame {first} is" if until == first + 1 else f"frames {first} to {until - 1} are"

    def _frame_at(self, offset: int) -> Frame | _Flaw:
        self.stream.seek(offset)
        left = self.size - offset
        head = self.stream.read(min(_HEAD.size, left))
        if not MAGIC.startswith(head[: len(MAGIC)]):
            return _Flaw("they do not begin with a frame's magic number")
        if len(head) < _HEAD.size:
            return _Flaw("the file ends within its head", beyond=True)
        _, length, index, checksum = _HEAD.unpack(head)
        if length > LONGEST:
            return _Flaw(f"its length of {length} bytes is above {LONGEST}")
        if _HEAD.size + length > left:
            return _Flaw("the file ends within it", beyond=index == self.expected)
        payload = self.stream.read(length)
        if zlib.crc32(payload, zlib.crc32(head[4:12])) != checksum:
            return _Flaw("its checksum does not fit")
        return Frame(index, payload)

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
                if isinstance(self._frame_at(start + at), Frame):
                    return start + at
                self.patience -= self.stream.tell() - start - at
                at = block.find(MAGIC, at + 1)
            # a magic number may cross the end of the block
            start += max(1, len(block) - len(MAGIC) + 1)
        return None

"""Read a byte range of a plain file, or a whole gzip or zstd file.

A stream that ends too early (file cut short, damaged data) gives all bytes before that place, and
keeps the reason in ``trouble``::

    with open_stream(path) as stream:
        for block in blocks(stream):
            ...
    if stream.trouble:
        ctx.reject(b"", stream.trouble, position=number)
"""

from __future__ import annotations

import abc
import io
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Self, cast

import zstandard

from .live import forward, open_input

__all__ = ["Stream", "compression", "open_stream"]

_PIECE: Final = 256 * 1024
"""Compressed bytes read at a time."""

_SMALL_PIECE: Final = 4 * 1024
"""Compressed bytes of zstd unpacked at a time; they unpack to at most 128 MiB."""

_MOST: Final = 1 << 20
"""Unpacked bytes of gzip returned at a time."""

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"


class Stream(abc.ABC):
    """The bytes of a file, read once; leaving its context closes the file.

    consumed: bytes of the file read since this attribute was last set to 0.
    trouble: why the stream ended too early; None when it did not.
    """

    def __init__(self, path: Path, once: bool):
        file = open_input(path)
        self._file = cast(io.FileIO, file.detach() if isinstance(file, io.BufferedReader) else file)
        if once:
            forward(file)
        self.consumed = 0
        self.trouble: str | None = None

    @abc.abstractmethod
    def fill(self, buffer: memoryview) -> int:
        """Put bytes into the buffer and return their count, 0 at the end."""

    @abc.abstractmethod
    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes; none at the end."""

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def compression(head: bytes) -> str | None:
    """Return ``gzip``, ``zstd`` or None by the first bytes of a file."""
    if head.startswith(_GZIP):
        return "gzip"
    return "zstd" if head.startswith(_ZSTD) else None


def open_stream(
    path: Path, start: int | None = None, stop: int | None = None, *, once: bool = False
) -> Stream:
    """Open a file; start, stop: the byte range of a plain one.

    once: whether this opens it for the last time, so that nothing of a pipe need be kept.
    """
    with open_input(path) as file:
        kind = compression(file.read(4))
    if kind is None:
        return _Range(path, once, start or 0, stop)
    return _Unpacked(path, once, _gzip_members if kind == "gzip" else _zstd_frames)


class _Range(Stream):
    """A byte range of a plain file, from ``start`` up to ``stop``."""

    def __init__(self, path: Path, once: bool, start: int, stop: int | None):
        super().__init__(path, once)
        self._file.seek(start)
        self._left = sys.maxsize if stop is None else stop - start

    def fill(self, buffer: memoryview) -> int:
        count = self._file.readinto(buffer[: self._left]) or 0
        self._left -= count
        self.consumed += count
        return count

    def read(self, size: int, /) -> bytes:
        found = self._file.read(min(size, self._left))
        self._left -= len(found)
        self.consumed += len(found)
        return found


class _Unpacked(Stream):
    """A compressed file, unpacked piece by piece."""

    def __init__(self, path: Path, once: bool, pieces: Callable[[Any], Any]):
        super().__init__(path, once)
        self._pieces = pieces(self)
        self._piece = b""
        self._used = 0

    def packed(self, size: int) -> bytes:
        """Read the next compressed bytes."""
        found = self._file.read(size)
        self.consumed += len(found)
        return found

    def read(self, size: int, /) -> bytes:
        found = []
        while size and (piece := self._next(size)):
            found.append(piece)
            size -= len(piece)
        return b"".join(found)

    def fill(self, buffer: memoryview) -> int:
        found = self._next(len(buffer))
        buffer[: len(found)] = found
        return len(found)

    def _next(self, size: int) -> bytes:
        """Return some unpacked bytes, none at the end."""
        while self._used == len(self._piece):
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            self._piece, self._used = piece, 0
        found = self._piece[self._used : self._used + size]
        self._used += len(found)
        return found


def _gzip_members(file: _Unpacked) -> Any:
    """Yield the bytes of all members of a gzip file, as gzip itself does."""
    packed = file.packed(_PIECE)
    while packed:
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        while not member.eof:
            if not packed:
                packed = file.packed(_PIECE)
                if not packed:
                    file.trouble = "the gzip stream is cut short"
                    return
            try:
                yield member.decompress(packed, _MOST)
            except zlib.error as error:
                file.trouble = f"the gzip stream is damaged ({error})"
                return
            packed = member.unconsumed_tail
        packed = (member.unused_data or file.packed(_PIECE)).lstrip(b"\0")
        while len(packed) < len(_GZIP):  # zeros may pad a tape's last block
            more = file.packed(_PIECE)
            if not more:
                break
            packed = (packed + more).lstrip(b"\0")
        if packed and not packed.startswith(_GZIP):
            file.trouble = "bytes that are not gzip follow the gzip stream"
            return


def _zstd_frames(file: _Unpacked) -> Any:
    """Yield the bytes of all frames of a zstd file."""
    packed = file.packed(_SMALL_PIECE)
    while packed:
        frame = zstandard.ZstdDecompressor().decompressobj()
        while not frame.eof:
            if not packed:
                packed = file.packed(_SMALL_PIECE)
                if not packed:
                    file.trouble = "the zstd stream is cut short"
                    return
            try:
                unpacked = frame.decompress(packed)
            except zstandard.ZstdError as error:
                file.trouble = f"the zstd stream is damaged ({error})"
                return
            packed = b""
            if unpacked:
                yield unpacked
        packed = frame.unused_data or file.packed(_SMALL_PIECE)
